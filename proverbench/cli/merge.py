"""`proverbench merge`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="merge", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Folder of the whole run."
)
def command(**given: Any) -> int:
    """Join the shards of one run into the run that was split; calls nothing.

    The result equals, in its records and summary, a run that was never split, and can be resumed and grown like one.
    The shards stay as they are; those of studies are joined run by run. What does not belong together is refused with
    the reason.

    \b
    proverbench run … --shard 1/2 --output part1        (on one machine)
    proverbench run … --shard 2/2 --output part2        (on another)
    proverbench merge part1 part2 --output whole

    Exit codes: 0 the run is complete; 1 it is not; 2 these are not the shards of one run, or one of them has a batch
    that is not collected; nothing was written.
    """
    from proverbench.cli.bodies.merge import merge

    return merge(**given)
