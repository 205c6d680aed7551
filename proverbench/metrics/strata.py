"""Strata of verdict patterns, and what a sample of labelled proofs says of all (docs/metrics.md, "Labels"). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.summaries import Floats

NAMES = ("none", "some", "all")
"""How many of a proof's judgments validly accept it."""
THREE_STRATA_FROM = 4
"""With so many repeats "some accept" is a stratum of its own; with fewer it belongs to "none": the rule rejects."""
LEAST = 10
"""A stratum gets so many labels at least, if it has so many proofs."""


def strata_of(accepts: NDArray[np.int64], repeats: int) -> NDArray[np.int64]:
    """Index into NAMES of each proof.

    Args:
        accepts: Valid acceptances of each, shape (P,).
        repeats: R.
    """
    some = 1 if repeats >= THREE_STRATA_FROM else 0
    found: NDArray[np.int64] = np.where(accepts == repeats, 2, np.where(accepts > 0, some, 0))
    return found


def allocate(sizes: Sequence[int], labels: int, *, equal: bool = False) -> list[int]:
    """How many proofs of each stratum to label.

    Args:
        sizes: N_s, the proofs of each.
        labels: L, at most their sum.
        equal: As many of each, to count a judge's false acceptances; otherwise in proportion, with at least 10 each.

    Returns:
        L_s, which add up to L; none above N_s. Where L does not suffice for the floors, they shrink alike.

    Raises:
        ValueError: If there are fewer proofs than labels.
    """
    total = sum(sizes)
    if labels > total:
        raise ValueError(f"{total} proofs, fewer than the {labels} to choose")
    present = sum(size > 0 for size in sizes)
    floors = [0 if equal else min(LEAST, size, labels // max(present, 1)) for size in sizes]
    weights = [float(size > 0) if equal else float(size) for size in sizes]

    def shared(scale: float) -> list[float]:
        return [min(float(n), max(float(f), scale * w)) for w, f, n in zip(weights, floors, sizes, strict=True)]

    low, high = 0.0, float(labels + 1)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(shared(middle)) < labels else (low, middle)
    wanted = shared(high)
    found = [min(int(want + 1e-9), size) for want, size in zip(wanted, sizes, strict=True)]
    # What rounding down left over goes to the largest remainders; of equal ones to the earlier stratum.
    order = sorted(range(len(sizes)), key=lambda k: found[k] - wanted[k])
    while (left := labels - sum(found)) > 0:
        for k in [k for k in order if found[k] < sizes[k]][:left]:
            found[k] += 1
    return found


@dataclass(frozen=True)
class Labelled:
    """Human labels of some of a run's own proofs, and how those were drawn."""

    correct: Mapping[str, bool]
    """By proof key, whether a human found the proof correct."""
    probability: Mapping[str, float] = field(default_factory=dict)
    """By proof key, the chance with which it was drawn; empty for a simple random draw."""

    def of(self, run: JudgmentArrays) -> "Labelled":
        """The labels of one split's proofs."""
        inside = set(run.keys)
        return Labelled(
            {key: label for key, label in self.correct.items() if key in inside},
            {key: chance for key, chance in self.probability.items() if key in inside},
        )

    def simple(self) -> bool:
        """Whether every proof had the same chance."""
        return len({round(self.probability.get(key, 0.0), 9) for key in self.correct}) <= 1

    def mask(self, run: JudgmentArrays) -> NDArray[np.bool_]:
        """Which proofs of a run are labelled, shape (P,)."""
        return np.array([key in self.correct for key in run.keys], dtype=np.bool_)

    def human(self, run: JudgmentArrays) -> NDArray[np.bool_]:
        """Which proofs people found correct, shape (P,); False where there is no label."""
        return np.array([self.correct.get(key, False) for key in run.keys], dtype=np.bool_)

    def weights(self, run: JudgmentArrays) -> Floats:
        """1 over the inclusion probability of labelled proofs, 0 for others, shape (P,)."""
        if self.simple():
            return self.mask(run).astype(np.float64)
        return np.array([1 / self.probability[key] if key in self.correct else 0.0 for key in run.keys])
