"""Metrics as ratios of sums over problems: the one form that all intervals and tests are computed from.

Every metric of this package is a *rate*, a sum over problems of credits divided by a sum over problems of what could be
earned, or a *composite*, a monotone function of two rates. So a resample of problems needs only the problems' sums, and
a thousand resamples are one matrix product.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import ACCEPTS, INVALID, JudgmentArrays
from proverbench.metrics.verifierbench import META_UNITS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Composite:
    """A metric made of two rates."""

    kind: Literal["harmonic", "mean"]
    first: str
    second: str

    def of(self, first: Floats, second: Floats) -> Floats:
        """Combine, elementwise; nan where either is nan, and the harmonic mean of 0 and 0 is 0."""
        if self.kind == "mean":
            return (first + second) / 2
        total = first + second
        return 2 * first * second / np.where(total == 0, 1.0, total)


COMPOSITES: dict[str, Composite] = {
    "rough_bal_f1": Composite("harmonic", "rough_tpr", "rough_tnr"),
    "balanced_accuracy": Composite("mean", "rough_tpr", "rough_tnr"),
    "meta_ver_bal_f1": Composite("harmonic", "meta_ver_tpr", "meta_ver_tnr"),
}
"""The published composites (docs/metrics.md)."""


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
    composites: Mapping[str, Composite]

    @property
    def reported(self) -> tuple[str, ...]:
        """Names of all metrics, rates first."""
        return (*self.names, *self.composites)

    def values(self, earned: Floats, possible: Floats) -> dict[str, Floats]:
        """Every metric for sums of the given shape (..., K); nan where nothing could be earned."""
        undefined = np.full(np.broadcast_shapes(earned.shape, possible.shape), np.nan)
        rates = np.divide(earned, possible, out=undefined, where=possible > 0)
        found = {name: rates[..., k] for k, name in enumerate(self.names)}
        for name, composite in self.composites.items():
            found[name] = composite.of(found[composite.first], found[composite.second])
        return found

    def point(self) -> dict[str, float]:
        """Every metric on the problems as they are; nan where it is undefined."""
        found = self.values(self.earned.sum(axis=0), self.possible.sum(axis=0))
        return {name: float(value) for name, value in found.items()}


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


def table_of(
    columns: Sequence[tuple[str, NDArray[np.generic], NDArray[np.generic]]],
    arrays: JudgmentArrays,
    composites: Mapping[str, Composite] | None = None,
) -> RateTable:
    """Make a table from credits of single proofs.

    Args:
        columns: For each rate its name, the credit of each proof (P,), and what the proof could earn (P,); both in
            units of single observations, so that ``possible`` adds up to their number.
        arrays: Where the proofs' problems are taken from.
        composites: Metrics made of two of the rates.
    """
    problems = len(arrays.problems)
    earned = np.stack([column[1].astype(np.float64) for column in columns], axis=1)
    possible = np.stack([column[2].astype(np.float64) for column in columns], axis=1)
    possible_sums = sums_by_problem(possible, arrays.problem, problems)
    return RateTable(
        names=tuple(column[0] for column in columns),
        earned=sums_by_problem(earned, arrays.problem, problems),
        possible=possible_sums,
        items=possible_sums.sum(axis=0),
        composites=composites or {},
    )


def prover_rates(arrays: JudgmentArrays, *, invalid_accepts: bool = False) -> RateTable:
    """The published ProverBench metrics as sums over problems.

    Args:
        arrays: One split.
        invalid_accepts: Count each invalid judgment of an existing proof as an acceptance (the upper bound).
    """
    accepts = arrays.accepts + (arrays.repeats - arrays.accepts - arrays.rejects) * invalid_accepts
    accepted = (accepts == arrays.repeats) & arrays.generated
    valid = np.count_nonzero(arrays.verdict != INVALID, axis=1)
    one = np.ones(len(arrays.keys))
    table = table_of(
        [
            ("pessimistic", accepted, one),
            ("pass_any_sample", accepted, one),
            ("generation_failure_rate", ~arrays.generated, one),
            ("verifier_valid_rate", valid, one * arrays.repeats),
        ],
        arrays,
    )
    # A problem counts once for pass_any_sample, however many of its samples were accepted.
    table.earned[:, 1] = table.earned[:, 1] > 0
    table.possible[:, 1] = 1
    table.items[1] = len(arrays.problems)
    return table


def verifier_rates(arrays: JudgmentArrays, *, meta: bool, invalid_agrees: bool = False) -> RateTable:
    """The published VerifierBench metrics as sums over problems.

    Args:
        arrays: One split.
        meta: Whether the meta-verifier was asked.
        invalid_agrees: Count each invalid judgment as one that agrees with the label, and each invalid or missing
            level as an exact match (the upper bound).
    """
    invalid = arrays.verdict == INVALID
    free = invalid & invalid_agrees
    correct, incorrect = arrays.correct, arrays.incorrect
    polarity = np.where(correct[:, None], arrays.verdict == ACCEPTS, arrays.verdict >= 0)
    polarity_credit = np.count_nonzero(polarity | free, axis=1)
    step_credit = np.count_nonzero((arrays.verdict == arrays.label[:, None]) & ~invalid | free, axis=1)
    asked = np.full(len(arrays.keys), arrays.repeats)
    columns = [
        ("rough_accuracy", polarity_credit, asked),
        ("rough_tpr", polarity_credit * correct, asked * correct),
        ("rough_tnr", polarity_credit * incorrect, asked * incorrect),
        ("first_error_step_accuracy", step_credit, asked),
        ("first_error_step_accuracy_incorrect", step_credit * incorrect, asked * incorrect),
        ("verifier_valid_rate", np.count_nonzero(~invalid, axis=1), asked),
    ]
    composites = {name: COMPOSITES[name] for name in ("rough_bal_f1", "balanced_accuracy")}
    if meta:
        graded = arrays.meta != INVALID
        units = np.where(graded, arrays.meta, META_UNITS if invalid_agrees else 0)
        # Quarters add up exactly in binary floating point, like the whole counts of the other columns.
        credit = units.sum(axis=1) / META_UNITS
        columns += [
            ("meta_ver_tpr", credit * correct, asked * correct),
            ("meta_ver_tnr", credit * incorrect, asked * incorrect),
            ("meta_valid_rate", np.count_nonzero(graded, axis=1), asked),
        ]
        composites["meta_ver_bal_f1"] = COMPOSITES["meta_ver_bal_f1"]
    return table_of(columns, arrays, composites)


def published_rates(arrays: JudgmentArrays, *, meta: bool = False, best_case: bool = False) -> RateTable:
    """The published metrics of either benchmark; ``best_case`` reads invalid judgments in the score's favour."""
    if arrays.task == "prover":
        return prover_rates(arrays, invalid_accepts=best_case)
    return verifier_rates(arrays, meta=meta, invalid_agrees=best_case)
