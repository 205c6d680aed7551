"""A run spread over a Ray cluster: the driver's side (docs/many-machines.md).

The driver holds the run, hands out shards and each endpoint's limits, adds up progress and cost, and takes the shards
back. Workers (worker.py) make the calls. Orders and reports go to and fro a few times a second.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from proverbench.ask.executors.base import Meter
from proverbench.ask.executors.cluster import Cluster, Member, Watched
from proverbench.ask.executors.messages import Order, Report, ShardReport, Share
from proverbench.ask.executors.shards import Absorber, Shard, is_free, make_shards
from proverbench.ask.executors.shares import divide, portions
from proverbench.ask.pipeline import GRACE_S
from proverbench.ask.progress import Progress, StageCount
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.errors import ConfigError, JournalError, ProverBenchError
from proverbench.inputs.config import Config
from proverbench.records import Role
from proverbench.run.batches import open_batches
from proverbench.run.session import Draft, Session
from proverbench.run.sources import SHARDS

TICK_S = 0.25
"""How often each worker is told and asked."""
SHARDS_PER_WORKER = 4
"""Several, so that whoever is done early, or comes late, finds something to do."""
_MOST_LOSSES = 3
"""Workers that a shard may be lost with before it is left for a later session."""
_STOP_WAIT_S = 10.0
"""How long a worker that was told to stop at once may take to close its folders."""
_DESERTED_S = 20.0
"""How long a run without workers waits once one could not be started; Ray itself ends a process 60 s after it has lost
the cluster's head, and by then all must be saved."""


class RayExecutor:
    """Makes calls on a Ray cluster.

    Args:
        say: Told what is waited for.
        address: Of the cluster to join, as HOST:PORT; None: as ``RAY_ADDRESS`` says, else one is started here.
    """

    def __init__(self, say: Callable[[str], object], address: str | None = None) -> None:
        self._say = say
        self._address = address
        self._cluster: Cluster | None = None

    @property
    def endpoints(self) -> Mapping[Role, Watched]:
        """Role → its endpoint, over all workers."""
        return {} if self._cluster is None else self._cluster.endpoints

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        """Join the cluster, or start one, and open the endpoints in its workers.

        Raises:
            ConfigError: Ray is not installed, the cluster cannot be joined, an endpoint cannot be opened, or
                the run has open batches.
        """
        if session is not None and open_batches(session.sources):
            raise ConfigError(f"{session.path} has open batches; collect them first, without --executor ray")
        self._cluster = await Cluster.open(
            config,
            roles,
            concurrency=draft.operation.get("concurrency"),
            rows=len(draft.rows),
            address=self._address,
            say=self._say,
        )

    def asker(
        self,
        session: Session,
        meter: Meter,
        *,
        clients: BatchClients | None,
        batched: Collection[Role],
        say: Callable[[str], None],
    ) -> "ClusterPipeline":
        """What asks the session's calls; there are no batches here."""
        assert self._cluster is not None
        assert not batched
        return ClusterPipeline(session, self._cluster, meter, say)

    async def aclose(self) -> None:
        """Leave the cluster."""
        if self._cluster is not None:
            await self._cluster.aclose()


