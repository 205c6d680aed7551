"""Every metric, and how to look one up. Nothing else lists them."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from proverbench.errors import UserInputError
from proverbench.metrics import graded, proverbench, verifierbench
from proverbench.metrics.metric import SPECIAL, Metric, Need
from proverbench.records import Task

METRICS: tuple[Metric, ...] = (*proverbench.METRICS, *verifierbench.METRICS, *graded.METRICS)
"""In the order of summary.json and docs/metrics.md."""


def metrics_of(task: Task, *, meta: bool = True, offers: Collection[Need] = frozenset()) -> dict[str, Metric]:
    """The metrics of a benchmark, by name.

    Args:
        task: Which benchmark.
        meta: Whether a meta-verifier was asked; without one, no metric needs it.
        offers: What the run has of what only some protocols give.
    """
    lacking = SPECIAL.difference(offers) | (frozenset() if meta else {"meta"})
    return {
        metric.name: metric for metric in METRICS if metric.benchmark == task and not metric.needs.intersection(lacking)
    }


def every_metric(task: Task) -> dict[str, Metric]:
    """All metrics of a benchmark, by name, whatever they need."""
    return metrics_of(task, offers=SPECIAL)


def headlines(task: Task, *, meta: bool = True) -> list[str]:
    """Names of the headline metrics of a benchmark, the one that runs are ranked by first."""
    found = [metric for metric in metrics_of(task, meta=meta).values() if metric.headline is not None]
    return [metric.name for metric in sorted(found, key=lambda metric: metric.headline or 0)]


def headlines_first(task: Task, *, meta: bool = True) -> list[str]:
    """Names of all metrics of a benchmark in the order that people look for them."""
    return list(dict.fromkeys([*headlines(task, meta=meta), *metrics_of(task, meta=meta)]))


def unit_note(names: Iterable[str]) -> str:
    """Which of some metrics are no shares, as a part of a sentence; empty if all are.

    Args:
        names: Names of metrics; others, such as counts, are ignored.
    """
    units = {metric.name: metric.unit for metric in METRICS}
    named = list(dict.fromkeys(names))
    found = {unit: [name for name in named if units.get(name) == unit] for unit in ("points", "number")}
    said = []
    for unit, those in found.items():
        if those:
            listed = f"{', '.join(those[:-1])} and {those[-1]}" if len(those) > 1 else those[0]
            is_what = "in points" if unit == "points" else "a plain number" if len(those) == 1 else "plain numbers"
            said.append(f"{listed} {'is' if len(those) == 1 else 'are'} {is_what}")
    return "; ".join(said)


def known_metric(name: str) -> str:
    """The name, if some benchmark has a metric of that name.

    Raises:
        UserInputError: Otherwise, with the nearest known name.
    """
    known = list(dict.fromkeys(metric.name for metric in METRICS))
    if name not in known:
        near = "".join(f"did you mean {match}? " for match in get_close_matches(name, known, 1))
        raise UserInputError(f"--metric {name}: no such metric; {near}there are {', '.join(known)}")
    return name
