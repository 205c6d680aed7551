"""The scores of a run as a terminal shows them."""

from collections.abc import Container, Mapping
from pathlib import Path

import msgspec
from rich.table import Table

from proverbench.benchmark import benchmark_of
from proverbench.cli.streams import OutputError, discard_unwritten, say
from proverbench.cli.tables import ValueCell, fits, table, with_ends
from proverbench.cli.tables import console as console_for_results
from proverbench.metrics.registry import unit_note
from proverbench.metrics.shown import split_footnotes
from proverbench.records import SplitSummary, Summary
from proverbench.run.folder import TIMING
from proverbench.run.looks import looks_in
from proverbench.run.manifest import read_manifest
from proverbench.run.provenance import provenance_words
from proverbench.run.remarks import remarks, shown_metrics
from proverbench.spending.money import used


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
    console, manifest = console_for_results(), read_manifest(path)
    shown = {name: split for name, split in summary.splits.items() if split.selected_rows or name == "all"}
    console.print(f"{benchmark_of(summary.task).name}  (shares from 0 to 1, [95 % interval])", style="italic")
    console.print(provenance_words(manifest))
    table = _table(shown, with_intervals=shown)
    narrow = not fits(console, table)
    units = unit_note(metric for split in shown.values() for metric in split.metrics or ())
    console.print(_table(shown, with_intervals=["all"]) if narrow else table)
    if units:
        console.print(f"Not shares: {units}.")
    if narrow:
        console.print("The other splits have intervals too: in summary.json, or in a wider terminal.")
    if not summary.splits["all"].selected_rows:
        console.print(
            "This shard has no problems: there is nothing to ask. `proverbench merge` works with it or without."
        )
    elif any(split.metrics is None for split in shown.values()):
        console.print("A split has scores only when all its records are complete.")
    explained = {"all": shown["all"]} if narrow else shown
    for footnote in split_footnotes({name: split.intervals for name, split in explained.items()}):
        console.print(footnote)
    for role, reasons in summary.invalid.items():
        if reasons:
            console.print(f"invalid, {role}: " + ", ".join(f"{reason} {n}" for reason, n in reasons.items()))
    if summary.closed_unanswered:
        console.print(f"{summary.closed_unanswered} unanswered calls were closed as zero credit (--final)")
    times = msgspec.json.decode((path / TIMING).read_bytes())
    for remark in remarks(manifest, summary, looks_in(times)):
        console.print(f"note: {remark}")
    if spent := used(summary.usage, times["roles"]):
        console.print(f"used {spent}")
    console.print(f"saved in {path}: summary.json, records.jsonl, calls.jsonl, timing.json", soft_wrap=True)


def _table(splits: Mapping[str, SplitSummary], *, with_intervals: Container[str]) -> Table:
    made = table("", "", *splits)
    made.title = None
    made.add_row("records", *(f"{split.completed_records}/{split.expected_records}" for split in splits.values()))
    for metric in dict.fromkeys(metric for split in splits.values() for metric in shown_metrics(split) or ()):
        made.add_row(metric, *(_cell(split, metric, name in with_intervals) for name, split in splits.items()))
    return made


def _cell(split: SplitSummary, metric: str, with_interval: bool) -> str | ValueCell:
    if split.metrics is None:
        return "incomplete"
    value = split.metrics.get(metric)
    if isinstance(value, int):  # a count
        return str(value)
    return with_ends(value, (split.intervals or {}).get(metric) if with_interval else None)
