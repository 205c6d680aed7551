"""`proverbench compare`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.streams import echo_json
from proverbench.records import Task


@click.command(cls=HandlesErrors, name="compare", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN…")
@click.option("--split", default="all", show_default=True, help="all, ugd, qe or another domain.")
@click.option(
    "--metric", "metrics", multiple=True, help="Compare this metric; may be repeated. [default: the main ones]"
)
@click.option("--all-metrics", is_flag=True, help="Compare every published metric.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    runs: tuple[Path, ...],
    split: str,
    metrics: tuple[str, ...],
    all_metrics: bool,
    as_json: bool,
) -> int:
    """Paired differences between saved RUNS of one benchmark, with intervals and p-values; calls nothing.

    Runs are compared on the problems (ProverBench) or proofs (VerifierBench) they have in common. What differs between
    them is named; what makes a comparison doubtful warns, what makes it meaningless is refused (docs/comparing.md).
    p-values are corrected for the number of pairs (Holm). "No difference shown" does not mean that there is none.
    """
    from proverbench.errors import RunMismatchError, UserInputError
    from proverbench.metrics.comparison import compare_runs
    from proverbench.metrics.registry import metrics_of
    from proverbench.run.comparability import Side, common_headlines, comparable, differences, doubts, of_weight
    from proverbench.run.saved import open_runs

    if len(runs) < 2:
        raise UserInputError("compare needs at least two runs: proverbench compare RUN RUN…")
    opened = open_runs(runs, split=split)
    manifests = {run.name: run.manifest for run in opened}
    found = differences(manifests)
    refused = of_weight(found, "refuses")
    if refused:
        raise RunMismatchError.of([f"cannot be compared: {difference}" for difference in refused])
    task = opened[0].task
    meta = all(run.manifest.extent.meta for run in opened)
    known = list(metrics_of(task, meta=meta))
    unknown = [metric for metric in metrics if metric not in known]
    if unknown:
        raise UserInputError(f"--metric {unknown[0]}: not a metric of all these runs; there are {', '.join(known)}")
    wanted = comparable(metrics or (known if all_metrics else common_headlines(manifests)), found, task)
    if dropped := [metric for metric in metrics if metric not in wanted]:
        raise RunMismatchError(f"--metric {dropped[0]} cannot be compared between runs of different --samples")
    try:
        result = compare_runs(
            {run.name: run.arrays for run in opened},
            metrics=wanted,
            meta=meta,
        )
    except ValueError as exc:
        raise RunMismatchError(f"cannot be compared: {exc}") from exc
    sides = {run.name: Side(run.manifest, run.summary, run.folder.rows()) for run in opened}
    warnings = doubts(sides, found, split)
    compared = [
        {"aspect": difference.aspect, "values": dict(difference.values)} for difference in of_weight(found, "compared")
    ]
    if as_json:
        answer = {"task": task, "split": split, "differs": compared, "warnings": warnings, **result}
        echo_json(answer)
    else:
        _show(task, split, compared, warnings, result)
    return EXIT_COMPLETE


def _show(
    task: Task,
    split: str,
    compared: Sequence[Mapping[str, Any]],
    warnings: Sequence[str],
    result: Mapping[str, Any],
) -> None:
    from proverbench.cli.tables import ValueCell, console, ends, number, p_text, plain, show, table
    from proverbench.metrics.shown import footnotes

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
    intervals = "intervals that hold for all pairs together" if several else "95 % intervals"
    shown = table(f"Differences, first minus second, with {intervals}", "metric", "first", "second", "difference", "p")
    if several:
        shown.add_column("p (Holm)", justify="right")
    shown.add_column("")
    for row in result["pairs"]:
        cells = [
            row["metric"],
            f"{row['first']} {number(row['first_value'])}",
            f"{row['second']} {number(row['second_value'])}",
            ValueCell(f"{row['difference']:+.3f}", ends(row["step_interval"])),
            p_text(row["p"]),
        ]
        shown.add_row(*cells, *([p_text(row["p_holm"])] if several else []), row["verdict"])
    show(out, shown)
    if several:
        ranks = table("Ranks that the shown differences allow", "metric", "run", "value", "rank")
        for row in result["ranks"]:
            rank = f"{row['best']}" if row["best"] == row["worst"] else f"{row['best']} to {row['worst']}"
            ranks.add_row(row["metric"], row["run"], number(row["value"]), rank)
        show(out, ranks)
    for footnote in footnotes((row["metric"], row["interval"]) for row in result["pairs"]):
        out.print(footnote)
