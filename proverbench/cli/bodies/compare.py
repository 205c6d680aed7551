"""What `proverbench compare` does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from proverbench.benchmark import benchmark_of
from proverbench.cli.bodies.correct import calibration_warnings, open_calibration
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.streams import echo, echo_json
from proverbench.cli.tables import ValueCell, console, ends, number, p_text, plain, show, table
from proverbench.errors import RunMismatchError, UserInputError
from proverbench.metrics.comparison import ALPHA, compare_runs
from proverbench.metrics.correction import UncorrectableError, compare_by_calibration, compare_by_labels
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.shown import footnotes
from proverbench.people.labels import read_labels
from proverbench.records import Task
from proverbench.run.comparability import Difference, Side, common_headlines, comparable, differences, doubts, of_weight
from proverbench.run.looks import looked_at
from proverbench.run.manifest import MANIFEST
from proverbench.run.saved import SavedRun, open_runs
from proverbench.run.study import CALIBRATION, cells_of, expanded, is_study


def compare(
    runs: tuple[Path, ...],
    split: str,
    metrics: tuple[str, ...],
    all_metrics: bool,
    repeats: int | None,
    calibration: Path | None,
    calibration_split: str,
    label_files: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Compare runs, and print their differences."""
    study = runs[0] if len(runs) == 1 and is_study(runs[0]) else None
    options = _Options(split, metrics, all_metrics, repeats, calibration, calibration_split, label_files)
    if study is None:
        answer = _compare(expanded(runs), options, shown=not as_json)
    else:
        answer = _compare_study(study, options, shown=not as_json)
    if as_json:
        echo_json(answer)
    return EXIT_COMPLETE


@dataclass(frozen=True)
class _Options:
    """How runs are to be compared, as the command's options say."""

    split: str
    metrics: tuple[str, ...]
    all_metrics: bool
    repeats: int | None
    calibration: Path | None
    calibration_split: str
    label_files: Sequence[Path]


def _compare_study(study: Path, options: _Options, *, shown: bool) -> dict[str, Any]:
    """Under each judge of a study, its policies; returns judge → what :func:`_compare` gives."""
    if options.label_files:
        raise UserInputError("--labels are of one run's proofs; compare the runs of one judge: RUN RUN…")
    judges: dict[str, list[Path]] = {}
    for cell in cells_of(study):
        if cell.policy is not None:
            judges.setdefault(cell.judge, []).append(cell.path)
    found = {}
    for judge, paths in sorted(judges.items()):
        if len(paths) < 2:
            continue
        if shown:
            echo(f"under judge {judge}:")
        measured = study / CALIBRATION / judge
        there = options.calibration or (measured if (measured / MANIFEST).is_file() else None)
        try:
            found[judge] = _compare(paths, replace(options, calibration=there), shown=shown)
        except RunMismatchError as exc:
            if options.calibration is not None or there is None:
                raise
            found[judge] = _compare(paths, options, shown=shown)
            found[judge]["calibration"] = {"refused": str(exc)}
            if shown:
                echo(f"not corrected: {exc}")
    if not found:
        raise RunMismatchError(f"{study} has no judge with two policies to compare")
    return {"study": str(study), "judges": found}


