"""What `proverbench correct` does."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from proverbench.benchmark import benchmark_of
from proverbench.cli.calibrating import command_for_run
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.matrix import show_study
from proverbench.cli.streams import echo_json
from proverbench.cli.tables import console, number, p_text, plain, show, table, with_ends
from proverbench.errors import RunMismatchError, UserInputError
from proverbench.metrics.correction import (
    UncorrectableError,
    as_judged,
    correct_by_calibration,
    correct_by_labels,
    headline,
    shift_test,
)
from proverbench.metrics.shown import footnotes, named_intervals
from proverbench.people.labels import read_labels
from proverbench.run.comparability import calibration_doubts, calibration_faults
from proverbench.run.inputs import INPUTS
from proverbench.run.saved import SavedRun, open_runs
from proverbench.run.study import is_study


def correct(
    run: Path,
    calibration: Path | None,
    labels: Path | None,
    split: str,
    calibration_split: str,
    as_json: bool,
) -> int:
    """Correct a run's score, and print what is left of it."""
    if is_study(run):
        if calibration is not None or labels is not None:
            raise UserInputError("a study has its own calibrations; for others, or labels, give one of its runs")
        show_study(run, split=split, as_json=as_json)
        return EXIT_COMPLETE
    if calibration is None and labels is None:
        raise UserInputError("give --calibration VERIFIERBENCH_RUN or --labels FILE (or both)")
    (ours,) = open_runs([run], split=split)
    if benchmark_of(ours.task).labelled:
        raise RunMismatchError(f"{run}: only a ProverBench run is corrected; this one is VerifierBench")
    judge = None if calibration is None else open_calibration(calibration, calibration_split, [ours])
    found: dict[str, Any] = {"run": ours.name, "split": split, "repeats": ours.arrays.repeats}
    looks = ours.folder.looks
    found["looks"] = looks._asdict()
    found["as_judged"] = as_judged(ours.arrays)
    found["warnings"] = [] if judge is None else calibration_warnings([ours], judge)
    try:
        given = None
        if labels is not None:
            read = read_labels(labels, ours.folder)
            given = read.labelled().of(ours.arrays)
            found["labels"] = correct_by_labels(ours.arrays, given)
            found["label_remarks"] = read.remarks()
        if judge is not None:
            found["calibration"] = {"run": judge.name}
            try:
                found["calibration"] |= correct_by_calibration(ours.arrays, judge.arrays)
            except UncorrectableError as exc:
                if given is None:
                    raise
                found["calibration"]["refused"] = str(exc)
            if given is not None:
                found["shift"] = shift_test(ours.arrays, judge.arrays, given, alpha=looks.level)
    except UncorrectableError as exc:
        raise RunMismatchError(f"{run} cannot be corrected: {exc}") from exc
    found["headline"] = headline(
        calibrated="value" in found.get("calibration", {}), labelled=found.get("labels", {}).get("labelled", 0)
    )
    if as_json:
        echo_json(found)
    else:
        _show(found, run)
    return EXIT_COMPLETE


def open_calibration(path: Path, split: str, runs: Sequence[SavedRun]) -> SavedRun:
    """A VerifierBench run that measures the judge of all these runs.

    Raises:
        RunMismatchError: If it does not, with the command that makes one that would.
    """
    (judge,) = open_runs([path], split=split)
    for run in runs:
        faults = calibration_faults(run.manifest, judge.manifest)
        if faults:
            told = [f"{path} does not measure the judge of {run.path}: {fault}" for fault in faults]
            raise RunMismatchError.of([*told, f"what would: {_fitting(run, judge)}"])
    return judge


def calibration_warnings(runs: Sequence[SavedRun], judge: SavedRun) -> list[str]:
    """What makes a calibration of these runs doubtful, a sentence each."""
    return [f"{run.name}: {doubt}" for run in runs for doubt in calibration_doubts(run.manifest, judge.manifest)]


def _fitting(run: SavedRun, calibration: SavedRun) -> str:
    """The command that makes a calibration for a run."""
    data = calibration.path / INPUTS if benchmark_of(calibration.task).labelled else None
    model = run.manifest.identity.roles["verifier"].model
    command = command_for_run(run.path, run.manifest, data=data)
    return f"{command}   with the [verifier] of this run in CONFIG.toml: {model}"


