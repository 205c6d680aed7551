"""Grades of a judge against people's."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.grades import quadratic_kappa
from proverbench.metrics.registry import every_metric
from proverbench.metrics.scores import score_prover, score_verifier, scores
from proverbench.metrics.uncertainty import split_uncertainty
from proverbench.records import Annotation, Judgment, ProofRecord
from tests.support import every

VECTORS = json.loads((Path(__file__).parents[1] / "data/vectors/protocols.json").read_text("utf-8"))["metrics"]
GRADED = [vector for vector in VECTORS if vector["verdict"] == "grade"]
PROCESS = [vector for vector in VECTORS if vector["protocol"] == "process-v1"]


def _records(vector: dict) -> list[ProofRecord]:
    found = []
    for record in vector["records"]:
        judgments = [
            Judgment(
                repeat=n,
                valid=given["valid"],
                reason=None if given["valid"] else "bad_grade",
                grade=given["grade"] if given["valid"] else UNSET,
                accepts=bool(given["valid"] and given["grade"] >= vector["accept_from"]),
            )
            for n, given in enumerate(record["judgments"])
        ]
        correct = record["grade"] >= vector["correct_from"]
        found.append(
            ProofRecord(
                problem_id=record["problem_id"],
                proof_id=record["proof_id"],
                judgments=judgments,
                annotation=Annotation(None, [-1], verdict="correct" if correct else "incorrect"),
                is_correct=correct,
                first_error_step=-1 if correct else None,
                grade=record["grade"],
                max_grade=record["max_grade"],
            )
        )
    return found


def grade_scores(vector: dict) -> dict:
    return score_verifier(_records(vector), repeats=vector["repeats"], best_grade=vector["judge_max"])


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["name"]) for vector in GRADED])
def test_vectors(vector: dict) -> None:
    found = grade_scores(vector)
    for name, value in every(vector["expected"].items()):
        assert found[name] == (value if value is None else pytest.approx(value, abs=1e-9)), name
    for name, fraction in every(vector["expected_exact"].items()):
        assert found[name] == pytest.approx(float(Fraction(fraction)), abs=1e-12), name


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["name"]) for vector in PROCESS])
def test_process_vectors(vector: dict) -> None:
    records = [
        ProofRecord(
            problem_id=record["proof_id"],
            proof_id=record["proof_id"],
            judgments=[Judgment(**given) for given in record["judgments"]],
            annotation=Annotation(record["first_error_step"], [-1]),
            is_correct=record["is_correct"],
            first_error_step=record["first_error_step"],
        )
        for record in vector["records"]
    ]
    found = score_verifier(records, repeats=vector["repeats"], paragraphs=True)
    for name, value in every(vector["expected"].items()):
        assert found[name] == (value if value is None else pytest.approx(value, abs=1e-9)), name


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["name"]) for vector in GRADED])
def test_every_defined_value_lies_in_its_interval(vector: dict) -> None:
    arrays = arrays_of(_records(vector), task="verifier", repeats=vector["repeats"], best_grade=vector["judge_max"])
    values = scores(arrays)
    found, _ = split_uncertainty(arrays, meta=False, metrics=values)
    known = every_metric("verifier")
    assert set(found) == {name for name, value in values.items() if value is not None and name in known}
    for name, interval in found.items():
        if interval["low"] is not None:
            assert interval["low"] <= values[name] + 1e-5, name
            assert interval["high"] >= values[name] - 1e-5, name
            if name != "mae_points":
                assert known[name].range[0] - 1e-9 <= interval["low"], name
                assert interval["high"] <= known[name].range[1] + 1e-9, name


def test_a_prover_is_graded_over_all_that_was_asked() -> None:
    def proof(problem: str, sample: int, *grades: int | None) -> ProofRecord:
        judgments = [
            Judgment(repeat=n, valid=g is not None, grade=UNSET if g is None else g, accepts=g == 7)
            for n, g in enumerate(grades)
        ]
        return ProofRecord(problem_id=problem, sample_index=sample, steps=["s"], judgments=judgments)

    failed = ProofRecord(problem_id="b", sample_index=1, generation_error="no_proof_steps")
    records = [proof("a", 0, 7, 7), proof("a", 1, 6, None), proof("b", 0, 3, 2), failed]
    found = score_prover(records, samples=2, repeats=2, best_grade=7)
    assert found["mean_grade"] == pytest.approx((7 + 7 + 6 + 0 + 3 + 2 + 0 + 0) / 7 / 8)
    assert found["min_grade"] == pytest.approx((7 + 0 + 2 + 0) / 7 / 4)
    assert found["best_grade"] == pytest.approx((7 + 2.5) / 7 / 2)
    assert found["pessimistic"] == 0.25
    assert "mean_grade" not in score_prover(records, samples=2, repeats=2)


POINTS = st.integers(min_value=0, max_value=7)


@given(st.lists(st.tuples(st.integers(0, 3), POINTS, st.none() | POINTS), min_size=1, max_size=12))
def test_against_a_slow_second_way(rows: list[tuple[int, int, int | None]]) -> None:
    found = grade_scores(
        {
            "repeats": 1,
            "judge_max": 7,
            "accept_from": 6,
            "correct_from": 6,
            "records": [
                {
                    "problem_id": str(problem),
                    "proof_id": str(n),
                    "grade": h,
                    "max_grade": 7,
                    "judgments": [{"valid": g is not None, "grade": g}],
                }
                for n, (problem, h, g) in enumerate(rows)
            ],
        }
    )
    errors = [Fraction(max(h, 7 - h) if g is None else abs(g - h), 7) for _, h, g in rows]
    assert found["mae"] == pytest.approx(float(sum(errors) / len(rows)))
    assert found["rmse"] == pytest.approx(float(sum(e * e for e in errors) / len(rows)) ** 0.5)
    assert found["within_1"] == pytest.approx(sum(g is not None and abs(g - h) <= 1 for _, h, g in rows) / len(rows))
    pairs = [
        (first, second) if first[1] > second[1] else (second, first)
        for first, second in combinations(rows, 2)
        if first[0] == second[0] and first[1] != second[1]
    ]
    right = sum(best[2] is not None and worst[2] is not None and best[2] > worst[2] for best, worst in pairs)
    assert found["grade_pairs"] == len(pairs)
    assert found["pairwise_accuracy"] == (right / len(pairs) if pairs else None)


@given(st.lists(st.tuples(POINTS, POINTS), min_size=2, max_size=10))
def test_kappa_by_its_double_sum(rows: list[tuple[int, int]]) -> None:
    a, h = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    total = sum((x - y) ** 2 for x in a for y in h)
    found = quadratic_kappa(a, h)
    if total == 0:
        assert found is None
    else:
        assert found == pytest.approx(1 - len(rows) * sum((a - h) ** 2) / total)


def test_the_order_of_proofs_changes_nothing() -> None:
    vector = next(vector for vector in GRADED if vector["name"] == "random_24")
    there = grade_scores(vector)
    back = grade_scores(vector | {"records": vector["records"][::-1]})
    assert back == {name: value if value is None else pytest.approx(value) for name, value in there.items()}
