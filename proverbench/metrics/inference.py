"""The one method behind every interval, p-value and plan (docs/metrics.md, "Intervals").

A rate is a sum over problems of credit earned, divided by a sum of what could be earned. Problems are independent of
each other; the proofs and judgments of one problem are not. :func:`summarise` turns the problems' sums into an
*effective number* of independent yes-or-no observations; :func:`interval` and :func:`p_value` treat each rate as a
share of that many (mid-P), and combine several rates through the correlation of their problems. An interval and a
p-value are two readings of one curve, so they never contradict each other. Nothing is random.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proverbench.metrics.curve import Curve, Function, theta
from proverbench.metrics.summaries import Summary, again, join, linearised, summarise

__all__ = [
    "Function",
    "Interval",
    "Summary",
    "again",
    "holm",
    "holm_levels",
    "interval",
    "join",
    "linearised",
    "look_level",
    "p_value",
    "six",
    "summarise",
    "theta",
]

Interval = dict[str, Any]

LEVEL = 0.95
METHOD = "mid-P over problems"
"""What ``method`` says beside an interval for new problems of this kind."""

_HARDEST = 8.0
"""The largest quantile that a p-value is searched for; what lies beyond is below 1e-14 (normal)."""
_SHARE_OF_VARIANCE = 0.05
"""Rates that make less of a function's variance do not count as its evidence."""


def interval(
    summary: Summary,
    g: Function | None = None,
    level: float = LEVEL,
    *,
    limits: tuple[float, float] | None = None,
    method: str = METHOD,
) -> Interval:
    """Interval of a function of the rates.

    Args:
        summary: The K rates.
        g: The function; the rate itself if None, which needs K = 1.
        level: Confidence, in (0, 1).
        limits: The range of g; the ends are cut to it.
        method: What ``method`` shall say.

    Returns:
        ``low``, ``high``, ``se`` (standard error of the linearised g), ``level``, ``n`` (problems that count),
        ``effective_n`` and ``evidence`` (of the rate that has least, among those that matter), ``df``, ``method``.
        Ends and ``se`` are None where a single problem counts.

    Source: mid-P limits (Lancaster 1961, JASA 56) for an effective sample size (Korn & Graubard 1998, Survey
    Methodology 24); extremes of g on the ellipsoid of the rates. Defined in docs/metrics.md.
    """
    from scipy.special import stdtrit

    curve = Curve(summary, g)
    df, shares = curve.degrees()
    matters = shares >= _SHARE_OF_VARIANCE if (shares >= _SHARE_OF_VARIANCE).any() else np.ones(len(shares), bool)
    n = curve.problems
    low = high = se = None
    if n > 1:
        quantile = float(stdtrit(df, 0.5 + level / 2))
        ends = (curve.end(quantile, -1), curve.end(quantile, +1))
        if limits is not None:
            ends = (min(max(ends[0], limits[0]), limits[1]), min(max(ends[1], limits[0]), limits[1]))
        low, high = (six(end) for end in ends)
        se = six(curve.standard_error())
    return {
        "low": low,
        "high": high,
        "se": se,
        "level": level,
        "n": n,
        "effective_n": six(float(summary.effective_n[matters].min())),
        "evidence": six(float(summary.evidence[matters].min())),
        "df": six(df),
        "method": method,
    }


def p_value(summary: Summary, g: Function | None = None, null: float = 0.0) -> float:
    """Two-sided p-value of "g is ``null``": 1 - level of the widest interval of g that leaves ``null`` out.

    Args:
        summary: The K rates.
        g: The function, as for :func:`interval`.
        null: The value to be tested.

    Returns:
        A number in (0, 1]; 1 where a single problem counts.
    """
    from scipy.special import stdtr

    curve = Curve(summary, g)
    if curve.problems < 2:
        return 1.0
    df, _ = curve.degrees()
    centre = curve.centre
    if not math.isfinite(centre) or centre == null:
        return 1.0
    side = -1 if centre > null else 1
    quantile = _leaves(lambda q: side * (curve.end(q, side) - null), _HARDEST)
    return six(min(1.0, 2 * float(stdtr(df, -quantile))))


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


def holm_levels(p_values: Sequence[float], alpha: float = 0.05) -> list[float]:
    """The confidence at which each of m intervals agrees with Holm's verdict on it.

    Args:
        p_values: Of all pairs of one family.
        alpha: Its family-wise level.

    Returns:
        For the i-th smallest p 1 - alpha/(m-i+1) as long as Holm rejects; for all others the level of the first step
        that failed. So an interval leaves 0 out exactly where the difference is shown.
    """
    levels = [0.0] * len(p_values)
    failed: float | None = None
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        step = alpha / (len(p_values) - rank)
        if failed is None and p_values[place] >= step:
            failed = step
        levels[place] = 1 - (step if failed is None else failed)
    return levels


def look_level(number: int, planned: int | None = None, alpha: float = 0.05) -> float:
    """The level of the k-th look at data that grow, so that all looks together are wrong in at most 1.5·α of cases.

    Args:
        number: k, from 1.
        planned: K, if it was said beforehand how many looks there will be: then each is at α/K, at most α together.
        alpha: α, the level of a single look.

    Returns:
        α for the first look, α/(k(k+1)) for later ones (Bonferroni); more looks than planned count as unplanned.
    """
    if planned is not None and number <= planned:
        return alpha / planned
    return alpha if number == 1 else alpha / (number * (number + 1))


def six(value: float) -> float:
    """Six significant digits: the last bits of the beta function differ between machines."""
    return float(f"{value:.6g}")


def _leaves(outside: Callable[[float], float], most: float) -> float:
    """Where an increasing function of q, negative at 0, becomes positive; ``most`` if it does not before."""
    low, high = 0.0, most
    f_low, f_high = outside(low), outside(high)
    if f_high < 0 or f_low >= 0:
        return most if f_high < 0 else low
    last = 0
    for _ in range(100):
        if high - low < 1e-9:
            break
        # Illinois: a secant that may not stand still at one end.
        q = (low * f_high - high * f_low) / (f_high - f_low) if f_high > f_low else (low + high) / 2
        if not low < q < high:
            q = (low + high) / 2
        f = outside(q)
        if f < 0:
            low, f_low = q, f
            f_high = f_high / 2 if last == -1 else f_high
            last = -1
        elif f > 0:
            high, f_high = q, f
            f_low = f_low / 2 if last == 1 else f_low
            last = 1
        else:
            return q
    return (low + high) / 2
