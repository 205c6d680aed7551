"""Scores of parts of a split: by domain, subject, length, severity, author (docs/metrics.md, "Breakdown")."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import SEVERITIES, JudgmentArrays, Labels
from proverbench.metrics.rates import published_rates
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.uncertainty import intervals, significant

SMALLEST = 10
"""A metric of a group with fewer problems that count for it gets no interval and no conclusion."""

LENGTHS: tuple[tuple[int, int | None], ...] = ((0, 0), (1, 3), (4, 6), (7, 10), (11, 20), (21, None))
"""Numbers of steps that are taken together, both ends included."""

FACTORS = ("domain", "subject", "length", "severity", "policy")
"""What a split can be broken down by."""


def breakdown(
    arrays: JudgmentArrays,
    by: str,
    *,
    meta: bool = False,
) -> list[dict[str, Any]]:
    """The published metrics of each group of proofs.

    In ProverBench the groups by length are of proofs, not whole problems, so ``pessimistic`` is the share of accepted
    proofs in the group, and metrics that take a problem's best proof (``pass_any_sample``) are left out.

    Args:
        arrays: One split.
        by: One of FACTORS.
        meta: Whether the meta-verifier was asked.

    Returns:
        One row for each group and defined metric: ``by``, ``group``, ``metric``, ``value``, ``interval`` (None, with
        ``note``, where fewer than 10 problems of the group count for the metric, or for one of the two rates that it is
        made of), ``proofs``, ``problems``; larger groups first, then by name.

    Raises:
        ValueError: If ``by`` is not one of FACTORS.
    """
    labels = _labels(arrays, by)
    rows: list[dict[str, Any]] = []
    known = metrics_of(arrays.task, meta=meta)
    of_problems = {name for name, metric in known.items() if any(rate.best_proof for rate in metric.rates)}
    sizes = np.bincount(labels.codes, minlength=len(labels.names))
    present = [code for code in range(len(labels.names)) if sizes[code]]
    if by != "length":
        present.sort(key=lambda code: (-sizes[code], labels.names[code]))
    for code in present:
        group = arrays.select(labels.codes == code)
        table = published_rates(group, meta=meta)
        found = intervals(table)
        for metric, value in table.point().items():
            if math.isnan(value) or (by == "length" and metric in of_problems):
                continue
            row: dict[str, Any] = {
                "by": by,
                "group": labels.names[code] or "(none)",
                "metric": metric,
                "value": significant(value),
                "interval": found[metric],
                "proofs": int(sizes[code]),
                "problems": len(group.problems),
            }
            if np.count_nonzero(table.possible[:, table.columns(metric)], axis=0).min() < SMALLEST:
                row |= {"interval": None, "note": f"fewer than {SMALLEST} problems: no conclusion"}
            rows.append(row)
    return rows


def _labels(arrays: JudgmentArrays, by: str) -> Labels:
    if by == "domain":
        return arrays.domain
    if by == "subject":
        return arrays.subject
    if by == "policy":
        return arrays.policy
    if by == "severity":
        return Labels(arrays.severity.astype(np.int32), SEVERITIES)
    if by == "length":
        names = tuple(
            f"{low}+" if high is None else f"{low}-{high}" if high != low else f"{low}" for low, high in LENGTHS
        )
        starts: NDArray[np.int64] = np.array([low for low, _ in LENGTHS])
        codes = np.searchsorted(starts, arrays.steps, side="right") - 1
        return Labels(codes.astype(np.int32), tuple(f"{name} steps" for name in names))
    raise ValueError(f"cannot break down by {by!r}; use one of {', '.join(FACTORS)}")
