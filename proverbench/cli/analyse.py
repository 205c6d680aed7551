"""`proverbench analyse`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="analyse", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN…")
@click.option("--split", default="all", show_default=True, help="all, ugd, qe or another domain.")
@click.option("--by", "factors", multiple=True, metavar="FACTOR", help="Break down by this only; may be repeated.")
@click.option("--pass-k", "ks", multiple=True, type=int, metavar="K", help="pass@K; repeatable. [default: 1 to S]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the folds of the best threshold. [default: fixed]")
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="People's labels of the one RUN's own proofs: how far annotators agree.",
)
@click.option(
    "--accept-from",
    "thresholds",
    multiple=True,
    type=float,
    metavar="GRADE",
    help="Of runs under a grading protocol: scores if proofs were accepted from this grade; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(**given: Any) -> int:
    """Voting rules, agreement and breakdowns of saved RUNs; calls nothing.

    For each run: the score under every rule "k of r judgments accept" for r up to R, against tokens or money; unbiased
    pass@k; the best rule on labelled proofs, found on other folds than it is reported on; agreement between repeats
    and with people; scores by subject, length, severity and so on. Runs that judged the same proofs are also compared
    as a panel of judges. Everything is defined in docs/metrics.md.
    """
    from proverbench.cli.bodies.analyse import analyse

    return analyse(**given)
