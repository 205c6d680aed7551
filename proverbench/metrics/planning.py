"""What a number of problems, samples and labels buys, from a pilot or stated assumptions (docs/metrics.md, "Planning").

Proofs of one problem are alike, so more samples help less than more problems. R is part of what ``pessimistic`` *is*; a
plan never trades it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proverbench.metrics.inference import theta
from proverbench.metrics.summaries import Floats

QUANTILE = 1.96
DETECTABLE = 2.80
"""Standard errors of a difference that is shown with a power of 80 %."""
MOST_SAMPLES = 64
"""No plan asks for more samples of a problem."""


@dataclass(frozen=True, slots=True)
class Components:
    """Where the spread of a mean over proofs comes from."""

    share: float
    """The expected score, in [0, 1]; of a difference its size."""
    between: float
    """σ²_P, variance of the problems' own chances."""
    within: float
    """σ²_W, variance of one sample around its problem's chance."""
    noise: float = 0.0
    """Variance that no further problem or sample reduces, as of a fixed number of labels."""

    def variance(self, problems: float, samples: float) -> float:
        """SE² of the mean over so many problems with so many samples of each."""
        return self.between / problems + self.within / (problems * samples) + self.noise

    def with_noise(self, variance: float) -> "Components":
        """The same, estimated with so much variance more (:func:`added_by_labels`)."""
        return replace(self, noise=self.noise + variance)

    def ends(self, problems: float, samples: float) -> tuple[float, float]:
        """The 95 % interval to expect."""
        spread = self.share * (1 - self.share)
        n = spread / max(self.variance(problems, samples), 1e-12) if spread > 0 else float(problems)
        low, high = theta([-QUANTILE, QUANTILE], self.share, max(n, 1e-3))
        return float(low), float(high)

    def width(self, problems: float, samples: float) -> float:
        """High minus low of :meth:`ends`."""
        low, high = self.ends(problems, samples)
        return high - low


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost, in one unit."""

    problem: float
    """A new problem; 0 where there are enough."""
    proof: float
    judgment: float
    repeats: int
    """R."""
    labels: float = 0.0
    """What all labels cost together, L·c_H; the same whatever the design."""

    def of(self, problems: int, samples: int) -> float:
        """The whole run, and its labels."""
        proofs = problems * samples * (self.proof + self.repeats * self.judgment)
        return self.labels + problems * self.problem + proofs


@dataclass(frozen=True, slots=True)
class Design:
    """A number of problems and of samples of each."""

    problems: int
    samples: int


def components(values: Floats) -> Components:
    """From a pilot.

    Args:
        values: Each sample's score, shape (C, S), in [0, 1], C and S at least 2.

    Raises:
        ValueError: If there are fewer: then the two parts cannot be told apart.
    """
    problems, samples = values.shape
    if problems < 2 or samples < 2:
        raise ValueError("a pilot needs at least two problems and two samples of each")
    within = float(values.var(axis=1, ddof=1).mean())
    between = max(0.0, float(values.mean(axis=1).var(ddof=1)) - within / samples)
    return Components(float(values.mean()), between, within)


def assumed(share: float, icc: float) -> Components:
    """From stated assumptions: the score, and the intraclass correlation of yes-or-no proofs of one problem."""
    spread = share * (1 - share)
    return Components(share, icc * spread, (1 - icc) * spread)


def difference_of(first: Floats, second: Floats) -> Components:
    """Of the paired difference of two pilots on the same problems, each of shape (C, S)."""
    one, other = components(first), components(second)
    gaps = first.mean(axis=1) - second.mean(axis=1)
    noise = one.within / first.shape[1] + other.within / second.shape[1]
    between = max(0.0, float(gaps.var(ddof=1)) - noise)
    return Components(one.share - other.share, between, one.within + other.within)


def correlated(pilot: Components, correlation: float) -> Components:
    """Of the difference of two runs like one pilot, whose problems' chances are correlated so."""
    return Components(0.0, 2 * pilot.between * (1 - correlation), 2 * pilot.within)


def power(difference: Components, size: float, problems: int, samples: int) -> float:
    """Chance that a difference of this size is shown at 5 %."""
    error = math.sqrt(difference.variance(problems, samples))
    if error == 0:
        return 1.0
    return 0.5 * math.erfc(-(abs(size) / error - QUANTILE) / math.sqrt(2))


def detectable(difference: Components, problems: int, samples: int) -> float:
    """The smallest difference that is shown with a power of 80 %."""
    return DETECTABLE * math.sqrt(difference.variance(problems, samples))


def best_samples(found: Components, prices: Prices) -> int:
    """S that buys most where problems cost something; 1 where they are free, or their proofs never differ."""
    return _root(found.within, found.between, prices.problem, prices.proof + prices.repeats * prices.judgment)


