"""Corrections for the judge's error, by hand, by textbook variances, and in the cases where they are refused."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.comparison import compare_runs
from proverbench.metrics.correction import (
    UncorrectableError,
    as_judged,
    compare_by_calibration,
    compare_by_labels,
    correct_by_calibration,
    correct_by_labels,
    headline,
    rogan_gladen,
    rule_table,
    shift_test,
)
from proverbench.metrics.shown import LITTLE_EVIDENCE, named_intervals
from proverbench.metrics.strata import Labelled
from tests.metrics.made_up import few_examples, prover_record, verifier_record


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
    assert got["interval"]["n"] == 200  # problems of both
    assert got["calibration_problems"] == 100


def test_interval_carries_the_calibrations_uncertainty() -> None:
    many = correct_by_calibration(run(200, 400), calibration(450, 500, 400, 500))["interval"]
    few = correct_by_calibration(run(200, 400), calibration(45, 50, 40, 50))["interval"]
    assert few["high"] - few["low"] > 1.5 * (many["high"] - many["low"])


def test_standard_error_is_the_delta_methods() -> None:
    """By the textbook's variances of three independent shares; the run's problems are not the calibration's."""
    got = correct_by_calibration(run(200, 400), calibration(450, 500, 400, 500))["interval"]
    q, se, sp = 0.5, 0.9, 0.8
    youden = se + sp - 1
    value = (q + sp - 1) / youden
    variance = q * (1 - q) / 399 / youden**2
    variance += (value / youden) ** 2 * se * (1 - se) / 499 + ((1 - value) / youden) ** 2 * sp * (1 - sp) / 499
    assert got["se"] == pytest.approx(variance**0.5, rel=0.01)


def test_a_judge_that_was_never_wrong_may_still_be() -> None:
    got = correct_by_calibration(run(40, 80), calibration(45, 45, 45, 45))
    assert got["specificity"]["value"] == got["sensitivity"]["value"] == 1
    assert got["specificity"]["interval"]["low"] < 0.95
    plain = as_judged(run(40, 80))
    assert got["value"] == plain["value"] == 0.5
    assert got["interval"]["low"] < plain["interval"]["low"]
    assert got["interval"]["high"] > plain["interval"]["high"]


def test_shared_problems_are_counted_once() -> None:
    ours = run(40, 80)
    apart = calibration(45, 50, 40, 50)
    names = [f"p{i:03}" for i in range(80)] + [f"x{i:03}" for i in range(20)]
    same = replace(apart, problems=tuple(sorted(names)))
    one, other = (correct_by_calibration(ours, rule)["interval"] for rule in (apart, same))
    assert one["low"] != other["low"]


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
        pytest.param(run(5, 10), calibration(5, 10, 5, 10), "which is not above 0", id="coin"),
        pytest.param(run(5, 10), calibration(3, 4, 2, 4), "which is not above 0", id="not-shown"),
        pytest.param(run(5, 10), calibration(0, 0, 8, 10), "no human-correct proof", id="no-correct"),
        pytest.param(run(5, 10), calibration(8, 10, 0, 0), "no human-incorrect proof", id="no-incorrect"),
        pytest.param(run(0, 0, 5), calibration(9, 10, 9, 10), "no judged proof", id="nothing-judged"),
    ],
)
def test_refuses(ours: JudgmentArrays, rule: JudgmentArrays, message: str) -> None:
    with pytest.raises(UncorrectableError, match=message):
        correct_by_calibration(ours, rule)


def test_clipped() -> None:
    # A few acceptances fewer than the false ones alone would give: possible by chance.
    got = correct_by_calibration(run(17, 100), calibration(45, 50, 40, 50))
    assert got["value"] == 0.0
    assert got["clipped"]
    assert got["interval"]["low"] == 0
    assert got["interval"]["high"] > 0.1


@pytest.mark.parametrize(
    ("accepted", "judged", "failed"),
    [pytest.param(93, 100, 0, id="all-judged"), pytest.param(75, 80, 20, id="some-failed")],
)
def test_a_corrected_score_is_never_above_the_share_that_was_judged(accepted: int, judged: int, failed: int) -> None:
    # (A - 0.2 G) / 0.7: 0.73 / 0.7 = 1.04 of 1, and (0.75 - 0.16) / 0.7 = 0.843 of 0.8; both possible by chance.
    got = correct_by_calibration(run(accepted, judged, failed), calibration(45, 50, 40, 50))
    raw = rogan_gladen(accepted / 100, judged / 100, 0.9, 0.8)
    assert raw > judged / 100
    assert (got["value"], got["clipped"]) == (judged / 100, True)
    assert got["interval"]["high"] <= 1.0
    assert got["interval"]["low"] < got["value"]


