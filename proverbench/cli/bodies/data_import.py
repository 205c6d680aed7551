"""What ``proverbench data import`` and ``data split`` do."""

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
from proverbench.inputs.data import describe, load_problems, load_proofs
from proverbench.inputs.formats import find_format
from proverbench.inputs.imported import Imported, write_rows
from proverbench.inputs.inspect_log import import_inspect
from proverbench.inputs.mapped import apply_mapping
from proverbench.inputs.mapping import load_mapping
from proverbench.inputs.published import load_published
from proverbench.inputs.resplit import resplit
from proverbench.people.labels import read_labels
from proverbench.run.folder import write_derived
from proverbench.run.remarks import import_differences
from proverbench.run.session import Session, refuse_taken


def import_file(
    source: Path,
    format_: str,
    output: Path,
    data: Path | None,
    graders: str,
    score: str | None,
    split: Any,
    as_json: bool,
) -> int:
    """Turn other people's problems, or labelled or graded proofs, into a data file."""
    if format_ != "published" and data is not None:
        raise click.UsageError("--data is for --format published")
    if format_ in ("published", "labels") and (split or graders != "mean"):
        raise click.UsageError(f"--split and --graders are not for --format {format_}")
    if format_ == "published":
        return _import_run(source, data, output, as_json=as_json)
    if format_ != "inspect" and score is not None:
        raise click.UsageError("--score is for --format inspect")
    imported = _imported(source, format_, split, score)
    if graders == "all-agree":
        imported.keep_agreed()
    write_rows(imported, output)
    _report(imported, output, as_json=as_json)
    return EXIT_COMPLETE


def _imported(source: Path, format_: str, split: Any, score: str | None) -> Any:
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


def split_proofs(source: Path, how: Any, output: Path, as_json: bool) -> None:
    """Cut the proofs of a data file into other steps."""
    imported = resplit(source, how)
    write_rows(imported, output)
    _report(imported, output, as_json=as_json)
