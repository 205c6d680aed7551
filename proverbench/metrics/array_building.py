"""Judgment arrays of records, built as the records come."""

import math
from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from msgspec import UNSET

from proverbench.metrics.arrays import ACCEPTS, INVALID, META_UNITS, UNLOCATED, JudgmentArrays, Labels
from proverbench.metrics.checks import check_extent, check_judgments
from proverbench.metrics.grades import Grades
from proverbench.records import LEVEL_SCORES, Judgment, ProofRecord, Task

_LEVEL_UNITS = {level: int(score * META_UNITS) for level, score in LEVEL_SCORES.items()}


class ArrayBuilder:
    """Takes closed records one by one and makes :class:`JudgmentArrays` of them.

    Args:
        task: Which benchmark the records are of.
        samples: S.
        repeats: R.
        best_grade: K, the best grade that judges may give; None where they give none.
        paragraphs: Whether judges name paragraphs as ProcessBench does.
        places: Whether judges say where the first error is.

    Raises:
        ValueError: If S or R is below 1.
    """

    def __init__(
        self,
        *,
        task: Task,
        repeats: int,
        samples: int = 1,
        best_grade: float | None = None,
        paragraphs: bool = False,
        places: bool = True,
    ) -> None:
        check_extent(samples=samples, repeats=repeats)
        self._task: Task = task
        self._samples = samples
        self._repeats = repeats
        self._names: dict[str, dict[str, int]] = {name: {} for name in ("problem", "domain", "subject", "policy")}
        self._codes = {name: array("i") for name in self._names}
        self._keys: list[str] = []
        self._sample, self._label, self._steps = array("i"), array("i"), array("i")
        self._verdict, self._meta = array("i"), array("b")
        self._generated, self._severity, self._located = array("b"), array("b"), array("b")
        self._digest = array("Q")
        self._best_grade = best_grade
        self._paragraphs = paragraphs
        self._places = places
        self._judge_grade, self._human_grade, self._max_grade = array("d"), array("d"), array("q")

    def add(self, record: ProofRecord) -> None:
        """Take one record; a missing judgment counts as an invalid one.

        Raises:
            ValueError: If it has more than R judgments.
        """
        check_judgments(record, self._repeats)
        labels = {
            "problem": cluster_of(record),
            "domain": record.domain or "",
            "subject": record.subject,
            "policy": record.policy or "",
        }
        for name, text in labels.items():
            names = self._names[name]
            self._codes[name].append(names.setdefault(text, len(names)))
        self._keys.append(record.key)
        self._sample.append(record.sample_index)
        self._steps.append(len(record.steps))
        generated = record.generation_error is None
        self._generated.append(generated)
        self._label.append(_label_of(record))
        self._located.append(record.located)
        self._severity.append(severity_of(record))
        self._digest.append(_digest(record.steps))
        judgments = record.judgments if generated else []
        for judgment in judgments:
            self._verdict.append(_verdict_of(judgment))
            units = meta_units(judgment)
            self._meta.append(INVALID if units is None else units)
        missing = self._repeats - len(judgments)
        self._verdict.extend([INVALID] * missing)
        self._meta.extend([INVALID] * missing)
        if self._best_grade is not None:
            self._add_grades(record, judgments, missing, self._best_grade)

    def _add_grades(self, record: ProofRecord, judgments: Sequence[Judgment], missing: int, best: float) -> None:
        given = (judgment.grade if judgment.valid else UNSET for judgment in judgments)
        self._judge_grade.extend(math.nan if grade is UNSET else grade / best for grade in given)
        self._judge_grade.extend([math.nan] * missing)
        graded = record.grade is not UNSET and record.max_grade is not UNSET
        self._human_grade.append(record.grade / record.max_grade if graded else math.nan)  # type: ignore[operator]
        self._max_grade.append(record.max_grade if graded else 0)  # type: ignore[arg-type]

    def build(self) -> JudgmentArrays:
        """The arrays of what was added; the builder must not be used again."""
        proofs = len(self._keys)
        # Clusters are numbered by name, so that no interval depends on the order of the records.
        problems = sorted(self._names["problem"])
        rank = np.empty(len(problems), dtype=np.int32)
        rank[[self._names["problem"][name] for name in problems]] = np.arange(len(problems))
        codes = {name: np.frombuffer(codes, dtype=np.int32) for name, codes in self._codes.items()}
        grades = None
        if self._best_grade is not None:
            judge = np.frombuffer(self._judge_grade, dtype=np.float64).reshape(proofs, self._repeats)
            human = np.frombuffer(self._human_grade, dtype=np.float64)
            scale = np.frombuffer(self._max_grade, dtype=np.int64)
            grades = Grades(judge, human, scale, rank[codes["problem"]])
        return JudgmentArrays(
            task=self._task,
            samples=self._samples,
            repeats=self._repeats,
            problems=tuple(problems),
            keys=tuple(self._keys),
            problem=rank[codes["problem"]],
            sample=np.frombuffer(self._sample, dtype=np.int32),
            verdict=np.frombuffer(self._verdict, dtype=np.int32).reshape(proofs, self._repeats),
            generated=np.frombuffer(self._generated, dtype=np.bool_),
            label=np.frombuffer(self._label, dtype=np.int32),
            meta=np.frombuffer(self._meta, dtype=np.int8).reshape(proofs, self._repeats),
            steps=np.frombuffer(self._steps, dtype=np.int32),
            digest=np.frombuffer(self._digest, dtype=np.uint64),
            located=np.frombuffer(self._located, dtype=np.bool_),
            severity=np.frombuffer(self._severity, dtype=np.int8),
            domain=Labels(codes["domain"], tuple(self._names["domain"])),
            subject=Labels(codes["subject"], tuple(self._names["subject"])),
            policy=Labels(codes["policy"], tuple(self._names["policy"])),
            grades=grades,
            paragraphs=self._paragraphs,
            places=self._places,
        )


