"""Metrics of runs whose judges give grades, or name a paragraph (docs/metrics.md, "Grades").

Judges' grades and people's are shares of their own scales here, g and h. Those of ProverBench need the judge's grades
alone. What is no ratio of sums (correlations, kappa) has the interval of a jackknife over problems.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from proverbench.metrics.grades import correlation, pair_counts, quadratic_kappa, selections
from proverbench.metrics.metric import Metric, Need, Rate, harmonic_mean
from proverbench.metrics.verifierbench import FIRST_ERROR_INCORRECT, PLACES, TPR

if TYPE_CHECKING:
    from proverbench.metrics.arrays import JudgmentArrays
    from proverbench.metrics.grades import Grades

GRADES: frozenset[Need] = frozenset({"grades"})
AGREEMENT: frozenset[Need] = frozenset({"labels", "grades", "human grades"})

NO_SPREAD = "fewer than two proofs have grades of both, or all of them the same"
NO_PAIRS = "people gave no two proofs of a problem different grades"
NO_CHOICE = "no problem has two proofs that people graded"
NO_GAIN = "no problem has proofs of different worth to choose from"


def square_root(rate: Any) -> Any:
    """The root of a mean square."""
    return rate**0.5


def signed(rate: Any) -> Any:
    """A difference in [-1, 1] from its share of that range."""
    return 2 * rate - 1


def gain(selected: Any, random: Any, oracle: Any) -> Any:
    """(selected - random) / (oracle - random): how much of what choosing could win was won; nan where nothing could."""
    possible = oracle - random
    if isinstance(possible, int | float) or not hasattr(possible, "shape"):
        return (selected - random) / possible if abs(possible) > 1e-12 else math.nan
    return (selected - random) / (possible + (abs(possible) < 1e-12) * math.nan)


def _graded(arrays: "JudgmentArrays") -> "Grades":
    assert arrays.grades is not None  # metrics that need grades are computed where there are some
    return arrays.grades


def _judgments(name: str, of: Callable[["Grades"], Any], *, valid_only: bool = False) -> Rate:
    """A rate over judgments of proofs that people graded: credit (P, R), each in [0, 1]."""

    def earned(arrays: "JudgmentArrays") -> Any:
        grades = _graded(arrays)
        credit = of(grades)
        return (credit * (grades.valid if valid_only else 1)).sum(axis=1) * grades.by_people

    def possible(arrays: "JudgmentArrays") -> Any:
        grades = _graded(arrays)
        return (grades.valid.sum(axis=1) if valid_only else arrays.asked) * grades.by_people

    return Rate(name, earned, possible)


def _problems(name: str, column: int, of: Callable[["Grades"], Any]) -> Rate:
    """A rate over problems: their sums stand at the first proof of each."""

    def sums(arrays: "JudgmentArrays", which: int) -> Any:
        return _graded(arrays).at_first_proofs(of(_graded(arrays))[which])

    return Rate(name, lambda arrays: sums(arrays, column), lambda arrays: sums(arrays, -1))


ERROR = _judgments("mae", lambda grades: grades.error)
SQUARE = _judgments("rmse", lambda grades: grades.error**2)
ERROR_VALID = _judgments("mae_valid", lambda grades: grades.error, valid_only=True)
SQUARE_VALID = _judgments("rmse_valid", lambda grades: grades.error**2, valid_only=True)
BIAS = _judgments("bias_valid", lambda grades: (grades.signed_error + 1) / 2, valid_only=True)
EXACT = _judgments("grade_exact", lambda grades: grades.exact)
WITHIN = _judgments("within_1", lambda grades: grades.within_a_point)
PAIRS = _problems("pairwise_accuracy", 0, pair_counts)
TIES = _problems("pairwise_ties", 1, pair_counts)
SELECTED, RANDOM, ORACLE = (
    _problems(name, column, selections)
    for column, name in enumerate(("selected_grade", "random_grade", "oracle_grade"))
)


def _correlation(name: str) -> Callable[["JudgmentArrays"], float | None]:
    def value(arrays: "JudgmentArrays") -> float | None:
        a, h = _graded(arrays).correlated
        return correlation(name, a, h)

    return value


def _kappa(arrays: "JudgmentArrays") -> float | None:
    return quadratic_kappa(*_graded(arrays).correlated)


def _agreement(name: str, label: str, heading: str, help_: str, *rates: Rate, **more: Any) -> Metric:
    return Metric(
        name=name, benchmark="verifier", label=label, heading=heading, help=help_, rates=rates, needs=AGREEMENT, **more
    )


def _of_prover(name: str, label: str, heading: str, help_: str, rate: Rate, **more: Any) -> Metric:
    return Metric(
        name=name, benchmark="prover", label=label, heading=heading, help=help_, rates=(rate,), needs=GRADES, **more
    )


METRICS: tuple[Metric, ...] = (
    _of_prover(
        "mean_grade",
        "Mean grade",
        "Mean grade",
        "Mean of all requested grades, as a share of the scale; an invalid one counts 0.",
        Rate("mean_grade", lambda a: _graded(a).earned.sum(axis=1), lambda a: a.asked),
        in_papers=True,
    ),
    _of_prover(
        "min_grade",
        "Least grade",
        "Min grade",
        "Mean over proofs of the least of their R grades; an invalid one counts 0.",
        Rate("min_grade", lambda a: _graded(a).earned.min(axis=1), lambda a: a.each),
    ),
    _of_prover(
        "best_grade",
        "Best grade",
        "Best grade",
        "Mean over problems of their best proof's mean grade.",
        Rate("best_grade", lambda a: _graded(a).earned.mean(axis=1), lambda a: a.each, best_proof=True),
        grows_with_samples=True,
    ),
    _agreement(
        "mae",
        "Mean error",
        "MAE",
        "Mean distance of the judge's grades from people's; an invalid one costs the most it can.",
        ERROR,
        better="lower",
        in_papers=True,
    ),
    _agreement(
        "rmse",
        "Root mean square error",
        "RMSE",
        "As the mean error, with squares.",
        SQUARE,
        g=square_root,
        better="lower",
    ),
    _agreement(
        "mae_points",
        "Mean error in points",
        "MAE (points)",
        "The mean error in points of people's scale.",
        ERROR,
        scale=lambda a: _graded(a).points,
        unit="points",
        better="lower",
    ),
    _agreement(
        "mae_valid",
        "Mean error, valid grades",
        "MAE (valid)",
        "The mean error over valid grades alone, as others report it.",
        ERROR_VALID,
        better="lower",
    ),
    _agreement(
        "rmse_valid",
        "Root mean square error, valid grades",
        "RMSE (valid)",
        "The same over valid grades alone.",
        SQUARE_VALID,
        g=square_root,
        better="lower",
    ),
    _agreement(
        "bias_valid",
        "Bias",
        "Bias",
        "Mean of the judge's grade less people's, over valid grades: above 0, it is generous.",
        BIAS,
        g=signed,
        range=(-1.0, 1.0),
        unit="number",
        better=None,
    ),
    _agreement("grade_exact", "Same grade", "Exact", "Share of grades that are people's.", EXACT),
    _agreement("within_1", "Within a point", "Within 1", "Share of grades at most a point from people's.", WITHIN),
    _agreement(
        "pearson",
        "Pearson's r",
        "Pearson",
        "Linear correlation of a proof's mean grade with people's.",
        statistic=_correlation("pearson"),
        range=(-1.0, 1.0),
        unit="number",
        in_papers=True,
        without=NO_SPREAD,
    ),
    _agreement(
        "spearman",
        "Spearman's rho",
        "Spearman",
        "Rank correlation of a proof's mean grade with people's.",
        statistic=_correlation("spearman"),
        range=(-1.0, 1.0),
        unit="number",
        without=NO_SPREAD,
    ),
    _agreement(
        "kendall_b",
        "Kendall's tau-b",
        "Kendall",
        "Share of pairs in the same order less those in the other, ties left out.",
        statistic=_correlation("kendall_b"),
        range=(-1.0, 1.0),
        unit="number",
        without=NO_SPREAD,
    ),
    _agreement(
        "qwk",
        "Quadratic weighted kappa",
        "QWK",
        "Agreement beyond chance, distant grades weighing more.",
        statistic=_kappa,
        range=(-1.0, 1.0),
        unit="number",
        in_papers=True,
        without=NO_SPREAD,
    ),
    _agreement(
        "pairwise_accuracy",
        "Right order",
        "Pairs",
        "Of two proofs of a problem that people graded differently: how often the judge likes the better one more.",
        PAIRS,
        without=NO_PAIRS,
    ),
    _agreement(
        "pairwise_ties",
        "Ties",
        "Ties",
        "Of these pairs: how often the judge gives both the same.",
        TIES,
        better="lower",
        without=NO_PAIRS,
    ),
    _agreement(
        "selected_grade",
        "Grade of the chosen proof",
        "Selected",
        "What people gave the proof that the judge likes best, of problems with several.",
        SELECTED,
        without=NO_CHOICE,
    ),
    _agreement(
        "random_grade",
        "Grade of a proof at random",
        "Random",
        "What a proof chosen blindly would have got.",
        RANDOM,
        without=NO_CHOICE,
    ),
    _agreement(
        "oracle_grade",
        "Grade of the best proof",
        "Oracle",
        "What the best proof of each problem got.",
        ORACLE,
        without=NO_CHOICE,
    ),
    _agreement(
        "selection_gain",
        "Gain of selection",
        "Gain",
        "How much of what choosing could win the judge wins.",
        SELECTED,
        RANDOM,
        ORACLE,
        g=gain,
        range=(-math.inf, 1.0),
        unit="number",
        without=NO_GAIN,
    ),
    Metric(
        name="process_f1",
        benchmark="verifier",
        label="Process F1",
        heading="Process F1",
        help="Harmonic mean of TPR and of first errors found in wrong proofs, as ProcessBench has it.",
        rates=(TPR, FIRST_ERROR_INCORRECT),
        g=harmonic_mean,
        needs=PLACES | {"paragraphs"},
        in_papers=True,
    ),
)
"""In the order of summary.json, behind those of every protocol."""
