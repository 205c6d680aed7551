"""`proverbench export`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors

if TYPE_CHECKING:
    from proverbench.show.frames import LoadedRun

_TABLES = ("scores", "proofs", "judgments", "calls")


@click.command(cls=HandlesErrors, name="export", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN…")
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(["csv", "parquet", "xlsx", "latex", "verifierbench"]),
    help="verifierbench: a sheet on which people label this run's own proofs.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A folder (csv, parquet) or file; latex: - is the screen."
)
@click.option(
    "--table",
    "tables",
    multiple=True,
    type=click.Choice(_TABLES),
    help="csv, parquet, xlsx: this table only; may be repeated. [default: all but calls]",
)
@click.option("--split", "splits", multiple=True, help="latex: this split; may be repeated. [default: all]")
@click.option(
    "--metric", "metrics", multiple=True, help="latex: this column; may be repeated. [default: the main ones]"
)
@click.option("--choose", type=click.IntRange(min=1), metavar="N", help="verifierbench: N proofs chosen at random.")
@click.option("--seed", type=int, help="verifierbench: seed of the choice.  [default: 0]")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def command(
    runs: tuple[Path, ...],
    form: str,
    output: Path | None,
    tables: tuple[str, ...],
    splits: tuple[str, ...],
    metrics: tuple[str, ...],
    choose: int | None,
    seed: int | None,
    force: bool,
) -> int:
    """Saved RUNS to CSV, Parquet, XLSX, a LaTeX table, or a sheet to label proofs on; calls nothing.

    Tables: scores (with intervals and bounds), proofs, judgments, calls; the first column names the run. Ids stay text,
    control characters are shown, formula-like cells are made harmless, what an XLSX cell cannot hold is cut and marked
    (docs/exports.md). LaTeX: booktabs, percentages with 95 % intervals, a row a run.

    \b
    Try:  proverbench export runs/NAME --to xlsx -o run.xlsx
          proverbench export runs/A runs/B --to latex
          proverbench export runs/NAME --to verifierbench --choose 40 -o sheet.jsonl
    """
    from proverbench.errors import UserInputError

    _refuse_stray_options(form, tables=tables, splits=splits, metrics=metrics, choose=choose, seed=seed)
    if form == "verifierbench":
        if len(runs) > 1:
            raise UserInputError("--to verifierbench makes the sheet of one run; give one RUN")
        return _write_sheet(runs[0], output or Path("sheet.jsonl"), choose, seed or 0, force)

    from proverbench.run.saved import names_of
    from proverbench.show.frames import load

    loaded = {name: load(path) for name, path in zip(names_of(runs), runs, strict=True)}
    if form == "latex":
        _write_latex(loaded, output, splits or ("all",), metrics, force)
    else:
        _write_tables(loaded, form, output, tables or _TABLES[:3], force)
    return EXIT_COMPLETE


def _refuse_stray_options(form: str, **given: object) -> None:
    from proverbench.errors import UserInputError

    belongs = {
        "tables": ("csv", "parquet", "xlsx"),
        "splits": ("latex",),
        "metrics": ("latex",),
        "choose": ("verifierbench",),
        "seed": ("verifierbench",),
    }
    for name, value in given.items():
        if value not in (None, ()) and form not in belongs[name]:
            raise UserInputError(f"--{name.removesuffix('s')} does nothing with --to {form}; leave it out")


def _write_tables(
    runs: "dict[str, LoadedRun]", form: str, output: Path | None, names: tuple[str, ...], force: bool
) -> None:
    from proverbench.show.exporting import require, tables, write_csv, write_parquet, write_xlsx

    require(form)
    if form == "xlsx":
        target = output or Path("export.xlsx")
        _refuse_existing([target], force)
        _make_folder(target.parent)
        write_xlsx(tables(runs, names), target)
        click.echo(f"{target}: {', '.join(names)}")
        return
    write: Callable[..., None] = write_csv if form == "csv" else write_parquet
    folder = output or Path("export")
    targets = {name: folder / f"{name}.{form}" for name in names}
    _refuse_existing(list(targets.values()), force)
    _make_folder(folder)
    for name, frame in tables(runs, names).items():
        write(frame, targets[name])
        click.echo(f"{targets[name]}: {len(frame):,} rows")


def _write_latex(
    runs: "dict[str, LoadedRun]", output: Path | None, splits: tuple[str, ...], metrics: tuple[str, ...], force: bool
) -> None:
    from proverbench.errors import UserInputError
    from proverbench.metrics.registry import known_metric
    from proverbench.run.journal import write_whole
    from proverbench.show.exporting import latex_table

    there = list(dict.fromkeys(split for run in runs.values() for split in run.summary.splits))
    for split in splits:
        if split not in there:
            raise UserInputError(f"--split {split}: no run has it; there are {', '.join(there)}")
    for metric in metrics:
        known_metric(metric)
    made = latex_table(runs, splits=splits, metrics=metrics)
    if output is None or str(output) == "-":
        click.echo(made, nl=False)
        return
    _refuse_existing([output], force)
    _make_folder(output.parent)
    write_whole(output, made.encode())
    click.echo(f"{output}: {len(runs)} {'run' if len(runs) == 1 else 'runs'}")


def _write_sheet(path: Path, output: Path, choose: int | None, seed: int, force: bool) -> int:
    import json

    from proverbench.people.sheet import sheet
    from proverbench.run.folder import RunFolder
    from proverbench.run.journal import write_whole

    _refuse_existing([output], force)
    rows = list(sheet(RunFolder(path), proofs=choose, seed=seed))
    _make_folder(output.parent)
    write_whole(output, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    click.echo(
        f"{output}: {len(rows)} proofs. Give each annotation its first_fatal_error_step (-1: none) and "
        f"recoverable_error_steps ([-1]: none), then: proverbench correct {path} --labels {output}"
    )
    return EXIT_COMPLETE


def _refuse_existing(paths: list[Path], force: bool) -> None:
    from proverbench.errors import UserInputError

    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise UserInputError(f"{', '.join(there)} is there already; give another -o, or --force to replace it")


def _make_folder(folder: Path) -> None:
    from proverbench.run.journal import disk

    with disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
