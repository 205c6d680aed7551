"""What a metric is: one value, which all that computes, prints, plots or compares it looks up in metrics/registry.py.

Adding a metric is writing one :class:`Metric` in metrics/proverbench.py or metrics/verifierbench.py, its test, and its
line in docs/metrics.md. Loads no numpy: commands that only print look up labels here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from proverbench.records import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proverbench.metrics.arrays import JudgmentArrays

Need = Literal["labels", "places", "meta", "grades", "human grades", "paragraphs"]
"""What a metric cannot do without: human labels, human labels with a place (first-error step), a meta-verifier, judges
that give grades, people's grades, a judge that names paragraphs as ProcessBench does."""

Unit = Literal["share", "points", "number"]
"""What a value is: a share from 0 to 1, points of a scale, or a plain number, such as a correlation."""

SPECIAL: frozenset[Need] = frozenset({"grades", "human grades", "paragraphs"})
"""What only runs of some protocols have."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What was earned of what could be earned, each added up over problems: the unit that all inference rests on.

    A rate that two metrics share is one value; the same name means the same rate.
    """

    name: str
    earned: "Callable[[JudgmentArrays], NDArray[Any]]"
    """Credit of each proof, shape (P,), from 0 to what it could earn."""
    possible: "Callable[[JudgmentArrays], NDArray[Any]]"
    """What each proof could earn, shape (P,), in single observations: judgments, or proofs."""
    best_proof: bool = False
    """A problem counts once: it earns, and could earn, as much as its best proof."""


def itself(rate: Any) -> Any:
    """The metric is its only rate."""
    return rate


def mean(first: Any, second: Any) -> Any:
    """The arithmetic mean of two rates."""
    return (first + second) / 2


def harmonic_mean(first: Any, second: Any) -> Any:
    """The harmonic mean 2ab / (a + b) of two rates; 0 where both are 0."""
    total = first + second
    return 2 * first * second / (total + (total == 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A score: how it is computed, what it is called, and where it is shown."""

    name: str
    """As in summary.json and on the command line."""
    benchmark: Task
    label: str
    """What people read: a few words, capitalised."""
    heading: str
    """The same in a column of a table, as short as it can be."""
    help: str
    """One or two sentences."""
    rates: tuple[Rate, ...]
    """θ: what it is a function of."""
    g: Callable[..., Any] = itself
    """The metric from its rates, in their order. It takes floats, fractions and arrays alike, and never falls as a rate
    rises, or never rises."""
    statistic: "Callable[[JudgmentArrays], float | None] | None" = None
    """Of a metric that is no function of rates: its value, None where undefined. It has no rates then, and its interval
    is a jackknife's."""
    scale: "Callable[[JudgmentArrays], float | None] | None" = None
    """What the function of rates is multiplied by, where that depends on the data; None leaves it undefined."""
    range: tuple[float, float] = (0.0, 1.0)
    """Smallest and largest possible value; intervals are clipped to it."""
    unit: Unit = "share"
    """A share may be shown in percent; points are those of people's scale; a plain number is shown as it is."""
    better: Literal["higher", "lower"] | None = "higher"
    """None where neither is: a bias is best at 0."""
    needs: frozenset[Need] = frozenset()
    validity: bool = False
    """Whether it says how many replies were valid rather than how good they are. It has no bounds then, and a
    comparison of runs that differ in it warns."""
    grows_with_samples: bool = False
    """Whether more samples raise it, so that runs of different S cannot be compared."""
    at_fewer_repeats: bool = False
    """Whether it is known what fewer judgments would have given: an exact mean over their subsets."""
    headline: int | None = None
    """Place among the headlines of its benchmark, from 1; None if it is none. Leaderboards, plots and comparisons show
    the headlines, in this order; the first is what runs are ranked by."""
    without: str | None = None
    """Why it has no value, where that is not because right proofs, or wrong ones, are absent."""
    in_papers: bool = False
    """Whether a table for a paper has its column unless others are asked for."""

    def short(self, value: float) -> str:
        """A value in short form: a share in percent with one decimal, points with two, a plain number with three."""
        if self.unit == "share":
            return f"{100 * value:.1f}"
        return f"{value:.2f}" if self.unit == "points" else f"{value:.3f}"
