"""Named parts of a benchmark: lists of queries, and the released file of declarations that several corpora share."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.retrieval.benchmarks import Benchmark
from proverbench.retrieval.reading import read_bytes

SHARED = "shared_declarations"
"""Key of the released file under which the declarations stand that every compared corpus has."""
SHARED_171 = "shared-171"
"""Name of the published subset."""
SHARED_171_SHA256 = "a57a0048bdd14c5a9f5815a51846163b9c3fd059fe8ea529651dc6af02a35962"
"""Of the released ``MathlibQR_shared171.json``."""


def load_subset(path: Path) -> list[str]:
    """Load a subset: the released object with ``shared_declarations``, a JSON list, or one id or full name a line.

    Of lines, blank ones and those that begin with # are skipped.

    Raises:
        DataError: If it is none of these, or empty.
    """
    return _load(path, SHARED)


def load_missing(source: str) -> list[str]:
    """Load the names that a corpus lacks: ``FILE#KEY`` of the released object, or a list of names as a subset is.

    Raises:
        DataError: If it is none of these.
    """
    path, _, key = source.rpartition("#") if "#" in source else (source, "", "")
    return _load(Path(path), key)


def _load(path: Path, key: str) -> list[str]:
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    if text.lstrip()[:1] in ("[", "{"):
        try:
            members = _listed(path, json.loads(text), key)
        except (json.JSONDecodeError, RecursionError) as exc:
            raise DataError(f"{path}: is not JSON: {exc}") from exc
    else:
        members = [line.strip() for line in text.split("\n")]
        members = [member for member in members if member and not member.startswith("#")]
    if not members:
        raise DataError(f"{path}: names no query and no declaration")
    return list(dict.fromkeys(members))


def _listed(path: Path, value: Any, key: str) -> list[str]:
    where = f"{path}"
    if isinstance(value, dict):
        if key not in value:
            raise DataError(f"{path}: has the keys {', '.join(value) or 'of nothing'}; wanted {key or 'FILE#KEY'}")
        value, where = value[key], f"{path}: {key}"
    if not isinstance(value, list):
        raise DataError(f"{where}: must be a list of names, found {type(value).__name__}")
    for number, member in enumerate(value):
        if not isinstance(member, str) or not member.strip():
            raise DataError(f"{where}: member {number} must be a name, found {member!r}")
    return value


def subset_name(path: Path) -> str:
    """Return what a subset is called: ``shared-171`` for the released file, else the file's name."""
    return SHARED_171 if path.stem in (SHARED_171, "MathlibQR_shared171") else path.stem


def require_known(members: Sequence[str], named: Iterable[str], name: str) -> None:
    """Refuse a subset with members that name nothing.

    Raises:
        DataError: Says how many, and the first.
    """
    known = set(named)
    if missing := [member for member in members if member not in known]:
        raise DataError(f"subset {name}: {len(missing)} members name no query; the first is {missing[0]!r}")


def cut_to_subset(benchmark: Benchmark, members: Sequence[str], name: str) -> Benchmark:
    """Keep the queries that ``members`` names by query id, declaration id or full name (a gold member).

    Raises:
        DataError: If a member names nothing, or a subset called shared-171 does not name 171 declarations.
    """
    wanted = set(members)
    called = [{q.id, q.cluster, *(member for unit in q.gold for member in unit)} for q in benchmark.queries]
    require_known(members, set().union(*called), name)
    kept = [query for query, names in zip(benchmark.queries, called, strict=True) if names & wanted]
    clusters = {query.cluster for query in kept}
    if name == SHARED_171 and len(clusters) != 171:
        raise DataError(f"subset {name}: names {len(clusters)} declarations, it must name 171")
    return replace(benchmark, queries=kept, subset=name)
