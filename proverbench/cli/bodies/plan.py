"""What ``proverbench plan`` does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.plan_shown import show_plan
from proverbench.cli.streams import echo_json
from proverbench.errors import RunMismatchError, UserInputError
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.comparison import align
from proverbench.metrics.inference import six
from proverbench.metrics.planning import (
    MOST_SAMPLES,
    Components,
    Design,
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
from proverbench.metrics.rates import sample_values
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.strata import NAMES, allocate, strata_of
from proverbench.metrics.subsets import subset_probability
from proverbench.metrics.summaries import Floats
from proverbench.run.saved import call_cost, open_runs


class _Basis(NamedTuple):
    """What a plan is made from."""

    said: str
    score: Components
    difference: Components | None
    """None with neither two pilots nor a correlation."""
    values: Floats | None
    """The first pilot's proofs, shape (C, S)."""
    prices: Prices
    unit: str | None
    """What prices are in; None where none are known, and designs cost as many judgments and proofs."""
    pilot: JudgmentArrays | None = None
    """The first pilot."""


def plan(
    pilots: tuple[Path, ...],
    share: float | None,
    icc: float,
    correlation: float | None,
    most: int,
    repeats: int | None,
    precision: float | None,
    difference: float | None,
    wanted: float,
    budget: float | None,
    labels: int | None,
    label_cost: float,
    proof_cost: float | None,
    judgment_cost: float | None,
    problem_cost: float,
    as_json: bool,
) -> int:
    """What problems, samples and money buy in ProverBench, before they are bought; calls nothing."""
    if len(pilots) > 2:
        raise UserInputError("plan takes one pilot, or two for their difference")
    if not pilots and share is None:
        raise UserInputError("give a pilot run, or --share (and --icc) to assume: proverbench plan --share 0.4")
    costs = _Costs(problem_cost, proof_cost, judgment_cost, (labels or 0) * label_cost)
    basis = _from_pilots(pilots, correlation, repeats, costs) if pilots else _from_assumptions(
        share or 0.0, icc, correlation, repeats or 8, costs
    )  # fmt: skip
    if difference is not None and basis.difference is None:
        raise UserInputError("--difference needs two pilots, or --correlation of the two runs' problems (0.8, say)")
    if budget is not None and basis.unit != "USD":
        raise UserInputError(
            f"--budget {budget:g} is in US dollars, and what a call costs is not known: give --proof-cost and "
            "--judgment-cost, or state prices in the config of a pilot ([policy.prices], [verifier.prices])"
        )
    found = {
        "basis": basis.said,
        "repeats": basis.prices.repeats,
        "unit": basis.unit,
        "components": _parts(basis.score, basis.prices),
        "difference_components": None if basis.difference is None else _parts(basis.difference, basis.prices),
        "judgment_components": _judgment_parts(basis),
        "score_by_repeats": _by_repeats(basis.pilot),
        "labels": None if labels is None else _label_parts(basis, labels),
        "designs": _designs(basis, most, labels),
        "answers": _answers(
            basis, most, labels, precision=precision, difference=difference, wanted=wanted, budget=budget
        ),
    }
    if as_json:
        echo_json(found)
    else:
        show_plan(found)
    return EXIT_COMPLETE


class _Costs(NamedTuple):
    """What was stated, in US dollars."""

    problem: float
    proof: float | None
    judgment: float | None
    labels: float
    """Of all labels."""

    def prices(self, repeats: int, per_proof: float | None = None, per_judgment: float | None = None) -> Prices | None:
        """In US dollars, with a pilot's for what is not stated; None where nothing is known.

        Raises:
            UserInputError: If only one of the two is.
        """
        proof = per_proof if self.proof is None else self.proof
        judgment = per_judgment if self.judgment is None else self.judgment
        if proof is None and judgment is None:
            if self.problem or self.labels:
                raise UserInputError("with --problem-cost or --label-cost give --proof-cost and --judgment-cost too")
            return None
        if proof is None or judgment is None:
            lacking = "--proof-cost" if proof is None else "--judgment-cost"
            raise UserInputError(f"give {lacking} too (0 where it is free): costs in one unit are compared")
        return Prices(self.problem, proof, judgment, repeats, self.labels)


def _from_assumptions(share: float, icc: float, correlation: float | None, repeats: int, costs: _Costs) -> _Basis:
    score = assumed(share, icc)
    prices = costs.prices(repeats)
    return _Basis(
        f"assumed: score {share:g}, intraclass correlation {icc:g}",
        score,
        None if correlation is None else correlated(score, correlation),
        None,
        prices or Prices(0.0, 1.0, 1.0, repeats),
        None if prices is None else "USD",
    )


def _from_pilots(
    pilots: Sequence[Path],
    correlation: float | None,
    repeats: int | None,
    costs: _Costs,
) -> _Basis:
    opened = open_runs(pilots)
    if any(benchmark_of(run.task).labelled for run in opened):
        raise RunMismatchError("a pilot is a ProverBench run; this one is VerifierBench")
    r = opened[0].arrays.repeats if repeats is None else repeats
    short = [run for run in opened if run.arrays.repeats < r]
    if short:
        raise RunMismatchError(f"{short[0].path}: the pilot has {short[0].arrays.repeats} repeats, fewer than {r}")
    arrays = {run.name: run.arrays if run.arrays.repeats == r else run.arrays.at_repeats(r) for run in opened}
    try:
        arrays = align(arrays)[0]
        metric = metrics_of("prover")["pessimistic"]
        values = [found for found in (sample_values(part, metric) for part in arrays.values()) if found is not None]
        score = components(values[0])
        difference = difference_of(*values) if len(values) == 2 else None
    except ValueError as exc:
        raise RunMismatchError(f"cannot be planned from: {exc}") from exc
    if difference is None and correlation is not None:
        difference = correlated(score, correlation)
    cost = call_cost(opened[0].folder)
    dollars = cost is not None and cost.unit == "USD"
    stated = costs.prices(r, cost.per_proof, cost.per_judgment) if dollars and cost else costs.prices(r)
    unknown = Prices(0.0, 1.0, 1.0, r) if cost is None else Prices(0.0, cost.per_proof, cost.per_judgment, r)
    unit = "USD" if stated is not None else None if cost is None else cost.unit
    said = _said(list(arrays), values, difference if len(values) == 2 else None)
    return _Basis(said, score, difference, values[0], stated or unknown, unit, next(iter(arrays.values())))


