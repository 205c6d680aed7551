"""A run spread over a Ray cluster: the driver's side (docs/many-machines.md).

The driver holds the run, hands out shards and each endpoint's limits, adds up progress and cost, and takes the shards
back. Workers (worker.py) make the calls. Orders and reports go to and fro a few times a second.
"""

import asyncio
import logging
import os
import signal
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from proverbench.ask.batching import open_batches
from proverbench.ask.executors.base import Meter
from proverbench.ask.executors.messages import FENCE_S, EndpointReport, Order, Report, Setup, ShardReport, Share
from proverbench.ask.executors.shards import Absorber, Shard, is_free, make_shards
from proverbench.ask.executors.shares import Purse, divide, portions
from proverbench.ask.executors.worker import ShardWorker
from proverbench.ask.pipeline import GRACE_S, Progress, StageCount
from proverbench.endpoints.base import EndpointState
from proverbench.endpoints.batch import BatchClients
from proverbench.endpoints.factory import check_endpoints
from proverbench.errors import ConfigError, JournalError, ProverBenchError
from proverbench.inputs.config import Config
from proverbench.records import Role
from proverbench.run.session import Draft, Session
from proverbench.run.sources import SHARDS
from proverbench.version import __version__

TICK_S = 0.25
"""How often each worker is told and asked."""
SHARDS_PER_WORKER = 4
"""Several, so that whoever is done early, or comes late, finds something to do."""
WORKERS_PER_MACHINE = 4
"""At most: a worker mostly waits for replies, and one keeps hundreds of calls in flight."""
_MOST_LOSSES = 3
"""Workers that a shard may be lost with before it is left for a later session."""
_BUSY_S = 2.0
"""So long after a call has waited, a worker's part is not cut: parts that come and go all the time would cost more."""
_GATHER_S = 5.0
"""How long the first worker waits for the others."""
_STOP_WAIT_S = 10.0
"""How long a worker that was told to stop at once may take to close its folders."""
_DESERTED_S = 20.0
"""How long a run without workers waits once one could not be started; Ray itself ends a process 60 s after it has lost
the cluster's head, and by then all must be saved."""
_PRIVATE = "proverbench_private"
"""A resource of clusters that are started for one run and end with it, so that no other run works on one."""
_OBJECT_STORE_BYTES = 80_000_000
"""The least that Ray takes; nothing large goes through it."""


class Watched:
    """An endpoint of the whole cluster, as the display sees it."""

    def __init__(self) -> None:
        self.state = EndpointState()


class _Member:
    """The driver's view of one worker."""

    def __init__(self, number: int, handle: Any, host: str, pid: int) -> None:
        self.number = number
        self.handle = handle
        self.host = host
        self.pid = pid
        self.shards: dict[Path, Shard] = {}
        self.shares: dict[str, Share] = {}
        """As of the latest order."""
        self.report: Report | None = None
        self._waited: dict[str, float] = {}
        """Endpoint → when calls were last waiting for a slot there."""

    @property
    def name(self) -> str:
        return f"worker {self.pid} on {self.host}"

    def endpoint(self, name: str) -> EndpointReport | None:
        return None if self.report is None else self.report.endpoints[name]

    def heard(self, report: Report) -> None:
        """Keep what it says."""
        self.report = report
        now = asyncio.get_running_loop().time()
        self._waited |= {name: now for name, end in report.endpoints.items() if end.waiting}

    def is_busy(self, name: str) -> bool:
        """Whether it could lately have used more of an endpoint than it had; true of one that has just begun."""
        now = asyncio.get_running_loop().time()
        return self.report is None or now - self._waited.get(name, -_BUSY_S) < _BUSY_S

    def is_hungry(self) -> bool:
        """Whether it could make more calls than its shards have for it at the moment."""
        if not self.shards:
            return True
        if self.report is None or set(self.shards) - set(self.report.shards):
            return False  # it has not begun with what it has
        ends = list(self.report.endpoints.values())
        opening = any(not (shard.stages or shard.done or shard.waits) for shard in self.report.shards.values())
        return not opening and not any(end.waiting for end in ends) and any(e.in_flight < e.concurrency for e in ends)


class Limits(NamedTuple):
    """What one endpoint allows the whole cluster."""

    slots: Purse
    requests: Purse | None
    tokens: Purse | None

    @property
    def purses(self) -> list[Purse]:
        """Those there are."""
        return [purse for purse in self if purse is not None]


