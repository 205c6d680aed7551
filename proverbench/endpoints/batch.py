"""Batches at a provider, through its SDK: batch_openai.py and batch_anthropic.py are the two that there are.

Here is what one batch is: its lines, its state, its results, and how to find it again. When to submit, to look and to
ask again is batching.py's work. A result is read by the code that reads a direct reply of the same kind.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import msgspec

from proverbench.endpoints.access import Access
from proverbench.endpoints.audit import audit
from proverbench.endpoints.base import ConnectError, Reply, Request
from proverbench.endpoints.classify import classify, describe, error_of
from proverbench.endpoints.error_facts import ErrorFacts, gist, read_error
from proverbench.endpoints.http import CacheMarkRefusedError, HttpEndpoint
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.endpoints.network import proxy_for, trust
from proverbench.endpoints.retry import asked_wait
from proverbench.errors import CallFailedError, EndpointError, FatalEndpointError, TransientError
from proverbench.inputs.config import EndpointConfig
from proverbench.lines import LineBuffer
from proverbench.redact import one_line

if TYPE_CHECKING:
    import httpx2

CANCELLED = "batch_cancelled"
EXPIRED = "batch_expired"

_LOOK_TIMEOUT_S = 60.0
_SUBMIT_TIMEOUT_S = 600.0
_CLOCK_SKEW = timedelta(minutes=15)
"""How much the provider's clock may be behind this machine's."""
_NO_BATCH_API = (404, 405, 501)

Status = Literal["going", "ended", "expired", "cancelled", "failed"]


class Limits(NamedTuple):
    """The most that one batch may hold."""

    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch, as the provider sees it at some moment."""

    remote: str
    """The provider's id."""
    status: Status
    total: int = 0
    done: int = 0
    """Requests that are over, well or not."""
    why: str = ""
    """What was wrong with a failed batch."""
    queue_full: bool = False
    """True when it failed because too much of this account waits already; later it may be taken."""
    files: tuple[str, ...] = ()
    """Of OpenAI: the files that hold its results."""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.status != "going"

    def n_results(self, asked: int) -> int:
        """How many of the ``asked`` requests its results must mention, now that it is over."""
        return asked if self.status == "ended" else min(self.done, asked)


class BatchResult(NamedTuple):
    """What became of one request of a batch."""

    custom_id: str
    outcome: Reply | EndpointError


class Found(NamedTuple):
    """What a search for a batch brought."""

    state: BatchState | None
    undecided: Sequence[str] = ()
    """Remote ids of batches that may be it, which only their results can tell, and these are not there yet."""


