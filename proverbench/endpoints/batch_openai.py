"""OpenAI's Files and Batches."""

from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, BinaryIO
from urllib.parse import parse_qsl

import msgspec
import openai

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import ConnectError, Reply, Request
from proverbench.endpoints.batch import (
    CANCELLED,
    EXPIRED,
    BatchClient,
    BatchResult,
    BatchState,
    Found,
    Limits,
    Status,
    UnknownBatchError,
    UploadError,
    counted,
    read_line,
    submitted_before,
)
from proverbench.endpoints.body import decode, encode
from proverbench.endpoints.error_facts import error_facts, read_error
from proverbench.endpoints.openai import DEFAULT_BASE_URL, OpenAIEndpoint
from proverbench.endpoints.responses import ResponsesEndpoint
from proverbench.errors import CallFailedError, EndpointError, TransientError
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.redact import one_line

_ID = "proverbench_batch"
"""Under this name our own id stands in the metadata of an OpenAI batch."""


class _Batch(msgspec.Struct):
    id: str
    status: str
    created_at: float = 0
    metadata: Any = None
    errors: Any = None
    request_counts: Any = None
    output_file_id: str | None = None
    error_file_id: str | None = None


class _Page(msgspec.Struct):
    data: list[_Batch]
    has_more: bool = False


class _File(msgspec.Struct):
    id: str


_STATUS: dict[str, Status] = {
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
            raw = await self._ask("listing batches", self._api.list(limit=self.page, **after))
            try:
                page = decode(raw, _Page)
            except ValueError:
                raise self._bad("a list of batches", raw) from None
            for batch in page.data:
                if isinstance(batch.metadata, dict) and batch.metadata.get(_ID) == batch_id:
                    return Found(_batch_state(batch))
            if not page.has_more or not page.data or submitted_before(page.data[-1].created_at, since):
                return Found(None)
            after = {"after": page.data[-1].id}

    async def results(self, state: BatchState, role: str) -> AsyncGenerator[BatchResult, None]:
        """The lines of its output file and its error file."""
        for file_id in state.files:
            async for raw in self._lines(f"the results of batch {state.remote}", f"/files/{file_id}/content"):
                line = read_line(raw, _Line)
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
            state = _batch_state(decode(raw, _Batch))
        except ValueError:
            raise self._bad("the description of a batch", raw) from None
        return replace(state, why=one_line(self._redact(state.why)))


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


def _batch_state(batch: _Batch) -> BatchState:
    status: Status = _STATUS.get(batch.status, "going")
    counts = batch.request_counts if isinstance(batch.request_counts, dict) else {}
    errors = batch.errors.get("data") if isinstance(batch.errors, dict) else None
    found = [error for error in errors or () if isinstance(error, dict)]
    why = "; ".join(str(error.get("message")) for error in found[:3])
    return BatchState(
        batch.id,
        status,
        total=counted(counts, "total"),
        done=counted(counts, "completed") + counted(counts, "failed"),
        why=why,
        queue_full=status == "failed"
        and any(error.get("code") == "token_limit_exceeded" or "nqueued token" in why for error in found),
        files=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
    )
