"""Agents by how few nodes their verified runs need (docs/compression-metrics.md, "Ranking")."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from proverbench.compression.bundle import BUDGETS, Track


@dataclass(frozen=True, slots=True)
class RankedTask:
    """A task of the organiser's set."""

    sha256: str
    name: str
    original_count: int
    sharing_count: int
    """What the automatic sharing pass makes of the original: a reference, no participant."""


@dataclass(frozen=True, slots=True)
class Run:
    """One submission, as a trusted receipt tells of it."""

    agent: str
    task: str
    """The task's SHA-256: tasks of one name and other content are other tasks."""
    count: int | None
    """None when it is not valid: a run without a score."""
    submission: str
    """The submission's SHA-256."""
    tracks: Sequence[Track] = ("open",)
    """Where it counts."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One agent's line in the table."""

    agent: str
    average_rank: float
    """Mean over the tasks of its place, 1 being best."""
    no_score: int
    """Runs without a verified score."""
    counts: Mapping[str, int | None]
    """Task → nodes of its best verified run."""
    places: Mapping[str, float]
    """Task → place; tied agents share the mean of the places that they fill."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One track's table, best agent first."""

    tasks: Sequence[RankedTask]
    standings: Sequence[Standing]


def rank_tracks(runs: Iterable[Run], tasks: Sequence[RankedTask]) -> dict[Track, Ranking]:
    """A table for each track that has runs, and for ``open`` always."""
    everything = list(runs)
    tables = {}
    for track in BUDGETS:
        on_track = [run for run in everything if track in run.tracks]
        if on_track or track == "open":
            tables[track] = rank(on_track, tasks)
    return tables


def rank(runs: Iterable[Run], tasks: Sequence[RankedTask]) -> Ranking:
    """Rank agents by their best verified run on each task.

    An agent counts as a participant in every task: without a verified run it shares the last places of the task
    with the others who have none.

    Args:
        runs: Every run of every agent; those on other tasks do not count.
        tasks: The organiser's set; its average is over all of them, each weighted equally.
    """
    everything = [run for run in runs if run.task in {task.sha256 for task in tasks}]
    agents = sorted({run.agent for run in everything})
    names = [task.sha256 for task in sorted(tasks, key=lambda task: (task.name, task.sha256))]
    best = {(run.agent, run.task): run for run in sorted(_verified(everything), key=_order, reverse=True)}
    counts = {agent: {task: _count(best.get((agent, task))) for task in names} for agent in agents}
    places = {task: _places({agent: counts[agent][task] for agent in agents}) for task in names}
    standings = [
        Standing(
            agent=agent,
            average_rank=fmean(places[task][agent] for task in names),
            no_score=sum(run.count is None for run in everything if run.agent == agent),
            counts=counts[agent],
            places={task: places[task][agent] for task in names},
        )
        for agent in agents
    ]
    ordered = sorted(tasks, key=lambda task: (task.name, task.sha256))
    return Ranking(ordered, sorted(standings, key=lambda line: (line.average_rank, line.agent)))


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
