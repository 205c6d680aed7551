"""Intervals and bounds against slow loops, established libraries and cases by hand."""

import json
import math
import random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from proverbench.metrics.arrays import INVALID, JudgmentArrays, arrays_of
from proverbench.metrics.metric import harmonic_mean
from proverbench.metrics.rates import Function, RateTable, each_itself, published_rates
from proverbench.metrics.scores import score_prover, score_verifier
from proverbench.metrics.uncertainty import (
    bounds,
    design_effect,
    intervals,
    resample_weights,
    significant,
    split_uncertainty,
    wilson_interval,
    wilson_of,
)
from proverbench.records import ProofRecord
from tests.metrics.made_up import (
    drawn_problems,
    few_examples,
    prover_record,
    random_prover,
    random_verifier,
    verifier_record,
)


def renamed(records: list[ProofRecord], drawn: list[str]) -> list[ProofRecord]:
    """The records of the drawn problems, each draw a problem of its own."""
    by_problem: dict[str, list[ProofRecord]] = {}
    for record in records:
        by_problem.setdefault(record.problem_id, []).append(record)
    return [
        msgspec.structs.replace(
            record, problem_id=f"{turn}", proof_id=None if record.proof_id is None else f"{turn}-{record.proof_id}"
        )
        for turn, name in enumerate(drawn)
        for record in by_problem[name]
    ]


def slow_intervals(records: list[ProofRecord], score: Any, resamples: int, seed: int) -> dict[str, tuple[float, float]]:
    """Score every resample with the published score functions."""
    names = sorted({record.problem_id for record in records})
    values: dict[str, list[float]] = {}
    for drawn in drawn_problems(len(names), resamples, seed):
        for name, value in score(renamed(records, [names[i] for i in drawn])).items():
            if value is not None:
                values.setdefault(name, []).append(value)
    return {
        name: (float(np.percentile(found, 2.5)), float(np.percentile(found, 97.5))) for name, found in values.items()
    }


def test_prover_intervals_equal_a_loop_over_the_published_scores() -> None:
    records = random_prover(3, 12, 3, 4)
    arrays = arrays_of(records, task="prover", samples=3, repeats=4)
    slow = slow_intervals(records, lambda r: score_prover(r, samples=3, repeats=4), 100, 7)
    got = intervals(published_rates(arrays), resamples=100, seed=7)
    assert set(got) == {"pessimistic", "pass_any_sample", "generation_failure_rate", "verifier_valid_rate"}
    for name, interval in got.items():
        assert (interval["low"], interval["high"]) == pytest.approx(slow[name], abs=1e-11), name


def test_verifier_intervals_equal_a_loop_over_the_published_scores() -> None:
    records = random_verifier(4, 10, 3, 3, meta=True)
    arrays = arrays_of(records, task="verifier", repeats=3)
    slow = slow_intervals(records, lambda r: score_verifier(r, repeats=3, meta=True), 100, 7)
    got = intervals(published_rates(arrays, meta=True), resamples=100, seed=7)
    assert set(got) == set(slow) - {"proofs", "correct_proofs", "incorrect_proofs"}
    for name, interval in got.items():
        assert (interval["low"], interval["high"]) == pytest.approx(slow[name], abs=1e-11), name


def test_against_scipy_bootstrap() -> None:
    # scipy resamples single observations: one sample a problem is the same thing.
    rng = np.random.default_rng(5)
    wins = (rng.random(80) < 0.4).astype(float)
    table = RateTable(("x",), wins[:, None], np.ones((80, 1)), np.array([80.0]), each_itself("x"))
    got = intervals(table, resamples=20_000, seed=1)["x"]
    theirs = stats.bootstrap((wins,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2))
    assert got["low"] == pytest.approx(theirs.confidence_interval.low, abs=0.0126)  # one step is 1/80
    assert got["high"] == pytest.approx(theirs.confidence_interval.high, abs=0.0126)
    assert got["se"] == pytest.approx(float(theirs.standard_error), rel=0.03)
    # By hand: the bootstrap's variance of a mean is p(1-p)/n.
    p = wins.mean()
    assert got["se"] == pytest.approx(math.sqrt(p * (1 - p) / 80), rel=0.03)


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
        for interval in intervals(published_rates(arrays, meta=meta), resamples=50).values():
            assert (interval["low"] is None) == (interval["n"] == 1)
            assert interval["low"] is None or 0 <= interval["low"] <= interval["high"] <= 1
            assert interval["n"] + interval["left_out"] == 6
            if "wilson" in interval:
                assert 0 <= interval["wilson"]["low"] <= interval["wilson"]["high"] <= 1
        for bound in bounds(arrays, meta=meta).values():
            assert 0 <= bound["low"] <= bound["high"] <= 1
            assert bound["invalid"] or bound["low"] == bound["high"]


