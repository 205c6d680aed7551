"""The command ``compressionbench``: what authors and participants type. The organiser's part is in organising.py."""

from pathlib import Path
from typing import Any

import click

from proverbench.compression.commands import (
    FOLDER,
    JSON_OPTION,
    TASK_ARGUMENT,
    UNSAFE_OPTION,
    WORK_OPTION,
    Group,
)
from proverbench.compression.organising import keygen, rank_command, report, verify


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """The same theorems with fewer kernel nodes.

    \b
    Make a task:    compressionbench new nat-add mytask
    Work on it:     edit mytask/work/*.lean, then  mytask/check
    Hand it in:     mytask/submit --agent NAME
    Re-check it:    compressionbench verify submissions/submission-….tar.gz --tasks TASKS --key key.pem
    Compare:        compressionbench rank submissions/ --tasks TASKS --trust PUBLIC_KEY

    Compiling a Lean file runs the code in it, so every command that does so needs a sandbox (bubblewrap, or user
    namespaces). The scoring rule: docs/compression-metrics.md. Exit codes: 0 valid, 1 invalid or refused, 2 bad
    command line, 3 stopped by a limit, or for want of a sandbox, without a verdict.
    """


@main.command()
@TASK_ARGUMENT
@WORK_OPTION
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@JSON_OPTION
@UNSAFE_OPTION
def check(**given: Any) -> None:
    """Check your version of the task in TASK (default: this folder) and count its nodes."""
    from proverbench.compression.bodies.participating import check_work

    check_work(**given)


@main.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.argument("task_folder", metavar="TASK", type=FOLDER)
@click.option("--target", "targets", multiple=True, help="A theorem to shorten; repeat for more.")
@click.option("--editable", multiple=True, help="A file that may be rewritten. [default: those with the targets]")
@click.option("--background", multiple=True, help="A constant of an editable file whose use is free; it is frozen.")
@click.option("--freeze", multiple=True, help="A further definition that must not change.")
@click.option("--title", default="", help="What the task is about.")
@click.option(
    "--heartbeats",
    type=click.IntRange(1),
    default=200_000_000,
    show_default=True,
    help="The kernel's limit for each declaration, in Lean's own small steps.",
)
@UNSAFE_OPTION
def new(**given: Any) -> None:
    """Make the task package TASK from a Lean PROJECT (a folder or a .lean file), or from a task that we ship."""
    from proverbench.compression.bodies.participating import new_task

    new_task(**given)


@main.command()
@TASK_ARGUMENT
@WORK_OPTION
@click.option("--agent", default="unnamed", show_default=True, help="Who took part: the name in the ranking.")
@click.option(
    "--track",
    type=click.Choice(["record", "agent", "open", "agent-60", "agent-120"]),
    default="record",
    show_default=True,
    help="The kind of run: `record`, by any means (counts on `open`), or `agent`, a model alone, which with --minutes "
    "counts on the timed tracks too. A track's own name demands that it fits.",
)
@click.option("--minutes", type=click.FloatRange(0), help="How many minutes it took.")
@click.option("--log", type=FOLDER, help="Folder with a log, taken into the bundle.")
@click.option("--tokens-json", type=FOLDER, help="File with a JSON object on tokens, taken into the bundle.")
@click.option("--output", type=FOLDER, default=Path("submissions"), show_default=True, help="Folder for the bundle.")
@JSON_OPTION
@UNSAFE_OPTION
def submit(**given: Any) -> None:
    """Check your version again and pack it into a bundle that others can verify. Nothing is sent anywhere."""
    from proverbench.compression.bodies.participating import pack_submission

    pack_submission(**given)


@main.command(name="share")
@TASK_ARGUMENT
@click.option("--work", type=FOLDER, help="Share the proofs in these files. [default: the task's originals]")
@click.option("--output", type=FOLDER, help="Write the shorter version's kernel terms here (lean4export NDJSON).")
@JSON_OPTION
@UNSAFE_OPTION
def share_command(**given: Any) -> None:
    """A reference point: every repeated subterm of the proofs written once with `let`, by machine.

    Two counts: with everything shared that occurs twice, and with only what makes the whole smaller. Both are checked
    again by the kernel. They are terms, not sources; a participant may do better or worse.
    """
    from proverbench.compression.bodies.participating import share_terms

    share_terms(**given)


@main.command()
@TASK_ARGUMENT
def fetch(**given: Any) -> None:
    """Fetch the packages of a Lean project's task, and build it as its organiser made it, in TASK/build.

    This runs the organiser's lakefile with your own `lake`, as you, with the network. Your files are not part of it.
    """
    from proverbench.compression.bodies.participating import fetch_packages

    fetch_packages(**given)


@main.command(name="attempt")
@click.argument("task_folder", metavar="TASK", type=FOLDER)
@click.option(
    "--config", "config_file", type=FOLDER, required=True, help="Config with a [policy] table (docs/configs.md)."
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="How often to ask.")
@click.option("--output", type=FOLDER, help="Folder for the attempt (default: TASK/attempt); an old one goes on.")
@UNSAFE_OPTION
def attempt_command(**given: Any) -> None:
    """Let a language model shorten a task's proofs: it proposes, the check answers, the best version is kept.

    Ctrl-C once: ask nothing new, keep the answer that is awaited; twice, or SIGTERM: stop at once.

    Exit codes: 0 all rounds were answered; 1 some were not (the same command goes on), or refused; 129/130/143 stopped
    by a signal (the same command goes on).
    """
    from proverbench.compression.bodies.attempting import attempt_task

    attempt_task(**given)


@main.command(name="count")
@click.argument("file", type=FOLDER)
@click.option(
    "--target", "targets", multiple=True, help="A theorem to charge; repeat for more. [default: every theorem]"
)
@click.option("--background", multiple=True, help="A constant whose use is free; repeat for more.")
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@JSON_OPTION
@UNSAFE_OPTION
def count_command(**given: Any) -> None:
    """Check and count a lean4export file (NDJSON 3.0.0 or 3.1.0), without any task.

    Exit codes: 0 the kernel accepts every declaration; 1 it does not, there is none here, or the file is malformed.
    """
    from proverbench.compression.bodies.participating import count_terms

    count_terms(**given)


for command in (verify, keygen, rank_command, report):
    main.add_command(command)
