"""Panels of judges, against every subset and every vote."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.panel import RULES, crossed, panel_chances, panel_scores
from proverbench.records import Judgment, ProofRecord
from proverbench.show.matrix import kendall_tau


def run(votes: list[list[bool]]):
    """A ProverBench split of a problem for each two proofs; ``votes`` are each proof's judgments."""
    records = [
        ProofRecord(
            problem_id=f"p{i // 2}",
            sample_index=i % 2,
            steps=["a"],
            judgments=[
                Judgment(repeat=r, valid=True, first_error_step=-1 if vote else 0) for r, vote in enumerate(row)
            ],
            score=float(all(row)),
        )
        for i, row in enumerate(votes)
    ]
    return arrays_of(records, task="prover", samples=2, repeats=len(votes[0]))


VOTES = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=4, max_size=4)


@given(st.lists(VOTES, min_size=2, max_size=4))
def test_the_curve_is_the_mean_over_every_choice_of_judgments(judges):
    found = panel_scores({f"j{i}": run(votes) for i, votes in enumerate(judges)})
    for row in found["curve"]:
        subsets = list(itertools.combinations(range(3), row["repeats"]))
        total = Fraction(0)
        for proof in range(4):
            for chosen in itertools.product(subsets, repeat=len(judges)):
                accepts = sum(all(judge[proof][r] for r in c) for judge, c in zip(judges, chosen, strict=True))
                least = {"any": 1, "majority": len(judges) // 2 + 1, "all": len(judges)}[row["rule"]]
                total += Fraction(int(accepts >= least), len(subsets) ** len(judges) * 4)
        assert row["value"] == pytest.approx(float(total), abs=1e-11)
    for rule in RULES:
        last = next(row for row in found["curve"] if row["rule"] == rule and row["repeats"] == 3)
        assert found["rules"][rule]["value"] == last["value"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_chances_are_ordered_and_within_their_range(chances):
    found = panel_chances(np.array(chances)[:, None])
    values = [float(found[rule][0]) for rule in ("all", "majority", "any")]
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in values)
    assert values[0] <= values[1] + 1e-12 <= values[2] + 2e-12


def test_crossed_counts_both_ways_by_each_runs_own_rule():
    both = {
        "a": run([[True] * 2, [True] * 2, [True, False], [False] * 2]),
        "b": run([[True, False], [True] * 2, [True] * 2, [False] * 2]),
    }
    rows = {(row["accepts"], row["rejects"]): row for row in crossed(both)}
    assert rows["a", "b"]["keys"] == ["p0/0"]
    assert rows["b", "a"]["keys"] == ["p1/0"]
    assert rows["a", "b"]["of"] == 4


def test_other_proofs_are_refused():
    with pytest.raises(ValueError, match="did not judge the same proofs"):
        panel_scores({"a": run([[True], [True]]), "b": run([[True]] * 4)})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
def test_kendalls_tau_b(pairs):
    first, second = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found = kendall_tau(first, second)
    if found is None:
        assert len(set(first)) < 2 or len(set(second)) < 2
    else:
        assert found == pytest.approx(stats.kendalltau(first, second).statistic)
