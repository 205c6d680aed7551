"""Workers on a Ray cluster: started, asked, and ended (docs/many-machines.md). What they are asked is foreman.py's."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from proverbench.ask.executors.joining import Membership, join, last_line
from proverbench.ask.executors.messages import (
    FENCE_S,
    EndpointReport,
    Order,
    Part,
    Report,
    Setup,
    ShardReport,
    Share,
    Stop,
)
from proverbench.ask.executors.shares import Allotment
from proverbench.ask.executors.worker import ShardWorker
from proverbench.endpoints.base import EndpointState
from proverbench.endpoints.factory import check_endpoints
from proverbench.errors import ConfigError, JournalError, ProverBenchError
from proverbench.inputs.config import Config
from proverbench.version import __version__

WORKERS_PER_MACHINE = 4
"""At most: a worker mostly waits for replies, and one keeps hundreds of calls in flight."""
_BUSY_S = 2.0
"""So long after a call has waited, a worker's part is not cut: parts that come and go all the time would cost more."""
_GATHER_S = 5.0
"""How long the first worker waits for the others."""


class Watched:
    """An endpoint of the whole cluster, as the display sees it."""

    def __init__(self) -> None:
        self.state = EndpointState()


class Owner(Protocol):
    """The run that shards are of, as far as those who hand them out need to know it."""

    def part(self, path: Path) -> Part:
        """What a worker needs to know of a shard."""
        ...

    def halt(self) -> Stop | None:
        """Why nothing new is asked, once that is so."""
        ...

    def heard(self, path: Path, report: ShardReport) -> None:
        """How far one of its shards is."""
        ...

    def done(self, path: Path) -> None:
        """A shard can be taken back."""
        ...

    def lost(self, path: Path) -> None:
        """The worker that had a shard is gone; it will be asked by another one."""
        ...

    def fail(self, fault: ProverBenchError) -> None:
        """Nothing more can be asked."""
        ...


class Bundle:
    """Shards that one worker asks together: one, or those of the same problems in all runs of a policy.

    They stay together until all are done: what one of them has of the policy the others need not ask again.

    Args:
        owners: Shard → the run that it is of.
    """

    def __init__(self, owners: dict[Path, Owner]) -> None:
        self.owners = owners
        self.losses = 0
        """Workers that it was lost with."""

    @property
    def is_wanted(self) -> bool:
        """Whether anybody asks something new of it."""
        return any(owner.halt() is None for owner in self.owners.values())


class Member:
    """The driver's view of one worker."""

    def __init__(self, number: int, handle: Any, host: str, pid: int) -> None:
        self.number = number
        self.handle = handle
        self.host = host
        self.pid = pid
        self.bundles: list[Bundle] = []
        self.shares: dict[str, Share] = {}
        """As of the latest order."""
        self.report: Report | None = None
        self._waited: dict[str, float] = {}
        """Endpoint → when calls were last waiting for a slot there."""

    @property
    def name(self) -> str:
        """What people are told of it."""
        return f"worker {self.pid} on {self.host}"

    def endpoint(self, name: str) -> EndpointReport | None:
        """What it last said of one of its endpoints."""
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
        if not self.bundles:
            return True
        if self.report is None or any(set(bundle.owners) - set(self.report.shards) for bundle in self.bundles):
            return False  # it has not begun with what it has
        ends = list(self.report.endpoints.values())
        opening = any(not (shard.stages or shard.done or shard.waits) for shard in self.report.shards.values())
        return not opening and not any(end.waiting for end in ends) and any(e.in_flight < e.concurrency for e in ends)


class EndpointAllotments(NamedTuple):
    """What one endpoint allows the whole cluster."""

    slots: Allotment
    requests: Allotment | None
    tokens: Allotment | None

    @property
    def all(self) -> list[Allotment]:
        """Those there are."""
        return [allotment for allotment in self if allotment is not None]


