"""Disagreement by chance, and how far each problem moves it (docs/metrics.md, "Agreement"). Pure.

Chance disagreement is a smooth function of the shares of the values that judges give. Its influence is the linear
one; a second-order term keeps its variance above 0 where the linear part vanishes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.rates import sums_by_problem
from proverbench.metrics.summaries import Floats, Summary, linearised, summarise


@dataclass(frozen=True)
class Chance:
    """Disagreement by chance d_e as a function of judges' value shares."""

    value: float
    """d_e, in [0, 1]."""
    credits: tuple[Floats, ...]
    """Of each judge (or of all together) what a proof gives each value, shape (p, V)."""
    size: Floats
    """What a proof gives in all, shape (p,)."""
    slopes: tuple[Floats, ...]
    """∂d_e / ∂share, for each judge shape (V,)."""

    def summary(self, problem: NDArray[np.int32], problems: int) -> Summary:
        """As one rate over problems.

        Args:
            problem: Problem of each proof, shape (p,), in 0..problems-1.
            problems: C.
        """
        possible = sums_by_problem(self.size, problem, problems)
        influence = np.zeros(problems)
        evidence, variances = [], []
        for credit, slope in zip(self.credits, self.slopes, strict=True):
            earned = sums_by_problem(credit, problem, problems)
            shares = summarise(earned, np.repeat(possible, earned.shape[1], axis=1))
            influence += shares.influence @ slope
            variances.append(float(shares.variance.sum()) / 2)  # of two values: that of either
            evidence.append(float(shares.evidence[int(np.argmax(shares.share))]))
        second = 2 * variances[0] * variances[-1]
        present = possible[:, 0] > 0
        return linearised(self.value, influence, evidence=min(evidence), present=present, second_order=second)


def cohen_chance(first: Floats, second: Floats, weights: Floats) -> Chance:
    """Two judges with shares of their own: 1 - Σ_uv w_uv a_u b_v.

    Args:
        first: One judge's value shares of each proof, shape (p, V).
        second: The other's.
        weights: 1 where two values agree, shape (V, V).
    """
    a, b = _mean(first), _mean(second)
    slopes = (-(weights @ b), -(a @ weights))
    return Chance(max(0.0, 1 - float(a @ weights @ b)), (first, second), np.ones(len(first)), slopes)


def pooled_chance(credits: Floats, size: Floats, weights: Floats, *, pairable: float | None = None) -> Chance:
    """Exchangeable judges: 1 - Σ_uv w_uv π_u π_v with pooled shares π.

    Args:
        credits: What each proof gives each value, shape (p, V).
        size: What it gives in all, shape (p,).
        weights: 1 where two values agree, shape (V, V).
        pairable: n, the number of judgments, if a judgment is not paired with itself (Krippendorff).
    """
    total = float(size.sum())
    shares = credits.sum(axis=0) / total if total > 0 else np.zeros(credits.shape[1])
    apart = 1.0 if pairable is None else pairable / max(pairable - 1, 1)
    value = max(0.0, 1 - float(shares @ weights @ shares)) * apart
    return Chance(min(1.0, value), (credits,), size, (-2 * apart * (weights @ shares),))


def gwet_chance(shares: Floats, values: int) -> Chance:
    """Gwet's AC1: 1 - Σ_k π_k (1 - π_k) / (V - 1).

    Args:
        shares: Value shares of each proof, the mean of all judges, shape (p, columns).
        values: V, fixed beforehand.
    """
    pi = _mean(shares)
    agree = float((pi * (1 - pi)).sum()) / (values - 1)
    return Chance(1 - agree, (shares,), np.ones(len(shares)), (-(1 - 2 * pi) / (values - 1),))


def _mean(shares: Floats) -> Floats:
    result: Floats = shares.mean(axis=0) if len(shares) else np.zeros(shares.shape[1])
    return result
