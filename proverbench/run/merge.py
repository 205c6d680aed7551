"""Shards of one run → the run. Refuses what does not belong together; nothing is asked, nothing counted twice."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from proverbench.benchmark import benchmark_of
from proverbench.errors import JournalError, RunMismatchError
from proverbench.records import Extent, FinalLine, Line, Row, ShardPlace
from proverbench.run.batches import open_batches
from proverbench.run.extent import ROLES
from proverbench.run.journal import now
from proverbench.run.lock import writer
from proverbench.run.session import Draft, identity_differences
from proverbench.run.sources import SHARDS, Sources
from proverbench.selection import parse_shard

PER_PROCESS = ("concurrency", "max_cost_usd", "max_tokens_total")
"""Settings of a run's operation that each shard has a part of."""


class Shards:
    """The shards of one run, open for reading.

    Args:
        paths: Their folders, in any order.

    Raises:
        RunMismatchError: Says all that keeps them from being one run, or which batches are not collected yet.
        JournalError: If a folder is no run, is damaged, or is being written.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._open: list[Sources] = []
        try:
            self._refuse_repeated(paths)
            for path in paths:
                self._open.append(_open_idle(path))
            self._check()
        except BaseException:
            self.close()
            raise
        self._open.sort(key=lambda sources: parse_shard(sources.manifest.extent.shard or ""))

    @staticmethod
    def _refuse_repeated(paths: Sequence[Path]) -> None:
        real = [path.resolve() for path in paths]
        repeated = sorted({str(path) for path, where in zip(paths, real, strict=True) if real.count(where) > 1})
        if repeated:
            raise RunMismatchError(f"given more than once: {', '.join(repeated)}")

    def _check(self) -> None:
        faults = [
            f"{sources.path} is no shard: it was made without --shard i/n"
            for sources in self._open
            if sources.manifest.extent.shard is None or sources.manifest.shard_place is None
        ]
        if not faults:
            first = self._open[0]
            for other in self._open[1:]:
                faults += [f"{other.path} and {first.path} differ in{fault}" for fault in _differences(first, other)]
        if not faults:
            faults = self._misfits()
        if faults:
            raise RunMismatchError("\n".join(["these are not the shards of one run:", *faults]))
        # A copied line of an open batch would let the shard and the whole collect it both, and ask again what it lacks.
        waiting = [fault for sources in self._open for fault in _open_batches(sources)]
        if waiting:
            raise RunMismatchError("\n".join(["shards with open batches cannot be joined yet:", *waiting]))
        # Answers of a shard that was itself spread over workers, whose driver died, are not in its calls.jsonl yet.
        spread = [
            f"{sources.path}: take them in with: {_resuming(sources)}"
            for sources in self._open
            if (sources.path / SHARDS).exists()
        ]
        if spread:
            raise RunMismatchError("\n".join(["shards whose workers' answers are not taken in yet:", *spread]))

    def _misfits(self) -> list[str]:
        """Shards that are there twice or not at all."""
        by_index: dict[int, list[Sources]] = defaultdict(list)
        for sources in self._open:
            by_index[parse_shard(sources.manifest.extent.shard or "")[0]].append(sources)
        _, count = parse_shard(self._open[0].manifest.extent.shard or "")
        faults = [
            f"{' and '.join(str(s.path) for s in same)} are both shard {index}/{count}"
            for index, same in sorted(by_index.items())
            if len(same) > 1
        ]
        covered = [position for sources in self._open for position in _place(sources).positions]
        lacking = _place(self._open[0]).of - len(set(covered))
        if lacking:
            absent = [f"{index}/{count}" for index in range(1, count + 1) if index not in by_index]
            faults.append(f"shards missing: {', '.join(absent)} ({lacking} rows)")
        return faults

    @property
    def draft(self) -> Draft:
        """The whole run."""
        first = self._open[0]
        rows: dict[int, Row] = {}
        for sources in self._open:
            rows |= dict(zip(_place(sources).positions, sources.rows, strict=True))
        return Draft(
            identity=first.manifest.identity,
            extent=_unsplit(first.manifest.extent, len(rows)),
            # What one process of several might spend and keep in flight limits no process that goes on with the whole.
            operation=first.manifest.operation | dict.fromkeys(PER_PROCESS) | {"merged": self._parts()},
            rows=[rows[position] for position in sorted(rows)],
            templates=first.templates,
            lines=self._lines(),
            format_version=first.manifest.format_version,
        )

    def _parts(self) -> list[dict[str, str | int | None]]:
        """What the whole was made of: each shard with its seal, which was checked when it was opened."""
        checkers = [(sources.manifest, sources.ledger.checker) for sources in self._open]
        return [
            {
                "shard": manifest.extent.shard,
                "run_id": manifest.run_id,
                "lines": checker.lines,
                "head": checker.place.head,
            }
            for manifest, checker in checkers
        ]

    def _lines(self) -> Iterator[Line]:
        """Everything that happened, shard after shard.

        A later shard's sessions would open again what ``--final`` closed in an earlier one, so what is closed now is
        said once more at the end.
        """
        closed: list[str] = []
        for sources in self._open:
            for _, line in sources.calls.lines():
                yield line
            plan, ledger = sources.plan, sources.ledger
            closed += [
                plan.key(role, number).text
                for role in ROLES
                for number in range(plan.size(role))
                if ledger.is_closed(role, number)
            ]
        if closed:
            yield FinalLine(at=now(), keys=closed)

    def close(self) -> None:
        """Close their files."""
        for sources in self._open:
            sources.close()


def _open_idle(path: Path) -> Sources:
    busy = writer(path)
    if busy is not None:
        raise JournalError(f"{path} is being written by {busy}; wait for it, or stop it, and merge then")
    sources = Sources(path)
    sources.refresh()  # what is damaged in calls.jsonl is told before anything is written
    return sources


def _resuming(sources: Sources) -> str:
    return f"{benchmark_of(sources.manifest.identity.task).command} --resume {shlex.quote(str(sources.path))}"


def _open_batches(sources: Sources) -> Iterator[str]:
    """What is still at a provider, and what to do about it."""
    for role, batches in open_batches(sources).items():
        for batch in batches:
            yield (
                f"{sources.path}: {role} batch {batch.remote or batch.id} ({len(batch.numbers):,} calls) is not "
                f"collected; collect it with: {_resuming(sources)}, or stop it with --cancel-batches added"
            )


def _place(sources: Sources) -> ShardPlace:
    place = sources.manifest.shard_place
    if place is None:
        raise AssertionError("every shard has its place; checked at opening")
    return place


def _unsplit(extent: Extent, rows: int) -> Extent:
    return Extent(
        rows=rows,
        samples=extent.samples,
        verifier_repeats=extent.verifier_repeats,
        meta=extent.meta,
        domain=extent.domain,
        limit=extent.limit,
    )


def _differences(first: Sources, other: Sources) -> list[str]:
    """What keeps two folders from being shards of one run."""
    one, two = first.manifest, other.manifest
    faults = [
        f" {fault.strip()}"
        for fault in identity_differences(two.identity, one.identity, first="the first has", second="the second")
    ]
    if one.format_version != two.format_version:
        faults.append(f" format_version: the first has {two.format_version}, the second {one.format_version}")
    missing = set(one.identity.roles) ^ set(two.identity.roles)
    faults += [f" roles: only one of them has a {role}" for role in sorted(missing)]
    extents = (_unsplit(two.extent, 0), _unsplit(one.extent, 0))
    faults += [
        f" {name}: the first has {getattr(extents[0], name)!r}, the second {getattr(extents[1], name)!r}"
        for name in Extent.__struct_fields__
        if getattr(extents[0], name) != getattr(extents[1], name)
    ]
    counts = [parse_shard(manifest.extent.shard or "")[1] for manifest in (two, one)]
    if counts[0] != counts[1]:
        faults.append(f" shard: the first is one of {counts[0]}, the second one of {counts[1]}")
    elif _place(first).of != _place(other).of:
        faults.append(f" rows of all shards: the first says {_place(other).of}, the second {_place(first).of}")
    return faults
