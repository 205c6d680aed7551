"""Every metric, and how to look one up. Nothing else lists them."""

from difflib import get_close_matches

from proverbench.errors import UserInputError
from proverbench.metrics import proverbench, verifierbench
from proverbench.metrics.metric import Metric
from proverbench.records import Task

METRICS: tuple[Metric, ...] = (*proverbench.METRICS, *verifierbench.METRICS)
"""In the order of summary.json and docs/metrics.md."""


def metrics_of(task: Task, *, meta: bool = True) -> dict[str, Metric]:
    """The metrics of a benchmark, by name.

    Args:
        task: Which benchmark.
        meta: Whether a meta-verifier was asked; without one, no metric needs it.
    """
    return {
        metric.name: metric for metric in METRICS if metric.benchmark == task and (meta or "meta" not in metric.needs)
    }


def headlines(task: Task, *, meta: bool = True) -> list[str]:
    """Names of the headline metrics of a benchmark, the one that runs are ranked by first."""
    found = [metric for metric in metrics_of(task, meta=meta).values() if metric.headline is not None]
    return [metric.name for metric in sorted(found, key=lambda metric: metric.headline or 0)]


def headlines_first(task: Task, *, meta: bool = True) -> list[str]:
    """Names of all metrics of a benchmark in the order that people look for them."""
    return list(dict.fromkeys([*headlines(task, meta=meta), *metrics_of(task, meta=meta)]))


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
