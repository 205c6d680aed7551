"""``proverbench data import`` and ``data split``: other people's files become data files, or runs."""

import json
import shlex
from pathlib import Path
from typing import Any

import click
import msgspec

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.data_shown import described
from proverbench.cli.pages import WIDTH, beside, printable
from proverbench.cli.streams import echo, echo_json, say

_FILE = click.Path(path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
SPLIT = click.Choice(["whole", "paragraphs", "lines", "tags", "json"])
"""How a proof's text becomes steps (inputs/splitting.py)."""


@click.command(name="import")
@click.argument("source", type=_FILE, metavar="FILE|DIR")
@click.option(
    "--format",
    "format_",
    metavar="NAME|FILE.toml",
    required=True,
    help="A data set by name (imo-proofbench, gradingbench, proofbench, matharena, deepseek, opc, processbench, "
    "hard2verify, prm800k, arxivmath), a file that describes your own (docs/own-data.md), inspect, labels, published.",
)
@click.option("--output", type=_FILE, required=True, help="JSONL file to write; of published, the run's folder.")
@click.option("--data", type=_FILE, metavar="FILE", help="published: the data file that the run was made from.")
@click.option(
    "--graders",
    type=click.Choice(["mean", "all-agree"]),
    default="mean",
    show_default=True,
    help="Where several people graded a proof: take the mean, or leave out proofs on which they differ.",
)
@click.option(
    "--score", metavar="NAME", help="inspect: which of the log's scores is the verdict. [default: its only one]"
)
@click.option("--split", type=SPLIT, help="How a proof's text becomes steps. [default: the description's]")
@_JSON
@click.pass_context
def import_(
    ctx: click.Context,
    source: Path,
    format_: str,
    output: Path,
    data: Path | None,
    graders: str,
    score: str | None,
    split: Any,
    as_json: bool,
) -> None:
    """Turn other people's problems, or labelled or graded proofs, into a data file.

    CSV with any separator, JSONL, JSON, Parquet and folders of .tex, .md or .txt are read by a description of a few
    lines; known data sets by their name. No label is invented. What was decided and what was left out is printed;
    docs/data.md has the details of each data set. A run of the published evaluator becomes one of ours.

    \b
    proverbench data import --format mine.toml graded.csv --output graded.jsonl
    proverbench data import --format imo-proofbench proofbench_v2.csv --output imo.jsonl
    proverbench data import --format published RESULTS --data test.jsonl --output runs/published
    """
    from proverbench.inputs.imported import write_rows

    if format_ != "published" and data is not None:
        raise click.UsageError("--data is for --format published")
    if format_ in ("published", "labels") and (split or graders != "mean"):
        raise click.UsageError(f"--split and --graders are not for --format {format_}")
    if format_ == "published":
        ctx.exit(_import_run(source, data, output, as_json=as_json))
    if format_ != "inspect" and score is not None:
        raise click.UsageError("--score is for --format inspect")
    imported = _imported(source, format_, split, score)
    if graders == "all-agree":
        imported.keep_agreed()
    write_rows(imported, output)
    _report(imported, output, as_json=as_json)


def _imported(source: Path, format_: str, split: Any, score: str | None) -> Any:
    from proverbench.inputs.formats import find_format
    from proverbench.inputs.imported import Imported
    from proverbench.inputs.inspect_log import import_inspect
    from proverbench.inputs.mapped import apply_mapping
    from proverbench.inputs.mapping import load_mapping
    from proverbench.people.labels import read_labels

    if format_ == "labels":
        read = read_labels(source)
        rows = [json.loads(msgspec.json.encode(proof)) for proof in read.decided()]
        return Imported(rows, read.remarks())
    if format_ == "inspect":
        return import_inspect(source, score=score, split=split or "whole")
    if format_.endswith(".toml"):
        return apply_mapping(load_mapping(Path(format_)), source, split=split)
    return find_format(format_).load(source, split)


def _report(imported: Any, output: Path, *, as_json: bool) -> None:
    """Say what was written, decided and left out."""
    from proverbench.inputs.data import describe, load_problems, load_proofs

    if as_json:
        report = {"output": str(output), "rows": len(imported.rows), "left_out": imported.left_out}
        echo_json(report | {"notes": imported.notes})
        return
    kind = "proofs" if imported.are_proofs else "problems"
    dataset: Any = load_proofs(output) if imported.are_proofs else load_problems(output)
    click.echo(described({"file": str(output), "kind": kind, **describe(dataset)}))
    for reason, count in imported.left_out.items():
        echo(f"left out: {count} {'row' if count == 1 else 'rows'}: {printable(reason)}")
    for note in imported.notes:
        click.echo("\n".join(beside("note: ", note, WIDTH)))


def _import_run(source: Path, data: Path | None, output: Path, *, as_json: bool) -> int:
    """Save a run of the published evaluator as one of ours; its scores must be what they were."""
    from proverbench.inputs.published import load_published
    from proverbench.run.folder import write_derived
    from proverbench.run.remarks import import_differences
    from proverbench.run.session import Session, refuse_taken

    refuse_taken(output)
    run = load_published(source, data=data)
    session = Session.create(output, run.draft)
    try:
        summary = write_derived(session.sources)
    finally:
        session.release()
    differences = import_differences(run.draft.manifest, summary)
    if as_json:
        report = {
            "output": str(output),
            "records": summary.splits["all"].completed_records,
            "closed_unanswered": summary.closed_unanswered,
            "notes": run.notes,
            "differences": differences,
        }
        echo_json(report)
        return EXIT_INCOMPLETE if differences else EXIT_COMPLETE
    whole = summary.splits["all"]
    echo(f"{output}: {whole.completed_records} of {whole.expected_records} proofs of a {summary.task} run")
    if summary.closed_unanswered:
        echo(f"  {summary.closed_unanswered} calls never got an answer and count as zero credit, as they did")
    for note in run.notes:
        click.echo("\n".join(beside("note: ", note, WIDTH)))
    for difference in differences:
        say(f"scores differ: {difference}")
    if differences:
        return EXIT_INCOMPLETE
    scored = [name for name, metrics in run.scores.items() if metrics is not None]
    echo(f"  scores of {', '.join(scored)} are what they were" if scored else "  it has no scores yet")
    echo(f"look into it with: proverbench inspect {shlex.quote(str(output))}")
    return EXIT_COMPLETE


@click.command()
@click.argument("source", type=_FILE, metavar="FILE")
@click.option("--split", "how", type=SPLIT, required=True, help="How each proof becomes steps.")
@click.option("--output", type=_FILE, required=True, help="JSONL file to write.")
@_JSON
def split(source: Path, how: Any, output: Path, as_json: bool) -> None:
    """Cut the proofs of a data file into other steps.

    A proof is its steps, joined by empty lines, or its text. The labels stay, so only proofs whose labels name no step
    can be cut: those that were graded or judged as a whole.

    \b
    proverbench data split graded.jsonl --split paragraphs --output steps.jsonl
    """
    from proverbench.inputs.imported import write_rows
    from proverbench.inputs.resplit import resplit

    imported = resplit(source, how)
    write_rows(imported, output)
    _report(imported, output, as_json=as_json)
