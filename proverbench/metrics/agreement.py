"""Agreement between repeats, between judges, and of a judge with people (docs/metrics.md, "Agreement").

Two judgments are compared on three views: ``accept`` (accept or reject), ``step`` (the same first-error step, -1
included) and ``step_within_1`` (both accept, or both reject at most one step apart). Invalid judgments have no opinion
and are left out and counted; they are not disagreements here, because the scores already charge for them.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.arrays import ACCEPTS, INVALID, UNLOCATED, JudgmentArrays
from proverbench.metrics.chance import Chance, cohen_chance, gwet_chance, pooled_chance
from proverbench.metrics.coefficients import _pair_share, krippendorff_alpha
from proverbench.metrics.inference import interval, join, summarise
from proverbench.metrics.rates import sums_by_problem
from proverbench.metrics.summaries import Floats
from proverbench.metrics.uncertainty import significant

VIEWS = ("accept", "step", "step_within_1")
"""On what two judgments are compared."""


def repeat_agreement(arrays: JudgmentArrays) -> list[dict[str, Any]]:
    """How far the repeats of one judge agree with each other.

    Args:
        arrays: One split with R of at least 2.

    Returns:
        One row for each measure and view: ``measure`` (``raw_agreement``: share of agreeing pairs of valid repeats,
        proofs weighing alike; ``fleiss_kappa``, over proofs with R valid judgments; ``krippendorff_alpha``;
        ``gwet_ac1``, not on ``step_within_1``), ``on``
        (one of VIEWS), ``value`` (None with ``reason`` where undefined), its ``interval`` over problems, ``n``
        (proofs), ``left_out`` (judged proofs that could not count).
    """
    counts = _counts(_some_step(arrays.verdict))
    return _group_rows({view: _viewed(counts, view) for view in views_of(arrays)}, arrays, arrays.repeats)


def views_of(*runs: JudgmentArrays) -> tuple[str, ...]:
    """The views that mean something: of judges who reject and never name a step, ``accept`` alone."""
    unnamed = any((a.verdict == UNLOCATED).any() and not (a.verdict >= 0).any() for a in runs)
    return VIEWS[:1] if unnamed else VIEWS


def panel_agreement(runs: Mapping[str, JudgmentArrays]) -> dict[str, Any]:
    """How far several judges agree on the same proofs.

    Args:
        runs: At least two runs' splits, by name, with proofs in common.

    Returns:
        ``pairs``: rows as of :func:`repeat_agreement` with ``first``, ``second`` and the measures ``raw_agreement``
        and ``cohen_kappa`` of one random valid judgment of either; ``panel``: rows over all judges with
        ``raw_agreement``, ``fleiss_kappa`` and ``krippendorff_alpha``, a judge's opinion being what most of its valid
        repeats say in that view (a tie is none); ``proofs``, the proofs in common, and ``left_out`` by run.

    Raises:
        ValueError: If the runs have no proof in common.
    """
    joined, left_out = same_proofs(runs)
    first = next(iter(joined.values()))
    width = max(int(arrays.verdict.max(initial=0)) for arrays in joined.values()) + 2
    counts = {name: _counts(_some_step(arrays.verdict), width) for name, arrays in joined.items()}
    pairs: list[dict[str, Any]] = []
    views = views_of(*joined.values())
    for one, other in itertools.combinations(joined, 2):
        rows = _pair_rows(counts[one], counts[other], first, views)
        pairs += [{"first": one, "second": other, **row} for row in rows]
    opinions = {view: np.sum([_opinion(_viewed(table, view)) for table in counts.values()], axis=0) for view in views}
    panel = _group_rows(opinions, first, len(joined))
    return {"proofs": len(first.keys), "left_out": left_out, "pairs": pairs, "panel": panel}


def human_agreement(arrays: JudgmentArrays, views: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """How far single judgments agree with the human label.

    Args:
        arrays: One split; proofs without a label are left out, where steps are compared also those whose label has no
            place.
        views: On what they are compared; None: on all that mean something.

    Returns:
        Rows as of :func:`repeat_agreement` with the measures ``raw_agreement`` and ``cohen_kappa``, over valid
        judgments, proofs weighing alike.
    """
    if views is None:
        views = views_of(arrays) if arrays.located.any() else VIEWS[:1]
    width = max(int(arrays.verdict.max(initial=0)), int(arrays.label.max(initial=0))) + 2
    rejected = _some_step(arrays.label)
    placed = np.where(arrays.located, arrays.label, INVALID)
    judges, rows = _counts(_some_step(arrays.verdict), width), []
    for label, compared in ((rejected, VIEWS[:1]), (placed, VIEWS[1:])):
        wanted = [view for view in compared if view in views]
        rows += _pair_rows(judges, _counts(label[:, None], width), arrays, wanted)
    return rows


def _some_step(codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rejections that name no step as ones of some step or other, for views in which steps do not count."""
    return np.where(codes == UNLOCATED, 0, codes).astype(np.int32)


