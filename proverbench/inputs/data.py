"""Data files: JSONL → problems and annotated proofs, checked whole before anything is called (docs/data.md).

A file is read once, line by line; its rows are kept, its text is not. Every fault of the file is found before it is
refused, each as ``file:line: field NAME: found …; wanted …``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from proverbench.benchmark import Benchmark
from proverbench.errors import DataError
from proverbench.inputs.jsonl import DataLines, in_line_order, shown_json
from proverbench.inputs.rows import read_problem, read_proof
from proverbench.records import Problem, Proof
from proverbench.selection import EVERYTHING, parse_shard, shard_of
from proverbench.shipped import resolve

R = TypeVar("R", bound=Problem)


@dataclass(frozen=True)
class Dataset(Generic[R]):
    """A data file that keeps all rules."""

    path: Path
    rows: list[R]
    """All rows, in file order."""
    sha256: str
    """Of the file's bytes."""
    lines: list[int] = field(default_factory=list, repr=False)
    """Line number of each row, 1-based."""

    def select(self, *, domain: str | None = None, limit: int | None = None, shard: str | None = None) -> list[R]:
        """The rows that a run asks about: of ``domain``, then the first ``limit``, then those of ``shard``.

        Args:
            domain: A domain's name; None or ``all`` for every row.
            limit: At most so many rows; None for all.
            shard: ``i/n``, 1-based; which shard a row is in depends on its ``problem_id`` alone. May be empty.

        Raises:
            DataError: If no row has that domain, or ``shard`` is not ``i/n``.
        """
        rows = self.rows
        if domain is not None and domain != EVERYTHING:
            rows = [row for row in rows if row.domain == domain]
            if not rows:
                there = ", ".join(sorted({row.domain for row in self.rows if row.domain})) or "none"
                raise DataError(f"{self.path}: no row has the domain {domain!r}; domains there: {there}")
        if limit is not None:
            rows = rows[:limit]
        if shard is not None:
            index, count = parse_shard(shard)
            rows = [row for row in rows if shard_of(row.problem_id, count) == index]
        return list(rows)


def load_rows(
    benchmark: Benchmark, path: Path | str, *, correct_from: float | None = None
) -> "Dataset[Problem] | Dataset[Proof]":
    """The input rows of a benchmark, from a file.

    Args:
        benchmark: Which.
        path: The file.
        correct_from: As :func:`load_proofs` takes it; problems have no grades.

    Raises:
        DataError: Lists every fault of the file.
    """
    if benchmark.row is Proof:
        return load_proofs(path, correct_from=correct_from)
    if correct_from is not None:
        raise DataError(f"--correct-from {correct_from:g} is about proofs that people graded; {path} has problems")
    return load_problems(path)


def load_problems(path: Path | str) -> Dataset[Problem]:
    """Read ProverBench data.

    Args:
        path: A JSONL file, a problem a line (docs/data.md), or ``shipped:proverbench``.

    Raises:
        DataError: Lists every fault of the file, each with its line and field.
    """
    return _load(resolve(path, "data"), read_problem, "problem_id")


def load_proofs(path: Path | str, *, correct_from: float | None = None) -> Dataset[Proof]:
    """Read VerifierBench data.

    Args:
        path: A JSONL file, an annotated or graded proof a line (docs/data.md), or ``shipped:verifierbench``.
        correct_from: The points from which a proof that was only graded counts as correct; None: 6 of 7, else all.

    Raises:
        DataError: Lists every fault of the file, each with its line and field.
    """
    path = resolve(path, "data")
    dataset = _load(path, lambda row: read_proof(row, correct_from), "proof_id")
    if correct_from is not None:
        _check_correct_from(path, dataset, correct_from)
    return dataset


def _check_correct_from(path: Path, dataset: Dataset[Proof], correct_from: float) -> None:
    scales = sorted({row.max_grade for row in dataset.rows if isinstance(row.max_grade, int)})
    if len(scales) != 1:
        found = f"scales of {', '.join(map(str, scales))} points" if scales else "no grades"
        raise DataError(f"{path}: found {found}; --correct-from {correct_from:g} needs grades on one scale")
    if not 0 < correct_from <= scales[0]:
        raise DataError(f"{path}: --correct-from is {correct_from:g}; give a number above 0 and up to {scales[0]}")


def looks_like_proofs(path: Path | str) -> bool:
    """Whether most of the file's first rows are VerifierBench rows: they have steps, or an error label.

    Raises:
        DataError: If the file cannot be read.
    """
    marks = ("steps", "annotation", "first_fatal_error_step", "grade", "grades")
    first = [any(mark in row.data for mark in marks) for row in islice(DataLines(resolve(path, "data")), 20)]
    return sum(first) * 2 > len(first)


