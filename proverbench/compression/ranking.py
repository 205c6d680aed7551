"""Agents by how few nodes their verified runs need (docs/compression-metrics.md, "Ranking")."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Run:
    """One submission, as a receipt tells of it."""

    agent: str
    task: str
    """The task's SHA-256: tasks of one name and other content are other tasks."""
    task_name: str
    count: int | None
    """None when the run is not verified."""
    submission: str = ""
    """The submission's SHA-256."""
    original_count: int | None = None
    track: str = "open"


@dataclass(frozen=True, slots=True)
class Standing:
    """One agent's line in the table."""

    agent: str
    average_rank: float
    """Mean over the tasks of its place, 1 being best."""
    no_score: int
    """Tasks without a verified run."""
    counts: Mapping[str, int | None]
    """Task → nodes of its best verified run."""
    places: Mapping[str, float]
    """Task → place; tied agents share the mean of the places that they fill."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The whole table, best agent first."""

    tasks: Mapping[str, str]
    """Task's SHA-256 → its name."""
    originals: Mapping[str, int | None]
    standings: Sequence[Standing] = field(default_factory=list)


def rank(runs: Iterable[Run], tasks: Mapping[str, str] | None = None) -> Ranking:
    """Rank agents by their best verified run on each task.

    An agent counts as a participant in every task: without a verified run it shares the last places of the task
    with the others who have none.

    Args:
        runs: Every run of every agent.
        tasks: The tasks that count, SHA-256 → name. None: those with a verified run (a bundle with a forged task
            must not make one), or all that the runs name if there is no verified run at all.
    """
    everything = list(runs)
    agents = sorted({run.agent for run in everything})
    if tasks is None:
        tasks = {run.task: run.task_name for run in _verified(everything) or everything}
    tasks = dict(sorted(tasks.items(), key=lambda item: (item[1], item[0])))
    best = {(run.agent, run.task): run for run in sorted(_verified(everything), key=_order, reverse=True)}
    counts = {agent: {task: _count(best.get((agent, task))) for task in tasks} for agent in agents}
    places = {task: _places({agent: counts[agent][task] for agent in agents}) for task in tasks}
    standings = [
        Standing(
            agent=agent,
            average_rank=fmean(places[task][agent] for task in tasks),
            no_score=sum(count is None for count in counts[agent].values()),
            counts=counts[agent],
            places={task: places[task][agent] for task in tasks},
        )
        for agent in agents
    ]
    originals: dict[str, int | None] = dict.fromkeys(tasks)
    originals.update((run.task, run.original_count) for run in everything if run.task in tasks)
    return Ranking(tasks, originals, sorted(standings, key=lambda line: (line.average_rank, line.agent)))


def best_runs(runs: Iterable[Run]) -> dict[str, Run]:
    """Task → its verified run with the fewest nodes."""
    return {run.task: run for run in sorted(_verified(runs), key=_order, reverse=True)}


def _verified(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run.count is not None]


def _order(run: Run) -> tuple[int, str]:
    assert run.count is not None
    return (run.count, run.submission)


def _count(run: Run | None) -> int | None:
    return None if run is None else run.count


def _places(counts: Mapping[str, int | None]) -> dict[str, float]:
    """Agent → place. Equal counts, and likewise all without a count, share the mean of the places they fill."""
    groups: dict[tuple[bool, int], list[str]] = {}
    for agent, count in counts.items():
        groups.setdefault((count is None, count or 0), []).append(agent)
    places: dict[str, float] = {}
    taken = 0
    for key in sorted(groups):
        members = groups[key]
        for agent in members:
            places[agent] = taken + (len(members) + 1) / 2
        taken += len(members)
    return places
