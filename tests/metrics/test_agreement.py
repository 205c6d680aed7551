"""Agreement against scikit-learn, statsmodels, krippendorff, loops over pairs, and cases by hand."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as their_fleiss

from proverbench.metrics.agreement import (
    VIEWS,
    human_agreement,
    panel_agreement,
    repeat_agreement,
    same_proofs,
    step_confusion,
)
from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.coefficients import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha, raw_agreement
from tests.metrics.made_up import few_examples, prover_record, verifier_arrays, verifier_record
from tests.support import every


def agrees(one: int, other: int, view: str) -> bool:
    if view == "accept" or -1 in (one, other):
        return (one == -1) == (other == -1)
    return abs(one - other) <= (1 if view == "step_within_1" else 0)


def row_of(rows: list[dict[str, Any]], measure: str, view: str) -> dict[str, Any]:
    (row,) = [row for row in rows if row["measure"] == measure and row["on"] == view]
    return row


codes = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=2, max_size=12)


@few_examples
@given(codes)
def test_cohen_equals_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert raw_agreement(first, second) == pytest.approx(np.mean([a == b for a, b in pairs]))
    if len({*first, *second}) == 1:
        assert math.isnan(cohen_kappa(first, second))
        return
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    assert cohen_kappa(second, first) == pytest.approx(cohen_kappa(first, second), abs=1e-12)


def test_cohen_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = 0.7; p_e = 0.5·0.6 + 0.5·0.4 = 0.5; κ = 0.4.
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def slow_ac1(pairs: list[tuple[int, int]], values: list[int]) -> float:
    """Gwet's (2008) formulas, value by value."""
    shares = [sum((a == k) + (b == k) for a, b in pairs) / (2 * len(pairs)) for k in values]
    chance = sum(share * (1 - share) for share in shares) / (len(values) - 1)
    return (sum(a == b for a, b in pairs) / len(pairs) - chance) / (1 - chance)


@few_examples
@given(codes)
def test_ac1_equals_its_definition(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert gwet_ac1(first, second, values=5) == pytest.approx(slow_ac1(pairs, [-1, 0, 1, 2, 3]), abs=1e-12)


def test_ac1_by_hand() -> None:
    # Accept by both 18, by one alone 1 each, by none 0 of 20: p_o = 0.9, π = 0.95, p_e = 2·0.95·0.05 = 0.095.
    first, second = [1] * 19 + [0], [1] * 18 + [0, 1]
    assert gwet_ac1(first, second, values=2) == pytest.approx((0.9 - 0.095) / 0.905)
    assert cohen_kappa(first, second) < 0  # the paradox that AC1 was made for
    assert gwet_ac1([1] * 5, [1] * 5, values=2) == 1
    assert math.isnan(gwet_ac1([], [], values=2))
    with pytest.raises(ValueError, match="at least 2"):
        gwet_ac1([1], [1], values=1)


tables = st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=2, max_size=10)


@few_examples
@given(tables)
def test_fleiss_equals_statsmodels(ratings: list[list[int]]) -> None:
    counts = np.array([np.bincount(row, minlength=3) for row in ratings])
    if np.count_nonzero(counts.sum(axis=0)) == 1:
        assert math.isnan(fleiss_kappa(counts))
        return
    assert fleiss_kappa(counts) == pytest.approx(their_fleiss(counts), abs=1e-12)


def test_fleiss_refuses_different_numbers_of_judges() -> None:
    with pytest.raises(ValueError, match="same number of judges"):
        fleiss_kappa([[2, 1], [1, 1]])
    with pytest.raises(ValueError, match="at least 2"):
        fleiss_kappa([[1, 0]])
    assert math.isnan(fleiss_kappa(np.zeros((0, 2))))


