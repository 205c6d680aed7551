"""What `proverbench report` does."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.streams import say
from proverbench.errors import UserInputError
from proverbench.people.sheet import labelling
from proverbench.run.disk import write_whole
from proverbench.run.study import expanded
from proverbench.show.report.build import open_report
from proverbench.show.report.facts import known_published
from proverbench.show.report.markdown import render_markdown
from proverbench.show.report.write import write_report

MARKDOWN = (".md", ".markdown")
"""What names of Markdown files end in."""


def report(
    runs: tuple[Path, ...], output: Path | None, form: str | None, choose: int | None, published: str | None
) -> int:
    """Write a page or Markdown."""
    published = None if published is None else known_published(published)
    given, runs = runs, tuple(expanded(runs, calibrations=True))
    to_screen = str(output) == "-"
    form = form or ("md" if output is not None and output.suffix.lower() in MARKDOWN else "html")
    if to_screen and form == "html":
        raise UserInputError("-o - is for Markdown: add --format md; a page goes to a file, such as -o report.html")
    if choose is not None and (len(runs) > 1 or form == "md"):
        raise UserInputError("--choose makes the page of one run to label in; give one RUN, and no Markdown")
    with open_report(given, published=published) as report:
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