def test_blocks_do_not_change_the_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(resample_weights(7, resamples=20, seed=3)))
    monkeypatch.setattr("proverbench.metrics.uncertainty._CHUNK", 15)
    blocks = list(resample_weights(7, resamples=20, seed=3))
    assert len(blocks) == 10
    assert np.array_equal(np.concatenate(blocks), whole)
    assert (whole.sum(axis=1) == 7).all()


# ---------------------------------------------------------------- where the bootstrap is not to be trusted


def flat(successes: int, problems: int, samples: int = 1) -> JudgmentArrays:
    records = [
        prover_record(f"p{i:03}", sample, [-1 if i < successes else 0])
        for i in range(problems)
        for sample in range(samples)
    ]
    return arrays_of(records, task="prover", samples=samples, repeats=1)


@pytest.mark.parametrize(
    ("successes", "problems", "why"),
    [
        pytest.param(0, 100, "pessimistic is 0, so every resample says the same", id="none"),
        pytest.param(100, 100, "pessimistic is 1, so every resample says the same", id="all"),
        pytest.param(15, 29, "fewer than 30 problems", id="few-problems"),
        pytest.param(3, 100, "fewer than 10 independent successes or failures", id="rare"),
        pytest.param(30, 100, None, id="good"),
    ],
)
def test_unreliable(successes: int, problems: int, why: str | None) -> None:
    interval = intervals(published_rates(flat(successes, problems)))["pessimistic"]
    if why is None:
        assert "unreliable" not in interval
        assert "wilson" not in interval
    else:
        assert why in interval["unreliable"]
        assert set(interval["wilson"]) == {"low", "high", "design_effect", "effective_n"}


def test_no_success_by_hand() -> None:
    # Four identical samples of each of 50 problems count as 50 observations: design effect 200 / 50 = 4.
    # Wilson at 0 of n: [0, t² / (n + t²)], with t = 2.00958 (49 degrees of freedom): 4.0384 / 54.0384 = 0.07473.
    interval = intervals(published_rates(flat(0, 50, 4)))["pessimistic"]
    assert interval["low"] == interval["high"] == 0
    assert interval["wilson"]["low"] == 0
    assert interval["wilson"]["high"] == pytest.approx(0.07473, abs=1e-5)
    assert interval["wilson"]["design_effect"] == 4
    assert interval["wilson"]["effective_n"] == 50


def test_a_single_problem_has_no_bootstrap_interval() -> None:
    interval = intervals(published_rates(flat(1, 1, 3)))["pessimistic"]
    assert interval["low"] is None
    assert interval["high"] is None
    assert interval["se"] is None
    assert interval["wilson"]["high"] == 1
    assert interval["wilson"]["low"] < 0.05


@pytest.mark.parametrize(("share", "n"), [(0.0, 10), (0.3, 10), (0.5, 245), (1.0, 45), (0.99, 888)])
def test_wilson_equals_statsmodels(share: float, n: int) -> None:
    theirs = proportion_confint(share * n, n, alpha=0.05, method="wilson")
    assert wilson_interval(share, n) == pytest.approx(theirs, abs=1e-12)
    wider = wilson_interval(share, n, df=5)
    assert wider[0] <= theirs[0] + 1e-12
    assert wider[1] >= theirs[1] - 1e-12


def test_design_effect_by_hand() -> None:
    # 4 problems of 2 proofs, each all right or all wrong: 8 proofs tell as much as 4 problems.
    # p = 1/2; residuals ±1, so the variance is 4/3 · 4 / 64 = 1/12; that of 8 independent proofs is 1/32.
    earned, possible = np.array([2.0, 2, 0, 0]), np.full(4, 2.0)
    assert design_effect(earned, possible, 8) == pytest.approx(32 / 12)
    assert design_effect(np.ones(4), possible, 8) == 1.0  # less spread than chance: not rewarded


def test_wilson_of_a_composite_contains_those_of_its_parts() -> None:
    table = RateTable(
        ("a", "b"),
        np.array([[1.0, 0], [0, 1], [1, 1]]),
        np.ones((3, 2)),
        np.array([3.0, 3]),
        {"f": Function(("a", "b"), harmonic_mean)},
    )
    got = wilson_of(table, "f")
    assert 0 < got["low"] < table.point()["f"] < got["high"] < 1


def test_undefined_resamples_are_counted() -> None:
    records = [verifier_record(f"p{i}", f"v{i}", -1 if i == 0 else 1, [-1]) for i in range(4)]
    interval = intervals(published_rates(arrays_of(records, task="verifier", repeats=1)))["rough_tpr"]
    assert interval["n"] == 1
    assert interval["left_out"] == 3
    # The one problem with a correct proof is missed with probability (3/4)^4 = 0.316.
    assert 250 < interval["undefined_resamples"] < 390


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
