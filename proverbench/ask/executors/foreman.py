"""Hands out shards to the workers of a cluster, and each endpoint's limits; hears how things are; replaces the lost.

One for a run, or for all runs of a study.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from proverbench.ask.executors.cluster import Bundle, Cluster, Member, Owner
from proverbench.ask.executors.messages import Order, Report, Share
from proverbench.ask.executors.shares import divide, portions
from proverbench.errors import JournalError, ProverBenchError

TICK_S = 0.25
"""How often each worker is told and asked."""
SHARDS_PER_WORKER = 4
"""Several, so that whoever is done early, or comes late, finds something to do."""
STOP_WAIT_S = 10.0
"""How long a worker that was told to stop at once may take to close its folders."""
_MOST_LOSSES = 3
"""Workers that a bundle may be lost with before it is left for a later session."""
_DESERTED_S = 20.0
"""How long workers are waited for once one could not be started; Ray itself ends a process 60 s after it has lost the
cluster's head, and by then all must be saved."""


class Foreman:
    """Keeps the workers of a cluster busy.

    Args:
        cluster: The workers.
        say: Takes messages to the user.
        groups: Group of runs → how many of them will bring shards; shards of one group and name go together.
    """

    def __init__(self, cluster: Cluster, say: Callable[[str], object], groups: Mapping[str, int]) -> None:
        self.cluster = cluster
        self.say = say
        self._groups = len(groups)
        self._expected = dict(groups)
        self._gathered: dict[str, dict[str, dict[Path, Owner]]] = {group: defaultdict(dict) for group in groups}
        self._brought = 0
        self._owners: set[Owner] = set()
        self._pending: deque[Bundle] = deque()
        self._proven: set[str] = set()
        self._tending: dict[int, asyncio.Task[None]] = {}
        self._refused = False
        """Whether the cluster could not start the worker that was asked for last."""
        self._deserted_at: float | None = None
        """Since when no worker is there, and the cluster refuses to start any."""
        self._freed = asyncio.Event()
        """Set whenever a worker has let shards go."""
        self._closed = False

    @property
    def n_shards(self) -> int:
        """Into how many shards a run is divided."""
        size = self.cluster.size
        return max(size, -(-SHARDS_PER_WORKER * size // self._groups))

    def bring(self, owner: Owner, group: str, shards: Sequence[Path]) -> None:
        """Have the shards of a run asked; a group's are handed out once all of its runs have brought theirs."""
        self._owners.add(owner)
        for path in shards:
            self._gathered[group][path.name][path] = owner
        self._brought += len(shards)
        self.count_off(group)

    def count_off(self, group: str) -> None:
        """One run less of a group is waited for."""
        self._expected[group] -= 1
        if self._expected[group] == 0:
            self._pending.extend(Bundle(owners) for owners in self._gathered.pop(group).values())
        if self._brought and not any(self._expected.values()):
            self.say(f"{self._brought} shards for {self.cluster.size} workers on a Ray cluster")

    def holds(self, owner: Owner) -> bool:
        """Whether a worker has a shard of a run, or one will be given to a worker."""
        if any(owner in bundle.owners.values() for member in self._members for bundle in member.bundles):
            return True
        return owner.halt() is None and any(owner in owners.values() for owners in self._waiting)

    def turn(self) -> None:
        """Let new workers begin, and look whether any are left; to be called a few times a second."""
        self._welcome()
        self._show()
        for number, task in list(self._tending.items()):
            if task.done():
                del self._tending[number]
                task.result()

    async def leave(self, owner: Owner) -> None:
        """A run wants nothing more; its shards are free when this returns, as far as their workers can be reached."""
        for owners in self._waiting:
            for path in [path for path, other in owners.items() if other is owner]:
                del owners[path]
        deadline = time.monotonic() + STOP_WAIT_S
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_WAIT_S):
                while self.holds(owner):
                    self._freed.clear()
                    await self._freed.wait()
        self._owners.discard(owner)
        if self._owners or any(self._expected.values()):
            return
        self._closed = True
        if self._tending:
            await asyncio.wait(self._tending.values(), timeout=max(TICK_S, deadline - time.monotonic()))
        await self.aclose()
        self._show()

    async def aclose(self) -> None:
        """End all workers."""
        for task in self._tending.values():
            task.cancel()
        await asyncio.gather(*self._tending.values(), return_exceptions=True)
        for member in self._members:
            self.cluster.kill(member)

    @property
    def _waiting(self) -> list[dict[Path, Owner]]:
        """Shards that no worker has, with their runs, by bundle."""
        gathered = [owners for bundles in self._gathered.values() for owners in bundles.values()]
        return [*(bundle.owners for bundle in self._pending), *gathered]

    @property
    def _members(self) -> list[Member]:
        return list(self.cluster.members.values())

    @property
    def _stopping(self) -> bool:
        """Whether nobody asks anything new."""
        return all(owner.halt() is not None for owner in self._owners)

    def _fail(self, fault: ProverBenchError) -> None:
        for owner in list(self._owners):
            owner.fail(fault)

    def _welcome(self) -> None:
        """Let new workers begin; without any, nothing is waited for in vain."""
        for arrival in self.cluster.arrivals():
            if isinstance(arrival, ProverBenchError):
                self.say(f"going on without a worker: {arrival}")
                self._refused = True
                continue
            self._refused, self._deserted_at = False, None
            self.cluster.members[arrival.number] = arrival
            self._tending[arrival.number] = asyncio.get_running_loop().create_task(self._tend(arrival))
        if self._members:
            return
        now = asyncio.get_running_loop().time()
        if self._refused and self._deserted_at is None:
            self._deserted_at = now
        deserted = self._deserted_at is not None and now - self._deserted_at > _DESERTED_S
        if not self.cluster.n_starting or deserted:
            self._fail(JournalError("no worker is left on the Ray cluster; see its logs, then resume"))

    async def _tend(self, member: Member) -> None:
        """Tell one worker what to do, and hear how things are, until all is over or the worker is lost."""
        while member.bundles or not self._closed:
            report = await self.cluster.ask(member, self._order(member))
            if report is None:
                self._lost(member)
                return
            self._take(member, report)
            await asyncio.sleep(TICK_S)

    def _order(self, member: Member) -> Order:
        if member.is_hungry() and (bundle := self._next()) is not None:
            member.bundles.append(bundle)
        member.shares = {name: self._share(member, name) for name in self.cluster.limits}
        owners = {path: owner for bundle in member.bundles for path, owner in bundle.owners.items()}
        return Order(
            bundles=[[owner.part(path) for path, owner in bundle.owners.items()] for bundle in member.bundles],
            shares=member.shares,
            proven=sorted(self._proven),
            stops={path: halt for path, owner in owners.items() if (halt := owner.halt()) is not None},
            ends=self._stopping,
        )

    def _next(self) -> Bundle | None:
        """What a worker is given next; what nobody asks any more is passed over."""
        while self._pending:
            bundle = self._pending.popleft()
            if bundle.is_wanted:
                return bundle
        return None

    def _share(self, member: Member, name: str) -> Share:
        """This worker's part of an endpoint's limits; one without a shard has none."""
        limits = self.cluster.limits[name]
        users = [m for m in self._members if m.bundles]
        if member not in users:
            return Share(limits.slots.offer(member.number, 0), None, None)
        place = users.index(member)
        ends = [user.endpoint(name) for user in users]
        busy = [user.is_busy(name) for user in users]
        demands = [
            limits.slots.total if is_busy or end is None else end.in_flight + max(2, end.in_flight // 4)
            for end, is_busy in zip(ends, busy, strict=True)
        ]
        rates = [
            None if allotment is None else allotment.offer(member.number, portions(allotment.total, busy)[place])
            for allotment in (limits.requests, limits.tokens)
        ]
        slots = 0 if 0 in rates else divide(limits.slots.total, demands)[place]
        return Share(limits.slots.offer(member.number, slots), *(rate or None for rate in rates))

    def _take(self, member: Member, report: Report) -> None:
        member.heard(report)
        for name, end in report.endpoints.items():
            limits, share = self.cluster.limits[name], member.shares[name]
            limits.slots.settle(member.number, end.held)
            for allotment, part in (
                (limits.requests, share.requests_per_minute),
                (limits.tokens, share.tokens_per_minute),
            ):
                if allotment is not None:
                    allotment.settle(member.number, part or 0)
            if end.answered:
                self._proven.add(name)
        for bundle in list(member.bundles):
            reports = {path: report.shards[path] for path in bundle.owners if path in report.shards}
            for path, shard in reports.items():
                bundle.owners[path].heard(path, shard)
            if len(reports) == len(bundle.owners) and all(shard.done for shard in reports.values()):
                member.bundles.remove(bundle)
                self._freed.set()
                for path, owner in bundle.owners.items():
                    owner.done(path)

    def _lost(self, member: Member) -> None:
        """A worker died: others resume its shards, and another takes its place."""
        self.cluster.kill(member)
        shards = [path for bundle in member.bundles for path in bundle.owners]
        for bundle in member.bundles:
            bundle.losses += 1
            for path, owner in bundle.owners.items():
                owner.lost(path)
            if bundle.losses < _MOST_LOSSES:
                self._pending.appendleft(bundle)
            else:
                for path in bundle.owners:
                    self.say(f"{path} was lost with {_MOST_LOSSES} workers in turn; it is left for a resume")
        if shards and not self._stopping:
            self.say(f"{member.name} is lost; its {len(shards)} shards are resumed elsewhere")
            self.cluster.start_worker()
            if not self._members:
                self.say("no other worker is there; waiting for the Ray cluster to start one (Ctrl-C stops)")
        member.bundles.clear()
        self._freed.set()

    def _show(self) -> None:
        """Bring what the display shows of the endpoints up to date."""
        members = self._members
        for name, watched in self.cluster.watched.items():
            ends = [end for member in members if (end := member.endpoint(name)) is not None and member.bundles]
            watched.state.concurrency = sum(end.concurrency for end in ends)
            watched.state.paused_until = time.monotonic() + max((end.pause_left_s for end in ends), default=0.0)
            watched.state.awaiting = sum((Counter(end.awaiting) for end in ends), Counter())
            notes = dict.fromkeys(note for m in members if m.report for note in m.report.notes)
            watched.state.notes += [note for note in notes if note not in watched.state.notes]
