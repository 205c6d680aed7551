"""Averages over all subsets of a proof's judgments, exactly."""

import math

import numpy as np
from numpy.typing import NDArray


def subset_probability(repeats: int, drawn: int, wanted: int) -> NDArray[np.float64]:
    """How often a random subset of the judgments holds enough votes.

    Args:
        repeats: R, the judgments there are.
        drawn: r, the size of the subset, from 1 to R.
        wanted: k, the votes it must hold.

    Returns:
        Shape (R+1,): at index a the share of the subsets of size r that hold at least k of the a votes; exact sums
        rounded once.

    Source: the upper tail of the hypergeometric distribution.
    """
    subsets = math.comb(repeats, drawn)
    return np.array(
        [
            sum(math.comb(votes, x) * math.comb(repeats - votes, drawn - x) for x in range(wanted, drawn + 1)) / subsets
            for votes in range(repeats + 1)
        ]
    )
