"""`proverbench score`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="score", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of a table.")
@click.option("--accept-loss", is_flag=True, help="Write down what calls.jsonl has lost, and go on without it.")
def command(**given: Any) -> int:
    """Rebuild records, summary and timing of a saved RUN, or of all runs of a study; calls nothing.

    The derived files come out byte for byte the same on any machine, also when the data file and the prompts that
    the run was made from are gone. A new version of proverbench may add to them; the sources never change. What is
    damaged or missing in calls.jsonl is named and nothing is written, unless --accept-loss says to go on without it.

    Exit codes: 0 the run is complete; 1 it is not.
    """
    from proverbench.cli.bodies.score import score

    return score(**given)
