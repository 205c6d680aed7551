"""The curve of a rate, and of a function of several rates, that intervals and p-values are read from. Pure.

``scipy.special`` is loaded when it is first needed. Nothing is random.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from proverbench.metrics.summaries import DF_MOST, NEGLIGIBLE, Floats, Summary

Function = Callable[..., Any]
"""g of K rates: takes them as K arguments, or as one vector of shape (K,)."""

_ROUNDS = 8
"""Steps towards an extreme of g."""
_MOST_FLAT = 4
"""Rates that g does not seem to depend on where it is observed; with more of them none is tried."""
_STEPS = 60
"""Newton steps at the most; five or so are needed."""


def theta(z: ArrayLike, p: ArrayLike, n: ArrayLike) -> Floats:
    """Curve of a rate: the share at which a rate of ``p`` seen in ``n`` observations lies z standard deviations off.

    Args:
        z: Normal deviates, broadcast with the others.
        p: Observed shares, in [0, 1].
        n: Effective numbers of observations, above 0.

    Returns:
        The t in [0, 1] that solves ½[I_t(x, n-x+1) + I_t(x+1, n-x)] = Φ(z), x = p·n; increasing in z.
    """
    zs, ps, ns = (np.array(part, dtype=np.float64) for part in np.broadcast_arrays(z, p, n))
    upper = zs > 0  # by symmetry, or Φ would lose its tail
    shares = np.where(upper, 1 - ps, ps)
    solved = _lower(-np.abs(zs), shares, ns)
    result: Floats = np.where(upper, 1 - solved, solved)
    return result


class Curve:
    """g along the ellipsoids zᵀR⁻¹z = q²."""

    def __init__(self, summary: Summary, g: Function | None) -> None:
        self._summary = summary
        self._rates = len(summary.share)
        self._g = _as_function(g, self._rates)
        self._r = summary.correlation
        self.problems = int(np.count_nonzero(summary.present.any(axis=1)))
        self.centre = float(self._values(np.zeros((1, self._rates)))[0])

    def _values(self, z: Floats) -> Floats:
        """G at points z of shape (B, K); NaN where it is undefined."""
        rates = theta(z, self._summary.share, self._summary.effective_n)
        return np.array([self._g(row) for row in rates])

    def _slopes(self, z: Floats, step: float) -> Floats:
        """∂g/∂z at one point, central differences, shape (K,)."""
        offsets = step * np.eye(self._rates)
        values = self._values(np.concatenate([z + offsets, z - offsets]))
        slopes = (values[: self._rates] - values[self._rates :]) / (2 * step)
        found: Floats = np.where(np.isfinite(slopes), slopes, 0.0)
        return found

    def end(self, quantile: float, side: int) -> float:
        """The least (side -1) or largest (+1) value of g on the ellipsoid."""
        if quantile <= 0:
            return self.centre
        if self._rates == 1:
            values = self._values(quantile * np.array([[-1.0], [1.0]]))
            return _best(values[np.isfinite(values)], side, self.centre)
        found = [value for start in self._starts() for value in self._climb(start, quantile, side)]
        return _best(np.array([value for value in found if math.isfinite(value)]), side, self.centre)

    def _starts(self) -> list[Floats]:
        """Slopes to begin with: those at the observed rates, and where some are flat others in their place.

        A harmonic mean of two rates at 0 rises only where both do: no slope shows that.
        """
        h = self._slopes(np.zeros(self._rates), 0.5)
        flat = np.flatnonzero(h == 0)
        steep = float(np.abs(h).max()) or 1.0
        starts = [h] if len(flat) < self._rates else []
        for signs in itertools.product((1.0, -1.0), repeat=len(flat)) if 0 < len(flat) <= _MOST_FLAT else ():
            tried = h.copy()
            tried[flat] = steep * np.array(signs)
            starts.append(tried)
        return starts

    def _climb(self, start: Floats, quantile: float, side: int) -> Iterator[float]:
        """Values of g on the ellipsoid, on the way to its extreme."""
        z = np.zeros(self._rates)
        for turn in range(_ROUNDS):
            h = start if turn == 0 else self._slopes(z, 0.25)
            direction = self._r @ h
            size = float(h @ direction)
            if size <= 0:
                return
            target = side * quantile * direction / math.sqrt(size)
            if turn >= 2:
                mixed = (target + z) / 2
                length = float(mixed @ np.linalg.solve(self._r, mixed))
                target = mixed * quantile / math.sqrt(length) if length > 0 else target
            z = target
            yield float(self._values(z[None])[0])

    def degrees(self) -> tuple[float, Floats]:
        """Degrees of freedom of g, and each rate's share of its variance (K,)."""
        if self._rates == 1:
            return float(self._summary.df[0]), np.ones(1)
        h = self._slopes(np.zeros(self._rates), 0.5)
        parts = h * (self._r @ h)
        parts = np.maximum(parts, 0.0)
        if parts.sum() <= 0:
            return DF_MOST, np.zeros(self._rates)
        shares: Floats = parts / parts.sum()
        return min(DF_MOST, float(1 / np.sum(shares**2 / self._summary.df))), shares

    def standard_error(self) -> float:
        """√V of g, linearised at the observed rates."""
        summary = self._summary
        step = 1e-6
        slopes = np.zeros(self._rates)
        for k in range(self._rates):
            ends = []
            for sign in (-1, 1):
                moved = summary.share.copy()
                moved[k] = min(1.0, max(0.0, moved[k] + sign * step))
                ends.append((moved[k], self._g(moved)))
            (a, low), (b, high) = ends
            slope = (high - low) / (b - a)
            slopes[k] = slope if math.isfinite(slope) else 0.0
        products = summary.influence.T @ summary.influence
        inflate = np.sqrt(summary.counted / np.maximum(summary.counted - 1, 1))
        covariance = products * np.outer(inflate, inflate)
        np.fill_diagonal(covariance, summary.variance)
        return math.sqrt(max(0.0, float(slopes @ covariance @ slopes)))


