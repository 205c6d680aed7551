"""The one method behind every interval, p-value and plan (docs/metrics.md, "Intervals").

A rate is a sum over problems of credit earned, divided by a sum of what could be earned. Problems are independent of
each other; the proofs and judgments of one problem are not. :func:`summarise` turns the problems' sums into an
*effective number* of independent yes-or-no observations, :func:`interval` and :func:`p_value` treat each rate as a share
of that many (mid-P), and combine several rates through the correlation of their problems. An interval and a p-value are
two readings of one curve, so they never contradict each other.

Pure numpy; ``scipy.special`` is loaded when it is first needed. Nothing is random.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Function = Callable[..., Any]
"""g of K rates: takes them as K arguments, or as one vector of shape (K,)."""
Interval = dict[str, Any]

LEVEL = 0.95
METHOD = "mid-P over problems"
"""What ``method`` says beside an interval of new problems of this kind."""

_HARDEST = 8.0
"""The largest quantile that a p-value is searched for; of what lies beyond, p is below 1e-14 (normal)."""
_ROUNDS = 8
_STEPS = 60
_DF_MOST = 1e9
_NOTHING = 1e-9
"""Shares of n below this are 0: what is left over when equal floats are subtracted."""
_SHARE_OF_VARIANCE = 0.05
"""Rates that make less of a function's variance do not count as its evidence."""


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """K rates over C problems, as far as intervals and p-values need them."""

    share: Floats
    """p, the observed rates, shape (K,)."""
    effective_n: Floats
    """How many independent yes-or-no observations each is worth, shape (K,)."""
    evidence: Floats
    """m, the number of problems that carry the rarer outcome, shape (K,)."""
    df: Floats
    """Degrees of freedom of the design effect, shape (K,), in [1, 1e9]."""
    influence: Floats
    """What each problem moves each rate by, shape (C, K); 0 where it does not count."""
    variance: Floats
    """Estimated variance of each rate, shape (K,)."""
    counted: NDArray[np.int64]
    """Problems that count for each rate, shape (K,)."""
    problems: tuple[str, ...] | None = None
    """Names of the C problems, by which summaries are joined; None: by position."""

    @property
    def correlation(self) -> Floats:
        """R of the K rates, shape (K, K), shrunk towards 0 where little evidence stands behind it."""
        products = self.influence.T @ self.influence
        size = np.sqrt(np.diag(products))
        scale = np.outer(size, size)
        plain = np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)
        weakest = np.minimum.outer(self.evidence, self.evidence)
        found: Floats = plain * weakest / (weakest + 1.5)
        np.fill_diagonal(found, 1.0)
        return found

    def only(self, columns: Sequence[int]) -> "Summary":
        """Some of the rates, in this order; a rate may be taken twice."""
        k = list(columns)
        return Summary(
            self.share[k],
            self.effective_n[k],
            self.evidence[k],
            self.df[k],
            self.influence[:, k],
            self.variance[k],
            self.counted[k],
            self.problems,
        )


