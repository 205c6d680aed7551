"""`proverbench report`."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.streams import say


@click.command(cls=HandlesErrors, name="report", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write. [default: report.html; Markdown: standard output]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md"]),
    default="html",
    show_default=True,
    help="A page, or a Markdown summary.",
)
@click.option("--published", is_flag=True, help="Show the published Table 1 beside the runs.")
def command(runs: tuple[Path, ...], output: Path | None, form: str, published: bool) -> int:
    """One page of one or more RUNS that works offline: scores, plots, every proof and judgment.

    A page that would be larger than about 40 MB becomes a folder with an index.html. Markdown goes to standard output
    unless a file is named. Calls nothing and changes nothing in the runs.

    \b
    proverbench report runs/NAME -o report.html
    proverbench report runs/A runs/B --published -o compare.html
    proverbench report runs/NAME --format md >> README.md
    """
    from proverbench.show.report.build import open_runs
    from proverbench.show.report.markdown import render_markdown
    from proverbench.show.report.write import write_report

    with open_runs(runs, published=published) as report:
        if form == "md":
            text = render_markdown(report.head)
            if output is None:
                click.echo(text, nl=False)
            else:
                output.write_text(text, encoding="utf-8")
            return EXIT_COMPLETE
        written = write_report(report, output or Path("report.html"))
    say(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB); open it in any browser")
    return EXIT_COMPLETE
