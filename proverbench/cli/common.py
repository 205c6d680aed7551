"""What every command shares: exit codes, signals, how results and errors are shown, and streams that may break."""

import errno
import io
import json
import os
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from proverbench.cli.pages import printable
from proverbench.errors import ProverBenchError, UserInputError

EXIT_COMPLETE = 0
EXIT_INCOMPLETE = 1
EXIT_BAD_INPUT = 2
EXIT_SIGINT = 130
EXIT_SIGTERM = 143
EXIT_OF_SIGNAL: dict[int, int] = {signal.SIGINT: EXIT_SIGINT, signal.SIGTERM: EXIT_SIGTERM, signal.SIGHUP: 129}
"""The signals that end a run tidily, and how its process then ends."""
_AGAIN_S = 0.01
_GONE_S = 1.0
"""How long a killed process is waited for: one that nobody reaps never goes."""


class OutputError(Exception):
    """Standard output takes nothing any more.

    It is no OSError, so that nobody on its way takes it for a fault of a file or a connection.

    Attributes:
        reason: The system's words.
        reader_left: Whether the reader of a pipe (less, head) had enough, or the terminal was closed. Otherwise
            something is wrong.
    """

    def __init__(self, fault: OSError) -> None:
        super().__init__(f"cannot write to standard output: {fault.strerror}")
        self.reason = fault.strerror
        terminal_gone = fault.errno == errno.EIO and stat.S_ISCHR(os.fstat(1).st_mode)
        self.reader_left = terminal_gone or isinstance(fault, BrokenPipeError)


RESAMPLES = click.option(
    "--resamples",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="Bootstrap resamples for each interval.",
)
"""Of every command that computes intervals."""


class HandlesErrors(click.Command):
    """A command whose expected errors end as one short message on stderr and an exit code, never as a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; errors that end it become an exit code here."""
        kwargs["standalone_mode"] = False
        code: object = None
        try:
            open_streams()
            _require_posix()
            with _ctrl_c_stays_one():
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


@contextmanager
def _ctrl_c_stays_one() -> Iterator[None]:
    """In the midst of an import, KeyboardInterrupt may turn into another exception: here it becomes one again.

    Signals are noted for that until an event loop takes them over, which has its own ways.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    try:
        for fd in (reader, writer):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        try:
            yield
        except (ProverBenchError, OutputError, click.exceptions.Exit, click.ClickException):
            raise
        except Exception as exc:
            with suppress(BlockingIOError):
                if signal.SIGINT in os.read(reader, 1 << 16):
                    raise KeyboardInterrupt from exc
            raise
        finally:
            signal.set_wakeup_fd(-1)
    finally:
        os.close(reader)
        os.close(writer)


def say(message: str) -> None:
    """One message to the user, on stderr: results alone go to stdout."""
    click.echo(printable(message), err=True)


def say_stopped(number: int) -> None:
    """What ended a command."""
    say("stopped by Ctrl-C" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}")


def echo(text: str) -> None:
    """One result, on stdout; control characters in it are spelled out, for names and replies come from anywhere."""
    click.echo(printable(text))


def echo_json(value: object) -> None:
    """A result for scripts, on stdout; ASCII alone, because a reply may hold what no output encoding can."""
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2))


def heeded_signals() -> list[signal.Signals]:
    """The signals of :data:`EXIT_OF_SIGNAL`; without SIGHUP behind nohup, which has it ignored."""
    return [
        signal.Signals(number)
        for number in EXIT_OF_SIGNAL
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    ]


@contextmanager
def ending_tidily() -> Iterator[None]:
    """While it lasts, SIGTERM and a closed terminal unwind the command, as Ctrl-C does.

    So temporary folders are removed and child processes ended, where otherwise the process would just be gone.
    """
    came: int | None = None
    report = sys.unraisablehook

    def end(number: int, _: object) -> NoReturn:
        nonlocal came
        if came is None:
            say_stopped(number)
        came = number
        sys.exit(EXIT_OF_SIGNAL[number])

    def swallowed(what: "sys.UnraisableHookArgs") -> None:
        """Python drops what is raised in a finaliser, and any moment may be within one: then end a little later."""
        if came is None or not isinstance(what.exc_value, SystemExit):
            report(what)
            return
        again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), came))
        again.daemon = True
        again.start()

    before = {number: signal.signal(number, end) for number in heeded_signals() if number != signal.SIGINT}
    sys.unraisablehook = swallowed
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        _end_children()
        raise
    finally:
        sys.unraisablehook = report
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_children() -> None:
    """Kill what still runs: a signal may have come after a child started, before anybody waited for its end."""
    import psutil

    children = psutil.Process().children(recursive=True)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children, timeout=_GONE_S)


class CommandGroup(HandlesErrors, click.Group):
    """A group whose list of commands has their whole first sentences; click would cut them after 45 characters."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=200)) for name, command in commands if command])


def open_streams() -> None:
    """Make stdout and stderr such that they can be written to, whatever the shell has done with them.

    What stderr cannot take is lost. What stdout cannot take is an :class:`OutputError`. A console that cannot show ℝ
    gets ``?``.
    """
    # A file opened later would get the number of a closed stream, and then every message that is meant for that one.
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    for name, kind in (("stdout", _Results), ("stderr", _Messages)):
        old = getattr(sys, name)
        if old is None or old is getattr(sys, f"__{name}__"):
            setattr(sys, name, _opened(name, kind, old))
        elif hasattr(old, "reconfigure"):  # someone else's, such as pytest's
            old.reconfigure(errors="replace")


def discard_unwritten() -> None:
    """Drop what stdout could not take; otherwise Python itself would complain of it at the end."""
    try:
        sys.stdout.flush()
    except (OutputError, OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


class _Results(io.FileIO):
    """The bottom of stdout."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as exc:
            raise OutputError(exc) from exc


class _Messages(io.FileIO):
    """The bottom of stderr. Work that is paid for must not stop because nobody listens."""

    def write(self, data: Any, /) -> int:
        written: int | None = None
        with suppress(OSError):
            written = super().write(data)  # None: a full pipe that does not wait
        return memoryview(data).nbytes if written is None else written


def _opened(name: str, kind: type[io.FileIO], old: Any) -> io.TextIOWrapper:
    if old is not None:
        with suppress(OSError):
            old.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(1 if name == "stdout" else 2, "w", closefd=False)),
        encoding="utf-8" if old is None else old.encoding,
        errors="replace",
        line_buffering=old is None or old.line_buffering or old.write_through,
    )


def _of_the_system(exc: OSError | MemoryError | UnicodeError) -> str:
    if isinstance(exc, MemoryError):
        return "not enough memory. What a run has saved is whole; go on with --resume"
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror if exc.filename is None else f"{os.fsdecode(exc.filename)}: {exc.strerror}"
    return str(exc) or type(exc).__name__


def _require_posix() -> None:
    if os.name != "posix":
        raise UserInputError("proverbench runs on Linux and macOS; Windows is not supported (use WSL)")
