"""What every command shares: exit codes, how errors are shown, common options."""

import os
import sys
from typing import Any

import click

from proverbench.errors import EndpointError, JournalError, ProverBenchError, UserInputError

EXIT_COMPLETE = 0
EXIT_INCOMPLETE = 1
EXIT_BAD_INPUT = 2
EXIT_SIGINT = 130
EXIT_SIGTERM = 143


class HandlesErrors(click.Command):
    """A command whose expected errors end as one short message on stderr and an exit code, never as a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; the only place that turns an error into an exit code."""
        kwargs["standalone_mode"] = False
        try:
            _require_posix()
            _tolerate_any_console()
            code = super().main(*args, **kwargs)
            sys.stdout.flush()
        except click.exceptions.Exit as exc:
            code = exc.exit_code
        except click.ClickException as exc:
            exc.show()
            code = EXIT_BAD_INPUT
        except (click.Abort, KeyboardInterrupt):
            say("stopped by Ctrl-C")
            code = EXIT_SIGINT
        except BrokenPipeError:
            # The reader (less, head) left. Python would complain once more at exit while flushing stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = EXIT_COMPLETE
        except UserInputError as exc:
            say(f"error: {exc}")
            code = EXIT_BAD_INPUT
        except (EndpointError, JournalError, ProverBenchError) as exc:
            say(f"error: {exc}")
            code = EXIT_INCOMPLETE
        sys.exit(code if isinstance(code, int) else EXIT_COMPLETE)


def say(message: str) -> None:
    """One message to the user, on stderr: results alone go to stdout."""
    click.echo(message, err=True)


def _require_posix() -> None:
    if os.name != "posix":
        raise UserInputError("proverbench runs on Linux and macOS; Windows is not supported (use WSL)")


def _tolerate_any_console() -> None:
    """Let a console that cannot show ℝ print ``?`` instead of crashing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
