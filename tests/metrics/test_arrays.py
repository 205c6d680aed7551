"""Records to arrays and back: what is kept, and selection."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.metrics.array_building import ArrayBuilder, arrays_of
from proverbench.metrics.arrays import INVALID
from proverbench.records import Annotation, ProofRecord
from tests.metrics.made_up import few_examples, prover_record, random_prover, random_verifier, verifier_record


def test_codes() -> None:
    records = [
        prover_record("b", 0, [-1, INVALID, 2], domain="ugd"),
        prover_record("a", 0, None, domain="qe"),
        prover_record("a", 1, [-1], domain="qe"),  # two judgments are missing
    ]
    arrays = arrays_of(iter(records), task="prover", samples=2, repeats=3)
    assert arrays.problems == ("a", "b")
    assert arrays.problem.tolist() == [1, 0, 0]
    assert arrays.keys == ("b/0", "a/0", "a/1")
    assert arrays.verdict.tolist() == [[-1, INVALID, 2], [INVALID] * 3, [-1, INVALID, INVALID]]
    assert arrays.generated.tolist() == [True, False, True]
    assert arrays.accepts.tolist() == [1, 0, 1]
    assert arrays.rejects.tolist() == [1, 0, 0]
    assert arrays.label.tolist() == [INVALID] * 3
    assert arrays.digest[0] == arrays.digest[2] != arrays.digest[1]
    qe = arrays.split("qe")
    assert qe.problems == ("a",)
    assert qe.problem.tolist() == [0, 0]
    assert arrays.split("all") is arrays
    assert arrays.split("nowhere").keys == ()


def test_steps_that_join_to_the_same_text_differ() -> None:
    records = [ProofRecord(problem_id=name, steps=steps) for name, steps in (("a", ["xy", "z"]), ("b", ["x", "yz"]))]
    arrays = arrays_of(records, task="prover", repeats=1)
    assert arrays.digest[0] != arrays.digest[1]


@pytest.mark.parametrize(
    ("annotation", "severity"),
    [
        pytest.param(None, 0, id="unknown"),
        pytest.param(Annotation(-1, [-1]), 0, id="correct"),
        pytest.param(Annotation(2, [0]), 1, id="both"),
        pytest.param(Annotation(-1, [0, 3]), 2, id="recoverable"),
    ],
)
def test_severity(annotation: Annotation | None, severity: int) -> None:
    arrays = arrays_of([ProofRecord(proof_id="v", annotation=annotation)], task="verifier", repeats=1)
    assert arrays.severity.tolist() == [severity]


def test_a_record_without_problem_is_a_cluster_of_its_own() -> None:
    records = [verifier_record("", f"v{i}", -1, [-1]) for i in range(3)]
    assert len(arrays_of(records, task="verifier", repeats=1).problems) == 3


def test_nothing() -> None:
    arrays = arrays_of([], task="verifier", repeats=2)
    assert arrays.verdict.shape == (0, 2)
    assert arrays.problems == ()


def test_refuses_more_judgments_than_repeats() -> None:
    with pytest.raises(ValueError, match="3 judgments, but repeats is 2"):
        arrays_of([prover_record("a", 0, [-1, -1, -1])], task="prover", repeats=2)


@few_examples
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_order_of_records_moves_only_rows(seed: int, shuffle: random.Random) -> None:
    records = random_verifier(seed, 6)
    first = arrays_of(records, task="verifier", repeats=4)
    shuffle.shuffle(records)
    second = arrays_of(records, task="verifier", repeats=4)
    assert second.problems == first.problems
    place = {key: row for row, key in enumerate(second.keys)}
    moved = second.select(np.array([place[key] for key in first.keys], dtype=np.intp))
    for name in ("problem", "verdict", "label", "digest", "severity", "steps"):
        assert np.array_equal(getattr(moved, name), getattr(first, name)), name


def test_memory_is_a_few_bytes_a_judgment() -> None:
    builder = ArrayBuilder(task="prover", samples=4, repeats=8)
    for record in random_prover(1, 50, 4, 8):
        builder.add(record)
    arrays = builder.build()
    held = arrays.verdict.nbytes + arrays.meta.nbytes
    assert held == 5 * arrays.verdict.size
