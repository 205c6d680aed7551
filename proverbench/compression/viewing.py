"""What the term viewer shows: charged declarations as graphs of nodes with their counts. Plain data for JSON."""

from typing import Any

from proverbench.compression.charges import Charge
from proverbench.compression.counting import count_levels, count_terms
from proverbench.compression.decimals import int_to_decimal
from proverbench.compression.export import (
    BVAR,
    CONST,
    IMAX,
    LAM,
    LET,
    LIT,
    MAX,
    MDATA,
    PARAM,
    PI,
    PROJ,
    SORT,
    SUCC,
    Export,
)

LARGEST = 100_000
"""Most nodes of a graph that one page carries; declarations beyond are listed, but cannot be opened."""
_LONGEST = 120
_LARGEST_LEVEL = 40
_SAFE = 2**53


def view_charge(export: Export, charge: Charge) -> dict[str, Any]:
    """The charged declarations, largest first, and the nodes of their terms.

    Returns:
        ``count``, ``items`` (name, kind, nodes, parts; a part's ``root`` is a node's number or None when it is not
        carried) and ``nodes``: columns ``kind``, ``label``, ``count`` and ``children``. A subterm that occurs twice is
        one node here, but counts twice. Numbers too large for JavaScript are texts.
    """
    carried: dict[int, int] = {}
    items = []
    for item in sorted(charge.items, key=lambda item: -item.nodes):
        parts = []
        for part in item.parts:
            shown = part.label
            root = _carry(export, part.term, carried)
            parts.append({"label": shown, "nodes": _number(part.nodes), "root": root})
        items.append({"name": item.name, "kind": item.kind, "nodes": _number(item.nodes), "parts": parts})
    return {"count": _number(charge.count), "items": items, "nodes": _columns(export, carried)}


def _carry(export: Export, root: int, carried: dict[int, int]) -> int | None:
    """Number the nodes below a term, unless that makes too many."""
    root = _skip_metadata(export, root)
    new = []
    for term in export.reach((root,), bytearray(len(export))):
        if term not in carried and export.kind[term] != MDATA:
            new.append(term)
        if len(carried) + len(new) > LARGEST:
            return None
    for term in new:
        carried[term] = len(carried)
    return carried[root]


def _columns(export: Export, carried: dict[int, int]) -> dict[str, list[Any]]:
    counts = count_terms(export, carried)
    level_counts = count_levels(export)
    return {
        "kind": [export.kind[term] for term in carried],
        "label": [_label(export, term, level_counts) for term in carried],
        "count": [_number(counts[term]) for term in carried],
        "children": [[carried[_skip_metadata(export, child)] for child in export.children(term)] for term in carried],
    }


def _skip_metadata(export: Export, term: int) -> int:
    while export.kind[term] == MDATA:
        term = export.a[term]
    return term


def _number(value: int) -> int | str:
    return value if value < _SAFE else int_to_decimal(value)


def _label(export: Export, term: int, level_counts: list[int]) -> str:
    """What a node says of itself: the index of a variable, a binder's name, a constant with its levels."""
    kind, a = export.kind[term], export.a[term]
    if kind == BVAR:
        return str(a)
    if kind == SORT:
        return f"Sort {_level(export, a, level_counts)}"
    if kind == LIT:
        value = export.literals[a]
        return _cut(repr(value) if isinstance(value, str) else int_to_decimal(value))
    if kind == CONST:
        levels = ", ".join(_level(export, level, level_counts) for level in export.level_lists[a])
        return _cut(export.name_text(export.name[term])) + (f".{{{levels}}}" if levels else "")
    if kind in (LAM, PI, LET):
        return _cut(export.name_text(export.name[term]))
    if kind == PROJ:
        return f"{_cut(export.name_text(export.name[term]))} field {a}"
    return ""


def _level(export: Export, level: int, counts: list[int]) -> str:
    if counts[level] > _LARGEST_LEVEL:
        return f"(a level of {counts[level]} nodes)"
    kind, a, b = export.level_kind[level], export.level_a[level], export.level_b[level]
    if kind == PARAM:
        return _cut(export.name_text(a))
    if kind == SUCC:
        inner = _level(export, a, counts)
        return str(int(inner) + 1) if inner.isdecimal() else f"{inner}+1"
    if kind in (MAX, IMAX):
        return f"({'max' if kind == MAX else 'imax'} {_level(export, a, counts)} {_level(export, b, counts)})"
    return "0"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
