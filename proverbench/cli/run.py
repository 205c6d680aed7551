"""`proverbench run`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.run_options import FILE, shared_options
from proverbench.records import Role


@click.command(cls=HandlesErrors, name="run", context_settings={"help_option_names": ["-h", "--help"]})
@shared_options(data="problems", shipped="shipped:proverbench", repeats=8, reference_shown=True)
@click.option("--samples", type=click.IntRange(min=1), metavar="S", help="Proofs a problem. [default: 1]")
@click.option("--generation-prompt", type=FILE, metavar="FILE", help="Your generation prompt instead of ours.")
@click.option("--proofs", type=FILE, metavar="FILE", help="Judge these proofs (JSONL, or a folder of texts).")
@click.option(
    "--split",
    type=click.Choice(["whole", "paragraphs", "lines", "tags", "json"]),
    help="How the texts of --proofs become steps. [default: tags, the <step> elements]",
)
def command(**given: Any) -> int:
    """ProverBench: a policy writes S proofs per problem, a verifier judges each R times.

    A proof counts only when all R judgments are valid and find no error. Scores are defined in docs/metrics.md.

    \b
    Try:     proverbench run --data shipped:proverbench --config shipped:embedded --samples 2
                 --verifier-repeats 2 --limit 3
    Go on:   proverbench run --resume runs/NAME
    Grow:    proverbench run --resume runs/NAME --samples 4     (pays only for what is new)

    Exit codes: 0 complete; 1 incomplete; 2 bad input, nothing called or written; 129/130/143 stopped by a signal.
    """
    prompts: dict[Role, Path | None] = {
        "policy": given.pop("generation_prompt"),
        "verifier": given.pop("verifier_prompt"),
    }
    from proverbench.cli.execute import execute

    return execute("prover", prompts, given)
