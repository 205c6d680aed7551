"""Ranked lists made elsewhere: a TREC run file, JSONL of ``query_id`` and ``doc_ids``, a release's per_query.jsonl."""

import hashlib
import math
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.retrieval.corpus import split_result
from proverbench.retrieval.reading import Faults, parse_jsonl, read_bytes
from proverbench.retrieval.records import GoldQuery, Ranking
from proverbench.retrieval.settings import RunFileSettings
from proverbench.retrieval.subsets import load_missing
from proverbench.retrieval.systems.base import Context, Outcome
from proverbench.run.texts import storable

Lists = dict[str, list[str]]


class RunFileSystem:
    """The lists of a file, taken as they are.

    Names may be row ids or full names of the corpus, or ``Module::Name``. A file without a single query id that is
    asked, or without a single name that the corpus has, is refused: it was made for something else.

    Args:
        spec: How the command line names it.
        settings: Where the file is, and what its makers say of it.
        context: The corpus, and the queries of the benchmark.

    Raises:
        DataError: Lists every fault with its line.
    """

    external = True

    def __init__(self, spec: str, settings: RunFileSettings, context: Context) -> None:
        self.spec = spec
        self.licence = settings.licence
        self.own_corpus = settings.corpus
        self.own_missing = frozenset(load_missing(settings.missing)) if settings.missing else None
        self._settings = settings
        self._context = context
        path = Path(settings.path)
        data = read_bytes(path)
        self._sha256 = hashlib.sha256(data).hexdigest()
        faults = Faults(path)
        is_json = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
        lists = _read_json(data, settings.mode, faults) if is_json else _read_trec(data, faults)
        faults.raise_if_any()
        self._counts = self._checked(path, lists)
        self._lists = {query_id: [self._row(name) for name in names] for query_id, names in lists.items()}

    def _row(self, name: str) -> str:
        return split_result(name)[1] if self.own_corpus else self._context.corpus.row(name)

    def _checked(self, path: Path, lists: Lists) -> dict[str, int]:
        """Count what does not fit; refuse a file of which nothing fits."""
        asked = set(self._context.query_ids)
        unknown = [query_id for query_id in lists if query_id not in asked]
        if asked and len(unknown) == len(lists):
            first = f"; first unknown {unknown[0]}" if unknown else ""
            raise DataError(f"{path}: 0 of {len(lists)} query ids of the file are asked{first}")
        names = {name for found in lists.values() for name in found}
        corpus = self._context.corpus
        foreign = 0
        if not self.own_corpus:
            foreign = sum(corpus.row(name) not in corpus.number_of for name in names)
            if names and foreign == len(names):
                raise DataError(
                    f"{path}: 0 of {len(names)} names of the file are in the corpus; first unknown {min(names)!r}. "
                    "If it searched another one, say so: corpus in [runfile.NAME]"
                )
        counts = {
            "query_ids_not_asked": len(unknown) if asked else 0,
            "queries_without_list": len(asked - set(lists)),
            "names_not_in_corpus": foreign,
        }
        return {name: count for name, count in counts.items() if count}

    def identity(self) -> dict[str, Any]:
        """Return the file's hash, what its makers say of it, and counts of what does not fit."""
        said = {name: getattr(self._settings, name) for name in ("label", "mode") if getattr(self._settings, name)}
        return {
            "kind": "runfile",
            "file": Path(self._settings.path).name,
            "sha256": self._sha256,
            **said,
            **self._counts,
        }

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Yield each query's list; a query that the file lacks got nothing, as TREC has it, and is counted."""
        for query in queries:
            found = self._lists.get(query.id, [])
            allowed = self._context.allowed(query)
            if allowed is not None:
                number_of = self._context.corpus.number_of
                found = [row for row in found if row in number_of and allowed[number_of[row]]][:k]
            yield Ranking(query.id, found)

    def notes(self) -> list[str]:
        """Return counts of what does not fit."""
        return [f"{count} {name.replace('_', ' ')}" for name, count in self._counts.items()]

    async def aclose(self) -> None:
        """Nothing to release."""


def _read_json(data: bytes, mode: str, faults: Faults) -> Lists:
    """Read JSONL of ``query_id`` and ``doc_ids``, or of ``id``, ``mode`` and ``retrieved`` as the release writes it."""
    lists: Lists = {}
    modes: dict[str, None] = {}
    for line, row in parse_jsonl(data, faults):
        released = "retrieved" in row and "doc_ids" not in row
        id_field, list_field = ("id", "retrieved") if released else ("query_id", "doc_ids")
        query_id, found = row.get(id_field), row.get(list_field)
        if "mode" in row:
            modes[str(row["mode"])] = None
            if str(row["mode"]) != mode and mode:
                continue
        if not isinstance(query_id, str):
            faults.add(line, f"{id_field} must be a string, found {query_id!r}")
        elif not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            faults.add(line, f"{list_field} must be a list of strings, best first")
        elif query_id in lists:
            if len(modes) < 2 or mode:
                faults.add(line, f"{id_field} {query_id!r} is there twice")
        else:
            lists[query_id] = [storable(item)[0] for item in found]
    if mode not in modes and (mode or len(modes) > 1):
        choice = f"has the modes {', '.join(modes)}" if modes else "has no modes"
        faults.add(None, f"{choice}; choose one with runfile:PATH#MODE, or mode in [runfile.NAME]")
    return lists


def _read_trec(data: bytes, faults: Faults) -> dict[str, list[str]]:
    """Read ``query Q0 document rank score tag``, ordered by score as trec_eval does, then by rank."""
    rows: dict[str, list[tuple[float, float, int, str]]] = {}
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        fields = raw.decode("utf-8", errors="replace").split()
        if not fields:
            continue
        if len(fields) != 6:
            faults.add(number, f"a TREC line has 6 fields (query Q0 document rank score tag), found {len(fields)}")
            continue
        query_id, _, document, rank, score, _ = fields
        try:
            key = (-float(score), float(rank))
        except ValueError:
            faults.add(number, f"rank and score must be numbers, found {rank!r} and {score!r}")
            continue
        if not all(math.isfinite(value) for value in key):
            faults.add(number, f"rank and score must be finite, found {rank!r} and {score!r}")
            continue
        rows.setdefault(query_id, []).append((*key, number, document))
    return {query_id: [document for *_, document in sorted(found)] for query_id, found in rows.items()}
