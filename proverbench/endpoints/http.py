"""What the kinds that speak HTTP share: send, tell success from failure, read a reply or a stream of it."""

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from proverbench.concurrency import Turns
from proverbench.endpoints.access import Access
from proverbench.endpoints.audit import broken_off
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.bodies import Budget
from proverbench.endpoints.body import decode, encode
from proverbench.endpoints.classify import classify, describe, effective_status, error_of
from proverbench.endpoints.error_facts import ErrorFacts, error_inside, gist, read_error
from proverbench.endpoints.limits import Quota
from proverbench.endpoints.retry import asked_wait, quotas
from proverbench.endpoints.seeds import call_seed
from proverbench.endpoints.sse import Event, iter_events
from proverbench.endpoints.transport import Transport
from proverbench.errors import AttemptTimeoutError, CallFailedError, EndpointError, Partial, TransientError
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.redact import Redactor
from proverbench.spending.money import output_limit
from proverbench.spending.usage import merge_usage

_IDLE_S = 600.0
"""A connection on which nothing comes for so long is likely to be cut somewhere on its way."""
_TOKENS_PER_S = 128_000 / 3600
"""A slow model; with it both SDKs reckon how long an answer of a given length may take."""

_MAX_ERROR_BYTES = 1024 * 1024
"""Of an error's body; the rest is not read."""
_DEEPEST_USAGE = 8

_NO_HEADERS: Mapping[str, str] = {}
_NO_MARKS = "the server refuses the marks for its prompt cache (cache_control); they are left out from now on"

OnQuota = Callable[[Quota], None]


@dataclass(frozen=True, slots=True)
class Wire:
    """A role as it goes over the wire."""

    role: RoleConfig
    parameters: dict[str, Any]
    """Top level of each request's body, ``model`` first, without messages and seed."""
    seed: int | None
    stream: bool
    output_limit: int | None


@dataclass(slots=True)
class Heard:
    """What came of a stream so far: should it break off, that much was paid for."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    usage: list[Any] = field(default_factory=list)
    """Usage objects, in the order they came."""
    finish_reason: str | None = None
    began: bool = False
    """Whether the model had begun, as far as it shows."""

    def partial(self) -> Partial | None:
        """What was heard; None when the model had not begun."""
        if not (self.began or self.text or self.reasoning or self.usage):
            return None
        return Partial(self.finish_reason, sum(map(len, self.text)), merge_usage(self.usage))


class CacheMarkRefusedError(TransientError):
    """The server refuses our mark for its prompt cache. Without it the same request may pass."""


def wants_stream(endpoint: EndpointConfig, limit: int | None) -> bool:
    """Whether to stream: as configured, else when an answer may take so long that an idle connection is cut.

    With a limit on the output, that is when a slow model would need more than ten minutes, or more than the allowed
    silence, to write so much; without one, when the timeout allows more than ten minutes.
    """
    if endpoint.stream != "auto":
        return endpoint.stream
    longest_s = endpoint.timeout_s if limit is None else min(limit / _TOKENS_PER_S, endpoint.timeout_s)
    return longest_s > min(_IDLE_S, endpoint.read_timeout_s or endpoint.timeout_s)


def joined(pieces: list[str]) -> str:
    """Pieces of a streamed text as one; a character that was cut in two surrogate halves is made whole."""
    text = "".join(pieces)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def text_or_none(value: Any) -> str | None:
    """A text that a provider should have sent, if it is one."""
    return value if isinstance(value, str) and value else None


def cut() -> TransientError:
    """The error for a stream that ended before it said so."""
    return TransientError("the stream was cut before its end", kind="stream_cut", status=200)


async def _beginning(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """The first bytes of a body, ``most`` or a little more."""
    read: list[bytes] = []
    async for chunk in chunks:
        read.append(chunk)
        most -= len(chunk)
        if most <= 0:
            break
    return b"".join(read)


async def _announced(events: AsyncIterator[Event], begun: Callable[[], object]) -> AsyncIterator[Event]:
    """The events of a stream; says when the first of them comes."""
    async for event in events:
        begun()
        yield event


async def _once(raw: bytes) -> AsyncIterator[bytes]:
    yield raw


def _usage(value: Any, redact: Redactor, depth: int = 0) -> Any:
    """Token counts with every text cleaned, and nothing that is nested deeper than any provider's."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return redact.field(value)
    if depth >= _DEEPEST_USAGE:
        return None
    if isinstance(value, dict):
        name = redact.name
        return {
            name(str(key)): item if type(item) is int else _usage(item, redact, depth + 1)
            for key, item in value.items()
        }
    return [_usage(item, redact, depth + 1) for item in value] if isinstance(value, list) else None


