"""Breakdowns add up, and tiny groups get no conclusion."""

import pytest

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.breakdown import FACTORS, breakdown
from proverbench.metrics.scores import score_verifier
from proverbench.records import Annotation, ProofRecord
from tests.metrics.made_up import judgment, prover_record, random_verifier, verifier_arrays, verifier_record


def test_groups_equal_the_scores_of_their_records() -> None:
    records = random_verifier(1, 40)
    arrays = arrays_of(records, task="verifier", repeats=4)
    rows = breakdown(arrays, "domain")
    for domain in ("ugd", "qe"):
        exact = score_verifier([record for record in records if record.domain == domain], repeats=4)
        mine = {row["metric"]: row for row in rows if row["group"] == domain}
        assert mine["rough_tpr"]["value"] == pytest.approx(exact["rough_tpr"], abs=1e-11)
        assert mine["rough_tpr"]["proofs"] == exact["proofs"]
        assert mine["rough_tnr"]["interval"]["low"] <= mine["rough_tnr"]["value"]


@pytest.mark.parametrize("by", FACTORS)
def test_every_proof_is_in_one_group(by: str) -> None:
    arrays = verifier_arrays(2, 30)
    rows = [row for row in breakdown(arrays, by) if row["metric"] == "rough_accuracy"]
    assert sum(row["proofs"] for row in rows) == len(arrays.keys)
    total = sum(row["value"] * row["proofs"] for row in rows) / len(arrays.keys)
    assert total == pytest.approx(score_verifier(random_verifier(2, 30), repeats=4)["rough_accuracy"], abs=1e-8)


def test_tiny_groups_get_no_interval() -> None:
    rows = breakdown(verifier_arrays(3, 8), "policy")
    assert {row["group"] for row in rows} == {"(none)"}
    for row in rows:
        assert row["interval"] is None
        assert row["note"] == "fewer than 10 problems: no conclusion"


def test_a_rare_class_gets_no_interval_in_a_large_group() -> None:
    records = [verifier_record(f"p{i}", f"v{i}", -1 if i < 3 else 0, [-1 if i % 2 else 0]) for i in range(30)]
    rows = {row["metric"]: row for row in breakdown(arrays_of(records, task="verifier", repeats=1), "policy")}
    assert rows["rough_tnr"]["interval"] is not None
    for name in ("rough_tpr", "rough_bal_f1"):
        assert rows[name]["interval"] is None
        assert "no conclusion" in rows[name]["note"]


def test_severity() -> None:
    records = [
        ProofRecord(
            problem_id=f"p{i}",
            proof_id=f"v{i}",
            is_correct=False,
            first_error_step=0,
            annotation=annotation,
            judgments=[judgment(verdict)],
        )
        for i, (annotation, verdict) in enumerate(
            [(Annotation(0, [-1]), 0), (Annotation(-1, [0]), -1), (Annotation(-1, [0]), 1)]
        )
    ]
    rows = breakdown(arrays_of(records, task="verifier", repeats=1), "severity")
    tnr = {row["group"]: row["value"] for row in rows if row["metric"] == "rough_tnr"}
    assert tnr == {"fatal": 1.0, "recoverable only": 0.5}


@pytest.mark.parametrize(
    ("steps", "group"),
    [(0, "0 steps"), (1, "1-3 steps"), (3, "1-3 steps"), (4, "4-6 steps"), (20, "11-20 steps"), (99, "21+ steps")],
)
def test_lengths(steps: int, group: str) -> None:
    record = prover_record("p", 0, [-1])
    record.steps[:] = ["x"] * steps
    rows = breakdown(arrays_of([record], task="prover", repeats=1), "length")
    assert {row["group"] for row in rows} == {group}
    assert "pass_any_sample" not in {row["metric"] for row in rows}


def test_unknown_factor() -> None:
    with pytest.raises(ValueError, match="'colour'; use one of domain, subject"):
        breakdown(verifier_arrays(1, 3), "colour")
