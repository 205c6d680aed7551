"""Which proofs people label: strata, chances, order."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.people.draw import SIMPLE, draw
from proverbench.records import Judgment, ProofRecord


def record(number: int, accepts: int, repeats: int = 4) -> ProofRecord:
    judgments = [Judgment(repeat=at, valid=True, first_error_step=-1 if at < accepts else 0) for at in range(repeats)]
    return ProofRecord(problem_id=f"p{number}", steps=["s"], judgments=judgments)


def run(none: int, some: int, every: int) -> list[ProofRecord]:
    accepts = [0] * none + [2] * some + [4] * every
    return [record(number, accepted) for number, accepted in enumerate(accepts)]


def test_strata_have_their_floor_and_the_rest_in_proportion() -> None:
    drawn = draw(run(100, 20, 280), 4, 40)
    assert Counter(proof.stratum for proof in drawn) == {"none": 10, "some": 10, "all": 20}
    assert {(p.stratum, p.stratum_size, p.probability) for p in drawn} == {
        ("none", 100, 0.1),
        ("some", 20, 0.5),
        ("all", 280, 20 / 280),
    }


def test_a_rejected_proof_is_one_stratum_where_there_are_few_repeats() -> None:
    records = [record(0, 0, 2), record(1, 1, 2), record(2, 2, 2)]
    assert {proof.key: proof.stratum for proof in draw(records, 2)} == {"p0/0": "none", "p1/0": "none", "p2/0": "all"}


def test_a_simple_draw_gives_every_proof_one_chance() -> None:
    drawn = draw(run(10, 0, 30), 4, 20, simple=True)
    assert {(p.stratum, p.stratum_size, p.probability) for p in drawn} == {(SIMPLE, 40, 0.5)}


def test_what_was_not_judged_is_not_drawn() -> None:
    records = [*run(1, 0, 1), ProofRecord(problem_id="x", generation_error="no_proof_steps")]
    assert sorted(proof.key for proof in draw(records, 4)) == ["p0/0", "p1/0"]
    with pytest.raises(ValueError, match="2 judged proofs, fewer than the 3 to choose"):
        draw(records, 4, 3)


@settings(max_examples=40)
@given(*[st.integers(0, 30)] * 3, st.data())
def test_a_draw_has_its_size_no_proof_twice_and_chances_that_add_up(none, some, every, data) -> None:
    total = none + some + every
    choose = data.draw(st.integers(0, total))
    drawn = draw(run(none, some, every), 4, choose, seed=data.draw(st.integers(0, 5)))
    assert len({proof.key for proof in drawn}) == len(drawn) == choose
    for stratum, count in Counter(proof.stratum for proof in drawn).items():
        (size,) = {proof.stratum_size for proof in drawn if proof.stratum == stratum}
        assert {Fraction(proof.probability).limit_denominator(1000) for proof in drawn if proof.stratum == stratum} == {
            Fraction(count, size)
        }


def test_the_same_seed_draws_the_same_and_another_another() -> None:
    records = run(30, 30, 30)
    assert draw(records, 4, 30) == draw(records, 4, 30)
    assert draw(records, 4, 30) != draw(records, 4, 30, seed=1)
    strata = [proof.stratum for proof in draw(records, 4, 30)]
    assert strata != sorted(strata)  # who stops early has labelled of each
