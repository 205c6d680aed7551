"""`proverbench view`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.published import published_option


@click.command(cls=HandlesErrors, name="view", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8766,
    show_default=True,
    help="Port of localhost; 0 takes a free one.",
)
@published_option
def command(**given: Any) -> int:
    """Show RUNS in the browser: the page of `proverbench report`, served on localhost.

    It reads proofs only when they are looked at, so a run may be of any size, and it follows a run that is still going.
    Changes nothing in the runs. Ctrl-C ends it.
    """
    from proverbench.cli.bodies.view import view

    return view(**given)