class HttpEndpoint:
    """Base of the kinds that speak HTTP; a subclass knows one wire format.

    Args:
        endpoint: Address and timeouts.
        roles: The roles that use this endpoint, by name.
        url: Where requests go.
        headers: Authentication and version headers of the kind.
        access: Key and extra headers.
        on_quota: Told what the headers of each reply say is left.
        trust_env: Use the proxies that the environment names.
    """

    def __init__(
        self,
        endpoint: EndpointConfig,
        roles: Mapping[str, RoleConfig],
        *,
        url: str,
        headers: Mapping[str, str],
        access: Access,
        on_quota: OnQuota | None = None,
        trust_env: bool = True,
    ) -> None:
        self.endpoint = endpoint
        self.roles = {name: self.wire(role) for name, role in roles.items()}
        self._models = {role.model for role in roles.values()}
        self._redact = access.redact
        self._on_quota = on_quota
        self._turns = Turns()
        self.marks_cache = True
        """Whether what calls share is marked for the provider's cache, where the kind has such marks."""
        self._transport = Transport(
            url,
            {**headers, **access.headers},
            connect_timeout_s=endpoint.connect_timeout_s,
            read_timeout_s=endpoint.read_timeout_s or endpoint.timeout_s,
            redact=self._redact,
            trust_env=trust_env,
        )

    def wire(self, role: RoleConfig) -> Wire:
        """Prepare a role's part of every request."""
        generation = {key: value for key, value in role.generation.items() if key not in ("extra_body", "seed")}
        extra = role.generation.get("extra_body", {})
        limit = output_limit(role.generation)
        return Wire(
            role=role,
            parameters={"model": role.model, **generation, **extra},
            seed=role.generation.get("seed"),
            stream=wants_stream(self.endpoint, limit),
            output_limit=limit,
        )

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """The whole request body."""
        raise NotImplementedError

    def read_reply(self, raw: bytes, wire: Wire) -> Reply:
        """What a response that is not streamed says.

        Raises:
            EndpointError: If it is an error after all, or no reply.
        """
        raise NotImplementedError

    async def read_stream(self, events: AsyncIterator[Event], wire: Wire, heard: Heard) -> Reply:
        """What a streamed response says.

        Args:
            events: The stream.
            wire: The role that asked.
            heard: Takes what comes, as it comes.

        Raises:
            EndpointError: If an error came in mid-stream, or the stream was cut.
        """
        raise NotImplementedError

    async def complete(self, request: Request) -> Reply:
        """Make one attempt; see :class:`~proverbench.endpoints.base.Endpoint`.

        One that is refused for our mark goes out once more without it, and so do all that follow.
        """
        if not self.marks_cache:
            return await self._unmarked(request)
        try:
            return await self._complete(request)
        except CacheMarkRefusedError:
            self.marks_cache = False
        return replace(await self._unmarked(request), remark=_NO_MARKS)

    async def _unmarked(self, request: Request) -> Reply:
        try:
            return await self._complete(request)
        except CacheMarkRefusedError as exc:  # for something else then
            raise CallFailedError(str(exc), kind=exc.kind, status=exc.status) from None

    async def _complete(self, request: Request) -> Reply:
        wire = self.roles[request.role]
        heard = Heard()
        try:
            return await self._exchange(request, wire, heard)
        except AttemptTimeoutError:
            raise  # it counts as abandoned, whatever had come
        except TransientError as exc:
            if exc.partial is None and (partial := heard.partial()) is not None:
                reply = self.cleaned(Reply("", partial.finish_reason, usage=partial.usage))
                exc.partial = Partial(reply.finish_reason, partial.text_chars, reply.usage)
            raise

    async def _exchange(self, request: Request, wire: Wire, heard: Heard) -> Reply:
        body = encode(self.body(request, stream=wire.stream))
        async with self._transport.post(body) as response:
            if response.status != 200:
                raw = await _beginning(response.content.iter_any(), _MAX_ERROR_BYTES)
                await self._turns.wait()
                return self.refused_or_raise(response.status, read_error(raw), wire, response.headers)
            if self._on_quota:
                for quota in quotas(response.headers):
                    self._on_quota(quota)
            chunks = response.content.iter_any()
            with Budget.of_loop().share() as share:
                if response.content_type == "text/event-stream":
                    events = iter_events(share.streamed(chunks))
                    if request.begun is not None:
                        events = _announced(events, request.begun)
                    reply = await self.read_stream(events, wire, heard)
                    return await self._in_turn(lambda: self.cleaned(reply))
                raw = (await share.whole(chunks)).removeprefix(BOM_UTF8)
                if raw.startswith((b"data:", b"event:", b": ")):  # a stream that does not say that it is one
                    return self.cleaned(await self.read_stream(iter_events(_once(raw)), wire, heard))
                return await self._in_turn(lambda: self.cleaned(self.read_reply(raw, wire)))

    async def _in_turn(self, read: Callable[[], Reply]) -> Reply:
        """Read a reply that has come in its turn; when the wait is cut short, at once, because it is paid for."""
        try:
            await self._turns.wait()
        except asyncio.CancelledError:
            with suppress(EndpointError):
                return read()
            raise
        return read()

    def cleaned(self, reply: Reply) -> Reply:
        """The reply without the endpoint's secrets: servers echo them in the oddest fields, and replies are kept."""
        whole, field, name = self._redact.whole, self._redact.field, self._redact.name
        usage = _usage(reply.usage, self._redact)
        return replace(
            reply,
            text=whole(reply.text),
            reasoning=reply.reasoning and whole(reply.reasoning),
            finish_reason=reply.finish_reason and name(reply.finish_reason),
            usage=usage if isinstance(usage, dict) else None,
            model=reply.model if reply.model in self._models else reply.model and name(reply.model),
            fingerprint=reply.fingerprint and name(reply.fingerprint),
            response_id=reply.response_id and field(reply.response_id),
        )

    def broken_off(self, finish_reason: str, usage: dict[str, Any] | None) -> TransientError:
        """The error of a reply without content that the server says it broke off."""
        reply = self.cleaned(Reply("", finish_reason, usage=usage))
        return broken_off(reply.finish_reason or "", reply)

    async def aclose(self) -> None:
        """Release connections."""
        await self._transport.aclose()

    def seed(self, request: Request, wire: Wire) -> int | None:
        """The call's own seed, when the config sets a base."""
        if request.seed is not None or wire.seed is None:
            return request.seed
        return call_seed(wire.seed, request.key)

    def refused_or_raise(
        self, status: int, facts: ErrorFacts, wire: Wire, headers: Mapping[str, str] = _NO_HEADERS
    ) -> Reply:
        """Turn an error into a refused reply, or raise what it means.

        Args:
            status: The HTTP status; 200 for an error inside a successful response.
            facts: What its body says.
            wire: The role that asked.
            headers: Of the response.
        """
        status = effective_status(facts) if status == 200 else status
        url = self.endpoint.base_url or self._transport.url
        rule = classify(status, facts, output_limit=wire.output_limit, host=url)
        if rule.outcome == "refused":
            room = facts.room(wire.output_limit) if rule.why == "context_length" else None
            return Reply(text="", finish_reason=None, refused=rule.why, context=room)
        message = self._redact(describe(rule, status, facts, base_url=url, generation=wire.role.generation))
        if rule.name == "cache mark":
            raise CacheMarkRefusedError(message, kind=f"http_{status}", status=status)
        raise error_of(rule, status, message, asked_s=asked_wait(headers, facts))

    def refused_inside(self, raw: bytes, wire: Wire) -> Reply | None:
        """What an error means that stands where a reply should be, whatever its shape; None when there is none.

        Raises:
            EndpointError: What it means, unless it is a refusal.
        """
        try:
            facts = error_inside(decode(raw, object))
        except ValueError:
            return None
        return self.refused_or_raise(200, facts, wire) if facts else None

    def bad_reply(self, raw: bytes, why: str) -> TransientError:
        """The error for a 200 that is no reply; says what came instead."""
        return TransientError(f"{why}; what came: {self._redact(gist(raw))}", kind="bad_reply", status=200)
