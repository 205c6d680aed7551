"""What labels buy: how wide the corrected score's interval is, and is going to be (docs/labels.md). Pure.

Both are intervals of :func:`proverbench.metrics.correction.correct_by_labels`, so that what is said while labelling is
what `proverbench correct --labels` says afterwards.
"""

from collections.abc import Mapping
from typing import NamedTuple

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.correction import UncorrectableError, correct_by_labels
from proverbench.metrics.strata import NAMES, Labelled, strata_of


class Gain(NamedTuple):
    """Widths of 95 % intervals, in [0, 1]; None where the labels do not suffice for one."""

    width: float | None
    """With the labels so far."""
    expected: float | None
    """With every label of the draw, if those to come are as those so far."""


def gain_of(run: JudgmentArrays, correct: Mapping[str, bool], probability: Mapping[str, float]) -> Gain:
    """How much is known, and will be.

    Args:
        run: All splits of the run that is labelled.
        correct: By proof, whether it was found correct; proofs without a label, or that nobody could judge, are left
            out.
        probability: Of every proof of the draw, in its order, the chance with which it was drawn.
    """
    return Gain(_width(run, correct, probability), _width(run, completed(run, correct, probability), probability))


def completed(run: JudgmentArrays, correct: Mapping[str, bool], probability: Mapping[str, float]) -> dict[str, bool]:
    """The labels with those to come, of which in each stratum (x + 1/2)/(n + 1) are taken to say correct.

    x of n labels so far do. What comes is spread evenly over the draw, so that nothing is random.
    """
    stratum = dict(zip(run.keys, strata_of(run.accepts, run.repeats).tolist(), strict=True))
    known = {key: label for key, label in correct.items() if key in stratum}
    said = [[label for key, label in known.items() if stratum[key] == k] for k in range(len(NAMES))]
    rates = [(sum(labels) + 0.5) / (len(labels) + 1) for labels in said]
    due = [0.5] * len(NAMES)
    for key in probability:
        if key in known or key not in stratum:
            continue
        k = stratum[key]
        due[k] += rates[k]
        known[key] = due[k] >= 1
        due[k] -= known[key]
    return known


def _width(run: JudgmentArrays, correct: Mapping[str, bool], probability: Mapping[str, float]) -> float | None:
    labels = Labelled(correct, {key: chance for key, chance in probability.items() if key in correct})
    try:
        found = correct_by_labels(run, labels.of(run))["interval"]
    except UncorrectableError:
        return None
    return None if found is None or found["low"] is None else float(found["high"] - found["low"])
