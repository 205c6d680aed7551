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
    """h, shape (P,)."""
    max_grade: NDArray[np.int64]
    """M, the human scale's maximum in points, shape (P,)."""
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
        scales = np.unique(self.max_grade)
        return int(scales[0]) if len(scales) == 1 else None

    def select(self, mask: NDArray[np.bool_]) -> "Grades":
        """The chosen proofs."""
        return Grades(self.judge[mask], self.human[mask], self.max_grade[mask], self.problem[mask])


def grade_scores(grades: Grades) -> dict[str, float | int | None]:
    """Every measure of how a judge's grades agree with people's.

    Args:
        grades: The graded proofs of one split.

    Returns:
        By name: ``mae``, ``rmse``, ``grade_exact``, ``within_1`` over all requested judgments and ``mae_points`` (in
        points; None where the scale varies); ``mae_valid``, ``rmse_valid``, ``bias_valid`` over valid ones;
        ``pearson``, ``spearman``, ``kendall_b``, ``qwk`` over the ``correlated_proofs`` that have a valid judgment;
        ``pairwise_accuracy`` and ``pairwise_ties`` over ``grade_pairs``; ``selected_grade``, ``random_grade``,
        ``oracle_grade`` and ``selection_gain`` over problems with at least two proofs. What is undefined is None.

    Source: shares and errors as the field reports them (docs/metrics.md names who does); Cohen (1968), Psychological
    Bulletin 70(4) for qwk; Kendall (1945), Biometrika 33(3) for tau-b.
    """
    return {**_errors(grades), **_correlations(grades), **_pairs(grades), **_selection(grades)}


def _errors(grades: Grades) -> dict[str, float | int | None]:
    error, valid = grades.error, grades.valid
    points = error * grades.max_grade[:, None]
    signed = (grades.judge - grades.human[:, None])[valid]
    mae = _mean(error)
    return {
        "mae": mae,
        "rmse": _root(_mean(error**2)),
        "mae_points": None if mae is None or grades.points is None else mae * grades.points,
        "mae_valid": _mean(np.abs(signed)),
        "rmse_valid": _root(_mean(signed**2)),
        "bias_valid": _mean(signed),
        # Grades are few and apart: what is closer than a billionth is the same.
        "grade_exact": _mean(valid & (error < 1e-9)),
        "within_1": _mean(valid & (points <= 1 + 1e-9)),
    }


def _correlations(grades: Grades) -> dict[str, float | int | None]:
    a, h = grades.mean_grade, grades.human
    there = ~np.isnan(a)
    a, h = a[there], h[there]
    names = ("pearson", "spearman", "kendall_b")
    return {
        "correlated_proofs": len(a),
        **dict(zip(names, (correlation(name, a, h) for name in names), strict=True)),
        "qwk": quadratic_kappa(a, h),
    }


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


def _pairs(grades: Grades) -> dict[str, float | int | None]:
    earned, ties, pairs = (int(column.sum()) for column in pair_counts(grades))
    return {
        "grade_pairs": pairs,
        "pairwise_accuracy": earned / pairs if pairs else None,
        "pairwise_ties": ties / pairs if pairs else None,
    }


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
        counts[:, problem] = (
            np.count_nonzero(difference > 1e-9),
            np.count_nonzero(np.abs(difference) <= 1e-9),
            len(high),
        )
    return counts[0], counts[1], counts[2]


def _selection(grades: Grades) -> dict[str, float | int | None]:
    selected, random, oracle = (_mean(column) for column in selections(grades))
    gain = None
    if selected is not None and random is not None and oracle is not None and oracle - random > 1e-12:
        gain = (selected - random) / (oracle - random)
    return {
        "selected_grade": selected,
        "random_grade": random,
        "oracle_grade": oracle,
        "selection_gain": gain,
    }


def selections(grades: Grades) -> tuple[Floats, Floats, Floats]:
    """What people gave the proof that the judge likes best, one at random, and the best, by problem.

    Only problems with at least two proofs. Ties are averaged; without any valid judgment any proof may be the choice.

    Returns:
        Three columns of h, one entry a problem.
    """
    a = grades.mean_grade
    rows = [(a[chosen], grades.human[chosen]) for _, chosen in _by_problem(grades) if len(chosen) > 1]
    selected = [float(h[_best(given)].mean()) for given, h in rows]
    return (
        np.array(selected),
        np.array([float(h.mean()) for _, h in rows]),
        np.array([float(h.max()) for _, h in rows]),
    )


def _best(given: Floats) -> NDArray[np.bool_]:
    if np.isnan(given).all():
        return np.ones(len(given), dtype=np.bool_)
    found: NDArray[np.bool_] = given >= np.nanmax(given) - 1e-9
    return found


def _by_problem(grades: Grades) -> list[tuple[int, NDArray[np.intp]]]:
    order = np.argsort(grades.problem, kind="stable")
    kept, starts = np.unique(grades.problem[order], return_index=True)
    return [(int(problem), rows) for problem, rows in zip(kept, np.split(order, starts[1:]), strict=True)]


def _told_apart(column: Floats) -> Floats:
    """Values that differ in their last bits alone are the same: means of the same grades in another order."""
    rounded: Floats = np.round(column, 12)
    return rounded


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> float | None:
    return math.fsum(values.ravel().tolist()) / values.size if values.size else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)
