"""On random small tables of both benchmarks no interval has zero width, and none contradicts its verdict."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.metrics.agreement import human_agreement, repeat_agreement
from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.comparison import compare_runs
from proverbench.metrics.correction import (
    UncorrectableError,
    compare_by_calibration,
    compare_by_labels,
    correct_by_calibration,
    correct_by_labels,
    shift_test,
)
from proverbench.metrics.rates import published_rates
from proverbench.metrics.shown import named_intervals
from proverbench.metrics.strata import Labelled
from proverbench.metrics.uncertainty import intervals, same_problems
from proverbench.metrics.voting import best_threshold, pass_at_k, voting_curve
from tests.metrics.made_up import prover_record, verifier_record

some = settings(max_examples=15, deadline=None)
STEPS = (-1, 0, INVALID)
SEEDS = st.integers(0, 2**32 - 1)
CHANCES = st.sampled_from([(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.05, 0.9), (0.5, 0.4), (0.9, 0.1)])
"""Of a judgment to accept, and to reject; else it is invalid."""
SIZES = st.tuples(st.integers(2, 12), st.integers(1, 3), st.sampled_from([1, 2, 4]))
"""Problems, proofs of each, judgments of each."""


def verdicts(rng: np.random.Generator, chances: tuple[float, float], repeats: int) -> list[int]:
    accept, reject = chances
    drawn = rng.choice(3, repeats, p=[accept, reject, max(0.0, 1 - accept - reject)])
    return [STEPS[k] for k in drawn]


def prover(rng: np.random.Generator, size: tuple[int, int, int], chances: tuple[float, float]) -> JudgmentArrays:
    problems, samples, repeats = size
    records = [
        prover_record(f"p{i:02}", s, None if rng.random() < 0.05 else verdicts(rng, chances, repeats))
        for i in range(problems)
        for s in range(samples)
    ]
    return arrays_of(records, task="prover", samples=samples, repeats=repeats)


def verifier(
    rng: np.random.Generator, size: tuple[int, int, int], labels: list[int], chances: tuple[float, float]
) -> JudgmentArrays:
    _, proofs, repeats = size
    records = [
        verifier_record(f"c{i // proofs:02}", f"v{i:02}", label, verdicts(rng, chances, repeats))
        for i, label in enumerate(labels)
    ]
    return arrays_of(records, task="verifier", repeats=repeats)


def check(found: Mapping[str, Any] | list[Any]) -> None:
    """Every interval has width, or none because a single problem counts."""
    for name, interval in named_intervals(found):
        if interval["low"] is None:
            assert interval["n"] < 2, name
        else:
            assert interval["low"] < interval["high"], (name, interval)


def agrees(row: Mapping[str, Any]) -> None:
    """The interval at the pair's level leaves 0 out exactly where the difference is shown."""
    step = row["step_interval"]
    if step["low"] is None:
        assert not row["shown"]
    elif abs(row["p"] - (1 - step["level"])) > 1e-6:
        assert (step["low"] > 0 or step["high"] < 0) == row["shown"], row


def pairs(runs: Mapping[str, JudgmentArrays]) -> Iterator[Mapping[str, Any]]:
    result = compare_runs(runs)
    for row in result["pairs"]:
        check([row])
        yield row


@given(SEEDS, SIZES, CHANCES, CHANCES)
@some
def test_proverbench(
    seed: int, size: tuple[int, int, int], one: tuple[float, float], other: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    runs = {"a": prover(rng, size, one), "b": prover(rng, size, other), "c": prover(rng, size, other)}
    for run in runs.values():
        check([{"metric": k, "interval": v} for k, v in intervals(published_rates(run)).items()])
        check([{"metric": k, "interval": v} for k, v in same_problems(run).items() if v is not None])
        check(voting_curve(run))
        check(pass_at_k(run))
        check(repeat_agreement(run))
    for row in pairs(runs):
        agrees(row)


@given(SEEDS, SIZES, CHANCES, CHANCES)
@some
def test_verifierbench(
    seed: int, size: tuple[int, int, int], one: tuple[float, float], other: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1, 0], size[0] * size[1]).tolist()
    runs = {"a": verifier(rng, size, labels, one), "b": verifier(rng, size, labels, other)}
    for row in pairs(runs):
        agrees(row)
    for run in runs.values():
        check([{"metric": k, "interval": v} for k, v in intervals(published_rates(run)).items()])
        check(human_agreement(run))
        if run.repeats > 1 and run.correct.any() and run.incorrect.any():
            check(best_threshold(run))


@given(SEEDS, SIZES, CHANCES, CHANCES)
@some
def test_corrections(
    seed: int, size: tuple[int, int, int], one: tuple[float, float], other: tuple[float, float]
) -> None:
    rng = np.random.default_rng(seed)
    runs = {"a": prover(rng, size, one), "b": prover(rng, size, other)}
    rule = [
        verifier_record(f"c{i:02}", f"v{i:02}", -1 if i % 2 else 0, [-1 if i % 2 else 0] * size[2]) for i in range(40)
    ]
    calibration = arrays_of(rule, task="verifier", repeats=size[2])
    labels = {
        name: Labelled(
            {key: bool(rng.random() < 0.5) for key, there in zip(run.keys, run.generated, strict=True) if there}
        )
        for name, run in runs.items()
    }
    for name, run in runs.items():
        for correct in (
            lambda run=run: correct_by_calibration(run, calibration),
            lambda run=run, name=name: correct_by_labels(run, labels[name]),
            lambda run=run, name=name: shift_test(run, calibration, labels[name]),
        ):
            with suppress(UncorrectableError):
                check(correct())
    for compare in (
        lambda: compare_by_calibration(runs, calibration),
        lambda: compare_by_labels(runs, labels),
    ):
        try:
            rows = compare()
        except UncorrectableError:
            continue
        for row in rows:
            check([row])
            agrees(row)
