"""Records as compact arrays: what every statistic beyond the published scores is computed from.

A million judgments take about 5 MB, and the records are read once, so an iterator over a file will do.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.benchmark import benchmark_of
from proverbench.metrics.grades import Grades
from proverbench.metrics.metric import Need
from proverbench.metrics.subsets import subset_probability
from proverbench.records import Task

ACCEPTS = -1
"""Verdict code: valid, no error found. Codes from 0 are the reported first-error step."""
INVALID = -2
"""Verdict code: invalid or missing; also the code of a missing human label and of a missing meta level."""

META_UNITS = 4
"""Levels are worth whole quarters (LEVEL_SCORES), so their sums are kept as integers and stay exact."""

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


def _count(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.sum(mask, axis=1, dtype=np.int64)
    return counts
