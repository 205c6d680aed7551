"""A ranked list made elsewhere: a TREC run file, or JSONL of ``query_id`` and ``doc_ids``."""

import hashlib
import math
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from proverbench.retrieval.corpus import Corpus, Faults, parse_jsonl, read_bytes
from proverbench.retrieval.records import GoldQuery, Ranking
from proverbench.retrieval.systems.base import Outcome
from proverbench.run.journal import storable


class RunFileSystem:
    """The lists of a file, taken as they are.

    Args:
        spec: How the command line names it.
        path: The file.
        corpus: Names in the file may be row ids or full names of it; others stay foreign and keep their rank.

    Raises:
        DataError: Lists every fault with its line.
    """

    external = True
    own_corpus = ""
    licence = ""

    def __init__(self, spec: str, path: Path, corpus: Corpus) -> None:
        self.spec = spec
        data = read_bytes(path)
        self._sha256 = hashlib.sha256(data).hexdigest()
        self._name = path.name
        faults = Faults(path)
        lists = (
            _read_json(data, faults)
            if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
            else _read_trec(data, faults)
        )
        faults.raise_if_any()
        self._lists = {query_id: [corpus.row(name) for name in names] for query_id, names in lists.items()}

    def identity(self) -> dict[str, Any]:
        """Return the file's hash."""
        return {"kind": "runfile", "file": self._name, "sha256": self._sha256}

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Yield each query's list; a query that the file lacks got nothing, as TREC has it."""
        for query in queries:
            yield Ranking(query.id, self._lists.get(query.id, []))

    def notes(self) -> list[str]:
        """Return nothing: there is nothing to remark."""
        return []

    async def aclose(self) -> None:
        """Nothing to release."""


def _read_json(data: bytes, faults: Faults) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for line, row in parse_jsonl(data, faults):
        query_id, doc_ids = row.get("query_id"), row.get("doc_ids")
        if not isinstance(query_id, str):
            faults.add(line, f"query_id must be a string, found {query_id!r}")
        elif not isinstance(doc_ids, list) or not all(isinstance(item, str) for item in doc_ids):
            faults.add(line, "doc_ids must be a list of strings, best first")
        elif query_id in lists:
            faults.add(line, f"query_id {query_id!r} stands there twice")
        else:
            lists[query_id] = [storable(item)[0] for item in doc_ids]
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
