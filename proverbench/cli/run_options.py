"""The options that `run` and `verifierbench` share; what they do is in execute.py, so that help loads quickly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
ON_CLUSTERS = (
    click.option(
        "--executor",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Where calls are made: in this process, or on a Ray cluster (docs/many-machines.md).",
    ),
    click.option(
        "--ray-address",
        metavar="HOST:PORT",
        help="The Ray cluster to join. [default: RAY_ADDRESS; without it, one is started on this machine alone]",
    ),
)
"""Where calls are made."""


def shared_options(*, data: str, shipped: str, repeats: int, reference_shown: bool) -> Callable[[F], F]:
    """The options that both benchmarks have: one table, in the order of ``--help``.

    Args:
        data: What a row of the data file is.
        shipped: The name of our own data file.
        repeats: Judgments of each proof unless --verifier-repeats says otherwise.
        reference_shown: Whether judges see the reference solution unless the switch says otherwise.
    """
    options = [
        click.option("--data", type=FILE, metavar="FILE", help=f"JSONL file of {data} (docs/data.md), or {shipped}."),
        click.option(
            "--config",
            type=FILE,
            metavar="FILE",
            help="TOML file of models and endpoints (docs/configs.md), or shipped:NAME, e.g. shipped:embedded.",
        ),
        click.option(
            "--verifier-repeats",
            "repeats",
            type=click.IntRange(min=1),
            metavar="R",
            help=f"Judgments of each proof. [default: {repeats}]",
        ),
        click.option("--output", type=FILE, metavar="DIR", help="Folder of the run. [default: runs/TASK-MODEL-DATE]"),
        click.option("--again", is_flag=True, help="Run anew though runs/ has the same run, complete."),
        click.option("--domain", metavar="NAME", help="Only rows of this domain, e.g. ugd or qe. [default: all]"),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            metavar="N",
            help="Only the first N rows (of the domain). [default: all]",
        ),
        click.option("--shard", metavar="i/n", help="Only this part of the problems (1-based); join with merge."),
        click.option(
            "--use-reference-solution/--no-use-reference-solution",
            "use_reference_solution",
            default=None,
            help=f"Show judges the reference solution. [default: {'on' if reference_shown else 'off'}]",
        ),
        click.option("--verifier-prompt", type=FILE, metavar="FILE", help="Your verifier prompt instead of ours."),
        click.option(
            "--protocol",
            metavar="NAME|FILE",
            help="How judges are asked and read: basic-v1, grade-0-7, score-3, process-v1, or a TOML file of yours "
            "(docs/protocols.md). [default: basic-v1]",
        ),
        click.option(
            "--accept-from",
            type=float,
            metavar="GRADE",
            help="The least grade that accepts a proof. [default: the protocol's]",
        ),
        click.option(
            "--prompts",
            "prompt_set",
            default="own",
            show_default=True,
            metavar="own|published|DIR",
            help="Whose prompts: ours, the published ones (data fetch prompts), or a folder's.",
        ),
        click.option("--no-neutralise", is_flag=True, help="Show judges the tags that stand in proofs as they are."),
        click.option("--dry-run", is_flag=True, help="Check everything, print call budget and cost; call nothing."),
        click.option("--resume", type=FILE, metavar="DIR", help="Go on with this run; asks only what is unanswered."),
        click.option(
            "--accept-loss",
            is_flag=True,
            help="With --resume: go on without what calls.jsonl has lost, and write that down; with --cancel-batches: "
            "without batches that the provider does not know.",
        ),
        click.option("--final", is_flag=True, help="With --resume: count what is unanswered as zero; calls nothing."),
        click.option(
            "--looks",
            type=click.IntRange(min=1),
            metavar="K",
            help="The run will be looked at K times, grown in between: verdicts then hold for all looks together.",
        ),
        click.option(
            "--max-cost",
            type=click.FloatRange(min=0, min_open=True),
            metavar="USD",
            help="Stop at this cost, in US dollars.",
        ),
        click.option(
            "--max-tokens-total", type=click.IntRange(min=1), metavar="N", help="Stop at this many, prompts included."
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(min=1),
            metavar="N",
            help="Calls in flight at each endpoint. [default: the config's]",
        ),
        *ON_CLUSTERS,
        click.option(
            "--batch",
            is_flag=False,
            flag_value="all",
            metavar="[ROLES]",
            help="Ask in the provider's batches, at half price (docs/batch.md); of some roles: --batch policy,meta.",
        ),
        click.option(
            "--cancel-batches", is_flag=True, help="With --resume: have the providers stop open batches; asks nothing."
        ),
    ]

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def on_clusters(command: F) -> F:
    """Give a command the options that say where calls are made."""
    for option in reversed(ON_CLUSTERS):
        command = option(command)
    return command
