"""Batches that a run has at its providers, by its journal."""

from dataclasses import dataclass

import msgspec

from proverbench.records import BatchLine, CallKey, Role
from proverbench.run.sources import Sources


@dataclass
class OpenBatch:
    """A batch whose results are not all saved."""

    id: str
    """Our own."""
    numbers: list[int]
    """Of its calls, within their role."""
    since: str
    """When it was about to be submitted."""
    remote: str | None = None
    """The provider's id, once known."""


def open_batches(sources: Sources) -> dict[Role, list[OpenBatch]]:
    """The batches of a run that may be going on at a provider, or be over without being collected.

    Raises:
        JournalError: If a line is damaged.
    """
    found: dict[str, tuple[Role, OpenBatch]] = {}
    plan = sources.plan
    for _, raw in sources.calls.raw_lines():
        if b'"batch"' not in raw[:40]:
            continue
        try:
            line = msgspec.json.decode(raw, type=BatchLine)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # another line with that word; damaged ones were found when the run was opened
        if line.event == "intent":
            keys = [CallKey.parse(key) for key in line.keys]
            numbers = [number for number in map(plan.number, keys) if number is not None]
            if numbers:
                found[line.batch] = (keys[0].role, OpenBatch(line.batch, numbers, line.at))
        elif line.event == "submitted" and line.batch in found:
            found[line.batch][1].remote = line.remote
        else:
            found.pop(line.batch, None)
    by_role: dict[Role, list[OpenBatch]] = {}
    for role, batch in found.values():
        if any(sources.ledger.offset(role, number) is None for number in batch.numbers):
            by_role.setdefault(role, []).append(batch)
    return by_role
