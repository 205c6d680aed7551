"""What the commands of ``compressionbench`` share: exit codes, options, and the kernel with its limits."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import CommandGroup, HandlesErrors
from proverbench.cli.signals import ending_tidily
from proverbench.cli.streams import echo_json, say
from proverbench.compression.limits import StoppedError
from proverbench.errors import DataError

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
