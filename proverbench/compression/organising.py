"""The organiser's commands: verify, keygen, rank, report."""

from pathlib import Path
from typing import Any

import click

from proverbench.compression.commands import FOLDER, JSON_OPTION, UNSAFE_OPTION, Command

_TASKS_OPTION = click.option(
    "--tasks", "task_sets", multiple=True, type=FOLDER, help="The organiser's tasks: a folder that holds their folders."
)
_TASK_OPTION = click.option(
    "--task", "task_folders", multiple=True, type=FOLDER, help="One task as the organiser has it; repeat for more."
)
_TRUST_OPTION = click.option(
    "--trust", metavar="HEX", multiple=True, help="The public key of someone who vouches; repeat for more."
)
_RANKING_OPTION = click.option(
    "--ranking", "ranking_file", type=FOLDER, help="A ranking.toml with `tasks`, `trust` and `until`."
)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@_TASK_OPTION
@_TASKS_OPTION
@click.option("--key", type=FOLDER, help="Ed25519 private key (PEM) to sign the receipt with.")
@click.option("--output", type=FOLDER, help="Folder for the receipt. [default: beside the bundle]")
@click.option("--bundle", "bundle_file", type=FOLDER, help="With a receipt: the bundle it should be about.")
@click.option("--trust", metavar="HEX", help="With a receipt: the public key that must have signed it.")
@JSON_OPTION
@UNSAFE_OPTION
def verify(**given: Any) -> None:
    """Check a bundle again, in isolation, and write a receipt; or check a receipt (.json)."""
    from proverbench.compression.bodies.organising import verify_file

    verify_file(**given)


@click.command(cls=Command)
@click.argument("file", type=FOLDER)
def keygen(**given: Any) -> None:
    """Make an Ed25519 key to sign receipts with."""
    from proverbench.compression.bodies.organising import make_key_file

    make_key_file(**given)


@click.command(cls=Command, name="rank")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_TASK_OPTION
@_TASKS_OPTION
@_TRUST_OPTION
@_RANKING_OPTION
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]),
    help="Receipts made later have no place.",
)
@JSON_OPTION
def rank_command(**given: Any) -> None:
    """Rank agents by the receipts in PATHS (files, or folders with receipt-*.json), a table for each track.

    Places need to know which tasks count (--tasks) and who vouches (--trust). What is unsigned, signed by others, or
    about other tasks stands apart, with the reason.
    """
    from proverbench.compression.bodies.organising import rank_receipts

    rank_receipts(**given)


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", "-o", type=FOLDER, default=Path("compression.html"), show_default=True, help="The page.")
@_TASK_OPTION
@_TASKS_OPTION
@_TRUST_OPTION
@_RANKING_OPTION
@UNSAFE_OPTION
def report(**given: Any) -> None:
    """One page with the ranking, the rules, and a viewer that shows, node by node, where a count goes.

    PATHS are receipts, folders with receipts and bundles, or task folders, whose versions are checked now.
    """
    from proverbench.compression.bodies.organising import write_report

    write_report(**given)
