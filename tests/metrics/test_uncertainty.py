"""Intervals and bounds against slow loops, established libraries and cases by hand."""

import json
import math
import random

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.proverbench import accepted
from proverbench.metrics.rates import published_rates
from proverbench.metrics.scores import score_prover, score_verifier
from proverbench.metrics.uncertainty import bounds, intervals, same_problems, significant, split_uncertainty
from proverbench.records import ProofRecord
from tests.metrics.made_up import few_examples, prover_record, random_prover, random_verifier, verifier_record
from tests.metrics.slow import slow_summary, slow_theta


def flat(successes: int, problems: int, samples: int = 1) -> JudgmentArrays:
    records = [
        prover_record(f"p{i:03}", sample, [-1 if i < successes else 0])
        for i in range(problems)
        for sample in range(samples)
    ]
    return arrays_of(records, task="prover", samples=samples, repeats=1)


def credits(record: ProofRecord, name: str) -> tuple[float, float] | None:
    """What a proof of VerifierBench earns and could earn, read off the record itself."""
    if (name == "rough_tpr" and not record.is_correct) or (name == "rough_tnr" and record.is_correct):
        return None
    right = [j.valid and (j.first_error_step == -1) == record.is_correct for j in record.judgments]
    return float(sum(right)), float(len(right))


@pytest.mark.parametrize("name", ["rough_accuracy", "rough_tpr", "rough_tnr"])
def test_intervals_equal_a_loop_over_the_records(name: str) -> None:
    records = random_verifier(4, 30, 3, 3)
    sums: dict[str, list[float]] = {}
    for record in records:
        found = credits(record, name)
        if found is not None:
            pair = sums.setdefault(record.problem_id, [0.0, 0.0])
            pair[0], pair[1] = pair[0] + found[0], pair[1] + found[1]
    slow = slow_summary(*np.array(list(sums.values())).T)
    got = intervals(published_rates(arrays_of(records, task="verifier", repeats=3)))[name]
    assert got["effective_n"] == pytest.approx(slow["n"], rel=1e-5)
    assert got["evidence"] == pytest.approx(slow["m"], rel=1e-5)
    assert got["n"] == len(sums)
    quantile = float(stats.t.ppf(0.975, slow["df"]))
    ends = [slow_theta(side * quantile, slow["p"], slow["n"]) for side in (-1, 1)]
    assert [got["low"], got["high"]] == pytest.approx(ends, rel=1e-5)