def summarise(
    earned: ArrayLike,
    possible: ArrayLike,
    items: ArrayLike | None = None,
    problems: Sequence[str] | None = None,
) -> Summary:
    """Effective numbers of K rates over C problems.

    Args:
        earned: Credit of each problem, shape (C, K), or (C,) for one rate; between 0 and ``possible``.
        possible: What each problem could earn, the same shape, in single observations.
        items: Number of single observations of each rate, shape (K,), where ``possible`` is in other units.
        problems: The problems' names, unique; needed to join with a summary over other problems.

    Returns:
        The summary. A rate for which nothing could be earned says nothing: share ½, effective n 0.001.

    Raises:
        ValueError: If the shapes do not fit.
    """
    e, d = (np.asarray(values, dtype=np.float64) for values in (earned, possible))
    e, d = (values[:, None] if values.ndim == 1 else values for values in (e, d))
    if e.shape != d.shape or e.ndim != 2:
        raise ValueError(f"earned and possible must have one shape (C, K), got {e.shape} and {d.shape}")
    if problems is not None and len(problems) != len(e):
        raise ValueError(f"{len(problems)} names of {len(e)} problems")
    total = d.sum(axis=0)
    n_items = total if items is None else np.broadcast_to(np.asarray(items, dtype=np.float64), total.shape)
    there = total > 0
    safe = np.where(there, total, 1.0)
    p = np.where(there, e.sum(axis=0) / safe, 0.5)
    p = np.where(p < _NOTHING, 0.0, np.where(p > 1 - _NOTHING, 1.0, p))
    u = np.where(d > 0, e - p * d, 0.0) / safe
    u[:, (p == 0) | (p == 1)] = 0.0
    u[np.abs(u) < _NOTHING**2 + 1e-15 * np.abs(u).max(axis=0, initial=0.0)] = 0.0
    counted = np.count_nonzero(d > 0, axis=0)
    variance = np.where(counted > 1, counted / np.maximum(counted - 1, 1), 0.0) * (u * u).sum(axis=0)

    d_max = n_items * (d * d).sum(axis=0) / safe**2
    spread = p * (1 - p)
    inner = (spread > 0) & there
    d_hat = np.where(inner, variance * n_items / np.where(inner, spread, 1.0), d_max)
    evidence = np.minimum(_kish(e, d), _kish(d - e, d))
    w = evidence / (evidence + 2)
    d_max = np.where(there, d_max, 1.0)
    blended = np.maximum(d_hat, 0.001) ** w * d_max ** (1 - w)
    design = np.maximum(blended, (1 - w) * d_max)
    return Summary(
        share=p,
        effective_n=np.where(there, n_items / design, 0.001),
        evidence=np.where(there, evidence, 0.0),
        df=_degrees(u, counted, w),
        influence=u,
        variance=variance,
        counted=counted,
        problems=None if problems is None else tuple(problems),
    )


def again(values: ArrayLike) -> Summary:
    """The rate if the *same* problems were answered again: only the samples are new.

    Args:
        values: The S samples' shares, shape (C, S), each in [0, 1], S at least 2.

    Returns:
        A summary of one rate. Joined summaries of this kind are independent, because new samples are.

    Raises:
        ValueError: If S is below 2: one sample of a problem does not say how far samples differ.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] < 2:
        raise ValueError("new samples of the same problems need at least two samples of each")
    problems, samples = x.shape
    p = float(x.mean()) if x.size else 0.5
    within = x.var(axis=1, ddof=1)
    differing = float(np.count_nonzero(within > 0))
    variance = float(within.sum()) / samples / max(problems, 1) ** 2
    n = problems * samples
    effect = variance * n / (p * (1 - p)) if 0 < p < 1 else 1.0
    design = (differing * effect + 2) / (differing + 2)
    one = np.ones(1)
    return Summary(
        share=p * one,
        effective_n=max(n / design, 0.001) * one,
        evidence=differing * one,
        df=max(10.0, differing * (samples - 1)) * one,
        influence=np.zeros((problems, 1)),
        variance=variance * one,
        counted=np.array([problems]),
    )


def join(*summaries: Summary) -> Summary:
    """Rates of several blocks (runs, a calibration, labels) beside each other, problems lined up by name.

    Args:
        summaries: If none names its problems, they have the same problems in the same order.

    Returns:
        All rates, in the order given; a problem that a block lacks moves nothing there.

    Raises:
        ValueError: If some have names and others have not, or unnamed ones differ in length.
    """
    if not summaries:
        raise ValueError("nothing to join")
    if all(summary.problems is None for summary in summaries):
        if len({len(summary.influence) for summary in summaries}) > 1:
            raise ValueError("summaries of different problems can only be joined by name")
        names, blocks = None, [summary.influence for summary in summaries]
    else:
        names, blocks = _lined_up(summaries)
    fields = ("share", "effective_n", "evidence", "df", "variance", "counted")
    joined = {field: np.concatenate([getattr(summary, field) for summary in summaries]) for field in fields}
    return Summary(influence=np.concatenate(blocks, axis=1), problems=names, **joined)


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

    curve = _Curve(summary, g)
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

    curve = _Curve(summary, g)
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


def six(value: float) -> float:
    """Six significant digits: the last bits of the beta function differ between machines."""
    return float(f"{value:.6g}")


# ---------------------------------------------------------------- the curve of a function


class _Curve:
    """g along the ellipsoids zᵀR⁻¹z = q²."""

    def __init__(self, summary: Summary, g: Function | None) -> None:
        self._summary = summary
        self._rates = len(summary.share)
        self._g = _as_function(g, self._rates)
        self._r = summary.correlation
        self.problems = _problems(summary)
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
        z = np.zeros(self._rates)
        seen: list[float] = []
        for turn in range(_ROUNDS):
            h = self._slopes(z, 0.5 if turn == 0 else 0.25)
            direction = self._r @ h
            size = float(h @ direction)
            if size <= 0:
                break
            target = side * quantile * direction / math.sqrt(size)
            if turn >= 2:
                mixed = (target + z) / 2
                length = float(mixed @ np.linalg.solve(self._r, mixed))
                target = mixed * quantile / math.sqrt(length) if length > 0 else target
            z = target
            seen.append(float(self._values(z[None])[0]))
        finite = np.array([value for value in seen if math.isfinite(value)])
        return _best(finite, side, self.centre)

    def degrees(self) -> tuple[float, Floats]:
        """Degrees of freedom of g, and each rate's share of its variance (K,)."""
        if self._rates == 1:
            return float(self._summary.df[0]), np.ones(1)
        h = self._slopes(np.zeros(self._rates), 0.5)
        parts = h * (self._r @ h)
        parts = np.maximum(parts, 0.0)
        if parts.sum() <= 0:
            return _DF_MOST, np.zeros(self._rates)
        shares: Floats = parts / parts.sum()
        return min(_DF_MOST, float(1 / np.sum(shares**2 / self._summary.df))), shares

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


