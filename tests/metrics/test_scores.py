"""The score functions: what they refuse, what they count, and why a metric has no value."""

import pytest

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.scores import counts, score_prover, score_verifier, scores, undefined
from proverbench.records import Annotation, Judgment, ProofRecord
from tests.metrics.made_up import INVALID, prover_record, verifier_record

NO_PROOF, NO_INCORRECT = "there is no proof", "no proof is labelled incorrect"


@pytest.mark.parametrize(
    ("samples_of_a", "fault"),
    [
        pytest.param([0, 1], None, id="whole"),
        pytest.param([1, 0], None, id="any-order"),
        pytest.param([0], r"^problem a: samples \[0\], wanted 0\.\.1$", id="missing"),
        pytest.param([1], r"^problem a: samples \[1\], wanted 0\.\.1$", id="first-missing"),
        pytest.param([0, 1, 2], r"^problem a: samples \[0, 1, 2\], wanted 0\.\.1$", id="too-many"),
        pytest.param([0, 2], r"^problem a: samples \[0, 2\], wanted 0\.\.1$", id="beyond"),
        pytest.param([0, -1], r"^problem a: samples \[-1, 0\], wanted 0\.\.1$", id="negative"),
        pytest.param([0, 1, 1], "^record a/1: the sample occurs twice$", id="twice"),
    ],
)
def test_every_problem_has_the_samples_that_were_asked_for(samples_of_a: list[int], fault: str | None) -> None:
    records = [prover_record("b", sample, [-1]) for sample in range(2)]
    records += [prover_record("a", sample, [-1]) for sample in samples_of_a]
    if fault is None:
        assert score_prover(records, samples=2, repeats=1)["pessimistic"] == 1.0
        return
    with pytest.raises(ValueError, match=fault):
        score_prover(records, samples=2, repeats=1)


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (ProofRecord(proof_id="w"), "^record w: no human label"),
        (ProofRecord(proof_id="w", first_error_step=-1), "^record w: no human label"),
        (verifier_record("p", "v", -1, []), "^record v: the proof occurs twice$"),
    ],
)
def test_every_annotated_proof_comes_once_with_a_label(record: ProofRecord, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        score_verifier([verifier_record("p", "v", -1, [-1]), record], repeats=1)


def test_counts_come_first_and_then_the_metrics_in_order() -> None:
    proved = [prover_record(name, sample, [-1]) for name in "ab" for sample in range(3)]
    found = score_prover(proved, samples=3, repeats=1)
    assert list(found.items())[:2] == [("problems", 2), ("proofs", 6)]
    assert list(found)[2:] == list(metrics_of("prover"))
    judged = [verifier_record("p", f"v{n}", label, [label]) for n, label in enumerate((-1, 0, 2))]
    labelled = score_verifier(judged, repeats=1)
    assert list(labelled.items())[:3] == [("proofs", 3), ("correct_proofs", 1), ("incorrect_proofs", 2)]
    assert list(labelled)[3:] == list(metrics_of("verifier", meta=False))
    assert list(score_verifier(judged, repeats=1, meta=True))[3:] == list(metrics_of("verifier"))


def test_labels_without_a_place_are_counted_only_where_there_are_some() -> None:
    whole = ProofRecord(
        proof_id="w",
        is_correct=False,
        annotation=Annotation(None, [-1]),
        judgments=[Judgment(valid=True, first_error_step=0)],
    )
    placed = verifier_record("p", "v", 1, [1])
    assert "unlocated_proofs" not in counts(arrays_of([placed], task="verifier", repeats=1))
    found = scores(arrays_of([placed, whole], task="verifier", repeats=1))
    assert (found["unlocated_proofs"], found["incorrect_proofs"], found["rough_tnr"]) == (1, 2, 1.0)
    assert found["first_error_step_accuracy"] == 1.0  # over the one proof whose label has a place
    alone = scores(arrays_of([whole], task="verifier", repeats=1))
    assert alone["first_error_step_accuracy"] is None
    assert undefined(alone)["first_error_step_accuracy"] == "no label names a step: these proofs were judged as a whole"
    assert undefined(alone)["rough_tpr"] == "no proof is labelled correct"


def test_why_a_metric_has_no_value() -> None:
    correct = score_verifier([verifier_record("p", "v", -1, [-1])], repeats=1, meta=True)
    assert undefined(correct) == {
        "rough_tnr": NO_INCORRECT,
        "rough_bal_f1": NO_INCORRECT,
        "balanced_accuracy": NO_INCORRECT,
        "first_error_step_accuracy_incorrect": NO_INCORRECT,
        "meta_ver_tnr": NO_INCORRECT,
        "meta_ver_bal_f1": NO_INCORRECT,
    }
    nothing = undefined(score_verifier([], repeats=1))
    assert set(nothing.values()) == {NO_PROOF}
    assert set(nothing) == set(metrics_of("verifier", meta=False))
    assert set(undefined(score_prover([], samples=1, repeats=1)).values()) == {"there is nothing to average over"}
    whole = score_prover([prover_record("a", 0, [INVALID])], samples=1, repeats=1)
    assert undefined(whole) == {}  # zero is a value
