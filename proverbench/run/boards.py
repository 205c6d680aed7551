"""Runs side by side: which may stand in one table, and what must be said of them there.

Whatever puts figures of several runs beside one another (LaTeX, CSV, XLSX, Markdown, page) asks here, and here asks
:mod:`proverbench.run.comparability`: runs that a comparison refuses stand on different boards, and so do runs of other
problems or of another S, whose scores are means over something else. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proverbench.benchmark import benchmark_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.rates import published_rates
from proverbench.metrics.uncertainty import intervals, significant
from proverbench.records import Manifest, Row, Summary, Task
from proverbench.run.comparability import ASPECTS, Side, differences, doubts
from proverbench.run.extent import row_id

EVERYTHING = "all"


@dataclass(frozen=True)
class Entry:
    """A run that is to stand beside others."""

    manifest: Manifest
    summary: Summary
    rows: Sequence[Row]
    arrays: JudgmentArrays

    @property
    def task(self) -> Task:
        """Which benchmark."""
        return self.manifest.identity.task

    @property
    def scored(self) -> bool:
        """Whether it has figures."""
        part = self.summary.splits.get(EVERYTHING)
        return part is not None and part.metrics is not None


@dataclass(frozen=True)
class Board:
    """Runs whose figures may stand in one table."""

    task: Task
    runs: tuple[str, ...]
    what: str
    """What all of them are: ``24 problems, S = 2, R = 4``."""
    notes: tuple[str, ...]
    """What differs between them nevertheless, and what makes a comparison doubtful, a sentence each."""


@dataclass(frozen=True)
class Common:
    """Runs that differ in R alone, at the R that all of them have."""

    repeats: int
    scores: Mapping[str, Mapping[str, Any]]
    """Run → ``value`` and ``interval`` of ``pessimistic``, the exact mean over the subsets of so many judgments."""

    def __str__(self) -> str:
        values = ", ".join(f"{name} {100 * score['value']:.1f}" for name, score in self.scores.items())
        return (
            f"at the R = {self.repeats} that all have, pessimistic in percent is: {values} (exact means over all "
            f"subsets of {self.repeats} judgments; differences: proverbench compare --repeats {self.repeats})"
        )


@dataclass(frozen=True)
class Boards:
    """All runs that were given, sorted onto boards."""

    boards: tuple[Board, ...]
    apart: Mapping[Task, tuple[str, ...]]
    """Benchmark → why its runs stand on several boards, a sentence each; none where they stand on one."""
    common: Mapping[Task, tuple[Common, ...]]

    def of(self, run: str) -> int:
        """The number of a run's board, from 1."""
        return 1 + next(place for place, board in enumerate(self.boards) if run in board.runs)

    def sentences(self, task: Task) -> list[str]:
        """Why a benchmark's runs stand apart, and what is offered instead."""
        return [*self.apart.get(task, ()), *map(str, self.common.get(task, ()))]


def boards_of(runs: Mapping[str, Entry], *, brief: bool = False) -> Boards:
    """Sort runs onto boards, in the order in which they are given.

    Args:
        runs: By name.
        brief: Whether the sentences are for a caption: models without their settings.
    """
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, entry in runs.items():
        groups.setdefault(_key(entry), []).append(name)
    boards = tuple(_board({name: runs[name] for name in group}, brief=brief) for group in groups.values())
    apart: dict[Task, tuple[str, ...]] = {}
    common: dict[Task, tuple[Common, ...]] = {}
    for task in dict.fromkeys(entry.task for entry in runs.values()):
        mine = {name: entry for name, entry in runs.items() if entry.task == task}
        if sum(board.task == task for board in boards) > 1:
            apart[task] = tuple(_why_apart(mine, brief=brief))
            common[task] = tuple(_common(mine))
    return Boards(boards, apart, common)


def _key(entry: Entry, *, without: str = "") -> tuple[object, ...]:
    """What runs of one board share."""
    manifest = entry.manifest
    refusing = [aspect for aspect in ASPECTS if aspect.weight(entry.task) == "refuses" and aspect.name != without]
    samples = manifest.extent.samples if benchmark_of(entry.task).samples else None
    items = frozenset(row_id(row) for row in entry.rows)
    return (*(str(aspect.read(manifest)) for aspect in refusing), samples, items)


def _board(runs: Mapping[str, Entry], *, brief: bool) -> Board:
    first = next(iter(runs.values()))
    benchmark, extent = benchmark_of(first.task), first.manifest.extent
    count = len(first.rows)
    what = [f"{count} {benchmark.unit if count == 1 else benchmark.unit + 's'}"]
    what += [f"S = {extent.samples}"] if benchmark.samples else []
    repeats = sorted({entry.manifest.extent.verifier_repeats for entry in runs.values()})
    what.append(f"R = {' or '.join(map(str, repeats))}")
    return Board(first.task, tuple(runs), ", ".join(what), tuple(_notes(runs, brief=brief)))


def _notes(runs: Mapping[str, Entry], *, brief: bool) -> list[str]:
    closed = [
        f"{name}: {entry.summary.closed_unanswered} unanswered calls were closed as zero credit (--final)"
        for name, entry in runs.items()
        if entry.summary.closed_unanswered
    ]
    open_ = [f"{name} is not finished" for name, entry in runs.items() if not entry.scored]
    if len(runs) < 2:
        return [*closed, *open_]
    found = differences({name: entry.manifest for name, entry in runs.items()}, brief=brief)
    compared = [f"{part.aspect} differs{part.told}" for part in found if part.weight == "compared"]
    sides = {name: Side(entry.manifest, entry.summary, entry.rows) for name, entry in runs.items()}
    return [*doubts(sides, found, EVERYTHING), *compared, *open_]


def _why_apart(runs: Mapping[str, Entry], *, brief: bool) -> list[str]:
    manifests = {name: entry.manifest for name, entry in runs.items()}
    found = differences(manifests, brief=brief)
    refused = [str(difference) for difference in found if difference.weight == "refuses"]
    benchmark = benchmark_of(next(iter(runs.values())).task)
    items = {name: frozenset(row_id(row) for row in entry.rows) for name, entry in runs.items()}
    if len(set(items.values())) > 1:
        sizes = "; ".join(f"{name}: {len(found)}" for name, found in items.items())
        refused.append(
            f"{benchmark.unit}s ({sizes}): they are not the same ones, and each score is over its own; `proverbench "
            "compare` takes those that all have"
        )
    samples = {name: manifest.extent.samples for name, manifest in manifests.items()}
    if benchmark.samples and len(set(samples.values())) > 1:
        values = "; ".join(f"{name}: {count}" for name, count in samples.items())
        refused.append(f"samples ({values}): pass_any_sample grows with S")
    return refused


def _common(runs: Mapping[str, Entry]) -> list[Common]:
    """What is offered to runs that differ in R alone."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for name, entry in runs.items():
        if entry.scored and benchmark_of(entry.task).samples:
            groups.setdefault(_key(entry, without="repeats"), []).append(name)
    found = []
    for names in groups.values():
        extents = {name: runs[name].manifest.extent.verifier_repeats for name in names}
        if len(set(extents.values())) > 1:
            repeats = min(extents.values())
            found.append(Common(repeats, {name: _at(runs[name].arrays, repeats) for name in names}))
    return found


def _at(arrays: JudgmentArrays, repeats: int) -> dict[str, Any]:
    table = published_rates(arrays.at_repeats(repeats))
    return {"value": significant(table.point()["pessimistic"]), "interval": intervals(table)["pessimistic"]}
