"""The command ``compressionbench``."""

import json
from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors
from proverbench.errors import DataError

EXIT_VALID = 0
EXIT_INVALID = 1
EXIT_BAD_COMMAND = 2
EXIT_STOPPED = 3

_FOLDER = click.Path(path_type=Path)


class _Command(HandlesErrors):
    """A command with this program's exit codes: 0 valid, 1 invalid or refused, 2 bad command line, 3 stopped."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; bad input is a refusal here, not a bad command line."""
        from proverbench.compression.kernel import StoppedError

        try:
            return super().invoke(ctx)
        except StoppedError as exc:
            click.echo(f"stopped: {exc}", err=True)
            ctx.exit(EXIT_STOPPED)
        except DataError as exc:
            click.echo("\n".join(f"refused: {line}" for line in str(exc).split("\n")), err=True)
            ctx.exit(EXIT_INVALID)


class _Group(HandlesErrors, click.Group):
    """The group; its commands are all of the class above."""

    command_class = _Command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """The same theorems with fewer kernel nodes.

    \b
    Make a task:    compressionbench new nat-add mytask
    Work on it:     edit mytask/work/*.lean, then  compressionbench check mytask
    Hand it in:     compressionbench submit mytask --agent NAME
    Re-check it:    compressionbench verify submissions/submission-….tar.gz --key key.pem
    Compare:        compressionbench rank submissions/

    The scoring rule: docs/compression-metrics.md. Exit codes: 0 valid, 1 invalid or refused, 2 bad command line,
    3 stopped by a limit on time or memory, without a verdict.
    """


@main.command()
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
@click.option("--work", type=_FOLDER, help="Folder with your files (default: TASK/work).")
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def check(task_folder: Path, work: Path | None, verbose: bool, as_json: bool) -> None:
    """Check your version of a task and count its nodes."""
    from proverbench.compression.checking import check_sources
    from proverbench.compression.presenting import render_check
    from proverbench.compression.tasks import load_task, load_work

    task = load_task(task_folder)
    sources, misplaced = load_work(work or task_folder / "work", task)
    if misplaced:
        raise DataError.of(misplaced)
    result = check_sources(task, sources, _kernel(task.spec.heartbeats, task.spec.time_s, task.spec.memory_mb))
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else render_check(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "valid" else EXIT_INVALID)


@main.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
@click.option("--target", "targets", multiple=True, help="A theorem to shorten; repeat for more.")
@click.option("--editable", multiple=True, help="A file that may be rewritten (default: those with the targets).")
@click.option("--background", multiple=True, help="A constant of an editable file whose use is free; it is frozen.")
@click.option("--freeze", multiple=True, help="A further definition that must not change.")
@click.option("--title", default="", help="What the task is about.")
@click.option(
    "--heartbeats",
    type=click.IntRange(1),
    default=200_000_000,
    show_default=True,
    help="Kernel steps for each declaration.",
)
def new(
    project: Path,
    task_folder: Path,
    targets: tuple[str, ...],
    editable: tuple[str, ...],
    background: tuple[str, ...],
    freeze: tuple[str, ...],
    title: str,
    heartbeats: int,
) -> None:
    """Make the task package TASK from a Lean PROJECT (a folder or a .lean file), or from a task that we ship."""
    from proverbench.compression.authoring import Order, make_task, read_sources, write_task
    from proverbench.compression.presenting import render_task_made
    from proverbench.compression.tasks import load_task, shipped_tasks

    if not project.exists():
        shipped = shipped_tasks()
        if str(project) not in shipped:
            raise DataError(f"{project}: no such folder, and no task of ours ({', '.join(sorted(shipped))})")
        task = load_task(shipped[str(project)])
    elif not targets:
        raise click.UsageError("give at least one --target THEOREM")
    else:
        order = Order(task_folder.resolve().name, targets, title, editable, background, freeze, heartbeats)
        task = make_task(read_sources(project), order, _kernel(heartbeats, 600, 8_192))
    write_task(task, task_folder)
    click.echo(render_task_made(task, task_folder))


def _kernel(heartbeats: int, time_s: int, memory_mb: int) -> Any:
    from proverbench.compression.kernel import LeanKernel, Limits, find_library

    library = find_library()
    if library is None:
        raise DataError("no Lean here: pip install 'proverbench[lean]' (Linux x86-64)")
    return LeanKernel(library, Limits(heartbeats, time_s, memory_mb))
