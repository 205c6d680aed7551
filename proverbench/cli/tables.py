"""How the commands over saved runs show numbers."""

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPED_WIDTH = 110
"""Columns when the output is no terminal."""


def console() -> "Console":
    """The console for results, on stdout."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)


def table(title: str, *columns: str) -> "Table":
    """A plain table; the first column is text, the others are right-aligned. :func:`show` prints it."""
    from rich.table import Table

    made = Table(title=plain(title), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place == 0 else "right")
    return made


def show(out: "Console", made: "Table") -> None:
    """Print a table under its title, then an empty line; rich itself would wrap the title to the table's width."""
    title, made.title = made.title, None
    out.print(title, style="bold")
    out.print(made)
    out.print()


def plain(text: str) -> Any:
    """Text that rich must not read as its own markup."""
    from rich.text import Text

    return Text(text)


def number(value: float | None, digits: int = 3) -> str:
    """A value, or ``-`` where it is undefined."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def ends(interval: Mapping[str, Any] | None, *, digits: int = 3) -> str:
    """``[low, high]``, marked ``*`` where it is called unreliable; empty when there is none."""
    if interval is None or interval.get("low") is None:
        return ""
    mark = "*" if interval.get("unreliable") else ""
    return f"[{interval['low']:.{digits}f}, {interval['high']:.{digits}f}]{mark}"


def with_ends(value: float | None, interval: Mapping[str, Any] | None) -> str:
    """``0.640 [0.581, 0.702]``."""
    return f"{number(value)} {ends(interval)}".rstrip()


UNRELIABLE = (
    "* unreliable: few problems, or nearly all or none succeed; --json has a Wilson-type interval "
    "(docs/metrics.md, Intervals)"
)
