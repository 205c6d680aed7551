"""What labels buy: how wide the corrected score's interval is expected to be (docs/labels.md). Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Z = 1.959963984540054
"""The normal quantile of a 95 % interval."""


class Stratum(NamedTuple):
    """Proofs of which the judge said the same."""

    share: float
    """Of all judged proofs."""
    correct: int
    """Labelled ones that people found correct."""
    labelled: int
    planned: int
    """How many of the draw are in it."""


def expected_width(
    strata: Sequence[Stratum], *, judged: float, run_width: float, labelled: bool = False
) -> float | None:
    """Width of the 95 % interval of a score that is post-stratified by labels.

    A stratum's share of correct proofs is taken as (x + 1/2)/(n + 1) of its labels so far; the variance of its estimate
    is π(1-π)/L, to which the run's own is added.

    Args:
        strata: What is known so far.
        judged: Share of all proofs that were judged.
        run_width: Width of the interval that another draw of problems alone accounts for.
        labelled: With the labels there are, instead of all that are planned.

    Returns:
        A width in [0, 1]; None where a stratum would have no label.

    Source: the variance of a post-stratified mean; Cochran (1977), Sampling Techniques, 5A.9.
    """
    variance = (run_width / (2 * Z)) ** 2
    for share, correct, known, planned in strata:
        count = known if labelled else planned
        if not share:
            continue
        if not count:
            return None
        rate = (correct + 0.5) / (known + 1)
        variance += (judged * share) ** 2 * rate * (1 - rate) / count
    return min(1.0, 2 * Z * math.sqrt(variance))
