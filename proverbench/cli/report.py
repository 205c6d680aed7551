"""`proverbench report`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.published import published_option


@click.command(cls=HandlesErrors, name="report", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="File to write; - is standard output, for Markdown. [default: report.html; Markdown: -]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md"]),
    help="A page, or a Markdown summary. [default: what the file's name ends in (.md, .html), else a page]",
)
@click.option(
    "--choose",
    type=click.IntRange(min=1),
    metavar="N",
    help="Draw N of a ProverBench run's proofs, which whoever has the page can label in it (docs/labels.md).",
)
@published_option
def command(**given: Any) -> int:
    """One page of one or more RUNS that works offline: scores, plots, every proof and judgment.

    A page that would be larger than about 40 MB becomes a folder with an index.html. Markdown goes to standard output
    unless a file is named. Calls nothing and changes nothing in the runs.

    \b
    proverbench report runs/NAME -o report.html
    proverbench report runs/A runs/B --published -o compare.html
    proverbench report runs/NAME --format md >> README.md
    """
    from proverbench.cli.bodies.report import report

    return report(**given)
