"""What a plan is made from: one pilot run, two, or stated assumptions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proverbench.benchmark import benchmark_of
from proverbench.errors import RunMismatchError, UserInputError
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.comparison import align
from proverbench.metrics.planning import Components, Prices, assumed, components, correlated, difference_of
from proverbench.metrics.rates import sample_values
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.strata import NAMES, Labelled, strata_of
from proverbench.metrics.summaries import Floats
from proverbench.people.labels import read_labels
from proverbench.run.saved import call_cost, open_runs


@dataclass(frozen=True)
class Basis:
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
    labels: Labelled | None = None
    """What people said of some of its proofs."""


@dataclass(frozen=True)
class Costs:
    """What was stated, in US dollars."""

    problem: float
    proof: float | None
    judgment: float | None
    label: float

    def prices(
        self, repeats: int, labels: int, per_proof: float | None = None, per_judgment: float | None = None
    ) -> Prices | None:
        """In US dollars, with a pilot's for what is not stated; None where nothing is known.

        Raises:
            UserInputError: If only one of the two is.
        """
        proof = per_proof if self.proof is None else self.proof
        judgment = per_judgment if self.judgment is None else self.judgment
        if proof is None and judgment is None:
            if self.problem or self.label:
                raise UserInputError("with --problem-cost or --label-cost give --proof-cost and --judgment-cost too")
            return None
        if proof is None or judgment is None:
            lacking = "--proof-cost" if proof is None else "--judgment-cost"
            raise UserInputError(f"give {lacking} too (0 where it is free): costs in one unit are compared")
        return Prices(self.problem, proof, judgment, repeats, labels * self.label)


def from_assumptions(
    share: float, icc: float, correlation: float | None, repeats: int, costs: Costs, labels: int
) -> Basis:
    """A basis without a pilot."""
    score = assumed(share, icc)
    prices = costs.prices(repeats, labels)
    return Basis(
        f"assumed: score {share:g}, intraclass correlation {icc:g}",
        score,
        None if correlation is None else correlated(score, correlation),
        None,
        prices or Prices(0.0, 1.0, 1.0, repeats),
        None if prices is None else "USD",
    )


def from_pilots(
    pilots: Sequence[Path],
    *,
    correlation: float | None,
    repeats: int | None,
    costs: Costs,
    labels: int,
    label_file: Path | None,
) -> Basis:
    """A basis from one run, or from two of the same problems.

    Raises:
        RunMismatchError: If they are no ProverBench runs, have too few judgments, or cannot be planned from.
        UserInputError: If costs are stated in part.
        DataError: If the labels are no labels of the first pilot.
    """
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
        values = [found for found in map(proof_scores, arrays.values()) if found is not None]
        score = components(values[0])
        difference = difference_of(*values) if len(values) == 2 else None
    except ValueError as exc:
        raise RunMismatchError(f"cannot be planned from: {exc}") from exc
    if difference is None and correlation is not None:
        difference = correlated(score, correlation)
    cost = call_cost(opened[0].folder)
    dollars = cost is not None and cost.unit == "USD"
    stated = costs.prices(r, labels, cost.per_proof, cost.per_judgment) if dollars and cost else costs.prices(r, labels)
    unknown = Prices(0.0, 1.0, 1.0, r) if cost is None else Prices(0.0, cost.per_proof, cost.per_judgment, r)
    first = next(iter(arrays.values()))
    return Basis(
        said=_said(list(arrays), values, difference if len(values) == 2 else None),
        score=score,
        difference=difference,
        values=values[0],
        prices=stated or unknown,
        unit="USD" if stated is not None else None if cost is None else cost.unit,
        pilot=first,
        labels=None if label_file is None else read_labels(label_file, opened[0].folder).labelled().of(first),
    )


def proof_scores(arrays: JudgmentArrays) -> Floats | None:
    """Each proof's credit in ``pessimistic``, shape (C, S)."""
    return sample_values(arrays, metrics_of("prover")["pessimistic"])


@dataclass(frozen=True)
class LabelPlan:
    """What a number of labels would give."""

    names: list[str]
    """The strata that there are; of each:"""
    shares: list[float]
    """W_s, of the judged proofs."""
    said: list[tuple[int, int]]
    """How many of the pilot's labels said correct, and of how many; (0, 0) where nothing is labelled."""
    judged: float
    """G, share of all proofs that are judged."""
    score: Components
    """Of the score by labels, were the strata's rates known."""


def label_plan(basis: Basis) -> LabelPlan:
    """The strata of a pilot's proofs and what its labels say of them, or those of an assumed score."""
    pilot = basis.pilot
    if pilot is None:
        shares = [1 - basis.score.share, basis.score.share]
        return LabelPlan([NAMES[0], NAMES[-1]], shares, [(0, 0), (0, 0)], 1.0, basis.score)
    stratum = strata_of(pilot.accepts, pilot.repeats)
    there = [k for k in range(len(NAMES)) if (pilot.generated & (stratum == k)).any()]
    shares = [float((stratum[pilot.generated] == k).mean()) for k in there]
    judged = float(pilot.generated.mean())
    if basis.labels is None:
        nothing = [(0, 0)] * len(there)
        return LabelPlan([NAMES[k] for k in there], shares, nothing, judged, basis.score)
    human, labelled = basis.labels.human(pilot), basis.labels.mask(pilot)
    inside = [labelled & pilot.generated & (stratum == k) for k in there]
    said = [(int((of & human).sum()), int(of.sum())) for of in inside]
    rate = np.zeros(len(NAMES))
    rate[there] = [(right + 0.5) / (of + 1) for right, of in said]
    worth = np.zeros((len(pilot.problems), pilot.samples))
    worth[pilot.problem, pilot.sample] = np.where(pilot.generated, rate[stratum], 0.0)
    return LabelPlan([NAMES[k] for k in there], shares, said, judged, components(worth))


def _said(names: list[str], values: Sequence[Floats], difference: Components | None) -> str:
    """What the pilots were and found."""
    count = values[0].shape[0]
    runs = [
        f"{name} ({part.shape[1]} samples, score {part.mean():.3f})" for name, part in zip(names, values, strict=True)
    ]
    gap = "" if difference is None else f", difference {difference.share:+.3f}"
    return f"{'pilots' if len(runs) > 1 else 'pilot'} {' and '.join(runs)}, {count} problems{gap}"
