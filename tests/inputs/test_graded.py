"""Grades in rows of data."""

import json
from pathlib import Path

import msgspec
import pytest

from proverbench.errors import DataError
from proverbench.inputs.data import load_problems, load_proofs
from proverbench.run.inputs import encode_rows

ROW = {"problem": "P", "steps": ["a", "b"], "max_grade": 7}


def _load(tmp_path: Path, *rows: dict, correct_from: float | None = None):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row | {"proof_id": str(n)}) + "\n" for n, row in enumerate(rows)))
    return load_proofs(file, correct_from=correct_from).rows


@pytest.mark.parametrize(
    ("max_grade", "grade", "correct_from", "correct"),
    [
        (7, 6, None, True),
        (7, 5.9, None, False),
        (7, 6, 7, False),
        (7, 5, 5, True),
        (10, 9, None, False),
        (10, 10, None, True),
        (1, 0.5, 0.5, True),
    ],
)
def test_correct_from(max_grade: int, grade: float, correct_from: float | None, correct: bool, tmp_path: Path) -> None:
    (row,) = _load(tmp_path, ROW | {"grade": grade, "max_grade": max_grade}, correct_from=correct_from)
    assert (row.is_correct, row.first_error_step) == (correct, -1 if correct else None)
    assert row.annotation.first_fatal_error_step is None


def test_an_annotation_says_more_than_a_grade(tmp_path: Path) -> None:
    annotation = {"first_fatal_error_step": 1, "recoverable_error_steps": [-1]}
    (row,) = _load(tmp_path, ROW | {"grade": 7, "annotation": annotation})
    assert (row.is_correct, row.first_error_step, row.grade) == (False, 1, 7)


def test_several_graders(tmp_path: Path) -> None:
    grades = [{"grader": "a", "grade": 2}, {"grader": "b", "grade": 3, "comment": "c"}, {"grader": "c", "grade": 3}]
    first, second = _load(tmp_path, ROW | {"grades": grades}, ROW | {"grades": grades, "grade": 4})
    assert (first.grade, second.grade) == (8 / 3, 4)
    assert [(one.grader, one.grade, one.comment) for one in first.grades] == [("a", 2, ""), ("b", 3, "c"), ("c", 3, "")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"grade": 8}, "field grade: found 8; wanted a number from 0 to 7", id="above"),
        pytest.param({"grade": -1}, "wanted a number from 0 to 7", id="below"),
        pytest.param({"grade": True}, "wanted a number from 0 to 7", id="boolean"),
        pytest.param({"grade": "7/7"}, "wanted a number from 0 to 7", id="text"),
        pytest.param({"grade": 1, "max_grade": None}, "field max_grade", id="no-scale"),
        pytest.param({"grade": 1, "max_grade": 7.5}, "field max_grade", id="half-a-scale"),
        pytest.param({}, "field grade", id="scale-without-grade"),
        pytest.param({"grades": []}, "field grades", id="no-graders"),
        pytest.param({"grades": [{"grader": "a", "grade": 9}]}, "field grades[0].grade", id="grader-above"),
        pytest.param({"grades": [{"grader": " ", "grade": 1}]}, "field grades[0].grader", id="nobody"),
        pytest.param({"grades": [{"grader": "a", "grade": 1}] * 2}, "one grade for each grader", id="twice"),
        pytest.param({"grades": [{"grader": "a", "grade": 1, "comment": 2}]}, "field grades[0].comment", id="comment"),
    ],
)
def test_a_faulty_grade_is_refused(fields: dict, expected: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        _load(tmp_path, ROW | fields)
    assert expected in str(caught.value)
    assert "rows.jsonl:1" in str(caught.value)


@pytest.mark.parametrize("correct_from", [0, 8])
def test_correct_from_lies_on_the_scale(correct_from: float, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="above 0 and up to 7"):
        _load(tmp_path, ROW | {"grade": 1}, correct_from=correct_from)


def test_correct_from_needs_one_scale(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="scales of 7, 10 points"):
        _load(tmp_path, ROW | {"grade": 1}, ROW | {"grade": 1, "max_grade": 10}, correct_from=5)


def test_a_rubric_is_kept_and_one_that_is_absent_leaves_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "problems.jsonl"
    file.write_text('{"problem": "P", "rubric": "1 point: x"}\n{"problem": "Q", "rubric": null}\n')
    with_rubric, without = load_problems(file).rows
    assert with_rubric.rubric == "1 point: x"
    assert b"rubric" not in encode_rows([without])
    assert msgspec.json.decode(encode_rows([with_rubric]))["rubric"] == "1 point: x"
