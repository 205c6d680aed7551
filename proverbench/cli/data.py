"""``proverbench data``: fetch, validate, show and import data files."""

import difflib
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from proverbench.cli.common import EXIT_BAD_INPUT, EXIT_COMPLETE, EXIT_INCOMPLETE, CommandGroup
from proverbench.cli.pages import WIDTH, beside, cut, page, printable, section
from proverbench.cli.streams import echo, echo_json, say
from proverbench.errors import DataError
from proverbench.inputs.data import Dataset, describe, load_problems, load_proofs, looks_like_proofs
from proverbench.records import Problem, Proof

if TYPE_CHECKING:
    from proverbench.inputs.fetch import PinnedFile

_FILE = click.Path(path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
_KIND = click.option(
    "--kind",
    type=click.Choice(["auto", "problems", "proofs"]),
    default="auto",
    show_default=True,
    help="What the rows are; auto finds it out from them.",
)


@click.group(cls=CommandGroup)
def command() -> None:
    """Fetch, validate, show or import data files (docs/data.md)."""


def _load(path: Path, kind: str) -> Dataset[Any]:
    proofs = looks_like_proofs(path) if kind == "auto" else kind == "proofs"
    return load_proofs(path) if proofs else load_problems(path)


@command.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@_KIND
@_JSON
@click.pass_context
def validate(ctx: click.Context, files: tuple[Path, ...], kind: str, as_json: bool) -> None:
    """Check files by every rule, and say what they hold.

    All faults of all files are listed, each with its line and field; the exit code is then 2.
    """
    told: list[dict[str, Any]] = []
    for path in files:
        try:
            dataset = _load(path, kind)
        except DataError as exc:
            told.append({"file": str(path), "valid": False, "faults": str(exc).split("\n")})
        else:
            rows_are = "proofs" if isinstance(dataset.rows[0], Proof) else "problems"
            told.append({"file": str(path), "valid": True, "kind": rows_are, **describe(dataset)})
    if as_json:
        echo_json(told)
    else:
        for found in told:
            if found["valid"]:
                click.echo(_described(found))
        for fault in (fault for found in told if not found["valid"] for fault in found["faults"]):
            click.echo(printable(fault), err=True)
    faulty = [found for found in told if not found["valid"]]
    if faulty:
        n_faults = sum(len(found["faults"]) for found in faulty)
        where = faulty[0]["file"] if len(faulty) == 1 else f"{len(faulty)} of {len(told)} files"
        click.echo(f"{n_faults} {'fault' if n_faults == 1 else 'faults'} in {where}", err=True)
        ctx.exit(EXIT_BAD_INPUT)


def _described(found: dict[str, Any]) -> str:
    lines = [f"{found['file']}: valid"]
    if found["kind"] == "proofs":
        labels = found["labels"]
        lines += [
            f"  {found['rows']} proofs of {found['problems']} problems, {found['steps']} steps (VerifierBench)",
            f"  labels    {labels['correct']} correct, {labels['fatal']} with a fatal error, "
            f"{labels['only_recoverable']} with recoverable errors only",
        ]
    else:
        lines.append(f"  {found['rows']} problems (ProverBench)")
    lines.append(f"  reference {found['with_reference_solution']} of {found['rows']} rows have a reference solution")
    for name, key in (("domain", "domains"), ("subject", "subjects"), ("policy", "policies")):
        if set(found.get(key, {})) - {"(none)"} or key == "domains":
            lines.append(_tally_line(name, found[key]))
    lines.append(f"  sha256    {found['sha256']}")
    return "\n".join(lines)


def _tally_line(name: str, tally: dict[str, int]) -> str:
    text = ", ".join(f"{printable(value)} {count}" for value, count in tally.items())
    return "\n".join(beside(f"  {name:<9} ", text, WIDTH))


@command.command()
@click.argument("file", type=_FILE)
@click.argument("row", required=False)
@_KIND
@_JSON
def show(file: Path, row: str | None, kind: str, as_json: bool) -> None:
    """Show one row, by its id or its index from 0; without ROW, list the rows.

    \b
    proverbench data show shipped:verifierbench
    proverbench data show shipped:verifierbench 3
    """
    dataset = _load(file, kind)
    chosen = dataset.rows if row is None else _find(dataset, row)
    if as_json:
        for item in chosen:
            click.echo(msgspec.json.encode(item).decode())
    elif row is not None and len(chosen) == 1:
        page(_shown(chosen[0], dataset))
    else:
        numbers = {id(item): number for number, item in enumerate(dataset.rows)}
        page("\n".join(_listed(numbers[id(item)], item) for item in chosen))


def _find(dataset: Dataset[Any], wanted: str) -> list[Problem]:
    """Rows of that proof id, else that problem id, else that index."""
    for name in ("proof_id", "problem_id"):
        found = [row for row in dataset.rows if getattr(row, name, None) == wanted]
        if found:
            return found
    if wanted.isdecimal() and int(wanted) < len(dataset.rows):
        return [dataset.rows[int(wanted)]]
    ids = dict.fromkeys(row.proof_id if isinstance(row, Proof) else row.problem_id for row in dataset.rows)
    near = difflib.get_close_matches(wanted, ids, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    last = len(dataset.rows) - 1
    raise DataError(f"{dataset.path}: has no row {wanted!r}: no such id, and indices are 0 to {last}{guess}")


def _listed(number: int, row: Problem) -> str:
    """A row in one line of at most 80 characters."""
    name = row.proof_id if isinstance(row, Proof) else row.problem_id
    label = f"{_label(row):<12} " if isinstance(row, Proof) else ""
    head = f"{number:>4}  {cut(printable(name), 28):<28} {cut(row.domain or '-', 8):<8} {label}"
    return head + cut(printable(" ".join(row.problem.split())), 80 - len(head))


def _label(proof: Proof) -> str:
    if proof.is_correct:
        return "correct"
    if proof.first_error_step is None:
        return "incorrect"
    sort = "fatal" if proof.annotation.first_fatal_error_step == proof.first_error_step else "recov."
    return f"{sort} {proof.first_error_step}/{len(proof.steps)}"


def _shown(row: Problem, dataset: Dataset[Any]) -> str:
    """A whole row for people, 80 columns wide."""
    line = next(line for line, item in zip(dataset.lines, dataset.rows, strict=True) if item is row)
    facts = {
        "problem": row.problem_id,
        "proof": row.proof_id if isinstance(row, Proof) else "",
        "written by": (row.policy or "") if isinstance(row, Proof) else "",
        "domain": row.domain or "(none)",
        "subject": row.subject,
        "source": row.source_id,
        "from": f"{dataset.path}:{line}",
    }
    parts = ["\n".join(f"{name:<10} {printable(value)}" for name, value in facts.items() if value)]
    parts.append(section("Problem", row.problem))
    if isinstance(row, Proof):
        parts += [_step(row.annotation.first_fatal_error_step, row, n) for n in range(len(row.steps))]
        parts.append(section("Label", _label_text(row)))
        for title, text in (
            ("Reviewer's comment", row.annotation.reviewer_comment),
            ("Reason of the first error", row.annotation.first_error_reason),
            ("Remark", row.annotation.remark),
        ):
            parts += [section(title, text)] if text.strip() else []
    parts += [section("Reference answer", row.reference_answer)] if row.reference_answer.strip() else []
    parts.append(section("Reference solution", row.reference_solution.strip() or "(none)"))
    return "\n\n".join(parts)


def _step(fatal: int | None, row: Proof, n: int) -> str:
    mark = ""
    if n == fatal:
        mark = "  ✗ fatal error"
    elif n in row.annotation.recoverable_error_steps:
        mark = "  ✗ recoverable error"
    return section(f"Step {n}{mark}", row.steps[n])


def _label_text(row: Proof) -> str:
    if row.is_correct:
        return "correct: no error found"
    annotation = row.annotation
    if row.first_error_step is None:
        return "incorrect; the step is not known, the proof was judged as a whole"
    return (
        f"incorrect, first error at step {row.first_error_step}; first fatal error "
        f"{annotation.first_fatal_error_step}, recoverable {annotation.recoverable_error_steps}"
    )


@command.command()
@click.argument("what", type=click.Choice(["all", "proverbench", "verifierbench", "prompts"]), default="all")
@click.option("--from", "source", metavar="URL-or-folder", help="A mirror of the dataset, or a folder with its files.")
@click.option(
    "--output",
    type=_FILE,
    help="Folder that the files go to.  [default: data/advancedmathbench; of prompts: prompts in it]",
)
def fetch(what: str, source: str | None, output: Path | None) -> None:
    """Get the published AdvancedMathBench files, at their pinned revision: both, or the one that is named.

    They are checked by SHA-256. What breaks off is continued by the same command. They come from the Hugging Face hub
    by its own library (extra [hub]): its cache, HF_TOKEN or a saved login, HF_ENDPOINT for a mirror, HF_HUB_OFFLINE=1.
    The token goes to the hub itself only.

    `prompts` gets the published prompt templates, for --prompts published, from their repository; --from is then a
    folder with a copy of it, or a zip archive. Their hashes are recorded at the first fetch.
    """
    if what == "prompts":
        _fetch_prompts(output, source)
        return
    from proverbench.inputs.fetch import PINNED

    output = output or Path("data/advancedmathbench")
    for name in PINNED if what == "all" else (what,):
        path, fetched = _fetch_shown(PINNED[name], output, source)
        found = describe(_load(path, "auto"))
        echo(f"{path}: {found['rows']} rows, {'fetched' if fetched else 'there already'}, SHA-256 as pinned")


def _fetch_prompts(output: Path | None, source: str | None) -> None:
    from proverbench.inputs.prompt_set import FOLDER, REVISION, fetch_prompts

    for prompt in fetch_prompts(output or FOLDER, source=source):
        known = "recorded now: no hash is published" if prompt.first else "as at the first fetch"
        echo(f"{prompt.path}: {prompt.role}, revision {REVISION}, SHA-256 {prompt.sha256} ({known})")
    echo("use them with: --prompts " + ("published" if output in (None, FOLDER) else shlex.quote(str(output))))


def _fetch_shown(file: "PinnedFile", output: Path, source: str | None) -> tuple[Path, bool]:
    """Fetch with a progress bar; the hub's library shows its own."""
    from proverbench.inputs.fetch import fetch as fetch_file

    if source is None:
        return fetch_file(file, output)
    with click.progressbar(length=1, label=f"{file.name:<13}", file=sys.stderr, show_pos=True) as bar:

        def moved(have: int, total: int | None) -> None:
            bar.length = total or have
            bar.pos = 0
            bar.update(have)

        return fetch_file(file, output, source=source, progress=moved)


def _columns(_ctx: click.Context, _param: click.Parameter, values: Iterable[str]) -> dict[str, str]:
    faulty = [value for value in values if not all(value.partition("="))]
    if faulty:
        raise click.BadParameter(f"{faulty[0]!r} is not FIELD=COLUMN")
    return {value.partition("=")[0]: value.partition("=")[2] for value in values}


@command.command(name="import")
@click.argument("source", type=_FILE, metavar="FILE|DIR")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["processbench", "hard2verify", "gradingbench", "opc", "csv", "labels", "published"]),
    required=True,
    help="What the source is.",
)
@click.option("--output", type=_FILE, required=True, help="JSONL file to write; of published, the run's folder.")
@click.option("--data", type=_FILE, metavar="FILE", help="published: the data file that the run was made from.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    callback=_columns,
    help="csv: the column that holds a field (problem, proof, label, problem_id, ...); repeat it.",
)
@click.option(
    "--label",
    type=click.Choice(["first-error", "first-error-1", "verdict"]),
    help="csv: the labels are indices of the first wrong step from 0 or from 1, or verdicts.",
)
@click.option(
    "--split",
    type=click.Choice(["whole", "paragraphs", "lines", "tags", "json"]),
    help="csv: how a proof becomes steps. [default: whole for verdicts, else tags]",
)
@click.option("--correct-from", type=float, help="gradingbench: points from which a proof is correct. [default: 7]")
@_JSON
@click.pass_context
def import_(
    ctx: click.Context,
    source: Path,
    format_: str,
    output: Path,
    data: Path | None,
    columns: dict[str, str],
    label: Any,
    split: Any,
    correct_from: float | None,
    as_json: bool,
) -> None:
    """Turn other people's labelled proofs into a data file, or a run of the published evaluator into one of ours.

    A label that names the first wrong step is recorded as a fatal error there. What was decided and what was left out
    is printed; docs/data.md has the details of each format.

    \b
    proverbench data import --format published RESULTS --data test.jsonl --output runs/published
    proverbench data import --format processbench gsm8k.json --output gsm8k.jsonl
    proverbench data import --format csv graded.csv --label verdict --column proof=Answer \\
        --column label=Grade --output graded.jsonl
    """
    from proverbench.inputs import importers
    from proverbench.people.labels import read_labels

    if format_ != "csv" and (columns or label or split):
        raise click.UsageError("--column, --label and --split are for --format csv")
    if format_ != "gradingbench" and correct_from is not None:
        raise click.UsageError("--correct-from is for --format gradingbench")
    if format_ != "published" and data is not None:
        raise click.UsageError("--data is for --format published")
    if format_ == "published":
        ctx.exit(_import_run(source, data, output, as_json=as_json))
    if format_ == "csv":
        imported = importers.import_csv(source, importers.CsvOptions(columns, label, split))
    elif format_ == "labels":
        read = read_labels(source)
        imported = importers.Imported(list(read.decided()), read.remarks())
    elif format_ == "gradingbench":
        imported = importers.import_gradingbench(source, correct_from=7.0 if correct_from is None else correct_from)
    elif format_ == "processbench":
        imported = importers.import_processbench(source)
    elif format_ == "hard2verify":
        imported = importers.import_hard2verify(source)
    else:
        imported = importers.import_opc(source)
    importers.write_rows(imported, output)
    if as_json:
        report = {"output": str(output), "rows": len(imported.rows), "left_out": imported.left_out}
        echo_json(report | {"notes": imported.notes})
        return
    click.echo(_described({"file": str(output), "kind": _kind(imported.rows), **describe(_load(output, "auto"))}))
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
    echo(f"look into it with: proverbench inspect {output}")
    return EXIT_COMPLETE


def _kind(rows: list[Problem]) -> str:
    return "proofs" if isinstance(rows[0], Proof) else "problems"
