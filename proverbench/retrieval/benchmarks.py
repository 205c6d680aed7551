"""Benchmark files -> queries with gold units, each read byte for byte and known by its SHA-256."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.retrieval import leandojo
from proverbench.retrieval.corpus import require_sha256
from proverbench.retrieval.reading import Faults, parse_jsonl, read_bytes, text_field
from proverbench.retrieval.records import K_MAX, Query

MATHLIBQR_FIELDS = ("q1a_lean", "q1b_latex", "q1c_natural", "q2_slogan", "q3_nickname", "q4_special_case")
"""The six styles in which MathlibQR asks for one declaration."""


@dataclass(frozen=True)
class Benchmark:
    """Queries of one file."""

    task: str
    sha256: str
    """Of the file's bytes."""
    queries: list[Query]
    published: bool | None
    """Whether this is the published file, unchanged; None for a task without a published file."""
    notes: list[str] = field(default_factory=list)
    """What a reader of its figures must know."""
    subset: str = ""
    """Name of the subset that the queries were cut down to, if any."""


@dataclass(frozen=True)
class Task:
    """A kind of benchmark: how its file is read and what it asks for."""

    name: str
    read: Callable[[bytes, Faults, str], list[Query]]
    """File, faults, and which text of a row is asked."""
    summary: str
    sha256: str = ""
    """Of the published file."""
    n_queries: int | None = None
    """Queries of the published file."""
    n_units: int | None = None
    """Gold units of the published file, where that is part of its definition."""
    k_max: int = K_MAX
    """Where lists are cut."""
    query_texts: tuple[str, ...] = ("",)
    """Which texts of a row can be asked; the first is the default."""


def load_benchmark(
    path: Path, task: str, *, sha256: str = "", allow_modified: bool = False, query_text: str = ""
) -> Benchmark:
    """Load the queries of a task.

    Args:
        path: The benchmark's file.
        task: A name in :data:`TASKS`.
        sha256: What the file's SHA-256 must begin with (at least 8 hex digits); empty checks nothing more than what
            is known of the published file.
        allow_modified: Take a file that is not the published one, and say so in ``notes``.
        query_text: Which text of a row is asked, where the task has several; its first if absent.

    Raises:
        DataError: Lists every fault with its line; or the file is not the one that was meant.
    """
    data = read_bytes(path)
    digest = require_sha256(path, data, sha256)
    kind = TASKS[task]
    query_text = query_text or kind.query_texts[0]
    if query_text not in kind.query_texts:
        choice = f"one of {', '.join(kind.query_texts)}" if len(kind.query_texts) > 1 else "without a choice of text"
        raise DataError(f"task {task} is {choice}, found --query-text {query_text}")
    faults = Faults(path)
    queries = kind.read(data, faults, query_text)
    _refuse_repeated_ids(queries, faults)
    if not queries:
        faults.add(None, f"holds no queries of task {task}")
    faults.raise_if_any()
    published, notes = _compare_with_published(kind, digest, queries)
    if published is False and not allow_modified:
        raise DataError.of(
            [*(f"{path}: {note}" for note in notes), "get the file anew, or mark its figures with --allow-modified"]
        )
    return Benchmark(task=task, sha256=digest, queries=queries, published=published, notes=notes)


def _compare_with_published(kind: Task, digest: str, queries: Sequence[Query]) -> tuple[bool | None, list[str]]:
    notes = []
    if kind.sha256 and digest != kind.sha256:
        notes.append(
            f"not the published file, its SHA-256 is {digest[:12]}…, the published begins {kind.sha256[:12]} "
            f"({kind.sha256})"
        )
    if kind.n_queries is not None and len(queries) != kind.n_queries:
        notes.append(f"{len(queries)} queries, the published file has {kind.n_queries}")
    n_units = sum(len(query.gold) for query in queries)
    if kind.n_units is not None and n_units != kind.n_units:
        notes.append(f"{n_units} gold units, the published file has {kind.n_units}")
    return (not notes if kind.sha256 else None), notes


def _refuse_repeated_ids(queries: Sequence[Query], faults: Faults) -> None:
    seen: set[str] = set()
    for query in queries:
        if query.id in seen:
            faults.add(None, f"query id {query.id!r} stands there twice")
        seen.add(query.id)


def _read_jsonl(data: bytes, faults: Faults, query_text: str) -> list[Query]:
    """Read anyone's own queries: ``id``, ``text``, ``gold`` and, if wanted, ``cluster``, ``split``, ``labels``."""
    if data.lstrip().startswith(b"["):
        faults.add(None, "is a JSON list; one as LeanSearch v2 released it wants --task mathlibqr or mathlibmpr")
        return []
    queries = []
    for line, row in parse_jsonl(data, faults):
        identity = text_field(row, "id", line, faults, required=True)
        labels = row.get("labels") or {}
        if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
            faults.add(line, f"labels must be an object of strings, found {labels!r}")
            labels = {}
        queries.append(
            Query(
                id=identity,
                text=text_field(row, "text", line, faults, required=True),
                gold=_units(row.get("gold"), "gold", line, faults),
                cluster=text_field(row, "cluster", line, faults) or identity,
                split=text_field(row, "split", line, faults),
                labels=labels,
            )
        )
    return queries


