"""ProverBench scores corrected for the judge's own error (docs/metrics.md, "Correcting for the judge").

Every estimate is a function of rates over problems; runs, a calibration and labels are lined up by problem, so that
what they share is counted once.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.comparison import ALPHA, judge_pairs
from proverbench.metrics.inference import Summary, holm, interval, join, p_value
from proverbench.metrics.poststratify import stratified
from proverbench.metrics.rates import RateTable, table_of
from proverbench.metrics.strata import Labelled
from proverbench.metrics.subsets import subset_probability
from proverbench.metrics.uncertainty import intervals, significant

ENOUGH_LABELS = 20
"""With fewer labelled proofs the labels are a check, and no estimate."""


class UncorrectableError(ValueError):
    """The data do not allow a correction; the message says why and what would."""


def rogan_gladen(acceptance: float, judged: float, sensitivity: float, specificity: float) -> float:
    """Share of correct proofs among all, from the share that the rule accepts.

    Args:
        acceptance: A, share of all proofs that the rule accepts, in [0, 1].
        judged: G, share of all proofs that were judged; the others are wrong.
        sensitivity: Share of correct proofs that the rule accepts.
        specificity: Share of incorrect proofs that it does not accept.

    Returns:
        (A - (1 - specificity)·G) / (sensitivity + specificity - 1), not clipped; nan where the denominator is not above
        0.

    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107(1).
    """
    youden = sensitivity + specificity - 1
    return (acceptance - (1 - specificity) * judged) / youden if youden > 0 else math.nan


def acceptance_table(run: JudgmentArrays) -> RateTable:
    """What a ProverBench run says of all its proofs: the shares ``accepted`` and ``judged``."""
    one = np.ones(len(run.keys))
    return table_of([("accepted", run.accepted, one), ("judged", run.generated, one)], run)


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


def as_judged(run: JudgmentArrays) -> dict[str, Any]:
    """The score before any correction, with its interval: ``pessimistic``."""
    table = acceptance_table(run)
    return {"value": significant(table.point()["accepted"]), "interval": intervals(table)["accepted"]}


def correct_by_calibration(run: JudgmentArrays, calibration: JudgmentArrays) -> dict[str, Any]:
    """Correct a run's acceptance rate for the sensitivity and specificity of the rule, measured elsewhere.

    Args:
        run: One ProverBench split.
        calibration: A VerifierBench split of the same verifier, with at least as many repeats.

    Returns:
        ``value`` (corrected ``pessimistic``, in [0, 1]) and ``interval``; ``uncorrected`` (``pessimistic``);
        ``accepted_of_judged``, ``generation_failure_rate``; ``sensitivity``, ``specificity`` and ``youden``, each
        {value, interval}; ``clipped``, whether the formula left [0, ``judged``]; ``calibration_problems``.

    Raises:
        UncorrectableError: If a class is absent from the calibration, no proof was judged, the judge is not shown to
            tell correct from incorrect proofs, or the run accepts more or fewer proofs than the rule's errors can
            explain.

    Source: Rogan & Gladen (1978). Defined in docs/metrics.md.
    """
    ours, rule = acceptance_table(run), rule_table(calibration, run.repeats)
    point, rates = _checked(ours), _checked_rule(rule)
    joined = join(ours.summary(), rule.summary())
    youden = _youden(rule)
    _refuse(joined, rates, youden)
    a, g = point["accepted"], point["judged"]
    raw = rogan_gladen(a, g, rates["sensitivity"], rates["specificity"])
    found = intervals(rule)
    return {
        "method": "Rogan-Gladen",
        "value": significant(min(g, max(0.0, raw))),
        "interval": interval(joined, rogan_gladen, limits=(0.0, 1.0)),
        "clipped": not 0 <= raw <= g,
        "uncorrected": significant(a),
        "accepted_of_judged": significant(a / g),
        "generation_failure_rate": significant(1 - g),
        "sensitivity": {"value": significant(rates["sensitivity"]), "interval": found["sensitivity"]},
        "specificity": {"value": significant(rates["specificity"]), "interval": found["specificity"]},
        "youden": {"value": significant(rates["sensitivity"] + rates["specificity"] - 1), "interval": youden},
        "calibration_problems": len(calibration.problems),
    }


def compare_by_calibration(
    runs: Mapping[str, JudgmentArrays], calibration: JudgmentArrays, *, alpha: float = ALPHA
) -> list[dict[str, Any]]:
    """Differences of corrected scores of runs that one judge judged: they share its errors.

    Args:
        runs: ProverBench splits with the same number of repeats, by name.
        calibration: A VerifierBench split of their verifier.
        alpha: Level below which a difference counts as shown.

    Returns:
        Rows as of :func:`proverbench.metrics.comparison.judge_pairs`, of the metric ``corrected``.

    Raises:
        UncorrectableError: As :func:`correct_by_calibration`, of any of the runs.
    """
    rule = rule_table(calibration, max(run.repeats for run in runs.values()))
    rates = _checked_rule(rule)
    parts: dict[str, Summary] = {}
    values: dict[str, float] = {}
    for name, run in runs.items():
        table = acceptance_table(run)
        parts[name] = table.summary()
        try:
            point = _checked(table)
            _refuse(join(parts[name], rule.summary()), rates, _youden(rule))
        except UncorrectableError as exc:
            raise UncorrectableError(f"{name}: {exc}") from exc
        raw = rogan_gladen(point["accepted"], point["judged"], rates["sensitivity"], rates["specificity"])
        values[name] = min(point["judged"], max(0.0, raw))
    return judge_pairs("corrected", values, parts, rogan_gladen, shared=rule.summary(), alpha=alpha)


def correct_by_labels(run: JudgmentArrays, labels: Mapping[str, bool] | Labelled) -> dict[str, Any]:
    """Correct a run's score with human labels of some of its own proofs, post-stratified by the judge's verdicts.

    Args:
        run: One ProverBench split.
        labels: By proof key (``JudgmentArrays.keys``), whether a human found the proof correct; the labelled proofs are
            one simple random draw, or their inclusion probabilities are given (:class:`~.strata.Labelled`).

    Returns:
        ``value`` and ``interval``: the judged proofs' share of all, times Σ W_s π_s over strata of verdict patterns;
        ``uncorrected``; ``strata`` (a row each: ``stratum``, ``share`` W_s, ``labelled``, ``correct`` π_s);
        ``labels_only`` {value, interval}, None with ``labels_only_reason`` where the draw favoured some proofs;
        ``labelled``, ``unlabelled`` (numbers of judged proofs); ``disagreements`` {false_accepts, false_rejects}.

    Raises:
        UncorrectableError: If fewer than two problems have a labelled, judged proof, or a label is of no judged proof.

    Source: post-stratification (Holt & Smith 1979, JRSS A 142), to which prediction-powered inference with the best
    weight comes down for a yes-or-no rule. Defined in docs/metrics.md.
    """
    given = labels if isinstance(labels, Labelled) else Labelled(dict(labels))
    _check_labels(run, given)
    strata = stratified(run, given)
    rule, human, labelled = run.accepted, given.human(run), given.mask(run)
    found: dict[str, Any] = {
        "method": "post-stratified",
        "value": significant(strata.value()),
        "interval": interval(strata.summary, strata.g, limits=(0.0, 1.0)),
        "uncorrected": significant(float(rule.sum() / len(rule))),
        "generation_failure_rate": significant(float(1 - run.generated.mean())),
        "strata": strata.rows(),
        "labels_only": None,
        "labelled": int(labelled.sum()),
        "unlabelled": int((run.generated & ~labelled).sum()),
        "disagreements": {
            "false_accepts": int((labelled & rule & ~human).sum()),
            "false_rejects": int((labelled & ~rule & human).sum()),
        },
    }
    if given.simple():
        alone = table_of(
            [("human", human & labelled, labelled), ("judged", run.generated, np.ones(len(run.keys)))], run
        )
        point = alone.point()
        found["labels_only"] = {
            "value": significant(point["human"] * point["judged"]),
            "interval": interval(alone.summary(), lambda human, judged: human * judged),
        }
    else:
        found["labels_only_reason"] = (
            "some proofs were likelier to be drawn than others, with unequal but known probabilities"
        )
    return found


def compare_by_labels(
    runs: Mapping[str, JudgmentArrays], labels: Mapping[str, Labelled], *, alpha: float = ALPHA
) -> list[dict[str, Any]]:
    """Differences of scores corrected by labels of each run's own proofs.

    Returns:
        Rows as of :func:`proverbench.metrics.comparison.judge_pairs`, of the metric ``corrected``.

    Raises:
        UncorrectableError: As :func:`correct_by_labels`, of any of the runs.
    """
    strata = {}
    for name, run in runs.items():
        try:
            _check_labels(run, labels[name])
        except UncorrectableError as exc:
            raise UncorrectableError(f"{name}: {exc}") from exc
        strata[name] = stratified(run, labels[name])
    parts = {name: found.summary for name, found in strata.items()}
    functions = {name: found.g for name, found in strata.items()}
    return judge_pairs("corrected", {n: s.value() for n, s in strata.items()}, parts, functions, alpha=alpha)


def shift_test(
    run: JudgmentArrays, calibration: JudgmentArrays, labels: Labelled, *, alpha: float = ALPHA
) -> dict[str, Any]:
    """Whether the judge errs on this run's labelled proofs as it does on the calibration's. A weak test.

    Returns:
        ``rows``, one for ``sensitivity`` and one for ``specificity``: ``metric``, ``here`` (on the labelled proofs),
        ``calibration``, ``difference``, ``interval``, ``p``, ``p_holm``, ``shown``; a class without a labelled proof is
        left out. ``flagged``, whether any is shown.
    """
    rule = rule_table(calibration, run.repeats)
    theirs = rule.point()
    human, weights, accepts = labels.human(run), labels.weights(run), run.accepted
    ours = table_of(
        [
            ("sensitivity", weights * (accepts & human), weights * human),
            ("specificity", weights * ~(accepts | human), weights * ~human),
        ],
        run,
        items=[int((labels.mask(run) & human).sum()), int((labels.mask(run) & ~human).sum())],
    )
    point = ours.point()
    rows: list[dict[str, Any]] = []
    for k, name in enumerate(ours.names):
        if math.isnan(point[name]) or math.isnan(theirs[name]):
            continue
        joined = join(ours.summary().only([k]), rule.summary().only([k]))
        rows.append(
            {
                "metric": name,
                "here": significant(point[name]),
                "calibration": significant(theirs[name]),
                "difference": significant(point[name] - theirs[name]),
                "interval": interval(joined, _less),
                "p": p_value(joined, _less),
            }
        )
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"], row["shown"] = significant(adjusted, 6), adjusted < alpha
    return {"rows": rows, "flagged": any(row["shown"] for row in rows)}


def headline(*, calibrated: bool, labelled: int) -> str | None:
    """Which estimate to report: never chosen by a test, only by what there is.

    Args:
        calibrated: Whether there is a calibration that allows a correction.
        labelled: L, the number of the run's own judged proofs that people labelled.

    Returns:
        ``labels`` from 20 labels on, else ``calibration`` where there is one, else None.
    """
    if labelled >= ENOUGH_LABELS:
        return "labels"
    return "calibration" if calibrated else None


def _less(first: float, second: float) -> float:
    return first - second


def _checked(table: RateTable) -> dict[str, float]:
    point = table.point()
    if not point["judged"] > 0:
        raise UncorrectableError("the run has no judged proof to correct")
    return point


def _checked_rule(rule: RateTable) -> dict[str, float]:
    point = rule.point()
    for name, kind in (("sensitivity", "correct"), ("specificity", "incorrect")):
        if math.isnan(point[name]):
            raise UncorrectableError(f"the calibration has no human-{kind} proof; both classes are needed")
    return point


def _youden(rule: RateTable) -> dict[str, Any]:
    return interval(rule.summary(), lambda sensitivity, specificity: sensitivity + specificity - 1)


def _refuse(joined: Summary, rates: Mapping[str, float], youden: Mapping[str, Any]) -> None:
    if youden["low"] is None or youden["low"] <= 0:
        ends = ", ".join("?" if youden[end] is None else f"{youden[end]:.3f}" for end in ("low", "high"))
        raise UncorrectableError(
            f"sensitivity {rates['sensitivity']:.3f} + specificity {rates['specificity']:.3f} - 1 has the 95 % "
            f"interval [{ends}], which is not above 0: the judge is not shown to tell correct from incorrect proofs; "
            "use a better judge or more annotated proofs"
        )
    above = interval(joined, lambda a, g, sens, spec: a - (1 - spec) * g)
    below = interval(joined, lambda a, g, sens, spec: sens * g - a)
    for found, which, rate in ((above, "fewer", "specificity"), (below, "more", "sensitivity")):
        if found["high"] is not None and found["high"] < 0:
            raise UncorrectableError(
                f"the run accepts {which} proofs than the calibration's {rate} allows: the judge does not err here as "
                "it does there; label some of the run's own proofs instead (proverbench correct --labels)"
            )


def _check_labels(run: JudgmentArrays, labels: Labelled) -> None:
    judged = set(np.array(run.keys, dtype=object)[run.generated])
    unknown = sorted(set(labels.correct) - judged)
    if unknown:
        raise UncorrectableError(f"labelled, but no judged proof of this run: {', '.join(unknown[:5])}")
    if len(set(run.problem[labels.mask(run)].tolist())) < 2:
        raise UncorrectableError("label proofs of at least two problems")
