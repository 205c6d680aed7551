"""Comparisons against loops, scipy, statsmodels and cases by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from proverbench.metrics.arrays import arrays_of
from proverbench.metrics.comparison import align, compare_runs, difference_interval, holm, normalised, sign_flip_p
from proverbench.metrics.rates import RateTable, each_itself, published_rates
from tests.metrics.made_up import (
    drawn_problems,
    few_examples,
    prover_arrays,
    prover_record,
    random_verifier,
    verifier_arrays,
    verifier_record,
)


def single(values: list[float]) -> RateTable:
    column = np.array(values)[:, None]
    return RateTable(("x",), column, np.ones_like(column), np.array([float(len(values))]), each_itself("x"))


def test_sign_flips_by_hand() -> None:
    # Differences 1, 1, 1 (and a problem that does not differ): of 8 exchanges two are as extreme as all three alike.
    assert sign_flip_p(single([1, 1, 1, 0.5]), single([0, 0, 0, 0.5]), "x") == pytest.approx(2 / 8)
    assert sign_flip_p(single([1, 0]), single([1, 0]), "x") == 1.0


@few_examples
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7))
def test_sign_flips_equal_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = [a / 4 for a, _ in pairs], [b / 4 for _, b in pairs]
    difference = np.array(first) - np.array(second)
    if not difference.any():
        return
    theirs = stats.permutation_test((difference,), np.mean, permutation_type="samples", n_resamples=np.inf)
    # scipy doubles the smaller tail, which for sign flips is the same as both tails together.
    assert sign_flip_p(single(first), single(second), "x") == pytest.approx(theirs.pvalue)


def test_random_flips_come_near_the_exact_p() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 5, 12) / 4, rng.integers(0, 4, 12) / 4
    exact = sign_flip_p(single(list(first)), single(list(second)), "x")
    drawn = sign_flip_p(single(list(first)), single(list(second)), "x", permutations=4000)
    assert drawn == pytest.approx(exact, abs=0.03)


def test_a_difference_that_is_not_there_is_seldom_shown() -> None:
    rng = np.random.default_rng(4)
    ease = rng.random((400, 25))
    shown = [
        sign_flip_p(single(list(a)), single(list(b)), "x", permutations=200) < 0.05
        for a, b in zip(rng.binomial(4, ease) / 4, rng.binomial(4, ease) / 4, strict=True)
    ]
    assert 0.025 < np.mean(shown) < 0.075


def test_flips_of_a_composite_equal_a_loop() -> None:
    runs = {"a": verifier_arrays(1, 6, 2, 2), "b": verifier_arrays(1, 6, 2, 2, judge=9)}
    common, _ = align(runs)
    first, second = (normalised(published_rates(arrays)) for arrays in common.values())

    def f1(table_a: RateTable, table_b: RateTable, exchanged: tuple[int, ...]) -> float:
        values = []
        for mine, other in ((table_a, table_b), (table_b, table_a)):
            earned = sum((other if flip else mine).earned[i] for i, flip in enumerate(exchanged))
            possible = sum((other if flip else mine).possible[i] for i, flip in enumerate(exchanged))
            tpr, tnr = (earned[mine.names.index(n)] / possible[mine.names.index(n)] for n in ("rough_tpr", "rough_tnr"))
            values.append(2 * tpr * tnr / (tpr + tnr) if tpr + tnr else 0.0)
        return float(abs(values[0] - values[1]))

    observed = f1(first, second, (0,) * 6)
    slow = [f1(first, second, flips) >= observed - 1e-9 for flips in itertools.product((0, 1), repeat=6)]
    assert sign_flip_p(first, second, "rough_bal_f1") == pytest.approx(np.mean(slow))


def test_difference_interval_equals_a_loop() -> None:
    first, second = single([1, 0.5, 0, 1, 0.25]), single([0, 0.5, 0.25, 0.5, 0])
    difference = (first.earned - second.earned)[:, 0]
    slow = [difference[drawn].mean() for drawn in drawn_problems(5, 200, 3)]
    got = difference_interval(first, "x", second, "x", resamples=200, seed=3)
    assert (got["low"], got["high"]) == pytest.approx(tuple(np.percentile(slow, [2.5, 97.5])), abs=1e-11)
    assert got["se"] == pytest.approx(np.std(slow, ddof=1), abs=1e-11)


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
    assert near["p"] == 1.0  # one problem differs: both exchanges are as extreme
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
    one = compare_runs(runs, resamples=20, permutations=200)
    other = compare_runs(dict(reversed(runs.items())), resamples=20, permutations=200)
    for row, mirrored in zip(one["pairs"], other["pairs"], strict=True):
        assert row["difference"] == -mirrored["difference"]
        assert row["p"] == mirrored["p"]
        assert (row["interval"]["low"], row["interval"]["high"]) == pytest.approx(
            (-mirrored["interval"]["high"], -mirrored["interval"]["low"]), abs=1e-11
        )


def test_a_run_does_not_differ_from_itself() -> None:
    got = compare_runs({"a": verifier_arrays(1, meta=True), "b": verifier_arrays(1, meta=True)}, meta=True)
    assert {row["metric"] for row in got["pairs"]} >= {"rough_bal_f1", "meta_ver_bal_f1"}
    for row in got["pairs"]:
        assert row["difference"] == row["interval"]["low"] == row["interval"]["high"] == 0
        assert row["p"] == 1
        assert not row["shown"]


def test_different_repeats_and_samples_are_comparable() -> None:
    many = prover_arrays(1, 8, samples=4, repeats=2)
    few = prover_arrays(1, 8, samples=2, repeats=1)
    tables = [normalised(published_rates(arrays)) for arrays in (many, few)]
    assert (tables[0].possible == 1).all()
    assert (tables[1].possible == 1).all()
    got = compare_runs({"many": many, "few": few}, metrics=["pessimistic"])
    assert got["pairs"][0]["first_value"] == pytest.approx(published_rates(many).point()["pessimistic"])


def test_a_metric_without_its_class_is_named_and_not_compared() -> None:
    runs = {
        name: arrays_of([verifier_record("p", "v", -1, [verdict])], task="verifier", repeats=1)
        for name, verdict in (("a", -1), ("b", 0))
    }
    got = compare_runs(runs, metrics=["rough_tpr", "rough_tnr"], resamples=5)
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
