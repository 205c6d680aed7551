"""`proverbench compare`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="compare", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN RUN…")
@click.option("--split", default="all", show_default=True, help="all, ugd, qe or another domain.")
@click.option(
    "--metric", "metrics", multiple=True, help="Compare this metric; may be repeated. [default: the main ones]"
)
@click.option("--all-metrics", is_flag=True, help="Compare every published metric.")
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="r",
    help="ProverBench: as if r judgments of each proof had been asked, by exact means over all subsets; so runs of "
    "different R can be compared.",
)
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="VERIFIERBENCH_RUN",
    help="Also compare scores corrected for the judge's error, which the runs share.",
)
@click.option("--calibration-split", default="all", show_default=True, help="Of the calibration.")
@click.option(
    "--labels",
    "label_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also compare scores corrected by people's labels: one FILE for each RUN, in the order of the runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(**given: Any) -> int:
    """Paired differences between saved RUNS of one benchmark, with intervals and p-values; calls nothing.

    Runs are compared on the problems (ProverBench) or proofs (VerifierBench) they have in common. What differs between
    them is named; what makes a comparison doubtful warns, what makes it meaningless is refused (docs/comparing.md).
    With --repeats, ProverBench runs of different R are compared at one r. With --calibration or --labels, differences
    of corrected scores stand beside the others; what is not known of the judge enters them once, not twice. p-values
    are corrected for the number of pairs (Holm). "No difference shown" does not mean that there is none.
    """
    from proverbench.cli.bodies.compare import compare

    return compare(**given)
