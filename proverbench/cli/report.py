"""`proverbench report`."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.streams import say
from proverbench.run.study import expanded

MARKDOWN = (".md", ".markdown")
"""What names of Markdown files end in."""


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
@click.option("--published", is_flag=True, help="Show the published Table 1 beside the runs.")
def command(runs: tuple[Path, ...], output: Path | None, form: str | None, choose: int | None, published: bool) -> int:
    """One page of one or more RUNS that works offline: scores, plots, every proof and judgment.

    A page that would be larger than about 40 MB becomes a folder with an index.html. Markdown goes to standard output
    unless a file is named. Calls nothing and changes nothing in the runs.

    \b
    proverbench report runs/NAME -o report.html
    proverbench report runs/A runs/B --published -o compare.html
    proverbench report runs/NAME --format md >> README.md
    """
    runs = tuple(expanded(runs, calibrations=True))
    from proverbench.errors import UserInputError
    from proverbench.people.sheet import labelling
    from proverbench.run.journal import write_whole
    from proverbench.show.report.build import open_runs
    from proverbench.show.report.markdown import render_markdown
    from proverbench.show.report.write import write_report

    to_screen = str(output) == "-"
    form = form or ("md" if output is not None and output.suffix.lower() in MARKDOWN else "html")
    if to_screen and form == "html":
        raise UserInputError("-o - is for Markdown: add --format md; a page goes to a file, such as -o report.html")
    if choose is not None and (len(runs) > 1 or form == "md"):
        raise UserInputError("--choose makes the page of one run to label in; give one RUN, and no Markdown")
    with open_runs(runs, published=published) as report:
        if choose is not None:
            report.head["labelling"] = labelling(runs[0], choose)
        if form == "md":
            text = render_markdown(report.head)
            if output is None or to_screen:
                click.echo(text, nl=False)
                return EXIT_COMPLETE
            output.parent.mkdir(parents=True, exist_ok=True)
            write_whole(output, text.encode())
            say(f"wrote {output}")
            return EXIT_COMPLETE
        written = write_report(report, output or Path("report.html"))
    say(f"wrote {written} ({written.stat().st_size / 1e6:.1f} MB); open it in any browser")
    return EXIT_COMPLETE
