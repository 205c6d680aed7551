"""Public search engines over HTTP, politely: a request at a time, few in any window, every answer kept for good.

What is known of their requests and replies stands in docs/retrieval.md, "Public engines".
"""

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Answered, Priority, Reply, Request
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.classify import classify, describe, error_of
from proverbench.endpoints.error_facts import gist, read_error
from proverbench.endpoints.retry import asked_wait
from proverbench.endpoints.transport import Transport
from proverbench.errors import AttemptTimeoutError, TransientError
from proverbench.retrieval.answers import AnswerCache
from proverbench.retrieval.politeness import PoliteWindow
from proverbench.retrieval.records import GoldQuery, Ranking, Unanswered
from proverbench.retrieval.settings import EngineSettings
from proverbench.retrieval.subsets import load_missing
from proverbench.retrieval.systems.base import Context, Outcome
from proverbench.run.texts import storable

Sleep = Callable[[float], Awaitable[object]]


class _Engine(ABC):
    """How one engine is asked and what it answers."""

    name: str
    base_url: str
    requests: int
    seconds: float

    @abstractmethod
    def request(self, text: str, settings: EngineSettings) -> dict[str, Any]:
        """Return the request as data: ``method``, ``path``, and ``json`` or ``params``."""

    @abstractmethod
    def names(self, reply: Any) -> list[str]:
        """Return full names, best first.

        Raises:
            ValueError: If the reply is of another shape.
        """


class LeanSearch(_Engine):
    """leansearch.net: POST, a list of queries in, a list of results for each out."""

    name = "leansearch"
    base_url = "https://leansearch.net"
    requests = 3
    seconds = 30.0

    def request(self, text: str, settings: EngineSettings) -> dict[str, Any]:
        """Ask one query a request."""
        return {"method": "POST", "path": "/search", "json": {"query": [text], "num_results": settings.results}}

    def names(self, reply: Any) -> list[str]:
        """Keep the list's order: ``distance`` is from before reranking, so sorting by it would undo that."""
        if not isinstance(reply, list) or len(reply) != 1 or not isinstance(reply[0], list):
            raise ValueError("wanted a list with one list of results")
        return [_joined(_field(_field(item, "result"), "name")) for item in reply[0]]


class LeanExplore(_Engine):
    """LeanExplore: GET, with a key if there is one, best first."""

    name = "leanexplore"
    base_url = "https://www.leanexplore.com/api/v2"
    requests = 24
    seconds = 60.0

    def request(self, text: str, settings: EngineSettings) -> dict[str, Any]:
        """Ask for Mathlib's declarations."""
        params = {"q": text, "limit": str(settings.results), "packages": "Mathlib"}
        return {"method": "GET", "path": "/search", "params": params}

    def names(self, reply: Any) -> list[str]:
        """Return the results' names."""
        results = _field(reply, "results")
        if not isinstance(results, list):
            raise ValueError("results is not a list")
        return [_joined(_field(item, "name")) for item in results]


ENGINES: dict[str, _Engine] = {engine.name: engine for engine in (LeanSearch(), LeanExplore())}
"""The engines, by spec."""


