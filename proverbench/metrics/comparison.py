"""Differences between runs, paired by problem (docs/metrics.md, "Comparing runs")."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proverbench.benchmark import benchmark_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.rates import Floats, RateTable, published_rates
from proverbench.metrics.uncertainty import RESAMPLES, SEED, bootstrap_interval, resample_weights, significant

PERMUTATIONS = 10_000
"""Sign flips drawn for a p-value; all of them are taken where there are no more than so many."""
ALPHA = 0.05
"""Family-wise level below which a difference counts as shown."""


def compare_runs(
    runs: Mapping[str, JudgmentArrays],
    *,
    metrics: Sequence[str] | None = None,
    meta: bool = False,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> dict[str, Any]:
    """Compare runs of one task pairwise on what they have in common.

    Args:
        runs: At least two, by name. Only problems (ProverBench) or proofs (VerifierBench) that all have are compared.
        metrics: Names of published metrics; all, if absent.
        meta: Whether to compare the meta metrics.
        resamples: Bootstrap resamples.
        permutations: Sign flips.
        seed: Seed of both.

    Returns:
        ``problems`` (common ones), ``left_out`` (by run, problems or proofs that others lack), ``undefined`` (metrics
        that are null in a run, a class being absent), ``pairs``: one row for each metric and pair with ``first``,
        ``second`` (names), ``first_value``, ``second_value``, ``difference`` (first minus second), ``interval``, ``p``,
        ``p_holm`` (over the pairs of that metric), ``shown`` (p_holm < 0.05) and ``verdict`` (a sentence); ``ranks``:
        for each metric and run the ``value``, ``best`` and ``worst`` rank that the shown differences allow.

    Raises:
        ValueError: If there are fewer than two runs, they are of different tasks, or nothing is common.
    """
    names = list(runs)
    if len(names) < 2:
        raise ValueError("comparing needs at least two runs")
    common, left_out = align(runs)
    tables = {name: normalised(published_rates(arrays, meta=meta)) for name, arrays in common.items()}
    points = {name: table.point() for name, table in tables.items()}
    asked = list(tables[names[0]].metrics if metrics is None else metrics)
    wanted = [metric for metric in asked if not any(math.isnan(points[name][metric]) for name in names)]
    pairs: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    for metric in wanted:
        rows: list[dict[str, Any]] = []
        for first, second in itertools.combinations(names, 2):
            rows.append(
                {
                    "metric": metric,
                    "first": first,
                    "second": second,
                    "first_value": significant(points[first][metric]),
                    "second_value": significant(points[second][metric]),
                    "difference": significant(points[first][metric] - points[second][metric]),
                    "interval": difference_interval(
                        tables[first], metric, tables[second], metric, resamples=resamples, seed=seed
                    ),
                    "p": sign_flip_p(tables[first], tables[second], metric, permutations=permutations, seed=seed),
                }
            )
        for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
            row["p_holm"] = significant(adjusted)
            row["p"] = significant(row["p"])
            row["shown"] = adjusted < ALPHA
            higher = row["first"] if row["difference"] > 0 else row["second"]
            row["verdict"] = f"{higher} is higher" if row["shown"] else "no difference shown"
        pairs += rows
        ranks += _ranks(metric, names, points, rows)
    return {
        "problems": len(next(iter(common.values())).problems),
        "proofs": {name: len(arrays.keys) for name, arrays in common.items()},
        "left_out": left_out,
        "undefined": [metric for metric in asked if metric not in wanted],
        "pairs": pairs,
        "ranks": ranks,
    }


def align(runs: Mapping[str, JudgmentArrays]) -> tuple[dict[str, JudgmentArrays], dict[str, int]]:
    """Restrict runs to their common problems (ProverBench) or proofs (VerifierBench), in one order.

    Returns:
        The restricted arrays, clusters numbered alike in all, and how many problems or proofs each run lost.

    Raises:
        ValueError: If tasks differ, nothing is common, or a proof has another text or label in another run.
    """
    tasks = {arrays.task for arrays in runs.values()}
    if len(tasks) != 1:
        raise ValueError("runs of different tasks cannot be compared")
    by_problem = not benchmark_of(tasks.pop()).labelled
    places: dict[str, dict[str, list[int]]] = {}
    for name, arrays in runs.items():
        mine = places.setdefault(name, {})
        for row, key in enumerate(arrays.keys):
            unit = arrays.problems[arrays.problem[row]] if by_problem else key
            mine.setdefault(unit, []).append(row)
    shared = set.intersection(*(set(mine) for mine in places.values()))
    if not shared:
        raise ValueError("the runs have no problem in common" if by_problem else "the runs have no proof in common")
    order = sorted(shared)
    aligned = {
        name: arrays.select(np.array([row for unit in order for row in places[name][unit]], dtype=np.intp))
        for name, arrays in runs.items()
    }
    first = next(iter(aligned.values()))
    for name, arrays in aligned.items():
        if not by_problem:
            differing = (arrays.digest != first.digest) | (arrays.label != first.label)
            if differing.any():
                key = arrays.keys[int(np.flatnonzero(differing)[0])]
                raise ValueError(f"proof {key} has other steps or another label in {name}")
        if arrays.problems != first.problems:
            raise ValueError(f"{name} assigns proofs to other problems")
    return aligned, {name: len(mine) - len(shared) for name, mine in places.items()}


def normalised(table: RateTable) -> RateTable:
    """The same rates in units of samples and judgments that do not depend on how many were asked for.

    Runs with different S or R then have equal ``possible``, so that their problems can be exchanged. The unit is what
    the smallest problem could earn: S judgments' worth in ProverBench, R times its proofs in VerifierBench.
    """
    smallest = np.where(table.possible > 0, table.possible, np.inf).min(axis=0, initial=np.inf)
    unit = np.where(np.isfinite(smallest), smallest, 1.0)
    return RateTable(table.names, table.earned / unit, table.possible / unit, table.items, table.metrics)


def difference_interval(
    first: RateTable,
    first_metric: str,
    second: RateTable,
    second_metric: str,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Any]:
    """Percentile-bootstrap interval of a difference, both sides on the same resampled problems.

    Args:
        first: Sums over C problems.
        first_metric: The metric of the first side.
        second: Sums over the same C problems, in the same order.
        second_metric: The metric of the other side.
        resamples: Number of resamples.
        seed: Seed of numpy's PCG64.

    Returns:
        ``low``, ``high``, ``se`` (None for a single problem), ``n`` (problems), ``method``, ``resamples``, ``seed``,
        and ``unreliable`` (why) with fewer than 30 problems.

    Source: as :func:`proverbench.metrics.uncertainty.intervals`, paired. Defined in docs/metrics.md.
    """
    problems = len(first.earned)
    blocks = []
    for weights in resample_weights(problems, resamples=resamples, seed=seed):
        sides = [
            table.values(weights @ table.earned, weights @ table.possible)[metric]
            for table, metric in ((first, first_metric), (second, second_metric))
        ]
        blocks.append(sides[0] - sides[1])
    method = "paired percentile bootstrap over problems"
    return bootstrap_interval(np.concatenate(blocks), problems, resamples=resamples, seed=seed, method=method)


def sign_flip_p(
    first: RateTable,
    second: RateTable,
    metric: str,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> float:
    """Two-sided p-value of a difference under exchanging the two runs, problem by problem.

    Args:
        first: Sums over C problems.
        second: Sums over the same C problems, in the same order and units.
        metric: A metric of both.
        permutations: Random exchanges; when the problems that differ allow no more than so many, all are taken.
        seed: Seed of numpy's PCG64.

    Returns:
        A number in (0, 1]: the share of exchanges whose difference is at least as large, the observed one included.

    Source: Fisher's permutation test, Good (2005), chapter 3; (1+b)/(1+m) for random exchanges as in Phipson & Smyth
    (2010), SAGMB 9(1). Defined in docs/metrics.md.
    """
    differs = (first.earned != second.earned).any(axis=1) | (first.possible != second.possible).any(axis=1)
    count = int(np.count_nonzero(differs))
    both = [np.concatenate([table.earned, table.possible], axis=1) for table in (first, second)]
    change = (both[0] - both[1])[differs]
    totals = [sums.sum(axis=0) for sums in both]
    half = first.earned.shape[1]

    def difference(exchanged: Floats) -> Floats:
        moved = exchanged @ change
        sides = []
        for total, sign in ((totals[0], -1), (totals[1], 1)):
            sums = total + sign * moved
            sides.append(first.values(sums[:, :half], sums[:, half:])[metric])
        result: Floats = np.abs(sides[0] - sides[1])
        return result

    observed = float(difference(np.zeros((1, count)))[0])
    # Sums in another order differ in the last digits; a tie must still count as one.
    threshold = observed * (1 - 1e-9) - 1e-12
    if 2**count <= permutations:
        exchanges = np.array(list(itertools.product((0.0, 1.0), repeat=count))).reshape(2**count, count)
        return float(np.mean(~(difference(exchanges) < threshold)))
    rng = np.random.Generator(np.random.PCG64(seed))
    extreme, block = 0, max(1, 4_000_000 // count)
    for start in range(0, permutations, block):
        exchanges = rng.integers(0, 2, size=(min(block, permutations - start), count)).astype(np.float64)
        extreme += int(np.count_nonzero(~(difference(exchanges) < threshold)))
    return (1 + extreme) / (1 + permutations)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: the i-th smallest of m p-values times m-i+1, kept increasing and at most 1.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2).
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted


def _ranks(
    metric: str, names: Sequence[str], points: Mapping[str, Mapping[str, float]], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    above: dict[str, set[str]] = {name: set() for name in names}
    below: dict[str, set[str]] = {name: set() for name in names}
    for row in rows:
        if row["shown"]:
            pair = (row["first"], row["second"])
            winner, loser = pair if row["difference"] > 0 else pair[::-1]
            above[loser].add(winner)
            below[winner].add(loser)
    return [
        {
            "metric": metric,
            "run": name,
            "value": significant(points[name][metric]),
            "best": 1 + len(above[name]),
            "worst": len(names) - len(below[name]),
        }
        for name in names
    ]