def _as_function(g: Function | None, rates: int) -> Callable[[Floats], float]:
    """G as a function of one vector that gives a float, NaN where it is undefined."""
    if g is None:
        if rates != 1:
            raise ValueError(f"a function of the {rates} rates is needed")
        return lambda row: float(row[0])
    spread = rates > 1 and _arguments(g) != 1

    def call(row: Floats) -> float:
        try:
            with np.errstate(all="ignore"):
                value = g(*map(float, row)) if spread else g(row)
                return float(np.asarray(value, dtype=np.float64).reshape(-1)[0])
        except ZeroDivisionError:
            return math.nan

    return call


def _arguments(g: Function) -> int | None:
    """How many positional arguments g takes; None if any number, or it does not say."""
    try:
        parameters = inspect.signature(g).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def _best(values: Floats, side: int, otherwise: float) -> float:
    if not len(values):
        return otherwise
    return float(values.max() if side > 0 else values.min())


def _lower(z: Floats, p: Floats, n: Floats) -> Floats:
    """θ for z up to 0: safeguarded Newton inside the bracket of the two beta quantiles."""
    from scipy.special import betainc, betaincinv, betaln, ndtr

    flat = z.shape
    z, p, n = z.ravel(), p.ravel(), n.ravel()
    x = p * n
    target = ndtr(z)
    found = np.zeros(len(z))
    x = np.where(n - x < NEGLIGIBLE * n, n, x)
    full = x == n  # I_t(n+1, 0) is 0
    found[full] = (2 * target[full]) ** (1 / n[full])
    rest = (x >= NEGLIGIBLE * n) & ~full
    if not rest.any():
        return found.reshape(flat)
    x, n, target = x[rest], n[rest], target[rest]
    low, high = betaincinv(x, n - x + 1, target), betaincinv(x + 1, n - x, target)
    # log of t^x (1-t)^(n-x) over B(x, n-x+1) and over B(x+1, n-x), which differ by factors alone
    scale, ratio = -betaln(x, n - x + 1), (n - x) / x
    t = (low + high) / 2
    for _ in range(_STEPS):
        gap = (betainc(x, n - x + 1, t) + betainc(x + 1, n - x, t)) / 2 - target
        below = gap < 0
        low, high = np.where(below, t, low), np.where(below, high, t)
        with np.errstate(all="ignore"):  # at 0 and 1, where the bracket decides
            density = np.exp((x - 1) * np.log(t) + (n - x - 1) * np.log1p(-t) + scale) * ((1 - t) + t * ratio) / 2
            new = t - gap / density
        new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
        moved = np.abs(new - t).max(initial=0.0)
        t = new
        if moved < 1e-13:
            break
    found[rest] = t
    return found.reshape(flat)
