"""`proverbench inspect`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors

_FILE = click.Path(path_type=Path)


@click.command(cls=HandlesErrors, name="inspect", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=_FILE, required=False)
@click.argument("proof", required=False)
@click.option(
    "--invalid",
    is_flag=False,
    flag_value="",
    metavar="[REASON]",
    help="Proofs with an invalid generation, judgment or level; of this reason, or one that begins so.",
)
@click.option("--accepted", is_flag=True, help="Proofs that every judgment accepts.")
@click.option("--rejected", is_flag=True, help="Finished proofs that not every judgment accepts.")
@click.option("--incomplete", is_flag=True, help="Proofs with unanswered calls.")
@click.option(
    "--disagree",
    is_flag=False,
    flag_value="any",
    metavar="[judges|human]",
    help="Proofs whose judgments differ, or differ with the human label; those that differ most come first.",
)
@click.option("--domain", metavar="NAME", help="Proofs of this domain.")
@click.option("--subject", metavar="NAME", help="Proofs of this subject.")
@click.option("--problem", metavar="ID", help="Proofs of this problem.")
@click.option("--call", "call_key", metavar="KEY", help="One call's exact prompt and reply: ROLE/ID/SAMPLE/REPEAT.")
@click.option("--follow", is_flag=True, help="Show answers as they come, until the run ends.")
@click.option("--data", type=_FILE, metavar="FILE", help="For a folder of the published evaluator: its data file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
def command(**given: Any) -> int:
    """Look into a saved RUN: its scores, what is missing or invalid, its proofs; read one PROOF.

    RUN may still be going, may be a study, and may be a folder of the published evaluator. PROOF is a number of the
    table, or an id. Nothing is called and nothing is written.

    \b
    proverbench inspect runs/NAME                     scores and all proofs
    proverbench inspect runs/NAME --disagree          where judges disagree, most first
    proverbench inspect runs/NAME 7                   read proof number 7
    proverbench inspect runs/NAME --invalid missing   invalid replies, by reason
    proverbench inspect runs/NAME --call verifier/ID/0/2
    proverbench inspect runs/NAME --follow            watch it
    """
    from proverbench.cli.bodies.inspect import inspect

    return inspect(**given)
