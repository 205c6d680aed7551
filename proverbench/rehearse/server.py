"""A real HTTP server on this machine that speaks OpenAI's and Anthropic's protocols and plays latencies and faults.

For tests: a script says what each request gets, and the log what each request was::

    async with RehearseServer(script=[too_many("2"), answer("<step>a</step>")]) as server:
        ...  # ask server.base_url
    assert len(server.log) == 2

For a user: ``proverbench rehearse`` (cli/rehearse.py), with a :class:`~proverbench.rehearse.profile.Profile`.
"""

import asyncio
import inspect
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from proverbench.errors import ConfigError
from proverbench.rehearse import plays
from proverbench.rehearse.batches import PlayedBatches
from proverbench.rehearse.ledger import Ledger
from proverbench.rehearse.plays import Play, error_body
from proverbench.rehearse.profile import Latency, Profile, parse_faults
from proverbench.rehearse.received import Received, Script
from proverbench.rehearse.replies import GeneratedReplies, Replies
from proverbench.rehearse.sending import PlayedResponse
from proverbench.rehearse.wire import (
    Ask,
    Numbers,
    Protocol,
    body_of,
    count_tokens,
    digest,
    read_ask,
)

_MAX_BODY = 1 << 30
_BACKLOG = 8192

_COMPLETIONS: Mapping[str, Protocol] = {
    "/v1/chat/completions": "chat",
    "/v1beta/openai/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}


class RehearseServer:
    """The server. Use it with ``async with``, or in a thread of its own by :meth:`in_thread`.

    Args:
        script: What to play; None leaves everything to the profile.
        profile: Latencies, fault rates, quotas; the default answers everything at once.
        replies: What the model says; the default makes plausible replies from the profile's seed.
        host: Address to listen on.
        port: Port; 0 takes a free one.
        keep_log: Whether :attr:`log` keeps every request.

    Attributes:
        profile, script, replies: May be replaced while it runs.
        ledger: Counts.
        log: Requests, in the order they came.
        batches: The batch desk, with the number of batches submitted.
        reported_model: The model name that replies carry instead of the one asked for; None: that one.
    """

    def __init__(
        self,
        *,
        script: Script | None = None,
        profile: Profile | None = None,
        replies: Replies | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        keep_log: bool = True,
    ) -> None:
        self.script = script
        self.profile = profile or Profile()
        self.replies: Replies = replies or GeneratedReplies(seed=self.profile.seed)
        self.ledger = Ledger()
        self.log: list[Received] = []
        self.reported_model: str | None = None
        self.batches = PlayedBatches(self._answer_in_batch)
        self.host = host
        self.port = port
        self._keep_log = keep_log
        self._revoked: set[str] | None = set()
        self._throttled_until = 0.0
        self._played = 0
        self._window: list[float] = []
        self._runner: web.AppRunner | None = None

    # --- where it is

    @property
    def origin(self) -> str:
        """``http://HOST:PORT``, which is also Anthropic's base URL."""
        return f"http://{self.host}:{self.port}"

    @property
    def base_url(self) -> str:
        """OpenAI's base URL."""
        return f"{self.origin}/v1"

    # --- running

    async def start(self) -> None:
        """Listen; afterwards :attr:`port` is the real one.

        Raises:
            ConfigError: If the port is taken.
        """
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # handler_cancellation: a client that gives up must end its request here too, or it counts as in flight.
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.host, self.port, backlog=_BACKLOG)
        try:
            await site.start()
        except OSError as exc:
            await self._runner.cleanup()
            raise ConfigError(
                f"cannot listen on {self.host}:{self.port}: {exc.strerror}; choose another --port"
            ) from exc
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close every connection."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @classmethod
    @contextmanager
    def in_thread(cls, **arguments: Any) -> Iterator[Self]:
        """The server in a thread of its own, for callers that block; arguments as of the class."""
        server = cls(**arguments)
        ready = threading.Event()
        failure: list[BaseException] = []
        loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

        async def main() -> None:
            stopped = asyncio.Event()
            async with server:
                loops.append((asyncio.get_running_loop(), stopped))
                ready.set()
                await stopped.wait()

        def run() -> None:
            try:
                asyncio.run(main())
            except BaseException as exc:
                failure.append(exc)
            finally:
                ready.set()

        thread = threading.Thread(target=run, name="rehearse", daemon=True)
        thread.start()
        ready.wait()
        if failure:
            raise failure[0]
        try:
            yield server
        finally:
            loop, stopped = loops[0]
            loop.call_soon_threadsafe(stopped.set)
            thread.join()

    # --- what a test or a user may change while it runs

    def revoke(self, key: str | None = None) -> None:
        """From now on refuse that key, or every key, with a 401 that repeats it."""
        if key is None:
            self._revoked = None
        elif self._revoked is not None:
            self._revoked.add(key)

    def restore(self) -> None:
        """Take every key again."""
        self._revoked = set()

    def throttle(self, seconds: float) -> None:
        """Answer 429 to everyone for that long."""
        self._throttled_until = time.monotonic() + seconds

    def reset(self) -> None:
        """Forget counts and log; requests in flight are counted out as they end, but not in."""
        self.ledger = Ledger()
        self.log.clear()

    def stats(self) -> dict[str, Any]:
        """What ``GET /rehearse/stats`` says."""
        return {**self.ledger.as_json(), "batches_submitted": self.batches.submitted}

    def control(self, orders: Mapping[str, Any]) -> None:
        """Carry out what ``POST /rehearse/control`` asks: see docs/rehearse.md.

        Raises:
            ConfigError: If an order is unknown or wrong; then none was carried out.
        """
        known = {"revoke", "restore", "throttle_s", "model", "latency", "faults", "retry_after", "reset"}
        if unknown := sorted(set(orders) - known):
            raise ConfigError(f"unknown orders {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        changes: dict[str, Any] = {}
        if "latency" in orders:
            changes["latency"] = Latency.parse(str(orders["latency"]))
        if "faults" in orders:
            changes["faults"] = parse_faults(str(orders["faults"]))
        if "retry_after" in orders:
            changes["retry_after"] = orders["retry_after"]
        if not isinstance(throttle_s := orders.get("throttle_s", 0), int | float):
            raise ConfigError(f"throttle_s is {throttle_s!r}; give seconds")
        self.profile = replace(self.profile, **changes)
        if "model" in orders:
            self.reported_model = orders["model"]
        if throttle_s:
            self.throttle(throttle_s)
        if revoke := orders.get("revoke"):
            self.revoke(revoke if isinstance(revoke, str) else None)
        if orders.get("restore"):
            self.restore()
        if orders.get("reset"):
            self.reset()

    # --- one request

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        body = await http.read()
        if http.path.startswith("/rehearse/"):
            return self._own(http, body)
        received = Received(len(self.log), time.monotonic(), http.method, http.path, http.headers, body)
        if self._keep_log:
            self.log.append(received)
        ledger = self.ledger
        ledger.requests[http.path] += 1
        ledger.keys[received.key] += 1
        complaint = self._read(received)
        role = received.ask.role if received.ask else "other"
        with ledger.serving(http.path, role, fileno=_fileno(http)) as slot:
            try:
                play = await self._choose(received, complaint)
                return await PlayedResponse(self, ledger, http, received, play, slot).perform()
            except asyncio.CancelledError:
                if received.outcome == "in flight":
                    received.outcome = "abandoned"
                    ledger.abandoned += 1
                raise
            finally:
                ledger.statuses[received.outcome] += 1

    def _read(self, received: Received) -> str | None:
        """Find the question in a request for a completion; what is wrong with it, if anything is."""
        protocol = _COMPLETIONS.get(received.path)
        if protocol is None or received.method != "POST":
            return None
        try:
            received.ask = ask = read_ask(protocol, received.json)
        except (ValueError, AttributeError) as exc:
            return str(exc)
        received.arrivals_before = self.ledger.arrivals[ask.digest]
        self.ledger.arrivals[ask.digest] += 1
        return None

    async def _choose(self, received: Received, complaint: str | None) -> Play:
        gate = self._gate(received)
        if gate is not None:
            return gate
        play = await self._scripted(received)
        if play is not None:
            return play
        ask = received.ask
        if complaint is not None:
            return plays.failure(400, complaint)
        if ask is None:
            return Play()
        profile = self.profile
        if profile.models is not None and ask.model not in profile.models:
            return plays.unknown_model(ask.model)
        if profile.context_tokens is not None and count_tokens(ask.prompt) > profile.context_tokens:
            return plays.context_length(ask.protocol, profile.context_tokens)
        return self._quota(profile) or self._in_dialect(ask) or profile.play(ask, received.arrivals_before)

    def _in_dialect(self, ask: Ask) -> Play | None:
        dialect = self.profile.dialect
        if dialect is None:
            return None
        reply, _ = self.reply_to(ask, Play())
        return dialect.play(str(reply.content or ""), reply.model or ask.model)

    def _gate(self, received: Received) -> Play | None:
        if self._revoked is None or received.key in self._revoked:
            return plays.wrong_key(received.key)
        left = self._throttled_until - time.monotonic()
        if left > 0:
            return plays.too_many(f"{left:.3f}")
        return None

    async def _scripted(self, received: Received) -> Play | None:
        if callable(self.script):
            play = self.script(received)
            return await play if inspect.isawaitable(play) else play
        if self.script is None or received.ask is None or self._played >= len(self.script):
            return None
        self._played += 1
        return self.script[self._played - 1]

    def _quota(self, profile: Profile) -> Play | None:
        if profile.max_in_flight is not None and self.ledger.in_flight["all"] > profile.max_in_flight:
            return plays.too_many(profile.retry_after)
        if profile.requests_per_minute is None:
            return None
        now = time.monotonic()
        self._window = [at for at in self._window if at > now - 1]
        per_second = max(1, profile.requests_per_minute // 60)
        if len(self._window) >= per_second:
            wait = self._window[0] + 1 - now
            quota = {"x-ratelimit-limit-requests": str(profile.requests_per_minute)}
            quota |= {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": f"{wait:.3f}s"}
            return Play(
                status=429,
                headers={"Retry-After": f"{wait:.3f}", **quota},
                body=error_body(429, "requests per minute exceeded"),
            )
        self._window.append(now)
        return None

    # --- answers

    def reply_to(self, ask: Ask, play: Play, read: tuple[int, int] | None = None) -> tuple[plays.ModelReply, Numbers]:
        """What the model says to ``ask``, and the numbers around it; ``read`` is what the prompt cache did for it."""
        before = self.ledger.prompt_answers[digest(ask.prompt)]
        reply = play.reply or self.replies(ask, before)
        if reply.model is None and self.reported_model is not None:
            reply = replace(reply, model=self.reported_model)
        return reply, self._numbers(ask, before, read)

    def _numbers(self, ask: Ask, answered_before: int, read: tuple[int, int] | None) -> Numbers:
        marked = ask.prompt[: ask.cached_chars] if ask.protocol == "messages" else ask.prompt
        cacheable = count_tokens(marked)
        reply_id, created = uuid.uuid4().hex[:24], int(time.time())
        if read is not None:
            return Numbers(reply_id, created, *read)
        if not self.profile.true_cache:
            return Numbers(reply_id, created, cacheable // 2)
        if answered_before:
            return Numbers(reply_id, created, cacheable)
        return Numbers(reply_id, created, 0, cacheable if ask.protocol == "messages" else 0)

    def count_answer(self, ledger: Ledger, ask: Ask) -> None:
        """Note that ``ask`` was answered in full."""
        ledger.answered(ask.digest, digest(ask.prompt), ask.role)

    def _answer_in_batch(self, ask: Ask) -> tuple[int, dict[str, Any]]:
        reply, numbers = self.reply_to(ask, Play())
        self.count_answer(self.ledger, ask)
        dialect = self.profile.dialect
        if dialect is None or dialect.streams:  # there are no streams in batches
            return 200, body_of(ask, reply, numbers)
        return dialect.status, dialect.reply(str(reply.content or ""), reply.model or ask.model)

    # --- everything that is no completion

    def _own(self, http: web.Request, body: bytes) -> web.Response:
        if http.path == "/rehearse/control" and http.method == "POST":
            try:
                orders = json.loads(body or b"{}")
                if not isinstance(orders, dict):
                    raise ConfigError("the orders must be a JSON object")
                self.control(orders)
            except (ValueError, ConfigError) as exc:
                return web.json_response({"error": str(exc)}, status=400)
        elif http.path != "/rehearse/stats":
            return web.json_response({"error": "there are /rehearse/stats and /rehearse/control"}, status=404)
        stats = self.stats()
        if http.query.get("prompts"):
            stats["answers_by_ask"] = dict(self.ledger.answers)
        return web.json_response(stats)


def _fileno(http: web.Request) -> int:
    sock = None if http.transport is None else http.transport.get_extra_info("socket")
    return -1 if sock is None else int(sock.fileno())
