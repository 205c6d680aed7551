"""People's grades in a row of data: what is valid, and whether a graded proof counts as correct (docs/data.md)."""

import math
from fractions import Fraction
from typing import Any, Protocol

import msgspec

from proverbench.records import Annotation, HumanGrade

USUAL_SCALE, USUAL_CORRECT_FROM = 7, 6
"""On the usual scale a proof is correct from 6 of 7 points, as the field counts almost complete proofs."""


class FaultyRow(Protocol):
    """A row of a file that collects its faults."""

    data: dict[str, Any]

    def fault(self, name: str, found: object, wanted: str) -> None:
        """Note what is wrong with a field."""


class GivenGrade(msgspec.Struct, frozen=True):
    """The grade fields of a row."""

    grade: float
    max_grade: int
    grades: list[HumanGrade] | msgspec.UnsetType = msgspec.UNSET


def correct_from_or_default(correct_from: float | None, max_grade: int) -> float:
    """The points from which a proof is correct: those given, else 6 of 7, else all."""
    if correct_from is not None:
        return correct_from
    return USUAL_CORRECT_FROM if max_grade == USUAL_SCALE else max_grade


def read_grade(row: FaultyRow) -> GivenGrade | None:
    """The grade of a row, or None where it has none or is faulty.

    ``grade`` counts where it is given; without it, the exact mean of ``grades``.
    """
    data = row.data
    if data.get("grade") is None and data.get("grades") is None:
        if data.get("max_grade") is not None:
            row.fault("grade", data.get("grade", "nothing"), "points, since the row has max_grade")
        return None
    most = data.get("max_grade")
    if type(most) is not int or most < 1:
        row.fault(
            "max_grade", "nothing" if most is None else most, "a positive integer, the most points that can be had"
        )
        return None
    given = _grades(row, data.get("grades"), most)
    grade = data.get("grade")
    if grade is None:
        if not given:
            return None
        grade = _number(sum((Fraction(one.grade) for one in given), Fraction(0)) / len(given))
    elif not _is_points(grade, most):
        row.fault("grade", grade, f"a number from 0 to {most}")
        return None
    return GivenGrade(grade, most, given if given is not None else msgspec.UNSET)


def graded_annotation(given: GivenGrade, correct_from: float | None) -> Annotation:
    """What a grade alone says of a proof: a verdict on the whole, without a place."""
    correct = given.grade >= correct_from_or_default(correct_from, given.max_grade)
    return Annotation(None, [-1], verdict="correct" if correct else "incorrect")


def _grades(row: FaultyRow, value: object, most: int) -> list[HumanGrade] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        row.fault("grades", value, "a non-empty list of objects with grader and grade, or no such field")
        return None
    found = [grade for place, item in enumerate(value) if (grade := _one(row, f"grades[{place}]", item, most))]
    graders = [grade.grader for grade in found]
    for name in sorted({name for name in graders if graders.count(name) > 1}):
        row.fault("grades", name, "one grade for each grader")
    return found if len(found) == len(value) else None


def _one(row: FaultyRow, place: str, item: object, most: int) -> HumanGrade | None:
    if not isinstance(item, dict):
        row.fault(place, item, "an object with grader and grade")
        return None
    grader, grade, comment = item.get("grader"), item.get("grade"), item.get("comment")
    good = True
    if not isinstance(grader, str) or not grader.strip():
        row.fault(f"{place}.grader", "nothing" if grader is None else grader, "a non-empty name")
        good = False
    if not _is_points(grade, most):
        row.fault(f"{place}.grade", "nothing" if grade is None else grade, f"a number from 0 to {most}")
        good = False
    if comment is not None and not isinstance(comment, str):
        row.fault(f"{place}.comment", comment, "a string, or no such field")
        good = False
    return HumanGrade(str(grader), grade, comment or "") if good else None  # type: ignore[arg-type]


def _is_points(value: object, most: int) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= most
    )


def _number(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float(value)
