"""The curves of a plan are the formulas of planning, at every point."""

import pytest

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.planning import Prices, assumed, correlated, power
from proverbench.metrics.voting import Cost
from proverbench.show.plan.basis import Basis, Costs, from_assumptions
from proverbench.show.plan.curves import POINTS, SAMPLES, plan_curves, run_curve
from proverbench.show.plan.tables import Aims
from tests.metrics.made_up import random_prover


def made_up(problems: int, samples: int) -> JudgmentArrays:
    return arrays_of(random_prover(4, problems, samples, 2), task="prover", samples=samples, repeats=2)


def basis(correlation: float | None = 0.8) -> Basis:
    return from_assumptions(0.4, 0.5, correlation, 8, Costs(0.0, 0.1, 0.02, 1.0), 100)


def test_every_point_is_what_the_formula_says() -> None:
    found = plan_curves(basis(), Aims(245, labels=100, difference=3.0, power=0.9))
    score, gap = assumed(0.4, 0.5), correlated(assumed(0.4, 0.5), 0.8)
    assert len(found["width"]) == len(SAMPLES) * POINTS
    for row in found["width"]:
        assert row["width"] == pytest.approx(score.width(row["problems"], row["samples"]), rel=1e-5)
        assert row["cost"] == pytest.approx(100 + row["problems"] * row["samples"] * 0.26)
    assert {row["problems"] for row in found["width"]} >= {10, 245}
    assert (found["power"]["points"], found["power"]["wanted"]) == (3.0, 0.9)
    for row in found["power"]["rows"]:
        assert row["power"] == pytest.approx(power(gap, 0.03, row["problems"], row["samples"]), rel=1e-5)
    assert found["repeats"] is None
    widths = [row["width"] for row in found["labels"]["rows"]]
    assert widths == sorted(widths, reverse=True)


def test_what_is_not_known_is_not_drawn() -> None:
    found = plan_curves(basis(None), Aims(2))
    assert (found["power"], found["repeats"], found["labels"]) == (None, None, None)
    assert {row["problems"] for row in found["width"]} == {2}


def test_a_run_says_what_more_of_it_would_buy() -> None:
    run = made_up(30, 2)
    found = run_curve(run, Cost("USD", 0.1, 0.02))
    assert found is not None
    assert (found["problems"], found["samples"], found["unit"]) == (30, 2, "USD")
    assert max(row["problems"] for row in found["rows"]) == 120
    prices = Prices(0.0, 0.1, 0.02, 2)
    assert found["rows"][0]["cost"] == pytest.approx(prices.of(10, 1))
    assert run_curve(made_up(30, 1), None) is None
    assert run_curve(made_up(1, 4), None) is None
