"""ProverBench scores corrected for the judge's own error (docs/metrics.md, "Correcting for the judge")."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.rates import Floats, RateTable, table_of
from proverbench.metrics.subsets import subset_probability
from proverbench.metrics.uncertainty import (
    RESAMPLES,
    SEED,
    Interval,
    bootstrap_interval,
    intervals,
    resampled_sums,
    significant,
)

LEAST_YOUDEN = 0.1
"""A judge whose sensitivity + specificity - 1 is smaller, or not shown to be above 0, cannot be corrected for."""


class UncorrectableError(ValueError):
    """The data do not allow a correction; the message says why and what would."""


def rogan_gladen(rate: Floats, sensitivity: Floats, specificity: Floats) -> Floats:
    """True prevalence from an apparent one, elementwise.

    Args:
        rate: Share of proofs that the rule accepts, in [0, 1].
        sensitivity: Share of correct proofs that it accepts.
        specificity: Share of incorrect proofs that it does not accept.

    Returns:
        (rate + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1]; nan where the denominator is not
        above 0.

    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107(1).
    """
    youden = sensitivity + specificity - 1
    usable = youden > 0
    estimate = np.where(usable, rate + specificity - 1, np.nan) / np.where(usable, youden, 1.0)
    result: Floats = np.clip(estimate, 0.0, 1.0)
    return result


def acceptance_table(run: JudgmentArrays) -> RateTable:
    """What a ProverBench run says: ``accepted`` (share of the judged proofs), ``judged`` (share of all proofs)."""
    one = np.ones(len(run.keys))
    return table_of([("accepted", run.accepted, run.generated), ("judged", run.generated, one)], run)


def rule_table(calibration: JudgmentArrays, repeats: int) -> RateTable:
    """Sensitivity and specificity of the acceptance rule "all ``repeats`` judgments validly accept".

    With more judgments than ``repeats``, the mean over all subsets of that size. An invalid judgment is no acceptance,
    so these are not ``rough_tpr`` and ``rough_tnr``.

    Raises:
        ValueError: If the calibration has fewer judgments than ``repeats``.
    """
    if calibration.repeats < repeats:
        raise ValueError(f"the calibration has {calibration.repeats} repeats, the rule needs {repeats}")
    accepting = subset_probability(calibration.repeats, repeats, repeats)[calibration.accepts]
    return table_of(
        [
            ("sensitivity", accepting * calibration.correct, calibration.correct),
            ("specificity", (1 - accepting) * calibration.incorrect, calibration.incorrect),
        ],
        calibration,
    )


def correct_by_calibration(
    run: JudgmentArrays, calibration: JudgmentArrays, *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, Any]:
    """Correct a run's acceptance rate for the sensitivity and specificity of the rule, measured elsewhere.

    Args:
        run: One ProverBench split.
        calibration: A VerifierBench split of the same verifier, with at least as many repeats.
        resamples: Bootstrap resamples; run and calibration are resampled independently, each by problem.
        seed: Seed of the run's resamples; the calibration takes the next one.

    Returns:
        ``value`` (corrected ``pessimistic``, in [0, 1]) and ``interval``; ``uncorrected`` (``pessimistic``);
        ``accepted_of_judged``, ``generation_failure_rate``; ``sensitivity``, ``specificity`` and ``youden``, each
        {value, interval}; ``clipped``, whether the formula left [0, 1].

    Raises:
        UncorrectableError: If a class is absent from the calibration, no proof was judged, or sensitivity +
            specificity - 1 is below 0.1 or its interval reaches 0.

    Source: Rogan & Gladen (1978); the bootstrap carries both samples' uncertainty. Defined in docs/metrics.md.
    """
    ours, rule = acceptance_table(run), rule_table(calibration, run.repeats)
    point, rule_point = ours.point(), rule.point()
    if math.isnan(point["accepted"]):
        raise UncorrectableError("the run has no judged proof to correct")
    if math.isnan(rule_point["sensitivity"]) or math.isnan(rule_point["specificity"]):
        missing = "correct" if math.isnan(rule_point["sensitivity"]) else "incorrect"
        raise UncorrectableError(f"the calibration has no human-{missing} proof; both classes are needed")

    run_draws = _resampled(ours, resamples=resamples, seed=seed)
    rule_draws = _resampled(rule, resamples=resamples, seed=seed + 1)
    youden = rule_point["sensitivity"] + rule_point["specificity"] - 1
    youden_draws = rule_draws["sensitivity"] + rule_draws["specificity"] - 1
    youden_interval = bootstrap_interval(youden_draws, len(calibration.problems), resamples=resamples, seed=seed + 1)
    if youden < LEAST_YOUDEN or youden_interval["low"] is None or youden_interval["low"] <= 0:
        ends = (youden_interval["low"], youden_interval["high"])
        interval = ", ".join("?" if end is None else f"{end:.3f}" for end in ends)
        raise UncorrectableError(
            f"sensitivity {rule_point['sensitivity']:.3f} + specificity {rule_point['specificity']:.3f} is too near 1 "
            f"(their sum - 1 is {youden:.3f}, 95 % interval [{interval}]): the judge tells correct from "
            "incorrect proofs too badly for a correction; use a better judge or more annotated proofs"
        )
    draws = rogan_gladen(run_draws["accepted"], rule_draws["sensitivity"], rule_draws["specificity"])
    draws = draws * run_draws["judged"]
    raw = (point["accepted"] + rule_point["specificity"] - 1) / youden
    rule_intervals = intervals(rule, resamples=resamples, seed=seed + 1)
    return {
        "method": "Rogan-Gladen",
        "value": significant(min(1.0, max(0.0, raw)) * point["judged"]),
        "interval": bootstrap_interval(
            draws,
            len(run.problems),
            resamples=resamples,
            seed=seed,
            method="percentile bootstrap over the problems of both samples",
            fewest=min(len(run.problems), len(calibration.problems)),
        )
        | {"n_calibration": len(calibration.problems)},
        "clipped": not 0 <= raw <= 1,
        "uncorrected": significant(point["accepted"] * point["judged"]),
        "accepted_of_judged": significant(point["accepted"]),
        "generation_failure_rate": significant(1 - point["judged"]),
        "sensitivity": {"value": significant(rule_point["sensitivity"]), "interval": rule_intervals["sensitivity"]},
        "specificity": {"value": significant(rule_point["specificity"]), "interval": rule_intervals["specificity"]},
        "youden": {"value": significant(youden), "interval": youden_interval},
    }


def correct_by_labels(
    run: JudgmentArrays, labels: Mapping[str, bool], *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, Any]:
    """Correct a run's acceptance rate with human labels of some of its own proofs: prediction-powered inference.

    With f the rule's acceptance and y the human's, over the judged proofs:
    λ · mean(f, unlabelled) + mean(y - λ f, labelled), clipped to [0, 1], times the share of judged proofs. λ in [0, 1]
    minimises the estimated variance; at λ = 0 only the labels count. The labelled proofs must be a random choice.

    Args:
        run: One ProverBench split.
        labels: By proof key (``JudgmentArrays.keys``), whether a human found the proof correct.
        resamples: Bootstrap resamples over problems, labelled and unlabelled proofs of a problem together.
        seed: Their seed.

    Returns:
        ``value`` and ``interval``; ``uncorrected``; ``labels_only`` {value, interval} (λ = 0); ``power`` (λ);
        ``labelled``, ``unlabelled`` (numbers of judged proofs); ``disagreements`` {false_accepts, false_rejects}.

    Raises:
        UncorrectableError: If fewer than two problems have a labelled, judged proof, or a label is of no judged proof.

    Source: Angelopoulos et al. (2023), Science 382; the power λ as in PPI++, arXiv 2311.01453, for clusters. Defined in
    docs/metrics.md.
    """
    judged = set(np.array(run.keys, dtype=object)[run.generated])
    unknown = sorted(set(labels) - judged)
    if unknown:
        raise UncorrectableError(f"labelled, but no judged proof of this run: {', '.join(unknown[:5])}")
    labelled = np.array([key in labels for key in run.keys], dtype=np.bool_)
    human = np.array([labels.get(key, False) for key in run.keys], dtype=np.bool_)
    rule = run.accepted
    unlabelled = run.generated & ~labelled
    table = table_of(
        [
            ("unlabelled", rule & unlabelled, unlabelled),
            ("rule", rule & labelled, labelled),
            ("human", human & labelled, labelled),
            ("judged", run.generated, np.ones(len(run.keys))),
        ],
        run,
    )
    if np.count_nonzero(table.possible[:, 2]) < 2:
        raise UncorrectableError("label proofs of at least two problems")
    power = tuned_power(table)
    estimate = prediction_powered(table, power)
    draws = _resampled(table, resamples=resamples, seed=seed)
    point = table.point()
    corrected = _clip(_powered(draws, power)) * draws["judged"]
    alone = draws["human"] * draws["judged"]
    n_labelled = int(np.count_nonzero(table.possible[:, 2]))

    def interval(replicates: Floats) -> Interval:
        found = bootstrap_interval(replicates, len(run.problems), resamples=resamples, seed=seed, fewest=n_labelled)
        return found | {"n_labelled": n_labelled}

    return {
        "method": "prediction-powered",
        "value": significant(float(_clip(np.array(estimate))) * point["judged"]),
        "interval": interval(corrected),
        "clipped": not 0 <= estimate <= 1,
        "uncorrected": significant(float(rule.sum() / len(rule))),
        "generation_failure_rate": significant(1 - point["judged"]),
        "labels_only": {
            "value": significant(point["human"] * point["judged"]),
            "interval": interval(alone),
        },
        "power": significant(power),
        "labelled": int(labelled.sum()),
        "unlabelled": int(unlabelled.sum()),
        "disagreements": {
            "false_accepts": int((labelled & rule & ~human).sum()),
            "false_rejects": int((labelled & ~rule & human).sum()),
        },
    }


def prediction_powered(table: RateTable, power: float) -> float:
    """The estimate among judged proofs, before clipping; see :func:`correct_by_labels`."""
    return float(_powered({name: np.array(value) for name, value in table.point().items()}, power))


def tuned_power(table: RateTable) -> float:
    """The λ in [0, 1] with the smallest estimated variance, problems being independent; 0 when nothing is unlabelled.

    The variance is that of the linearised estimate, a sum over problems of b + λ a; its minimum is at
    -Σab / Σa².
    """
    totals = table.possible.sum(axis=0)
    if totals[0] == 0:
        return 0.0
    residual = (table.earned - table.earned.sum(axis=0) / np.where(totals > 0, totals, 1) * table.possible) / totals
    a = residual[:, 0] - residual[:, 1]
    b = residual[:, 2]
    size = float(a @ a)
    return min(1.0, max(0.0, -float(a @ b) / size)) if size > 0 else 0.0


def _powered(rates: Mapping[str, Floats], power: float) -> Floats:
    if power == 0:  # then no unlabelled proof is needed
        return rates["human"]
    return power * rates["unlabelled"] + rates["human"] - power * rates["rule"]


def _resampled(table: RateTable, *, resamples: int, seed: int) -> dict[str, Floats]:
    earned, possible = resampled_sums(
        np.concatenate([table.earned, table.possible], axis=1), resamples=resamples, seed=seed
    )
    return table.values(earned, possible)


def _clip(values: Floats) -> NDArray[np.float64]:
    clipped: NDArray[np.float64] = np.clip(values, 0.0, 1.0)
    return clipped
