"""What the score functions refuse, on each side of the line, wherever records come in."""

from collections.abc import Callable

import pytest

from proverbench.metrics.array_building import ArrayBuilder, arrays_of
from proverbench.metrics.checks import check_extent, check_judgments
from proverbench.metrics.scores import score_prover, score_verifier
from tests.metrics.made_up import prover_record, verifier_record


@pytest.mark.parametrize(
    ("samples", "repeats", "fault"), [(0, 1, "samples is 0"), (1, 0, "repeats is 0"), (1, -1, "repeats is -1")]
)
def test_an_extent_below_one_is_refused(samples: int, repeats: int, fault: str) -> None:
    checks: list[Callable[[], object]] = [
        lambda: check_extent(samples=samples, repeats=repeats),
        lambda: ArrayBuilder(task="prover", samples=samples, repeats=repeats),
        lambda: arrays_of([], task="prover", samples=samples, repeats=repeats),
        lambda: score_prover([], samples=samples, repeats=repeats),
    ]
    for check in checks:
        with pytest.raises(ValueError, match=f"^{fault}; it must be at least 1$"):
            check()


def test_an_extent_of_one_will_do() -> None:
    check_extent(samples=1, repeats=1)
    check_extent(repeats=1)
    assert score_verifier([], repeats=1)["proofs"] == 0


def test_more_judgments_than_repeats_are_refused() -> None:
    two = prover_record("a", 0, [-1, -1])
    check_judgments(two, 2)
    check_judgments(two, 3)
    match = r"^record a/0: 2 judgments, but repeats is 1$"
    with pytest.raises(ValueError, match=match):
        check_judgments(two, 1)
    with pytest.raises(ValueError, match=match):
        arrays_of([two], task="prover", repeats=1)
    with pytest.raises(ValueError, match=match):
        score_prover([two], samples=1, repeats=1)
    with pytest.raises(ValueError, match=r"^record v: 2 judgments"):
        score_verifier([verifier_record("p", "v", -1, [-1, -1])], repeats=1)
