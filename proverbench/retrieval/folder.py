"""A retrieval run's folder on disk (docs/retrieval.md, "A run's folder").

``manifest.json``, ``queries.jsonl`` and ``positions.jsonl`` are the sources; ``curves.json`` and ``summary.json`` are
rebuilt from them, byte for byte. ``ranked.jsonl`` keeps the lists, for people to look into.
"""

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from proverbench.errors import JournalError, RunMismatchError
from proverbench.retrieval.derive import derive
from proverbench.retrieval.records import GoldQuery, Positions, Ranking, RunManifest, json_line
from proverbench.run.disk import disk, write_whole
from proverbench.run.journal import LineFile

MANIFEST, QUERIES, POSITIONS, RANKED = "manifest.json", "queries.jsonl", "positions.jsonl", "ranked.jsonl"
CURVES, SUMMARY = "curves.json", "summary.json"

_T = TypeVar("_T")


def run_id_of(manifest: RunManifest) -> str:
    """Return the SHA-256 of a manifest's identity: all of it but the id itself and ``operation``."""
    return _id_of(msgspec.to_builtins(manifest))


def _id_of(written: Mapping[str, Any]) -> str:
    """Return the id that a manifest has, as it is written."""
    identity = {name: value for name, value in written.items() if name not in ("run_id", "operation")}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def as_first_written(query: GoldQuery) -> GoldQuery:
    """Return a query as the first version wrote it: without what was added since."""
    return msgspec.structs.replace(query, names=UNSET, kinds=UNSET, kinds_left_out=UNSET, pool=UNSET)


def queries_bytes(queries: Iterable[GoldQuery]) -> bytes:
    """Return the content of queries.jsonl."""
    return b"".join(map(json_line, queries))


class RetrievalRun:
    """A saved run, finished or not.

    Args:
        path: Its folder.

    Raises:
        JournalError: If the folder is not a retrieval run, or is damaged; names file and line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            data = (path / MANIFEST).read_bytes()
            self.manifest = msgspec.json.decode(data, type=RunManifest)
        except OSError as exc:
            raise JournalError(f"{path}: is not a run of retrievalbench ({MANIFEST}: {exc.strerror or exc})") from exc
        except msgspec.DecodeError as exc:
            hint = (
                f"; look into a run of proverbench with: proverbench inspect {shlex.quote(str(path))}"
                if b'"identity"' in data
                else ""
            )
            raise JournalError(f"{path / MANIFEST}: is not a manifest of retrievalbench: {exc}{hint}") from exc
        self.queries = list(_lines(path / QUERIES, GoldQuery))
        self.positions: dict[str, Positions] = {}
        for line in _lines(path / POSITIONS, Positions):
            self.positions.setdefault(line.query_id, line)
        self._check()
        found = _id_of(json.loads(data))
        if found != self.manifest.run_id:
            raise JournalError(
                f"{path / MANIFEST}: its run_id is {self.manifest.run_id[:16]}, what it says has {found[:16]}; "
                "the file was changed after the run was made"
            )

    def _check(self) -> None:
        by_id = {query.id: query for query in self.queries}
        k_max = self.manifest.k_max
        for line in self.positions.values():
            query = by_id.get(line.query_id)
            if query is None or len(query.units) != len(line.positions):
                raise JournalError(
                    f"{self.path / POSITIONS}: query {line.query_id!r} does not fit {QUERIES}; one of them was changed"
                )
            deepest = max((rank for rank in line.positions if rank is not None), default=0)
            if deepest > k_max:
                raise JournalError(
                    f"{self.path}: {MANIFEST} says that lists are cut at {k_max}, but query {line.query_id!r} has a "
                    f"position of {deepest}; one of the two was changed"
                )

    @property
    def open_queries(self) -> list[GoldQuery]:
        """Queries that count and have no answer yet, in order."""
        return [query for query in self.queries if not query.dropped and query.id not in self.positions]

    def ranked(self) -> dict[str, list[str]]:
        """Return the lists by query id; of an answered query the last one written."""
        return {line.query_id: line.doc_ids for line in _lines(self.path / RANKED, Ranking)}

    @property
    def saved_at(self) -> str:
        """When its last answer was saved, UTC to the second; empty if there is none."""
        path = self.path / POSITIONS
        if not path.exists():
            return ""
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")

    @property
    def has_derived(self) -> bool:
        """Whether the derived files are there."""
        return (self.path / CURVES).exists() and (self.path / SUMMARY).exists()

    def summary(self) -> dict[str, Any]:
        """Return summary.json as it was last derived."""
        saved: dict[str, Any] = json.loads((self.path / SUMMARY).read_bytes())
        return saved

    def derived(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return summary and curves, derived now."""
        return derive(self.manifest, self.queries, self.positions)

    def rebuild(self) -> dict[str, Any]:
        """Write curves.json and summary.json anew; returns the summary."""
        summary, curves = self.derived()
        write_whole(self.path / CURVES, msgspec.json.encode(curves) + b"\n")
        write_whole(self.path / SUMMARY, _pretty(summary))
        return summary


def _pretty(value: dict[str, Any]) -> bytes:
    """Return JSON an entry a line: for people and for ``diff``."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _lines(path: Path, kind: type[_T]) -> Iterator[_T]:
    """Yield the whole lines of a file; a torn last line is left out, a missing file is empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            yield decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            raise JournalError(f"{path}:{number}: not a line of a retrieval run ({exc})") from exc


def create_run(path: Path, manifest: RunManifest, queries: Sequence[GoldQuery]) -> RetrievalRun:
    """Make a new run's folder.

    Raises:
        RunMismatchError: If the folder holds something already.
        JournalError: If it cannot be written.
    """
    if path.exists() and any(path.iterdir()):
        raise RunMismatchError(
            f"{path} is not empty; go on with --resume {shlex.quote(str(path))}, or give another --output"
        )
    with disk(path):
        path.mkdir(parents=True, exist_ok=True)
    write_whole(path / QUERIES, queries_bytes(queries))
    # The manifest comes last: a folder with one is whole.
    write_whole(path / MANIFEST, _pretty(msgspec.to_builtins(manifest)))
    return RetrievalRun(path)


class PositionsWriter:
    """Appends to positions.jsonl and ranked.jsonl; a torn tail is cut off first.

    Args:
        path: The run's folder; the caller holds its lock.

    Raises:
        JournalError: If the disk refuses it.
    """

    def __init__(self, path: Path) -> None:
        self._ranked = LineFile(path / RANKED)
        self._positions = LineFile(path / POSITIONS)

    def append(self, ranking: Ranking, positions: Positions) -> None:
        """Save a query's answer. The list goes first: a query with positions always has one."""
        self._ranked.append_raw(json_line(ranking))
        self._positions.append_raw(json_line(positions))

    async def aclose(self) -> None:
        """Sync and close."""
        await self._ranked.aclose()
        await self._positions.aclose()
