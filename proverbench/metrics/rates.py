"""Metrics as ratios of sums over problems: the one form that all intervals and tests are computed from.

Every metric of this package is a *rate*, a sum over problems of credits divided by a sum over problems of what could be
earned, or a monotone function of several rates. So inference needs only the problems' sums.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.benchmark import benchmark_of
from proverbench.metrics.arrays import META_UNITS, JudgmentArrays
from proverbench.metrics.metric import Metric, itself
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.summaries import Floats, Summary, summarise
from proverbench.metrics.verifierbench import QUARTERS


@dataclass(frozen=True, slots=True)
class Function:
    """A metric as a function of rates."""

    rates: tuple[str, ...]
    """Names of the rates, in the order that ``g`` takes them."""
    g: Callable[..., Any] = itself
    """Of floats, fractions or arrays (:attr:`proverbench.metrics.metric.Metric.g`)."""
    limits: tuple[float, float] | None = None
    """Smallest and largest possible value, to which intervals are cut."""


def each_itself(names: Iterable[str]) -> dict[str, Function]:
    """Rates that are metrics themselves."""
    return {name: Function((name,)) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class RateTable:
    """The sums of C problems for K rates."""

    names: tuple[str, ...]
    """Names of the K rates."""
    earned: Floats
    """Credit of each problem, shape (C, K), in [0, possible]."""
    possible: Floats
    """What each problem could have earned, shape (C, K)."""
    items: Floats
    """Number of single yes-or-no observations behind each rate, shape (K,), for design effects."""
    metrics: Mapping[str, Function]
    """The metrics that are made of these rates, by name."""
    problems: tuple[str, ...] | None = None
    """Names of the C problems, where tables of other problems may be joined."""

    def summary(self) -> Summary:
        """What inference needs of the K rates."""
        return summarise(self.earned, self.possible, self.items, self.problems)

    def columns(self, metric: str) -> list[int]:
        """Columns of the rates that a metric is made of, in the order that its function takes them."""
        return [self.names.index(name) for name in self.metrics[metric].rates]

    def values(self, earned: Floats, possible: Floats) -> dict[str, Floats]:
        """Every metric for sums of the given shape (..., K); nan where nothing could be earned."""
        undefined = np.full(np.broadcast_shapes(earned.shape, possible.shape), np.nan)
        rates = np.divide(earned, possible, out=undefined, where=possible > 0)
        return {
            name: function.g(*(rates[..., k] for k in self.columns(name))) for name, function in self.metrics.items()
        }

    def point(self) -> dict[str, float]:
        """Every metric on the problems as they are; nan where it is undefined."""
        found = self.values(self.earned.sum(axis=0), self.possible.sum(axis=0))
        return {name: float(value) for name, value in found.items()}

    def exact(self) -> dict[str, float | None]:
        """Every metric on the problems as they are, computed in fractions and rounded once; None where undefined."""
        earned = [Fraction(value) for value in self.earned.sum(axis=0).tolist()]
        possible = [Fraction(value) for value in self.possible.sum(axis=0).tolist()]
        found: dict[str, float | None] = {}
        for name, function in self.metrics.items():
            columns = self.columns(name)
            defined = all(possible[k] for k in columns)
            value = float(function.g(*(earned[k] / possible[k] for k in columns))) if defined else math.nan
            found[name] = None if math.isnan(value) else value
        return found


def sums_by_problem(values: NDArray[np.generic], problem: NDArray[np.int32], problems: int) -> Floats:
    """Add up rows that belong to the same problem.

    Args:
        values: Shape (P,) or (P, K).
        problem: Cluster of each row, shape (P,), in 0..problems-1.
        problems: C.

    Returns:
        Shape (C, K), K being 1 for a vector.
    """
    columns = (values[:, None] if values.ndim == 1 else values).astype(np.float64)
    summed = [np.bincount(problem, weights=columns[:, k], minlength=problems) for k in range(columns.shape[1])]
    return np.stack(summed, axis=1) if summed else np.zeros((problems, 0))


def best_by_problem(values: NDArray[np.generic], problem: NDArray[np.int32], problems: int) -> Floats:
    """The largest of the rows that belong to the same problem, shape (C,); 0 where there is none."""
    best = np.zeros(problems)
    np.maximum.at(best, problem, values.astype(np.float64))
    return best


def table_of(
    columns: Sequence[tuple[str, NDArray[np.generic], NDArray[np.generic]]],
    arrays: JudgmentArrays,
    metrics: Mapping[str, Function] | None = None,
    *,
    items: Sequence[float] | None = None,
) -> RateTable:
    """Make a table from credits of single proofs.

    Args:
        columns: For each rate its name, the credit of each proof (P,), and what the proof could earn (P,); both in
            units of single observations, so that ``possible`` adds up to their number.
        arrays: Where the proofs' problems are taken from.
        metrics: Metrics that are made of the rates, beside the rates themselves.
        items: Numbers of single observations, where credits are weighted.
    """
    problems = len(arrays.problems)
    earned = np.stack([column[1].astype(np.float64) for column in columns], axis=1)
    possible = np.stack([column[2].astype(np.float64) for column in columns], axis=1)
    possible_sums = sums_by_problem(possible, arrays.problem, problems)
    names = tuple(column[0] for column in columns)
    return RateTable(
        names=names,
        earned=sums_by_problem(earned, arrays.problem, problems),
        possible=possible_sums,
        items=possible_sums.sum(axis=0) if items is None else np.array(items, dtype=np.float64),
        metrics=each_itself(names) | dict(metrics or {}),
        problems=arrays.problems,
    )


def _function(metric: Metric, arrays: JudgmentArrays) -> Function | None:
    """A metric as a function of its rates; None where the data leaves it undefined."""
    rates = tuple(rate.name for rate in metric.rates)
    if metric.scale is None:
        return Function(rates, metric.g, metric.range)
    factor = metric.scale(arrays)
    if factor is None:
        return None
    low, high = metric.range
    return Function(rates, _scaled(metric.g, factor), (factor * low, factor * high))


def _scaled(g: Callable[..., Any], factor: float) -> Callable[..., Any]:
    def points(*rates: Any) -> Any:
        return factor * g(*rates)

    return points


def metric_table(arrays: JudgmentArrays, metrics: Iterable[Metric]) -> RateTable:
    """The rates of some metrics as sums over problems; metrics that are a rate come first.

    Args:
        arrays: One split.
        metrics: Of its benchmark.
    """
    ordered = sorted((metric for metric in metrics if metric.rates), key=lambda metric: len(metric.rates) > 1)
    functions = {metric.name: _function(metric, arrays) for metric in ordered}
    rates = {rate.name: rate for metric in ordered for rate in metric.rates}
    problems = len(arrays.problems)
    earned, possible = np.zeros((problems, len(rates))), np.zeros((problems, len(rates)))
    for k, rate in enumerate(rates.values()):
        for sums, credit in ((earned, rate.earned(arrays)), (possible, rate.possible(arrays))):
            if rate.best_proof:
                sums[:, k] = best_by_problem(credit, arrays.problem, problems)
            else:
                sums[:, k] = sums_by_problem(credit, arrays.problem, problems)[:, 0]
    return RateTable(
        names=tuple(rates),
        earned=earned,
        possible=possible,
        items=possible.sum(axis=0),
        metrics={name: function for name, function in functions.items() if function is not None},
        problems=arrays.problems,
    )


@dataclass(frozen=True, slots=True)
class Sums:
    """A metric's rates as exact fractions, not reduced: what was earned of what could be earned."""

    rates: tuple[tuple[int, int], ...]
    """Numerator and denominator of each, in whole judgments, proofs or problems; of meta credit in quarters of one."""
    function: str
    """Name of what makes the metric of them."""

    def __str__(self) -> str:
        """``23/48``, or ``harmonic_mean(13/20, 27/30)``."""
        parts = ", ".join(f"{numerator}/{denominator}" for numerator, denominator in self.rates)
        return parts if len(self.rates) == 1 else f"{self.function}({parts})"


