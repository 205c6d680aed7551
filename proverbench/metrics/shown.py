"""Which interval people are shown, and what is said beside it. Pure.

Loads no numpy, for commands that only print.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

LITTLE_EVIDENCE = 3
"""An interval that rests on fewer problems says so in a footnote."""


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
    """One line about the intervals that rest on few problems, if there are any; all of them are named.

    Args:
        intervals: What each is of, and the interval; of one name the one that rests on least counts.
    """
    yield from _footnote((name, "", interval) for name, interval in intervals)


def split_footnotes(splits: Mapping[str, Mapping[str, Any] | None]) -> Iterator[str]:
    """The same of several splits, which are named with what they are about.

    Args:
        splits: By name of a split, its intervals by metric.
    """
    yield from _footnote(
        (name, split, interval) for split, found in splits.items() for name, interval in (found or {}).items()
    )


def _footnote(intervals: Iterable[tuple[str, str, Mapping[str, Any] | None]]) -> Iterator[str]:
    least: dict[tuple[str, str], float] = {}
    for name, split, interval in intervals:
        evidence = None if interval is None or interval.get("low") is None else interval.get("evidence")
        if evidence is not None and evidence < LITTLE_EVIDENCE:
            least[name, split] = min(evidence, least.get((name, split), evidence))
    by_count: dict[int, dict[str, list[str]]] = {}
    for (name, split), evidence in least.items():
        by_count.setdefault(round(evidence), {}).setdefault(name, []).append(split)
    if by_count:
        groups = (f"on {count}: {_names(names)}" for count, names in sorted(by_count.items()))
        yield f"Rests on few problems with the rarer outcome: {'; '.join(groups)}."


def _names(found: Mapping[str, list[str]]) -> str:
    """Metrics, each with its splits if it has any."""
    return ", ".join(f"{name} ({', '.join(splits)})" if any(splits) else name for name, splits in found.items())
