"""Plans against figures worked out beforehand, simulation, and what must always hold."""

import math
from dataclasses import replace

import numpy as np
import pytest

from proverbench.metrics.inference import interval, summarise
from proverbench.metrics.planning import (
    Components,
    Design,
    JudgmentComponents,
    Prices,
    added_by_labels,
    affordable,
    assumed,
    best_samples,
    cheapest,
    components,
    correlated,
    detectable,
    difference_of,
    jackknife_range,
    judgment_components,
    power,
)


def values(seed: int, problems: int, samples: int, share: float = 0.4, icc: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    strength = (1 - icc) / icc
    ease = rng.beta(strength * share, strength * (1 - share), (problems, 1))
    return (rng.random((problems, samples)) < ease).astype(float)


@pytest.mark.parametrize(("samples", "width"), [(1, 0.122), (4, 0.097), (16, 0.090)])
def test_the_floor_of_245_problems(samples: int, width: float) -> None:
    assert assumed(0.4, 0.5).width(245, samples) == pytest.approx(width, abs=1e-3)


def test_components_by_hand() -> None:
    # Means 1, ½, 0: variance ¼. Within: 0, ½, 0, mean 1/6; σ²_P = 1/4 - 1/12.
    found = components(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]))
    assert found == Components(0.5, pytest.approx(1 / 6), pytest.approx(1 / 6))
    with pytest.raises(ValueError, match="two samples"):
        components(np.zeros((5, 1)))


def test_components_of_many_problems_are_the_true_ones() -> None:
    found = components(values(1, 20_000, 3))
    assert found.between == pytest.approx(0.12, abs=0.005)
    assert found.within == pytest.approx(0.12, abs=0.005)


def test_predicted_standard_error_is_the_actual_one() -> None:
    means = [values(seed, 60, 4).mean() for seed in range(600)]
    assert np.var(means) == pytest.approx(assumed(0.4, 0.5).variance(60, 4), rel=0.15)


@pytest.mark.parametrize(("share", "icc", "near"), [(0.4, 0.5, 0.06), (0.1, 0.3, 0.1)])
def test_predicted_width_is_the_width_that_runs_have(share: float, icc: float, near: float) -> None:
    """Of the true components, and at the median of pilots of 60 problems with 4 samples."""
    widths = []
    for seed in range(150):
        found = interval(summarise(values(seed, 120, 2, share, icc).sum(axis=1), np.full(120, 2.0)))
        widths.append(found["high"] - found["low"])
    realised = float(np.mean(widths))
    assert assumed(share, icc).width(120, 2) == pytest.approx(realised, rel=near)
    pilots = [components(values(1000 + seed, 60, 4, share, icc)).width(120, 2) for seed in range(150)]
    assert np.median(pilots) == pytest.approx(realised, rel=near)


def test_power() -> None:
    gap = Components(0.0, 0.04, 0.2)
    error = (0.04 / 100 + 0.2 / 400) ** 0.5
    assert detectable(gap, 100, 4) == pytest.approx(2.8 * error)
    assert power(gap, 2.8 * error, 100, 4) == pytest.approx(0.8, abs=0.001)
    assert power(gap, 0.0, 100, 4) == pytest.approx(0.025, abs=0.001)
    assert correlated(assumed(0.4, 0.5), 0.8).between == pytest.approx(0.4 * 0.12)


def test_a_difference_of_pilots_on_the_same_problems_is_paired() -> None:
    rng = np.random.default_rng(2)
    ease = rng.beta(0.6, 0.9, (4000, 1))
    first, second = ((rng.random((4000, 4)) < ease * scale).astype(float) for scale in (1.0, 0.9))
    found = difference_of(first, second)
    assert found.share == pytest.approx(0.04, abs=0.01)
    assert found.between < 0.1 * components(first).between


def test_the_cheapest_design_reaches_its_aim_and_one_less_does_not() -> None:
    found, prices = assumed(0.4, 0.5), Prices(0.0, 0.02, 0.01, 8)

    def reached(n: int, s: int) -> bool:
        return found.width(n, s) <= 0.15

    design = cheapest(reached, prices, 245)
    assert design is not None
    assert design.samples == 1  # problems are free: as many of them as it takes
    assert reached(design.problems, 1)
    assert not reached(design.problems - 1, 1)
    # Too narrow for one sample of each of 245: then samples grow.
    more = cheapest(lambda n, s: found.width(n, s) <= 0.1, prices, 245)
    assert more is not None
    assert more.samples > 1
    assert cheapest(lambda n, s: found.width(n, s) <= 0.05, prices, 245) is None


