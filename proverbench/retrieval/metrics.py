"""Retrieval metrics from positions alone. Defined in docs/retrieval-metrics.md; nothing here reads a ranked list.

Notation: G the gold units of a query that its corpus has, h(k) how many of them stand at rank k or better. One
document in two units can push P, AP and nDCG above 1: units count as written and these three are capped at 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proverbench.retrieval.records import K_MAX

Floats = NDArray[np.float64]

CURVES = ("R", "P", "nDCG", "Covered")
"""Metrics with a value at every cut-off k = 1..k_max."""
ROUTED = ("CoveredRoute", "CoveredOriginal")
"""The same where a benchmark tells original premise groups from alternative ones."""
ORIGINAL, ALTERNATIVE = "original", "alternative"
SCALARS = ("MRR", "MAP")
"""Metrics of the whole list up to k_max."""
SUMMARY_KS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)
"""Cut-offs that a summary lists; the curves have every k."""
PR_LEVELS = 11


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which units of one query are original ones and which alternative."""

    of_units: Sequence[str]
    """``original`` or ``alternative``, one for each position."""
    left_out: Sequence[str] = ()
    """Of the units that the corpus lacks: nothing finds them."""


@dataclass(frozen=True, slots=True)
class QueryScores:
    """Every metric of every query, row i being query i."""

    curves: dict[str, Floats]
    """``R``, ``P``, ``nDCG``, ``Covered``, and :data:`ROUTED` where kinds are known: shape (n, k_max), column j is
    k = j + 1; nan above a service's cap."""
    scalars: dict[str, Floats]
    """``MRR`` (a query's reciprocal rank) and ``MAP`` (its average precision): shape (n,)."""
    pr11: Floats
    """Interpolated precision at recall 0, 0.1 .. 1: shape (n, 11)."""


def score_queries(
    positions: Sequence[Sequence[int | None]],
    *,
    k_max: int = K_MAX,
    service_cap: int | None = None,
    kinds: Sequence[Kinds] | None = None,
) -> QueryScores:
    """Score queries from the positions of their gold units.

    Args:
        positions: For each query the 1-based rank of each gold unit, None when it was not found; at least one unit
            a query (a query without gold is dropped before it comes here, never scored 0).
        k_max: Where the lists were cut.
        service_cap: How many results the service returns at most. Curves are nan above it: such a service has no
            value there, not a flat one.
        kinds: Of each query, which units are original and which alternative; None where that is not told apart.

    Returns:
        All in [0, 1], higher is better.

    Raises:
        ValueError: If a query has no units or a position is out of range.

    Sources: Järvelin and Kekäläinen (2002) for nDCG, Voorhees and Harman (2005) for P, R, AP, RR and the 11-point
    curve. Defined in docs/retrieval-metrics.md.
    """
    hits, n_units = _count_hits(positions, k_max)
    found = hits.cumsum(axis=1)
    ks = np.arange(1, k_max + 1)
    raw_precision = found / ks
    discounts = 1.0 / np.log2(ks + 1.0)
    dcg = (hits * discounts).cumsum(axis=1)
    ideal = discounts.cumsum()[np.minimum(ks, n_units[:, None]) - 1]
    curves = {
        "R": found / n_units[:, None],
        "P": np.minimum(raw_precision, 1.0),
        "nDCG": np.minimum(dcg / ideal, 1.0),
        "Covered": (found == n_units[:, None]).astype(np.float64),
    }
    scalars = {
        "MRR": _reciprocal_rank(hits),
        "MAP": np.minimum((hits * raw_precision).sum(axis=1) / n_units, 1.0),
    }
    if kinds is not None:
        curves.update(_routed(positions, kinds, k_max))
    pr11 = _interpolated_precision(curves["P"], found, n_units)
    if service_cap is not None:
        for values in curves.values():
            values[:, service_cap:] = np.nan
    return QueryScores(curves=curves, scalars=scalars, pr11=pr11)


def _count_hits(positions: Sequence[Sequence[int | None]], k_max: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the units first found at each rank, shape (n, k_max), and the units of each query, shape (n,)."""
    hits = np.zeros((len(positions), k_max), dtype=np.int64)
    for row, ranks in enumerate(positions):
        if not ranks:
            raise ValueError(f"query {row} has no gold units: it must be dropped, not scored")
        for rank in ranks:
            if rank is None:
                continue
            if not 1 <= rank <= k_max:
                raise ValueError(f"query {row}: position {rank!r} is not in 1..{k_max}")
            hits[row, rank - 1] += 1
    return hits, np.array([len(ranks) for ranks in positions], dtype=np.int64)


def _routed(positions: Sequence[Sequence[int | None]], kinds: Sequence[Kinds], k_max: int) -> dict[str, Floats]:
    """Return ``CoveredRoute`` and ``CoveredOriginal``, as the LeanSearch v2 release and its paper's appendix have them.

    Units that the corpus lacks count here, as missed: the release knows no other way.
    """
    ks = np.arange(1, k_max + 1)
    queries = list(zip(positions, kinds, strict=True))
    original, alternative = (
        np.array([_last(ranks, of, kind) for ranks, of in queries])[:, None] <= ks for kind in (ORIGINAL, ALTERNATIVE)
    )
    return {
        "CoveredRoute": (original | alternative).astype(np.float64),
        "CoveredOriginal": original.astype(np.float64),
    }


def _last(ranks: Sequence[int | None], kinds: Kinds, wanted: str) -> float:
    """Return the rank at which all units of a kind are found; infinite when one is missed, or there is none."""
    found = [rank for rank, kind in zip(ranks, kinds.of_units, strict=True) if kind == wanted]
    if not found or wanted in kinds.left_out or any(rank is None for rank in found):
        return math.inf
    return max(rank for rank in found if rank is not None)


def _reciprocal_rank(hits: NDArray[np.int64]) -> Floats:
    any_hit = hits > 0
    first = any_hit.argmax(axis=1)
    return np.where(any_hit.any(axis=1), 1.0 / (first + 1), 0.0)


def _interpolated_precision(precision: Floats, found: NDArray[np.int64], n_units: NDArray[np.int64]) -> Floats:
    """Return the best precision at or beyond each recall level; 0 where the level is never reached.

    Levels are compared as whole tenths, ``10 h(k) >= t |G|``: as floats, 3/10 against 0.3 would depend on rounding.
    """
    best_from = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    levels = np.empty((len(precision), PR_LEVELS))
    for tenth in range(PR_LEVELS):
        reached = 10 * found >= tenth * n_units[:, None]
        first = reached.argmax(axis=1)
        levels[:, tenth] = np.where(reached.any(axis=1), best_from[np.arange(len(first)), first], 0.0)
    return levels


def macro_mean(values: Floats) -> Floats:
    """Average over queries: exact sums of each column, rounded once.

    Args:
        values: Shape (n, m) or (n,).

    Returns:
        Shape (m,) or a 0-dimensional array; nan where a column holds nan or n is 0.
    """
    if len(values) == 0:
        return np.full(values.shape[1:], np.nan)
    columns = values.reshape(len(values), -1).T
    means = np.array([math.fsum(column) / len(values) for column in columns.tolist()])
    return means.reshape(values.shape[1:])
