"""`proverbench plan`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors

SHARE = click.FloatRange(0, 1)


@click.command(cls=HandlesErrors, name="plan", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("pilots", nargs=-1, type=click.Path(path_type=Path), metavar="[PILOT [PILOT]]")
@click.option("--share", type=SHARE, help="Without a pilot: the score to expect, 0 to 1.")
@click.option("--icc", type=SHARE, default=0.5, show_default=True, help="Without a pilot: how alike proofs are.")
@click.option("--correlation", type=click.FloatRange(-1, 1), help="Of two runs' problems, where there is one pilot.")
@click.option(
    "--problems", "most", type=click.IntRange(min=2), default=245, show_default=True, help="There are so many."
)
@click.option("--repeats", type=click.IntRange(min=1), help="R. [default: the pilot's, else 8]")
@click.option("--precision", type=click.FloatRange(0.01, 50), metavar="POINTS", help="Cheapest way to it.")
@click.option("--difference", type=click.FloatRange(0.01, 100), metavar="POINTS", help="Cheapest way to show this.")
@click.option("--power", "wanted", type=click.FloatRange(0.05, 0.999), default=0.8, show_default=True, help="With it.")
@click.option("--budget", type=click.FloatRange(min=0), metavar="USD", help="The most precise way to spend so much.")
@click.option("--labels", type=click.IntRange(min=1), metavar="L", help="So many proofs are to be labelled by people.")
@click.option(
    "--labelled",
    "label_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="People's labels of the pilot's proofs: how often the judge is right is taken from them.",
)
@click.option("--label-cost", type=click.FloatRange(min=0), default=0.0, help="Of a label, in US dollars.")
@click.option("--proof-cost", type=click.FloatRange(min=0), help="Of writing a proof, in US dollars.")
@click.option("--judgment-cost", type=click.FloatRange(min=0), help="Of a judgment, in US dollars.")
@click.option("--problem-cost", type=click.FloatRange(min=0), default=0.0, help="Of a new problem. [default: none]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.html",
    help="Also write a page with plots: width and power against problems, samples, R, labels and cost.",
)
def command(**given: Any) -> int:
    """What problems, samples and money buy in ProverBench, before they are bought; calls nothing.

    From one PILOT run with at least two samples of each problem, or two of the same problems (for differences), or from
    --share and --icc. R is part of what the score is, so no plan trades it. The formulas are in docs/metrics.md,
    "Planning".

    \b
    The cheapest way to ±2 points:        proverbench plan runs/PILOT --precision 2
    To show a difference of 3 with 80 %:  proverbench plan runs/ONE runs/OTHER --difference 3
    What do 200 dollars buy:              proverbench plan runs/PILOT --budget 200 --proof-cost 0.1 --judgment-cost 0.02
    And with 100 proofs labelled:         proverbench plan runs/PILOT --labels 100
    No pilot yet:                         proverbench plan --share 0.4 --icc 0.5
    All of it as plots:                   proverbench plan runs/PILOT -o plan.html
    """
    from proverbench.cli.bodies.plan import plan

    return plan(**given)
