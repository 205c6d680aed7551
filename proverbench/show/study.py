"""What a study says, as tables: the matrix, as judged and corrected, orders, panels, where judges cross, costs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from proverbench.errors import RunMismatchError
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.correction import UncorrectableError, correct_by_calibration
from proverbench.metrics.panel import crossed, panel_scores
from proverbench.records import PROTOCOL, Manifest, Summary
from proverbench.run.comparability import calibration_doubts, calibration_faults
from proverbench.run.saved import SavedRun, open_runs
from proverbench.run.study import CALIBRATION
from proverbench.show.matrix import EVERYTHING, Matrix, Scored, matrix_of


class Scores(NamedTuple):
    """What tables are made from, of a run whose split is complete."""

    manifest: Manifest
    arrays: JudgmentArrays
    """Of that split."""


def study_tables(study: Path, *, split: str = "all") -> dict[str, Any]:
    """Everything that is computed over a study's runs; incomplete ones are listed without scores.

    Args:
        study: Its folder.
        split: ``all`` or a domain.

    Returns:
        ``study``, ``split``; ``runs``: rows of ``policy``, ``judge``, ``run``, ``complete``, ``done``, ``wanted``,
        ``problems``, ``samples``, ``repeats``, ``metric``, ``value``, ``interval``, ``rank``, ``corrected``
        ({value, interval} or {refused}), ``cost_usd``, ``alone_usd`` (what it would have cost without the others);
        ``calibrations``: the same by ``judge``; ``orders``: Kendall's
        tau-b of each pair of judges; ``panels`` and ``crossed``: by policy, as of :mod:`proverbench.metrics.panel`;
        ``notes``.

    Raises:
        RunMismatchError: If no run is there.
        JournalError: If one is damaged.
    """
    matrix = matrix_of(study)
    if not matrix.runs and not matrix.calibrations:
        raise RunMismatchError(f"{study} is a study that has no run yet; start it with: proverbench study {study}")
    saved = _opened(matrix, split)
    try:
        opened = {name: Scores(run.manifest, run.arrays) for name, run in saved.items()}
        return {"study": str(study)} | _tables(matrix, opened, split)
    finally:
        for run in saved.values():
            run.folder.close()


def _tables(matrix: Matrix, opened: Mapping[str, Scores], split: str) -> dict[str, Any]:
    """All tables, from the runs that have scores, by name."""
    notes: list[str] = []
    found: dict[str, Any] = {"split": split, "runs": [], "calibrations": []}
    for (policy, judge), run in matrix.runs.items():
        row = {"policy": policy, "judge": judge, **_row(run, opened, split)}
        row["rank"] = matrix.ranks(judge).get(policy) if split == "all" else None
        row["corrected"] = _corrected(matrix, opened, policy, judge, notes)
        row["alone_usd"] = matrix.alone_usd(policy, judge)
        found["runs"].append(row)
    for judge, run in matrix.calibrations.items():
        found["calibrations"].append({"judge": judge, **_row(run, opened, split)})
    found["orders"] = [
        {"first": first, "second": second, "tau_b": tau, "policies": policies}
        for first, second, tau, policies in matrix.agreements()
    ]
    found["panels"], found["crossed"] = {}, {}
    for policy in matrix.policies:
        judges = {judge: opened[name].arrays for judge in matrix.judges if (name := f"{policy}--{judge}") in opened}
        if len(judges) < 2:
            continue
        try:
            found["crossed"][policy] = crossed(judges)
            if all(opened[f"{policy}--{judge}"].manifest.identity.protocol == PROTOCOL for judge in judges):
                found["panels"][policy] = panel_scores(judges)
        except ValueError as exc:
            notes.append(f"{policy}: no panel: {exc}")
    found["notes"] = list(dict.fromkeys(notes))
    return found


def study_head(study: Path, runs: Mapping[Path, tuple[Manifest, Summary, JudgmentArrays]]) -> dict[str, Any]:
    """The same for the page: without paths, and without the names of proofs, which it has already.

    Args:
        study: The folder.
        runs: Those that the page shows, read already, by folder.
    """
    matrix = matrix_of(study, {path: (manifest, summary) for path, (manifest, summary, _) in runs.items()})
    opened = {
        _name(path): Scores(manifest, arrays)
        for path, (manifest, summary, arrays) in runs.items()
        if _has_scores(summary, EVERYTHING)
    }
    found = _tables(matrix, opened, EVERYTHING)
    for row in [*found["runs"], *found["calibrations"]]:
        del row["run"]
    bare = {
        policy: [{name: value for name, value in row.items() if name != "keys"} for row in rows]
        for policy, rows in found["crossed"].items()
    }
    return found | {"crossed": bare}


def _opened(matrix: Matrix, split: str) -> dict[str, SavedRun]:
    """The complete runs, by name."""
    found = {}
    for run in [*matrix.runs.values(), *matrix.calibrations.values()]:
        if _has_scores(run.summary, split):
            (found[_name(run.path)],) = open_runs([run.path], split=split)
    return found


def _has_scores(summary: Summary, split: str) -> bool:
    part = summary.splits.get(split)
    return part is not None and part.complete and bool(part.selected_rows)


def _name(path: Path) -> str:
    """Of a run within its study."""
    return f"{CALIBRATION}/{path.name}" if path.parent.name == CALIBRATION else path.name


def _row(run: Scored, opened: Mapping[str, Scores], split: str) -> dict[str, Any]:
    extent, part = run.manifest.extent, run.summary.splits.get(split)
    complete = _name(run.path) in opened
    return {
        "run": str(run.path),
        "complete": complete,
        "done": 0 if part is None else part.completed_records,
        "wanted": 0 if part is None else part.expected_records,
        "rows": 0 if part is None else part.selected_rows,
        "samples": extent.samples,
        "repeats": extent.verifier_repeats,
        "metric": run.metric,
        "value": (part.metrics or {}).get(run.metric) if part is not None and complete else None,
        "interval": (part.intervals or {}).get(run.metric) if part is not None and complete else None,
        "cost_usd": run.cost_usd,
    }


def _corrected(
    matrix: Matrix, opened: Mapping[str, Scores], policy: str, judge: str, notes: list[str]
) -> dict[str, Any] | None:
    """A run's score, corrected by its judge's calibration; None where there is none."""
    run, calibration = opened.get(f"{policy}--{judge}"), matrix.calibrations.get(judge)
    measured = None if calibration is None else opened.get(_name(calibration.path))
    if run is None or measured is None:
        return None
    if faults := calibration_faults(run.manifest, measured.manifest):
        return {"refused": "; ".join(map(str, faults))}
    notes += [f"{judge}: {doubt}" for doubt in calibration_doubts(run.manifest, measured.manifest)]
    try:
        return correct_by_calibration(run.arrays, measured.arrays)
    except UncorrectableError as exc:
        return {"refused": str(exc)}