class Cluster:
    """Workers on a Ray cluster, ready to work.

    Attributes:
        endpoints: Role → what the display shows of its endpoint.
        members: The workers, by number.
        limits: Endpoint → what it allows.
    """

    def __init__(
        self, membership: Membership, config: Config, roles: Sequence[str], concurrency: int | None, rows: int
    ) -> None:
        self._membership = membership
        ray = self._ray = membership.ray
        ends = config.endpoints(roles)
        self.limits = {
            end.name: EndpointAllotments(
                Allotment(concurrency or end.concurrency),
                Allotment(end.requests_per_minute) if end.requests_per_minute else None,
                Allotment(end.tokens_per_minute) if end.tokens_per_minute else None,
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
        most = min([rows, *(allotment.total for limits in self.limits.values() for allotment in limits.all)])
        self.size = max(1, min(most, self._room()))
        self._actor = ray.remote(ShardWorker).options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")
        self._count = 0
        self._ready: asyncio.Queue[Member | ProverBenchError] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        self.members: dict[int, Member] = {}

    @classmethod
    async def open(
        cls,
        config: Config,
        roles: Sequence[str],
        *,
        concurrency: int | None,
        rows: int,
        address: str | None,
        say: Callable[[str], object],
    ) -> "Cluster":
        """Join a Ray cluster, or start one on this machine, and open the endpoints in its workers.

        Args:
            config: The config file as read.
            roles: The roles that will call.
            concurrency: Overrides the concurrency of each endpoint, as :func:`open_callers` does.
            rows: Of the run, or of all of a study; there are no more workers than that.
            address: Of the cluster to join; see :func:`join`.
            say: Told what is waited for.

        Raises:
            ConfigError: Ray is not installed, the cluster cannot be joined, or a worker cannot open an endpoint.
        """
        check_endpoints(config, roles)
        at_sigterm = signal.getsignal(signal.SIGTERM)
        membership = join(address, say)
        signal.signal(signal.SIGTERM, at_sigterm)  # Ray has taken it over
        cluster = cls(membership, config, roles, concurrency, rows)
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

    def arrivals(self) -> list[Member | ProverBenchError]:
        """Workers that became ready since the last time, or why they did not."""
        found = []
        while not self._ready.empty():
            found.append(self._ready.get_nowait())
        return found

    @property
    def n_starting(self) -> int:
        """Workers that are being made."""
        return len(self._starting) + self._ready.qsize()

    async def ask(self, member: Member, order: Order) -> Report | None:
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

    def kill(self, member: Member) -> None:
        """End a worker's process."""
        self.members.pop(member.number, None)
        for limits in self.limits.values():
            for allotment in limits.all:
                allotment.drop(member.number)
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(member.handle)

    async def aclose(self) -> None:
        """End all workers and leave the cluster; one that was started here is ended with it."""
        for task in set(self._starting):
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for arrival in self.arrivals():
            if isinstance(arrival, Member):
                self.kill(arrival)
        for member in list(self.members.values()):
            self.kill(member)
        self._membership.leave()

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
            if environ and not self._membership.guarded:
                raise ConfigError(
                    f"{where} lacks {', '.join(environ)}, and the Ray cluster asks nobody for a token, so keys are not "
                    "handed to it: whoever reaches it could read them. Start it with RAY_AUTH_MODE=token and a "
                    "RAY_AUTH_TOKEN (docs/many-machines.md), or set the variables where ray start is given"
                )
            fault = await handle.open.remote(replace(self._setup, environ=environ))
            if fault is not None:
                raise ConfigError(f"{where}: {fault}")
        except self._ray.exceptions.RayError as exc:
            self._ready.put_nowait(JournalError(f"a worker could not be started: {last_line(exc)}"))
        except ConfigError as exc:
            self._ray.kill(handle)
            self._ready.put_nowait(exc)
        else:
            self._ready.put_nowait(Member(number, handle, greeting.host, greeting.pid))

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