def step_confusion(arrays: JudgmentArrays) -> dict[str, Any] | None:
    """Reported against annotated first-error steps, all judgments of proofs whose label has a place.

    Returns:
        None where judges name no step, or no label has a place. Else ``annotated`` and ``reported`` (row and column
        names: -1, 0, 1, …, and for columns also ``invalid`` and, if there are any, ``rejects``: rejections that name no
        step), and ``counts``, one list of whole numbers a row.
    """
    labelled = arrays.located
    if len(views_of(arrays)) == 1 or not labelled.any():
        return None
    verdict, label = arrays.verdict[labelled], arrays.label[labelled]
    rows = int(label.max(initial=-1)) + 2
    steps = max(int(verdict.max(initial=-1)), int(label.max(initial=-1))) + 2
    others = ["invalid", "rejects"] if (verdict == UNLOCATED).any() else ["invalid"]
    columns = steps + len(others)
    column = np.where(verdict == INVALID, steps, np.where(verdict == UNLOCATED, steps + 1, verdict + 1))
    flat = (label[:, None] + 1).astype(np.int64) * columns + column
    counts = np.bincount(flat.ravel(), minlength=rows * columns).reshape(rows, columns)
    return {
        "annotated": [str(step) for step in range(-1, rows - 1)],
        "reported": [*(str(step) for step in range(-1, steps - 1)), *others],
        "counts": counts.tolist(),
    }


def same_proofs(runs: Mapping[str, JudgmentArrays]) -> tuple[dict[str, JudgmentArrays], dict[str, int]]:
    """Restrict runs to proofs with the same problem, sample (or id) and steps, in one order.

    Runs of both tasks may be mixed only if their proofs have the same names, which they have not; so join per task.

    Raises:
        ValueError: If there is none.
    """
    known = [
        {(key, int(digest)) for key, digest, there in zip(a.keys, a.digest, a.generated, strict=True) if there}
        for a in runs.values()
    ]
    shared = set.intersection(*known)
    if not shared:
        raise ValueError("the runs have no proof in common (same problem, sample and steps)")
    joined = {}
    for name, arrays in runs.items():
        rows = {(key, int(d)): row for row, (key, d) in enumerate(zip(arrays.keys, arrays.digest, strict=True))}
        joined[name] = arrays.select(np.array([rows[proof] for proof in sorted(shared)], dtype=np.intp))
    return joined, {name: int(arrays.generated.sum()) - len(shared) for name, arrays in runs.items()}


# ---------------------------------------------------------------- observed and chance disagreement, over problems


def _pair_rows(
    first: Floats, second: Floats, arrays: JudgmentArrays, views: Sequence[str] = VIEWS
) -> list[dict[str, Any]]:
    both = (first.sum(axis=1) > 0) & (second.sum(axis=1) > 0)
    one = np.ones(int(both.sum()))
    rows = []
    for view in views:
        a, b = (_shares(_viewed(counts[both], view)) for counts in (first, second))
        weights = _weights(a.shape[1], view)
        disagree = 1 - ((a @ weights) * b).sum(axis=1)
        chances: dict[str, Chance | None] = {"raw_agreement": None, "cohen_kappa": cohen_chance(a, b, weights)}
        if view != "step_within_1":
            chances["gwet_ac1"] = gwet_chance((a + b) / 2, _values(view, arrays))
        for measure, chance in chances.items():
            row = _measured(measure, view, disagree, one, chance, arrays, both)
            rows.append(row | {"n": int(both.sum()), "left_out": int(arrays.generated.sum() - both.sum())})
    return rows


