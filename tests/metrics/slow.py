"""The core's formulas once more, in plain loops and by root finding."""

import math

import numpy as np
from scipy import optimize, stats


def slow_theta(z: float, p: float, n: float) -> float:
    if z > 0:
        return 1 - slow_theta(-z, 1 - p, n)
    x = p * n
    if x <= 0:
        return 0.0

    def gap(t: float) -> float:
        strict = stats.beta.cdf(t, x + 1, n - x) if x < n else 0.0
        return float((stats.beta.cdf(t, x, n - x + 1) + strict) / 2 - stats.norm.cdf(z))

    return float(optimize.brentq(gap, 0, 1, xtol=1e-14))


def slow_summary(earned: np.ndarray, possible: np.ndarray) -> dict[str, float]:
    """One rate, in plain loops."""
    rows = [(float(e), float(d)) for e, d in zip(earned, possible, strict=True) if d > 0]
    c, total = len(rows), sum(d for _, d in rows)
    p = sum(e for e, _ in rows) / total
    u = [(e - p * d) / total for e, d in rows]
    v = c / (c - 1) * sum(x * x for x in u)
    d_max = total * sum(d * d for _, d in rows) / total**2
    d_hat = v * total / (p * (1 - p)) if 0 < p < 1 else d_max

    def kish(xs: list[float]) -> float:
        return sum(xs) ** 2 / sum(x * x for x in xs) if any(xs) else 0.0

    m = min(kish([e for e, _ in rows]), kish([d - e for e, d in rows]))
    w = m / (m + 2)
    design = max(max(d_hat, 0.001) ** w * d_max ** (1 - w), (1 - w) * d_max)
    square = sum(x**2 for x in u)
    excess = 0.0
    if square > 1e-20:
        kurtosis = c * sum(x**4 for x in u) / square**2
        skewness = math.sqrt(c) * sum(x**3 for x in u) / square**1.5
        excess = max(kurtosis - 1 - skewness**2, 0)
    df = min(1e9, max(1.0, 2 * c / (excess * w * w))) if excess * w * w > 1e-9 else 1e9
    return {"p": p, "n": total / design, "m": m, "df": df}
