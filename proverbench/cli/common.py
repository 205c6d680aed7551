"""What every command shares: how it begins, and how its errors end as a message and an exit code."""

import os
import signal
import sys
import traceback
from typing import Any

import click

from proverbench.cli.signals import EXIT_SIGINT, interrupts_kept, say_stopped
from proverbench.cli.streams import OutputError, discard_unwritten, open_streams, say
from proverbench.errors import ProverBenchError, UserInputError

EXIT_COMPLETE = 0
EXIT_INCOMPLETE = 1
EXIT_BAD_INPUT = 2


class HandlesErrors(click.Command):
    """A command whose expected errors end as one short message on stderr and an exit code, never as a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; errors that end it become an exit code here."""
        kwargs["standalone_mode"] = False
        code: object = None
        try:
            open_streams()
            _require_posix()
            with interrupts_kept():
                code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except click.exceptions.Exit as exc:
            code = exc.exit_code
        except click.ClickException as exc:
            exc.show()
            code = EXIT_BAD_INPUT
        except (click.Abort, KeyboardInterrupt):
            say_stopped(signal.SIGINT)
            code = EXIT_SIGINT
        except OutputError as exc:
            if not exc.reader_left:
                say(f"error: {exc}")
                code = EXIT_INCOMPLETE
        except UserInputError as exc:
            say(f"error: {exc}")
            code = EXIT_BAD_INPUT
        except ProverBenchError as exc:
            say(f"error: {exc}")
            code = EXIT_INCOMPLETE
        except (OSError, MemoryError, UnicodeError) as exc:
            say(f"error: {_of_the_system(exc)}")
            code = EXIT_INCOMPLETE
        except Exception:
            traceback.print_exc()
            say("error: this is a fault of the program. What a run has saved is whole; go on with --resume")
            code = EXIT_INCOMPLETE
        discard_unwritten()
        sys.exit(code if isinstance(code, int) else EXIT_COMPLETE)


class CommandGroup(HandlesErrors, click.Group):
    """A group whose list of commands has their whole first sentences; click would cut them after 45 characters."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=200)) for name, command in commands if command])


def _of_the_system(exc: OSError | MemoryError | UnicodeError) -> str:
    if isinstance(exc, MemoryError):
        return "not enough memory. What a run has saved is whole; go on with --resume"
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror if exc.filename is None else f"{os.fsdecode(exc.filename)}: {exc.strerror}"
    return str(exc) or type(exc).__name__


def _require_posix() -> None:
    if os.name != "posix":
        raise UserInputError("proverbench runs on Linux and macOS; Windows is not supported (use WSL)")