class BatchClient:
    """An endpoint's batches.

    Args:
        endpoint: Where they go.
        reader: Makes bodies and reads replies, as in a direct call; it is never asked to call.
        access: Key and extra headers.
        headers: What a direct call of the kind sends: authentication, version.
    """

    limits: Limits
    page = 100
    """Batches listed at once; the most that both providers allow."""

    def __init__(
        self,
        endpoint: EndpointConfig,
        reader: HttpEndpoint,
        access: Access,
        headers: Mapping[str, str],
    ) -> None:
        import httpx2

        self.name = endpoint.name
        self.normal_stops = find_kind(endpoint.kind).normal_stops
        self.missing_finish_accepted = endpoint.accept_missing_finish
        self.max_retries = endpoint.max_retries
        self._submit_timeout = httpx2.Timeout(_SUBMIT_TIMEOUT_S, connect=endpoint.connect_timeout_s)
        self._reader = reader
        self._base_url, _, self._query = (endpoint.base_url or self.default_base_url).partition("?")
        self._redact = access.redact
        self._headers = {**headers, **access.headers}
        self._http = self._http_client(endpoint)

    default_base_url: str
    _sdk: Any
    """The provider's package."""
    _client: Any
    _api: Any
    """Its batches, giving raw responses."""

    def line(self, custom_id: str, request: Request) -> bytes:
        """One request as a line of :meth:`submit`'s file, with its line end."""
        raise NotImplementedError

    async def submit(self, batch_id: str, file: BinaryIO) -> BatchState:
        """Send a batch.

        Args:
            batch_id: Our id, by which it can be found again where the provider keeps it.
            file: Its lines, from where the file stands.

        Raises:
            ConnectError, UploadError: It has not arrived.
            TransientError: It may or may not have arrived; :meth:`find` tells.
            EndpointError: It was not taken.
        """
        raise NotImplementedError

    async def find(self, batch_id: str, custom_ids: Collection[str], since: datetime, known: Collection[str]) -> Found:
        """Look for a batch of which no answer to :meth:`submit` is known.

        Args:
            batch_id: Our id.
            custom_ids: Of its requests.
            since: It was not submitted before.
            known: Remote ids that it cannot have.
        """
        raise NotImplementedError

    async def look(self, remote: str) -> BatchState:
        """The present state of a batch.

        Raises:
            UnknownBatchError: If the provider does not know it.
        """
        return self._state(await self._ask(f"batch {remote}", self._api.retrieve(remote)))

    def _state(self, raw: bytes) -> BatchState:
        """Read the description of a batch."""
        raise NotImplementedError

    def results(self, state: BatchState, role: str) -> AsyncGenerator[BatchResult, None]:
        """The results of a batch that is over, in any order; some may be missing, some come twice."""
        raise NotImplementedError

    async def cancel(self, remote: str) -> BatchState:
        """Ask the provider to stop; what is done stays done, and paid. A batch that is over is left as it is.

        Raises:
            UnknownBatchError: If the provider does not know it.
        """
        try:
            return self._state(await self._ask(f"batch {remote}", self._api.cancel(remote)))
        except UnknownBatchError:
            raise
        except EndpointError as exc:
            if exc.status in (400, 409):
                return await self.look(remote)
            raise

    async def aclose(self) -> None:
        """Release connections."""
        await self._client.close()
        await self._reader.aclose()

    def _http_client(self, endpoint: EndpointConfig) -> "httpx2.AsyncClient":
        """HTTP as of a direct call: its headers and no others that identify somebody, and no redirects.

        The SDKs also read keys, organisations and profiles from variables that no config names; a batch must not go to
        another account than a direct call.
        """
        import httpx2

        async def dress(request: httpx2.Request) -> None:
            for name in ("authorization", "x-api-key", "openai-organization", "openai-project"):
                request.headers.pop(name, None)
            request.headers.update(self._headers)

        return httpx2.AsyncClient(
            follow_redirects=False,
            trust_env=False,
            proxy=proxy_for(self._base_url),
            verify=trust(self._base_url),
            timeout=httpx2.Timeout(_LOOK_TIMEOUT_S, connect=endpoint.connect_timeout_s),
            event_hooks={"request": [dress]},
        )

    async def _ask(self, what: str, response: Awaitable[Any]) -> bytes:
        """The body of an SDK's raw response.

        Raises:
            EndpointError: What went wrong.
        """
        try:
            raw: bytes = (await response).http_response.content
        except self._sdk.APIError as exc:
            raise self._error(what, exc) from None  # the cause's text may hold secrets
        return raw

    async def _lines(self, what: str, path: str) -> AsyncGenerator[bytes, None]:
        """The lines of a file of results, as they come; they are split at line feeds alone."""
        import httpx2

        try:
            # By path: the address that a batch gives for its results may be another host's, which gets no key of ours.
            response = await self._client.get(path, cast_to=httpx2.Response, stream=True, stream_cls=self._stream_class)
        except self._sdk.APIError as exc:
            raise self._error(what, exc) from None
        buffer = LineBuffer()
        try:
            async for chunk in response.aiter_bytes():
                for line in buffer.feed(chunk):
                    yield line
        except httpx2.HTTPError as exc:
            raise TransientError(f"{what}: {self._said(exc)}", kind="network") from None
        finally:
            await response.aclose()
        if buffer.rest:
            yield buffer.rest

    @property
    def _stream_class(self) -> Any:
        """Demanded by the SDKs' types, unused for raw responses."""
        return self._sdk.AsyncStream[object]

    def _error(self, what: str, exc: Any) -> EndpointError:
        import httpx2

        cause = exc.__cause__
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            said = f"{what}: no connection to {self._base_url}: {self._said(cause)}; check base_url"
            return ConnectError(said, kind="connect" if isinstance(cause, httpx2.ConnectError) else "connect_timeout")
        if isinstance(exc, self._sdk.APITimeoutError):
            return TransientError(f"{what}: nothing came in time", kind="timeout")
        if not isinstance(exc, self._sdk.APIStatusError):
            return TransientError(f"{what}: {self._said(exc.__cause__ or exc)}", kind="network")
        status, facts = exc.status_code, read_error(exc.response.content)
        rule = classify(status, facts)
        message = f"{what}: {self._redact(describe(rule, status, facts, base_url=self._base_url))}"
        if rule.outcome == "refused":  # of a whole batch: that is no answer to any of its calls
            return CallFailedError(message, kind=f"http_{status}", status=status)
        if rule.outcome == "failed" and status in _NO_BATCH_API:
            return UnknownBatchError(message, kind=f"http_{status}", status=status)
        return error_of(rule, status, message, asked_s=asked_wait(exc.response.headers, facts))

    def _said(self, exc: BaseException) -> str:
        return one_line(self._redact(str(exc)))[:300] or type(exc).__name__

    def _no_batches(self, exc: EndpointError) -> FatalEndpointError:
        return FatalEndpointError(
            f"{exc}. This server seems to have no batches; resume with --batch none to ask directly",
            kind=exc.kind,
            status=exc.status,
        )

    def _bad(self, what: str, raw: bytes) -> TransientError:
        return TransientError(f"{what}: what came is none: {self._redact(gist(raw))}", kind="bad_reply", status=200)

    def _read(self, raw: bytes, role: str) -> Reply | EndpointError:
        """A reply, or what it means that it is none."""
        try:
            return audit(self._reader.cleaned(self._reader.read_reply(raw, self._reader.roles[role])))
        except EndpointError as exc:
            return exc

    def _failed(self, status: int, facts: ErrorFacts | None, role: str) -> Reply | EndpointError:
        """What the error of one request means: the same table as for a direct call."""
        facts = facts or ErrorFacts(message="an error that says nothing")
        try:
            return self._reader.refused_or_raise(status, facts, self._reader.roles[role])
        except CacheMarkRefusedError as exc:  # without it the next batch's request may pass
            self._reader.marks_cache = False
            return exc
        except EndpointError as exc:
            return exc


