"""The 95 % intervals hold what they promise where they are not flagged, and the table in the docs says where not."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import SCENARIOS, held, resampled_rates, simulate, table
from proverbench.metrics.rates import RateTable, each_itself
from proverbench.metrics.uncertainty import intervals

PAGE = (Path(__file__).parents[2] / "docs/coverage.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("scenario", "n"), list(itertools.product(sorted(SCENARIOS), (45, 245, 888))))
def test_coverage(scenario: str, n: int) -> None:
    for name, share in simulate(scenario, n, 2000).items():
        if scenario == "rare" and n == 45:
            # Here the package calls the bootstrap unreliable and gives Wilson's interval.
            assert ("flagged" in name) == (share < 0.925)
        else:
            assert 0.93 <= share <= 0.97, name
        assert f"| {name} |" in PAGE


def test_few_problems_are_too_few() -> None:
    shares = simulate("pessimistic", 12, 2000)
    assert shares["pessimistic 0.4, bootstrap"] < 0.93
    assert shares["pessimistic 0.4, Wilson"] >= 0.94


def test_the_simulation_computes_the_packages_intervals() -> None:
    rng = np.random.default_rng(1)
    earned, possible = rng.integers(0, 5, (20, 3)).astype(float), np.full((20, 3), 4.0)
    replicates = resampled_rates(earned, possible, 7)
    got = intervals(RateTable(("a", "b", "c"), earned, possible, possible.sum(axis=0), each_itself("abc")), seed=7)
    low, high = np.percentile(replicates, [2.5, 97.5], axis=0)
    assert [interval["low"] for interval in got.values()] == pytest.approx(low, abs=1e-11)
    assert [interval["high"] for interval in got.values()] == pytest.approx(high, abs=1e-11)
    # Truths just inside and just outside of the first interval.
    assert held(replicates[:, :1], math.nextafter(low[0], 1)) == 1
    assert held(replicates[:, :1], low[0] - 1e-9) == 0


@pytest.mark.torture  # simulates up to 8,000 runs a cell
def test_the_table_in_the_docs_is_what_the_command_prints() -> None:
    assert table() in PAGE
