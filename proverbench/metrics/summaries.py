"""Rates over problems, as far as intervals and p-values need them (docs/metrics.md, "Intervals"). Pure numpy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

DF_MOST = 1e9
"""So many degrees of freedom are as good as all: the normal distribution."""
NEGLIGIBLE = 1e-9
"""Shares below this are 0: what is left over when equal floats are subtracted."""


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
    present: NDArray[np.bool_]
    """Which problems count for each rate, shape (C, K)."""
    problems: tuple[str, ...] | None = None
    """Names of the C problems, by which summaries are joined; None: by position."""

    @property
    def counted(self) -> NDArray[np.int64]:
        """Problems that count for each rate, shape (K,)."""
        counts: NDArray[np.int64] = np.sum(self.present, axis=0, dtype=np.int64)
        return counts

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
            self.present[:, k],
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
    p = np.where(p < NEGLIGIBLE, 0.0, np.where(p > 1 - NEGLIGIBLE, 1.0, p))
    u = np.where(d > 0, e - p * d, 0.0) / safe
    u[:, (p == 0) | (p == 1)] = 0.0
    u[np.abs(u) < NEGLIGIBLE**2 + 1e-15 * np.abs(u).max(axis=0, initial=0.0)] = 0.0
    present = d > 0
    counted = np.count_nonzero(present, axis=0)
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
        present=present,
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
        present=np.ones((problems, 1), dtype=np.bool_),
    )


def linearised(
    value: float,
    influence: Floats,
    *,
    evidence: float,
    present: NDArray[np.bool_],
    problems: Sequence[str] | None = None,
    second_order: float = 0.0,
) -> Summary:
    """A statistic that is no rate, such as chance disagreement, from what each problem moves it by.

    Args:
        value: The statistic, in [0, 1].
        influence: Shape (C,).
        evidence: m of the rates that it is made of, the least.
        present: Which problems count, shape (C,).
        problems: Their names.
        second_order: Variance that the linear part does not see.

    Returns:
        A summary of one rate: as many observations as have its variance, C-1 degrees of freedom.
    """
    count = int(np.count_nonzero(present))
    variance = count / max(count - 1, 1) * float((influence * influence).sum()) + second_order
    spread = value * (1 - value)
    one = np.ones(1)
    return Summary(
        share=value * one,
        effective_n=(max(spread / variance, 0.001) if variance * DF_MOST > spread > 0 else DF_MOST) * one,
        evidence=evidence * one,
        df=max(count - 1.0, 1.0) * one,
        influence=influence[:, None],
        variance=variance * one,
        present=present[:, None],
        problems=None if problems is None else tuple(problems),
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
        names, rows = None, [np.arange(len(summary.influence)) for summary in summaries]
    else:
        names, rows = _lined_up(summaries)
    height = len(summaries[0].influence) if names is None else len(names)
    influence, present = [], []
    for summary, places in zip(summaries, rows, strict=True):
        influence.append(np.zeros((height, len(summary.share))))
        present.append(np.zeros((height, len(summary.share)), dtype=np.bool_))
        influence[-1][places], present[-1][places] = summary.influence, summary.present
    fields = ("share", "effective_n", "evidence", "df", "variance")
    joined = {field: np.concatenate([getattr(summary, field) for summary in summaries]) for field in fields}
    return Summary(
        influence=np.concatenate(influence, axis=1), present=np.concatenate(present, axis=1), problems=names, **joined
    )


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
    free = np.divide(2 * counted, excess, out=np.full(len(w), DF_MOST), where=excess > 1e-12)
    found: Floats = np.clip(free, 1.0, DF_MOST)
    return found


def _lined_up(summaries: Sequence[Summary]) -> tuple[tuple[str, ...], list[NDArray[np.intp]]]:
    """All problems, and where each summary's are among them."""
    places: dict[str, int] = {}
    for summary in summaries:
        if summary.problems is None:
            raise ValueError("summaries can only be joined if all name their problems, or none")
        for name in summary.problems:
            places.setdefault(name, len(places))
    rows = [np.array([places[name] for name in summary.problems or ()], dtype=np.intp) for summary in summaries]
    return tuple(places), rows
