"""Differences between runs, paired by problem (docs/metrics.md, "Comparing runs")."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from proverbench.benchmark import benchmark_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.inference import Function, Summary, again, holm, holm_levels, interval, join, p_value
from proverbench.metrics.rates import RateTable, published_rates, sample_values
from proverbench.metrics.registry import every_metric
from proverbench.metrics.uncertainty import SAME_PROBLEMS, significant

ALPHA = 0.05
"""Family-wise level below which a difference counts as shown."""


def compare_runs(
    runs: Mapping[str, JudgmentArrays],
    *,
    metrics: Sequence[str] | None = None,
    meta: bool = False,
    alpha: float = ALPHA,
) -> dict[str, Any]:
    """Compare runs of one task pairwise on what they have in common.

    Args:
        runs: At least two, by name. Only problems (ProverBench) or proofs (VerifierBench) that all have are compared.
        metrics: Names of published metrics; all, if absent.
        meta: Whether to compare the meta metrics.
        alpha: Level below which a difference counts as shown; smaller where runs were looked at before.

    Returns:
        ``problems`` (common ones), ``left_out`` (by run, problems or proofs that others lack), ``undefined`` (metrics
        that are null in a run, a class being absent), ``pairs``: one row for each metric and pair as
        :func:`judge_pairs` returns them, in ProverBench with ``same_problems`` (``interval`` and ``p`` of the
        difference if the same problems were answered again; None with a single sample); ``ranks``: for each metric and
        run the ``value``, ``best`` and ``worst`` rank that the shown differences allow, at 95 % for all together.

    Raises:
        ValueError: If there are fewer than two runs, they are of different tasks, or nothing is common.
    """
    names = list(runs)
    if len(names) < 2:
        raise ValueError("comparing needs at least two runs")
    common, left_out = align(runs)
    tables = {name: published_rates(arrays, meta=meta) for name, arrays in common.items()}
    summaries = {name: table.summary() for name, table in tables.items()}
    points = {name: table.point() for name, table in tables.items()}
    asked = list(tables[names[0]].metrics if metrics is None else metrics)
    wanted = [metric for metric in asked if not any(math.isnan(points[name][metric]) for name in names)]
    pairs: list[dict[str, Any]] = []
    ranks: list[dict[str, Any]] = []
    for metric in wanted:
        values = {name: points[name][metric] for name in names}
        table = tables[names[0]]
        parts = {name: summaries[name].only(table.columns(metric)) for name in names}
        rows = judge_pairs(metric, values, parts, table.metrics[metric].g, alpha=alpha)
        if (again_of := _same_problems(common, metric)) is not None:
            for row in rows:
                row["same_problems"] = again_of(row["first"], row["second"])
        pairs += rows
        ranks += ranks_of(metric, values, rows)
    return {
        "problems": len(next(iter(common.values())).problems),
        "proofs": {name: len(arrays.keys) for name, arrays in common.items()},
        "left_out": left_out,
        "undefined": [metric for metric in asked if metric not in wanted],
        "pairs": pairs,
        "ranks": ranks,
    }


def judge_pairs(
    metric: str,
    values: Mapping[str, float],
    parts: Mapping[str, Summary],
    g: Function | Mapping[str, Function],
    *,
    shared: Summary | None = None,
    alpha: float = ALPHA,
) -> list[dict[str, Any]]:
    """Every pair's difference in one metric, with a verdict that holds for all pairs together.

    Args:
        metric: Its name.
        values: By run, the metric.
        parts: By run, the rates that it is a function of, over problems that are lined up by name or position.
        g: The function, or each run's own.
        shared: Rates that the functions of all runs also take, after their own.
        alpha: Level below which a difference counts as shown.

    Returns:
        One row a pair: ``metric``, ``first``, ``second`` (names), ``first_value``, ``second_value``, ``difference``
        (first minus second), ``interval`` (95 %), ``p``, ``p_holm`` (over these pairs), ``step_interval`` (at the level
        of the pair's Holm step: it leaves 0 out exactly where the difference is shown), ``shown`` and ``verdict`` (a
        sentence).
    """
    pairs = list(itertools.combinations(values, 2))
    functions = g if isinstance(g, Mapping) else dict.fromkeys(values, g)
    minus = [
        _minus(parts[first], parts[second], functions[first], functions[second], shared) for first, second in pairs
    ]
    ps = [p_value(*pair) for pair in minus]
    rows = []
    for k, (adjusted, level) in enumerate(zip(holm(ps), holm_levels(ps, alpha), strict=True)):
        first, second = pairs[k]
        plain = interval(*minus[k])
        row: dict[str, Any] = {
            "metric": metric,
            "first": first,
            "second": second,
            "first_value": significant(values[first]),
            "second_value": significant(values[second]),
            "difference": significant(values[first] - values[second]),
            "interval": plain,
            "p": ps[k],
            "p_holm": significant(adjusted, 6),
            "step_interval": plain if level == plain["level"] else interval(*minus[k], level=level),
            "shown": adjusted < alpha,
        }
        higher = first if row["difference"] > 0 else second
        row["verdict"] = f"{higher} is higher" if row["shown"] else "no difference shown"
        rows.append(row)
    return rows


def difference(first: RateTable, first_metric: str, second: RateTable, second_metric: str) -> tuple[Summary, Function]:
    """Two metrics of the same problems as the rates and the function that their difference is of."""
    return _minus(
        first.summary().only(first.columns(first_metric)),
        second.summary().only(second.columns(second_metric)),
        first.metrics[first_metric].g,
        second.metrics[second_metric].g,
    )


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


def ranks_of(metric: str, values: Mapping[str, float], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The ranks that the shown differences of one metric allow, simultaneously for all runs."""
    above: dict[str, set[str]] = {name: set() for name in values}
    below: dict[str, set[str]] = {name: set() for name in values}
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
            "value": significant(value),
            "best": 1 + len(above[name]),
            "worst": len(values) - len(below[name]),
        }
        for name, value in values.items()
    ]


def _minus(
    first: Summary, second: Summary, g: Function, other: Function, shared: Summary | None = None
) -> tuple[Summary, Function]:
    """Two functions' difference, with the rates that it is a function of."""
    one, both = len(first.share), len(first.share) + len(second.share)
    joined = join(first, second) if shared is None else join(first, second, shared)
    return joined, lambda *rates: g(*rates[:one], *rates[both:]) - other(*rates[one:both], *rates[both:])


def _same_problems(runs: Mapping[str, JudgmentArrays], name: str) -> Callable[[str, str], dict[str, Any] | None] | None:
    """What a pair's difference would be if the same problems were answered again; None if the metric has no such."""
    metric = every_metric(next(iter(runs.values())).task)[name]
    values = {run: sample_values(arrays, metric) for run, arrays in runs.items()}
    if any(found is None for found in values.values()):
        return None
    summaries = {run: again(found) for run, found in values.items() if found is not None and found.shape[1] > 1}

    def of(first: str, second: str) -> dict[str, Any] | None:
        if first not in summaries or second not in summaries:
            return None
        minus = _minus(summaries[first], summaries[second], metric.g, metric.g)
        return {"interval": interval(*minus, method=SAME_PROBLEMS), "p": p_value(*minus)}

    return of
