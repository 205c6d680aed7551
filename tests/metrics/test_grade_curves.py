"""What plots of grades show."""

import numpy as np
import pytest
from msgspec import UNSET

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.grade_curves import BANDS, against_people, calibration, distribution
from proverbench.records import Judgment, ProofRecord
from tests.support import every


def _arrays(proofs, *, best: float = 7, human_max: int = 7):
    """``proofs``: people's grade (None: none) and the judge's, None where invalid; a problem each."""
    records = []
    for n, (human, given) in enumerate(proofs):
        label = {} if human is None else {"grade": human, "max_grade": human_max}
        judgments = [
            Judgment(repeat=r, valid=grade is not None, grade=UNSET if grade is None else grade, accepts=False)
            for r, grade in enumerate(given)
        ]
        record = {"problem_id": f"p{n}", "proof_id": f"v{n}", "is_correct": True}
        records.append(ProofRecord(judgments=judgments, **record, **label))
    return arrays_of(records, task="verifier", repeats=len(proofs[0][1]), best_grade=best)


def test_each_is_worked_by_hand():
    arrays = _arrays([(7, [7, 7]), (7, [7, 0]), (0, [0, None]), (None, [7, 7])])
    assert [(row["whose"], row["grade"], row["count"]) for row in distribution(arrays.grades)] == [
        ("judge", 0, 2), ("judge", 1, 5), ("people", 0, 1), ("people", 1, 2),
    ]  # fmt: skip
    assert against_people(arrays.grades) == [
        {"people": 0, "judge": 0, "proofs": 1},
        {"people": 1, "judge": 0.5, "proofs": 1},
        {"people": 1, "judge": 1, "proofs": 1},
    ]
    low, high = calibration(arrays)
    # The judge gave 0 twice: to a proof worth 7 and to one worth 0. The ungraded proof has no part in it.
    assert (low["judge"], low["people"], low["judgments"]) == (0, 0.5, 2)
    assert (high["judge"], high["people"], high["judgments"]) == (1, 1, 3)
    assert 0 <= low["interval"]["low"] < 0.5 < low["interval"]["high"] <= 1


def test_many_values_are_put_into_bands():
    rng = np.random.default_rng(0)
    arrays = _arrays([(n % 11, rng.uniform(0, 100, 3).tolist()) for n in range(200)], best=100, human_max=10)
    rows = calibration(arrays)
    assert len(rows) == BANDS
    for band, row in enumerate(rows):
        assert band / BANDS <= row["judge"] <= (band + 1) / BANDS
    assert sum(row["judgments"] for row in rows) == 600


@pytest.mark.parametrize("proofs", [[(None, [7])], [(7, [None])]], ids=["no human grades", "nothing valid"])
def test_without_one_side_there_is_nothing_to_compare(proofs):
    arrays = _arrays(proofs)
    assert calibration(arrays) == []
    assert against_people(arrays.grades) == []


def test_a_perfect_judge_lies_on_the_line():
    for row in every(calibration(_arrays([(grade, [grade, grade]) for grade in range(8)]))):
        assert row["people"] == pytest.approx(row["judge"])
