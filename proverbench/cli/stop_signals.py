"""Signals to work in an event loop; apart from signals.py, so that commands without one load no asyncio."""

import asyncio
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self

from proverbench.cli.signals import EXIT_OF_SIGNAL, heeded_signals


class StopSignals:
    """What the signals of :data:`EXIT_OF_SIGNAL` do to a task of an event loop, while the block lasts.

    The first Ctrl-C asks it to stop in its own time. Any other signal, or a second Ctrl-C, cancels it, once: what ends
    it tidily must not itself be cancelled by an impatient user.

    Args:
        on_first_interrupt: Called at the first Ctrl-C; without it that cancels too.

    Attributes:
        came: The latest signal; None while there was none.
    """

    def __init__(self, on_first_interrupt: Callable[[], object] | None = None) -> None:
        self.came: signal.Signals | None = None
        self._on_first_interrupt = on_first_interrupt
        self._task: asyncio.Task[object] | None = None
        self._numbers: list[signal.Signals] = []

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        self._numbers = heeded_signals()
        for number in self._numbers:
            asyncio.get_running_loop().add_signal_handler(number, self._take, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disarm()
        for number in self._numbers:
            asyncio.get_running_loop().remove_signal_handler(number)

    def disarm(self) -> None:
        """From now on signals are only noted: the work is over, and what is left must not be cancelled."""
        self._task = None

    @property
    def armed(self) -> bool:
        """Whether another signal would cancel the task."""
        return self._task is not None

    def _take(self, number: signal.Signals) -> None:
        first = self.came is None
        self.came = number
        if number == signal.SIGINT and first and self._on_first_interrupt is not None:
            self._on_first_interrupt()
        elif self._task is not None:
            task, self._task = self._task, None
            task.cancel()

    @property
    def exit_code(self) -> int | None:
        """How the process should end; None if no signal came."""
        return None if self.came is None else EXIT_OF_SIGNAL[self.came]
