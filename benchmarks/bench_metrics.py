"""Aggregating a million judgments with all intervals, against the time it takes to read them and a plain bootstrap.

    python -m benchmarks.bench_metrics [--judgments N]

Prints the time to read records into arrays, to compute all published metrics with intervals, and what a bootstrap of
1,000 resamples of problems takes as a plain Python loop (measured on a few, scaled).
"""

import argparse
import random
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.rates import published_rates
from proverbench.metrics.uncertainty import intervals, same_problems
from proverbench.records import Judgment, ProofRecord

SAMPLES, REPEATS = 4, 8
RESAMPLES = 1000


def records(problems: int, seed: int = 1) -> Iterator[ProofRecord]:
    """A made-up run, one record at a time."""
    rng = random.Random(seed)
    accept = Judgment(valid=True, first_error_step=-1)
    others = [Judgment(valid=True, first_error_step=0), Judgment(valid=False, reason="bad_index")]
    for problem in range(problems):
        ease = rng.random() ** 0.2
        for sample in range(SAMPLES):
            judgments = [accept if rng.random() < ease else rng.choice(others) for _ in range(REPEATS)]
            yield ProofRecord(problem_id=f"p{problem}", sample_index=sample, steps=["x"], judgments=judgments)


def plain_loop(arrays: JudgmentArrays, resamples: int, seed: int = 2) -> list[float]:
    """``pessimistic`` of each resample, as one would first write it."""
    rng = random.Random(seed)
    by_problem: list[list[list[int]]] = [[] for _ in arrays.problems]
    for problem, verdicts in zip(arrays.problem.tolist(), arrays.verdict.tolist(), strict=True):
        by_problem[problem].append(verdicts)
    scores = []
    for _ in range(resamples):
        drawn = rng.choices(by_problem, k=len(by_problem))
        scores.append(sum(sum(all(v == -1 for v in proof) for proof in p) / len(p) for p in drawn) / len(drawn))
    return scores


def vectorised(arrays: JudgmentArrays) -> dict[str, Any]:
    """All published metrics with their intervals, for new problems and for the same ones."""
    found = intervals(published_rates(arrays))
    for name, same in same_problems(arrays).items():
        found[name]["same_problems"] = same
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    problems = parser.parse_args().judgments // (SAMPLES * REPEATS)

    start = time.perf_counter()
    arrays = arrays_of(records(problems), task="prover", samples=SAMPLES, repeats=REPEATS)
    read = time.perf_counter() - start
    start = time.perf_counter()
    found = vectorised(arrays)
    fast = time.perf_counter() - start
    few = 3
    start = time.perf_counter()
    slow_scores = plain_loop(arrays, few)
    slow = (time.perf_counter() - start) / few * RESAMPLES
    held = sum(value.nbytes for value in (arrays.verdict, arrays.meta, arrays.problem, arrays.label)) / 1e6

    print(f"{arrays.verdict.size:,} judgments of {problems:,} problems")
    print(f"records made and read into arrays  {read:8.1f} s   ({held:.0f} MB of arrays)")
    print(f"4 metrics with intervals           {fast:8.2f} s")
    print(f"plain loop, 1 metric, scaled       {slow:8.0f} s   (from {few} resamples)")
    print(f"ratio                              {slow / fast:8.0f} ×")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    print(f"pessimistic {found['pessimistic']}; the loop's resamples {np.round(slow_scores, 4)}")


if __name__ == "__main__":
    main()
