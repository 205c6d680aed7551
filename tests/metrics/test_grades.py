"""Grades of a judge against people's."""

import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.metrics.grades import Grades, grade_scores, quadratic_kappa

VECTORS = json.loads((Path(__file__).parents[1] / "data/vectors/protocols.json").read_text("utf-8"))["metrics"]
GRADED = [vector for vector in VECTORS if vector["verdict"] == "grade"]
OTHERS = {"verifier_valid_rate", "rough_accuracy", "rough_tpr", "rough_tnr", "rough_bal_f1", "balanced_accuracy"}
OTHERS |= {"proofs"}
"""Scores of every protocol, which have their own tests."""


def _grades(vector: dict) -> Grades:
    problems = sorted({record["problem_id"] for record in vector["records"]})
    judge = []
    for record in vector["records"]:
        given = [j["grade"] / vector["judge_max"] if j["valid"] else np.nan for j in record["judgments"]]
        judge.append(given + [np.nan] * (vector["repeats"] - len(given)))
    return Grades(
        judge=np.array(judge, dtype=np.float64).reshape(-1, vector["repeats"]),
        human=np.array([record["grade"] / record["max_grade"] for record in vector["records"]]),
        max_grade=np.array([record["max_grade"] for record in vector["records"]]),
        problem=np.array([problems.index(record["problem_id"]) for record in vector["records"]], dtype=np.int32),
    )


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["name"]) for vector in GRADED])
def test_vectors(vector: dict) -> None:
    found = grade_scores(_grades(vector))
    expected = {name: value for name, value in vector["expected"].items() if name not in OTHERS}
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == (value if value is None else pytest.approx(value, abs=1e-9)), name
    for name, fraction in vector["expected_exact"].items():
        if name in found:
            assert found[name] == pytest.approx(float(Fraction(fraction)), abs=1e-12), name


POINTS = st.integers(min_value=0, max_value=7)


@given(st.lists(st.tuples(st.integers(0, 3), POINTS, st.none() | POINTS), min_size=1, max_size=12))
def test_against_a_slow_second_way(rows: list[tuple[int, int, int | None]]) -> None:
    names = sorted({problem for problem, _, _ in rows})
    found = grade_scores(
        Grades(
            judge=np.array([[np.nan if g is None else g / 7] for _, _, g in rows]),
            human=np.array([h / 7 for _, h, _ in rows]),
            max_grade=np.full(len(rows), 7),
            problem=np.array([names.index(problem) for problem, _, _ in rows], dtype=np.int32),
        )
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
    there = grade_scores(_grades(vector))
    back = grade_scores(_grades(vector | {"records": vector["records"][::-1]}))
    assert back == {name: value if value is None else pytest.approx(value) for name, value in there.items()}
