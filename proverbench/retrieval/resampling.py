"""The seeded percentile bootstrap that retrieval's published methodology uses for its board."""

from collections.abc import Iterator

import numpy as np

from proverbench.metrics.summaries import Floats

RESAMPLES = 1000
SEED = 20260711
"""The seed of every interval of the board; it stands beside the interval."""

_CHUNK = 1 << 16
"""Draws held at once, so that memory does not grow with the number of resamples."""


def resample_weights(units: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each of C units is drawn, in blocks of shape (b, C); the blocks add up to ``resamples`` rows."""
    rng = np.random.Generator(np.random.PCG64(seed))
    block = max(1, _CHUNK // max(units, 1))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        if not units:
            yield np.zeros((rows, 0))
            continue
        drawn = rng.integers(0, units, size=(rows, units))
        drawn += np.arange(rows)[:, None] * units
        yield np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)