def _field(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise ValueError(f"a result without {name}")
    return value[name]


def _joined(name: Any) -> str:
    if isinstance(name, list) and all(isinstance(part, str | int) for part in name):
        name = ".".join(str(part) for part in name)
    if isinstance(name, str):
        return storable(name)[0]
    raise ValueError("a name that is neither text nor a list of parts")


_UNPROCESSABLE = 422
_FEWER = (150, 100, 50, 20, 10)
"""What is asked for next where an engine refuses so many results and does not say how many it gives."""


class _TooManyResultsError(Exception):
    """The engine refuses so many results, and gives at most ``at_most``."""

    def __init__(self, at_most: int) -> None:
        super().__init__(at_most)
        self.at_most = at_most


def _allowed_results(raw: bytes, wanted: Mapping[str, Any]) -> int | None:
    """Return how many results to ask for after a 422 that names ``num_results``; None if it is about something else."""
    asked = wanted.get("json", {}).get("num_results")
    if asked is None or b"num_results" not in raw:
        return None
    said = [int(n) for n in re.findall(rb'(?:less than or equal to |at most |"le": ?)([0-9]{1,4})\b', raw)]
    return next((n for n in [*said, *_FEWER] if 0 < n < asked), None)


class _EngineEndpoint:
    """One attempt of one request, inside the polite window; the reply's text is the body as it came."""

    def __init__(self, engine: _Engine, settings: EngineSettings, access: Access, window: PoliteWindow) -> None:
        self._engine = engine
        self._base_url = (settings.base_url or engine.base_url).rstrip("/")
        self._path = engine.request("", settings)["path"]
        self._timeout_s = settings.timeout_s
        self._window = window
        self._redact = access.redact
        self._at_most: int | None = None
        self.took_s = 0.0
        """Of the last answer, without the wait for the window."""
        self._transport = Transport(
            self._base_url + self._path,
            {**({"Authorization": f"Bearer {access.key}"} if access.key else {}), **access.headers},
            connect_timeout_s=settings.connect_timeout_s,
            read_timeout_s=settings.timeout_s,
            redact=access.redact,
        )

    async def complete(self, request: Request) -> Reply:
        """Make one attempt; waiting for the window does not count against its timeout."""
        wanted = json.loads(request.prompt)
        while True:
            self._lower(wanted)
            async with self._window.slot():
                try:
                    began = time.monotonic()
                    async with asyncio.timeout(self._timeout_s):
                        reply = await self._ask(wanted)
                    self.took_s = time.monotonic() - began
                    return reply
                except TimeoutError:
                    raise AttemptTimeoutError(f"no answer within {self._timeout_s:g} s", kind="timeout") from None
                except _TooManyResultsError as exc:
                    self._at_most = exc.at_most

    def _lower(self, wanted: dict[str, Any]) -> None:
        """Ask for no more results than the engine has said it gives."""
        if self._at_most is not None and "num_results" in wanted.get("json", {}):
            wanted["json"]["num_results"] = min(wanted["json"]["num_results"], self._at_most)

    async def _ask(self, wanted: dict[str, Any]) -> Reply:
        if wanted["method"] == "GET":
            asking = self._transport.get(wanted["params"])
        else:
            asking = self._transport.post(json.dumps(wanted["json"]).encode())
        async with asking as response:
            raw = await response.read()
            if response.status == 200:
                return self._reply(raw)
            if response.status == _UNPROCESSABLE and (lower := _allowed_results(raw, wanted)) is not None:
                raise _TooManyResultsError(lower)
            facts = read_error(raw)
            rule = classify(response.status, facts)
            message = self._redact(describe(rule, response.status, facts, base_url=self._base_url))
            asked_s = asked_wait(response.headers, facts)
        raise error_of(rule, response.status, message, asked_s=asked_s)

    def _reply(self, raw: bytes) -> Reply:
        """Return the body, if it is of the documented shape: what is kept for good must be an answer."""
        body = raw.decode("utf-8", "replace")
        try:
            self._engine.names(json.loads(body))
        except (ValueError, RecursionError) as exc:
            what = self._redact(gist(raw))
            raise TransientError(f"a 200 of another shape than documented ({exc}): {what}", kind="bad_reply") from None
        return Reply(text=body, finish_reason=None)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._transport.aclose()


class EngineSystem:
    """A public engine. It searches a corpus of its own, so its row is never ranked with others but on shared queries.

    Args:
        engine: Which one.
        settings: Its table of the config.
        access: Its key, if any.
        context: Corpus and cache.
        clock: Seconds since a fixed date.
        sleep: Waits.
    """

    external = True
    licence = ""

    def __init__(
        self,
        engine: _Engine,
        settings: EngineSettings,
        access: Access,
        context: Context,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.spec = engine.name
        of = f"the corpus of {engine.name}{f' at {settings.revision}' if settings.revision else ''}"
        self.own_corpus = settings.corpus or of
        self.own_missing = frozenset(load_missing(settings.missing)) if settings.missing else None
        self._engine = engine
        self._settings = settings
        self._context = context
        address = settings.base_url or engine.base_url
        # Kept by address: a mirror has answers and a limit of its own.
        place = re.sub(r"[^A-Za-z0-9.-]+", "-", urlsplit(address).netloc + urlsplit(address).path).strip("-")
        self._answers = AnswerCache(context.cache / "answers" / place)
        window = PoliteWindow(
            context.cache / "answers" / f"{place}.window",
            requests=engine.requests,
            seconds=engine.seconds,
            clock=clock,
            sleep=sleep,
        )
        self._endpoint = _EngineEndpoint(engine, settings, access, window)
        self._caller = EndpointCaller(
            self._endpoint,
            name=engine.name,
            concurrency=1,
            max_retries=settings.max_retries,
            normal_stops=None,  # no model's replies
            sleep=_awaiting(sleep),
        )

    def identity(self) -> dict[str, Any]:
        """Return the engine, what is known of its version, and how many results are asked for."""
        return {
            "kind": "engine",
            "engine": self._engine.name,
            "revision": self._settings.revision,
            "results": self._settings.results,
        }

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Take what is kept, ask for the rest, one request after the other."""
        for query in queries:
            if self._context.stopping():
                return
            request = self._engine.request(query.text, self._settings)
            body = self._answers.read(request)
            took: float | UnsetType = UNSET
            if body is None:
                await self._caller.acquire(Priority.POLICY)
                outcome = await self._caller.call(
                    Request(role="engine", prompt=json.dumps(request), key=f"engine/{query.id}/0/0")
                )
                if not isinstance(outcome, Answered):
                    yield Unanswered(query.id, outcome.error_kind, outcome.message)
                    continue
                body = outcome.reply.text
                self._answers.write(request, body)
                took = self._endpoint.took_s
            yield Ranking(query.id, self._engine.names(json.loads(body))[:k], took)

    def notes(self) -> list[str]:
        """Return the endpoint's remarks."""
        return list(self._caller.state.notes)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._caller.aclose()


def _awaiting(sleep: Sleep) -> Callable[[float], Awaitable[None]]:
    async def wait(seconds: float) -> None:
        await sleep(seconds)

    return wait
