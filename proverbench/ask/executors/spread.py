"""A run spread over a Ray cluster: the driver's side (docs/many-machines.md).

The driver holds the run, makes shards of it, adds up progress and cost, and takes the shards back; foreman.py hands
them out. Workers (worker.py) make the calls. Orders and reports go to and fro a few times a second.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from proverbench.ask.executors import foreman
from proverbench.ask.executors.base import Meter
from proverbench.ask.executors.cluster import Cluster, Watched
from proverbench.ask.executors.foreman import Foreman
from proverbench.ask.executors.messages import Part, ShardReport, Stop
from proverbench.ask.executors.shards import Absorber, Shard, is_free, make_shards
from proverbench.ask.pipeline import GRACE_S
from proverbench.ask.progress import Progress, StageCount
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.errors import ConfigError, JournalError, ProverBenchError
from proverbench.inputs.config import Config
from proverbench.records import Role
from proverbench.run.batches import open_batches
from proverbench.run.session import Draft, Session
from proverbench.run.sources import SHARDS

_ALONE = ""
"""The group of a run that is alone."""


class RayExecutor:
    """Makes calls on a Ray cluster.

    Args:
        say: Takes messages about the cluster.
        address: Of the cluster to join, as HOST:PORT; None: as ``RAY_ADDRESS`` says, else one is started here.
    """

    def __init__(self, say: Callable[[str], object], address: str | None = None) -> None:
        self._say = say
        self._address = address
        self._cluster: Cluster | None = None

    @property
    def endpoints(self) -> Mapping[Role, Watched]:
        """Role → its endpoint, over all workers."""
        return {} if self._cluster is None else self._cluster.endpoints  # type: ignore[return-value]

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        """Join the cluster, or start one, and open the endpoints in its workers.

        Raises:
            ConfigError: Ray is not installed, the cluster cannot be joined, an endpoint cannot be opened, or
                the run has open batches.
        """
        refuse_open_batches(session)
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
        return ClusterPipeline(session, Foreman(self._cluster, say, {_ALONE: 1}), meter)

    async def aclose(self) -> None:
        """Leave the cluster."""
        if self._cluster is not None:
            await self._cluster.aclose()


def refuse_open_batches(session: Session | None) -> None:
    """A cluster asks in no batches, and what is in one must not be asked in another way.

    Raises:
        ConfigError: If the run has open batches.
    """
    if session is not None and open_batches(session.sources):
        raise ConfigError(f"{session.path} has open batches; collect them first, without --executor ray")


class ClusterPipeline:
    """Asks what a session's run still lacks, on a cluster; used like :class:`proverbench.ask.pipeline.Pipeline`.

    Args:
        session: The run, open for writing; its folder is one that all machines see.
        foreman: Hands out its shards.
        meter: Holds what the run cost so far, which is kept up to date here; may call :meth:`stop`.
        group: Runs of one group share what a policy writes.
        run: What a study calls the run.
        names: Role → what a study calls it.
    """

    def __init__(
        self,
        session: Session,
        foreman: Foreman,
        meter: Meter,
        *,
        group: str = _ALONE,
        run: str | None = None,
        names: Mapping[Role, str] | None = None,
    ) -> None:
        self.session = session
        self._foreman = foreman
        self._meter = meter
        self._group = group
        self._run = run
        self._names = names or {}
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
        self.brought = False
        """Whether its shards are in the foreman's hands."""
        self._gives_up = False
        self._shards: dict[Path, Shard] = {}
        self._finished: deque[Path] = deque()
        self._reports: dict[Path, ShardReport] = {}
        self._earlier: dict[Path, dict[Role, StageCount]] = defaultdict(dict)
        """Of shards that changed hands: what their former workers did."""
        self._absorber = Absorber(session)

    def part(self, path: Path) -> Part:
        """What a worker needs to know of a shard."""
        return Part(path, self._run, self._names)

    def halt(self) -> Stop | None:
        """Why nothing new is asked, once that is so."""
        return None if self.reason is None else Stop(self.reason, self._gives_up)

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
        try:
            made = make_shards(self.session, self._foreman.n_shards)
            self._shards = {shard.path: shard for shard in made}
        finally:
            self.brought = True
            self._foreman.bring(self, self._group, list(self._shards))
        try:
            if made:
                self.session.start()
            while self._foreman.holds(self) or self._finished:
                self._foreman.turn()
                await self._absorb_finished()
                self._tell()
                yield sum(count.answered for count in self.progress.stages.values())
                await asyncio.sleep(foreman.TICK_S)
        finally:
            await self._wind_up()

    def _give_all_up(self) -> None:
        self._gives_up = True

    def heard(self, path: Path, report: ShardReport) -> None:
        """How far one of the shards is."""
        if report.stages or path not in self._reports:
            self._reports[path] = report
        if report.fault is not None:
            self.fail(report.fault.error())

    def done(self, path: Path) -> None:
        """A shard can be taken back."""
        self._finished.append(path)

    def lost(self, path: Path) -> None:
        """Keep what a worker that is gone got; who resumes the shard begins at nought, and asks again what failed."""
        report = self._reports.get(path)
        if report is None:
            return
        for role, count in report.stages.items():
            earlier = self._earlier[path].setdefault(role, StageCount(0, 0))
            earlier.got += count.got
            earlier.valid += count.valid
        self._reports[path] = replace(report, stages={}, done=False)

    def _tell(self) -> None:
        """Bring the counts that the display shows, and the cost, up to date."""
        for role, total in self.progress.stages.items():
            new = [self._new(shard, role) for shard in self._shards.values()]
            total.got = sum(count.got for count in new)
            total.answered = self._before[role] + total.got
            total.valid = sum(count.valid for count in new)
            total.failures = {}
            for count in new:
                for error, (calls, message) in count.failures.items():
                    total.fail(error, message, calls)
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
        """Have every worker close the run's folders, then take back whatever shards there are."""
        if self._foreman.holds(self):
            self.stop("stopped")
            self._gives_up = True
        await self._foreman.leave(self)
        try:
            for path in self._shards:
                if not path.exists():
                    continue
                if await is_free(path, within_s=foreman.STOP_WAIT_S, say=self._foreman.say):
                    await self._absorber.absorb(path)
                else:
                    self._foreman.say(f"{path} is still held by a worker that cannot be reached; a resume takes it in")
            with suppress(OSError):
                (self.session.path / SHARDS).rmdir()
        except JournalError as exc:
            if self.fault is None:
                self.fault = exc
        self._tell()
