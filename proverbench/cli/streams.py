"""Standard output and standard error: results on one, messages on the other, and either may break."""

import errno
import io
import json
import os
import stat
import sys
from contextlib import suppress
from typing import Any

import click

from proverbench.cli.pages import printable


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


def say(message: str) -> None:
    """One message to the user, on stderr: results alone go to stdout."""
    click.echo(printable(message), err=True)


def echo(text: str) -> None:
    """One result, on stdout; control characters in it are spelled out, for names and replies come from anywhere."""
    click.echo(printable(text))


def echo_json(value: object) -> None:
    """A result for scripts, on stdout; ASCII alone, because a reply may hold what no output encoding can."""
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2))


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
