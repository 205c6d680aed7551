"""What `proverbench analyse` does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from proverbench.benchmark import BENCHMARKS, benchmark_of
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.streams import echo_json
from proverbench.cli.tables import console, ends, number, plain, show, table, with_ends
from proverbench.errors import UserInputError
from proverbench.metrics.agreement import human_agreement, panel_agreement, repeat_agreement, step_confusion
from proverbench.metrics.breakdown import FACTORS, breakdown
from proverbench.metrics.shown import footnotes, named_intervals
from proverbench.metrics.voting import SEED, best_threshold, pass_at_k, voting_curve
from proverbench.people.agreeing import annotator_agreement
from proverbench.people.labels import read_labels
from proverbench.run.boards import Entry, boards_of
from proverbench.run.rereading import accepting_from_grade
from proverbench.run.saved import SavedRun, call_cost, open_runs
from proverbench.run.study import cells_of, expanded, is_study

ACCEPTANCE = ("pessimistic", "pass_any_sample", "rough_accuracy", "rough_tpr", "rough_tnr", "rough_bal_f1")
"""Scores that another threshold of acceptance changes."""
MOST_STEPS = 8
"""Larger steps are shown together in the confusion table; --json has them all."""


def analyse(
    runs: tuple[Path, ...],
    split: str,
    factors: tuple[str, ...],
    ks: tuple[int, ...],
    seed: int | None,
    labels: Path | None,
    thresholds: tuple[float, ...],
    as_json: bool,
) -> int:
    """Print voting rules, agreement and breakdowns of runs."""
    studies = [run for run in runs if is_study(run)]
    runs = tuple(expanded(runs))
    unknown = [factor for factor in factors if factor not in FACTORS]
    if unknown:
        raise UserInputError(f"--by {unknown[0]}: no such factor; use {', '.join(FACTORS)}")
    opened = open_runs(runs, split=split)
    folds = SEED if seed is None else seed
    found: dict[str, Any] = {
        "split": split,
        "seed": folds,
        "runs": {run.name: _analyse(run, factors or FACTORS, ks or None, folds) for run in opened},
        "panels": [panel for group in _judged_alike(opened, studies) for panel in _panels(group)],
        "notes": _notes(opened),
    }
    if thresholds:
        for run in opened:
            found["runs"][run.name]["accept_from"] = _thresholds(run, thresholds, split)
    if labels is not None:
        found["labels"] = _labels(opened, labels)
    if as_json:
        echo_json(found)
    else:
        _show(found)
    return EXIT_COMPLETE


def _labels(opened: Sequence[SavedRun], path: Path) -> dict[str, Any]:
    if len(opened) > 1:
        raise UserInputError("--labels are of one run's proofs; give one RUN")
    read = read_labels(path, opened[0].folder)
    return annotator_agreement(read) | {"remarks": read.remarks()}


def _analyse(run: SavedRun, factors: Sequence[str], ks: Sequence[int] | None, seed: int) -> dict[str, Any]:
    arrays, meta = run.arrays, run.manifest.extent.meta
    cost = call_cost(run.folder)
    found: dict[str, Any] = {
        "task": run.task,
        "problems": len(arrays.problems),
        "proofs": len(arrays.keys),
        "repeats": arrays.repeats,
        "cost_unit": None if cost is None else cost.unit,
        "voting": voting_curve(arrays, cost=cost),
    }
    if benchmark_of(run.task).samples:
        found["samples"] = arrays.samples
        found["pass_at_k"] = pass_at_k(arrays, ks)
    else:
        found["threshold"] = best_threshold(arrays, seed=seed)
        found["human_agreement"] = human_agreement(arrays)
        found["confusion"] = step_confusion(arrays)
    found["repeat_agreement"] = repeat_agreement(arrays) if arrays.repeats > 1 else []
    wanted = [factor for factor in factors if benchmark_of(run.task).labelled or factor != "severity"]
    found["breakdown"] = [row for factor in wanted for row in breakdown(arrays, factor, meta=meta)]
    return found


def _thresholds(run: SavedRun, wanted: Sequence[float], split: str) -> list[dict[str, Any]]:
    """The scores that depend on what accepts, under other thresholds; the run's own is among them."""
    protocol = run.folder.sources.reader.protocol
    if protocol.accept_from is None or protocol.max_grade is None:
        raise UserInputError(f"--accept-from: {run.name} was judged under {protocol.name!r}, which gives no grades")
    for grade in wanted:
        if not 0 <= grade <= protocol.max_grade:
            raise UserInputError(
                f"--accept-from {grade:g}: grades of {protocol.name!r} are 0 to {protocol.max_grade:g}"
            )
    rows = []
    for grade in sorted({*wanted, protocol.accept_from}):
        part = accepting_from_grade(run.path, grade).splits[split]
        names = [name for name in ACCEPTANCE if name in (part.metrics or {})]
        rows.append(
            {
                "from": grade,
                "own": grade == protocol.accept_from,
                "metrics": {name: (part.metrics or {})[name] for name in names},
                "intervals": {name: (part.intervals or {}).get(name) for name in names},
            }
        )
    return rows


