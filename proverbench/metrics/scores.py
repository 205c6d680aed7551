"""The published scores, exact, from closed records (docs/metrics.md, "ProverBench" and "VerifierBench")."""

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from proverbench.benchmark import benchmark_of
from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.grades import pair_counts
from proverbench.metrics.rates import published_rates
from proverbench.metrics.registry import METRICS, metrics_of
from proverbench.records import ProofRecord

Score = float | int | None


def score_prover(
    records: Iterable[ProofRecord], *, samples: int, repeats: int, best_grade: float | None = None
) -> dict[str, Score]:
    """Score one split's closed records.

    Args:
        records: One record for each sample of each problem of the split, in any order. An invalid generation and a
            missing or invalid judgment are worth 0 and stay in the denominators.
        samples: S, the proofs asked for of each problem.
        repeats: R, the judgments asked for of each proof.
        best_grade: The best grade of the judge's scale, under a protocol that grades; adds ``mean_grade``,
            ``min_grade`` and ``best_grade``.

    Returns:
        ``problems`` and ``proofs`` (counts) and, each in [0, 1], ``pessimistic``, ``pass_any_sample``,
        ``generation_failure_rate`` and ``verifier_valid_rate``; the rates are None when there are no records.

    Raises:
        ValueError: If S or R is below 1, if a problem has not exactly the samples 0..S-1, or if a proof has more
            than R judgments.

    Source: AdvancedMathBench (arXiv 2607.11849), ProverBench. Defined in docs/metrics.md.
    """
    return scores(arrays_of(records, task="prover", samples=samples, repeats=repeats, best_grade=best_grade))


def score_verifier(
    records: Iterable[ProofRecord],
    *,
    repeats: int,
    meta: bool = False,
    best_grade: float | None = None,
    paragraphs: bool = False,
) -> dict[str, Score]:
    """Score one split's closed records of annotated proofs.

    Args:
        records: One record a proof, in any order, with ``is_correct`` and ``first_error_step``. A missing or invalid
            judgment or level is worth 0 and stays in the denominators.
        repeats: R, the judgments asked for of each proof.
        meta: Whether the meta-verifier was asked; adds the metrics ``meta_*``.
        best_grade: The best grade of the judge's scale, under a protocol that grades; with people's grades in the
            records adds the measures of agreement with them.
        paragraphs: Whether the judge names paragraphs as ProcessBench does; adds ``process_f1``.

    Returns:
        ``proofs``, ``correct_proofs``, ``incorrect_proofs`` (counts; ``unlocated_proofs`` where there are labels
        without a place) and the rates, each in [0, 1] or None where the class it averages over is absent. Localisation
        is averaged over the proofs whose label has a place.

    Raises:
        ValueError: If R is below 1, a proof occurs twice, has no label, or has more than R judgments.

    Source: AdvancedMathBench (arXiv 2607.11849), VerifierBench. Defined in docs/metrics.md.
    """
    return scores(
        arrays_of(records, task="verifier", repeats=repeats, best_grade=best_grade, paragraphs=paragraphs), meta=meta
    )


def scores(arrays: JudgmentArrays, *, meta: bool = False) -> dict[str, Score]:
    """Counts and every metric of one split, sums being exact and rounded once.

    Args:
        arrays: The split.
        meta: Whether the meta-verifier was asked.

    Raises:
        ValueError: If a proof is missing, occurs twice or, in VerifierBench, has no label.
    """
    _check(arrays)
    exact = published_rates(arrays, meta=meta).exact()
    found = metrics_of(arrays.task, meta=meta, offers=arrays.offers)
    return counts(arrays) | {
        name: exact.get(name) if metric.statistic is None else metric.statistic(arrays)
        for name, metric in found.items()
    }


def counts(arrays: JudgmentArrays) -> dict[str, Score]:
    """The whole numbers that come before the metrics of the benchmark."""
    found: dict[str, Score] = {
        "problems": len(arrays.problems),
        "proofs": len(arrays.keys),
        "correct_proofs": int(np.count_nonzero(arrays.correct)),
        "incorrect_proofs": int(np.count_nonzero(arrays.incorrect)),
    }
    named = {name: found[name] for name in benchmark_of(arrays.task).counts}
    unlocated = int(np.count_nonzero(~arrays.located)) if benchmark_of(arrays.task).labelled else 0
    if unlocated or arrays.paragraphs:
        # Only where there are some, so that runs on located labels read as they always did.
        named |= {"unlocated_proofs": unlocated}
    if "human grades" in arrays.offers:
        assert arrays.grades is not None
        pairs = int(pair_counts(arrays.grades)[2].sum())
        named |= {"correlated_proofs": len(arrays.grades.correlated[0]), "grade_pairs": pairs}
    return named


NAMES_NO_STEP = "judges of this protocol name no step"
"""Why there is no localisation where judges give grades or labels. Nobody needs to be shown it."""


def undefined(metrics: Mapping[str, Score], *, places: bool = True) -> dict[str, str]:
    """Why metrics of one split are None, by name.

    Args:
        metrics: As :func:`scores` returns them.
        places: Whether judges say where the first error is.
    """
    return {
        name: _why(name, metrics, places)
        for name, value in metrics.items()
        if value is None and name in {metric.name for metric in METRICS}
    }


def _why(name: str, metrics: Mapping[str, Score], places: bool) -> str:
    metric = next(metric for metric in METRICS if metric.name == name)
    if "places" in metric.needs and not places:
        return NAMES_NO_STEP
    if "places" in metric.needs and metrics.get("unlocated_proofs"):
        return "no label names a step: these proofs were judged as a whole"
    if metrics.get("correct_proofs") == 0 and metrics.get("incorrect_proofs") == 0:
        return "there is no proof"
    if metric.without is not None:
        return metric.without
    absent = [word for word in ("correct", "incorrect") if metrics.get(f"{word}_proofs") == 0]
    return f"no proof is labelled {absent[0]}" if absent else "there is nothing to average over"


def _check(arrays: JudgmentArrays) -> None:
    if not benchmark_of(arrays.task).labelled:
        _check_samples(arrays)
        return
    unlabelled = np.flatnonzero(arrays.label == INVALID)
    if len(unlabelled):
        raise ValueError(f"record {arrays.keys[unlabelled[0]]}: no human label (is_correct, first_error_step)")
    if len(set(arrays.keys)) < len(arrays.keys):
        twice = next(key for key, count in Counter(arrays.keys).items() if count > 1)
        raise ValueError(f"record {twice}: the proof occurs twice")


def _check_samples(arrays: JudgmentArrays) -> None:
    came = np.stack([arrays.problem, arrays.sample], axis=1)
    distinct, first = np.unique(came, axis=0, return_index=True)
    if len(distinct) < len(came):
        twice = min(set(range(len(came))) - set(first.tolist()))
        raise ValueError(f"record {arrays.keys[twice]}: the sample occurs twice")
    wanted = (arrays.sample >= 0) & (arrays.sample < arrays.samples)
    per_problem = np.bincount(arrays.problem, weights=wanted, minlength=len(arrays.problems))
    wrong = np.flatnonzero(per_problem != arrays.samples)
    stray = np.flatnonzero(~wanted)
    if len(wrong) or len(stray):
        problem = int(wrong[0]) if len(wrong) else int(arrays.problem[stray[0]])
        found = sorted(arrays.sample[arrays.problem == problem].tolist())
        raise ValueError(f"problem {arrays.problems[problem]}: samples {found}, wanted 0..{arrays.samples - 1}")
