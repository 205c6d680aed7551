"""How labels are shared out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.metrics.strata import LEAST, allocate, strata_of


@pytest.mark.parametrize(
    ("sizes", "labels", "equal", "wanted"),
    [
        pytest.param([80, 20], 40, False, [30, 10], id="floor"),
        pytest.param([50, 50], 40, False, [20, 20], id="proportional"),
        pytest.param([900, 95, 5], 100, False, [85, 10, 5], id="a-small-stratum-is-labelled-whole"),
        pytest.param([80, 20], 30, True, [15, 15], id="equal"),
        pytest.param([95, 5], 40, True, [35, 5], id="equal-as-far-as-there-are-proofs"),
        pytest.param([80, 0, 20], 10, False, [5, 0, 5], id="fewer-labels-than-floors"),
        pytest.param([3, 3], 6, False, [3, 3], id="all"),
        pytest.param([5, 5], 0, False, [0, 0], id="none"),
    ],
)
def test_allocation(sizes: list[int], labels: int, equal: bool, wanted: list[int]) -> None:
    assert allocate(sizes, labels, equal=equal) == wanted


@given(st.lists(st.integers(0, 300), min_size=1, max_size=3), st.floats(0, 1), st.booleans())
def test_allocation_always(sizes: list[int], share: float, equal: bool) -> None:
    labels = int(share * sum(sizes))
    got = allocate(sizes, labels, equal=equal)
    assert sum(got) == labels
    assert all(0 <= few <= size for few, size in zip(got, sizes, strict=True))
    if not equal and labels >= LEAST * len(sizes):
        assert all(few >= min(LEAST, size) for few, size in zip(got, sizes, strict=True))


def test_more_labels_than_proofs() -> None:
    with pytest.raises(ValueError, match="fewer than the 9"):
        allocate([4, 4], 9)


def test_strata() -> None:
    assert strata_of(np.array([0, 1, 3, 4]), 4).tolist() == [0, 1, 1, 2]
    assert strata_of(np.array([0, 1, 2, 3]), 3).tolist() == [0, 0, 0, 2]
    assert strata_of(np.array([0, 1]), 1).tolist() == [0, 2]
