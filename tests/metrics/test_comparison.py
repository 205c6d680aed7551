"""Comparisons against loops, scipy, statsmodels and cases by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.comparison import align, compare_runs, judge_pairs
from proverbench.metrics.inference import holm
from proverbench.metrics.metric import itself
from proverbench.metrics.rates import RateTable, each_itself, published_rates
from tests.metrics.made_up import (
    few_examples,
    prover_arrays,
    prover_record,
    random_verifier,
    verifier_arrays,
    verifier_record,
)
from tests.support import every


def single(values: list[float]) -> RateTable:
    column = np.array(values)[:, None]
    return RateTable(("x",), column, np.ones_like(column), np.array([float(len(values))]), each_itself("x"))


def pair(first: list[float], second: list[float]) -> dict[str, Any]:
    parts = {"a": single(first).summary(), "b": single(second).summary()}
    (row,) = judge_pairs("x", {"a": float(np.mean(first)), "b": float(np.mean(second))}, parts, itself)
    return row


def test_many_problems_come_near_the_paired_t_test() -> None:
    rng = np.random.default_rng(5)
    ease = rng.beta(2, 2, 400)
    first, second = rng.binomial(4, ease) / 4, rng.binomial(4, 0.9 * ease) / 4
    theirs = stats.ttest_rel(first, second)
    got = pair(list(first), list(second))
    low, high = theirs.confidence_interval()
    assert (got["interval"]["low"], got["interval"]["high"]) == pytest.approx((low, high), abs=0.004)
    assert got["p"] == pytest.approx(theirs.pvalue, rel=0.25)
    assert got["interval"]["se"] == pytest.approx(np.std(first - second, ddof=1) / 20, rel=1e-5)


def test_a_difference_that_is_not_there_is_seldom_shown() -> None:
    rng = np.random.default_rng(4)
    ease = rng.beta(1, 1, (300, 60))
    draws = zip(rng.binomial(4, ease) / 4, rng.binomial(4, ease) / 4, strict=True)
    shown = [pair(list(a), list(b))["shown"] for a, b in draws]
    assert 0.01 < np.mean(shown) < 0.08


@few_examples
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=9))
def test_the_interval_at_the_steps_level_agrees_with_the_verdict(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows) / 4
    names = ("a", "b", "c")
    parts = {name: single(list(table[:, k])).summary() for k, name in enumerate(names)}
    values = {name: float(table[:, k].mean()) for k, name in enumerate(names)}
    for row in every(judge_pairs("x", values, parts, itself)):
        low, high = row["step_interval"]["low"], row["step_interval"]["high"]
        if abs(row["p"] - (1 - row["step_interval"]["level"])) > 1e-5:
            assert (low > 0 or high < 0) == row["shown"]
        assert row["interval"]["level"] == 0.95


def test_thirty_four_runs_can_show_a_difference() -> None:
    runs = {
        f"r{i:02}": arrays_of(
            [prover_record(f"p{k:02}", 0, [-1 if k < (45 if i == 0 else 5) else 0]) for k in range(45)],
            task="prover",
            repeats=1,
        )
        for i in range(34)
    }
    got = compare_runs(runs, metrics=["pessimistic"])
    shown = {(row["first"], row["second"]) for row in got["pairs"] if row["shown"]}
    assert shown == {("r00", f"r{i:02}") for i in range(1, 34)}
    assert got["ranks"][0] == {"metric": "pessimistic", "run": "r00", "value": 1.0, "best": 1, "worst": 1}
    assert {(row["best"], row["worst"]) for row in got["ranks"][1:]} == {(2, 34)}


def test_two_runs_without_a_success_may_differ_all_the_same() -> None:
    row = pair([0.0] * 60, [0.0] * 60)
    assert row["difference"] == 0
    assert row["p"] == 1
    assert -0.07 < row["interval"]["low"] < -0.03
    assert row["interval"]["high"] == -row["interval"]["low"]


def test_the_same_problems_again() -> None:
    rng = np.random.default_rng(2)
    ease = rng.beta(0.4, 0.4, 60)

    def run(more: float) -> JudgmentArrays:
        votes = rng.random((60, 4)) < np.clip(ease[:, None] + more, 0, 1)
        records = [prover_record(f"p{i:02}", s, [-1 if votes[i, s] else 0]) for i in range(60) for s in range(4)]
        return arrays_of(records, task="prover", samples=4, repeats=1)

    (row,) = compare_runs({"a": run(0.0), "b": run(0.2)}, metrics=["pessimistic"])["pairs"]
    same = row["same_problems"]
    assert same["interval"]["high"] - same["interval"]["low"] < row["interval"]["high"] - row["interval"]["low"]
    assert (same["p"] < 0.05) == (same["interval"]["high"] < 0)
    single_sample = {name: prover_arrays(seed, 8, samples=1) for name, seed in (("a", 1), ("b", 2))}
    assert compare_runs(single_sample, metrics=["pessimistic"])["pairs"][0]["same_problems"] is None
    assert "same_problems" not in compare_runs(single_sample, metrics=["pass_any_sample"])["pairs"][0]


@pytest.mark.parametrize("size", [1, 3, 8])
def test_holm_equals_statsmodels(size: int) -> None:
    p_values = np.random.default_rng(size).random(size) ** 3
    assert holm(list(p_values)) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_holm_by_hand() -> None:
    # 0.01·3 = 0.03; 0.03·2 = 0.06; 0.04·1 = 0.04, kept at 0.06.
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_compare_finds_a_difference_and_ranks() -> None:
    def run(solved: int) -> list[list[int]]:
        return [[-1] if i < solved else [0] for i in range(40)]

    runs = {
        name: arrays_of(
            [prover_record(f"p{i:02}", 0, votes) for i, votes in enumerate(run(solved))], task="prover", repeats=1
        )
        for name, solved in (("good", 30), ("fair", 29), ("poor", 5))
    }
    got = compare_runs(runs, metrics=["pessimistic"])
    by_pair = {(row["first"], row["second"]): row for row in got["pairs"]}
    near, far = by_pair["good", "fair"], by_pair["good", "poor"]
    assert near["difference"] == 0.025
    assert near["p"] > 0.3
    assert not near["shown"]
    assert near["verdict"] == "no difference shown"
    assert far["difference"] == 0.625
    assert far["interval"]["low"] > 0.4
    assert far["p_holm"] < 0.001
    assert far["verdict"] == "good is higher"
    assert [(row["run"], row["best"], row["worst"]) for row in got["ranks"]] == [
        ("good", 1, 2),
        ("fair", 1, 2),
        ("poor", 3, 3),
    ]


@few_examples
@given(st.integers(0, 1000))
def test_swapping_runs_swaps_signs(seed: int) -> None:
    runs = {"a": prover_arrays(seed, 6), "b": prover_arrays(seed + 1, 6)}
    one = compare_runs(runs)
    other = compare_runs(dict(reversed(runs.items())))
    for row, mirrored in every(zip(one["pairs"], other["pairs"], strict=True)):
        assert row["difference"] == -mirrored["difference"]
        assert row["p"] == pytest.approx(mirrored["p"], rel=1e-3)
        assert (row["interval"]["low"], row["interval"]["high"]) == pytest.approx(
            (-mirrored["interval"]["high"], -mirrored["interval"]["low"]), abs=1e-4
        )


def test_a_run_does_not_differ_from_itself() -> None:
    got = compare_runs({"a": verifier_arrays(1, meta=True), "b": verifier_arrays(1, meta=True)}, meta=True)
    assert {row["metric"] for row in got["pairs"]} >= {"rough_bal_f1", "meta_ver_bal_f1"}
    for row in got["pairs"]:
        assert row["difference"] == 0
        assert row["interval"]["low"] < 0 < row["interval"]["high"]
        assert row["p"] == 1
        assert not row["shown"]


def test_different_repeats_and_samples_are_comparable() -> None:
    many = prover_arrays(1, 8, samples=4, repeats=2)
    few = prover_arrays(1, 8, samples=2, repeats=1)
    got = compare_runs({"many": many, "few": few}, metrics=["pessimistic"])
    assert got["pairs"][0]["first_value"] == pytest.approx(published_rates(many).point()["pessimistic"])


def test_a_metric_without_its_class_is_named_and_not_compared() -> None:
    runs = {
        name: arrays_of([verifier_record("p", "v", -1, [verdict])], task="verifier", repeats=1)
        for name, verdict in (("a", -1), ("b", 0))
    }
    got = compare_runs(runs, metrics=["rough_tpr", "rough_tnr"])
    assert [row["metric"] for row in got["pairs"]] == ["rough_tpr"]
    assert got["undefined"] == ["rough_tnr"]


def test_only_common_proofs_are_compared() -> None:
    records = random_verifier(2, 8)
    shorter = arrays_of(records[:-3], task="verifier", repeats=4)
    whole = arrays_of(list(reversed(records)), task="verifier", repeats=4)
    aligned, left_out = align({"whole": whole, "shorter": shorter})
    assert left_out == {"whole": 3, "shorter": 0}
    assert aligned["whole"].keys == aligned["shorter"].keys
    assert np.array_equal(aligned["whole"].verdict, aligned["shorter"].verdict)


def test_refusals() -> None:
    verifier = verifier_arrays(1, 3)
    with pytest.raises(ValueError, match="at least two"):
        compare_runs({"a": verifier})
    with pytest.raises(ValueError, match="different tasks"):
        compare_runs({"a": verifier, "b": prover_arrays(1, 3)})
    far = arrays_of([verifier_record("p", "elsewhere", -1, [-1])], task="verifier", repeats=1)
    with pytest.raises(ValueError, match="no proof in common"):
        compare_runs({"a": verifier, "b": far})
    one = arrays_of([verifier_record("p", "v", -1, [-1])], task="verifier", repeats=1)
    other = arrays_of([verifier_record("p", "v", 1, [-1])], task="verifier", repeats=1)
    with pytest.raises(ValueError, match="proof v has other steps or another label in b"):
        compare_runs({"a": one, "b": other})
