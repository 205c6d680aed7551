"""`proverbench verify-run`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="verify-run", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def command(**given: Any) -> int:
    """Check that a saved run is whole and that its figures follow from its replies; calls nothing, changes nothing.

    Every line of calls.jsonl is held against its seal, and records.jsonl and summary.json against what is derived from
    the replies, byte for byte. The last line is for a paper: whoever has the folder can check it the same way. Seals
    show damage, and changes made after they were quoted; they cannot show what was forged before.

    \b
    proverbench verify-run runs/NAME

    Exit codes: 0 all runs are whole and their figures follow; 1 something is wrong.
    """
    from proverbench.cli.bodies.verify_run import verify_run

    return verify_run(**given)
