"""Which interval people are shown. Pure, and without numpy: commands that only print load it."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Shown(NamedTuple):
    """An interval as it is shown."""

    low: float
    high: float
    starred: bool
    """Whether it is the Wilson-type one, because the bootstrap is unreliable here."""


STAR = "* Wilson-type interval: few problems, or nearly all alike (docs/metrics.md)"
"""What the star says: the bootstrap is unreliable there. It fits into a line of 80 columns."""


def shown_interval(interval: Mapping[str, Any] | None) -> Shown | None:
    """The interval to show of one from summary.json: Wilson's where the bootstrap is called unreliable.

    Returns:
        None when there is none, as for a single problem.
    """
    if interval is None:
        return None
    chosen = interval.get("wilson") if interval.get("unreliable") else interval
    if not chosen or chosen.get("low") is None:
        chosen = interval
    if chosen.get("low") is None:
        return None
    return Shown(chosen["low"], chosen["high"], bool(interval.get("unreliable")))
