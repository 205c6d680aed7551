"""`proverbench study`."""

from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.cli.run_options import FILE, on_clusters


@click.command(cls=HandlesErrors, name="study", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=FILE, metavar="FILE")
@click.option("--output", type=FILE, metavar="DIR", help="Folder of the study. [default: studies/NAME, of NAME.toml]")
@click.option("--dry-run", is_flag=True, help="Check everything, print what is to be asked and its cost; call nothing.")
@click.option("--shard", metavar="i/n", help="Only this part of the problems (1-based); join with merge.")
@on_clusters
@click.option(
    "--batch",
    is_flag=False,
    flag_value="all",
    metavar="[ROLES]",
    help="Ask judges in the provider's batches, at half price (docs/batch.md); or --batch verifier, --batch meta.",
)
@click.option(
    "--init",
    "configs",
    type=FILE,
    multiple=True,
    metavar="CONFIG",
    help="Write FILE from this config, to be completed by hand; may be repeated. Asks nothing.",
)
def command(**given: Any) -> int:
    """Several policies and several judges on one data set: FILE says which, one command asks all of it.

    Each proof is written once and judged by every judge. The folder holds an ordinary run for each pair,
    runs/POLICY--JUDGE, and for each judge calibration/JUDGE, so that every command works on them and on the folder.
    All runs share each endpoint's limits and one budget. The same command again asks only what the file now wants and
    the folder lacks: a new policy or judge, more samples, repeats or rows. FILE is explained in docs/studies.md.

    \b
    Begin:   proverbench study study.toml --init shipped:openai    (writes study.toml)
    Check:   proverbench study study.toml --dry-run
    Ask:     proverbench study study.toml           (the same again after a stop, or when the file has grown)
    Look:    proverbench inspect studies/study

    Exit codes: 0 complete; 1 incomplete; 2 bad input, nothing called or written; 129/130/143 stopped by a signal.
    """
    from proverbench.cli.bodies.study import study

    return study(**given)