def _verdict_of(judgment: Judgment) -> int:
    if not judgment.valid:
        return INVALID
    step = judgment.first_error_step
    if step is not None:
        return step
    return ACCEPTS if judgment.accepting else UNLOCATED


def arrays_of(
    records: Iterable[ProofRecord],
    *,
    task: Task,
    repeats: int,
    samples: int = 1,
    best_grade: float | None = None,
    paragraphs: bool = False,
) -> JudgmentArrays:
    """Arrays of closed records, read once; arguments as of :class:`ArrayBuilder`.

    Raises:
        ValueError: If S or R is below 1, or a record has more than R judgments.
    """
    builder = ArrayBuilder(task=task, repeats=repeats, samples=samples, best_grade=best_grade, paragraphs=paragraphs)
    for record in records:
        builder.add(record)
    return builder.build()


def cluster_of(record: ProofRecord) -> str:
    """The unit that is resampled: the problem, whose proofs and judgments are not independent of each other.

    A record without a problem is a cluster of its own.
    """
    return record.problem_id or f"proof {record.proof_id}"


def _label_of(record: ProofRecord) -> int:
    """The code of a record's human label."""
    if record.is_correct is None:
        return INVALID
    if record.first_error_step is None:
        return ACCEPTS if record.is_correct else UNLOCATED
    return record.first_error_step


def severity_of(record: ProofRecord) -> int:
    """Index into SEVERITIES of the worst error that a human found; 0 also without an annotation."""
    if record.annotation is None:
        return 0
    if record.annotation.first_fatal_error_step is None:
        return 0 if record.is_correct else 3
    if record.annotation.first_fatal_error_step >= 0:
        return 1
    return 2 if any(step >= 0 for step in record.annotation.recoverable_error_steps) else 0


def meta_units(judgment: Judgment) -> int | None:
    """Credit of a judgment's explanation in quarters, 0 to 4; None if it has no valid level.

    A level counts only where the judgment itself is valid.
    """
    if not judgment.valid or judgment.meta is None or not judgment.meta.valid or judgment.meta.level is None:
        return None
    return _LEVEL_UNITS[judgment.meta.level]


def _digest(steps: list[str]) -> int:
    state = blake2b(digest_size=8)
    for step in steps:
        text = step.encode("utf-8", "surrogatepass")
        state.update(len(text).to_bytes(8, "big") + text)
    return int.from_bytes(state.digest(), "big")