def cheapest(reached: Callable[[int, int], bool], prices: Prices, most_problems: int) -> Design | None:
    """The cheapest design that reaches an aim.

    Args:
        reached: Whether so many problems and samples do; more never do less.
        prices: What they cost.
        most_problems: How many problems there are.

    Returns:
        Where problems are free, the fewest samples with which the problems suffice: a further sample of a problem never
        buys more than a further problem does. None where not even :data:`MOST_SAMPLES` samples of all problems do.
    """
    found = (Design(n, s) for s in range(1, MOST_SAMPLES + 1) if (n := fewest(reached, s, most_problems)) is not None)
    if prices.problem <= 0:
        return next(found, None)
    return min(found, key=lambda d: (prices.of(d.problems, d.samples), d.samples), default=None)


def fewest(reached: Callable[[int, int], bool], samples: int, most: int) -> int | None:
    """The fewest problems, at least two and up to ``most``, that reach an aim with so many samples of each.

    Args:
        reached: Whether so many problems and samples do; more never do less.
        samples: Of each problem.
        most: How many problems there could be.

    Returns:
        Their number; None where ``most`` do not suffice.
    """
    if most < 2 or not reached(most, samples):
        return None
    low, high = 1, most  # low does not reach it, or is no number to plan for
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle, samples) else (middle, high)
    return high


def affordable(prices: Prices, budget: float, most_problems: int) -> Iterator[Design]:
    """For each number of samples the most problems that a budget pays for.

    Where problems are free, samples grow only while all problems are asked: the last design is the first that leaves
    some out.
    """
    for samples in range(1, MOST_SAMPLES + 1):
        each = prices.of(1, samples) - prices.labels
        left = budget - prices.labels
        problems = (
            most_problems if each <= 0 <= left else min(most_problems, int(left / each + 1e-9)) if each > 0 else 0
        )
        if problems >= 2:
            yield Design(problems, samples)
        if prices.problem <= 0 and problems < most_problems:
            return


def jackknife_range(values: Floats, statistic: Callable[[Components], float]) -> tuple[float, float]:
    """How far a figure of a plan may be off because the pilot is small: 95 %, by leaving out a problem at a time."""
    whole = statistic(components(values))
    left = np.array([statistic(components(np.delete(values, c, axis=0))) for c in range(len(values))])
    count = len(left)
    error = math.sqrt((count - 1) / count * float(((left - left.mean()) ** 2).sum()))
    return max(0.0, whole - QUANTILE * error), whole + QUANTILE * error


def added_by_labels(shares: Sequence[float], rates: Sequence[tuple[int, int]], labels: Sequence[int]) -> float:
    """Variance that estimating from labels adds to a score.

    Args:
        shares: W_s of each stratum.
        rates: For each, how many labels of the pilot said correct, and of how many; (0, 0) where nothing is known.
        labels: L_s to be given.
    """
    total = 0.0
    for share, (right, of), count in zip(shares, rates, labels, strict=True):
        rate = (right + 0.5) / (of + 1)
        total += share**2 * rate * (1 - rate) / count if count else share**2 / 4
    return total


@dataclass(frozen=True, slots=True)
class JudgmentComponents:
    """Where the spread of a mean over single judgments comes from."""

    problem: float
    """σ²_P."""
    sample: float
    """σ²_S, of a proof's own chance around its problem's."""
    judgment: float
    """σ²_J, of one judgment around its proof's chance."""

    def variance(self, problems: float, samples: float, repeats: float) -> float:
        """SE² of the mean over N problems, S proofs of each and R judgments of each proof."""
        proofs = problems * samples
        return self.problem / problems + self.sample / proofs + self.judgment / (proofs * repeats)

    def best(self, prices: Prices) -> tuple[int, int]:
        """S and R that buy most for the mean of single judgments; 1 where what they spare is free."""
        return (
            _root(self.sample, self.problem, prices.problem, prices.proof),
            _root(self.judgment, self.sample, prices.proof, prices.judgment),
        )


def judgment_components(accepts: Floats, repeats: int) -> JudgmentComponents:
    """From how many judgments accepted each proof.

    Args:
        accepts: Valid acceptances of each proof, shape (C, S), in 0..R.
        repeats: R, at least 2; so are C and S.

    Raises:
        ValueError: If there are fewer: then the parts cannot be told apart.
    """
    problems, samples = accepts.shape
    if min(problems, samples, repeats) < 2:
        raise ValueError("judgments' components need at least two problems, samples and repeats")
    means = accepts / repeats
    judgment = float((means * (1 - means)).mean()) * repeats / (repeats - 1)
    inside = float(means.var(axis=1, ddof=1).mean())
    between = float(means.mean(axis=1).var(ddof=1))
    return JudgmentComponents(
        problem=max(0.0, between - inside / samples), sample=max(0.0, inside - judgment / repeats), judgment=judgment
    )


def _root(inner: float, outer: float, dear: float, cheap: float) -> int:
    """√(inner/outer · dear/cheap), rounded, in 1..MOST_SAMPLES."""
    if inner <= 0 or dear <= 0:
        return 1
    if outer <= 0 or cheap <= 0:
        return MOST_SAMPLES
    return min(MOST_SAMPLES, max(1, round(math.sqrt(inner / outer * dear / cheap))))
