"""Nodes of universe levels and terms, exactly, however large they are as trees (docs/compression-metrics.md)."""

from array import array
from collections.abc import Iterable

from proverbench.compression.export import APP, CONST, IMAX, LAM, LET, MAX, MDATA, PI, PROJ, SORT, SUCC, Export


def count_levels(export: Export) -> list[int]:
    """Nodes of every level: zero and a parameter one, a successor one more, max and imax one plus both."""
    counts: list[int] = []
    for kind, a, b in zip(export.level_kind, export.level_a, export.level_b, strict=True):
        if kind == SUCC:
            counts.append(1 + counts[a])
        elif kind in (MAX, IMAX):
            counts.append(1 + counts[a] + counts[b])
        else:
            counts.append(1)
    return counts


def count_terms(export: Export, roots: Iterable[int]) -> dict[int, int]:
    """Nodes of each root term, as a tree: a subterm that occurs twice counts twice.

    One pass over the table. A count is forgotten after its last use, so that a long chain of doublings, whose
    counts have as many digits as the chain has links, does not fill the memory.

    Returns:
        Root → its exact number of nodes, at least 1 (0 only if it were all metadata, which it cannot be).
    """
    wanted = set(roots)
    below = bytearray(len(export))
    for _ in export.reach(wanted, below):
        pass
    uses = _uses(export, wanted, below)
    levels = count_levels(export)
    constants = [1 + sum(levels[level] for level in given) for given in export.level_lists]
    kind, a, b, c = export.kind, export.a, export.b, export.c
    counts: dict[int, int] = {}

    def take(term: int) -> int:
        uses[term] -= 1
        return counts[term] if uses[term] else counts.pop(term)

    for i, k in enumerate(kind):
        if not below[i]:
            continue
        if k == APP or k in (LAM, PI):
            total = 1 + take(a[i]) + take(b[i])
        elif k == CONST:
            total = constants[a[i]]
        elif k == SORT:
            total = 1 + levels[a[i]]
        elif k == LET:
            total = 1 + take(a[i]) + take(b[i]) + take(c[i])
        elif k == PROJ:
            total = 1 + take(b[i])
        elif k == MDATA:
            total = take(a[i])
        else:
            total = 1
        counts[i] = total
    return {root: counts[root] for root in wanted}


def _uses(export: Export, roots: set[int], below: bytearray) -> "array[int]":
    """How often each term below the roots is referred to; a root once more, so that its count stays."""
    uses = array("q", bytes(8 * len(export)))
    kind, a, b, c = export.kind, export.a, export.b, export.c
    for i, k in enumerate(kind):
        if not below[i]:
            continue
        if k in (APP, LAM, PI):
            uses[a[i]] += 1
            uses[b[i]] += 1
        elif k == LET:
            uses[a[i]] += 1
            uses[b[i]] += 1
            uses[c[i]] += 1
        elif k == PROJ:
            uses[b[i]] += 1
        elif k == MDATA:
            uses[a[i]] += 1
    for root in roots:
        uses[root] += 1
    return uses