def _notes(runs: Sequence[SavedRun]) -> list[str]:
    """What must be said of several runs whose figures stand below one another."""
    if len(runs) < 2:
        return []
    entries = {run.name: Entry(run.manifest, run.summary, run.folder.rows(), run.arrays) for run in runs}
    boards = boards_of(entries)
    tasks = dict.fromkeys(run.task for run in runs)
    apart = [sentence for task in tasks for sentence in boards.sentences(task)]
    return [*apart, *(note for board in boards.boards for note in board.notes)]


def _judged_alike(runs: Sequence[SavedRun], studies: Sequence[Path]) -> list[list[SavedRun]]:
    """Runs that may have judged the same proofs: those of one policy of a study together, and all others."""
    policies = {cell.path: (study, cell.policy) for study in studies for cell in cells_of(study)}
    groups: dict[object, list[SavedRun]] = {}
    for run in runs:
        groups.setdefault(policies.get(run.path), []).append(run)
    return list(groups.values())


def _panels(runs: Sequence[SavedRun]) -> list[dict[str, Any]]:
    """For each task with several runs: their agreement, or why there is none."""
    found = []
    for task in BENCHMARKS:
        judges = {run.name: run.arrays for run in runs if run.task == task}
        if len(judges) < 2:
            continue
        panel: dict[str, Any] = {"task": task, "runs": list(judges)}
        try:
            panel |= panel_agreement(judges)
        except ValueError as exc:
            panel["reason"] = str(exc)
        found.append(panel)
    return found


def _show(found: dict[str, Any]) -> None:
    out = console()
    for note in found["notes"]:
        out.print(plain(f"note: {note}"))
    for name, run in found["runs"].items():
        size = f"{run['problems']} problems, {run['proofs']} proofs, {run['repeats']} repeats"
        out.print(plain(f"{name}: {benchmark_of(run['task']).name}, split {found['split']}, {size}"), style="bold")
        out.print()
        _show_thresholds(out, run)
        _show_voting(out, run)
        _show_pass(out, run)
        _show_threshold(out, run)
        _show_agreement(out, "Agreement between repeats", run["repeat_agreement"])
        _show_agreement(out, "Agreement with people", run.get("human_agreement", []))
        _show_confusion(out, run)
        _show_breakdown(out, run)
    if "labels" in found:
        counts = ", ".join(f"{name or '(no name)'} {count}" for name, count in found["labels"]["annotators"].items())
        out.print(plain(f"Labels by {counts}"), style="bold")
        _show_agreement(out, "Agreement between annotators", found["labels"]["agreement"])
        for remark in found["labels"]["remarks"]:
            out.print(plain(f"{remark[0].upper()}{remark[1:]}."))
    for panel in found["panels"]:
        out.print(plain(f"Judges of the same proofs: {', '.join(panel['runs'])}"), style="bold")
        if "reason" in panel:
            out.print(plain(f"  {panel['reason']}"))
            continue
        lost = ", ".join(f"{name} {count}" for name, count in panel["left_out"].items() if count)
        out.print(plain(f"  {panel['proofs']} proofs in common" + (f"; left out: {lost}" if lost else "")))
        _show_agreement(out, "Pairs", panel["pairs"])
        if len(panel["runs"]) > 2:
            _show_agreement(out, "All judges as a panel", panel["panel"])
    out.print(
        "\n".join(["Values with 95 % intervals over problems (docs/metrics.md).", *footnotes(named_intervals(found))])
    )


def _show_thresholds(out: Console, run: dict[str, Any]) -> None:
    rows = run.get("accept_from")
    if rows is None:
        return
    names = list(rows[0]["metrics"])
    shown = table("If proofs were accepted from another grade", "from", *names)
    for row in rows:
        cells = [with_ends(row["metrics"][name], row["intervals"][name]) for name in names]
        shown.add_row(f"{row['from']:g}{' (the run)' if row['own'] else ''}", *cells)
    show(out, shown)


def _show_voting(out: Console, run: dict[str, Any]) -> None:
    metrics = list(dict.fromkeys(row["metric"] for row in run["voting"]))
    unit = run["cost_unit"]
    by_rule: dict[tuple[int, int], dict[str, Any]] = {}
    for row in run["voting"]:
        by_rule.setdefault((row["r"], row["k"]), {})[row["metric"]] = row
    more = f" (all {len(by_rule)} rules: --json)" if len(by_rule) > 3 else ""
    title = f"Voting: at least k of r judgments accept{more}"
    shown = table(title, "rule", "r", "k", *metrics, *([unit] if unit else []))
    for rule in ("pessimistic", "majority"):
        for (r, k), rows in by_rule.items():
            first = rows[metrics[0]]
            if rule in first["rules"]:
                cells = [with_ends(rows[name]["value"], rows[name]["interval"]) for name in metrics]
                spent = [f"{first['cost']:,.4g}" if unit == "USD" else number(first["cost"], 0)] if unit else []
                shown.add_row(rule, str(r), str(k), *cells, *spent)
    show(out, shown)


