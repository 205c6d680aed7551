"""Which interval people are shown. Pure, and without numpy: commands that only print load it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

WILSON, NARROW = "*", "†"
FOOTNOTES = {
    WILSON: "* Wilson-type interval: few problems, or nearly all alike (docs/metrics.md)",
    NARROW: "† too few problems: this interval is too narrow (docs/coverage.md)",
}
"""What a mark says: the bootstrap is unreliable there, and there is a Wilson-type interval instead, or there is none.
Each fits into a line of 80 columns."""


class Shown(NamedTuple):
    """An interval as it is shown."""

    low: float
    high: float
    mark: str
    """One of FOOTNOTES, or nothing."""


def shown_interval(interval: Mapping[str, Any] | None) -> Shown | None:
    """The interval to show of one from summary.json: Wilson's where the bootstrap is called unreliable.

    Returns:
        None when there is none, as for a single problem.
    """
    if interval is None:
        return None
    wilson = interval.get("wilson") if interval.get("unreliable") else None
    if wilson and wilson.get("low") is not None:
        return Shown(wilson["low"], wilson["high"], WILSON)
    if interval.get("low") is None:
        return None
    return Shown(interval["low"], interval["high"], NARROW if interval.get("unreliable") else "")


def intervals_in(result: Any) -> Iterator[Mapping[str, Any]]:
    """Every interval of a nested result: whatever stands under a name that ends so."""
    if isinstance(result, dict):
        for name, part in result.items():
            yield from [part] if name.endswith("interval") and part is not None else intervals_in(part)
    elif isinstance(result, list):
        for part in result:
            yield from intervals_in(part)


def footnotes(intervals: Iterable[Mapping[str, Any] | None]) -> Iterator[str]:
    """What the marks say that these intervals are shown with."""
    marks = {shown.mark for shown in map(shown_interval, intervals) if shown is not None}
    return (text for mark, text in FOOTNOTES.items() if mark in marks)
