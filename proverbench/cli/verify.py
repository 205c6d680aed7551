"""`proverbench verify`, also installed as `verifierbench`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.run_options import FILE, shared_options
from proverbench.records import Role


@click.command(cls=HandlesErrors, name="verify", context_settings={"help_option_names": ["-h", "--help"]})
@shared_options(data="annotated proofs", shipped="shipped:verifierbench", repeats=1, reference_shown=False)
@click.option(
    "--correct-from",
    type=float,
    metavar="POINTS",
    help="Where people gave grades: the points from which a proof is correct. [default: 6 of 7, else all]",
)
@click.option("--meta", is_flag=True, help="Have a meta-verifier grade each explanation.")
@click.version_option(package_name="proverbench")
@click.option("--meta-prompt", type=FILE, metavar="FILE", help="Your meta prompt instead of ours.")
def command(**given: Any) -> int:
    """VerifierBench: a verifier judges human-annotated proofs, R times each.

    Scored are polarity (TPR, TNR, their harmonic mean), the first error's place and, with --meta, how well the
    explanation matches the annotation. Scores are defined in docs/metrics.md.

    \b
    Try:     verifierbench --data shipped:verifierbench --config shipped:embedded --meta --limit 4
    Go on:   verifierbench --resume runs/NAME
    Grow:    verifierbench --resume runs/NAME --verifier-repeats 4     (pays only for what is new)

    Exit codes: 0 complete; 1 incomplete; 2 bad input, nothing called or written; 129/130/143 stopped by a signal.
    """
    prompts: dict[Role, Path | None] = {"verifier": given.pop("verifier_prompt"), "meta": given.pop("meta_prompt")}
    from proverbench.cli.execute import execute

    return execute("verifier", prompts, given)
