"""Ctrl-C, SIGTERM and a closed terminal: what each does to a command, and the exit code that it then has."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

import click

from proverbench.cli.streams import OutputError, say
from proverbench.errors import ProverBenchError

EXIT_SIGINT = 130
EXIT_SIGTERM = 143
EXIT_OF_SIGNAL: dict[int, int] = {signal.SIGINT: EXIT_SIGINT, signal.SIGTERM: EXIT_SIGTERM, signal.SIGHUP: 129}
"""The signals that end a run tidily, and how its process then ends."""
_AGAIN_S = 0.01
_GONE_S = 1.0
"""How long a killed process is waited for: one that nobody reaps never goes."""


def say_stopped(number: int) -> None:
    """What ended a command."""
    say("stopped by Ctrl-C" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}")


def heeded_signals() -> list[signal.Signals]:
    """The signals of :data:`EXIT_OF_SIGNAL`; without SIGHUP behind nohup, which has it ignored."""
    return [
        signal.Signals(number)
        for number in EXIT_OF_SIGNAL
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
    ]


@contextmanager
def first_interrupt(on_first: Callable[[], object]) -> Iterator[None]:
    """While it lasts, the first Ctrl-C calls ``on_first`` and a second one stops at once.

    Where Ctrl-C is ignored, it stays so. For work in threads; in an event loop use stop_signals.StopSignals.
    """
    came = False

    def take(*_: object) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True
        on_first()

    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, take)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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


@contextmanager
def interrupts_kept() -> Iterator[None]:
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