def _show_pass(out: Console, run: dict[str, Any]) -> None:
    if not run.get("pass_at_k"):
        return
    shown = table("Unbiased pass@k, all R judgments accepting", "k", "pass@k")
    for row in run["pass_at_k"]:
        shown.add_row(str(row["k"]), row.get("reason") or with_ends(row["value"], row["interval"]))
    show(out, shown)


def _show_threshold(out: Console, run: dict[str, Any]) -> None:
    found = run.get("threshold")
    if found is None or run["repeats"] < 2:
        return
    out.print("Best threshold, chosen on other folds than it is reported on", style="bold")
    if found["value"] is None:
        out.print(f"  none: {found['reason']}")
    else:
        out.print(
            f"  k = {found['k']} of {found['r']} (by fold: {', '.join(map(str, found['chosen']))}): bal_f1 "
            f"{number(found['value'])} {ends(found['interval'])}, in sample {number(found['in_sample'])}",
            markup=False,
        )
        out.print(
            f"  majority {number(found['majority'])}, pessimistic {number(found['pessimistic'])}; gain over majority "
            f"{found['gain']:+.3f} {ends(found['gain_interval'])}",
            markup=False,
        )
    out.print()


def _show_agreement(out: Console, title: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    pairs = "first" in rows[0]
    names = {"accept": "accept", "step": "step", "step_within_1": "step ±1"}
    there = [view for view in names if any(row["on"] == view for row in rows)]
    columns = (*(("judges",) if pairs else ()), "measure", *(names[view] for view in there), "proofs", "left out")
    shown = table(title, *columns)
    cells: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in rows:
        who = (f"{row['first']} / {row['second']}",) if pairs else ()
        cells.setdefault((*who, row["measure"]), {})[row["on"]] = row
    for key, views in cells.items():
        first = next(iter(views.values()))
        values = [with_ends(views[view]["value"], views[view]["interval"]) if view in views else "" for view in views]
        shown.add_row(*(plain(part) for part in key), *values, str(first["n"]), str(first["left_out"]))
    show(out, shown)


def _show_confusion(out: Console, run: dict[str, Any]) -> None:
    confusion = run.get("confusion")
    if confusion is None:
        return
    names, columns, counts = _collapsed(confusion)
    shown = table("Judgments: annotated first-error step (rows) against reported", "annotated", *columns)
    for name, row in zip(names, counts, strict=True):
        shown.add_row(name, *(str(count) if count else "·" for count in row))
    show(out, shown)


def _collapsed(confusion: dict[str, Any]) -> tuple[list[str], list[str], list[list[int]]]:
    """The confusion table with steps from MOST_STEPS on taken together."""
    kept = MOST_STEPS + 1  # -1, 0, …, MOST_STEPS-1
    counts = [list(row) for row in confusion["counts"]]
    rows, columns = list(confusion["annotated"]), list(confusion["reported"])
    if len(columns) > kept + 2:
        counts = [[*row[:kept], sum(row[kept:-1]), row[-1]] for row in counts]
        columns = [*columns[:kept], f"{MOST_STEPS}+", columns[-1]]
    if len(rows) > kept + 1:
        counts = [*counts[:kept], [sum(column) for column in zip(*counts[kept:], strict=True)]]
        rows = [*rows[:kept], f"{MOST_STEPS}+"]
    names = {"-1": "-1 (correct)"}
    return [names.get(name, name) for name in rows], columns, counts


def _show_breakdown(out: Console, run: dict[str, Any]) -> None:
    metrics: tuple[str, ...] = ("pessimistic", "verifier_valid_rate")
    if benchmark_of(run["task"]).labelled:
        metrics = ("rough_tpr", "rough_tnr", "first_error_step_accuracy")
    groups: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for row in run["breakdown"]:
        groups.setdefault(row["by"], {}).setdefault(row["group"], {})[row["metric"]] = row
    there = {row["metric"] for row in run["breakdown"] if row["value"] is not None}
    metrics = tuple(metric for metric in metrics if metric in there or metric != "first_error_step_accuracy")
    headings = ["first_error_step" if metric == "first_error_step_accuracy" else metric for metric in metrics]
    few = False
    for by, found in groups.items():
        if len(found) < 2:
            continue
        shown = table(f"By {by}", "group", "proofs", "problems", *headings)
        for group, rows in found.items():
            first = next(iter(rows.values()))
            values = []
            for metric in metrics:
                row = rows.get(metric, {"value": None, "interval": None})
                few = few or "note" in row
                values.append(
                    f"{number(row['value'])} (few)" if "note" in row else with_ends(row["value"], row["interval"])
                )
            shown.add_row(plain(group), str(first["proofs"]), str(first["problems"]), *values)
        show(out, shown)
    if few:
        out.print("(few): fewer than 10 problems count; nothing can be concluded")
        out.print()