def _compare(runs: Sequence[Path], options: _Options, *, shown: bool) -> dict[str, Any]:
    """Compare runs; shows the result, or returns it.

    Raises:
        RunMismatchError: If they cannot be compared.
        UserInputError: If an option does not fit them.
    """
    split, metrics, all_metrics, repeats = options.split, options.metrics, options.all_metrics, options.repeats
    calibration, calibration_split, label_files = options.calibration, options.calibration_split, options.label_files
    if len(runs) < 2:
        raise UserInputError("compare needs at least two runs: proverbench compare RUN RUN…")
    opened = open_runs(runs, split=split)
    manifests = {run.name: run.manifest for run in opened}
    found = differences(manifests)
    if repeats is not None:
        found = _at_common_repeats(opened, found, repeats)
    refused = of_weight(found, "refuses")
    if refused:
        raise RunMismatchError.of([_refusal(difference, opened) for difference in refused])
    task = opened[0].task
    meta = all(run.manifest.extent.meta for run in opened)
    of_task = metrics_of(task, meta=meta)
    known = [name for name, metric in of_task.items() if repeats is None or metric.at_fewer_repeats]
    unknown = [metric for metric in metrics if metric not in known]
    if unknown:
        raise UserInputError(f"--metric {unknown[0]}: not a metric of all these runs; there are {', '.join(known)}")
    headlines = [name for name in common_headlines(manifests) if name in known]
    wanted = comparable(metrics or (known if all_metrics else headlines), found, task)
    if dropped := [metric for metric in metrics if metric not in wanted]:
        raise RunMismatchError(f"--metric {dropped[0]} cannot be compared between runs of different --samples")
    looks = {run.name: run.folder.looks for run in opened}
    alpha = min(found_of.level for found_of in looks.values())
    try:
        result = compare_runs(
            {run.name: run.arrays if repeats is None else run.arrays.at_repeats(repeats) for run in opened},
            metrics=wanted,
            meta=meta,
            alpha=alpha,
        )
    except ValueError as exc:
        raise RunMismatchError(f"cannot be compared: {exc}") from exc
    corrected = _corrected(opened, calibration, calibration_split, label_files, alpha)
    result |= {"looks": {name: look._asdict() for name, look in looks.items()}, "alpha": alpha}
    sides = {run.name: Side(run.manifest, run.summary, run.folder.rows()) for run in opened}
    warnings = doubts(sides, found, split)
    compared = [
        {"aspect": difference.aspect, "values": dict(difference.values)} for difference in of_weight(found, "compared")
    ]
    if not shown:
        answer = {"task": task, "split": split, "repeats": repeats, "differs": compared, "warnings": warnings, **result}
        return answer | corrected
    if shown:
        _show(task, split, compared, warnings + corrected.get("calibration", {}).get("warnings", []), result)
        _show_corrected(corrected, several=len(opened) > 2, grown=alpha < ALPHA)
        for sentence in looked_at(looks):
            console().print(plain(f"{sentence}."))
    return {}


def _corrected(
    runs: Sequence[SavedRun], calibration: Path | None, split: str, files: Sequence[Path], alpha: float
) -> dict[str, dict[str, Any]]:
    """Differences of corrected scores, by ``calibration`` and ``labels``, as far as those are given.

    Raises:
        RunMismatchError: If the runs are no ProverBench runs of one R, or cannot be corrected.
    """
    if calibration is None and not files:
        return {}
    if benchmark_of(runs[0].task).labelled:
        raise RunMismatchError("only ProverBench runs are corrected; these are VerifierBench")
    if len({run.arrays.repeats for run in runs}) > 1:
        raise RunMismatchError("runs of different --verifier-repeats have different acceptance rules to correct")
    if files and len(files) != len(runs):
        raise UserInputError(
            f"--labels: {len(files)} given for {len(runs)} runs; give one FILE for each, in their order"
        )
    arrays = {run.name: run.arrays for run in runs}
    found: dict[str, dict[str, Any]] = {}
    try:
        if calibration is not None:
            judge = open_calibration(calibration, split, runs)
            pairs = compare_by_calibration(arrays, judge.arrays, alpha=alpha)
            found["calibration"] = {"run": judge.name, "pairs": pairs, "warnings": calibration_warnings(runs, judge)}
        if files:
            read = {run.name: read_labels(file, run.folder) for run, file in zip(runs, files, strict=True)}
            labels = {name: labels.labelled().of(arrays[name]) for name, labels in read.items()}
            remarks = [f"{name}: {remark}" for name, labels in read.items() for remark in labels.remarks()]
            found["labels"] = {"pairs": compare_by_labels(arrays, labels, alpha=alpha), "remarks": remarks}
    except UncorrectableError as exc:
        raise RunMismatchError(f"cannot be corrected: {exc}") from exc
    return found


