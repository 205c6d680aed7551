"""``proverbench data``: fetch, validate, show and import data files."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import CommandGroup
from proverbench.cli.data_import import import_, split

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


@command.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@_KIND
@_JSON
def validate(**given: Any) -> int:
    """Check files by every rule, and say what they hold.

    All faults of all files are listed, each with its line and field; the exit code is then 2.
    """
    from proverbench.cli.bodies.data import validate_files

    return validate_files(**given)


@command.command()
@click.argument("file", type=_FILE)
@click.argument("row", required=False)
@_KIND
@_JSON
def show(**given: Any) -> None:
    """Show one row, by its id or its index from 0; without ROW, list the rows.

    \b
    proverbench data show shipped:verifierbench
    proverbench data show shipped:verifierbench 3
    """
    from proverbench.cli.bodies.data import show_rows

    show_rows(**given)


@command.command()
@click.argument("what", type=click.Choice(["all", "proverbench", "verifierbench", "prompts"]), default="all")
@click.option("--from", "source", metavar="URL-or-folder", help="A mirror of the dataset, or a folder with its files.")
@click.option(
    "--output",
    type=_FILE,
    help="Folder that the files go to.  [default: data/advancedmathbench; of prompts: prompts in it]",
)
def fetch(**given: Any) -> None:
    """Get the published AdvancedMathBench files, at their pinned revision: both, or the one that is named.

    They are checked by SHA-256. What breaks off is continued by the same command. They come from the Hugging Face hub
    by its own library (extra [hub]): its cache, HF_TOKEN or a saved login, HF_ENDPOINT for a mirror, HF_HUB_OFFLINE=1.
    The token goes to the hub itself only.

    `prompts` gets the published prompt templates, for --prompts published, from their repository; --from is then a
    folder with a copy of it, or a zip archive. Their hashes are recorded at the first fetch.
    """
    from proverbench.cli.bodies.data import fetch_published

    fetch_published(**given)


command.add_command(import_)
command.add_command(split)
