"""A study as a matrix: policies × judges, each cell a run's headline score with its interval. Loads no numpy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from proverbench.metrics.registry import headlines
from proverbench.records import GIVEN, Manifest, Summary
from proverbench.run.folder import TIMING, RunFolder
from proverbench.run.manifest import read_manifest
from proverbench.run.regular import read_regular
from proverbench.run.sources import SUMMARY
from proverbench.run.study import cells_of

EVERYTHING = "all"


@dataclass(frozen=True)
class Scored:
    """A run, as far as it is."""

    path: Path
    manifest: Manifest
    summary: Summary
    metric: str
    """Its headline: the first that it has, or would have."""
    costs: Mapping[str, float]
    """Role → US dollars, of the calls that it asked itself; roles without stated prices are absent."""

    @property
    def cost_usd(self) -> float | None:
        """Of all calls that it asked itself; None where no prices were stated."""
        return sum(self.costs.values()) if self.costs else None

    @property
    def complete(self) -> bool:
        """Whether it has a score."""
        return self.value is not None

    @property
    def value(self) -> float | None:
        """The score."""
        metrics = self.summary.splits[EVERYTHING].metrics
        return None if metrics is None else metrics.get(self.metric)

    @property
    def interval(self) -> Mapping[str, Any] | None:
        """Its interval, as in summary.json."""
        return (self.summary.splits[EVERYTHING].intervals or {}).get(self.metric)

    @property
    def done(self) -> tuple[int, int]:
        """Records that are complete, and that are wanted."""
        part = self.summary.splits[EVERYTHING]
        return part.completed_records, part.expected_records


@dataclass(frozen=True)
class Matrix:
    """A study's runs."""

    study: Path
    runs: Mapping[tuple[str, str], Scored]
    """(policy, judge) → its run."""
    calibrations: Mapping[str, Scored]
    """Judge → its calibration."""

    @property
    def policies(self) -> list[str]:
        """Names, in alphabetical order."""
        return sorted({policy for policy, _ in self.runs})

    @property
    def judges(self) -> list[str]:
        """Names, in alphabetical order; those that only have a calibration too."""
        return sorted({judge for _, judge in self.runs} | set(self.calibrations))

    def alone_usd(self, policy: str, judge: str) -> float | None:
        """What a run would have cost by itself: its judgments, and the policy's calls whichever run asked them.

        None where prices were not stated for all of that.
        """
        run = self.runs[policy, judge]
        of_policy = [of for (other, _), of in self.runs.items() if other == policy]
        writing = [of.costs["policy"] for of in of_policy if "policy" in of.costs]
        judging = [cost for role, cost in run.costs.items() if role != "policy"]
        asks = run.manifest.identity.roles["policy"].kind != GIVEN
        return None if not judging or (asks and not writing) else sum(writing) + sum(judging)

    def column(self, judge: str) -> dict[str, float]:
        """Policy → score, of the runs of one judge that have one."""
        found = {policy: run.value for (policy, other), run in self.runs.items() if other == judge}
        return {policy: value for policy, value in found.items() if value is not None}

    def ranks(self, judge: str) -> dict[str, float]:
        """Policy → rank under one judge, from 1; equal scores share the mean of their ranks."""
        column = self.column(judge)
        return {
            policy: sum(other > value for other in column.values())
            + (sum(other == value for other in column.values()) + 1) / 2
            for policy, value in column.items()
        }

    def agreements(self) -> Iterator[tuple[str, str, float, int]]:
        """Each pair of judges, Kendall's tau-b of their orders of the policies that both have, and how many these are.

        Pairs with fewer than two such policies, or all of them equal under one judge, have no tau and are left out.
        """
        judges = [judge for judge in self.judges if self.column(judge)]
        for place, first in enumerate(judges):
            for second in judges[place + 1 :]:
                one, other = self.column(first), self.column(second)
                both = [policy for policy in one if policy in other]
                tau = kendall_tau([one[policy] for policy in both], [other[policy] for policy in both])
                if tau is not None:
                    yield first, second, tau, len(both)


def kendall_tau(first: list[float], second: list[float]) -> float | None:
    """Kendall's tau-b of two lists of scores of the same things; None where an order is not there."""
    concordant = discordant = one_only = other_only = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            if a and b:
                concordant += (a > 0) == (b > 0)
                discordant += (a > 0) != (b > 0)
            else:
                one_only += bool(a)
                other_only += bool(b)
    strict = concordant + discordant
    product = (strict + one_only) * (strict + other_only)
    return None if product == 0 else (concordant - discordant) / product**0.5


def matrix_of(study: Path, known: Mapping[Path, tuple[Manifest, Summary]] | None = None) -> Matrix:
    """The matrix of a study's folder, of whatever its runs have by now.

    Args:
        study: The folder.
        known: Runs that have been read already, by folder; then only these.

    Raises:
        JournalError: If a run is damaged.
    """
    runs: dict[tuple[str, str], Scored] = {}
    calibrations: dict[str, Scored] = {}
    for cell in cells_of(study):
        if known is not None and cell.path not in known:
            continue
        found = scored_run(cell.path) if known is None else _scored(cell.path, *known[cell.path])
        if cell.policy is None:
            calibrations[cell.judge] = found
        else:
            runs[cell.policy, cell.judge] = found
    return Matrix(study, runs, calibrations)


def scored_run(path: Path) -> Scored:
    """A run as far as it is, by its summary where there is one of it.

    Raises:
        RunMismatchError: If the folder is no run.
        JournalError: If it is damaged.
    """
    manifest = read_manifest(path)
    return _scored(path, manifest, _summary(path, manifest))


def _scored(path: Path, manifest: Manifest, summary: Summary) -> Scored:
    metrics = summary.splits[EVERYTHING].metrics or {}
    names = headlines(manifest.identity.task, meta=manifest.extent.meta)
    metric = next((name for name in names if metrics.get(name) is not None), names[0])
    return Scored(path, manifest, summary, metric, _costs(path))


def _summary(path: Path, manifest: Manifest) -> Summary:
    """The one that is there, if it is this run's; else from the run's sources."""
    try:
        summary = msgspec.json.decode(read_regular(path / SUMMARY), type=Summary)
    except (OSError, msgspec.DecodeError):
        summary = None
    if summary is not None and summary.run_id == manifest.run_id:
        return summary
    run = RunFolder(path)
    try:
        return run.summary()
    finally:
        run.close()


def _costs(path: Path) -> dict[str, float]:
    try:
        roles = msgspec.json.decode((path / TIMING).read_bytes())["roles"]
    except (OSError, msgspec.DecodeError, KeyError):
        return {}
    return {name: role["cost_usd"] for name, role in roles.items() if "cost_usd" in role}
