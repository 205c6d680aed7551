"""The core against worked numbers, a slow second computation, and what must hold of any interval."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proverbench.metrics import inference
from proverbench.metrics.inference import (
    again,
    holm,
    holm_levels,
    interval,
    join,
    look_level,
    p_value,
    summarise,
    theta,
)
from tests.metrics.slow import slow_summary, slow_theta

D = np.full(8, 4.0)
FIRST = np.array([4, 3, 0, 1, 4, 0, 2, 4.0])
SECOND = np.array([3, 3, 0, 0, 4, 1, 0, 2.0])
CLOSE = {"abs": 2e-5, "rel": 1e-5}


def minus(a: float, b: float) -> float:
    return a - b


def harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b)


# ---------------------------------------------------------------- worked numbers


def test_a_rate_with_clusters() -> None:
    summary = summarise(FIRST, D)
    assert summary.evidence == pytest.approx(4.26087, abs=2e-5)
    assert summary.effective_n == pytest.approx(9.473456, abs=2e-5)
    assert summary.df == pytest.approx(94.1138, abs=1e-3)
    found = interval(summary)
    assert (found["low"], found["high"]) == pytest.approx((0.249562, 0.841244), **CLOSE)
    assert found["se"] == pytest.approx(math.sqrt(8 / 7 * np.sum((FIRST - 2.25 * np.ones(8)) ** 2)) / 32, rel=1e-5)
    assert set(found) == {"low", "high", "se", "level", "n", "effective_n", "evidence", "df", "method"}


@pytest.mark.parametrize(
    ("earned", "n", "low", "high"),
    [
        pytest.param([0] * 8, 8, 0, 0.312344, id="none"),
        pytest.param([4] * 8, 8, 1 - 0.312344, 1, id="all"),
        pytest.param([1] + [0] * 7, 12, 0.0000201, 0.272698, id="one"),
        pytest.param([3] * 8, 40, 0.599457, 0.865460, id="all-alike"),
    ],
)
def test_edges(earned: list[int], n: float, low: float, high: float) -> None:
    summary = summarise(earned, D)
    assert summary.effective_n == pytest.approx(n, abs=2e-5)
    found = interval(summary)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=2e-5)


@pytest.mark.parametrize(
    ("g", "quantile", "low", "high"),
    [
        pytest.param(minus, 1.974194, -0.135547, 0.423219, id="difference"),
        pytest.param(harmonic, 1.977138, 0.208822, 0.743388, id="harmonic"),
    ],
)
def test_two_rates(g: inference.Function, quantile: float, low: float, high: float) -> None:
    summary = summarise(np.stack([FIRST, SECOND], axis=1), np.stack([D, D], axis=1))
    assert summary.correlation[0, 1] == pytest.approx(0.594222, abs=2e-5)
    found = interval(summary, g)
    assert stats.t.ppf(0.975, found["df"]) == pytest.approx(quantile, abs=2e-5)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=2e-5)
    as_vector = interval(summary, lambda rates: g(rates[0], rates[1]))
    assert as_vector == found


def test_p_of_a_difference() -> None:
    both = join(summarise(FIRST, D), summarise(SECOND, D))
    assert p_value(both, minus) == pytest.approx(0.3002, abs=2e-4)
    assert p_value(both, minus) == pytest.approx(p_value(both, lambda a, b: b - a), rel=1e-4)


@pytest.mark.parametrize(("x", "n", "low", "high"), [(0, 20, 0, 0.139112), (3.3, 17.5, 0.054512, 0.418968)])
def test_theta(x: float, n: float, low: float, high: float) -> None:
    assert theta([-1.96, 1.96], x / n, n) == pytest.approx([low, high], abs=2e-5)


def test_p_values_have_no_floor() -> None:
    one = np.ones(45)
    whole = join(summarise(one, one), summarise(0 * one, one))
    assert 0 < p_value(whole, minus) < 1e-14
    part = join(summarise(np.arange(45) < 30, one), summarise(np.arange(45) < 5, one))
    assert p_value(part, minus) == pytest.approx(1.1e-9, rel=0.05)
    assert max(holm([p_value(part, minus)] * (34 * 33 // 2))) < 0.05


def test_no_difference_between_two_nothings_is_uncertain() -> None:
    one = np.ones(60)
    both = join(summarise(0 * one, one), summarise(0 * one, one))
    found = interval(both, minus)
    assert found["low"] == pytest.approx(-found["high"], rel=1e-5)
    assert 0.03 < found["high"] < 0.07
    assert p_value(both, minus) == 1


def whole(a: float, b: float) -> float:
    return harmonic(a, b) if a + b else 0.0


def test_a_composite_that_is_flat_where_it_is_seen_has_width() -> None:
    """A judge who is never right: its harmonic mean rises only where both rates do, which no slope shows."""
    one = np.ones(30)
    never, always = (join(summarise(x * one, one), summarise(x * one, one)) for x in (0, 1))
    found = interval(never, whole)
    best = max(whole(*theta([1.959964 * np.cos(a), 1.959964 * np.sin(a)], 0.0, 30)) for a in np.linspace(0, 1.57, 500))
    assert found["low"] == 0
    assert found["high"] == pytest.approx(best, abs=1e-4)

    def gap(a: float, b: float, c: float, d: float) -> float:
        return whole(a, b) - whole(c, d)

    apart = interval(join(always, never), gap)
    assert apart["high"] == 1
    assert apart["low"] < interval(always, whole)["low"] - 1e-3  # never's own uncertainty is in it
    same = interval(join(never, never), gap)
    assert same["low"] == pytest.approx(-same["high"], rel=1e-5)
    assert same["high"] == pytest.approx(found["high"], abs=1e-4)


# ---------------------------------------------------------------- a slow second computation


@pytest.mark.parametrize("seed", range(8))
def test_a_rate_as_a_slow_loop_computes_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    possible = rng.integers(0, 5, 15).astype(float)
    earned = rng.binomial(possible.astype(int), rng.beta(1, 2, 15)).astype(float)
    slow, fast = slow_summary(earned, possible), summarise(earned, possible)
    assert fast.effective_n[0] == pytest.approx(slow["n"])
    assert fast.evidence[0] == pytest.approx(slow["m"])
    assert fast.df[0] == pytest.approx(slow["df"], rel=1e-6)
    quantile = float(stats.t.ppf(0.95, slow["df"]))
    found = interval(fast, level=0.9)
    ends = [slow_theta(side * quantile, slow["p"], slow["n"]) for side in (-1, 1)]
    assert [found["low"], found["high"]] == pytest.approx(ends, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_extremes_agree_with_a_full_scan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    possible = np.full((25, 3), 3.0)
    ease = rng.beta(1, 1, (25, 1))
    summary = summarise(rng.binomial(3, ease * [0.9, 0.6, 0.4]), possible)

    def g(a: float, b: float, c: float) -> float:
        return a * b - c / 2

    found = interval(summary, g)
    quantile = float(stats.t.ppf(0.975, found["df"]))
    sphere = rng.normal(size=(200_000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    rates = theta(quantile * sphere @ np.linalg.cholesky(summary.correlation).T, summary.share, summary.effective_n)
    values = rates[:, 0] * rates[:, 1] - rates[:, 2] / 2
    assert found["low"] == pytest.approx(values.min(), abs=4e-4)
    assert found["high"] == pytest.approx(values.max(), abs=4e-4)


def test_theta_gives_the_mid_p_limits_that_binomial_sums_give() -> None:
    low, high = theta([-1.959964, 1.959964], 7 / 30, 30)
    assert stats.binom.sf(7, 30, low) + stats.binom.pmf(7, 30, low) / 2 == pytest.approx(0.025, abs=1e-6)
    assert stats.binom.cdf(6, 30, high) + stats.binom.pmf(7, 30, high) / 2 == pytest.approx(0.025, abs=1e-6)


# ---------------------------------------------------------------- what must hold always

CREDITS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 4)).map(
        lambda row: (min(row[0], row[2]), min(row[1], row[2]), row[2])
    ),
    min_size=2,
    max_size=12,
)


@given(CREDITS)
@settings(max_examples=30, deadline=None)
def test_interval_and_p_never_disagree(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=float)
    both = summarise(table[:, :2], table[:, [2, 2]])
    p = p_value(both, minus)
    assert 0 < p <= 1
    for level in (0.5, 0.95, 0.999):
        found = interval(both, minus, level)
        assert found["low"] < found["high"]
        if abs(p - (1 - level)) > 1e-5:
            assert (found["low"] > 0 or found["high"] < 0) == (p < 1 - level)


@given(CREDITS)
@settings(max_examples=30, deadline=None)
def test_one_rate(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=float)
    found = interval(summarise(table[:, 0], table[:, 2]))
    share = table[:, 0].sum() / table[:, 2].sum()
    assert 0 <= found["low"] < found["high"] <= 1
    assert found["low"] <= share + 1e-6
    assert found["high"] >= share - 1e-6
    mirrored = interval(summarise(table[:, 2] - table[:, 0], table[:, 2]))
    assert mirrored["low"] == pytest.approx(1 - found["high"], abs=2e-6)
    shuffled = interval(summarise(table[::-1, 0], table[::-1, 2]))
    assert shuffled["low"] == pytest.approx(found["low"], rel=2e-6)
    p = p_value(summarise(table[:, 0], table[:, 2]), null=0.5)
    if abs(p - 0.05) > 1e-5:
        assert (found["low"] > 0.5 or found["high"] < 0.5) == (p < 0.05)


@given(CREDITS)
@settings(max_examples=30, deadline=None)
def test_correlations_are_positive_definite(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows, dtype=float)
    summary = summarise(table[:, [0, 1, 0]], table[:, [2, 2, 2]])
    assert np.linalg.eigvalsh(summary.correlation).min() > 0


def test_joined_by_name() -> None:
    names = [f"p{i}" for i in range(8)]
    order = [3, 1, 0, 2, 7, 6, 5, 4]
    other = summarise(SECOND[order], D, problems=[names[i] for i in order])
    joined = join(summarise(FIRST, D, problems=names), other)
    assert joined.correlation[0, 1] == pytest.approx(0.594222, abs=2e-5)
    apart = join(summarise(FIRST, D, problems=names), summarise(SECOND, D, problems=[f"q{i}" for i in range(8)]))
    assert apart.correlation[0, 1] == 0
    assert interval(apart, minus)["low"] < interval(joined, minus)["low"]
    with pytest.raises(ValueError, match="name"):
        join(summarise(FIRST, D, problems=names), summarise(SECOND, D))
    with pytest.raises(ValueError, match="by name"):
        join(summarise(FIRST, D), summarise(SECOND[:4], D[:4]))


def test_one_problem_has_no_interval_and_an_absent_class_means_anything() -> None:
    alone = interval(summarise([1.0], [2.0]))
    assert (alone["low"], alone["high"], alone["se"], alone["n"]) == (None, None, None, 1)
    assert p_value(summarise([2.0], [2.0]), null=0.1) == 1
    absent = summarise(np.stack([FIRST, 0 * D], axis=1), np.stack([D, 0 * D], axis=1))
    found = interval(absent, lambda a, b: b)
    assert found["low"] < 0.001
    assert found["high"] > 0.999


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="one shape"):
        summarise(FIRST, D[:4])
    with pytest.raises(ValueError, match="names"):
        summarise(FIRST, D, problems=["a"])
    with pytest.raises(ValueError, match="2 rates"):
        interval(join(summarise(FIRST, D), summarise(SECOND, D)))


def test_no_jumps_between_neighbouring_counts() -> None:
    one = np.ones(245)
    widths = []
    for successes in (9, 10, 11):
        found = interval(summarise(np.arange(245) < successes, one))
        widths.append(found["high"] - found["low"])
    assert widths == pytest.approx([0.0484, 0.0507, 0.0530], abs=1e-4)


# ---------------------------------------------------------------- the same problems again


def test_the_same_problems_again() -> None:
    rng = np.random.default_rng(3)
    values = rng.binomial(1, rng.beta(0.6, 0.9, (245, 1)), (245, 4)).astype(float)
    summary = again(values)
    p, within = values.mean(), values.var(axis=1, ddof=1)
    effect = within.sum() / 4 / 245**2 * 980 / (p * (1 - p))
    mixed = np.count_nonzero(within)
    assert summary.effective_n[0] == pytest.approx(980 / ((mixed * effect + 2) / (mixed + 2)))
    assert summary.df[0] == mixed * 3
    new = interval(summarise(values.sum(axis=1), np.full(245, 4.0)))
    same = interval(summary)
    assert same["high"] - same["low"] < 0.7 * (new["high"] - new["low"])
    assert interval(again(np.zeros((20, 2))))["high"] > 0.05
    with pytest.raises(ValueError, match="two samples"):
        again(np.zeros((20, 1)))
    both = join(summary, again(values))
    assert both.correlation[0, 1] == 0
    assert p_value(both, minus) == pytest.approx(1)


# ---------------------------------------------------------------- Holm


def test_holm() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=6))
def test_levels_agree_with_holm(p_values: list[float]) -> None:
    for p, adjusted, level in zip(p_values, holm(p_values), holm_levels(p_values), strict=True):
        if abs(p - (1 - level)) > 1e-9:
            assert (p < 1 - level) == (adjusted < 0.05)


def test_levels_of_three() -> None:
    assert holm_levels([0.001, 0.02, 0.6]) == pytest.approx([1 - 0.05 / 3, 0.975, 0.95])
    assert holm_levels([0.001, 0.03, 0.04]) == pytest.approx([1 - 0.05 / 3, 0.975, 0.975])


def test_several_rates_at_once_are_each_as_alone() -> None:
    table = summarise(np.stack([FIRST, SECOND], axis=1), np.stack([D, D], axis=1))
    for k in (0, 1):
        assert interval(table.only([k])) == interval(summarise([FIRST, SECOND][k], D))


@pytest.mark.parametrize(
    ("number", "planned", "level"),
    [(1, None, 0.05), (2, None, 0.05 / 6), (3, None, 0.05 / 12), (2, 5, 0.01), (1, 5, 0.01), (6, 5, 0.05 / 42)],
)
def test_levels_of_looks(number: int, planned: int | None, level: float) -> None:
    assert look_level(number, planned) == pytest.approx(level)


def test_all_looks_together_stay_below_one_and_a_half_alpha() -> None:
    assert sum(look_level(k) for k in range(1, 10_000)) < 1.5 * 0.05
    assert sum(look_level(k, 7) for k in range(1, 8)) == pytest.approx(0.05)
