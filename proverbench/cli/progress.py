"""What a run shows on stderr while it goes: one live table on a terminal, one line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from proverbench.ask.executors.base import HasState
from proverbench.ask.progress import StageCount
from proverbench.cli.streams import say
from proverbench.cli.tables import PlainConsole
from proverbench.records import Role

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from proverbench.spending.budget import Spent

_QUIET_EVERY_S = 60.0
"""Where stderr is no terminal, a line comes this often, so that a log shows life without filling up."""

_SILENT_S = 5.0
"""A pause of so long, and longer than all the time that was left by the pace before, says that the pace is another."""


class Display:
    """Shows progress until the block ends.

    Args:
        stages: Role → its counts, kept up to date while calls are made.
        callers: The endpoints, for what they do at the moment.
        spent: Money and tokens so far.
        stopping: Whether nothing new is asked any more.
    """

    def __init__(
        self,
        stages: Mapping[Role, StageCount],
        callers: Mapping[Role, HasState],
        spent: "Spent",
        stopping: Callable[[], bool],
    ) -> None:
        self._stages = stages
        self._callers = callers
        self._spent = spent
        self._stopping = stopping
        self._time_left = TimeLeft()
        self._next_line = time.monotonic() + _QUIET_EVERY_S
        self._notes_shown: set[str] = set()
        self._live: Live | None = None

    def __enter__(self) -> "Display":
        if sys.stderr.isatty():
            self._live = Live(
                console=PlainConsole(stderr=True), get_renderable=self._table, refresh_per_second=4, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._say_notes()
        if self._live is not None:
            self._live.stop()

    def tick(self) -> None:
        """Called as answers come; writes a line when it is time for one."""
        self._say_notes()
        if self._live is None and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _QUIET_EVERY_S
            self.say(self.line())

    def say(self, message: str) -> None:
        """One line on stderr, above the live table where there is one."""
        if self._live is not None:
            self._live.console.print(message)
        else:
            say(message)

    def line(self) -> str:
        """The present state in one line."""
        parts = [f"{role} {count.answered}/{count.wanted}" for role, count in self._stages.items()]
        return ", ".join([*parts, f"{self.in_flight()} in flight", *self._words()])

    def _words(self) -> list[str]:
        """What is said beside the counts."""
        return [*self._pauses(), *self._in_batches(), *self._money(), self._ahead()]

    def in_flight(self) -> int:
        """Calls that wait for their answer at this moment, over all endpoints."""
        return sum(self._awaiting(role) for role in self._stages)

    def _awaiting(self, role: Role) -> int:
        return self._callers[role].state.awaiting[role] if role in self._callers else 0

    def in_batches(self) -> int:
        """Calls in batches that are waited for."""
        return sum(count.in_batches for count in self._stages.values())

    def _in_batches(self) -> list[str]:
        batches = [counts for count in self._stages.values() for counts in count.batches.values()]
        if not batches:
            return []
        calls, done = sum(size for size, _ in batches), sum(done for _, done in batches)
        return [f"{calls} in {len(batches)} batch{'es' if len(batches) > 1 else ''} of which {done} are done"]

    def _pauses(self) -> list[str]:
        left = max((caller.state.paused_until - time.monotonic() for caller in self._callers.values()), default=0.0)
        return [f"waiting {left:.0f} s as the server asks"] if left >= 1 and not self._stopping() else []

    def _money(self) -> list[str]:
        return self._spent.words({role: count.wanted for role, count in self._stages.items()})

    def _say_notes(self) -> None:
        for caller in self._callers.values():
            for note in caller.state.notes:
                if note not in self._notes_shown:
                    self._notes_shown.add(note)
                    self.say(note)

    def _ahead(self) -> str:
        if self._stopping():
            return "asking nothing new"
        got = sum(count.got for count in self._stages.values())
        left = sum(count.wanted - count.answered for count in self._stages.values())
        return self._time_left.words(got, left, self.in_flight())

    def _table(self) -> "RenderableType":
        table = Table(box=None, pad_edge=False)
        for name in ("", "answered", "of", "in flight", "limit", "valid", "unanswered"):
            table.add_column(name, justify="left" if not name else "right")
        for role, count in self._stages.items():
            caller = self._callers.get(role)
            table.add_row(
                role,
                str(count.answered),
                str(count.wanted),
                str(self._awaiting(role)),
                str(caller.state.concurrency) if caller else "",
                f"{count.valid / count.got:.0%}" if count.got else "",
                str(count.unanswered or ""),
            )
        return Group(table, Text(", ".join(self._words())))


class TimeLeft:
    """How long a session may still take, as far as the pace of its answers says it.

    The last calls end when they will, whatever the pace was, and so does a server that has fallen silent.

    Args:
        clock: Monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._latest = clock()
        self._got = 0

    def words(self, got: int, left: int, in_flight: int) -> str:
        """What is ahead.

        Args:
            got: Calls answered in this session.
            left: Calls that are not answered.
            in_flight: Of these, those that wait for their answer at this moment.
        """
        now = self._clock()
        if got != self._got:
            self._got, self._latest = got, now
        if 0 < left <= in_flight:
            return f"waiting for the last {'answer' if left == 1 else f'{left:,} answers'}"
        if not got:
            return "time left unknown"
        silent = now - self._latest
        seconds = left * (self._latest - self._began) / got - silent
        if left and seconds <= 0 and silent >= _SILENT_S:
            return f"no answer for {duration(silent)}, time left unknown"
        return f"about {duration(max(seconds, 0.0))} left"


def duration(seconds: float) -> str:
    """A time in seconds, in words."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
