"""`proverbench runs`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="runs", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", type=click.Path(path_type=Path), default=None, required=False, metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
def command(**given: Any) -> int:
    """List the saved runs and studies in DIR: what, when, complete, size, score, cost; calls and writes nothing.

    Without DIR those under runs/ and studies/ of the current folder. A run that is still going, unfinished or damaged
    is listed with what is known of it.

    \b
    proverbench runs
    proverbench runs studies/NAME --json
    """
    from proverbench.cli.bodies.runs import runs

    return runs(**given)
