"""Coefficients of agreement, of plain arrays; agreement.py applies them to runs (docs/metrics.md, "Agreement")."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proverbench.metrics.summaries import Floats


def raw_agreement(first: ArrayLike, second: ArrayLike) -> float:
    """Share of proofs on which two judges say the same.

    Args:
        first: One judge's values, whole numbers, shape (n_proofs,).
        second: The other's on the same proofs.

    Returns:
        A number in [0, 1]; nan when there are no proofs.

    Raises:
        ValueError: If the shapes differ.
    """
    a, b = _paired(first, second)
    return float(np.mean(a == b)) if len(a) else math.nan


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> float:
    """Agreement of two judges beyond chance.

    Args:
        first: One judge's values, whole numbers, shape (n_proofs,).
        second: The other's on the same proofs.

    Returns:
        (p_o - p_e) / (1 - p_e) in [-1, 1]: 1 is full agreement, 0 is chance. nan when there are no proofs or chance
        agreement is 1.

    Raises:
        ValueError: If the shapes differ.

    Source: Cohen (1960), Educational and Psychological Measurement 20(1). Defined in docs/metrics.md.
    """
    a, b = _paired(first, second)
    if not len(a):
        return math.nan
    first_shares, second_shares = _one_hot(a, b)
    expected = float(first_shares.mean(axis=0) @ second_shares.mean(axis=0))
    return _beyond_chance(float(np.mean(a == b)), expected)


def gwet_ac1(first: ArrayLike, second: ArrayLike, *, values: int) -> float:
    """Agreement of two judges beyond chance, stable where nearly all proofs get the same verdict.

    Args:
        first: One judge's values, whole numbers, shape (n_proofs,).
        second: The other's on the same proofs.
        values: V, how many values a judge could have given, at least 2; fixed beforehand, not counted in the data.

    Returns:
        (p_o - p_e) / (1 - p_e) in [-1, 1], p_e = Σ_k π_k(1 - π_k) / (V - 1) with π_k the mean of both judges' shares of
        value k. 1 when both always say the same one value; nan when there are no proofs.

    Raises:
        ValueError: If the shapes differ, or there are fewer than two values, or more in the data.

    Source: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61(1). Defined in docs/metrics.md.
    """
    a, b = _paired(first, second)
    if values < max(2, len(np.unique(np.concatenate([a, b])))):
        raise ValueError(f"AC1 of {values} values: give how many a judge could choose from, at least 2")
    if not len(a):
        return math.nan
    shares = np.mean([part.mean(axis=0) for part in _one_hot(a, b)], axis=0)
    return _beyond_chance(float(np.mean(a == b)), float((shares * (1 - shares)).sum()) / (values - 1))


def fleiss_kappa(counts: ArrayLike) -> float:
    """Agreement beyond chance of a fixed number of exchangeable judges.

    Args:
        counts: How many judges gave each value to each proof, shape (n_proofs, n_values); every row has the same sum,
            at least 2.

    Returns:
        A number in [-1, 1]; nan when there are no proofs or chance agreement is 1.

    Raises:
        ValueError: If the rows have different sums, or sums below 2.

    Source: Fleiss (1971), Psychological Bulletin 76(5). Defined in docs/metrics.md.
    """
    table = np.asarray(counts, dtype=np.float64)
    if not len(table):
        return math.nan
    judges = table.sum(axis=1)
    if (judges != judges[0]).any() or judges[0] < 2:
        raise ValueError("Fleiss' kappa needs the same number of judges, at least 2, on every proof")
    shares = table.mean(axis=0) / judges[0]
    return _beyond_chance(float(_pair_share(table, np.eye(table.shape[1])).mean()), float(shares @ shares))


def krippendorff_alpha(counts: ArrayLike) -> float:
    """Agreement beyond chance, with missing judgments: Krippendorff's alpha for nominal values.

    Args:
        counts: How many judges gave each value to each proof, shape (n_proofs, n_values). A proof with fewer than two
            judgments does not count.

    Returns:
        A number up to 1; nan when no proof has two judgments or all judgments are the same.

    Source: Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability"; computed by the ``krippendorff`` library.
    """
    import krippendorff

    table = np.asarray(counts, dtype=np.float64)
    pairable = table[table.sum(axis=1) >= 2]
    if not len(pairable) or np.count_nonzero(pairable.sum(axis=0)) < 2:
        return math.nan
    return float(krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal"))


def _pair_share(counts: Floats, weights: Floats) -> Floats:
    """Share of agreeing pairs of the judgments of each proof, shape (P,); each has at least two."""
    given = counts.sum(axis=1)
    result: Floats = (((counts @ weights) * counts).sum(axis=1) - given) / (given * (given - 1))
    return result


def _beyond_chance(observed: float, expected: float) -> float:
    """(observed - expected) / (1 - expected); nan where chance agreement is 1, up to rounding."""
    room = 1 - expected
    return (observed - expected) / room if room > 1e-12 else math.nan


def _one_hot(first: NDArray[Any], second: NDArray[Any]) -> tuple[Floats, Floats]:
    """Both judges' values as rows with a single 1, shape (n_proofs, n_values)."""
    values, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    rows = np.eye(len(values))[codes]
    return rows[: len(first)], rows[len(first) :]


def _paired(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two judges' values must be vectors of one length, got shapes {a.shape} and {b.shape}")
    return a, b
