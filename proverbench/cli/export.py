"""`proverbench export`."""

from dataclasses import replace
from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.streams import say
from proverbench.errors import UserInputError
from proverbench.run.study import expanded, is_study
from proverbench.show.exports.export import MATRIX, TABLES, Request
from proverbench.show.exports.registry import EXPORTS, export_names, find_export, that_take


@click.command(cls=HandlesErrors, name="export", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN…")
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(export_names()),
    help="; ".join(f"{export.name}: {export.help}" for export in EXPORTS) + ".",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A folder or file; - is the screen.  [default: "
    + "; ".join(f"{export.name}: {export.place}" for export in EXPORTS)
    + "]",
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice(TABLES),
    help=f"{that_take('tables')}: this table only; may be repeated. [default: all but {TABLES[-1]}]",
)
@click.option(
    "--split", "splits", multiple=True, help=f"{that_take('splits')}: this split; may be repeated. [default: all]"
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help=f"{that_take('metrics')}: this column; may be repeated. [default: the main ones]",
)
@click.option(
    "--choose",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"{that_take('choose')}: N proofs drawn at random, stratified by what the judge said (docs/labels.md).",
)
@click.option(
    "--simple", is_flag=True, default=None, help=f"{that_take('simple')}: with --choose, one simple random draw."
)
@click.option(
    "--equal",
    is_flag=True,
    default=None,
    help=f"{that_take('equal')}: with --choose, as many of each stratum, to count false acceptances.",
)
@click.option(
    "--separator",
    type=click.Choice((",", ";")),
    help=f"{that_take('separator')}: what stands between cells; with ; numbers have a decimal comma.  [default: ,]",
)
@click.option("--seed", type=int, help=f"{that_take('seed')}: seed of the choice.  [default: 0]")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def command(runs: tuple[Path, ...], form: str, output: Path | None, force: bool, **options: object) -> int:
    """Saved RUNS to CSV, Parquet, XLSX, a LaTeX table, or a sheet to label proofs on; calls nothing.

    Tables: scores (with intervals and bounds), proofs, judgments, calls; the first column names the run. Ids stay text,
    control characters are shown, formula-like cells are made harmless, what an XLSX cell cannot hold is cut and marked
    (docs/exports.md). LaTeX: booktabs, percentages with 95 % intervals, a row a run.

    \b
    Try:  proverbench export runs/NAME --to xlsx -o run.xlsx
          proverbench export runs/A runs/B --to latex
          proverbench export runs/NAME --to verifierbench --choose 40 -o sheet.jsonl
    """
    study = runs[0] if len(runs) == 1 and is_study(runs[0]) else None
    runs = tuple(expanded(runs, calibrations=True))
    export = find_export(form)
    given = {name: value for name, value in options.items() if value not in (None, ())}
    for name in given:
        if name not in export.options:
            raise UserInputError(f"--{name.removesuffix('s')} does nothing with --to {form}; leave it out")
    export.check(runs)
    request = Request(runs=runs, output=output or export.place, force=force, study=study, **given)  # type: ignore[arg-type]
    if study is not None:
        request = replace(request, tables=(*request.tables, MATRIX))
    for said in export.write(request):
        click.echo(said)
    if len(runs) > 1:
        for note in request.notes():
            say(f"note: {note}")
    return EXIT_COMPLETE