class Cluster:
    """Workers on a Ray cluster, ready to work.

    Attributes:
        endpoints: Role → what the display shows of its endpoint.
        members: The workers, by number.
        limits: Endpoint → what it allows.
    """

    def __init__(self, ray: Any, config: Config, roles: Sequence[Role], concurrency: int | None, rows: int) -> None:
        self._ray = ray
        ends = config.endpoints(roles)
        self.limits = {
            end.name: Limits(
                Purse(concurrency or end.concurrency),
                Purse(end.requests_per_minute) if end.requests_per_minute else None,
                Purse(end.tokens_per_minute) if end.tokens_per_minute else None,
            )
            for end in ends
        }
        watched = {end.name: Watched() for end in ends}
        self.endpoints = {role: watched[config.roles[role].endpoint.name] for role in roles}
        self.watched = watched
        self._variables = [
            name for end in ends for name in (end.api_key_env, *end.extra_headers_env.values()) if name is not None
        ]
        self._setup = Setup(config, roles, concurrency, Path.cwd())
        most = min([rows, *(purse.total for limits in self.limits.values() for purse in limits.purses)])
        self.size = max(1, min(most, self._room()))
        self._actor = ray.remote(ShardWorker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")
        self._count = 0
        self._ready: asyncio.Queue[_Member | ProverBenchError] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        self.members: dict[int, _Member] = {}

    @classmethod
    async def open(
        cls,
        config: Config,
        roles: Sequence[Role],
        *,
        concurrency: int | None,
        rows: int,
        say: Callable[[str], object],
    ) -> "Cluster":
        """Join the Ray cluster, or start one on this machine, and open the endpoints in its workers.

        Args:
            config: The config file as read.
            roles: The roles that will call.
            concurrency: Overrides the concurrency of each endpoint, as :func:`open_callers` does.
            rows: Of the run; there are no more workers than that.
            say: Told what is waited for.

        Raises:
            ConfigError: Ray is not installed, or a worker cannot open an endpoint as configured.
        """
        check_endpoints(config, roles)
        ray = _import_ray()
        at_sigterm = signal.getsignal(signal.SIGTERM)
        _join(ray, say)
        signal.signal(signal.SIGTERM, at_sigterm)  # Ray has taken it over
        cluster = cls(ray, config, roles, concurrency, rows)
        try:
            for _ in range(cluster.size):
                cluster.start_worker()
            await cluster._first_worker(say)
        except BaseException:
            await cluster.aclose()
            raise
        return cluster

    def start_worker(self) -> None:
        """Have a worker made; :meth:`arrivals` tells when it is ready."""
        self._count += 1
        task = asyncio.get_running_loop().create_task(self._start(self._count))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    def arrivals(self) -> list[_Member | ProverBenchError]:
        """Workers that became ready since the last time, or why they did not."""
        found = []
        while not self._ready.empty():
            found.append(self._ready.get_nowait())
        return found

    @property
    def n_starting(self) -> int:
        """Workers that are being made."""
        return len(self._starting) + self._ready.qsize()

    async def ask(self, member: _Member, order: Order) -> Report | None:
        """Send an order; returns the report, or None when the worker is dead or cut off."""
        deadline = asyncio.get_running_loop().time() + FENCE_S
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    report: Report = await member.handle.exchange.remote(order)
                    return report
            except self._ray.exceptions.ActorUnavailableError:
                await asyncio.sleep(1.0)  # a network that comes back, or a worker that will be found dead
            except (self._ray.exceptions.RayActorError, TimeoutError):
                return None

    def kill(self, member: _Member) -> None:
        """End a worker's process."""
        self.members.pop(member.number, None)
        for limits in self.limits.values():
            for purse in limits.purses:
                purse.drop(member.number)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(member.handle)

    async def aclose(self) -> None:
        """End all workers and leave the cluster; one that was started here is ended with it."""
        for task in set(self._starting):
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for arrival in self.arrivals():
            if isinstance(arrival, _Member):
                self.kill(arrival)
        for member in list(self.members.values()):
            self.kill(member)
        self._ray.shutdown()

    def _room(self) -> int:
        """How many workers the cluster has room for; at least 1, for it may grow."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        return sum(min(WORKERS_PER_MACHINE, int(node["Resources"].get("CPU", 0))) for node in nodes)

    async def _start(self, number: int) -> None:
        handle = self._actor.remote()
        try:
            greeting = await handle.greet.remote(self._variables)
            where = f"worker {greeting.pid} on {greeting.host}"
            if greeting.version != __version__:
                raise ConfigError(
                    f"{where} has proverbench {greeting.version}, here is {__version__}; install the same everywhere"
                )
            # Not as Ray's runtime environment: Ray writes that into its logs.
            environ = {name: os.environ[name] for name in greeting.missing if os.environ.get(name)}
            fault = await handle.open.remote(replace(self._setup, environ=environ))
            if fault is not None:
                raise ConfigError(f"{where}: {fault}")
        except self._ray.exceptions.RayError as exc:
            self._ready.put_nowait(JournalError(f"a worker could not be started: {_last_line(exc)}"))
        except ConfigError as exc:
            self._ray.kill(handle)
            self._ready.put_nowait(exc)
        else:
            self._ready.put_nowait(_Member(number, handle, greeting.host, greeting.pid))

    async def _first_worker(self, say: Callable[[str], object]) -> None:
        """Wait for one, and a little for the others; who is late joins when it is ready."""
        while True:
            try:
                async with asyncio.timeout(20.0):
                    first = await self._ready.get()
                break
            except TimeoutError:
                say("waiting for the Ray cluster to start a worker (each needs one CPU; see: ray status)")
        if isinstance(first, ProverBenchError):
            raise first
        self._ready.put_nowait(first)
        if self._starting:
            await asyncio.wait(self._starting, timeout=_GATHER_S)


class RayExecutor:
    """Makes calls on a Ray cluster.

    Args:
        say: Told what is waited for.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._cluster: Cluster | None = None

    @property
    def endpoints(self) -> Mapping[Role, Watched]:
        """Role → its endpoint, over all workers."""
        return {} if self._cluster is None else self._cluster.endpoints

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        """Join the cluster, or start one, and open the endpoints in its workers.

        Raises:
            ConfigError: Ray is not installed, an endpoint cannot be opened as configured, or the run has open batches.
        """
        if session is not None and open_batches(session.sources):
            raise ConfigError(f"{session.path} has open batches; collect them first, without --executor ray")
        self._cluster = await Cluster.open(
            config, roles, concurrency=draft.operation.get("concurrency"), rows=len(draft.rows), say=self._say
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


def _import_ray() -> Any:
    # Ray would tell its makers of each cluster that is started.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as exc:
        raise ConfigError(
            "--executor ray needs Ray, which is not installed; install it on every machine: "
            "pip install 'proverbench[ray]'"
        ) from exc
    return ray


def _join(ray: Any, say: Callable[[str], object]) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = os.environ.get("RAY_ADDRESS")
    found = "no Ray cluster is running here"
    try:
        ray.init(address="auto", **quiet)
        if address or _PRIVATE not in ray.cluster_resources():
            say(f"joined the Ray cluster at {ray.get_runtime_context().gcs_address}")
            return
        ray.shutdown()
        found = "the Ray cluster that runs here is another run's and will end with it"
    except ConnectionError as exc:
        if address:
            raise ConfigError(
                f"cannot join the Ray cluster at RAY_ADDRESS={address}: is it running, and has this machine its token "
                "(RAY_AUTH_TOKEN)? Without RAY_ADDRESS, a cluster is started on this machine alone"
            ) from exc
    except RuntimeError as exc:  # Ray's word for other versions of Ray or Python than the cluster has, among others
        raise ConfigError(f"cannot join the Ray cluster: {_last_line(exc)}") from exc
    say(f"{found}, so one is started on this machine alone")
    ray.init(
        address="local",
        include_dashboard=False,
        object_store_memory=_OBJECT_STORE_BYTES,
        resources={_PRIVATE: 1},
        **quiet,
    )


def _last_line(exc: BaseException) -> str:
    return str(exc).strip().rsplit("\n", 1)[-1].strip()


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

    async def _tend(self, member: _Member) -> None:
        """Tell one worker what to do, and hear how things are, until the run is over or the worker is lost."""
        while member.shards or not (self._closing or self._is_over()):
            report = await self._cluster.ask(member, self._order(member))
            if report is None:
                self._lost(member)
                return
            self._take(member, report)
            await asyncio.sleep(TICK_S)

    def _order(self, member: _Member) -> Order:
        if self._pending and not self.stopping() and member.is_hungry():
            path = self._pending.popleft()
            member.shards[path] = self._shards[path]
        member.shares = {name: self._share(member, name) for name in self._cluster.limits}
        return Order(list(member.shards), member.shares, sorted(self._proven), self.reason, self._give_up)

    def _share(self, member: _Member, name: str) -> Share:
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
            None if purse is None else purse.offer(member.number, portions(purse.total, busy)[place])
            for purse in (limits.requests, limits.tokens)
        ]
        slots = 0 if 0 in rates else divide(limits.slots.total, demands)[place]
        return Share(limits.slots.offer(member.number, slots), *(rate or None for rate in rates))

    def _take(self, member: _Member, report: Report) -> None:
        member.heard(report)
        for name, end in report.endpoints.items():
            limits, share = self._cluster.limits[name], member.shares[name]
            limits.slots.settle(member.number, end.held)
            for purse, part in ((limits.requests, share.requests_per_minute), (limits.tokens, share.tokens_per_minute)):
                if purse is not None:
                    purse.settle(member.number, part or 0)
            if end.answered:
                self._proven.add(name)
        for path, shard in report.shards.items():
            if path in member.shards:
                self._take_shard(member, path, shard)

    def _take_shard(self, member: _Member, path: Path, report: ShardReport) -> None:
        if report.stages or path not in self._reports:
            self._reports[path] = report
        if report.fault is not None:
            self.fail(report.fault.error())
        if report.done:
            del member.shards[path]
            self._finished.append(path)

    def _lost(self, member: _Member) -> None:
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