def _said(names: list[str], values: Sequence[Floats], difference: Components | None) -> str:
    """What the pilots were and found."""
    count = values[0].shape[0]
    runs = [
        f"{name} ({part.shape[1]} samples, score {part.mean():.3f})" for name, part in zip(names, values, strict=True)
    ]
    gap = "" if difference is None else f", difference {difference.share:+.3f}"
    return f"{'pilots' if len(runs) > 1 else 'pilot'} {' and '.join(runs)}, {count} problems{gap}"


def _parts(found: Components, prices: Prices) -> dict[str, Any]:
    """The components of a score or a difference, and the S that buys most where problems cost something."""
    best = best_samples(found, prices) if prices.problem > 0 else None
    return {"share": found.share, "between": found.between, "within": found.within, "best_samples": best}


def _judgment_parts(basis: _Basis) -> dict[str, Any] | None:
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


def _by_repeats(pilot: JudgmentArrays | None) -> list[dict[str, Any]] | None:
    """The score to expect of every number of judgments that the pilot has: R is part of what the score is."""
    if pilot is None:
        return None
    every = range(1, pilot.repeats + 1)
    return [
        {"repeats": r, "score": six(float(subset_probability(pilot.repeats, r, r)[pilot.accepts].mean()))}
        for r in every
    ]


def _label_parts(basis: _Basis, labels: int) -> dict[str, Any]:
    """Which proofs would be labelled, and the variance that estimating from them adds at the most."""
    pilot = basis.pilot
    if pilot is None:
        judged, shares = 1.0, [1 - basis.score.share, 0.0, basis.score.share]
    else:
        stratum = strata_of(pilot.accepts, pilot.repeats)[pilot.generated]
        judged = float(pilot.generated.mean())
        shares = [float((stratum == k).mean()) if len(stratum) else 0.0 for k in range(len(NAMES))]
    counts = allocate([round(1e6 * share) for share in shares], labels)
    given = [(share, count) for share, count in zip(shares, counts, strict=True) if share > 0]
    added = judged**2 * added_by_labels([w for w, _ in given], [(0, 0)] * len(given), [n for _, n in given])
    strata = [{"stratum": k, "share": six(w), "labels": n} for k, w, n in zip(NAMES, shares, counts, strict=True) if w]
    return {"count": labels, "strata": strata, "added_variance": added}


def _designs(basis: _Basis, most: int, labels: int | None) -> list[dict[str, Any]]:
    """What some designs give: a fifth, half and all of the problems, one to sixteen samples."""
    counts = dict.fromkeys(max(2, round(most * part)) for part in (0.2, 0.5, 1))
    return [_row(basis, Design(problems, samples), labels) for problems in counts for samples in (1, 2, 4, 8, 16)]


def _row(basis: _Basis, design: Design, labels: int | None) -> dict[str, Any]:
    n, s = design.problems, design.samples
    low, high = basis.score.ends(n, s)
    row: dict[str, Any] = {"problems": n, "samples": s, "low": six(low), "high": six(high), "width": six(high - low)}
    if basis.values is not None and len(basis.values) > 2:
        row["width_range"] = [six(end) for end in jackknife_range(basis.values, lambda found: found.width(n, s))]
    if basis.difference is not None:
        row["detectable"] = six(detectable(basis.difference, n, s))
    if labels is not None:
        found = basis.score.with_noise(_label_parts(basis, labels)["added_variance"])
        row["labelled_low"], row["labelled_high"] = (six(end) for end in found.ends(n, s))
    row["cost"] = six(basis.prices.of(n, s))
    return row


def _answers(
    basis: _Basis,
    most: int,
    labels: int | None,
    *,
    precision: float | None,
    difference: float | None,
    wanted: float,
    budget: float | None,
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def answer(question: str, design: Design | None, reason: str) -> None:
        row = None if design is None else _row(basis, design, labels)
        found.append({"question": question, "design": row, "reason": reason if design is None else None})

    few = f"not even all {most} problems with {MOST_SAMPLES} samples reach it; more problems are needed"

    if precision is not None:
        width = 2 * precision / 100
        aim = cheapest(lambda n, s: basis.score.width(n, s) <= width, basis.prices, most)
        answer(f"the cheapest way to ±{precision:g} points", aim, few)
    if difference is not None and basis.difference is not None:
        gap = basis.difference
        aim = cheapest(lambda n, s: power(gap, difference / 100, n, s) >= wanted, basis.prices, most)
        answer(f"the cheapest way to show {difference:g} points with a power of {wanted:.0%}, for each run", aim, few)
    if budget is not None:
        designs = affordable(basis.prices, budget, most)
        aim = min(designs, key=lambda d: basis.score.variance(d.problems, d.samples), default=None)
        least = f"two problems with one sample already cost {basis.prices.of(2, 1):,.2f} US dollars"
        answer(f"the most precise way to spend {budget:g} US dollars", aim, least)
    return found
