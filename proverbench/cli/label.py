"""`proverbench label`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors

CHOOSE = 40
"""Labels of a draw without --choose: from 20 on they make a headline, 40 are an evening's work."""


@click.command(cls=HandlesErrors, name="label", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--choose", type=click.IntRange(min=1), metavar="N", help=f"How many proofs to draw. [default: {CHOOSE}, or all]"
)
@click.option("--simple", is_flag=True, help="One simple random draw instead of one stratified by what the judge said.")
@click.option("--equal", is_flag=True, help="As many of each stratum, to count the judge's false acceptances.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same proofs.")
@click.option("--policy", metavar="NAME", help="Of a study: whose proofs are labelled, if it has several policies.")
@click.option("--annotator", metavar="NAME", help="Who labels; several may label the same draw. [default: your login]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The labels file. [default: RUN-labels-NAME.jsonl here]",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8767, show_default=True, help="Port of localhost; 0: a free one."
)
def command(**given: Any) -> int:
    """Label a random draw of a ProverBench RUN's proofs in the browser; calls nothing, changes nothing in the run.

    RUN may be a study: the proofs of one policy are labelled, and the labels serve the run of every judge.

    One proof at a time, the judge's verdicts hidden until your label is given. Every label is on disk at once; the same
    command again goes on where you were. By keyboard: a no error, 0-9 or a click the first wrong step, f fatal,
    r recoverable, u cannot say, c comment, Enter save and go on, z undo. Ctrl-C ends it.

    \b
    proverbench label runs/NAME --choose 40
    proverbench correct runs/NAME --labels NAME-labels-YOU.jsonl
    """
    from proverbench.cli.bodies.label import label

    return label(**given)