def _show(found: dict[str, Any], run: Path) -> None:
    out = console()
    for warning in found["warnings"]:
        out.print(plain(f"warning: {warning}"), style="yellow")
    title = f"{found['run']}, split {found['split']}: pessimistic, corrected for the judge's error"
    shown = table(title, "", "score, 95 % interval", "")
    shown.add_row("as judged", with_ends(found["as_judged"]["value"], found["as_judged"]["interval"]), "")
    labels, calibration = found.get("labels"), found.get("calibration", {})
    if labels is not None:
        which = "report this" if found["headline"] == "labels" else "a check: too few labels to report"
        shown.add_row(f"by {labels['labelled']} labels", with_ends(labels["value"], labels["interval"]), which)
    if "value" in calibration:
        which = "report this" if found["headline"] == "calibration" else "assumes the same errors"
        cell = with_ends(calibration["value"], calibration["interval"])
        shown.add_row(plain(f"calibrated by {calibration['run']}"), cell, which)
    if labels is not None and labels["labels_only"] is not None:
        only = labels["labels_only"]
        shown.add_row("labels alone", with_ends(only["value"], only["interval"]), "")
    show(out, shown)
    out.print("\n".join(_assumptions(found, run)))
    out.print()
    if "value" in calibration:
        rule = table(f"The rule: all {found['repeats']} judgments accept", "", "value", "problems")
        for name in ("sensitivity", "specificity", "youden"):
            part = calibration[name]
            shown_as = "their sum - 1" if name == "youden" else name
            rule.add_row(shown_as, with_ends(part["value"], part["interval"]), str(part["interval"]["n"]))
        show(out, rule)
    if "shift" in found:
        shift = table("Does the judge err here as it does there?", "", "here", "there", "difference", "p (Holm)")
        for row in found["shift"]["rows"]:
            difference = with_ends(row["difference"], row["interval"])
            here, there = number(row["here"]), number(row["calibration"])
            shift.add_row(row["metric"], here, there, difference, p_text(row["p_holm"]))
        show(out, shift)
    for remark in found.get("label_remarks", ()):
        out.print(plain(f"{remark[0].upper()}{remark[1:]}."))
    for footnote in footnotes(named_intervals(found)):
        out.print(footnote)


def _assumptions(found: dict[str, Any], run: Path) -> Iterator[str]:
    """What the estimates rest on, and what would make them firmer, a sentence a line."""
    labels, calibration = found.get("labels"), found.get("calibration", {})
    if "value" in calibration:
        yield "The calibrated score assumes that the judge errs on this run's proofs as on the calibration's."
        if calibration["clipped"]:
            yield "Its formula left the possible range and was cut: the rule's errors explain more than was seen."
    if "refused" in calibration:
        yield f"No calibrated score: {calibration['refused']}"
    if labels is not None:
        wrong, judged = labels["disagreements"], labels["labelled"] + labels["unlabelled"]
        yield (
            f"{labels['labelled']} of {judged} judged proofs are labelled; on them the judge accepted "
            f"{wrong['false_accepts']} incorrect and did not accept {wrong['false_rejects']} correct ones."
        )
        yield (
            "The score by labels is post-stratified by the judge's verdicts; it holds if the proofs were drawn at "
            "random, as the sheet draws them."
        )
        if "labels_only_reason" in labels:
            yield (
                f"It allows for how they were drawn: {labels['labels_only_reason']}. "
                "The plain mean of the labels would be wrong, so it is not given."
            )
    else:
        yield "Label 40 of its own proofs to check that:"
        yield f"  proverbench label {shlex.quote(str(run))} --choose 40"
    if found["looks"]["number"] > 1:
        look = found["looks"]["number"]
        yield f"This is look {look}: the run was grown after it was complete. The intervals are unadjusted."
    if "shift" in found:
        flagged = found["shift"]["flagged"]
        yield (
            "The judge errs differently here: the calibrated score does not hold."
            if flagged
            else "No difference of its errors is shown; the test is weak, so that does not mean that there is none."
        )
