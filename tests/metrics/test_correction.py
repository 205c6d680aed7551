"""Corrections for the judge's error, by hand, against loops, and in the cases where they are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.metrics.arrays import INVALID, JudgmentArrays, arrays_of
from proverbench.metrics.correction import (
    UncorrectableError,
    acceptance_table,
    correct_by_calibration,
    correct_by_labels,
    prediction_powered,
    rogan_gladen,
    rule_table,
    tuned_power,
)
from proverbench.metrics.rates import RateTable, each_itself
from tests.metrics.made_up import drawn_problems, few_examples, prover_arrays, prover_record, verifier_record

NAMES = ("unlabelled", "rule", "human")


def calibration(hits: int, correct: int, rejects: int, incorrect: int) -> JudgmentArrays:
    """One proof a problem, two repeats; the rule accepts ``hits`` correct and does not accept ``rejects`` incorrect."""
    records = [
        verifier_record(f"c{i:03}", f"c{i:03}", -1, [-1, -1] if i < hits else [-1, INVALID]) for i in range(correct)
    ]
    records += [
        verifier_record(f"w{i:03}", f"w{i:03}", 1, [0, -1] if i < rejects else [-1, -1]) for i in range(incorrect)
    ]
    return arrays_of(records, task="verifier", repeats=2)


def run(accepted: int, judged: int, failed: int = 0) -> JudgmentArrays:
    records = [prover_record(f"p{i:03}", 0, [-1, -1] if i < accepted else [-1, 0]) for i in range(judged)]
    records += [prover_record(f"x{i:03}", 0, None) for i in range(failed)]
    return arrays_of(records, task="prover", repeats=2)


def test_rogan_gladen_by_hand() -> None:
    # Accepted 40 of 80 judged, sensitivity 45/50 = 0.9, specificity 40/50 = 0.8:
    # (0.5 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.3 / 0.7; 20 of 100 generations failed: times 0.8 = 12/35.
    got = correct_by_calibration(run(40, 80, 20), calibration(45, 50, 40, 50))
    assert got["value"] == pytest.approx(12 / 35)
    assert got["uncorrected"] == 0.4
    assert got["accepted_of_judged"] == 0.5
    assert got["generation_failure_rate"] == 0.2
    assert got["sensitivity"]["value"] == 0.9
    assert got["specificity"]["value"] == 0.8
    assert got["youden"]["value"] == pytest.approx(0.7)
    assert not got["clipped"]
    assert got["interval"]["low"] < 12 / 35 < got["interval"]["high"]
    assert got["interval"]["n"] == 100
    assert got["interval"]["n_calibration"] == 100


def test_interval_carries_the_calibrations_uncertainty() -> None:
    many = correct_by_calibration(run(200, 400), calibration(450, 500, 400, 500))["interval"]
    few = correct_by_calibration(run(200, 400), calibration(45, 50, 40, 50))["interval"]
    assert few["high"] - few["low"] > 1.5 * (many["high"] - many["low"])


def test_interval_equals_a_loop() -> None:
    ours, rule = run(8, 12), calibration(9, 10, 8, 10)
    got = correct_by_calibration(ours, rule, resamples=200, seed=5)["interval"]
    accepted = acceptance_table(ours).earned[:, 0]
    table = rule_table(rule, 2)
    slow = []
    for drawn, judged in zip(drawn_problems(12, 200, 5), drawn_problems(20, 200, 6), strict=True):
        sensitivity, specificity = table.earned[judged].sum(axis=0) / table.possible[judged].sum(axis=0)
        estimate = (accepted[drawn].mean() + specificity - 1) / (sensitivity + specificity - 1)
        slow.append(min(1, max(0, estimate)))
    assert (got["low"], got["high"]) == pytest.approx(tuple(np.percentile(slow, [2.5, 97.5])), abs=1e-11)


def test_more_repeats_than_the_rule_needs_are_averaged_over_subsets() -> None:
    # Two acceptances and one invalid judgment: 1 of the 3 pairs holds two acceptances.
    records = [verifier_record("a", "v", -1, [-1, -1, INVALID]), verifier_record("b", "w", 1, [-1, -1, 0])]
    point = rule_table(arrays_of(records, task="verifier", repeats=3), 2).point()
    assert point["sensitivity"] == pytest.approx(1 / 3)
    assert point["specificity"] == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="3 repeats, the rule needs 4"):
        rule_table(arrays_of(records, task="verifier", repeats=3), 4)


@pytest.mark.parametrize(
    ("ours", "rule", "message"),
    [
        pytest.param(run(5, 10), calibration(5, 10, 5, 10), "too near 1", id="coin"),
        pytest.param(run(5, 10), calibration(3, 4, 2, 4), "too near 1", id="not-shown"),
        pytest.param(run(5, 10), calibration(0, 0, 8, 10), "no human-correct proof", id="no-correct"),
        pytest.param(run(5, 10), calibration(8, 10, 0, 0), "no human-incorrect proof", id="no-incorrect"),
        pytest.param(run(0, 0, 5), calibration(9, 10, 9, 10), "no judged proof", id="nothing-judged"),
    ],
)
def test_refuses(ours: JudgmentArrays, rule: JudgmentArrays, message: str) -> None:
    with pytest.raises(UncorrectableError, match=message):
        correct_by_calibration(ours, rule)


def test_clipped() -> None:
    # Fewer acceptances than the false ones alone would give.
    got = correct_by_calibration(run(1, 100), calibration(45, 50, 40, 50))
    assert got["value"] == 0.0
    assert got["clipped"]


@few_examples
@given(st.floats(0, 1), st.floats(0.5, 1), st.floats(0.55, 1))
def test_rogan_gladen_inverts_the_judges_error(truth: float, sensitivity: float, specificity: float) -> None:
    seen = truth * sensitivity + (1 - truth) * (1 - specificity)
    got = rogan_gladen(np.array(seen), np.array(sensitivity), np.array(specificity))
    assert float(got) == pytest.approx(truth, abs=1e-9)


def test_rogan_gladen_is_undefined_for_a_judge_without_skill() -> None:
    assert np.isnan(rogan_gladen(np.array([0.5, 0.5]), np.array([0.5, 0.3]), np.array([0.5, 0.6]))).all()


# ---------------------------------------------------------------- with labels of the run's own proofs


def test_prediction_powered_by_hand() -> None:
    # Rows of rates: rule on unlabelled 6/10, rule on labelled 3/4, human on labelled 2/4.
    table = RateTable(NAMES, np.array([[6.0, 3, 2]]), np.array([[10.0, 4, 4]]), np.ones(3), each_itself(NAMES))
    # At λ = 1: 0.6 + (0.5 - 0.75) = 0.35; at λ = 1/2: 0.3 + 0.5 - 0.375 = 0.425; at 0: the labels alone.
    assert prediction_powered(table, 1.0) == pytest.approx(0.35)
    assert prediction_powered(table, 0.5) == pytest.approx(0.425)
    assert prediction_powered(table, 0.0) == pytest.approx(0.5)


def test_power_minimises_the_variance() -> None:
    arrays = prover_arrays(3, 60, 3, 2)
    rng = np.random.default_rng(1)
    rule = (arrays.accepts == 2) & arrays.generated
    labelled = (rng.random(len(rule)) < 0.4) & arrays.generated
    human = np.where(rng.random(len(rule)) < 0.85, rule, ~rule) & labelled
    free = arrays.generated & ~labelled
    columns = [(rule & free, free), (rule & labelled, labelled), (human, labelled)]
    earned = np.stack([np.bincount(arrays.problem, e, 60) for e, _ in columns], axis=1).astype(np.float64)
    possible = np.stack([np.bincount(arrays.problem, p, 60) for _, p in columns], axis=1).astype(np.float64)
    table = RateTable(NAMES, earned, possible, possible.sum(axis=0), each_itself(NAMES))
    power = tuned_power(table)
    assert 0 < power < 1

    def variance(at: float) -> float:
        totals = possible.sum(axis=0)
        residual = (earned - earned.sum(axis=0) / totals * possible) / totals
        return float(np.var(at * residual[:, 0] + residual[:, 2] - at * residual[:, 1]))

    assert variance(power) <= min(variance(power - 0.01), variance(power + 0.01))


def test_labels_of_everything_are_the_answer() -> None:
    arrays = run(6, 10, 2)
    labels = {key: i < 4 for i, key in enumerate(key for key in arrays.keys if key.startswith("p"))}
    got = correct_by_labels(arrays, labels)
    assert got["value"] == got["labels_only"]["value"] == pytest.approx(4 / 12)
    assert got["power"] == 0
    assert got["unlabelled"] == 0
    assert got["disagreements"] == {"false_accepts": 2, "false_rejects": 0}


def test_a_perfect_judge_makes_the_labels_go_further() -> None:
    arrays = run(150, 300)
    labels = {key: i < 150 for i, key in enumerate(arrays.keys) if i % 10 == 0}
    got = correct_by_labels(arrays, labels)
    assert got["power"] == pytest.approx(270 / 300)  # 1 / (1 + n/N), n labelled and N unlabelled
    alone, powered = got["labels_only"]["interval"], got["interval"]
    assert powered["high"] - powered["low"] < 0.5 * (alone["high"] - alone["low"])


def test_labels_are_refused() -> None:
    arrays = run(5, 10, 1)
    with pytest.raises(UncorrectableError, match="no judged proof of this run: x000/0"):
        correct_by_labels(arrays, {"x000/0": True})
    with pytest.raises(UncorrectableError, match="at least two problems"):
        correct_by_labels(arrays, {"p001/0": True})
