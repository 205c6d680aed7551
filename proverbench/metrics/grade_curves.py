"""What plots of grades show: how they are spread, against people's, and what each is worth (docs/metrics.md, "Grades").

Grades are shares of their own scale here, as in :class:`proverbench.metrics.grades.Grades`.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.grades import Floats, Grades
from proverbench.metrics.rates import table_of
from proverbench.metrics.uncertainty import intervals, significant

MOST_VALUES = 12
"""Judges' grades that take more values than these are put into bands, each a tenth of the scale wide."""
BANDS = 10
DIGITS = 9
"""Decimal places at which two grades are the same."""


def distribution(grades: Grades) -> list[dict[str, Any]]:
    """How often each grade was given, by the judge and by people.

    Returns:
        One row for each grade of each, ascending: ``whose`` (``judge``: single valid judgments; ``people``: proofs),
        ``grade`` in [0, 1], ``count``, ``share`` of all of theirs. People's rows are missing where they gave none.
    """
    rows = []
    for whose, given in (("judge", grades.judge[grades.valid]), ("people", grades.human[grades.by_people])):
        values, counts = np.unique(np.round(given, DIGITS), return_counts=True)
        total = int(counts.sum())
        rows += [
            {"whose": whose, "grade": significant(float(value)), "count": int(count), "share": count / total}
            for value, count in zip(values, counts, strict=True)
        ]
    return rows


def against_people(grades: Grades) -> list[dict[str, Any]]:
    """Proofs by people's grade and the mean of the judge's valid grades.

    Returns:
        One row for each pair that occurs, ascending: ``people`` and ``judge`` in [0, 1], ``proofs``. Proofs without a
        grade of either are left out.
    """
    judge, people = grades.correlated
    pairs = zip(np.round(people, DIGITS).tolist(), np.round(judge, DIGITS).tolist(), strict=True)
    return [
        {"people": significant(human), "judge": significant(mean), "proofs": count}
        for (human, mean), count in sorted(Counter(pairs).items())
    ]


def calibration(arrays: JudgmentArrays) -> list[dict[str, Any]]:
    """What people gave, on average, where the judge gave a grade.

    Args:
        arrays: One split of a run whose judges give grades.

    Returns:
        One row for each grade of the judge, or band of them (:data:`MOST_VALUES`), ascending: ``judge`` (of a band the
        mean of the grades in it) and ``people`` in [0, 1], ``interval`` over problems, ``judgments`` behind it. Only
        valid judgments of proofs that people graded count.
    """
    grades = arrays.grades
    if grades is None or not grades.by_people.any():
        return []
    used = grades.valid & grades.by_people[:, None]
    human = np.where(grades.by_people, grades.human, 0.0)
    columns, means = [], {}
    for number, inside in enumerate(_bands(grades.judge, used)):
        count = inside.sum(axis=1)
        columns.append((str(number), count * human, count))
        means[str(number)] = float(grades.judge[inside].mean())
    if not columns:
        return []
    table = table_of(columns, arrays)
    point, found = table.point(), intervals(table)
    return [
        {
            "judge": significant(means[name]),
            "people": significant(point[name]),
            "interval": found.get(name),
            "judgments": int(count.sum()),
        }
        for name, _, count in columns
    ]


def _bands(judge: Floats, used: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """The judgments of each grade, or of each band of grades, that occurs; each of shape (P, R)."""
    rounded = np.where(used, np.round(judge, DIGITS), -1.0)
    if len(np.unique(rounded[used])) > MOST_VALUES:
        rounded = np.where(used, np.minimum(np.floor(rounded * BANDS), BANDS - 1), -1.0)
    return [rounded == value for value in np.unique(rounded[used])]
