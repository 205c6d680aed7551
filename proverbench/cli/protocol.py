"""`proverbench protocol`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import CommandGroup


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Look into protocols of judging, of your own or shipped (docs/protocols.md)."""


@command.command()
@click.argument("protocol", metavar="FILE|NAME")
@click.option(
    "--run",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also count what the protocol reads in the judgments of this run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was read as JSON.")
def check(**given: Any) -> int:
    """Check a protocol's file: what is read in each of its examples; calls nothing.

    With --run, the judgments of a saved run are read by it too, whatever protocol the run was made with: try a parser
    on replies that are there before paying for more.

    \b
    proverbench protocol check my.toml
    proverbench protocol check my.toml --run runs/NAME

    Exit codes: 0 all is as the file says; 2 it is not, each fault is named.
    """
    from proverbench.cli.bodies.protocol import check_protocol

    return check_protocol(**given)
