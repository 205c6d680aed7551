"""Intervals and bounds beside every score (docs/metrics.md, "Intervals" and "Bounds")."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.inference import LEVEL, Interval, again, interval
from proverbench.metrics.jackknife import jackknife_interval
from proverbench.metrics.rates import RateTable, published_rates, sample_values
from proverbench.metrics.registry import metrics_of

SAME_PROBLEMS = "mid-P, these problems, new samples"
"""What ``method`` says of an interval for the same problems asked again."""

Score = float | int | None


def split_uncertainty(
    arrays: JudgmentArrays, *, meta: bool, metrics: Mapping[str, Score]
) -> tuple[dict[str, Interval], dict[str, dict[str, Any]]]:
    """What stands beside one complete split's ``metrics``.

    Args:
        arrays: The split.
        meta: Whether the meta-verifier was asked.
        metrics: The published scores of the same records.

    Returns:
        ``intervals`` and ``bounds``, each by metric name, JSON-ready. A metric that is None has neither. Means over
        proofs of ProverBench also have ``same_problems``, see :func:`same_problems`.
    """
    found = intervals(published_rates(arrays, meta=meta)) | statistic_intervals(arrays)
    kept = {name: found[name] for name in metrics if name in found and metrics[name] is not None}
    for name, same in same_problems(arrays).items():
        if name in kept:
            kept[name]["same_problems"] = same
    return kept, bounds(arrays, meta=meta, metrics=metrics)


def intervals(table: RateTable, *, level: float = LEVEL) -> dict[str, Interval]:
    """Intervals of every metric in a table, for new problems of this kind.

    The independent unit is the problem, with all its samples and judgments.

    Args:
        table: Sums over problems.
        level: Confidence, in (0, 1).

    Returns:
        For each metric that is defined what :func:`proverbench.metrics.inference.interval` returns.
    """
    summary = table.summary()
    return {
        name: interval(
            summary.only(table.columns(name)), table.metrics[name].g, level, limits=table.metrics[name].limits
        )
        for name, value in table.point().items()
        if not math.isnan(value)
    }


def statistic_intervals(arrays: JudgmentArrays, *, level: float = LEVEL) -> dict[str, Interval]:
    """Intervals of the metrics that are no functions of rates, by a jackknife over problems.

    Args:
        arrays: One split.
        level: Confidence, in (0, 1).

    Returns:
        For each such metric that is defined what :func:`proverbench.metrics.inference.interval` returns.
    """
    found: dict[str, Interval] = {}
    for name, metric in metrics_of(arrays.task, offers=arrays.offers).items():
        value = None if metric.statistic is None else metric.statistic(arrays)
        if metric.statistic is not None and value is not None:
            found[name] = jackknife_interval(metric.statistic, arrays, value, metric.range, level)
    return found


def same_problems(arrays: JudgmentArrays, *, level: float = LEVEL) -> dict[str, Interval | None]:
    """How far the scores would move if the policy answered the same problems again.

    Args:
        arrays: One split.
        level: Confidence, in (0, 1).

    Returns:
        For each ProverBench metric that is a mean over proofs its interval, ``method`` saying what it is for; None with
        a single sample of each problem, which does not say how far samples differ. Repeats cannot replace samples.
    """
    found: dict[str, Interval | None] = {}
    for name, metric in metrics_of(arrays.task).items():
        values = sample_values(arrays, metric)
        if values is None or not len(values):
            continue
        found[name] = interval(again(values), level=level, method=SAME_PROBLEMS) if arrays.samples > 1 else None
    return found


def bounds(
    arrays: JudgmentArrays, *, meta: bool = False, metrics: Mapping[str, Score] | None = None
) -> dict[str, dict[str, Any]]:
    """What the scores could have been, had the invalid judgments been valid.

    Args:
        arrays: One split.
        meta: Whether the meta-verifier was asked.
        metrics: The published scores; computed here if absent.

    Returns:
        By metric ``low`` (every invalid judgment a rejection, or disagreeing with the label: the score as it is),
        ``high`` (an acceptance, or agreeing to the step; for ``meta_*`` an exact match) and ``invalid``, the number of
        judgments this is about. An invalid generation stays 0. Validity rates and undefined metrics have none.
    """
    as_is = published_rates(arrays, meta=meta).point() if metrics is None else metrics
    best = published_rates(arrays, meta=meta, best_case=True).point()
    known = metrics_of(arrays.task, meta=meta)
    found: dict[str, dict[str, Any]] = {}
    for name, high in best.items():
        low = as_is.get(name)
        if low is None or math.isnan(low) or name not in known or known[name].validity:
            continue
        concerned = np.zeros(len(arrays.keys), dtype=np.bool_)
        for rate in known[name].rates:
            concerned |= rate.possible(arrays) > 0
        replies = arrays.meta if "meta" in known[name].needs else arrays.verdict
        found[name] = {
            "low": significant(low),
            "high": significant(high),
            "invalid": int(np.count_nonzero(replies[concerned & arrays.generated] == INVALID)),
        }
    return found


def significant(value: float, digits: int = 12) -> float:
    """Round to so many significant digits, as every derived float in a file is."""
    return float(f"{value:.{digits}g}")
