"""Grades of a judge against people's grades (docs/metrics.md, "Grades"): pure functions of arrays.

h is a person's grade and g the judge's, each as a share of its own scale's maximum, so both are in [0, 1]. An invalid
or missing judgment is NaN in the arrays; where every requested judgment counts, it costs the most that it can.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Grades:
    """P graded proofs with R judgments each."""

    judge: Floats
    """g, shape (P, R); NaN where invalid or missing."""
    human: Floats
    """h, shape (P,); NaN where people gave no grade."""
    max_grade: NDArray[np.int64]
    """M, the human scale's maximum in points, shape (P,); 0 where people gave no grade."""
    problem: NDArray[np.int32]
    """Problem of each proof, shape (P,), in 0..C-1."""

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which judgments are valid, shape (P, R)."""
        return ~np.isnan(self.judge)

    @property
    def error(self) -> Floats:
        """abs(g - h) of each judgment, shape (P, R); of an invalid one the most it can be, max(h, 1 - h)."""
        most = np.maximum(self.human, 1 - self.human)[:, None]
        found: Floats = np.where(self.valid, np.abs(self.judge - self.human[:, None]), most)
        return found

    @property
    def mean_grade(self) -> Floats:
        """a, the mean of a proof's valid g, shape (P,); NaN without one."""
        count = self.valid.sum(axis=1)
        total = np.where(self.valid, self.judge, 0.0).sum(axis=1)
        found: Floats = np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
        return found

    @property
    def points(self) -> int | None:
        """M, if it is the same for all proofs."""
        scales = np.unique(self.max_grade[self.by_people])
        return int(scales[0]) if len(scales) == 1 else None

    @property
    def by_people(self) -> NDArray[np.bool_]:
        """Whether people graded the proof, shape (P,)."""
        found: NDArray[np.bool_] = ~np.isnan(self.human)
        return found

    @property
    def earned(self) -> Floats:
        """G of each judgment, 0 for an invalid one, shape (P, R)."""
        found: Floats = np.where(self.valid, self.judge, 0.0)
        return found

    @property
    def signed_error(self) -> Floats:
        """G - h of each judgment, shape (P, R); 0 for an invalid one."""
        found: Floats = np.where(self.valid, self.judge - self.human[:, None], 0.0)
        return found

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which judgments are people's grade, shape (P, R)."""
        # Grades are few and apart: what is closer than a billionth is the same.
        return self.valid & (self.error < 1e-9)

    @property
    def within_a_point(self) -> NDArray[np.bool_]:
        """Which judgments are at most a point from people's grade, shape (P, R)."""
        return self.valid & (self.error * self.max_grade[:, None] <= 1 + 1e-9)

    @property
    def correlated(self) -> tuple[Floats, Floats]:
        """A and h of the proofs that people graded and that have a valid judgment."""
        there = ~np.isnan(self.mean_grade) & self.by_people
        return self.mean_grade[there], self.human[there]

    def at_first_proofs(self, sums: NDArray[np.generic]) -> Floats:
        """Values of problems, shape (C,), put at the first proof of each, shape (P,)."""
        found = np.zeros(len(self.problem))
        problems, first = np.unique(self.problem, return_index=True)
        found[first] = sums.astype(np.float64)[problems]
        return found

    def select(self, rows: NDArray[np.bool_] | NDArray[np.intp], problem: NDArray[np.int32]) -> "Grades":
        """The chosen proofs, whose problems are numbered anew."""
        return Grades(self.judge[rows], self.human[rows], self.max_grade[rows], problem)


def correlation(name: str, a: Floats, h: Floats) -> float | None:
    """Pearson's r, Spearman's rho (average ranks) or Kendall's tau-b of two columns, in [-1, 1].

    Args:
        name: ``pearson``, ``spearman`` or ``kendall_b``.
        a: One column, shape (P,).
        h: The other.

    Returns:
        None below two proofs, or where a column is constant.
    """
    if len(a) < 2 or np.ptp(a) < 1e-12 or np.ptp(h) < 1e-12:
        return None
    from scipy import stats  # slow to load, and only graded runs need it

    measures: dict[str, Callable[[Floats, Floats], object]] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall_b": stats.kendalltau,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nearly constant columns; the value is what is wanted
        found = float(measures[name](_told_apart(a), _told_apart(h)).statistic)  # type: ignore[attr-defined]
    return found if math.isfinite(found) else None


def quadratic_kappa(a: Floats, h: Floats) -> float | None:
    """Cohen's kappa with quadratic weights, on values rather than categories: 1 is agreement, 0 chance.

    Returns:
        1 - n Σ(a-h)² / ΣᵢΣⱼ(aᵢ-hⱼ)²; None below two proofs or where the double sum is 0.
    """
    n = len(a)
    if n < 2:
        return None
    # ΣᵢΣⱼ(aᵢ-hⱼ)² without the double loop.
    total = n * math.fsum(a**2) + n * math.fsum(h**2) - 2 * math.fsum(a) * math.fsum(h)
    return 1 - n * math.fsum((a - h) ** 2) / total if total > 1e-12 * n * n else None


def pair_counts(grades: Grades) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of proofs of one problem that people graded differently, by problem.

    Returns:
        How many the judge puts in the same order, how many it ties, and how many there are, each of shape (C,). A pair
        in which a proof has no valid judgment is neither in order nor tied.
    """
    problems = int(grades.problem.max(initial=-1)) + 1
    counts = np.zeros((3, problems), dtype=np.int64)
    a = grades.mean_grade
    for problem, rows in _by_problem(grades):
        high, low = np.nonzero(np.subtract.outer(grades.human[rows], grades.human[rows]) > 1e-9)
        difference = a[rows][high] - a[rows][low]
        in_order, tied = difference > 1e-9, np.abs(difference) <= 1e-9
        counts[:, problem] = np.count_nonzero(in_order), np.count_nonzero(tied), len(high)
    return counts[0], counts[1], counts[2]


def selections(grades: Grades) -> tuple[Floats, Floats, Floats, Floats]:
    """What people gave the proof that the judge likes best, one at random, and the best, by problem.

    Only problems with at least two graded proofs count. Ties are averaged; without any valid judgment any proof may be
    the choice.

    Returns:
        Three columns of h and one that is 1 where the problem counts, else 0, each of shape (C,).
    """
    problems = int(grades.problem.max(initial=-1)) + 1
    found = np.zeros((4, problems))
    a = grades.mean_grade
    for problem, rows in _by_problem(grades):
        if len(rows) > 1:
            h = grades.human[rows]
            found[:, problem] = h[_best(a[rows])].mean(), h.mean(), h.max(), 1
    return found[0], found[1], found[2], found[3]


def _best(given: Floats) -> NDArray[np.bool_]:
    if np.isnan(given).all():
        return np.ones(len(given), dtype=np.bool_)
    found: NDArray[np.bool_] = given >= np.nanmax(given) - 1e-9
    return found


def _by_problem(grades: Grades) -> list[tuple[int, NDArray[np.intp]]]:
    """The proofs of each problem that people graded."""
    order = np.argsort(grades.problem, kind="stable")
    order = order[grades.by_people[order]]
    kept, starts = np.unique(grades.problem[order], return_index=True)
    return [(int(problem), rows) for problem, rows in zip(kept, np.split(order, starts[1:]), strict=True)]


def _told_apart(column: Floats) -> Floats:
    """Values that differ in their last bits alone are the same: means of the same grades in another order."""
    rounded: Floats = np.round(column, 12)
    return rounded