def describe(dataset: Dataset[Any]) -> dict[str, Any]:
    """What a data file holds, in numbers: rows, problems, domains, subjects; of proofs, labels and steps too."""
    rows = dataset.rows
    proofs = [row for row in rows if isinstance(row, Proof)]
    found: dict[str, Any] = {
        "rows": len(rows),
        "problems": len({row.problem_id for row in rows}),
        "sha256": dataset.sha256,
        "domains": _tally(row.domain for row in rows),
        "subjects": _tally(row.subject or None for row in rows),
        "with_reference_solution": sum(bool(row.reference_solution.strip()) for row in rows),
    }
    if proofs:
        correct = sum(proof.is_correct for proof in proofs)
        places = [proof.annotation.first_fatal_error_step for proof in proofs]
        fatal = sum(place is not None and place >= 0 for place in places)
        whole = sum(proof.first_error_step is None for proof in proofs)
        labels = {"correct": correct, "fatal": fatal, "only_recoverable": len(proofs) - correct - fatal - whole}
        if unlocated := places.count(None):
            labels |= {"incorrect_without_place": whole, "unlocated": unlocated}
        found |= {
            "labels": labels,
            "steps": sum(len(proof.steps) for proof in proofs),
            "policies": _tally(proof.policy for proof in proofs),
        }
    return found


def _tally(values: Iterable[str | None]) -> dict[str, int]:
    """How often each value occurs, the most frequent first; what is absent counts as ``(none)``."""
    return dict(Counter(value if value is not None else "(none)" for value in values).most_common())


class _Ids:
    """Ids seen so far, to find what is said twice or in two ways."""

    def __init__(self, path: Path, unique: str) -> None:
        self._path = path
        self._unique = unique
        self._first_line: dict[str, tuple[int, object]] = {}
        self._problems: dict[str, tuple[int, str]] = {}

    def faults(self, line: int, data: dict[str, Any], row: Problem | None) -> Iterator[str]:
        value = getattr(row, self._unique) if row is not None else data.get(self._unique)
        if isinstance(value, str | int | float):
            yield from self._repeated(line, value)
        problem_id, problem = (row.problem_id, row.problem) if row else (data.get("problem_id"), data.get("problem"))
        if isinstance(problem_id, str) and isinstance(problem, str):
            first, text = self._problems.setdefault(problem_id, (line, problem))
            if text != problem:
                yield (
                    f"{self._path}:{line}: field problem_id: found {shown_json(problem_id)}, which names another "
                    f"problem text on line {first}; wanted one text for each id"
                )

    def _repeated(self, line: int, value: str | int | float) -> Iterator[str]:
        key = value if isinstance(value, str) else shown_json(value)
        first, as_first = self._first_line.setdefault(key, (line, value))
        if first != line:
            yield (
                f"{self._path}:{line}: field {self._unique}: found {shown_json(value)}, as {shown_json(as_first)} on "
                f"line {first}; wanted a unique string"
            )

    def shared(self, row: R) -> R:
        """The row with the very string object that earlier rows of its problem have, to save memory."""
        text = self._problems[row.problem_id][1]
        return msgspec.structs.replace(row, problem=text) if row.problem is not text else row


def _load(path: Path, read: Any, unique: str) -> Dataset[Any]:
    lines = DataLines(path)
    ids = _Ids(path, unique)
    rows: list[Any] = []
    numbers: list[int] = []
    faults: list[tuple[int, str]] = []
    seen = of_other_task = 0
    for line in lines:
        row = read(line)
        seen += 1
        of_other_task += ("steps" in line.data) != (unique == "proof_id")
        faults += [(line.line, fault) for fault in (*line.faults, *ids.faults(line.line, line.data, row))]
        if row is not None and not faults:
            rows.append(ids.shared(row))
            numbers.append(line.line)
    told = in_line_order(lines.faults, [fault for _, fault in faults], path)
    if not seen and not told:
        told = [f"{path}: holds no rows; wanted JSONL, one object a line"]
    if told:
        if seen and of_other_task == seen:
            told = [_other_task(path, unique)]  # the other faults follow from it
        raise DataError.of(told)
    return Dataset(path, rows, lines.sha256, numbers)


def _other_task(path: Path, unique: str) -> str:
    if unique == "problem_id":
        return f"{path}: these are annotated proofs (every row has steps), problems were wanted; use: verifierbench"
    return f"{path}: these are problems (no row has steps), annotated proofs were wanted; use: proverbench run"
