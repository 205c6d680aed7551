"""Whether a saved run is whole, and its figures follow from it: for whoever did not make it (docs/run-format.md)."""

import hashlib
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from proverbench.errors import ProverBenchError
from proverbench.records import ProofRecord
from proverbench.run.folder import RECORDS, scored
from proverbench.run.manifest import pretty
from proverbench.run.provenance import quote
from proverbench.run.regular import open_regular, read_regular
from proverbench.run.sources import SUMMARY, Sources


@dataclass(frozen=True)
class Verified:
    """What looking at a run has shown."""

    path: Path
    run_id: str
    complete: bool = False
    lines: int = 0
    """Lines of calls.jsonl."""
    head: str = ""
    """Chain of its last line."""
    unsealed: int = 0
    """Lines that have no seal."""
    losses: list[str] = field(default_factory=list)
    """What is lost and was accepted, in words."""
    faults: list[str] = field(default_factory=list)
    """What is wrong; empty if the run is whole and its figures follow from it."""
    notes: list[str] = field(default_factory=list)
    """What cannot be known."""
    scored_by: str = ""
    """The version that wrote summary.json."""
    summary_sha256: str = ""
    quote: str = ""
    """One line that a paper can quote; who has the folder can check it."""


def verify_run(path: Path) -> Verified:
    """Check that the replies behind a run's figures are whole and that the figures follow from them; calls nothing.

    Args:
        path: The run's folder.

    Returns:
        What was found. The folder is not changed.

    Raises:
        RunMismatchError: If the folder is no run, or this version does not know how to read it.
        JournalError: If a source but calls.jsonl is damaged.
    """
    sources = Sources(path)
    try:
        return _verified(sources)
    finally:
        sources.close()


def _verified(sources: Sources) -> Verified:
    path, run_id = sources.path, sources.manifest.run_id
    try:
        checker = sources.ledger.checker
    except ProverBenchError as exc:
        return Verified(path, run_id, faults=str(exc).split("\n"))
    comparison = _Comparison(path / RECORDS)
    try:
        summary = scored(sources, comparison.see).summary
    finally:
        comparison.close()
    faults = comparison.faults()
    derived = pretty(summary)
    file = path / SUMMARY
    stored = read_regular(file) if file.exists() else None
    if stored is None:
        faults.append(f"{file} is missing; write it with: proverbench score {shlex.quote(str(path))}")
    elif stored != derived:
        faults.append(f"{file} does not follow from the replies{_older(stored, summary.scored_by)}")
    notes = []
    if checker.unsealed:
        notes.append(f"{checker.unsealed} of {checker.lines} lines were written before there were seals")
    if sources.calls.kept() is None:
        notes.append("there is no seal.json: lines that are missing at the end could not be noticed")
    return Verified(
        path,
        run_id,
        complete=summary.complete,
        lines=checker.lines,
        head=checker.place.head,
        unsealed=checker.unsealed,
        losses=accepted_losses(sources),
        faults=faults,
        notes=notes,
        scored_by=summary.scored_by,
        summary_sha256=hashlib.sha256(derived).hexdigest(),
        quote=quote(summary, f"{checker.lines}:{checker.place.head}", "verified "),
    )


def _older(stored: bytes, here: str) -> str:
    """What may explain that a stored summary is another than the derived one."""
    try:
        by = msgspec.json.decode(stored, type=_ScoredBy).scored_by
    except msgspec.DecodeError:
        return "; it is no summary"
    if by == here:
        return ""
    return f": version {by or 'unknown'} wrote it, and {here} may count otherwise; verify it with that one, or score it"


class _ScoredBy(msgspec.Struct):
    scored_by: str = ""


def accepted_losses(sources: Sources) -> list[str]:
    """What calls.jsonl has lost and somebody chose to go on without, in words; empty if nothing."""
    return [fault for line in sources.ledger.losses for fault in line.faults]


class _Comparison:
    """Compares records, as they are derived, with those that are stored."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stored = os.fdopen(open_regular(file, os.O_RDONLY), "rb") if file.exists() else None
        self._encode: Callable[[object], bytes] = msgspec.json.Encoder().encode
        self._number = 0
        self._first: str | None = None

    def see(self, record: ProofRecord) -> None:
        self._number += 1
        if self._stored is None or self._first is not None:
            return
        line = self._encode(record) + b"\n"
        if self._stored.read(len(line)) != line:
            self._first = f"{self._file}:{self._number}: the record of {record.key} does not follow from the replies"

    def faults(self) -> list[str]:
        if self._stored is None:
            return [f"{self._file} is missing"]
        return [] if self._first is None else [self._first]

    def close(self) -> None:
        if self._stored is not None:
            if self._first is None and self._stored.read(1):
                self._first = f"{self._file}: has more records than the run"
            self._stored.close()
