"""Rates as sums over problems: by hand, for made-up metrics, exact and in floating point."""

import math
from fractions import Fraction

import numpy as np
import pytest

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID
from proverbench.metrics.metric import Metric, Rate, harmonic_mean, itself, mean
from proverbench.metrics.rates import (
    Function,
    RateTable,
    best_by_problem,
    each_itself,
    metric_table,
    published_rates,
    sums_by_problem,
    table_of,
)
from proverbench.metrics.scores import score_prover
from tests.metrics.made_up import prover_record, verifier_arrays, verifier_record

ACCEPTING = Rate("accepting", lambda a: a.accepts, lambda a: a.asked)
BEST = Rate("best", lambda a: a.accepts, lambda a: a.asked, best_proof=True)


def metric(name: str, *rates: Rate, **more: object) -> Metric:
    return Metric(name=name, benchmark="prover", label="", heading="", help="", rates=rates, **more)  # type: ignore[arg-type]


def three_proofs():  # type: ignore[no-untyped-def]
    records = [prover_record("b", 0, [-1, 2]), prover_record("a", 0, [-1, -1]), prover_record("a", 1, [INVALID, 1])]
    return arrays_of(records, task="prover", samples=2, repeats=2)


def test_sums_and_best_proofs_by_hand() -> None:
    table = metric_table(three_proofs(), [metric("both", ACCEPTING, BEST, g=mean), metric("accepting", ACCEPTING)])
    assert table.names == ("accepting", "best")  # metrics that are a rate come first
    assert list(table.metrics) == ["accepting", "both"]
    assert table.earned.tolist() == [[2, 2], [1, 1]]  # problems a, b
    assert table.possible.tolist() == [[4, 2], [2, 2]]
    assert table.items.tolist() == [6, 4]
    assert table.columns("both") == [0, 1]
    assert table.columns("accepting") == [0]
    assert table.point() == {"accepting": 0.5, "both": pytest.approx((3 / 6 + 3 / 4) / 2)}
    assert table.exact() == {"accepting": 0.5, "both": float((Fraction(1, 2) + Fraction(3, 4)) / 2)}


def test_a_function_takes_its_rates_in_its_own_order() -> None:
    table = metric_table(
        three_proofs(), [metric("accepting", ACCEPTING), metric("gap", BEST, ACCEPTING, g=lambda a, b: a - b)]
    )
    assert table.columns("gap") == [1, 0]
    assert table.exact()["gap"] == 0.25


@pytest.mark.parametrize("kind", [float, Fraction, lambda value: np.array([value, value])])
def test_means_of_floats_fractions_and_arrays(kind) -> None:  # type: ignore[no-untyped-def]
    half, quarter, zero = kind(0.5), kind(0.25), kind(0.0)
    assert np.all(mean(half, quarter) == kind(0.375))
    assert np.all(harmonic_mean(half, quarter) == 2 * half * quarter / (half + quarter))
    assert np.all(harmonic_mean(half, zero) == kind(0.0))
    assert np.all(harmonic_mean(zero, zero) == kind(0.0))
    assert np.all(itself(half) == half)


def test_what_could_not_be_earned_is_undefined() -> None:
    arrays = arrays_of([verifier_record("p", "v", -1, [-1])], task="verifier", repeats=1)
    table = published_rates(arrays)
    assert table.exact()["rough_tpr"] == 1.0
    assert table.exact()["rough_tnr"] is None
    assert table.exact()["rough_bal_f1"] is None
    assert math.isnan(table.point()["rough_tnr"])
    assert math.isnan(table.point()["rough_bal_f1"])


def test_exact_scores_are_rounded_once() -> None:
    # 1/3 of 49 thirds: sums in floating point of 1/3 would end in other digits.
    records = [prover_record(f"p{n}", 0, [-1 if n % 3 == 0 else 0]) for n in range(49)]
    assert score_prover(records, samples=1, repeats=1)["pessimistic"] == 17 / 49


def test_a_composite_is_rounded_once_too() -> None:
    """In floating point 2ab/(a+b) of two rounded rates ends in other digits than the fraction, rounded once."""
    differ = 0
    for right in range(1, 8):
        earned, possible = np.array([[float(right), 3.0]]), np.array([[7.0, 11.0]])
        table = RateTable(("a", "b"), earned, possible, possible[0], {"f1": Function(("a", "b"), harmonic_mean)})
        a, b = Fraction(right, 7), Fraction(3, 11)
        assert table.exact()["f1"] == float(2 * a * b / (a + b))
        differ += table.point()["f1"] != table.exact()["f1"]
    assert differ, "else nothing was shown"


def test_values_of_many_resamples_at_once() -> None:
    table = RateTable(
        ("a", "b"),
        np.ones((1, 2)),
        np.ones((1, 2)),
        np.ones(2),
        each_itself(("a",)) | {"m": Function(("b", "a"), mean)},
    )
    earned, possible = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[2.0, 4.0], [0.0, 3.0]])
    found = table.values(earned, possible)
    assert list(found) == ["a", "m"]
    assert found["a"][0] == 0.5
    assert np.isnan(found["a"][1])
    assert found["m"][0] == 0.5
    assert np.isnan(found["m"][1])


def test_sums_by_problem() -> None:
    problem = np.array([1, 0, 1], dtype=np.int32)
    assert sums_by_problem(np.array([1, 2, 4]), problem, 3).tolist() == [[2], [5], [0]]
    assert sums_by_problem(np.array([[1, 10], [2, 20], [4, 40]]), problem, 2).tolist() == [[2, 20], [5, 50]]
    assert best_by_problem(np.array([1, 2, 4]), problem, 3).tolist() == [2, 4, 0]


def test_tables_of_columns() -> None:
    arrays = three_proofs()
    columns = [("x", arrays.accepts, arrays.asked), ("y", arrays.rejects, arrays.asked)]
    table = table_of(columns, arrays, {"f": Function(("x", "y"), harmonic_mean)})
    assert list(table.metrics) == ["x", "y", "f"]
    assert table.point() == {"x": 0.5, "y": pytest.approx(1 / 3), "f": pytest.approx(2 * (1 / 2) * (1 / 3) / (5 / 6))}
    assert table.items.tolist() == [6, 6]
    assert list(table_of(columns, arrays).metrics) == ["x", "y"]


def test_the_best_case_reads_every_invalid_judgment_in_the_scores_favour() -> None:
    best = published_rates(three_proofs(), best_case=True).exact()
    assert best["pessimistic"] == 1 / 3  # a/1 has a rejection beside its invalid judgment, b/0 has one too
    records = [
        verifier_record("p", "v", -1, [INVALID, 0]),
        verifier_record("q", "w", 2, [INVALID, -1]),
    ]
    arrays = arrays_of(records, task="verifier", repeats=2)
    best = published_rates(arrays, meta=True, best_case=True).exact()
    assert (best["rough_tpr"], best["rough_tnr"], best["first_error_step_accuracy"]) == (0.5, 0.5, 0.5)
    assert (best["meta_ver_tpr"], best["meta_valid_rate"]) == (1.0, 1.0)
    assert arrays.best_case().verdict.tolist() == [[-1, 0], [2, -1]]
    assert published_rates(arrays, meta=True).exact()["meta_ver_tpr"] == 0.0


def test_meta_rates_only_where_levels_were_asked_for() -> None:
    arrays = verifier_arrays(1, 5, meta=True)
    assert "meta_ver_tpr" in published_rates(arrays, meta=True).metrics
    assert not any(name.startswith("meta") for name in published_rates(arrays).metrics)