def test_a_calibration_of_a_few_proofs_is_refused_or_says_how_little_it_rests_on() -> None:
    with pytest.raises(UncorrectableError, match="interval"):
        correct_by_calibration(run(40, 80), calibration(2, 3, 2, 3))
    few = correct_by_calibration(run(40, 80), calibration(10, 10, 9, 10))
    many = correct_by_calibration(run(40, 80), calibration(100, 100, 90, 100))
    assert few["calibration_problems"] == 20
    assert few["interval"]["evidence"] < few["interval"]["n"] / 2
    assert few["specificity"]["interval"]["evidence"] < LITTLE_EVIDENCE < many["specificity"]["interval"]["evidence"]
    width = {name: got["interval"]["high"] - got["interval"]["low"] for name, got in (("few", few), ("many", many))}
    assert width["few"] > width["many"]


def test_every_interval_of_a_correction_is_of_the_stated_level() -> None:
    ours, rule = run(40, 80, 20), calibration(45, 50, 40, 50)
    labels = {f"p{i:03}/0": i < 38 for i in range(0, 80, 2)}
    for got in (correct_by_calibration(ours, rule), correct_by_labels(ours, labels)):
        found = dict(named_intervals(got))
        assert found
        assert {interval["level"] for interval in found.values()} == {0.95}
    # And it is as wide as that: two standard errors or so to each side, here where nothing is near an end.
    got = correct_by_calibration(run(400, 800), calibration(450, 500, 400, 500))["interval"]
    assert (got["high"] - got["low"]) / got["se"] == pytest.approx(2 * 1.96, rel=0.02)


@pytest.mark.parametrize(
    ("accepted", "which"), [pytest.param(1, "fewer", id="too-few"), pytest.param(99, "more", id="too-many")]
)
def test_a_run_that_the_rules_errors_cannot_explain_is_refused(accepted: int, which: str) -> None:
    with pytest.raises(UncorrectableError, match=f"accepts {which} proofs"):
        correct_by_calibration(run(accepted, 100), calibration(40, 50, 40, 50))


@few_examples
@given(st.floats(0, 1), st.floats(0.5, 1), st.floats(0.55, 1))
def test_rogan_gladen_inverts_the_judges_error(truth: float, sensitivity: float, specificity: float) -> None:
    seen = truth * sensitivity + (1 - truth) * (1 - specificity)
    got = rogan_gladen(seen, 1.0, sensitivity, specificity)
    assert got == pytest.approx(truth, abs=1e-9)


def test_rogan_gladen_is_undefined_for_a_judge_without_skill() -> None:
    assert math.isnan(rogan_gladen(0.5, 1.0, 0.5, 0.5))
    assert math.isnan(rogan_gladen(0.5, 1.0, 0.3, 0.6))


def test_two_runs_that_share_a_calibration() -> None:
    rule = calibration(27, 30, 24, 30)
    runs = {"a": run(140, 245), "b": run(110, 245)}
    (row,) = compare_by_calibration(runs, rule)
    corrected = {name: correct_by_calibration(arrays, rule) for name, arrays in runs.items()}
    assert row["difference"] == pytest.approx(corrected["a"]["value"] - corrected["b"]["value"])
    by_hand = sum((c["interval"]["high"] - c["interval"]["low"]) for c in corrected.values())
    assert row["interval"]["high"] - row["interval"]["low"] < by_hand / 2
    plain = compare_runs(runs, metrics=["pessimistic"])["pairs"][0]
    assert row["shown"] == plain["shown"]  # a correction changes a difference's size, not its existence
    assert row["p"] == pytest.approx(plain["p"], rel=0.2)


# ---------------------------------------------------------------- with labels of the run's own proofs


def test_labels_of_everything_are_the_answer() -> None:
    arrays = run(6, 10, 2)
    labels = {key: i < 4 for i, key in enumerate(key for key in arrays.keys if key.startswith("p"))}
    got = correct_by_labels(arrays, labels)
    assert got["value"] == got["labels_only"]["value"] == pytest.approx(4 / 12)
    assert got["unlabelled"] == 0
    assert got["disagreements"] == {"false_accepts": 2, "false_rejects": 0}