def _group_rows(by_view: Mapping[str, Floats], arrays: JudgmentArrays, judges: int) -> list[dict[str, Any]]:
    rows = []
    for view, table in by_view.items():
        given = table.sum(axis=1)
        weights = _weights(table.shape[1], view)
        pairable, full = given >= 2, (given == judges) & (judges >= 2)
        measures = ["raw_agreement", "fleiss_kappa"]
        measures += ["krippendorff_alpha", "gwet_ac1"] if view != "step_within_1" else []
        for measure in measures:
            used = full if measure == "fleiss_kappa" else pairable
            counts = table[used]
            size = given[used] if measure == "krippendorff_alpha" else np.ones(len(counts))
            disagree = (1 - _pair_share(counts, weights)) * size
            chance: Chance | None = None
            if measure == "gwet_ac1":
                chance = gwet_chance(_shares(counts), _values(view, arrays))
            elif measure != "raw_agreement":
                pairs = float(size.sum()) if measure == "krippendorff_alpha" else None
                chance = pooled_chance(_shares(counts) * size[:, None], size, weights, pairable=pairs)
            row = _measured(measure, view, disagree, size, chance, arrays, used)
            if measure == "krippendorff_alpha" and row["value"] is not None:
                row["value"] = significant(krippendorff_alpha(table))
            rows.append(row | {"n": int(used.sum()), "left_out": int(arrays.generated.sum() - used.sum())})
    return rows


def _measured(
    measure: str,
    view: str,
    disagree: Floats,
    size: Floats,
    chance: Chance | None,
    arrays: JudgmentArrays,
    used: NDArray[np.bool_],
) -> dict[str, Any]:
    """A row: 1 - observed / chance disagreement, or 1 - observed where ``chance`` is None.

    Args:
        measure: Its name.
        view: On what.
        disagree: What each proof adds to the observed disagreement, shape (p,).
        size: What it could add at most, shape (p,).
        chance: Disagreement by chance.
        arrays: Where the proofs' problems are taken from.
        used: Which of its proofs these are.
    """
    row: dict[str, Any] = {"measure": measure, "on": view, "value": None, "interval": None}
    if not len(disagree):
        return row | {"reason": "no proof has two judgments to compare"}
    names, problem = np.unique(arrays.problem[used], return_inverse=True)
    of = problem.astype(np.int32)
    sums = sums_by_problem(np.stack([disagree, size], axis=1), of, len(names))
    observed = summarise(sums[:, 0], sums[:, 1])
    if chance is None:
        value, found = float(1 - observed.share[0]), interval(observed, lambda d: 1 - d)
        return row | {"value": significant(value), "interval": found}
    if chance.value < 1e-12:
        return row | {"reason": "all judgments are the same, so chance agreement is 1"}
    value = 1 - float(observed.share[0]) / chance.value
    both = join(observed, chance.summary(of, len(names)))
    found = interval(both, lambda d_o, d_e: 1 - d_o / d_e, limits=(-1.0, 1.0))
    return row | {"value": significant(value), "interval": found}


def _values(view: str, arrays: JudgmentArrays) -> int:
    """How many values a judgment can have: accept or reject; or no error, or one of the longest proof's steps."""
    return 2 if view == "accept" else max(2, int(arrays.steps.max(initial=1)) + 1)


def _counts(verdict: NDArray[np.int32], width: int | None = None) -> Floats:
    """How often each value occurs, shape (P, V): column 0 is accepted, column s+1 is step s; invalid is not counted."""
    columns = width or int(verdict.max(initial=0)) + 2
    table = np.zeros((len(verdict), columns))
    for repeat in range(verdict.shape[1]):
        valid = np.flatnonzero(verdict[:, repeat] != INVALID)
        table[valid, verdict[valid, repeat] - ACCEPTS] += 1
    return table


def _opinion(counts: Floats) -> Floats:
    """One-hot of the most frequent value of each proof; all zero where there is none or a tie."""
    top = counts.max(axis=1, keepdims=True)
    leading = (counts == top) & (top > 0)
    opinion: Floats = (leading & (leading.sum(axis=1, keepdims=True) == 1)).astype(np.float64)
    return opinion


def _viewed(counts: Floats, view: str) -> Floats:
    if view == "accept":
        return np.stack([counts[:, 0], counts[:, 1:].sum(axis=1)], axis=1)
    return counts


def _weights(width: int, view: str) -> Floats:
    """1 where two values agree in this view, shape (V, V)."""
    if view != "step_within_1":
        return np.eye(width)
    near: Floats = np.eye(width) + np.eye(width, k=1) + np.eye(width, k=-1)
    near[0, 1:] = near[1:, 0] = 0.0  # accepting is not "one step before step 0"
    return near


def _shares(counts: Floats) -> Floats:
    result: Floats = counts / counts.sum(axis=1, keepdims=True)
    return result