def _at_common_repeats(runs: Sequence[SavedRun], found: Sequence[Difference], repeats: int) -> list[Difference]:
    """The differences of runs at an R that they have in common: other repeats are no reason to refuse them then.

    Raises:
        UserInputError: If a run has fewer judgments, or its scores do not depend on how many there are.
    """
    if not benchmark_of(runs[0].task).samples:
        raise UserInputError("--repeats: VerifierBench scores are means over judgments, whatever R is; leave it out")
    lacking = [run for run in runs if run.manifest.extent.verifier_repeats < repeats]
    if lacking:
        has = ", ".join(f"{run.name} has {run.manifest.extent.verifier_repeats}" for run in lacking)
        raise UserInputError(f"--repeats {repeats}: not so many judgments were asked: {has}")
    why = f"compared at r = {repeats}, the exact mean over all subsets of so many judgments"
    return [
        replace(difference, weight="compared", why=why) if difference.aspect == "repeats" else difference
        for difference in found
    ]


def _refusal(difference: Difference, runs: Sequence[SavedRun]) -> str:
    common = min(run.manifest.extent.verifier_repeats for run in runs)
    offer = f", or compare them at the R that all have: --repeats {common}" if difference.aspect == "repeats" else ""
    return f"cannot be compared: {difference}{offer}"


def _show(
    task: Task,
    split: str,
    compared: Sequence[Mapping[str, Any]],
    warnings: Sequence[str],
    result: Mapping[str, Any],
) -> None:
    out = console()
    benchmark = benchmark_of(task)
    proofs = f", {next(iter(result['proofs'].values()))} proofs" if benchmark.labelled else ""
    out.print(
        plain(f"{benchmark.name}, split {split}, {result['problems']} problems{proofs} in common"),
        style="bold",
    )
    lost = ", ".join(f"{name} {count}" for name, count in result["left_out"].items() if count)
    if lost:
        out.print(plain(f"left out, because another run lacks them: {lost}"))
    for difference in compared:
        values = "; ".join(f"{name}: {value}" for name, value in difference["values"].items())
        out.print(plain(f"what differs: {difference['aspect']} ({values})"))
    for warning in warnings:
        out.print(plain(f"warning: {warning}"), style="yellow")
    if result["undefined"]:
        out.print(plain(f"undefined here, because a class of proofs is absent: {', '.join(result['undefined'])}"))
    out.print()
    several = len(result["proofs"]) > 2
    _show_pairs(out, "Differences", result["pairs"], several=several, grown=result["alpha"] < ALPHA)
    if several:
        ranks = table("Ranks that the shown differences allow", "metric", "run", "value", "rank")
        for row in result["ranks"]:
            rank = f"{row['best']}" if row["best"] == row["worst"] else f"{row['best']} to {row['worst']}"
            ranks.add_row(row["metric"], row["run"], number(row["value"]), rank)
        show(out, ranks)
    for footnote in footnotes((row["metric"], row["interval"]) for row in result["pairs"]):
        out.print(footnote)


def _show_pairs(out: Console, what: str, rows: Sequence[Mapping[str, Any]], *, several: bool, grown: bool) -> None:
    """Pairs of runs with the intervals that agree with their verdicts."""
    level = max((row["step_interval"]["level"] for row in rows), default=0.95)
    intervals = "intervals that hold for all pairs together" if several else f"{100 * level:.4g} % intervals"
    shown = table(f"{what}, first minus second, with {intervals}", "metric", "first", "second", "difference", "p")
    if several:
        shown.add_column("p (Holm)", justify="right")
    if grown:
        shown.add_column("95 %, one look")
    shown.add_column("")
    for row in rows:
        cells = [
            row["metric"],
            f"{row['first']} {number(row['first_value'])}",
            f"{row['second']} {number(row['second_value'])}",
            ValueCell(f"{row['difference']:+.3f}", ends(row["step_interval"])),
            p_text(row["p"]),
        ]
        cells += [p_text(row["p_holm"])] if several else []
        cells += [ends(row["interval"])] if grown else []
        shown.add_row(*cells, row["verdict"])
    show(out, shown)


def _show_corrected(corrected: Mapping[str, Mapping[str, Any]], *, several: bool, grown: bool) -> None:
    out = console()
    for by, found in corrected.items():
        _show_pairs(out, f"Corrected by {found.get('run', by)}", found["pairs"], several=several, grown=grown)
        if by == "calibration":
            out.print("This assumes that the judge errs on these runs' proofs as on the calibration's.")
        for remark in found.get("remarks", ()):
            out.print(plain(f"{remark}."))
