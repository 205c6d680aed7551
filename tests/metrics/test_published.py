"""The published metrics against the pinned vectors, a slow second implementation, and their invariances."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.metrics.registry import metrics_of
from proverbench.metrics.scores import score_prover, score_verifier
from proverbench.records import LEVEL_SCORES, Judgment, MetaJudgment, ProofRecord
from tests.metrics.made_up import few_examples
from tests.support import every

VECTORS = json.loads((Path(__file__).parents[1] / "data/vectors/judge_metrics.json").read_text())["vectors"]


def read_records(vector: dict[str, Any]) -> list[ProofRecord]:
    """The vector's records, with the labels that it keeps in its rows."""
    labels = {row.get("proof_id"): row for row in vector["rows"]}
    records = []
    for raw in vector["records"]:
        label = labels.get(raw.get("proof_id"), {})
        extra = {name: label[name] for name in ("is_correct", "first_error_step") if name in label}
        records.append(msgspec.convert({**raw, **extra}, ProofRecord))
    return records


def score(vector: dict[str, Any], split: str) -> dict[str, Any] | None:
    rows = [row for row in vector["rows"] if split in ("all", row["domain"])]
    records = [record for record in read_records(vector) if split in ("all", record.domain)]
    if not rows or len(records) != len(rows) * vector["samples"]:
        return None
    if vector["task"] == "prover":
        return dict(score_prover(records, samples=vector["samples"], repeats=vector["repeats"]))
    return dict(score_verifier(records, repeats=vector["repeats"], meta=vector["meta"]))


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vectors(vector: dict[str, Any]) -> None:
    for split, expected in every(vector["expected_exact"].items()):
        got = score(vector, split)
        if expected is None:
            assert got is None
            continue
        assert got is not None
        for name, fraction in every(expected.items()):
            if fraction is None:
                assert got[name] is None, name
            else:
                assert got[name] == float(Fraction(fraction)), name


# ---------------------------------------------------------------- made-up records


def judgments(meta: bool) -> st.SearchStrategy[Judgment]:
    level = st.one_of(
        st.none(),
        st.just(MetaJudgment(valid=False, reason="bad_level")),
        st.sampled_from(sorted(LEVEL_SCORES)).map(lambda name: MetaJudgment(valid=True, level=name)),
    )
    valid = st.builds(
        Judgment, valid=st.just(True), first_error_step=st.integers(-1, 3), meta=level if meta else st.none()
    )
    return st.one_of(valid, st.just(Judgment(valid=False, reason="bad_index")))


@st.composite
def prover_records(draw: st.DrawFn) -> tuple[list[ProofRecord], int, int]:
    samples, repeats = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    records = []
    for problem in range(draw(st.integers(1, 5))):
        for sample in range(samples):
            failed = draw(st.booleans())
            records.append(
                ProofRecord(
                    problem_id=f"p{problem}",
                    sample_index=sample,
                    generation_error="no_proof_steps" if failed else None,
                    judgments=[] if failed else draw(st.lists(judgments(False), max_size=repeats)),
                )
            )
    return records, samples, repeats


@st.composite
def verifier_records(draw: st.DrawFn) -> tuple[list[ProofRecord], int]:
    repeats = draw(st.integers(1, 3))
    records = []
    for proof in range(draw(st.integers(1, 6))):
        label = draw(st.integers(-1, 3))
        records.append(
            ProofRecord(
                problem_id=f"p{proof // 2}",
                proof_id=f"v{proof}",
                is_correct=label == -1,
                first_error_step=label,
                judgments=draw(st.lists(judgments(True), max_size=repeats)),
            )
        )
    return records, repeats


def slow_prover(records: list[ProofRecord], samples: int, repeats: int) -> dict[str, Fraction]:
    """The definitions of docs/metrics.md, word for word."""
    problems = sorted({record.problem_id for record in records})
    c = {
        (record.problem_id, record.sample_index): int(
            record.generation_error is None
            and sum(1 for j in record.judgments if j.valid and j.first_error_step == -1) == repeats
        )
        for record in records
    }
    per_problem = [[c[problem, sample] for sample in range(samples)] for problem in problems]
    means = [sum((Fraction(x) for x in row), Fraction(0)) / samples for row in per_problem]
    requested = len(problems) * samples * repeats
    return {
        "pessimistic": sum(means, Fraction(0)) / len(problems),
        "pass_any_sample": Fraction(sum(max(row) for row in per_problem), len(problems)),
        "generation_failure_rate": Fraction(
            sum(record.generation_error is not None for record in records), len(problems) * samples
        ),
        "verifier_valid_rate": Fraction(sum(j.valid for record in records for j in record.judgments), requested),
    }


def slow_verifier(records: list[ProofRecord], repeats: int) -> dict[str, Fraction | None]:
    def mean(values: list[Fraction]) -> Fraction | None:
        return sum(values, Fraction(0)) / len(values) if values else None

    def harmonic(a: Fraction | None, b: Fraction | None) -> Fraction | None:
        if a is None or b is None:
            return None
        return Fraction(0) if a == b == 0 else 2 * a * b / (a + b)

    polarity, step, valid, meta, meta_valid = ([Fraction(0)] * len(records) for _ in range(5))
    for i, record in enumerate(records):
        for j in record.judgments:
            valid[i] += Fraction(j.valid, repeats)
            polarity[i] += Fraction(j.valid and ((j.first_error_step == -1) is record.is_correct), repeats)
            step[i] += Fraction(j.valid and j.first_error_step == record.first_error_step, repeats)
            if j.valid and j.meta is not None and j.meta.valid and j.meta.level is not None:
                meta[i] += Fraction(LEVEL_SCORES[j.meta.level]) / repeats
                meta_valid[i] += Fraction(1, repeats)

    def of(values: list[Fraction], label: bool) -> Fraction | None:
        return mean([value for value, record in zip(values, records, strict=True) if record.is_correct is label])

    tpr, tnr = of(polarity, True), of(polarity, False)
    return {
        "rough_accuracy": mean(polarity),
        "rough_tpr": tpr,
        "rough_tnr": tnr,
        "rough_bal_f1": harmonic(tpr, tnr),
        "balanced_accuracy": None if tpr is None or tnr is None else (tpr + tnr) / 2,
        "first_error_step_accuracy": mean(step),
        "first_error_step_accuracy_incorrect": of(step, False),
        "verifier_valid_rate": mean(valid),
        "meta_ver_tpr": of(meta, True),
        "meta_ver_tnr": of(meta, False),
        "meta_ver_bal_f1": harmonic(of(meta, True), of(meta, False)),
        "meta_valid_rate": mean(meta_valid),
    }


