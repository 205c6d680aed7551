"""What the commands of ``compressionbench`` share: exit codes, options, and the kernel with its limits."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proverbench.cli.common import CommandGroup, HandlesErrors
from proverbench.cli.signals import ending_tidily
from proverbench.cli.streams import echo_json, say
from proverbench.errors import DataError

if TYPE_CHECKING:
    from proverbench.compression.checking import Check
    from proverbench.compression.isolation import Isolation
    from proverbench.compression.kernel import LeanKernel

EXIT_VALID = 0
EXIT_INVALID = 1
EXIT_STOPPED = 3
NEW_S = 3_600
"""Limit on building a new task's sources, which are the author's own."""

FOLDER = click.Path(path_type=Path)
TASK_ARGUMENT = click.argument("task_folder", metavar="[TASK]", type=FOLDER, default=Path())
WORK_OPTION = click.option("--work", type=FOLDER, help="Folder with your files. [default: TASK/work]")
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
UNSAFE_OPTION = click.option(
    "--unsafe", is_flag=True, help="Without a sandbox: compiling a Lean file runs the code in it, as you."
)


class Command(HandlesErrors):
    """A command with this program's exit codes: 0 valid, 1 invalid or refused, 2 bad command line, 3 stopped."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; bad input is a refusal here, not a bad command line."""
        from proverbench.compression.limits import StoppedError

        as_json = bool(ctx.params.get("as_json"))
        try:
            with ending_tidily():
                return super().invoke(ctx)
        except StoppedError as exc:
            _say_end(as_json, "stopped", str(exc))
            ctx.exit(EXIT_STOPPED)
        except DataError as exc:
            _say_end(as_json, "refused", str(exc))
            ctx.exit(EXIT_INVALID)


def _say_end(as_json: bool, how: str, why: str) -> None:
    say("\n".join(f"{how}: {line}" for line in why.split("\n")))
    if as_json:
        echo_json({"verdict": None, how: why.split("\n")})


class Group(CommandGroup):
    """The group; its commands are all of the class above."""

    command_class = Command


def lean_kernel(
    heartbeats: int, time_s: int, memory_mb: int, *, unsafe: bool, disk_mb: int = 64
) -> "LeanKernel | None":
    """Lean's kernel with some limits; None where it is not installed."""
    from proverbench.compression.kernel import LeanKernel, find_library
    from proverbench.compression.limits import Allowance

    library = find_library()
    limits = Allowance(heartbeats, time_s, memory_mb, disk_mb=disk_mb)
    return None if library is None else LeanKernel(library, limits, isolation_of(unsafe))


def isolation_of(unsafe: bool) -> "Isolation | None":
    """What ``--unsafe`` says: no isolation, or (None) the one that this system has."""
    from proverbench.compression.isolation import UNSAFE

    return UNSAFE if unsafe else None


def required_kernel(heartbeats: int, time_s: int, memory_mb: int, *, unsafe: bool, disk_mb: int = 64) -> "LeanKernel":
    """The same.

    Raises:
        DataError: Where it is not installed.
    """
    from proverbench.compression.checking import NO_LEAN

    kernel = lean_kernel(heartbeats, time_s, memory_mb, unsafe=unsafe, disk_mb=disk_mb)
    if kernel is None:
        raise DataError(NO_LEAN)
    return kernel


def checked(task_folder: Path, work: Path | None, *, unsafe: bool) -> "Check":
    """A participant's version of a task, checked."""
    from proverbench.compression.checking import check_sources
    from proverbench.compression.tasks import load_task, load_work

    task = load_task(task_folder)
    sources, misplaced = load_work(work or task_folder / "work", task)
    if misplaced:
        raise DataError.of(misplaced)
    spec = task.spec
    kernel = lean_kernel(spec.heartbeats, spec.time_s, spec.memory_mb, unsafe=unsafe, disk_mb=spec.disk_mb)
    return check_sources(task, sources, kernel, build_folder=task_folder / "build")
