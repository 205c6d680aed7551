"""A fast part of the grid of docs/coverage.md: intervals cover, none is without width, and the page is the grid's."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.coverage import GRID, LEAST, Result, faults, grid, of_columns, simulate, type_one
from proverbench.metrics.inference import interval, summarise

PAGE = (Path(__file__).parents[2] / "docs/coverage.md").read_text(encoding="utf-8")
FEW = 60
"""Runs of a cell here; the draws are seeded, so that what holds once holds always."""


@pytest.mark.parametrize("family", GRID)
def test_the_quick_grid_is_within_its_bounds(family: str) -> None:
    cells, _ = GRID[family]
    results = [simulate(cell, FEW) for cell in list(cells(True))[:4]]
    assert faults(results) == []
    for result in results:
        assert result.runs >= FEW * 0.7
        assert 0 < result.width < 2


def test_many_runs_at_once_are_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    earned, possible = rng.integers(0, 5, (20, 6)).astype(float), np.full((20, 6), 4.0)
    single = [interval(summarise(earned[:, k], possible[:, k])) for k in range(6)]
    ends = np.array([[found["low"], found["high"]] for found in single])
    assert of_columns(earned, possible) == pytest.approx(ends, rel=1e-5)


def test_a_cell_that_covers_too_little_is_a_fault() -> None:
    cell = next(iter(GRID["difference"][0](True)))
    poor = Result(cell, runs=1000, refused=0.0, cover=0.9, width=0.1, zero=0.0)
    assert "covers 90.0%, less than 93%" in faults([poor])[0]
    flat = Result(cell, runs=1000, refused=0.0, cover=0.95, width=0.1, zero=0.01)
    assert "no width" in faults([flat])[0]
    assert faults([Result(cell, runs=1000, refused=0.0, cover=LEAST, width=0.1, zero=0.0)]) == []


def test_no_difference_is_seldom_called_one() -> None:
    five, one = type_one(0.4, 60, 4, 300)
    assert 0.01 <= five <= 0.08
    assert one <= 0.03


def test_the_page_describes_every_family() -> None:
    families = re.findall(r"^\| ([^|]+?) \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert families[2:] == list(GRID)


@pytest.mark.torture  # simulates the whole grid
def test_the_whole_grid_is_within_its_bounds() -> None:
    assert faults(grid(False)) == []