def slow_alpha(units: list[list[int]]) -> float:
    """Krippendorff's definition: observed over expected disagreement of pairable values."""
    units = [unit for unit in units if len(unit) >= 2]
    values = [value for unit in units for value in unit]
    observed = sum(sum(a != b for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    expected = sum(a != b for a, b in itertools.permutations(values, 2)) / (len(values) - 1)
    return 1 - observed / expected


@few_examples
@given(st.lists(st.lists(st.integers(0, 2), max_size=4), min_size=2, max_size=10))
def test_alpha_equals_its_definition(units: list[list[int]]) -> None:
    counts = np.array([np.bincount(unit, minlength=3) for unit in units])
    pairable = {value for unit in units if len(unit) >= 2 for value in unit}
    if len(pairable) < 2:
        assert math.isnan(krippendorff_alpha(counts))
        return
    assert krippendorff_alpha(counts) == pytest.approx(slow_alpha(units), abs=1e-12)


# ---------------------------------------------------------------- of runs


def valid_votes(arrays: JudgmentArrays) -> Iterator[list[int]]:
    for row in arrays.verdict:
        yield [int(v) for v in row if v != INVALID]


@pytest.mark.parametrize("view", VIEWS)
def test_repeats_equal_a_loop_over_pairs(view: str) -> None:
    arrays = verifier_arrays(1, 15)
    got = row_of(repeat_agreement(arrays), "raw_agreement", view)
    shares = [
        np.mean([agrees(a, b, view) for a, b in itertools.combinations(votes, 2)])
        for votes in valid_votes(arrays)
        if len(votes) >= 2
    ]
    assert got["value"] == pytest.approx(np.mean(shares), abs=1e-11)
    assert got["n"] == len(shares)
    assert got["left_out"] == len(arrays.keys) - len(shares)
    assert got["interval"]["low"] <= got["value"] <= got["interval"]["high"]


def test_repeats_equal_statsmodels_and_krippendorff() -> None:
    arrays = verifier_arrays(2, 15)
    rows = repeat_agreement(arrays)
    full = (arrays.verdict != INVALID).all(axis=1)
    steps = np.array([np.bincount(row + 1, minlength=4) for row in arrays.verdict[full]])
    assert row_of(rows, "fleiss_kappa", "step")["value"] == pytest.approx(their_fleiss(steps), abs=1e-11)
    accept = np.stack([steps[:, 0], steps[:, 1:].sum(axis=1)], axis=1)
    assert row_of(rows, "fleiss_kappa", "accept")["value"] == pytest.approx(their_fleiss(accept), abs=1e-11)
    data = np.where(arrays.verdict == INVALID, np.nan, arrays.verdict.astype(float))
    theirs = krippendorff.alpha(reliability_data=data.T, level_of_measurement="nominal")
    assert row_of(rows, "krippendorff_alpha", "step")["value"] == pytest.approx(theirs, abs=1e-11)
    # The interval's own form of alpha must be the library's: resampling nothing away gives the value itself.
    alpha = row_of(rows, "krippendorff_alpha", "step")
    assert alpha["interval"]["low"] < alpha["value"] < alpha["interval"]["high"]


def test_kappas_standard_error_comes_near_statsmodels() -> None:
    # One judgment and one proof a problem: theirs takes proofs as independent, and so they are.
    rng = np.random.default_rng(6)
    truth = rng.random(500) < 0.6
    said = np.where(rng.random(500) < 0.85, truth, ~truth)
    records = [verifier_record(f"p{i}", f"v{i}", -1 if truth[i] else 0, [-1 if said[i] else 0]) for i in range(500)]
    rows = human_agreement(arrays_of(records, task="verifier", repeats=1))
    theirs = cohens_kappa(confusion_matrix(truth, said))
    row = row_of(rows, "cohen_kappa", "accept")
    assert row["value"] == pytest.approx(theirs.kappa)
    assert row["interval"]["se"] == pytest.approx(theirs.std_kappa, rel=0.02)
    assert row["interval"]["low"] == pytest.approx(theirs.kappa_low, abs=0.01)
    assert row["interval"]["high"] == pytest.approx(theirs.kappa_upp, abs=0.01)


def test_full_agreement_still_has_an_interval() -> None:
    records = [verifier_record(f"p{i}", f"v{i}", -1 if i % 3 else 0, [-1 if i % 3 else 0]) for i in range(45)]
    rows = human_agreement(arrays_of(records, task="verifier", repeats=1))
    for measure in ("raw_agreement", "cohen_kappa", "gwet_ac1"):
        row = row_of(rows, measure, "accept")
        assert row["value"] == row["interval"]["high"] == 1
        assert 0.6 < row["interval"]["low"] < 0.97
    same = [verifier_record(f"p{i}", f"v{i}", -1, [-1]) for i in range(45)]
    rows = human_agreement(arrays_of(same, task="verifier", repeats=1))
    assert row_of(rows, "cohen_kappa", "accept")["value"] is None
    assert row_of(rows, "gwet_ac1", "accept")["value"] == 1
    assert row_of(rows, "gwet_ac1", "accept")["interval"]["low"] == pytest.approx(0.05 ** (1 / 45), abs=1e-4)


def test_one_repeat_has_nothing_to_agree_with() -> None:
    for row in every(repeat_agreement(verifier_arrays(1, 5, repeats=1))):
        assert row["value"] is None
        assert row["reason"]


def test_human_with_one_repeat_equals_scikit_learn() -> None:
    arrays = verifier_arrays(3, 25, repeats=1)
    rows = human_agreement(arrays)
    valid = arrays.verdict[:, 0] != INVALID
    judge, human = arrays.verdict[valid, 0], arrays.label[valid]
    for view, a, b in (("accept", judge == -1, human == -1), ("step", judge, human)):
        row = row_of(rows, "cohen_kappa", view)
        assert row["value"] == pytest.approx(cohen_kappa_score(a, b), abs=1e-11)
        assert row["n"] == valid.sum()
        assert row["left_out"] == (~valid).sum()
    near = row_of(rows, "raw_agreement", "step_within_1")["value"]
    assert near == pytest.approx(np.mean([agrees(a, b, "step_within_1") for a, b in zip(judge, human, strict=True)]))


def test_human_weighs_proofs_alike() -> None:
    records = [verifier_record("a", "v", -1, [-1, -1, -1]), verifier_record("b", "w", 0, [-1, INVALID, INVALID])]
    rows = human_agreement(arrays_of(records, task="verifier", repeats=3))
    assert row_of(rows, "raw_agreement", "accept")["value"] == 0.5


def test_panel() -> None:
    runs = {f"j{judge}": verifier_arrays(1, 15, judge=judge, repeats=3) for judge in (5, 6, 7)}
    got = panel_agreement(runs)
    assert got["left_out"] == {"j5": 0, "j6": 0, "j7": 0}
    assert len({(row["first"], row["second"]) for row in got["pairs"]}) == 3
    for view in VIEWS:
        votes = [list(valid_votes(runs[name])) for name in ("j5", "j6")]
        shares = [
            np.mean([agrees(a, b, view) for a, b in itertools.product(one, other)])
            for one, other in zip(*votes, strict=True)
            if one and other
        ]
        mine = [row for row in got["pairs"] if (row["first"], row["second"]) == ("j5", "j6")]
        assert row_of(mine, "raw_agreement", view)["value"] == pytest.approx(np.mean(shares), abs=1e-11)

    def opinion(votes: Sequence[int]) -> int | None:
        counts = {value: votes.count(value) for value in votes}
        leading = [value for value in counts if counts[value] == max(counts.values())]
        return leading[0] if len(leading) == 1 else None

    for view in ("accept", "step"):
        opinions = [
            [
                opinion([int(vote == -1) if view == "accept" else vote for vote in votes])
                for votes in valid_votes(arrays)
            ]
            for arrays in runs.values()
        ]
        data = np.array([[np.nan if value is None else value for value in judge] for judge in opinions])
        theirs = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
        assert row_of(got["panel"], "krippendorff_alpha", view)["value"] == pytest.approx(theirs, abs=1e-11)


def test_a_judge_agrees_with_itself() -> None:
    arrays = verifier_arrays(1, 15, repeats=1)
    got = panel_agreement({"a": arrays, "b": arrays})
    for row in [*got["pairs"], *got["panel"]]:
        assert row["value"] == 1.0, row


def test_only_the_same_proofs_are_joined() -> None:
    def run(second: str) -> JudgmentArrays:
        records = [prover_record("a", 0, [-1]), prover_record("b", 0, None)]
        other = prover_record("c", 0, [0])
        other.steps.append(second)
        return arrays_of([*records, other], task="prover", repeats=1)

    joined, left_out = same_proofs({"x": run("this"), "y": run("that")})
    assert joined["x"].keys == ("a/0",)
    assert left_out == {"x": 1, "y": 1}
    with pytest.raises(ValueError, match="no proof in common"):
        same_proofs({"x": run("this"), "z": verifier_arrays(1, 3)})


def test_confusion_equals_scikit_learn() -> None:
    arrays = verifier_arrays(4, 20)
    got = step_confusion(arrays)
    reported = arrays.verdict.ravel()
    annotated = np.repeat(arrays.label, arrays.repeats)
    names = [int(name) for name in got["annotated"]]
    columns = [int(name) for name in got["reported"][:-1]]
    everything = confusion_matrix(annotated, reported, labels=[*columns, INVALID])
    assert got["counts"] == everything[: len(names), :].tolist()
    assert np.sum(got["counts"]) == arrays.verdict.size


def test_there_is_no_confusion_of_unlabelled_proofs() -> None:
    arrays = arrays_of([prover_record("a", 0, [-1])], task="prover", repeats=1)
    assert step_confusion(arrays) is None
