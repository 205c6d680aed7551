"""Voting rules against all subsets one by one, scipy's hypergeometric distribution, and cases by hand."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID
from proverbench.metrics.rates import published_rates
from proverbench.metrics.scores import score_prover, score_verifier
from proverbench.metrics.uncertainty import intervals
from proverbench.metrics.voting import (
    Cost,
    best_threshold,
    majority,
    pass_at_k,
    pass_probability,
    rules_of,
    subset_probability,
    voting_curve,
)
from proverbench.records import ProofRecord
from tests.metrics.made_up import (
    few_examples,
    prover_arrays,
    prover_record,
    random_prover,
    random_verifier,
    verifier_arrays,
    verifier_record,
)
from tests.support import every


def slow_vote(votes: list[int], r: int, k: int, *, accepting: bool) -> Fraction:
    """Share of the subsets of size r that accept (or reject), one subset after another."""
    subsets = list(itertools.combinations(votes, r))
    accepted = sum(sum(v == -1 for v in subset) >= k for subset in subsets)
    rejected = sum(sum(v >= 0 for v in subset) > r - k for subset in subsets)
    return Fraction(accepted if accepting else rejected, len(subsets))


def votes_of(record: ProofRecord, repeats: int) -> list[int]:
    votes = [j.first_error_step if j.valid and j.first_error_step is not None else INVALID for j in record.judgments]
    return votes + [INVALID] * (repeats - len(votes))


def test_acceptance_equals_all_subsets() -> None:
    records = random_prover(1, 5, 2, 5)
    curve = voting_curve(arrays_of(records, task="prover", samples=2, repeats=5))
    assert len(curve) == 15
    for row in curve:
        slow = [slow_vote(votes_of(record, 5), row["r"], row["k"], accepting=True) for record in records]
        assert row["value"] == pytest.approx(float(sum(slow) / len(slow)), abs=1e-12)
        assert row["metric"] == "acceptance"


def test_rates_equal_all_subsets() -> None:
    records = random_verifier(2, 6, 2, 4)
    curve = voting_curve(arrays_of(records, task="verifier", repeats=4))
    values = {(row["r"], row["k"], row["metric"]): row["value"] for row in curve}
    for r in range(1, 5):
        for k in range(1, r + 1):
            rates = []
            for label in (True, False):
                mine = [record for record in records if record.is_correct is label]
                slow = [slow_vote(votes_of(record, 4), r, k, accepting=label) for record in mine]
                rates.append(sum(slow, Fraction(0)) / len(slow))
            assert values[r, k, "tpr"] == pytest.approx(float(rates[0]), abs=1e-12)
            assert values[r, k, "tnr"] == pytest.approx(float(rates[1]), abs=1e-12)
            assert values[r, k, "bal_f1"] == pytest.approx(float(2 * rates[0] * rates[1] / sum(rates)), abs=1e-12)


@pytest.mark.parametrize("repeats", [1, 5, 8, 64])
def test_subset_probability_equals_scipy(repeats: int) -> None:
    for r in {1, (repeats + 1) // 2, repeats}:
        for k in {1, majority(r), r}:
            theirs = [stats.hypergeom(repeats, votes, r).sf(k - 1) for votes in range(repeats + 1)]
            assert subset_probability(repeats, r, k) == pytest.approx(theirs, abs=1e-12)


@few_examples
@given(st.integers(0, 10_000))
def test_ends_are_the_published_scores(seed: int) -> None:
    proved, judged = random_prover(seed, 4), random_verifier(seed, 4)
    score = score_prover(proved, samples=3, repeats=4)
    curve = voting_curve(arrays_of(proved, task="prover", samples=3, repeats=4))
    assert curve[-1]["value"] == pytest.approx(score["pessimistic"], abs=1e-12)
    assert curve[-1]["rules"] == ["k-of-r", "pessimistic"]
    rates = score_verifier(judged, repeats=4)
    curve = voting_curve(arrays_of(judged, task="verifier", repeats=4))
    for row, name in zip(curve, ("rough_tpr", "rough_tnr", "rough_bal_f1"), strict=False):
        assert row["value"] is rates[name] is None or row["value"] == pytest.approx(rates[name], abs=1e-12)


@few_examples
@given(st.integers(0, 10_000))
def test_ends_have_the_published_intervals(seed: int) -> None:
    """One quantity, one interval: also the Wilson-type one, whose number of observations must be the same."""

    def same(row: dict[str, Any], interval: Any) -> None:
        assert set(row["interval"]) == set(interval)
        for field, value in interval.items():
            if field == "wilson" or field in ("low", "high", "se"):
                assert row["interval"][field] == pytest.approx(value, abs=1e-9)
            elif field != "unreliable":  # which names the metric
                assert row["interval"][field] == value

    proved = prover_arrays(seed, 12, 4, 3)
    published = intervals(published_rates(proved))
    at = {(row["r"], row["k"]): row for row in voting_curve(proved)}
    same(at[3, 3], published["pessimistic"])
    first, *_, last = pass_at_k(proved)
    same(first, published["pessimistic"])
    same(last, published["pass_any_sample"])
    judged = verifier_arrays(seed, 12)
    published = intervals(published_rates(judged))
    for row in voting_curve(judged):
        if row["r"] == 1 and row["value"] is not None:
            same(row, published[f"rough_{row['metric']}"])


@few_examples
@given(st.integers(0, 10_000))
def test_monotone(seed: int) -> None:
    curve = voting_curve(prover_arrays(seed, 4))
    value = {(row["r"], row["k"]): row["value"] for row in curve}
    for (r, k), found in every(value.items()):
        assert 0 <= found <= 1
        if k > 1:
            assert found <= value[r, k - 1] + 1e-12  # a stricter rule accepts less
        if r < 4:
            assert value[r + 1, k] >= found - 1e-12  # more judgments for the same k accept more
            assert value[r + 1, k + 1] <= found + 1e-12  # one more that must accept too


def test_undecided_earns_nothing_by_hand() -> None:
    # One correct and one incorrect proof with the votes accept, reject, invalid. At r = 3, k = 2: one acceptance is
    # too few; rejecting needs more than 3 - 2 = 1 valid rejections, and there is one. Nobody earns anything.
    records = [verifier_record("a", "v", -1, [-1, 0, INVALID]), verifier_record("b", "w", 0, [-1, 0, INVALID])]
    curve = voting_curve(arrays_of(records, task="verifier", repeats=3))
    at = {(row["r"], row["k"], row["metric"]): row["value"] for row in curve}
    assert [at[3, 2, name] for name in ("tpr", "tnr", "bal_f1")] == [0, 0, 0]
    # At k = 3, one valid rejection (> 0) rejects: the incorrect proof earns, the correct one does not.
    assert [at[3, 3, name] for name in ("tpr", "tnr")] == [0, 1]
    # At r = 2, k = 1: 2 of the 3 pairs hold the acceptance; rejecting needs 2 rejections.
    assert at[2, 1, "tpr"] == pytest.approx(2 / 3)
    assert at[2, 1, "tnr"] == 0


def test_rules() -> None:
    assert [majority(r) for r in range(1, 7)] == [1, 2, 2, 3, 3, 4]
    assert rules_of(1, 1) == ["k-of-r", "pessimistic", "majority"]
    assert rules_of(3, 2) == ["k-of-r", "majority"]
    assert rules_of(4, 1) == ["k-of-r"]


def test_failed_generations_are_never_accepted_and_not_judged() -> None:
    records = [prover_record("a", 0, None), prover_record("b", 0, [-1, -1])]
    cost = Cost("tokens", per_proof=100, per_judgment=10)
    curve = voting_curve(arrays_of(records, task="prover", repeats=2), cost=cost)
    assert [row["value"] for row in curve] == [0.5, 0.5, 0.5]
    # Two proofs written, one judged once or twice.
    assert [row["cost"] for row in curve] == [210, 220, 220]


# ---------------------------------------------------------------- pass@k


@pytest.mark.parametrize(("samples", "passing", "k"), [(5, 2, 3), (4, 0, 2), (4, 4, 1), (6, 1, 6), (3, 2, 2)])
def test_pass_probability_equals_all_choices(samples: int, passing: int, k: int) -> None:
    outcomes = [True] * passing + [False] * (samples - passing)
    choices = list(itertools.combinations(outcomes, k))
    assert pass_probability(samples, k)[passing] == pytest.approx(sum(map(any, choices)) / len(choices))


def test_pass_at_k_ends() -> None:
    records = random_prover(8, 12, 4, 2)
    score = score_prover(records, samples=4, repeats=2)
    rows = pass_at_k(arrays_of(records, task="prover", samples=4, repeats=2))
    assert [row["k"] for row in rows] == [1, 2, 3, 4]
    assert rows[0]["value"] == pytest.approx(score["pessimistic"])
    assert rows[-1]["value"] == pytest.approx(score["pass_any_sample"])
    values = [row["value"] for row in rows]
    assert values == sorted(values)


def test_pass_at_k_with_too_few_samples_is_null_with_a_reason() -> None:
    rows = pass_at_k(prover_arrays(1, 5), [0, 2, 4])
    assert [row["value"] is None for row in rows] == [True, False, True]
    assert rows[0]["reason"] == rows[2]["reason"] == "needs k from 1 to the number of samples, 3"
    nothing = arrays_of([], task="prover", samples=2, repeats=1)
    assert [(row["value"], row["reason"]) for row in pass_at_k(nothing)] == [(None, "no problems")] * 2


@pytest.mark.parametrize("k", [0, 4])
def test_pass_at_k_refuses(k: int) -> None:
    with pytest.raises(ValueError, match="k from 1 to the number of samples, 3"):
        pass_probability(3, k)


# ---------------------------------------------------------------- threshold


def test_threshold_finds_the_rule_that_is_right() -> None:
    # Correct proofs get 2 or 3 of 3 acceptances, incorrect ones at most 1: k = 2 is perfect on every fold.
    votes = {-1: [[-1, -1, 0], [-1, -1, -1]], 1: [[-1, 0, 0], [0, 0, 1]]}
    records = [
        verifier_record(f"p{i}", f"v{i}", label, votes[label][i % 2])
        for i in range(20)
        for label in [-1 if i < 10 else 1]
    ]
    got = best_threshold(arrays_of(records, task="verifier", repeats=3))
    assert got["k"] == 2
    assert got["chosen"] == [2] * 5
    assert got["value"] == got["in_sample"] == got["majority"] == 1.0
    # Pessimistic: half of the correct proofs are accepted, all incorrect ones rejected.
    assert got["pessimistic"] == pytest.approx(2 * 0.5 / 1.5)
    assert got["gain"] == 0.0


def test_threshold_is_honest_where_nothing_can_be_learned() -> None:
    # Judgments that do not depend on the label: choosing k looks better in sample than it is.
    gaps = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        records = [
            verifier_record(f"p{i}", f"v{i}", -1 if i % 2 else 1, [int(v) for v in rng.integers(-1, 1, 5)])
            for i in range(30)
        ]
        got = best_threshold(arrays_of(records, task="verifier", repeats=5), seed=seed)
        gaps.append(got["in_sample"] - got["value"])
    assert np.mean(gaps) > 0.01


def test_threshold_by_a_slow_loop() -> None:
    arrays = verifier_arrays(3, 12, 2, 3)
    got = best_threshold(arrays, seed=4)
    assert set(got["chosen"]) <= {1, 2, 3}
    # Recompute from the folds the seed gives: problem i of the permutation is in fold i mod 5.
    order = np.random.Generator(np.random.PCG64(4)).permutation(12)
    fold = {int(problem): i % 5 for i, problem in enumerate(order)}

    def rates(k_of: dict[int, int], problems: set[int]) -> float:
        earned: dict[bool, list[int]] = {True: [], False: []}
        for row, problem in enumerate(arrays.problem):
            if int(problem) in problems:
                votes = arrays.verdict[row]
                label = bool(arrays.correct[row])
                k = k_of[int(problem)]
                earned[label].append(int((votes == -1).sum() >= k if label else (votes >= 0).sum() > 3 - k))
        tpr, tnr = np.mean(earned[True]), np.mean(earned[False])
        return float(2 * tpr * tnr / (tpr + tnr)) if tpr + tnr else 0.0

    everything = set(range(12))
    for f, chosen in enumerate(got["chosen"]):
        others = {problem for problem in everything if fold[problem] != f}
        scores = [rates(dict.fromkeys(everything, k), others) for k in (1, 2, 3)]
        assert scores[chosen - 1] == pytest.approx(max(scores))
    k_of = {problem: got["chosen"][fold[problem]] for problem in everything}
    assert got["value"] == pytest.approx(rates(k_of, everything), abs=1e-12)


def test_threshold_needs_both_classes() -> None:
    records = [verifier_record(f"p{i}", f"v{i}", -1, [-1]) for i in range(4)]
    got = best_threshold(arrays_of(records, task="verifier", repeats=1))
    assert got["value"] is None
    assert "both classes" in got["reason"]
