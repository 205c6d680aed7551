"""The benchmark of the aggregation measures what it says, on a small run."""

import numpy as np
import pytest

from benchmarks.bench_metrics import REPEATS, SAMPLES, plain_loop, records, vectorised
from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.scores import score_prover


def test_the_loop_and_the_arrays_agree():
    arrays = arrays_of(records(50), task="prover", samples=SAMPLES, repeats=REPEATS)
    assert arrays.verdict.shape == (50 * SAMPLES, REPEATS)
    interval = vectorised(arrays)["pessimistic"]
    slow = plain_loop(arrays, 300)
    score = score_prover(records(50), samples=SAMPLES, repeats=REPEATS)["pessimistic"]
    assert np.mean(slow) == pytest.approx(score, abs=0.02)
    assert np.std(slow) == pytest.approx(interval["se"], rel=0.2)