def _units(value: Any, field_name: str, line: int | None, faults: Faults) -> list[list[str]]:
    """Read gold units: a list whose items are lists of interchangeable names, or single names."""
    units: list[list[str]] = []
    if not isinstance(value, list):
        faults.add(line, f"{field_name} must be a list of units, found {value!r}")
        return units
    for item in value:
        unit = [item] if isinstance(item, str) else item
        if not isinstance(unit, list) or not unit or not all(isinstance(m, str) and m for m in unit):
            faults.add(line, f"{field_name}: a unit is a name or a non-empty list of names, found {item!r}")
        else:
            units.append(unit)
    return units


def _json_rows(data: bytes, faults: Faults) -> list[dict[str, Any]]:
    try:
        rows = json.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as exc:
        faults.add(None, f"is not JSON: {exc}")
        return []
    if not isinstance(rows, list):
        faults.add(None, f"must be a list of rows, found {type(rows).__name__}")
        return []
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            faults.add(None, f"row {number} must be an object, found {row!r}")
    return [row for row in rows if isinstance(row, dict)]


def _read_mathlibqr(data: bytes, faults: Faults, query_text: str) -> list[Query]:
    """Read MathlibQR: a declaration a row, asked for in up to six styles; an empty string is no query."""
    queries = []
    for row in _json_rows(data, faults):
        identity = text_field(row, "id", None, faults, required=True)
        full_name = text_field(row, "full_name", None, faults, required=True)
        for style in MATHLIBQR_FIELDS:
            text = text_field(row, style, None, faults)
            if text.strip():
                labels = {
                    "style": style,
                    "difficulty": str(row.get("difficulty", "")),
                    "kind": str(row.get("kind", "")),
                }
                queries.append(
                    Query(id=f"{identity}_{style}", text=text, gold=[[full_name]], cluster=identity, labels=labels)
                )
    return queries


def _read_mathlibmpr(data: bytes, faults: Faults, query_text: str) -> list[Query]:
    """Read MathlibMPR: a theorem a row; every premise group, original or alternative, is a unit.

    The text is the formal statement, the natural one, or both, the formal one first.
    """
    fields = {"formal": ["formal_statement"], "natural": ["NL_main_result"]}
    asked = fields.get(query_text, ["formal_statement", "NL_main_result"])
    queries = []
    for number, row in enumerate(_json_rows(data, faults)):
        identity = text_field(row, "id", None, faults, required=True)
        groups = row.get("premise_group")
        if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
            faults.add(None, f"row {number} ({identity}): premise_group must be a list of objects")
            continue
        units = _units([group.get("docs") for group in groups], f"row {number} ({identity}): docs", None, faults)
        text = "\n".join(text_field(row, name, None, faults, required=True) for name in asked)
        kinds = [str(group.get("kind", "original")) for group in groups]
        for kind in sorted(set(kinds) - {"original", "alternative"}):
            faults.add(None, f"row {number} ({identity}): kind must be original or alternative, found {kind!r}")
        queries.append(Query(id=identity, text=text, gold=units, cluster=identity, kinds=kinds))
    return queries


def _read_dependencies(data: bytes, faults: Faults, query_text: str) -> list[Query]:
    """Read statement -> dependencies: JSONL of ``id``, ``statement``, ``dependencies``; each dependency a unit."""
    queries = []
    for line, row in parse_jsonl(data, faults):
        identity = text_field(row, "id", line, faults, required=True)
        queries.append(
            Query(
                id=identity,
                text=text_field(row, "statement", line, faults, required=True),
                gold=_units(row.get("dependencies"), "dependencies", line, faults),
                cluster=text_field(row, "cluster", line, faults) or identity,
                split=text_field(row, "split", line, faults),
            )
        )
    return queries


def _read_leandojo(data: bytes, faults: Faults, query_text: str) -> list[Query]:
    return leandojo.read_queries(_json_rows(data, faults), faults)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("jsonl", _read_jsonl, "your own queries: JSONL of id, text, gold"),
        Task(
            "mathlibqr",
            _read_mathlibqr,
            "MathlibQR: find one declaration, asked for in six styles",
            sha256="0ce093ebb9da90c046d10b4e50a901edd8237a5aef357df1a3e08f5f5c1a1294",
            n_queries=946,
        ),
        Task(
            "mathlibmpr",
            _read_mathlibmpr,
            "MathlibMPR: find a premise of every group that a theorem needs",
            sha256="91a52d4998e81663effcf94cfe72908054577a2a9c16ddd7b32bc61657f4f9a7",
            query_texts=("formal", "natural", "both"),
            n_queries=69,
            n_units=204,
        ),
        Task("dependencies", _read_dependencies, "statement to dependencies: JSONL of id, statement, dependencies"),
        Task(
            "leandojo",
            _read_leandojo,
            "LeanDojo: proof state to the premises of the next tactic, among those that the theorem can use",
            k_max=leandojo.K_MAX,
        ),
    )
}
"""Every task, by name."""
