"""What the kinds that speak HTTP share: send, tell success from failure, read a reply or a stream of it."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from proverbench.config import EndpointConfig, RoleConfig
from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.classify import (
    ErrorFacts,
    classify,
    describe,
    effective_status,
    error_of,
    gist,
    read_error,
)
from proverbench.endpoints.limits import Quota
from proverbench.endpoints.money import output_limit
from proverbench.endpoints.retry import hint_in, parse_retry_after, quotas
from proverbench.endpoints.seeds import call_seed
from proverbench.endpoints.sse import Event, iter_events
from proverbench.endpoints.transport import Transport
from proverbench.errors import TransientError

_IDLE_S = 600.0
"""A connection on which nothing comes for so long is likely to be cut somewhere on its way."""
_TOKENS_PER_S = 128_000 / 3600
"""A slow model; with it both SDKs reckon how long an answer of a given length may take."""

T = TypeVar("T")
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


def wants_stream(endpoint: EndpointConfig, limit: int | None) -> bool:
    """Whether to stream: as configured, else when an answer may take so long that an idle connection is cut.

    With a limit on the output, that is when a slow model would need more than ten minutes, or more than the allowed
    silence, to write so much; without one, when the timeout allows more than ten minutes.
    """
    if endpoint.stream != "auto":
        return endpoint.stream
    longest_s = endpoint.timeout_s if limit is None else min(limit / _TOKENS_PER_S, endpoint.timeout_s)
    return longest_s > min(_IDLE_S, endpoint.read_timeout_s or endpoint.timeout_s)


def decode(raw: bytes, wanted: type[T]) -> T:
    """Read JSON; what msgspec refuses (lone surrogates, NaN, control characters) is read as the json module does.

    Raises:
        ValueError: If it is not JSON, or not of that shape.
    """
    try:
        return msgspec.json.decode(raw, type=wanted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(raw.decode("utf-8", "replace"), strict=False), type=wanted)
    except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
        raise ValueError(str(exc)) from None


def encode(body: dict[str, Any]) -> bytes:
    """Write JSON. Lone surrogates, which no server could read, go out as U+FFFD."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        whole = json.dumps(body, ensure_ascii=False)
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


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
        self._redact = access.redact
        self._on_quota = on_quota
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

    async def read_stream(self, events: AsyncIterator[Event], wire: Wire) -> Reply:
        """What a streamed response says.

        Raises:
            EndpointError: If an error came in mid-stream, or the stream was cut.
        """
        raise NotImplementedError

    async def complete(self, request: Request) -> Reply:
        """Make one attempt; see :class:`~proverbench.endpoints.base.Endpoint`."""
        wire = self.roles[request.role]
        body = encode(self.body(request, stream=wire.stream))
        async with self._transport.post(body) as response:
            if response.status != 200:
                raw = await response.read()
                hint = parse_retry_after(response.headers)
                return self.refused_or_raise(response.status, read_error(raw), wire, hint)
            if self._on_quota:
                for quota in quotas(response.headers):
                    self._on_quota(quota)
            if response.content_type == "text/event-stream":
                return await self.read_stream(iter_events(response.content.iter_any()), wire)
            raw = await response.read()
        return self.read_reply(raw, wire)

    async def aclose(self) -> None:
        """Release connections."""
        await self._transport.aclose()

    def seed(self, request: Request, wire: Wire) -> int | None:
        """The call's own seed, when the config sets a base."""
        if request.seed is not None or wire.seed is None:
            return request.seed
        return call_seed(wire.seed, request.key)

    def refused_or_raise(self, status: int, facts: ErrorFacts, wire: Wire, retry_after_s: float | None = None) -> Reply:
        """Turn an error into a refused reply, or raise what it means.

        Args:
            status: The HTTP status; 200 for an error inside a successful response.
            facts: What its body says.
            wire: The role that asked.
            retry_after_s: The provider's hint.
        """
        status = effective_status(facts) if status == 200 else status
        rule = classify(status, facts, output_limit=wire.output_limit)
        if rule.outcome == "refused":
            return Reply(text="", finish_reason=None, refused=rule.why)
        if retry_after_s is None and status == 429:
            retry_after_s = hint_in(facts.message)
        message = self._redact(describe(rule, status, facts, base_url=self.endpoint.base_url or self._transport.url))
        raise error_of(rule, status, message, retry_after_s=retry_after_s)

    def bad_reply(self, raw: bytes, why: str) -> TransientError:
        """The error for a 200 that is no reply; says what came instead."""
        return TransientError(f"{why}; what came: {self._redact(gist(raw))}", kind="bad_reply", status=200)