def exact_sums(arrays: JudgmentArrays, *, meta: bool = False) -> dict[str, Sums]:
    """The fractions behind every metric of one split that counts whole judgments, proofs or problems.

    Sums of grades need not be whole; a metric that rests on such has none.

    Args:
        arrays: The split.
        meta: Whether the meta-verifier was asked.
    """
    table = metric_table(arrays, metrics_of(arrays.task, meta=meta).values())
    fractions: dict[str, tuple[int, int]] = {}
    for k, name in enumerate(table.names):
        unit = META_UNITS if name in QUARTERS else 1
        sums = unit * table.earned[:, k].sum(), unit * table.possible[:, k].sum()
        if all(abs(one - round(one)) < 1e-6 for one in sums):
            fractions[name] = (round(sums[0]), round(sums[1]))
    return {
        name: Sums(tuple(fractions[rate] for rate in function.rates), function.g.__name__)
        for name, function in table.metrics.items()
        if all(rate in fractions for rate in function.rates)
    }


def published_rates(arrays: JudgmentArrays, *, meta: bool = False, best_case: bool = False) -> RateTable:
    """The metrics of either benchmark as sums over problems.

    Args:
        arrays: One split.
        meta: Whether the meta-verifier was asked.
        best_case: Read invalid judgments in the score's favour (the upper bound).
    """
    metrics = metrics_of(arrays.task, meta=meta, offers=arrays.offers).values()
    return metric_table(arrays.best_case() if best_case else arrays, metrics)


def sample_values(arrays: JudgmentArrays, metric: Metric) -> Floats | None:
    """A ProverBench metric of each sample alone, shape (C, S), each in [0, 1]; None if it is no mean over proofs."""
    if not benchmark_of(arrays.task).samples or len(metric.rates) != 1 or metric.rates[0].best_proof:
        return None
    rate = metric.rates[0]
    values = np.zeros((len(arrays.problems), arrays.samples))
    values[arrays.problem, arrays.sample] = rate.earned(arrays) / rate.possible(arrays)
    return values