@few_examples
@given(prover_records())
def test_prover_equals_slow_implementation(case: tuple[list[ProofRecord], int, int]) -> None:
    records, samples, repeats = case
    got = score_prover(records, samples=samples, repeats=repeats)
    assert {name: got[name] for name in metrics_of("prover")} == {
        name: float(value) for name, value in slow_prover(records, samples, repeats).items()
    }


@few_examples
@given(verifier_records())
def test_verifier_equals_slow_implementation(case: tuple[list[ProofRecord], int]) -> None:
    records, repeats = case
    got = score_verifier(records, repeats=repeats, meta=True)
    assert {name: got[name] for name in metrics_of("verifier")} == {
        name: None if value is None else float(value) for name, value in slow_verifier(records, repeats).items()
    }


def without_one_invalid(record: ProofRecord) -> ProofRecord | None:
    for place, judgment in enumerate(record.judgments):
        if not judgment.valid:
            return msgspec.structs.replace(record, judgments=record.judgments[:place] + record.judgments[place + 1 :])
    return None


@few_examples
@given(prover_records(), st.randoms(use_true_random=False))
def test_prover_invariances(case: tuple[list[ProofRecord], int, int], shuffle: random.Random) -> None:
    records, samples, repeats = case
    first = score_prover(records, samples=samples, repeats=repeats)
    assert all(0 <= first[name] <= 1 for name in metrics_of("prover"))  # type: ignore[operator]
    shuffled = records.copy()
    shuffle.shuffle(shuffled)
    assert score_prover(shuffled, samples=samples, repeats=repeats) == first
    for place, record in every(enumerate(records)):
        fewer = without_one_invalid(record)
        if fewer is not None:
            changed = [*records[:place], fewer, *records[place + 1 :]]
            assert score_prover(changed, samples=samples, repeats=repeats) == first


@few_examples
@given(verifier_records(), st.randoms(use_true_random=False))
def test_verifier_invariances(case: tuple[list[ProofRecord], int], shuffle: random.Random) -> None:
    records, repeats = case
    first = score_verifier(records, repeats=repeats, meta=True)
    for name in metrics_of("verifier"):
        value = first[name]
        assert value is None or 0 <= value <= 1
    shuffled = records.copy()
    shuffle.shuffle(shuffled)
    assert score_verifier(shuffled, repeats=repeats, meta=True) == first
    for place, record in every(enumerate(records)):
        fewer = without_one_invalid(record)
        if fewer is not None:
            changed = [*records[:place], fewer, *records[place + 1 :]]
            assert score_verifier(changed, repeats=repeats, meta=True) == first


def test_no_records_give_null_not_nan() -> None:
    assert score_prover([], samples=2, repeats=3) == {
        "problems": 0,
        "proofs": 0,
        **dict.fromkeys(metrics_of("prover")),
    }
    assert score_verifier([], repeats=1, meta=True) == {
        "proofs": 0,
        "correct_proofs": 0,
        "incorrect_proofs": 0,
        **dict.fromkeys(metrics_of("verifier")),
    }


RIGHT = Judgment(valid=True, first_error_step=-1)


@pytest.mark.parametrize(
    ("records", "samples", "repeats", "message"),
    [
        pytest.param([], 0, 1, "samples is 0", id="no-samples"),
        pytest.param([], 1, 0, "repeats is 0", id="no-repeats"),
        pytest.param([ProofRecord(problem_id="a", judgments=[RIGHT, RIGHT])], 1, 1, "2 judgments", id="too-many"),
        pytest.param([ProofRecord(problem_id="a")], 2, 1, r"samples \[0\], wanted 0\.\.1", id="missing-sample"),
        pytest.param([ProofRecord(problem_id="a")] * 2, 1, 1, "occurs twice", id="twice"),
    ],
)
def test_prover_refuses(records: list[ProofRecord], samples: int, repeats: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_prover(records, samples=samples, repeats=repeats)


def test_verifier_refuses() -> None:
    with pytest.raises(ValueError, match="no human label"):
        score_verifier([ProofRecord(proof_id="v")], repeats=1)
    labelled = ProofRecord(proof_id="v", is_correct=True, first_error_step=-1)
    with pytest.raises(ValueError, match="occurs twice"):
        score_verifier([labelled, labelled], repeats=1)


def test_level_of_an_invalid_judgment_earns_nothing() -> None:
    judgment = Judgment(valid=False, reason="bad_index", meta=MetaJudgment(valid=True, level="EXACT_MATCH"))
    record = ProofRecord(proof_id="v", is_correct=True, first_error_step=-1, judgments=[judgment])
    got = score_verifier([record], repeats=1, meta=True)
    assert got["meta_ver_tpr"] == 0.0
    assert got["meta_valid_rate"] == 0.0
