"""The scores of a run as a terminal shows them."""

import sys
from pathlib import Path

from proverbench.records import Summary

_COUNTS = {"problems", "proofs", "correct_proofs", "incorrect_proofs"}


def print_scores(summary: Summary, path: Path) -> None:
    """Scores with intervals, what is missing or invalid, warnings, and where everything is; on stdout."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    shown = {name: split for name, split in summary.splits.items() if split.selected_rows or name == "all"}
    title = "ProverBench" if summary.task == "prover" else "VerifierBench"
    table = Table(title=f"{title}  (scores 0-1, [95 % interval])", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for name in shown:
        table.add_column(name, justify="right")
    table.add_row("records", *(f"{s.completed_records}/{s.expected_records}" for s in shown.values()))
    metrics = dict.fromkeys(metric for split in shown.values() for metric in split.metrics or ())
    for metric in metrics:
        table.add_row(metric, *(_cell(split.metrics, split.intervals, metric) for split in shown.values()))
    console.print(table)
    if any(split.metrics is None for split in shown.values()):
        console.print("A split has scores only when all its records are complete.")
    if any(interval.get("unreliable") for split in shown.values() for interval in (split.intervals or {}).values()):
        console.print(
            "* few problems, or all or none succeed: read the interval under `wilson` in summary.json instead"
        )
    for role, reasons in summary.invalid.items():
        if reasons:
            console.print(f"invalid, {role}: " + ", ".join(f"{reason} {n}" for reason, n in reasons.items()))
    if summary.closed_unanswered:
        console.print(f"{summary.closed_unanswered} unanswered calls were closed as zero credit (--final)")
    for warning in summary.warnings:
        console.print(f"note: {warning}")
    console.print(f"saved in {path}: summary.json, records.jsonl, calls.jsonl, timing.json", soft_wrap=True)


def _cell(
    metrics: dict[str, float | int | None] | None, intervals: dict[str, dict[str, object]] | None, metric: str
) -> str:
    if metrics is None:
        return "incomplete"
    value = metrics.get(metric)
    if value is None:
        return "-"
    if metric in _COUNTS:
        return str(value)
    interval = (intervals or {}).get(metric)
    if interval is None or interval.get("low") is None:
        return f"{value:.3f}"
    mark = "*" if interval.get("unreliable") else ""
    return f"{value:.3f} [{interval['low']:.3f}, {interval['high']:.3f}]{mark}"
