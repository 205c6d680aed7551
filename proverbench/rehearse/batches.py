"""Batches of requests, as OpenAI (files and batches) and Anthropic (message batches) keep them.

A batch does its items one after the other, evenly over its duration, and is brought up to date whenever someone looks
at it. What may go wrong (results shuffled, missing, errored, twice, late, cut; expiry; a refused batch; a batch that is
not known or listed yet) is in
:class:`~proverbench.rehearse.profile.BatchProfile`.
"""

import json
import random
import time
from collections.abc import Callable
from typing import Any

from proverbench.rehearse.played_batch import ENDPOINTS, Batch, Fate, Item, State
from proverbench.rehearse.plays import error_body
from proverbench.rehearse.profile import BatchProfile
from proverbench.rehearse.wire import Ask, Protocol, digest, read_ask

Answer = Callable[[Ask], tuple[int, dict[str, Any]]]
"""Answers a question in full (and counts it as answered): status and body."""


class PlayedBatches:
    """All batches and files of one server.

    Args:
        answer: Answers one question.
        clock: Seconds on a clock that only goes forward.
    """

    def __init__(self, answer: Answer, clock: Callable[[], float] = time.monotonic) -> None:
        self._answer = answer
        self._clock = clock
        self._batches: dict[str, Batch] = {}
        self._files: dict[str, tuple[str, bytes]] = {}
        self._results_of: dict[str, Batch] = {}
        """Id of a file of results → its batch."""
        self._faulted: set[str] = set()
        self._expired = 0
        self.submitted = 0
        """Batches created since the start."""

    # --- files (OpenAI)

    def add_file(self, name: str, content: bytes, purpose: str = "batch") -> dict[str, Any]:
        """Keep a file; its description."""
        file_id = f"file-{len(self._files) + 1}-{digest(content)[:12]}"
        self._files[file_id] = (name, content)
        return self.file(file_id, purpose)

    def file(self, file_id: str, purpose: str = "batch") -> dict[str, Any]:
        """The description of a file.

        Raises:
            LookupError: If there is none.
        """
        name, content = self._files[file_id]
        return {
            "id": file_id,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": name,
            "purpose": purpose,
            "status": "processed",
        }

    def file_content(self, file_id: str) -> bytes:
        """The bytes of a file.

        Raises:
            LookupError: If there is none.
        """
        content = self._files[file_id][1]
        of = self._results_of.get(file_id)
        return content[: len(content) // 2] if of is not None and of.is_late("short_results") else content

    def delete_file(self, file_id: str) -> dict[str, Any]:
        """Forget a file.

        Raises:
            LookupError: If there is none.
        """
        del self._files[file_id]
        return {"id": file_id, "object": "file", "deleted": True}

    # --- creating

    def create_openai(self, request: dict[str, Any], profile: BatchProfile) -> dict[str, Any]:
        """Start a batch of a file that was sent before.

        Raises:
            LookupError: If there is no such file.
            ValueError: If the request is no batch.
        """
        protocol = ENDPOINTS.get(request.get("endpoint", ""))
        if protocol is None:
            raise ValueError(f"endpoint: one of {', '.join(ENDPOINTS)} is required")
        content = self._files[request.get("input_file_id", "")][1]
        rejected = profile.reject
        items: list[Item] = []
        try:
            lines = [json.loads(line) for line in content.splitlines() if line.strip()]
            items = [Item(line["custom_id"], line["body"]) for line in lines]
        except (ValueError, LookupError, TypeError) as exc:
            rejected = f"a line of the file is no request: {exc}"
        if len({item.custom_id for item in items}) < len(items):
            rejected = "duplicate_custom_id"
        return self._create(protocol, items, profile, request, rejected)

    def create_anthropic(self, request: dict[str, Any], profile: BatchProfile) -> dict[str, Any]:
        """Start a batch of messages.

        Raises:
            ValueError: If the request is no batch.
        """
        if profile.reject is not None:
            raise ValueError(profile.reject)
        requests = request.get("requests")
        if not isinstance(requests, list) or not requests:
            raise ValueError("requests: a list of at least one is required")
        items = [Item(entry["custom_id"], entry["params"]) for entry in requests]
        if len({item.custom_id for item in items}) < len(items):
            raise ValueError("requests: each custom_id must be unique")
        return self._create("messages", items, profile, {}, None)

    def _create(
        self,
        protocol: Protocol,
        items: list[Item],
        profile: BatchProfile,
        request: dict[str, Any],
        rejected: str | None,
    ) -> dict[str, Any]:
        self.submitted += 1
        prefix = "msgbatch_" if protocol == "messages" else "batch_"
        expires = profile.expire_at is not None and self._expired < profile.expire_times
        batch = Batch(
            id=f"{prefix}{self.submitted:06d}",
            protocol=protocol,
            items=items,
            started=self._clock(),
            created_at=time.time(),
            expires_after=int((profile.expire_at or 0) * len(items)) if expires else None,
            request={**request, "profile": profile},
            rejected=rejected,
        )
        self._expired += expires
        self._deal_fates(batch, profile)
        self._batches[batch.id] = batch
        return self._shown(batch)

    def _deal_fates(self, batch: Batch, profile: BatchProfile) -> None:
        """Choose whom the faults meet: another item each time, so that asking again helps."""
        fresh = [item for item in batch.items if digest(json.dumps(item.body, sort_keys=True)) not in self._faulted]
        random.Random(len(batch.items)).shuffle(fresh)
        shares: list[tuple[Fate, float]] = [
            ("missing", profile.missing),
            ("errored", profile.errored),
            ("duplicate", profile.duplicate),
        ]
        for fate, share in shares:
            for _ in range(min(round(share * len(batch.items)), len(fresh))):
                item = fresh.pop()
                item.fate = fate
                self._faulted.add(digest(json.dumps(item.body, sort_keys=True)))

    # --- looking

    def show(self, batch_id: str) -> dict[str, Any]:
        """The state of a batch, in its protocol's form.

        Raises:
            LookupError: If there is none.
        """
        batch = self._batches[batch_id]
        if batch.is_late("unknown_looks"):
            raise LookupError(f"{batch_id} is not known yet")
        return self._shown(batch)

    def _shown(self, batch: Batch) -> dict[str, Any]:
        self._advance(batch)
        return self._show_anthropic(batch) if batch.protocol == "messages" else self._show_openai(batch)

    def listing(self, *, anthropic: bool, after: str | None = None, limit: int = 20) -> dict[str, Any]:
        """One page of the batches, newest first."""
        asked = [b for b in reversed(self._batches.values()) if (b.protocol == "messages") == anthropic]
        ids = [batch.id for batch in asked if not batch.is_late("unlisted")]
        rest = ids[ids.index(after) + 1 :] if after in ids else ids
        page = [self._shown(self._batches[batch_id]) for batch_id in rest[:limit]]
        edges = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        return {"object": "list", "data": page, "has_more": len(rest) > limit, **edges}

    def cancel(self, batch_id: str) -> dict[str, Any]:
        """Stop a batch; what is done stays done.

        Raises:
            LookupError: If there is none.
        """
        batch = self._batches[batch_id]
        self._advance(batch)
        if not batch.ended:
            batch.cancelled = True
            self._end(batch, "canceled")
        return self._shown(batch)

    def results(self, batch_id: str) -> bytes:
        """The results of a message batch, as JSONL.

        Raises:
            LookupError: If there is no such batch, or it has not ended.
        """
        batch = self._batches[batch_id]
        self._advance(batch)
        if not batch.ended:
            raise LookupError(f"{batch_id} has not ended")
        if batch.is_late("late_results"):
            return b""
        lines = [
            {"custom_id": item.custom_id, "result": _anthropic_result(item)} for item in self._in_result_order(batch)
        ]
        found = _jsonl(lines)
        return found[: len(found) // 2] if batch.is_late("short_results") else found

    # --- progress

    def _advance(self, batch: Batch) -> None:
        if batch.ended or batch.rejected:
            batch.ended_at = batch.ended_at or time.time()
            return
        profile: BatchProfile = batch.request["profile"]
        elapsed = self._clock() - batch.started
        share = 1.0 if profile.duration_s <= 0 else min(1.0, elapsed / profile.duration_s)
        due = int(share * len(batch.items))
        if batch.expires_after is not None:
            due = min(due, batch.expires_after)
        for item in batch.items[:due]:
            if item.state == "waiting":
                self._do(batch, item)
        if batch.expires_after is not None and due == batch.expires_after:
            batch.expired = True
            self._end(batch, "expired")
        elif due == len(batch.items):
            self._end(batch, "expired")

    def _do(self, batch: Batch, item: Item) -> None:
        if item.fate == "errored":
            item.state, item.status = "errored", 500
            item.result = error_body(500, "rehearsed fault of a batch item")
            return
        if item.fate == "missing":
            item.state = "succeeded"  # done, and lost: no result file will mention it
            return
        try:
            item.status, item.result = self._answer(read_ask(batch.protocol, item.body))
            item.state = "succeeded" if item.status == 200 else "errored"
        except ValueError as exc:
            item.state, item.status, item.result = "errored", 400, error_body(400, str(exc))

    def _end(self, batch: Batch, state: State) -> None:
        for item in batch.items:
            if item.state == "waiting":
                item.state = state
        batch.ended_at = time.time()

    def _in_result_order(self, batch: Batch) -> list[Item]:
        items = [item for item in batch.items if item.fate != "missing" or item.state in ("expired", "canceled")]
        items += [item for item in items if item.fate == "duplicate" and item.state == "succeeded"]
        profile: BatchProfile = batch.request["profile"]
        if profile.shuffle:
            random.Random(batch.id).shuffle(items)
        return items

    # --- forms

    def _show_anthropic(self, batch: Batch) -> dict[str, Any]:
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if batch.ended else "in_progress",
            "request_counts": {
                "processing": batch.count("waiting"),
                **{state: batch.count(state) for state in ("succeeded", "errored", "canceled", "expired")},
            },
            "created_at": _iso(batch.created_at),
            "expires_at": _iso(batch.created_at + 86_400),
            "ended_at": None if batch.ended_at is None else _iso(batch.ended_at),
            "cancel_initiated_at": _iso(batch.ended_at or 0) if batch.cancelled else None,
            "archived_at": None,
            "results_url": f"/v1/messages/batches/{batch.id}/results" if batch.ended else None,
        }

    def _show_openai(self, batch: Batch) -> dict[str, Any]:
        output_id, error_id = self._result_files(batch) if batch.ended and not batch.rejected else (None, None)
        at = None if batch.ended_at is None else int(batch.ended_at)
        status = self._openai_status(batch)
        rejection = {"code": "invalid_batch", "message": batch.rejected, "line": None, "param": None}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.request["endpoint"],
            "errors": {"object": "list", "data": [rejection]} if batch.rejected else None,
            "input_file_id": batch.request["input_file_id"],
            "completion_window": batch.request.get("completion_window", "24h"),
            "status": status,
            "output_file_id": output_id,
            "error_file_id": error_id,
            "created_at": int(batch.created_at),
            "in_progress_at": int(batch.created_at),
            "expires_at": int(batch.created_at) + 86_400,
            "completed_at": at if status == "completed" else None,
            "failed_at": at if status == "failed" else None,
            "expired_at": at if status == "expired" else None,
            "cancelled_at": at if status == "cancelled" else None,
            "request_counts": {
                "total": len(batch.items),
                "completed": batch.count("succeeded"),
                "failed": batch.count("errored"),
            },
            "metadata": batch.request.get("metadata"),
        }

    @staticmethod
    def _openai_status(batch: Batch) -> str:
        if batch.rejected:
            return "failed"
        if not batch.ended:
            return "in_progress"
        if batch.cancelled:
            return "cancelled"
        return "expired" if batch.expired else "completed"

    def _result_files(self, batch: Batch) -> tuple[str | None, str | None]:
        """The ids of the output and the error file, written on the first look after the end."""
        if batch.is_late("late_results"):
            return None, None
        if "files" not in batch.request:
            good: list[Any] = []
            bad: list[Any] = []
            for number, item in enumerate(self._in_result_order(batch)):
                line: dict[str, Any] = {
                    "id": f"batch_req_{number}",
                    "custom_id": item.custom_id,
                    "response": None,
                    "error": None,
                }
                if item.state in ("succeeded", "errored"):
                    line["response"] = {
                        "status_code": item.status,
                        "request_id": f"req_{batch.id}_{number}",
                        "body": item.result,
                    }
                else:
                    how = "expired" if item.state == "expired" else "cancelled"
                    line["error"] = {"code": f"batch_{how}", "message": f"Not executed: the batch was {how}."}
                (good if item.state == "succeeded" else bad).append(line)
            batch.request["files"] = (
                self.add_file("output.jsonl", _jsonl(good))["id"] if good else None,
                self.add_file("errors.jsonl", _jsonl(bad))["id"] if bad else None,
            )
        files: tuple[str | None, str | None] = batch.request["files"]
        self._results_of |= dict.fromkeys(filter(None, files), batch)
        return files


def _anthropic_result(item: Item) -> dict[str, Any]:
    if item.state == "succeeded":
        return {"type": "succeeded", "message": item.result}
    if item.state == "errored":
        return {"type": "errored", "error": item.result}
    return {"type": item.state}


def _jsonl(lines: list[Any]) -> bytes:
    return b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines)


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