def test_post_stratified_by_hand() -> None:
    # 150 of 300 accepted. Of 30 labelled 15 are accepted, 12 of those right; of the 15 others 3 are right all the same.
    arrays = run(150, 300)
    labels = {
        key: (i // 10) % 5 < 4 if i < 150 else (i // 10) % 5 == 4 for i, key in enumerate(arrays.keys) if i % 10 == 0
    }
    got = correct_by_labels(arrays, labels)
    assert got["strata"] == [
        {"stratum": "none", "share": 0.5, "labelled": 15, "correct": 0.2},
        {"stratum": "all", "share": 0.5, "labelled": 15, "correct": 0.8},
    ]
    assert got["value"] == pytest.approx(0.5 * 0.2 + 0.5 * 0.8)
    # The textbook's variance: Σ W² π(1-π)/L, with the shares W known to 1/300.
    variance = 2 * 0.25 * 0.16 / 14 + 0.36 * 0.25 / 299
    assert got["interval"]["se"] == pytest.approx(variance**0.5, rel=0.02)


def test_a_perfect_judge_makes_the_labels_go_further() -> None:
    arrays = run(150, 300)
    got = correct_by_labels(arrays, {key: i < 150 for i, key in enumerate(arrays.keys) if i % 10 == 0})
    alone, stratified = got["labels_only"]["interval"], got["interval"]
    assert stratified["high"] - stratified["low"] < 0.7 * (alone["high"] - alone["low"])
    assert stratified["high"] - stratified["low"] > 0.05  # 15 labels without an error do not exclude errors


def test_three_strata_from_four_repeats() -> None:
    votes = [[-1] * 4, [-1, -1, 0, 0], [0] * 4]
    arrays = arrays_of([prover_record(f"p{i:02}", 0, votes[i % 3]) for i in range(60)], task="prover", repeats=4)
    labels = {key: i % 3 == 0 for i, key in enumerate(arrays.keys) if i < 30}
    got = correct_by_labels(arrays, labels)
    assert [row["stratum"] for row in got["strata"]] == ["none", "some", "all"]
    assert got["value"] == pytest.approx(1 / 3)


def test_a_stratum_without_labels_joins_its_neighbour() -> None:
    arrays = run(50, 100)
    labels = {key: i % 3 > 0 for i, key in enumerate(arrays.keys) if i < 30}
    got = correct_by_labels(arrays, labels)
    assert [row["stratum"] for row in got["strata"]] == ["none+all"]
    assert got["value"] == pytest.approx(2 / 3)


def test_unequal_chances() -> None:
    # All 20 accepted proofs are labelled, and 10 of 80 others: the labelled ones alone would say 20/30.
    arrays = run(20, 100)
    labels = {key: i < 20 for i, key in enumerate(arrays.keys) if i < 30}
    chances = {key: 1.0 if i < 20 else 10 / 80 for i, key in enumerate(arrays.keys) if i < 30}
    got = correct_by_labels(arrays, Labelled(labels, chances))
    assert got["value"] == pytest.approx(0.2)
    assert got["labels_only"] is None
    assert "unequal" in got["labels_only_reason"]
    # Within a stratum: proofs with a smaller chance count for more.
    mixed = dict.fromkeys(labels, 0.5) | {key: 0.25 for i, key in enumerate(labels) if i < 10}
    right = {key: i < 10 for i, key in enumerate(labels)}
    got = correct_by_labels(arrays, Labelled(right, mixed))
    assert got["strata"][1]["correct"] == pytest.approx(10 / 0.25 / (10 / 0.25 + 10 / 0.5))


def test_runs_compared_by_labels() -> None:
    runs = {"a": run(60, 100), "b": run(40, 100)}
    labels = {
        name: Labelled({key: i < (60 if name == "a" else 40) for i, key in enumerate(arrays.keys) if i % 2})
        for name, arrays in runs.items()
    }
    (row,) = compare_by_labels(runs, labels)
    assert row["metric"] == "corrected"
    assert row["difference"] == pytest.approx(0.2)
    assert row["shown"]


@pytest.mark.parametrize(("false_accepts", "flagged"), [(1, False), (8, True)])
def test_shift(false_accepts: int, flagged: bool) -> None:
    arrays = run(50, 100)
    labels = Labelled({key: 10 + false_accepts <= i < 50 for i, key in enumerate(arrays.keys) if 10 <= i < 70})
    rule = calibration(49, 50, 49, 50)
    got = shift_test(arrays, rule, labels)
    specificity = got["rows"][1]
    assert specificity["metric"] == "specificity"
    assert specificity["here"] == pytest.approx(20 / (20 + false_accepts))
    assert specificity["difference"] == pytest.approx(20 / (20 + false_accepts) - 0.98)
    assert got["flagged"] is flagged


@pytest.mark.parametrize(
    ("calibrated", "labelled", "wanted"),
    [
        (True, 0, "calibration"),
        (True, 19, "calibration"),
        (True, 20, "labels"),
        (False, 20, "labels"),
        (False, 5, None),
    ],
)
def test_headline(calibrated: bool, labelled: int, wanted: str | None) -> None:
    assert headline(calibrated=calibrated, labelled=labelled) == wanted


def test_labels_are_refused() -> None:
    arrays = run(5, 10, 1)
    with pytest.raises(UncorrectableError, match="no judged proof of this run: x000/0"):
        correct_by_labels(arrays, {"x000/0": True})
    with pytest.raises(UncorrectableError, match="at least two problems"):
        correct_by_labels(arrays, {"p001/0": True})
