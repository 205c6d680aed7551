"""One worker: runs shards in its process, as its driver orders. Knows nothing of how the orders come (cluster.py)."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from proverbench.ask.budget import BudgetWatch
from proverbench.ask.drive import Driver
from proverbench.ask.executors.local import LocalExecutor
from proverbench.ask.executors.messages import (
    FENCE_S,
    EndpointReport,
    Fault,
    Greeting,
    Order,
    Part,
    Report,
    Setup,
    ShardReport,
)
from proverbench.ask.executors.shards import wait_until_free
from proverbench.ask.sharing import SharedEndpoint, Sharing, leave, share
from proverbench.ask.study_proofs import copy_proofs
from proverbench.endpoints.base import Caller
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.factory import open_callers
from proverbench.errors import ConfigError, FatalEndpointError, JournalError, ProverBenchError
from proverbench.records import SessionLine
from proverbench.run.manifest import MANIFEST
from proverbench.run.session import Session
from proverbench.run.sources import Sources
from proverbench.spending.budget import Spent
from proverbench.version import __version__

_SEEN_WITHIN_S = 30.0


class ShardWorker:
    """Runs shards, several at once, over one set of endpoints."""

    def __init__(self) -> None:
        self._callers: dict[str, EndpointCaller] = {}
        self._of_role: Mapping[str, Caller] = {}
        self._shared: Mapping[str, SharedEndpoint] = {}
        self._ahead: Mapping[str, int] = {}
        self._running: dict[Path, _RunningShard] = {}
        self._fence: asyncio.TimerHandle | None = None

    async def greet(self, variables: Sequence[str]) -> Greeting:
        """Say who this is, and which of the environment variables are not set here."""
        missing = [name for name in variables if not os.environ.get(name)]
        return Greeting(socket.gethostname(), os.getpid(), __version__, missing)

    async def open(self, setup: Setup) -> str | None:
        """Open the endpoints; returns what keeps them from opening, if anything does."""
        os.environ.update(setup.environ)
        try:
            os.chdir(setup.folder)
            opened = await open_callers(setup.config, setup.roles, concurrency=setup.concurrency)
        except ConfigError as exc:
            return str(exc)
        except OSError as exc:
            return f"cannot enter {exc.filename}: {exc.strerror}; every machine must see the same folders"
        self._of_role = {role: opened[role] for role in setup.roles}
        self._shared = share(self._of_role)
        for shared in self._shared.values():
            shared.join(self)  # also while nobody asks anything
        self._ahead = {role: setup.config.roles[role].endpoint.concurrency for role in setup.roles}
        for caller in opened.values():
            assert isinstance(caller, EndpointCaller)
            self._callers[caller.name] = caller
            caller.resize(0)
        self._wind_clock()
        return None

    async def exchange(self, order: Order) -> Report:
        """Do as the order says, and say how things are."""
        self._wind_clock()
        for name, part in order.shares.items():
            self._callers[name].resize(part.slots, part.requests_per_minute, part.tokens_per_minute)
        for name in order.proven:
            state = self._callers[name].state
            state.answered = max(1, state.answered)
        for path in set(self._running) - {shard.path for bundle in order.bundles for shard in bundle}:
            del self._running[path]
        for bundle in order.bundles:
            if bundle[0].path not in self._running:
                self._begin(bundle)
        for path, halt in order.stops.items():
            self._running[path].stop(halt.reason)
            if halt.gives_up:
                self._running[path].give_up()
        if order.ends:
            for shared in self._shared.values():
                shared.leave(self)
        return self._report()

    def _begin(self, bundle: Sequence[Part]) -> None:
        """Have shards asked, those of a study's runs together."""
        sharing = Sharing(self._shared, self._ahead)
        together = _Together(bundle, sharing)
        for part in bundle:
            if part.run is None:
                self._running[part.path] = _RunningShard(part, self._of_role, None)
            else:
                callers = sharing.callers_of(part.run, part.roles)
                self._running[part.path] = _RunningShard(part, callers, together)

    def _report(self) -> Report:
        endpoints = {
            name: EndpointReport(
                in_flight=caller.state.in_flight,
                awaiting=caller.state.awaiting,
                waiting=caller.limiter.waiting,
                slots=caller.limiter.ceiling,
                concurrency=caller.state.concurrency,
                answered=caller.state.answered > 0,
                pause_left_s=max(0.0, caller.state.paused_until - time.monotonic()),
            )
            for name, caller in self._callers.items()
        }
        notes = [note for caller in self._callers.values() for note in caller.state.notes]
        return Report({path: running.report() for path, running in self._running.items()}, endpoints, notes)

    def _wind_clock(self) -> None:
        """End the process when its driver is not heard of any more; what was answered is on disk."""
        if self._fence is not None:
            self._fence.cancel()
        self._fence = asyncio.get_running_loop().call_later(FENCE_S, os._exit, 1)


