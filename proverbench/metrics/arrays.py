"""Records as compact arrays: what every statistic beyond the published scores is computed from.

A million judgments take about 5 MB, and the records are read once, so an iterator over a file will do.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from proverbench.benchmark import benchmark_of
from proverbench.metrics.checks import check_extent, check_judgments
from proverbench.metrics.grades import Grades
from proverbench.metrics.metric import Need
from proverbench.metrics.subsets import subset_probability
from proverbench.records import LEVEL_SCORES, Judgment, ProofRecord, Task

ACCEPTS = -1
"""Verdict code: valid, no error found. Codes from 0 are the reported first-error step."""
INVALID = -2
"""Verdict code: invalid or missing; also the code of a missing human label and of a missing meta level."""

META_UNITS = 4
"""Levels are worth whole quarters (LEVEL_SCORES), so their sums are kept as integers and stay exact."""
_LEVEL_UNITS = {level: int(score * META_UNITS) for level, score in LEVEL_SCORES.items()}

UNLOCATED = -3
"""Label or verdict code: incorrect, but no step is named."""

SEVERITIES = ("none", "fatal", "recoverable only", "not located")
"""What a human found in a proof; the index is the code in :attr:`JudgmentArrays.severity`."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column of few distinct texts: codes (P,) into names."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class JudgmentArrays:
    """One split's closed records, P proofs of C problems with R judgments each."""

    task: Task
    samples: int
    """S, the proofs asked for of each problem; 1 in VerifierBench."""
    repeats: int
    """R, the judgments asked for of each proof."""
    problems: tuple[str, ...]
    """Names of the C clusters, the units that are resampled, sorted."""
    keys: tuple[str, ...]
    """Unique name of each proof."""
    problem: NDArray[np.int32]
    """Cluster of each proof, shape (P,), in 0..C-1."""
    sample: NDArray[np.int32]
    """Sample index, shape (P,)."""
    verdict: NDArray[np.int32]
    """Verdict codes, shape (P, R): ACCEPTS, INVALID, UNLOCATED or a step."""
    generated: NDArray[np.bool_]
    """Whether there is a proof to judge, shape (P,)."""
    label: NDArray[np.int32]
    """The human's first-error step, shape (P,): -1 for a correct proof, UNLOCATED for an incorrect one without a place,
    INVALID where there is no label."""
    located: NDArray[np.bool_]
    """Whether the label says where the first error is, or that no step has one, shape (P,); False for a verdict on the
    whole proof, right or wrong."""
    meta: NDArray[np.int8]
    """Meta credit in quarters, 0 to 4, shape (P, R); INVALID where there is none."""
    steps: NDArray[np.int32]
    """Number of steps, shape (P,)."""
    digest: NDArray[np.uint64]
    """A hash of the steps, shape (P,): tells whether two runs judged the same proof."""
    severity: NDArray[np.int8]
    """Index into SEVERITIES, shape (P,)."""
    domain: Labels
    subject: Labels
    policy: Labels
    drawn: int | None = None
    """r: acceptance is then averaged over all subsets of r of the R judgments; None: all R."""
    grades: Grades | None = None
    """Judges' grades and people's; None where judges give none."""
    paragraphs: bool = False
    """Whether judges name paragraphs as ProcessBench does."""
    places: bool = True
    """Whether judges say where the first error is."""

    @property
    def offers(self) -> frozenset[Need]:
        """What these records have that only some protocols give."""
        found: set[Need] = set()
        if self.grades is not None:
            found |= {"grades", "human grades"} if self.grades.by_people.any() else {"grades"}
        return frozenset(found | ({"paragraphs"} if self.paragraphs else set()))

    @property
    def accepts(self) -> NDArray[np.int64]:
        """Valid acceptances of each proof, shape (P,), in 0..R."""
        return _count(self.verdict == ACCEPTS)

    @property
    def rejects(self) -> NDArray[np.int64]:
        """Valid rejections of each proof, shape (P,), in 0..R."""
        return _count((self.verdict >= 0) | (self.verdict == UNLOCATED))

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the human found no error, shape (P,)."""
        return np.equal(self.label, ACCEPTS)

    @property
    def incorrect(self) -> NDArray[np.bool_]:
        """Whether the human found an error, shape (P,)."""
        found: NDArray[np.bool_] = (self.label >= 0) | (self.label == UNLOCATED)
        return found

    @property
    def each(self) -> NDArray[np.int64]:
        """One for each proof, shape (P,)."""
        return np.ones(len(self.keys), dtype=np.int64)

    @property
    def asked(self) -> NDArray[np.int64]:
        """Judgments asked for of each proof, R, shape (P,)."""
        return self.each * self.repeats

    @property
    def valid(self) -> NDArray[np.int64]:
        """Valid judgments of each proof, shape (P,), in 0..R."""
        return _count(self.verdict != INVALID)

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """The acceptance rule: whether the proof exists and all R judgments validly accept it, shape (P,)."""
        everything: NDArray[np.bool_] = (self.accepts == self.repeats) & self.generated
        return everything

    @property
    def acceptance(self) -> NDArray[np.float64]:
        """How far each proof is accepted, shape (P,): 1 or 0 by the acceptance rule.

        With :attr:`drawn`, the share of the subsets of that size all of whose judgments accept.
        """
        share = subset_probability(self.repeats, self.drawn or self.repeats, self.drawn or self.repeats)
        everywhere: NDArray[np.float64] = share[self.accepts] * self.generated
        return everywhere

    def at_repeats(self, repeats: int) -> "JudgmentArrays":
        """The same, as if only so many judgments of each proof had been asked: the exact mean over which ones.

        Of the metrics, ``pessimistic`` follows; ``pass_any_sample`` does not.

        Raises:
            ValueError: If there are not so many judgments.
        """
        if not 1 <= repeats <= self.repeats:
            raise ValueError(f"there are {self.repeats} judgments of each proof, not {repeats}")
        return replace(self, drawn=repeats)

    @property
    def right_polarity(self) -> NDArray[np.int64]:
        """Valid judgments that accept a correct proof, or reject an incorrect one, shape (P,), in 0..R."""
        return np.where(self.correct, self.accepts, self.rejects)

    @property
    def right_step(self) -> NDArray[np.int64]:
        """Valid judgments that name the human's first-error step, -1 included, shape (P,), in 0..R.

        0 where the label has no place.
        """
        return _count((self.verdict == self.label[:, None]) & (self.verdict != INVALID) & self.located[:, None])

    @property
    def graded(self) -> NDArray[np.int64]:
        """Judgments with a valid meta level, shape (P,), in 0..R."""
        return _count(self.meta != INVALID)

    @property
    def meta_credit(self) -> NDArray[np.float64]:
        """Credit of the meta levels of each proof, shape (P,), in 0..R; quarters, which add up exactly."""
        units = np.where(self.meta == INVALID, 0, self.meta).sum(axis=1, dtype=np.int64)
        credit: NDArray[np.float64] = units / META_UNITS
        return credit

    def best_case(self) -> "JudgmentArrays":
        """The same, had every invalid judgment spoken in the score's favour.

        In ProverBench it accepts; in VerifierBench it agrees with the human label, and an invalid or missing level is
        an exact match.
        """
        label = np.where(self.label == UNLOCATED, 0, self.label)  # any rejection agrees with it
        favoured = label[:, None] if benchmark_of(self.task).labelled else ACCEPTS
        return replace(
            self,
            verdict=np.where(self.verdict == INVALID, favoured, self.verdict).astype(np.int32),
            meta=np.where(self.meta == INVALID, META_UNITS, self.meta).astype(np.int8),
        )

    def select(self, mask: NDArray[np.bool_] | NDArray[np.intp]) -> "JudgmentArrays":
        """The chosen proofs only, with clusters numbered anew, in the same order.

        Args:
            mask: Booleans of shape (P,), or proof indices in the wanted order.
        """
        rows = np.flatnonzero(mask) if mask.dtype == np.bool_ else mask
        kept, problem = np.unique(self.problem[rows], return_inverse=True)
        changed: dict[str, Any] = {
            "problems": tuple(self.problems[i] for i in kept),
            "keys": tuple(self.keys[i] for i in rows),
            "problem": problem.astype(np.int32),
        }
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in changed:
                if isinstance(value, np.ndarray):
                    value = value[rows]
                elif isinstance(value, Grades):
                    value = value.select(rows, changed["problem"])
                elif isinstance(value, Labels):
                    value = Labels(value.codes[rows], value.names)
                changed[field.name] = value
        return JudgmentArrays(**changed)

    def split(self, name: str) -> "JudgmentArrays":
        """The proofs of one split: ``all``, or a domain."""
        if name == "all":
            return self
        code = self.domain.names.index(name) if name in self.domain.names else -1
        return self.select(self.domain.codes == code)


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


def _count(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.sum(mask, axis=1, dtype=np.int64)
    return counts


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