def test_standard_errors_equal_statsmodels_clustered_ones() -> None:
    """A rate is a regression on a constant, its variance the cluster-robust one."""
    records = random_prover(3, 25, 3, 4)
    outcome = [float(accepted(record, 4)) for record in records]
    groups = np.unique([record.problem_id for record in records], return_inverse=True)[1]
    theirs = sm.OLS(outcome, np.ones(len(outcome))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    got = intervals(published_rates(arrays_of(records, task="prover", samples=3, repeats=4)))["pessimistic"]
    assert got["se"] == pytest.approx(float(theirs.bse[0]), rel=1e-5)


def test_standard_error_of_a_composite_is_near_the_jackknifes() -> None:
    records = random_verifier(5, 60, 3, 3)
    names = sorted({record.problem_id for record in records})
    left_out = [
        score_verifier([record for record in records if record.problem_id != name], repeats=3)["rough_bal_f1"]
        for name in names
    ]
    jackknife = math.sqrt((len(names) - 1) / len(names) * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    got = intervals(published_rates(arrays_of(records, task="verifier", repeats=3)))["rough_bal_f1"]
    assert got["se"] == pytest.approx(jackknife, rel=0.03)


@few_examples
@given(st.integers(0, 10_000))
def test_points_equal_the_published_scores(seed: int) -> None:
    records = random_verifier(seed, 5, meta=True)
    exact = score_verifier(records, repeats=4, meta=True)
    for name, value in published_rates(arrays_of(records, task="verifier", repeats=4), meta=True).point().items():
        assert exact[name] is None if math.isnan(value) else exact[name] == pytest.approx(value, abs=1e-15), name
    proved = random_prover(seed, 5)
    exact = score_prover(proved, samples=3, repeats=4)
    for name, value in published_rates(arrays_of(proved, task="prover", samples=3, repeats=4)).point().items():
        assert exact[name] == value, name


@few_examples
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_a_rebuild_never_moves_an_interval(seed: int, shuffle: random.Random) -> None:
    records = random_verifier(seed, 5, meta=True)

    def rebuilt() -> str:
        metrics = score_verifier(records, repeats=4, meta=True)
        arrays = arrays_of(records, task="verifier", repeats=4)
        return json.dumps(split_uncertainty(arrays, meta=True, metrics=metrics), allow_nan=False)

    first = rebuilt()
    assert rebuilt() == first
    shuffle.shuffle(records)
    assert rebuilt() == first


@few_examples
@given(st.integers(0, 10_000))
def test_intervals_and_bounds_stay_in_range(seed: int) -> None:
    for arrays, meta in (
        (arrays_of(random_verifier(seed, 6, meta=True), task="verifier", repeats=4), True),
        (arrays_of(random_prover(seed, 6), task="prover", samples=3, repeats=4), False),
    ):
        for interval in intervals(published_rates(arrays, meta=meta)).values():
            assert (interval["low"] is None) == (interval["n"] == 1)
            assert interval["low"] is None or 0 <= interval["low"] < interval["high"] <= 1
        for bound in bounds(arrays, meta=meta).values():
            assert 0 <= bound["low"] <= bound["high"] <= 1
            assert bound["invalid"] or bound["low"] == bound["high"]


@pytest.mark.parametrize(("successes", "end"), [(0, "low"), (50, "high")])
def test_all_alike_by_hand(successes: int, end: str) -> None:
    # Four identical samples of each of 50 problems count as 50; mid-P at 0 of 50: 1 - 0.05^(1/50) = 0.0582.
    interval = intervals(published_rates(flat(successes, 50, 4)))["pessimistic"]
    assert interval["effective_n"] == 50
    assert interval["evidence"] == 0
    assert interval[end] == (0 if end == "low" else 1)
    assert interval["high"] - interval["low"] == pytest.approx(1 - 0.05 ** (1 / 50), abs=1e-6)


def test_a_single_problem_has_no_interval() -> None:
    interval = intervals(published_rates(flat(1, 1, 3)))["pessimistic"]
    assert (interval["low"], interval["high"], interval["se"]) == (None, None, None)


def test_stored_fields() -> None:
    metrics = score_prover(random_prover(1), samples=3, repeats=4)
    got, _ = split_uncertainty(
        arrays_of(random_prover(1), task="prover", samples=3, repeats=4), meta=False, metrics=metrics
    )
    fields = {"low", "high", "se", "level", "n", "effective_n", "evidence", "df", "method"}
    assert set(got["pass_any_sample"]) == fields
    assert set(got["pessimistic"]) == fields | {"same_problems"}
    assert set(got["pessimistic"]["same_problems"]) == fields
    for name in ("low", "high", "se"):
        assert got["pessimistic"][name] == float(f"{got['pessimistic'][name]:.6g}")


def test_the_same_problems_again_need_two_samples() -> None:
    assert same_problems(flat(10, 30)) == dict.fromkeys(
        ("pessimistic", "generation_failure_rate", "verifier_valid_rate")
    )
    # Samples of a problem never differ here: only the problems do, and those would be the same.
    again = same_problems(flat(10, 30, 4))["pessimistic"]
    new = intervals(published_rates(flat(10, 30, 4)))["pessimistic"]
    assert again is not None
    assert again["high"] - again["low"] < 0.6 * (new["high"] - new["low"])
    assert "new samples" in again["method"]
    assert same_problems(arrays_of(random_verifier(1), task="verifier", repeats=4)) == {}


def test_an_absent_class_has_no_interval() -> None:
    records = [verifier_record(f"p{i}", f"v{i}", -1, [-1]) for i in range(4)]
    metrics = score_verifier(records, repeats=1)
    got, bound = split_uncertainty(arrays_of(records, task="verifier", repeats=1), meta=False, metrics=metrics)
    assert "rough_tnr" not in got
    assert "rough_bal_f1" not in bound
    assert "proofs" not in got


# ---------------------------------------------------------------- bounds


def test_prover_bounds_by_hand() -> None:
    records = [
        prover_record("a", 0, [-1, INVALID]),  # would be accepted
        prover_record("a", 1, [0, INVALID]),  # would not
        prover_record("b", 0, None),  # stays 0
        prover_record("b", 1, [-1, -1]),
    ]
    got = bounds(arrays_of(records, task="prover", samples=2, repeats=2))
    assert got == {
        "pessimistic": {"low": 0.25, "high": 0.5, "invalid": 2},
        "pass_any_sample": {"low": 0.5, "high": 1.0, "invalid": 2},
    }


def test_verifier_bounds_by_hand() -> None:
    records = [verifier_record("a", "v", -1, [-1, INVALID]), verifier_record("b", "w", 2, [1, INVALID])]
    got = bounds(arrays_of(records, task="verifier", repeats=2))
    assert got["rough_tpr"] == {"low": 0.5, "high": 1.0, "invalid": 1}
    assert got["rough_accuracy"] == {"low": 0.5, "high": 1.0, "invalid": 2}
    # The wrong step stays wrong, so the localisation rises by the invalid half only.
    assert got["first_error_step_accuracy_incorrect"] == {"low": 0.0, "high": 0.5, "invalid": 1}
    assert "verifier_valid_rate" not in got


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 / 3, 0.333333333333), (2 / 3e7, 6.66666666667e-08), (1.0, 1.0), (0.0, 0.0), (123456789.123456, 123456789.123)],
)
def test_significant(value: float, expected: float) -> None:
    assert significant(value) == expected