class UploadError(TransientError):
    """What a batch is made of did not arrive, so no batch was made."""


class UnknownBatchError(CallFailedError):
    """The provider knows no such batch, or no batches at all."""


def read_line(raw: bytes, wanted: Any) -> Any:
    """A line of results; None when it is empty or none. Its requests then count as missing, and are asked again."""
    if not raw.strip():
        return None
    try:
        return msgspec.json.decode(raw, type=wanted)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:  # what msgspec refuses (lone surrogates, NaN, …) in a form that it takes, where it takes raw values
        data = json.loads(raw.decode("utf-8-sig", "replace"), strict=False)
        holder = data.get("response") or data.get("result")
        for name in ("body", "message"):
            if isinstance(holder, dict) and name in holder:
                holder[name] = msgspec.Raw(json.dumps(holder[name]).encode())
        return msgspec.convert(data, type=wanted)
    except (msgspec.MsgspecError, ValueError, AttributeError, RecursionError):
        return None


def submitted_before(at: float | str, since: datetime) -> bool:
    """Whether a batch is too old to be one that was submitted after ``since``; unreadable times are not."""
    try:
        when = datetime.fromtimestamp(at, UTC) if isinstance(at, float | int) else datetime.fromisoformat(at)
    except (ValueError, OverflowError, OSError):
        return False
    return when.replace(tzinfo=when.tzinfo or UTC) < since - _CLOCK_SKEW


def counted(table: Mapping[str, Any], name: str) -> int:
    """A number of a batch's counts; 0 where it is none."""
    value = table.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
