"""Shards under a run's own folder (``DIR/shards/i-of-n``): made from the run, and taken back into it.

A shard is a run of its own kind: the same identity, some of the rows, and the answers that these have already.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from proverbench.ask.executors.messages import FENCE_S
from proverbench.records import AttemptLine, CallKey, CallLine, Role, ShardPlace
from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS, LOCK, disk
from proverbench.run.extent import ROLES, Plan
from proverbench.run.lock import RunLock, writer
from proverbench.run.manifest import MANIFEST
from proverbench.run.reading import open_calls
from proverbench.run.session import Draft, Session
from proverbench.run.sources import SHARDS
from proverbench.selection import shard_of

_LOCK_WAIT_S = FENCE_S + 30.0
"""By then the owner of a lock that is not given back has ended itself (messages.FENCE_S)."""
_LINES_A_TURN = 500


class Shard(NamedTuple):
    """One shard of a run."""

    path: Path
    known: dict[Role, int]
    """Answers that it was made with."""


def make_shards(session: Session, wanted: int) -> list[Shard]:
    """Divide what a run lacks into about ``wanted`` shards, by a hash of ``problem_id``; whole problems stay together.

    Args:
        session: The run; its lock keeps others away from its shards too.
        wanted: How many; those that would have nothing to ask are not made.

    Raises:
        JournalError: If the disk refuses it.
    """
    sources = session.sources
    lacking = {_row(sources.plan, key) for key in open_calls(sources)}
    members: dict[int, list[int]] = {}
    for place, row in enumerate(sources.rows):
        members.setdefault(shard_of(row.problem_id, wanted), []).append(place)
    return [
        _make(session, f"{index}/{wanted}", places)
        for index, places in sorted(members.items())
        if not lacking.isdisjoint(places)
    ]


def _row(plan: Plan, key: CallKey) -> int:
    number = plan.number(key)
    assert number is not None, "open calls are calls of the plan"
    return (number if key.role == "policy" else number // plan.repeats) // plan.samples


def _make(session: Session, name: str, places: Sequence[int]) -> Shard:
    sources = session.sources
    path = session.path.absolute() / SHARDS / name.replace("/", "-of-")
    manifest = sources.manifest
    known: dict[Role, int] = dict.fromkeys(ROLES, 0)

    def answered() -> Iterator[CallLine]:
        for role, number in _numbers(sources.plan, places):
            offset = sources.ledger.offset(role, number)
            if offset is not None:
                known[role] += 1
                yield sources.calls.call_at(offset)

    draft = Draft(
        identity=manifest.identity,
        extent=msgspec.structs.replace(manifest.extent, rows=len(places), shard=name),
        operation=manifest.operation,
        rows=[sources.rows[place] for place in places],
        templates=sources.templates,
        lines=answered(),
        shard_place=ShardPlace(of=len(sources.rows), positions=list(places)),
        format_version=manifest.format_version,
    )
    Session.create(path, draft).release()
    return Shard(path, known)


def _numbers(plan: Plan, places: Sequence[int]) -> Iterator[tuple[Role, int]]:
    """Role and number of every call that is about these rows."""
    for role in ROLES:
        a_proof = 1 if role == "policy" else plan.repeats
        for place in places if plan.size(role) else ():
            first = place * plan.samples * a_proof
            for number in range(first, first + plan.samples * a_proof):
                yield role, number


class Absorber:
    """Takes what happened in shards back into their run.

    Doing so again, after a crash, adds nothing twice: an answer counts once by its key, a failed call once by its line.

    Args:
        session: The run, open for writing.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._failures: set[bytes] | None = None

    async def absorb(self, shard: Path) -> bool:
        """Append a shard's lines to the run's, then remove its folder; returns whether there were new ones.

        Raises:
            JournalError: If either is damaged, or the disk refuses it; the shard stays as it is then.
        """
        new = False
        if (shard / MANIFEST).exists():  # else making it was cut short, and nothing was asked
            with CallsReader(shard / CALLS) as reader:
                for count, (_, line) in enumerate(reader.lines()):
                    new = self._take(line) or new
                    if count % _LINES_A_TURN == 0:
                        await asyncio.sleep(0)
            if new:
                await asyncio.to_thread(_sync, self._session.path / CALLS)
        with disk(shard):
            shutil.rmtree(shard)
        return new

    def _take(self, line: object) -> bool:
        if isinstance(line, CallLine):
            sources = self._session.sources
            number = sources.plan.number(line.key)
            if number is None or sources.ledger.offset(line.role, number) is not None:
                return False
            self._session.answered(line)
            return True
        if isinstance(line, AttemptLine):
            raw = msgspec.json.encode(line)
            if raw in self._known_failures():
                return False
            self._known_failures().add(raw)
            self._session.unanswered(line)
            return True
        return False  # sessions are told by the run's own lines

    def _known_failures(self) -> set[bytes]:
        if self._failures is None:
            lines = self._session.sources.calls.lines()
            self._failures = {msgspec.json.encode(line) for _, line in lines if isinstance(line, AttemptLine)}
        return self._failures


async def take_back(session: Session, say: Callable[[str], object] = lambda message: None) -> bool:
    """Take into a run what its shards hold, if a run that was spread over workers left any.

    Args:
        session: The run, open for writing.
        say: Told when that has to wait.

    Returns:
        Whether the run has new lines.

    Raises:
        JournalError: If a shard is damaged.
    """
    folder = session.path / SHARDS
    if not folder.is_dir():
        return False
    absorber, new = Absorber(session), False
    for shard in sorted(path for path in folder.iterdir() if path.is_dir()):
        await wait_until_free(shard, say)
        lock = RunLock(shard)
        try:
            new = await absorber.absorb(shard) or new
        finally:
            lock.release()
    with disk(folder):
        shutil.rmtree(folder)
    return new


async def is_free(shard: Path, *, within_s: float, say: Callable[[str], object] = lambda message: None) -> bool:
    """Wait until the process that writes a shard is gone; returns whether it went in time.

    The system frees a dead process's lock at once, on this machine; a file server may take a minute for one of another
    machine, and some never do.
    """
    began, told = time.monotonic(), False
    while (owner := writer(shard)) is not None:
        waited = time.monotonic() - began
        if waited > within_s:
            return False
        if waited > 2.0 and not told:
            told = True
            say(f"waiting for {owner} to give {shard} free")
        await asyncio.sleep(0.2)
    return True


async def wait_until_free(shard: Path, say: Callable[[str], object] = lambda message: None) -> None:
    """Wait until the worker that had a shard is gone, as it is sure to be in the end.

    A worker that is cut off from its driver ends itself before this stops waiting; then its lock is removed.
    """
    if not await is_free(shard, within_s=_LOCK_WAIT_S, say=say):
        with disk(shard):
            (shard / LOCK).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    with disk(path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
