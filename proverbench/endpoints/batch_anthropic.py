"""Anthropic's Message Batches."""

from collections.abc import AsyncGenerator, Collection, Mapping
from datetime import datetime
from typing import Any, BinaryIO

import anthropic
import msgspec

from proverbench.endpoints.access import Access
from proverbench.endpoints.anthropic import DEFAULT_BASE_URL, VERSION, AnthropicEndpoint
from proverbench.endpoints.base import Reply, Request
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
    counted,
    read_line,
    submitted_before,
)
from proverbench.endpoints.body import decode, encode
from proverbench.endpoints.error_facts import error_facts
from proverbench.errors import CallFailedError, EndpointError, TransientError
from proverbench.inputs.config import EndpointConfig, RoleConfig


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
            raw = await self._ask("listing batches", self._api.list(limit=self.page, **after))
            try:
                page = decode(raw, _MessageBatchPage)
            except ValueError:
                raise self._bad("a list of batches", raw) from None
            recent = [batch for batch in page.data if not submitted_before(batch.created_at, since)]
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
                line = read_line(raw, _ResultLine)
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
            line = read_line(raw, _ResultLine)
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
    counts = {name: counted(batch.request_counts, name) for name in batch.request_counts}
    total = sum(counts.values())
    status: Status = "going"
    if batch.processing_status == "ended":
        cancelled, expired = counts.get("canceled"), counts.get("expired")
        status = "cancelled" if cancelled else "expired" if expired else "ended"
    return BatchState(batch.id, status, total=total, done=total - counts.get("processing", 0))
