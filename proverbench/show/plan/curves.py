"""The curves of a plan: width and power against problems, samples, judgments, labels and cost."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.inference import six
from proverbench.metrics.planning import Components, Prices, components, power
from proverbench.metrics.voting import Cost
from proverbench.show.plan.basis import Basis, label_plan, proof_scores
from proverbench.show.plan.tables import Aims, by_labels

SAMPLES = (1, 2, 4, 8, 16)
"""Each is a curve."""
FEWEST = 10
"""Problems that a curve begins with."""
POINTS = 15
"""Of each curve."""
LABELS = (20, 30, 40, 60, 80, 100, 150, 200, 300, 400)
DIFFERENCE = 5.0
"""Points whose power is drawn if no difference is asked for."""


def plan_curves(basis: Basis, aims: Aims) -> dict[str, Any]:
    """What the page of a plan draws, JSON-ready.

    Returns:
        ``width``: rows of ``samples``, ``problems``, ``low``, ``high``, ``width``, ``cost``; ``power``, None without a
        difference: ``points`` and rows of ``samples``, ``problems``, ``power``, ``cost``; ``repeats``, None without a
        pilot: ``samples``, ``problems`` and rows of ``repeats``, ``value``, ``low``, ``high``, ``width``; ``labels``,
        None without ``--labels``: ``samples``, ``problems`` and rows of ``labels``, ``low``, ``high``, ``width``.
    """
    samples = 1 if basis.values is None else basis.values.shape[1]
    return {
        "width": list(width_rows(basis.score, basis.prices, aims.most)),
        "power": _power(basis, aims),
        "repeats": None if basis.pilot is None else _repeats(basis.pilot, aims.most, samples),
        "labels": None if aims.labels is None else _labels(basis, aims.most, samples),
    }


def run_curve(arrays: JudgmentArrays, cost: Cost | None) -> dict[str, Any] | None:
    """What more of a run would buy, for its report.

    Args:
        arrays: One split of a ProverBench run.
        cost: What its calls cost.

    Returns:
        ``problems`` and ``samples`` that the run has, ``unit`` of the costs, and ``rows`` of ``width`` as of
        :func:`plan_curves`, for up to four times the problems; None where a single sample, or a single problem, does
        not tell problems and samples apart.
    """
    values = proof_scores(arrays)
    if values is None or min(values.shape) < 2:
        return None
    problems, samples = values.shape
    prices = Prices(0.0, cost.per_proof, cost.per_judgment, arrays.repeats) if cost else None
    rows = list(width_rows(components(values), prices or Prices(0.0, 1.0, 1.0, arrays.repeats), 4 * problems))
    return {"problems": problems, "samples": samples, "unit": cost.unit if cost else None, "rows": rows}


def width_rows(score: Components, prices: Prices, most: int) -> Iterator[dict[str, Any]]:
    """The interval to expect of every number of samples, from few problems to ``most``."""
    for samples in SAMPLES:
        for problems in _counts(most):
            row = {"samples": samples, "problems": problems, **_ends(score, problems, samples)}
            yield row | {"cost": six(prices.of(problems, samples))}


def _ends(score: Components, problems: int, samples: int) -> dict[str, float]:
    low, high = score.ends(problems, samples)
    return {"low": six(low), "high": six(high), "width": six(high - low)}


def _counts(most: int) -> list[int]:
    """Numbers of problems, each about as many times the one before."""
    steps = np.geomspace(min(FEWEST, most), most, POINTS)
    return sorted({max(2, round(step)) for step in steps.tolist()})


def _power(basis: Basis, aims: Aims) -> dict[str, Any] | None:
    gap = basis.difference
    if gap is None:
        return None
    points = DIFFERENCE if aims.difference is None else aims.difference
    rows = [
        {
            "samples": samples,
            "problems": problems,
            "power": six(power(gap, points / 100, problems, samples)),
            "cost": six(basis.prices.of(problems, samples)),
        }
        for samples in SAMPLES
        for problems in _counts(aims.most)
    ]
    return {"points": points, "wanted": aims.power, "rows": rows}


def _repeats(pilot: JudgmentArrays, most: int, samples: int) -> dict[str, Any]:
    """The score to expect of each number of judgments, and its interval: another R is another score."""
    rows = []
    for r in range(1, pilot.repeats + 1):
        values = proof_scores(pilot if r == pilot.repeats else pilot.at_repeats(r))
        if values is not None:
            found = components(values)
            rows.append({"repeats": r, "value": six(found.share), **_ends(found, most, samples)})
    return {"problems": most, "samples": samples, "rows": rows}


def _labels(basis: Basis, most: int, samples: int) -> dict[str, Any]:
    """The score by labels, by how many there are."""
    plan = label_plan(basis)
    counts = [count for count in LABELS if count <= most * samples * plan.judged]
    rows = [{"labels": count, **_ends(by_labels(plan, count)[0], most, samples)} for count in counts]
    return {"problems": most, "samples": samples, "known": basis.labels is not None, "rows": rows}