class _Together:
    """Shards of a bundle: they begin together, each with the proofs that any of them has.

    Args:
        parts: The shards.
        sharing: Their ways to the endpoints.
    """

    def __init__(self, parts: Sequence[Part], sharing: Sharing) -> None:
        self._sharing = sharing
        self._members = {part.path for part in parts}
        self._awaited = set(self._members)
        self._there: dict[str, Session] = {}
        self._faults: dict[str, ProverBenchError] = {}
        self._begun = asyncio.Event()

    async def come(self, part: Part, session: Session) -> None:
        """Wait for the others.

        Raises:
            JournalError: If the proofs that another one has cannot be copied.
        """
        assert part.run is not None
        self._there[part.run] = session
        self._wait_less(part)
        await self._begun.wait()
        if part.run in self._faults:
            raise self._faults[part.run]

    async def leave(self, part: Part) -> None:
        """A shard is over, begun or not."""
        self._there.pop(str(part.run), None)
        self._wait_less(part)
        self._members.discard(part.path)
        if not self._members:
            await self._sharing.aclose()

    def _wait_less(self, part: Part) -> None:
        self._awaited.discard(part.path)
        if self._awaited or self._begun.is_set():
            return
        sources = {name: session.sources for name, session in self._there.items()}
        for name, session in self._there.items():
            try:
                copy_proofs(session, name, sources)
            except ProverBenchError as exc:
                self._faults[name] = exc
        self._begun.set()


class _RunningShard:
    """A shard that is being asked; begins at once."""

    def __init__(self, part: Part, callers: Mapping[Any, Caller], together: _Together | None) -> None:
        self._path = part.path
        self._part = part
        self._together = together
        self._callers = callers
        self._driver = Driver(
            part.path,
            resume=True,
            executor=LocalExecutor(callers),
            budget=BudgetWatch(),  # the whole run's is watched where all workers report
            derives=False,
            spent=spent_here,
        )
        self._fault: ProverBenchError | None = None
        self._given_up = False
        self._waits = False
        self._task = asyncio.create_task(self._run())

    def stop(self, reason: str) -> None:
        self._driver.stop(reason)

    def give_up(self) -> None:
        if not self._given_up:
            self._given_up = True
            self._task.cancel()

    def report(self) -> ShardReport:
        fault = None if self._fault is None else Fault.of(self._fault)
        if self._driver.fault is not None:
            fault = Fault.of(self._driver.fault)
        elif self._driver.systematic is not None:
            fault = Fault.of(FatalEndpointError(self._driver.systematic, kind="systematic"))
        if self._task.done() and not self._task.cancelled() and (exc := self._task.exception()) is not None:
            fault = Fault.of(exc)
        stages = self._driver.stages
        spent = self._driver.spent.budget.roles if stages else {}
        return ShardReport(stages, spent, self._waits, self._task.done(), fault)

    async def _run(self) -> None:
        try:
            self._waits = True
            await self._wait_until_seen()
            await wait_until_free(self._path)
            self._waits = False
            async with self._driver as driver:
                if self._together is not None:
                    await self._together.come(self._part, driver.session)
                await self._ask(driver)
        except ProverBenchError as exc:
            self._fault = exc
        finally:
            if self._together is not None:
                await leave(self._callers)
                await self._together.leave(self._part)

    async def _wait_until_seen(self) -> None:
        """A file server may take a while to show one machine what another has made."""
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while not (self._path / MANIFEST).exists():
            if time.monotonic() > deadline:
                raise JournalError(
                    f"{socket.gethostname()} does not see {self._path}; --executor ray needs the run's folder on a "
                    "file system that all machines have in the same place"
                )
            await asyncio.sleep(0.2)

    async def _ask(self, driver: Driver) -> None:
        try:
            async with aclosing(driver.ask()) as proofs:
                async for _ in proofs:
                    pass
        except asyncio.CancelledError:
            if not self._given_up:
                raise


def spent_here(sources: Sources) -> Spent:
    """What the calls of a shard cost, without the answers that it was made with: those stand before any session."""
    spent, begun = Spent(sources.manifest), False
    for _, line in sources.calls.lines():
        begun = begun or isinstance(line, SessionLine)
        if begun:
            spent.add(line)
    return spent