class ClusterPipeline:
    """Asks what a session's run still lacks, on a cluster; used like :class:`proverbench.ask.pipeline.Pipeline`.

    Args:
        session: The run, open for writing; its folder is one that all machines see.
        cluster: The workers.
        meter: Holds what the run cost so far, which is kept up to date here; may call :meth:`stop`.
        say: Takes messages to the user.
    """

    def __init__(
        self,
        session: Session,
        cluster: Cluster,
        meter: Meter,
        say: Callable[[str], object],
    ) -> None:
        self.session = session
        self._cluster = cluster
        self._meter = meter
        self._say = say
        self.reason: str | None = None
        """Why nothing new is asked, None while the run goes."""
        self.systematic: str | None = None
        """Always None: on a worker it is a fault, which ends them all."""
        self.fault: ProverBenchError | None = None
        """What ended the run, if a fault did."""
        sources = session.sources
        roles = sources.manifest.identity.roles
        self.progress = Progress(
            {r: StageCount(sources.plan.size(r), sources.ledger.count(r)) for r in roles if sources.plan.size(r)}
        )
        self._before = {role: count.answered for role, count in self.progress.stages.items()}
        self._spent_before = {role: replace(spending) for role, spending in meter.spent.budget.roles.items()}
        self._give_up = False
        self._closing = False
        self._shards: dict[Path, Shard] = {}
        self._pending: deque[Path] = deque()
        self._finished: deque[Path] = deque()
        self._reports: dict[Path, ShardReport] = {}
        self._losses: Counter[Path] = Counter()
        self._earlier: dict[Path, dict[Role, StageCount]] = defaultdict(dict)
        """Of shards that changed hands: what their former workers did."""
        self._proven: set[str] = set()
        self._tending: dict[int, asyncio.Task[None]] = {}
        self._absorber = Absorber(session)
        self._refused = False
        """Whether the cluster could not start the worker that was asked for last."""
        self._deserted_at: float | None = None
        """Since when no worker is there, and the cluster refuses to start any."""

    def stopping(self) -> bool:
        """True once nothing new is asked."""
        return self.reason is not None

    def stop(self, reason: str) -> None:
        """Ask nothing new; what is in flight is saved as it comes."""
        if self.reason is None:
            self.reason = reason

    def leave(self) -> None:
        """There are no batches to wait for."""

    def fail(self, fault: ProverBenchError) -> None:
        """Stop all workers for a fault of one; their calls in flight are waited for :data:`GRACE_S` seconds."""
        if self.fault is None:
            self.fault = fault
            self.reason = f"fatal: {fault}"
            asyncio.get_running_loop().call_later(GRACE_S, self._give_all_up)

    async def run(self) -> AsyncGenerator[int, None]:
        """Ask until everything is answered, or :meth:`stop` or :meth:`fail` was called; then all is in the run.

        Yields:
            How many calls are answered, a few times a second.
        """
        made = make_shards(self.session, SHARDS_PER_WORKER * self._cluster.size)
        if not made:
            return
        self._shards = {shard.path: shard for shard in made}
        self._pending.extend(self._shards)
        self.session.start()
        self._say(f"{len(made)} shards for {self._cluster.size} workers on a Ray cluster")
        try:
            while not self._is_over():
                self._welcome()
                await self._absorb_finished()
                self._tell()
                yield sum(count.answered for count in self.progress.stages.values())
                await asyncio.sleep(TICK_S)
        finally:
            await self._wind_up()

    def _is_over(self) -> bool:
        waiting = bool(self._pending) and not self.stopping()
        working = any(member.shards for member in self._cluster.members.values())
        return not waiting and not working and not self._finished

    def _give_all_up(self) -> None:
        self._give_up = True

    def _welcome(self) -> None:
        """Let new workers begin; without any, nothing is waited for in vain."""
        for arrival in self._cluster.arrivals():
            if isinstance(arrival, ProverBenchError):
                self._say(f"going on without a worker: {arrival}")
                self._refused = True
                continue
            self._refused, self._deserted_at = False, None
            self._cluster.members[arrival.number] = arrival
            task = asyncio.get_running_loop().create_task(self._tend(arrival))
            self._tending[arrival.number] = task
        for number, task in list(self._tending.items()):
            if task.done():
                del self._tending[number]
                task.result()
        if self._cluster.members:
            return
        now = asyncio.get_running_loop().time()
        if self._refused and self._deserted_at is None:
            self._deserted_at = now
        deserted = self._deserted_at is not None and now - self._deserted_at > _DESERTED_S
        if not self._cluster.n_starting or deserted:
            self.fail(JournalError("no worker is left on the Ray cluster; see its logs, then resume"))

    async def _tend(self, member: Member) -> None:
        """Tell one worker what to do, and hear how things are, until the run is over or the worker is lost."""
        while member.shards or not (self._closing or self._is_over()):
            report = await self._cluster.ask(member, self._order(member))
            if report is None:
                self._lost(member)
                return
            self._take(member, report)
            await asyncio.sleep(TICK_S)

    def _order(self, member: Member) -> Order:
        if self._pending and not self.stopping() and member.is_hungry():
            path = self._pending.popleft()
            member.shards[path] = self._shards[path]
        member.shares = {name: self._share(member, name) for name in self._cluster.limits}
        return Order(list(member.shards), member.shares, sorted(self._proven), self.reason, self._give_up)

    def _share(self, member: Member, name: str) -> Share:
        """This worker's part of an endpoint's limits; one without a shard has none."""
        limits = self._cluster.limits[name]
        users = [m for m in self._cluster.members.values() if m.shards]
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
            limits, share = self._cluster.limits[name], member.shares[name]
            limits.slots.settle(member.number, end.held)
            for allotment, part in (
                (limits.requests, share.requests_per_minute),
                (limits.tokens, share.tokens_per_minute),
            ):
                if allotment is not None:
                    allotment.settle(member.number, part or 0)
            if end.answered:
                self._proven.add(name)
        for path, shard in report.shards.items():
            if path in member.shards:
                self._take_shard(member, path, shard)

    def _take_shard(self, member: Member, path: Path, report: ShardReport) -> None:
        if report.stages or path not in self._reports:
            self._reports[path] = report
        if report.fault is not None:
            self.fail(report.fault.error())
        if report.done:
            del member.shards[path]
            self._finished.append(path)

    def _lost(self, member: Member) -> None:
        """A worker died: others resume its shards, and another takes its place."""
        self._cluster.kill(member)
        for path in member.shards:
            self._losses[path] += 1
            if path in self._reports:
                self._set_aside(path, self._reports[path])
            if self._losses[path] < _MOST_LOSSES:
                self._pending.appendleft(path)
            else:
                self._say(f"{path} was lost with {_MOST_LOSSES} workers in turn; it is left for a resume")
        if member.shards and not self.stopping():
            self._say(f"{member.name} is lost; its {len(member.shards)} shards are resumed elsewhere")
            self._cluster.start_worker()
            if not self._cluster.members:
                self._say("no other worker is there; waiting for the Ray cluster to start one (Ctrl-C stops)")
        member.shards.clear()

    def _set_aside(self, path: Path, report: ShardReport) -> None:
        """Keep what a worker that is gone got; who resumes the shard begins at nought, and asks again what failed."""
        for role, count in report.stages.items():
            earlier = self._earlier[path].setdefault(role, StageCount(0, 0))
            earlier.got += count.got
            earlier.valid += count.valid
        self._reports[path] = replace(report, stages={}, done=False)

    def _tell(self) -> None:
        """Bring the counts that the display shows, and the cost, up to date."""
        members = self._cluster.members.values()
        for role, total in self.progress.stages.items():
            new = [self._new(shard, role) for shard in self._shards.values()]
            total.got = sum(count.got for count in new)
            total.answered = self._before[role] + total.got
            total.valid = sum(count.valid for count in new)
            total.failures = {}
            for count in new:
                for error, (calls, message) in count.failures.items():
                    total.fail(error, message, calls)
        for name, watched in self._cluster.watched.items():
            ends = [end for member in members if (end := member.endpoint(name)) is not None and member.shards]
            watched.state.concurrency = sum(end.concurrency for end in ends)
            watched.state.paused_until = time.monotonic() + max((end.pause_left_s for end in ends), default=0.0)
            watched.state.awaiting = sum((Counter(end.awaiting) for end in ends), Counter())
            notes = dict.fromkeys(note for m in members if m.report for note in m.report.notes)
            watched.state.notes += [note for note in notes if note not in watched.state.notes]
        roles = self._meter.spent.budget.roles
        for role_name in roles:
            parts = [r.spent[role_name] for r in self._reports.values() if role_name in r.spent]
            roles[role_name] = sum(parts, self._spent_before[role_name])
        self._meter.check_budget()

    def _new(self, shard: Shard, role: Role) -> StageCount:
        """What this session's workers did of one shard."""
        earlier = self._earlier[shard.path].get(role) or StageCount(0, 0)
        report = self._reports.get(shard.path)
        count = None if report is None else report.stages.get(role)
        if count is None:
            return earlier
        return StageCount(
            wanted=count.wanted,
            answered=count.answered,
            got=count.answered - shard.known[role],
            valid=earlier.valid + count.valid,
            failures=count.failures,
        )

    async def _absorb_finished(self) -> None:
        while self._finished:
            try:
                await self._absorber.absorb(self._finished[0])
            except JournalError as exc:
                self.fail(exc)
            self._finished.popleft()

    async def _wind_up(self) -> None:
        """Have every worker close its folders, then take back whatever shards there are."""
        self._closing = True
        if any(member.shards for member in self._cluster.members.values()):
            self.stop("stopped")
            self._give_up = True
        if self._tending:
            await asyncio.wait(self._tending.values(), timeout=_STOP_WAIT_S)
        for task in self._tending.values():
            task.cancel()
        await asyncio.gather(*self._tending.values(), return_exceptions=True)
        for member in list(self._cluster.members.values()):
            self._cluster.kill(member)
        try:
            for path in self._shards:
                if not path.exists():
                    continue
                if await is_free(path, within_s=_STOP_WAIT_S, say=self._say):
                    await self._absorber.absorb(path)
                else:
                    self._say(f"{path} is still held by a worker that cannot be reached; a resume takes it in")
            with suppress(OSError):
                (self.session.path / SHARDS).rmdir()
        except JournalError as exc:
            if self.fault is None:
                self.fault = exc
        self._tell()