def test_free_problems_are_used_up_before_samples_grow() -> None:
    """Also where problems do not differ at all, and only the number of proofs counts."""
    gap, prices = Components(0.0, 0.0, 0.48), Prices(0.0, 1.0, 1.0, 8)
    design = cheapest(lambda n, s: power(gap, 0.03, n, s) >= 0.8, prices, 245)
    assert design is not None
    assert design.samples == math.ceil(0.48 * (2.8 / 0.03) ** 2 / 245) == 18
    assert design.problems > 230
    bought = list(affordable(prices, 1000 * 9, 245))
    assert bought == [Design(245, 1), Design(245, 2), Design(245, 3), Design(245, 4), Design(200, 5)]
    assert list(affordable(prices, 100 * 9, 245)) == [Design(100, 1)]
    assert list(affordable(replace(prices, labels=90.0), 100 * 9, 245)) == [Design(90, 1)]


def test_judgment_components_are_the_true_ones() -> None:
    rng = np.random.default_rng(7)
    problem = rng.choice([0.3, 0.7], (20_000, 1))  # σ²_P .04
    proof = problem + rng.choice([-0.2, 0.2], (20_000, 3))  # σ²_S .04
    accepts = rng.binomial(4, proof).astype(float)
    found = judgment_components(accepts, 4)
    assert (found.problem, found.sample) == (pytest.approx(0.04, abs=0.003), pytest.approx(0.04, abs=0.003))
    assert found.judgment == pytest.approx(0.25 - 0.08, abs=0.003)
    assert found.variance(10, 2, 4) == pytest.approx(found.problem / 10 + found.sample / 20 + found.judgment / 80)
    with pytest.raises(ValueError, match="at least two"):
        judgment_components(accepts, 1)


def test_best_samples_and_repeats_of_single_judgments() -> None:
    found = JudgmentComponents(0.04, 0.04, 0.16)
    assert found.best(Prices(90.0, 10.0, 1.0, 8)) == (3, 6)  # √(1 · 9), √(4 · 10)
    assert found.best(Prices(0.0, 0.0, 1.0, 8)) == (1, 1)


def test_labels_widen_a_score_whatever_the_design() -> None:
    found = assumed(0.4, 0.5).with_noise(0.001)
    assert found.variance(1e9, 1) == pytest.approx(0.001)


def test_dear_problems_are_sampled_more_often() -> None:
    found = assumed(0.4, 0.5)
    assert best_samples(found, Prices(0.0, 1.0, 1.0, 8)) == 1
    assert best_samples(found, Prices(81.0, 1.0, 1.0, 8)) == 3  # √(1 · 81 / 9)
    assert cheapest(lambda n, s: found.width(n, s) <= 0.15, Prices(81.0, 1.0, 1.0, 8), 2000).samples in (2, 3, 4)  # type: ignore[union-attr]


def test_a_budget_is_never_exceeded() -> None:
    prices = Prices(0.0, 0.02, 0.01, 8)
    designs = list(affordable(prices, 20.0, 245))
    assert Design(200, 1) in designs
    assert all(prices.of(d.problems, d.samples) <= 20.0 + 1e-9 for d in designs)
    assert list(affordable(prices, 0.1, 245)) == []


def test_the_range_of_a_small_pilot_is_wide() -> None:
    def width(found: Components) -> float:
        return found.width(245, 4)

    small, large = (jackknife_range(values(3, n, 4), width) for n in (20, 200))
    assert small[0] < width(assumed(0.4, 0.5)) < small[1]
    assert large[1] - large[0] < small[1] - small[0]


def test_labels_add_their_own_variance() -> None:
    assert added_by_labels([0.5, 0.5], [(0, 0), (0, 0)], [20, 20]) == pytest.approx(2 * 0.25 * 0.25 / 20)
    assert added_by_labels([1.0], [(9, 10)], [0]) == 0.25
