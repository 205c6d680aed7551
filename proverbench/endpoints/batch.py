"""Batches at the providers: OpenAI's Files and Batches, Anthropic's Message Batches, through their SDKs.

Here is what one batch is: its lines, its state, its results, and how to find it again. When to submit, to look and to
ask again is batching.py's work. A result is read by the code that reads a direct reply of the same kind.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from proverbench.endpoints.access import Access
from proverbench.endpoints.audit import audit
from proverbench.endpoints.base import ConnectError, Reply, Request
from proverbench.endpoints.body import decode, encode
from proverbench.endpoints.classify import classify, describe, error_of
from proverbench.endpoints.error_facts import ErrorFacts, error_facts, gist, read_error
from proverbench.endpoints.factory import read_access
from proverbench.endpoints.http import CacheMarkRefusedError, HttpEndpoint
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.endpoints.network import proxy_for, trust
from proverbench.endpoints.retry import asked_wait
from proverbench.errors import CallFailedError, EndpointError, FatalEndpointError, TransientError
from proverbench.inputs.config import Config, EndpointConfig, RoleConfig
from proverbench.lines import LineBuffer
from proverbench.redact import one_line

if TYPE_CHECKING:
    import httpx2

CANCELLED = "batch_cancelled"
EXPIRED = "batch_expired"

_LOOK_TIMEOUT_S = 60.0
_SUBMIT_TIMEOUT_S = 600.0
_PAGE = 100
"""Batches listed at once; the most that both providers allow."""
_CLOCK_SKEW = timedelta(minutes=15)
"""How much the provider's clock may be behind this machine's."""
_ID = "proverbench_batch"
"""Under this name our own id stands in the metadata of an OpenAI batch."""
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


# --- OpenAI


class _OpenAIBatch(msgspec.Struct):
    id: str
    status: str
    created_at: float = 0
    metadata: Any = None
    errors: Any = None
    request_counts: Any = None
    output_file_id: str | None = None
    error_file_id: str | None = None


class _OpenAIPage(msgspec.Struct):
    data: list[_OpenAIBatch]
    has_more: bool = False


class _File(msgspec.Struct):
    id: str


_OPENAI_STATUS: dict[str, Status] = {
    "completed": "ended",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The others (validating, in_progress, finalizing, cancelling, and what may be added) mean that it is going on."""


class OpenAIBatches(BatchClient):
    """OpenAI's Files and Batches; see :class:`BatchClient`."""

    limits = Limits(50_000, 199_000_000)

    def __init__(self, endpoint: EndpointConfig, roles: Mapping[str, RoleConfig], access: Access) -> None:
        import openai

        from proverbench.endpoints.openai import DEFAULT_BASE_URL, OpenAIEndpoint
        from proverbench.endpoints.responses import ResponsesEndpoint

        kind = ResponsesEndpoint if endpoint.api == "responses" else OpenAIEndpoint
        self.default_base_url = DEFAULT_BASE_URL
        self._url = f"/v1{kind.path}"
        headers = {"Authorization": f"Bearer {access.key}"} if access.key else {}
        super().__init__(endpoint, kind(endpoint, roles, access=access), access, headers)
        self._sdk = openai
        self._client = openai.AsyncOpenAI(
            api_key="stands in the headers",
            base_url=self._base_url,
            default_query=dict(parse_qsl(self._query)),
            max_retries=0,
            http_client=self._http,
        )
        self._api = self._client.batches.with_raw_response

    def line(self, custom_id: str, request: Request) -> bytes:
        """A line of an input file."""
        body = self._reader.body(request, stream=False)
        return encode({"custom_id": custom_id, "method": "POST", "url": self._url, "body": body}) + b"\n"

    async def submit(self, batch_id: str, file: BinaryIO) -> BatchState:
        """Upload the file, then create the batch with our id in its metadata."""
        what = "submitting a batch"
        try:
            file_id = await self._upload(what, batch_id, file)
            created = await self._ask(
                what,
                self._api.create(
                    input_file_id=file_id,
                    endpoint=self._url,
                    completion_window="24h",
                    metadata={_ID: batch_id},
                    timeout=self._submit_timeout,
                ),
            )
        except UnknownBatchError as exc:
            raise self._no_batches(exc) from None
        return self._state(created)

    async def _upload(self, what: str, batch_id: str, file: BinaryIO) -> str:
        """Send the input file; returns its id."""
        sent = self._client.files.with_raw_response.create(
            file=(f"{batch_id}.jsonl", file), purpose="batch", timeout=self._submit_timeout
        )
        try:
            uploaded = await self._ask(what, sent)
            try:
                return decode(uploaded, _File).id
            except ValueError:
                raise self._bad("the description of an uploaded file", uploaded) from None
        except ConnectError:
            raise
        except TransientError as exc:
            raise UploadError(
                str(exc), kind=exc.kind, status=exc.status, retry_after_s=exc.retry_after_s, asked_s=exc.asked_s
            ) from None

    async def find(self, batch_id: str, custom_ids: Collection[str], since: datetime, known: Collection[str]) -> Found:
        """By our id in its metadata."""
        after: dict[str, str] = {}
        while True:
            raw = await self._ask("listing batches", self._api.list(limit=_PAGE, **after))
            try:
                page = decode(raw, _OpenAIPage)
            except ValueError:
                raise self._bad("a list of batches", raw) from None
            for batch in page.data:
                if isinstance(batch.metadata, dict) and batch.metadata.get(_ID) == batch_id:
                    return Found(_openai_state(batch))
            if not page.has_more or not page.data or _before(page.data[-1].created_at, since):
                return Found(None)
            after = {"after": page.data[-1].id}

    async def results(self, state: BatchState, role: str) -> AsyncGenerator[BatchResult, None]:
        """The lines of its output file and its error file."""
        for file_id in state.files:
            async for raw in self._lines(f"the results of batch {state.remote}", f"/files/{file_id}/content"):
                line = _read_line(raw, _OpenAILine)
                if line is None:
                    continue
                if line.response is None:
                    yield BatchResult(line.custom_id, self._undone(line.error, role))
                elif line.response.status_code == 200:
                    yield BatchResult(line.custom_id, self._read(bytes(line.response.body), role))
                else:
                    facts = read_error(bytes(line.response.body))
                    yield BatchResult(line.custom_id, self._failed(line.response.status_code, facts, role))

    def _undone(self, error: Any, role: str) -> Reply | EndpointError:
        code = error.get("code") if isinstance(error, dict) else None
        message = str(error.get("message")) if isinstance(error, dict) else "neither an answer nor an error came"
        if code == EXPIRED:
            return TransientError(one_line(self._redact(message)), kind=EXPIRED)
        if code == CANCELLED:
            return CallFailedError(one_line(self._redact(message)), kind=CANCELLED)
        return self._failed(200, error_facts(error), role)

    def _state(self, raw: bytes) -> BatchState:
        try:
            state = _openai_state(decode(raw, _OpenAIBatch))
        except ValueError:
            raise self._bad("the description of a batch", raw) from None
        return replace(state, why=one_line(self._redact(state.why)))


