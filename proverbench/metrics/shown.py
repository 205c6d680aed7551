"""Which interval people are shown, and what is said beside it. Pure.

Loads no numpy, for commands that only print.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

LITTLE_EVIDENCE = 3
"""An interval that rests on fewer problems says so in a footnote."""
_NAMED = 3
"""So many are named there."""


class Shown(NamedTuple):
    """An interval as it is shown."""

    low: float
    high: float


def shown_interval(interval: Mapping[str, Any] | None) -> Shown | None:
    """The ends of an interval from summary.json.

    Returns:
        None when there is none, as for a single problem.
    """
    if interval is None or interval.get("low") is None:
        return None
    return Shown(interval["low"], interval["high"])


def named_intervals(result: Any, name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every interval of a nested result, whatever stands under a name that ends so, with what it is of."""
    if isinstance(result, dict):
        own = str(result.get("metric") or result.get("measure") or name)
        for key, part in result.items():
            if key.endswith("interval") and part is not None:
                yield own, part
            else:
                yield from named_intervals(part, str(key))
    elif isinstance(result, list):
        for part in result:
            yield from named_intervals(part, name)


def footnotes(intervals: Iterable[tuple[str, Mapping[str, Any] | None]]) -> Iterator[str]:
    """One line about the intervals that rest on few problems, if there are any.

    Args:
        intervals: What each is of, and the interval.
    """
    least: dict[str, float] = {}
    for name, interval in intervals:
        evidence = None if interval is None or interval.get("low") is None else interval.get("evidence")
        if evidence is not None and evidence < LITTLE_EVIDENCE:
            least[name] = min(evidence, least.get(name, evidence))
    if least:
        first = ", ".join(f"{name} on {evidence:.2g}" for name, evidence in list(least.items())[:_NAMED])
        more = f" and {len(least) - _NAMED} more" if len(least) > _NAMED else ""
        yield f"Rests on few problems with the rarer outcome: {first}{more}."