# ---------------------------------------------------------------- the parts of a summary


def _kish(x: Floats, possible: Floats) -> Floats:
    """(Σx)²/Σx²: how many equal parts a sum is worth; 0 if it is 0."""
    clean = np.where(x > 1e-12 * possible.max(axis=0, initial=0.0), x, 0.0)
    squares = (clean * clean).sum(axis=0)
    result: Floats = np.divide(clean.sum(axis=0) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    return result


def _degrees(u: Floats, counted: NDArray[np.int64], w: Floats) -> Floats:
    """Degrees of freedom of the design effect given the rate; yes-or-no data with one observation each have all."""
    squares = (u * u).sum(axis=0)
    moving = squares > 0
    size = np.where(moving, squares, 1.0)
    kurtosis = counted * (u**4).sum(axis=0) / size**2
    skewness = np.sqrt(counted) * (u**3).sum(axis=0) / size**1.5
    excess = np.where(moving, np.maximum(kurtosis - 1 - skewness**2, 0.0), 0.0) * w**2
    return np.clip(np.divide(2 * counted, excess, out=np.full(len(w), _DF_MOST), where=excess > 1e-12), 1.0, _DF_MOST)


def _lined_up(summaries: Sequence[Summary]) -> tuple[tuple[str, ...], list[Floats]]:
    places: dict[str, int] = {}
    for summary in summaries:
        if summary.problems is None:
            raise ValueError("summaries can only be joined if all name their problems, or none")
        for name in summary.problems:
            places.setdefault(name, len(places))
    blocks = []
    for summary in summaries:
        rows = [places[name] for name in summary.problems or ()]
        block = np.zeros((len(places), summary.influence.shape[1]))
        block[rows] = summary.influence
        blocks.append(block)
    return tuple(places), blocks


def _problems(summary: Summary) -> int:
    """Problems that count for at least one of the rates, as far as the counts say."""
    return int(summary.counted.max(initial=0))


def _lower(z: Floats, p: Floats, n: Floats) -> Floats:
    """θ for z up to 0: safeguarded Newton inside the bracket of the two beta quantiles."""
    from scipy.special import betainc, betaincinv, betaln, ndtr

    flat = z.shape
    z, p, n = z.ravel(), p.ravel(), n.ravel()
    x = p * n
    target = ndtr(z)
    found = np.zeros(len(z))
    x = np.where(n - x < _NOTHING * n, n, x)
    full = x == n  # I_t(n+1, 0) is 0
    found[full] = (2 * target[full]) ** (1 / n[full])
    rest = (x >= _NOTHING * n) & ~full
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
