"""How the commands over saved runs show numbers."""

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console
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
    """A plain table; the first column is text, the others are right-aligned. :func:`show` prints it."""
    made = Table(title=plain(title), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place == 0 else "right")
    return made


def show(out: Console, made: Table) -> None:
    """Print a table under its title, then an empty line; rich itself would wrap the title to the table's width."""
    title, made.title = made.title, None
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
    """``[low, high]``, marked where the bootstrap is unreliable (metrics/shown.py); empty when there is none."""
    shown = shown_interval(interval)
    if shown is None:
        return ""
    return f"[{shown.low:.{digits}f}, {shown.high:.{digits}f}]{shown.mark}"


def with_ends(value: float | None, interval: Mapping[str, Any] | None) -> str:
    """``0.640 [0.581, 0.702]``."""
    return f"{number(value)} {ends(interval)}".rstrip()
