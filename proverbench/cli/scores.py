"""The scores of a run as a terminal shows them."""

from pathlib import Path

from proverbench.cli.common import OutputError, discard_unwritten, say
from proverbench.metrics.shown import footnotes, shown_interval
from proverbench.records import Summary

_COUNTS = {"problems", "proofs", "correct_proofs", "incorrect_proofs"}


def print_scores(summary: Summary, path: Path) -> bool:
    """Scores with intervals, what is missing or invalid, warnings, and where everything is; on stdout.

    Returns:
        Whether all could be printed. A reader who left does not count as a fault: the work before is done either way.
    """
    try:
        _print(summary, path)
    except OutputError as exc:
        discard_unwritten()
        if not exc.reader_left:
            say(f"error: cannot print the scores: {exc.reason}; they are saved in {path}")
        return exc.reader_left
    return True


def _print(summary: Summary, path: Path) -> None:
    from rich.table import Table

    from proverbench.cli.tables import console as console_for_results

    console = console_for_results()
    shown = {name: split for name, split in summary.splits.items() if split.selected_rows or name == "all"}
    title = "ProverBench" if summary.task == "prover" else "VerifierBench"
    console.print(f"{title}  (scores 0-1, [95 % interval])", style="italic")
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in shown:
        table.add_column(name, justify="right")
    table.add_row("records", *(f"{s.completed_records}/{s.expected_records}" for s in shown.values()))
    metrics = dict.fromkeys(metric for split in shown.values() for metric in split.metrics or ())
    for metric in metrics:
        table.add_row(metric, *(_cell(split.metrics, split.intervals, metric) for split in shown.values()))
    console.print(table)
    if not summary.splits["all"].selected_rows:
        console.print(
            "This shard has no problems: there is nothing to ask. `proverbench merge` works with it or without."
        )
    elif any(split.metrics is None for split in shown.values()):
        console.print("A split has scores only when all its records are complete.")
    for footnote in footnotes(interval for split in shown.values() for interval in (split.intervals or {}).values()):
        console.print(footnote)
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
    ends = shown_interval((intervals or {}).get(metric))
    if ends is None:
        return f"{value:.3f}"
    return f"{value:.3f} [{ends.low:.3f}, {ends.high:.3f}]{ends.mark}"