class _OpenAIResponse(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _OpenAILine(msgspec.Struct):
    custom_id: str
    response: _OpenAIResponse | None = None
    error: Any = None


def _openai_state(batch: _OpenAIBatch) -> BatchState:
    status: Status = _OPENAI_STATUS.get(batch.status, "going")
    counts = batch.request_counts if isinstance(batch.request_counts, dict) else {}
    errors = batch.errors.get("data") if isinstance(batch.errors, dict) else None
    found = [error for error in errors or () if isinstance(error, dict)]
    why = "; ".join(str(error.get("message")) for error in found[:3])
    return BatchState(
        batch.id,
        status,
        total=_count(counts, "total"),
        done=_count(counts, "completed") + _count(counts, "failed"),
        why=why,
        queue_full=status == "failed"
        and any(error.get("code") == "token_limit_exceeded" or "nqueued token" in why for error in found),
        files=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
    )


# --- Anthropic


class _MessageBatch(msgspec.Struct):
    id: str
    processing_status: str
    request_counts: dict[str, Any] = {}
    created_at: str = ""
    cancel_initiated_at: str | None = None


class _MessageBatchPage(msgspec.Struct):
    data: list[_MessageBatch]
    has_more: bool = False


class _Result(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class _ResultLine(msgspec.Struct):
    custom_id: str
    result: _Result


class _RequestLine(msgspec.Struct):
    custom_id: str
    params: dict[str, Any]


class AnthropicBatches(BatchClient):
    """Anthropic's Message Batches; see :class:`BatchClient`.

    They carry nothing of ours but the requests' custom ids, which come back with the results alone.
    """

    # The provider takes 100,000 requests and 256 MB; the SDK builds the whole body in memory, several times over.
    limits = Limits(100_000, 64_000_000)

    def __init__(self, endpoint: EndpointConfig, roles: Mapping[str, RoleConfig], access: Access) -> None:
        import anthropic

        from proverbench.endpoints.anthropic import DEFAULT_BASE_URL, VERSION, AnthropicEndpoint

        self.default_base_url = DEFAULT_BASE_URL
        headers = {"anthropic-version": VERSION, **({"x-api-key": access.key} if access.key else {})}
        super().__init__(endpoint, AnthropicEndpoint(endpoint, roles, access=access), access, headers)
        self._sdk = anthropic
        self._client = anthropic.AsyncAnthropic(
            api_key="stands in the headers",
            base_url=self._base_url.removesuffix("/v1"),
            max_retries=0,
            http_client=self._http,
        )
        self._api = self._client.messages.batches.with_raw_response

    def line(self, custom_id: str, request: Request) -> bytes:
        """One of the requests of a batch."""
        return encode({"custom_id": custom_id, "params": self._reader.body(request, stream=False)}) + b"\n"

    async def submit(self, batch_id: str, file: BinaryIO) -> BatchState:
        """All requests in one body."""
        lines = (msgspec.json.decode(line, type=_RequestLine) for line in file)
        requests = [{"custom_id": line.custom_id, "params": line.params} for line in lines]
        try:
            made = self._api.create(requests=requests, timeout=self._submit_timeout)
            raw = await self._ask("submitting a batch", made)
        except UnknownBatchError as exc:
            raise self._no_batches(exc) from None
        return self._state(raw)

    async def find(self, batch_id: str, custom_ids: Collection[str], since: datetime, known: Collection[str]) -> Found:
        """Among the batches of as many requests, the one whose first result is of ours."""
        after: dict[str, str] = {}
        undecided = []
        while True:
            raw = await self._ask("listing batches", self._api.list(limit=_PAGE, **after))
            try:
                page = decode(raw, _MessageBatchPage)
            except ValueError:
                raise self._bad("a list of batches", raw) from None
            recent = [batch for batch in page.data if not _before(batch.created_at, since)]
            for batch in recent:
                state = _message_batch_state(batch)
                if batch.id in known or state.total != len(custom_ids):
                    continue
                if not state.over:
                    undecided.append(batch.id)
                elif await self._is_of(batch.id, custom_ids):
                    return Found(state)
            if not page.has_more or len(recent) < len(page.data):
                return Found(None, undecided)
            after = {"after_id": page.data[-1].id}

    async def _is_of(self, remote: str, custom_ids: Collection[str]) -> bool:
        lines = self._lines(f"the results of batch {remote}", _results_path(remote))
        try:
            async for raw in lines:
                line = _read_line(raw, _ResultLine)
                if line is not None:
                    return line.custom_id in custom_ids
        except UnknownBatchError:
            pass  # its results are not kept any more, so it is none of this run's
        finally:
            await lines.aclose()
        return False

    async def results(self, state: BatchState, role: str) -> AsyncGenerator[BatchResult, None]:
        """The lines of its results."""
        async for raw in self._lines(f"the results of batch {state.remote}", _results_path(state.remote)):
            line = _read_line(raw, _ResultLine)
            if line is None:
                continue
            result = line.result
            outcome: Reply | EndpointError
            if result.type == "succeeded":
                outcome = self._read(bytes(result.message), role)
            elif result.type == "expired":
                outcome = TransientError("the batch expired before this request's turn", kind=EXPIRED)
            elif result.type == "canceled":
                outcome = CallFailedError("the batch was cancelled before this request's turn", kind=CANCELLED)
            else:
                outcome = self._failed(200, error_facts(result.error), role)
            yield BatchResult(line.custom_id, outcome)

    def _state(self, raw: bytes) -> BatchState:
        try:
            return _message_batch_state(decode(raw, _MessageBatch))
        except ValueError:
            raise self._bad("the description of a batch", raw) from None


def _results_path(remote: str) -> str:
    return f"/v1/messages/batches/{remote}/results"


def _message_batch_state(batch: _MessageBatch) -> BatchState:
    counts = {name: _count(batch.request_counts, name) for name in batch.request_counts}
    total = sum(counts.values())
    status: Status = "going"
    if batch.processing_status == "ended":
        cancelled, expired = counts.get("canceled"), counts.get("expired")
        status = "cancelled" if cancelled else "expired" if expired else "ended"
    return BatchState(batch.id, status, total=total, done=total - counts.get("processing", 0))


# --- both


class BatchClients:
    """The clients of a config's endpoints, made when they are first needed.

    Args:
        config: The config file as read; the variables that hold its keys are set.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: dict[str, BatchClient] = {}

    def of(self, role: str) -> BatchClient:
        """The client of the role's endpoint.

        Raises:
            ConfigError: If endpoints of its kind have no batches.
        """
        endpoint = self._config.roles[role].endpoint
        if endpoint.name not in self._made:
            self._config.require_batches([role])
            roles = {name: r for name, r in self._config.roles.items() if r.endpoint.name == endpoint.name}
            self._made[endpoint.name] = find_kind(endpoint.kind).open_batches(endpoint, roles, read_access(endpoint))
        return self._made[endpoint.name]

    async def aclose(self) -> None:
        """Release connections."""
        for client in self._made.values():
            await client.aclose()


def _read_line(raw: bytes, wanted: Any) -> Any:
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


def _before(at: float | str, since: datetime) -> bool:
    """Whether a batch is too old to be one that was submitted after ``since``; unreadable times are not."""
    try:
        when = datetime.fromtimestamp(at, UTC) if isinstance(at, float | int) else datetime.fromisoformat(at)
    except (ValueError, OverflowError, OSError):
        return False
    return when.replace(tzinfo=when.tzinfo or UTC) < since - _CLOCK_SKEW


def _count(table: Mapping[str, Any], name: str) -> int:
    value = table.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
