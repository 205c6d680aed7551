"""The tables of a plan: components, designs, and answers to what was asked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from proverbench.metrics.inference import six
from proverbench.metrics.planning import (
    MOST_SAMPLES,
    Components,
    Design,
    added_by_labels,
    affordable,
    best_samples,
    cheapest,
    detectable,
    fewest,
    jackknife_range,
    judgment_components,
    power,
)
from proverbench.metrics.strata import allocate
from proverbench.metrics.subsets import subset_probability
from proverbench.show.plan.basis import Basis, LabelPlan, label_plan
from proverbench.show.plan.words import spoken

MOST_PROBLEMS = 1_000_000
"""Looked through for how many would be needed."""


@dataclass(frozen=True)
class Aims:
    """What is asked of a plan."""

    most: int
    """So many problems there are."""
    labels: int | None = None
    """L."""
    precision: float | None = None
    """Half the width to reach, in points."""
    difference: float | None = None
    """To be shown, in points."""
    power: float = 0.8
    budget: float | None = None
    """In US dollars."""


def plan_tables(basis: Basis, aims: Aims) -> dict[str, Any]:
    """Everything that is worked out, JSON-ready: docs/metrics.md, "Planning"."""
    found = {
        "basis": basis.said,
        "repeats": basis.prices.repeats,
        "unit": basis.unit,
        "components": _parts(basis, basis.score),
        "difference_components": None if basis.difference is None else _parts(basis, basis.difference),
        "judgment_components": _judgment_parts(basis),
        "score_by_repeats": _by_repeats(basis),
        "labels": None if aims.labels is None else _labels(basis, aims.labels),
        "designs": _designs(basis, aims),
        "answers": list(_answers(basis, aims)),
    }
    return found | {"says": list(spoken(found))}


def by_labels(plan: LabelPlan, labels: int) -> tuple[Components, list[int]]:
    """The score by so many labels, drawn as a sheet draws them, and how many each stratum gets."""
    counts = allocate([round(1e6 * share) for share in plan.shares], labels)
    added = plan.judged**2 * added_by_labels(plan.shares, plan.said, counts)
    return plan.score.with_noise(added), counts


def _parts(basis: Basis, found: Components) -> dict[str, Any]:
    """The components of a score or a difference, and the S that buys most where problems cost something."""
    best = best_samples(found, basis.prices) if basis.prices.problem > 0 else None
    return {"share": found.share, "between": found.between, "within": found.within, "best_samples": best}


def _judgment_parts(basis: Basis) -> dict[str, Any] | None:
    """The components of the share of single judgments that accept; None where the pilot cannot tell them apart."""
    pilot = basis.pilot
    if pilot is None or pilot.repeats < 2:
        return None
    accepts = np.zeros((len(pilot.problems), pilot.samples))
    accepts[pilot.problem, pilot.sample] = pilot.accepts
    found = judgment_components(accepts, pilot.repeats)
    samples, repeats = found.best(basis.prices)
    best = {"best_samples": samples, "best_repeats": repeats} if basis.prices.problem > 0 else {}
    return {"problem": found.problem, "sample": found.sample, "judgment": found.judgment, **best}


def _by_repeats(basis: Basis) -> list[dict[str, Any]] | None:
    """The score to expect of every number of judgments that the pilot has: R is part of what the score is."""
    pilot = basis.pilot
    if pilot is None:
        return None
    every = range(1, pilot.repeats + 1)
    return [
        {"repeats": r, "score": six(float(subset_probability(pilot.repeats, r, r)[pilot.accepts].mean()))}
        for r in every
    ]


def _labels(basis: Basis, labels: int) -> dict[str, Any]:
    """Which proofs would be labelled, what is known of them, and what estimating from them adds to the variance."""
    plan = label_plan(basis)
    found, counts = by_labels(plan, labels)
    columns = zip(plan.names, plan.shares, counts, plan.said, strict=True)
    strata = [
        {"stratum": name, "share": six(share), "labels": count, "correct": right, "labelled": of}
        for name, share, count, (right, of) in columns
    ]
    known = basis.labels is not None
    return {
        "count": labels,
        "known": known,
        "score": found.share if known else None,
        "strata": strata,
        "added_variance": found.noise,
    }


def _designs(basis: Basis, aims: Aims) -> list[dict[str, Any]]:
    """What some designs give: a fifth, half and all of the problems, one to sixteen samples."""
    counts = dict.fromkeys(max(2, round(aims.most * part)) for part in (0.2, 0.5, 1))
    return [_row(basis, Design(problems, samples), aims.labels) for problems in counts for samples in (1, 2, 4, 8, 16)]


def _row(basis: Basis, design: Design, labels: int | None) -> dict[str, Any]:
    n, s = design.problems, design.samples
    low, high = basis.score.ends(n, s)
    row: dict[str, Any] = {"problems": n, "samples": s, "low": six(low), "high": six(high), "width": six(high - low)}
    if basis.values is not None and len(basis.values) > 2:
        row["width_range"] = [six(end) for end in jackknife_range(basis.values, lambda found: found.width(n, s))]
    if basis.difference is not None:
        row["detectable"] = six(detectable(basis.difference, n, s))
    if labels is not None:
        found, _ = by_labels(label_plan(basis), labels)
        row["labelled_low"], row["labelled_high"] = (six(end) for end in found.ends(n, s))
    row["cost"] = six(basis.prices.of(n, s))
    return row


def _answers(basis: Basis, aims: Aims) -> Iterator[dict[str, Any]]:
    prices, most = basis.prices, aims.most

    def answer(question: str, design: Design | None, reason: str) -> dict[str, Any]:
        row = None if design is None else _row(basis, design, aims.labels)
        return {"question": question, "design": row, "reason": reason if design is None else None}

    def short(reached: Callable[[int, int], bool], best: str) -> str:
        enough = fewest(reached, 1, MOST_PROBLEMS)
        more = "" if enough is None else f"; {enough:,} problems with one sample of each would reach it"
        return f"all {most} problems with {MOST_SAMPLES} samples of each {best} at best{more}"

    if aims.precision is not None:
        width = 2 * aims.precision / 100

        def precise(n: int, s: int) -> bool:
            return basis.score.width(n, s) <= width

        best = f"give ±{50 * basis.score.width(most, MOST_SAMPLES):.1f} points"
        asked = f"the cheapest way to ±{aims.precision:g} points"
        yield answer(asked, cheapest(precise, prices, most), short(precise, best))
    if aims.difference is not None and basis.difference is not None:
        gap, size = basis.difference, aims.difference / 100

        def shown(n: int, s: int) -> bool:
            return power(gap, size, n, s) >= aims.power

        best = f"have a power of {power(gap, size, most, MOST_SAMPLES):.0%}"
        asked = f"the cheapest way to show {aims.difference:g} points with a power of {aims.power:.0%}, for each run"
        yield answer(asked, cheapest(shown, prices, most), short(shown, best))
    if aims.budget is not None:
        designs = affordable(prices, aims.budget, most)
        aim = min(designs, key=lambda d: basis.score.variance(d.problems, d.samples), default=None)
        least = f"two problems with one sample already cost {prices.of(2, 1):,.2f} US dollars"
        yield answer(f"the most precise way to spend {aims.budget:g} US dollars", aim, least)
