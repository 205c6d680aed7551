"""How the commands over saved runs show numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from proverbench.cli import pages
from proverbench.cli.pages import printable
from proverbench.metrics.shown import shown_interval

_PIPED_WIDTH = 1_000_000
"""Columns when the output is no terminal: nothing is wrapped or cut there, so that ``grep`` finds whole sentences."""


class PlainConsole(Console):
    """Shows every string as it is, for names and replies come from anywhere.

    Neither markup nor emoji codes are read, and control characters are spelled out.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """The text as rich shows it; all strings, also those in tables, come through here."""
        return super().render_str(printable(text), **options)


def console() -> Console:
    """The console for results, on stdout."""
    return PlainConsole(width=None if pages.on_terminal() else _PIPED_WIDTH)


def table(title: str, *columns: str) -> Table:
    """A plain table; the first column is text and whole, the others are right-aligned. :func:`show` prints it."""
    made = Table(title=plain(title), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place == 0 else "right", no_wrap=place == 0, overflow="fold")
    return made


def show(out: Console, made: Table) -> None:
    """Print a table under its title, then an empty line; rich itself would wrap the title to the table's width.

    Where the terminal is narrow, columns stand closer, and what still does not fit is folded, never cut.
    """
    title, made.title = made.title, None
    if not fits(out, made):
        made.padding = (0, 1, 0, 0)
    out.print(title, style="bold")
    out.print(made)
    out.print()


def plain(text: str) -> Text:
    """Text that rich must not read as its own markup."""
    return Text(printable(text))


def number(value: float | None, digits: int = 3) -> str:
    """A value, or ``-`` where it is undefined."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def ends(interval: Mapping[str, Any] | None, *, digits: int = 3) -> str:
    """``[low, high]``; empty when there is none."""
    shown = shown_interval(interval)
    if shown is None:
        return ""
    return f"[{shown.low:.{digits}f}, {shown.high:.{digits}f}]"


def p_text(p: float) -> str:
    """A p-value in four decimals, or in powers of ten where it is smaller than they can say."""
    return f"{p:.4f}" if p >= 0.001 else f"{p:.1e}"


@dataclass(frozen=True, slots=True)
class ValueCell:
    """A cell: a value and its interval, ``0.640 [0.581, 0.702]``, under each other where the column is narrow."""

    value: str
    ends: str

    def __str__(self) -> str:
        return f"{self.value} {self.ends}".strip()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the longer of both to both."""
        return Measurement(max(len(self.value), len(self.ends)), len(str(self)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """In one line, or in two."""
        whole = str(self)
        yield Text(whole if len(whole) <= options.max_width else f"{self.value}\n{self.ends}", overflow="fold")


def with_ends(value: float | None, interval: Mapping[str, Any] | None) -> ValueCell:
    """The cell of a value and its interval."""
    return ValueCell(number(value), ends(interval))


def fits(out: Console, made: Table) -> bool:
    """Whether the table's columns stand beside each other without a cell being cut."""
    return Measurement.get(out, out.options.update(max_width=_PIPED_WIDTH), made).minimum <= out.width
