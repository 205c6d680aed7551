"""Intervals of statistics that are no functions of rates: what happens when problems are left out (docs/metrics.md)."""

from collections.abc import Callable

import numpy as np

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.inference import Interval, interval
from proverbench.metrics.summaries import Summary

MOST_GROUPS = 200
"""So many times the statistic is computed at the most; beyond, problems are left out in groups."""
METHOD = "jackknife over problems"


def jackknife_interval(
    statistic: Callable[[JudgmentArrays], float | None],
    arrays: JudgmentArrays,
    value: float,
    limits: tuple[float, float],
    level: float,
) -> Interval:
    """Interval of a statistic, problems being what is independent.

    The statistic, as a share of its range, is treated as one of so many observations as its jackknife variance says; of
    as many as there are problems where leaving one out never moves it.

    Args:
        statistic: The function; None where undefined.
        arrays: One split.
        value: The statistic of it.
        limits: Smallest and largest possible value, both finite.
        level: Confidence, in (0, 1).

    Returns:
        As :func:`proverbench.metrics.inference.interval`.

    Source: Efron & Stein (1981), Annals of Statistics 9(3) for the variance; the mid-P curve is that of all intervals.
    Its coverage was not simulated.
    """
    low, high = limits
    problems = len(arrays.problems)
    groups = min(problems, MOST_GROUPS)
    group = np.arange(problems) % max(groups, 1)
    left = [statistic(arrays.select(group[arrays.problem] != number)) for number in range(groups)]
    moved = np.array([0.0 if without is None else without - value for without in left]) / (high - low)
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    variance = (groups - 1) / groups * float(((moved - moved.mean()) ** 2).sum()) if groups > 1 else 0.0
    spread = share * (1 - share)
    effective = spread / variance if variance > 0 and spread > 0 else float(problems)
    one = np.ones(1)
    summary = Summary(
        share=share * one,
        effective_n=max(effective, 0.001) * one,
        evidence=float(problems) * one,
        df=max(float(groups - 1), 1.0) * one,
        influence=np.zeros((problems, 1)),
        variance=variance * one,
        present=np.ones((problems, 1), dtype=np.bool_),
    )
    return interval(summary, lambda rate: low + (high - low) * rate, level, limits=limits, method=METHOD)
