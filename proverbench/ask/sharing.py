"""Endpoints that several runs of one process share: one limiter for all of them, and a policy's call asked once.

Each run has callers of its own (:class:`RunCaller`, :class:`WriterCaller`), so that one that stops does not stop the
others; behind them is one :class:`~proverbench.endpoints.base.Caller` an endpoint.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from proverbench.ask.reserve import Share
from proverbench.endpoints.base import (
    STOPPED,
    AskedElsewhereError,
    Caller,
    EndpointState,
    OnBroken,
    Outcome,
    Priority,
    Request,
    Unanswered,
)
from proverbench.endpoints.limits import Limiter
from proverbench.errors import TransientError
from proverbench.records import Role

_NOT_ASKED = Unanswered(STOPPED, "stopped before it was asked", None, 0)


class SharedEndpoint:
    """An endpoint and those who use it; it is stopped when all of them have.

    Args:
        caller: The endpoint.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._users: set[object] = set()

    def join(self, user: object) -> None:
        """Somebody will use it. All join before any leaves."""
        self._users.add(user)

    def leave(self, user: object) -> None:
        """Somebody asks nothing new any more."""
        self._users.discard(user)
        if not self._users:
            self.caller.stop()


class RunCaller:
    """One run's way to an endpoint that others use too (the :class:`~proverbench.endpoints.base.Caller` protocol).

    Args:
        shared: The endpoint.
        names: Role of the run → what the endpoint knows it as.
    """

    def __init__(self, shared: SharedEndpoint, names: Mapping[str, str]) -> None:
        self.state = EndpointState()
        self.cache_first = shared.caller.cache_first
        self._shared = shared
        self._names = names
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unreal = 0
        """Slots that were let through after the run had stopped, and hold no place at the endpoint."""
        shared.join(self)

    async def acquire(self, priority: int) -> None:
        """Wait for a free slot among all runs."""
        if self._stopped.done():
            self._unreal += 1
            return
        getting = asyncio.ensure_future(self._shared.caller.acquire(priority))
        try:
            await asyncio.wait({getting, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if await _withdrawn(getting):
                raise
            self._shared.caller.release()
            raise
        if not getting.done() and await _withdrawn(getting):
            self._unreal += 1

    def release(self) -> None:
        """Give an acquired slot back without calling; those of one run are all alike."""
        if self._unreal:
            self._unreal -= 1
        else:
            self._shared.caller.release()

    async def call(self, request: Request, on_broken: OnBroken | None = None) -> Outcome:
        """Ask, with retries, in the slot that is held.

        Raises:
            FatalEndpointError: No call will be answered.
        """
        if self._stopped.done():
            self.release()
            return _NOT_ASKED
        self.state.awaiting[request.role] += 1
        try:
            return await self._shared.caller.call(replace(request, role=self._names[request.role]), on_broken)
        finally:
            self.state.awaiting[request.role] -= 1

    def stop(self) -> None:
        """Begin no call of this run any more; those that wait for another attempt go on while other runs do."""
        if not self._stopped.done():
            self._stopped.set_result(None)
            self._shared.leave(self)

    async def aclose(self) -> None:
        """The run has ended."""
        self.stop()


async def _withdrawn(getting: asyncio.Future[None]) -> bool:
    """Wait for a slot no longer; False where it came all the same."""
    getting.cancel()
    await asyncio.gather(getting, return_exceptions=True)
    return getting.cancelled()


class Writer:
    """A policy whose proofs several runs want: each call is asked once, and all of them get its outcome.

    Args:
        shared: The policy's endpoint.
        name: What the endpoint knows the policy as.
    """

    def __init__(self, shared: SharedEndpoint, name: str) -> None:
        self.shared = shared
        self._name = name
        self._members: set[WriterCaller] = set()
        self._calls: dict[str, _SharedCall] = {}
        shared.join(self)

    @property
    def cache_first(self) -> bool:
        """As its endpoint."""
        return self.shared.caller.cache_first

    def join(self, member: "WriterCaller") -> None:
        """A run that wants the proofs."""
        self._members.add(member)

    def leave(self, member: "WriterCaller") -> None:
        """It wants no more of them."""
        self._members.discard(member)
        for key in [key for key, call in self._calls.items() if member in call.expected]:
            self._took(key, member)
        if not self._members:
            self.shared.leave(self)

    def call_of(self, request: Request) -> "_SharedCall":
        """The one call of that key, which begins now if it has not begun yet."""
        call = self._calls.get(request.key)
        if call is None:
            call = self._calls[request.key] = _SharedCall(set(self._members))
            call.task = asyncio.ensure_future(self._ask(request, call))
            call.task.add_done_callback(_retrieved)
        return call

    def took(self, request: Request, member: "WriterCaller") -> None:
        """A run has the outcome; once all have it, it is forgotten."""
        self._took(request.key, member)

    def _took(self, key: str, member: "WriterCaller") -> None:
        call = self._calls.get(key)
        if call is not None:
            call.expected.discard(member)
            if not call.expected and call.task.done():
                del self._calls[key]

    async def _ask(self, request: Request, call: "_SharedCall") -> Outcome:
        caller = self.shared.caller
        await caller.acquire(Priority.POLICY)
        share = next((share for member in self._members if (share := member.afford()) is not None), None)
        reserved: float | None = None
        if share is not None:
            reserved = await share.whole.reserve(share.named(request.role), len(request.prompt), self._left)
        if self._left() or (share is not None and reserved is None):
            if share is not None and reserved is not None:
                share.whole.settle(reserved)
            caller.release()
            return _NOT_ASKED
        try:
            return await caller.call(replace(request, role=self._name), call.broken)
        finally:
            if share is not None and reserved is not None:
                share.whole.settle(reserved)

    def _left(self) -> bool:
        return not self._members

    async def aclose(self) -> None:
        """Give up what is still asked."""
        tasks = [call.task for call in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _SharedCall:
    """A call on its way, and who waits for it."""

    task: asyncio.Future[Outcome]

    def __init__(self, expected: "set[WriterCaller]") -> None:
        self.expected = expected
        """Runs that have not taken its outcome yet."""
        self.waiting: dict[WriterCaller, OnBroken | None] = {}
        """Those that wait at this moment, in order of coming; the first keeps what was paid for."""
        self.owner: WriterCaller | None = None
        """The run that counts what it cost."""

    def broken(self, exc: TransientError) -> None:
        """A reply began and was broken off."""
        for on_broken in self.waiting.values():
            if on_broken is not None:
                on_broken(exc)
            return


class WriterCaller:
    """One run's way to a policy (the :class:`~proverbench.endpoints.base.Caller` protocol).

    A slot is a place among the calls that this run looks ahead; the place at the endpoint is taken by the call itself.

    Args:
        writer: The policy.
        run: The run's name.
        ahead: So many calls at most wait at once.
        afford: The run's part of what is set aside under a cap; None: there is no cap.
    """

    def __init__(self, writer: Writer, run: str, ahead: int, afford: Callable[[], Share | None] = lambda: None) -> None:
        self.state = EndpointState()
        self.cache_first = writer.cache_first
        self.run = run
        self.afford = afford
        self._writer = writer
        self._ahead = Limiter(ahead, state=EndpointState())
        self._stopped = False
        writer.join(self)

    async def acquire(self, priority: int) -> None:
        """Wait until this run may look further ahead."""
        await self._ahead.acquire(priority)

    def release(self) -> None:
        """Give a place back."""
        self._ahead.release()

    async def call(self, request: Request, on_broken: OnBroken | None = None) -> Outcome:
        """The outcome of the one call that all runs share.

        Raises:
            FatalEndpointError: No call will be answered.
        """
        try:
            if self._stopped:
                return _NOT_ASKED
            return await self._outcome(request, on_broken)
        finally:
            self._ahead.release()

    async def _outcome(self, request: Request, on_broken: OnBroken | None) -> Outcome:
        call = self._writer.call_of(request)
        call.waiting[self] = on_broken
        try:
            outcome = await asyncio.shield(call.task)
        except asyncio.CancelledError:
            if call.owner is None:
                call.owner = self
                raise
            raise AskedElsewhereError from None
        finally:
            del call.waiting[self]
            self._writer.took(request, self)
        if call.owner is None:
            call.owner = self
        return outcome if call.owner is self else replace(outcome, asked_in=call.owner.run)

    def stop(self) -> None:
        """Begin no call of this run any more; outcomes that it waits for still come."""
        if not self._stopped:
            self._stopped = True
            self._ahead.stop()
            self._writer.leave(self)

    async def aclose(self) -> None:
        """The run has ended."""
        self.stop()
        self._ahead.aclose()


class Sharing:
    """Endpoints that several runs of a study share, with a way to them for each run.

    Args:
        shared: What the study calls a role → its endpoint (:func:`share`).
        ahead: Likewise → how many calls a run looks ahead.
    """

    def __init__(self, shared: Mapping[str, SharedEndpoint], ahead: Mapping[str, int]) -> None:
        self._shared = shared
        self._ahead = ahead
        self._writers: dict[str, Writer] = {}

    def callers_of(
        self, run: str, names: Mapping[Role, str], afford: Callable[[], Share | None] = lambda: None
    ) -> dict[Role, Caller]:
        """One run's ways to the endpoints; a role that nothing is to be asked of has none.

        Args:
            run: Its name.
            names: Role → what the study calls it.
            afford: The run's part of what is set aside under a cap.
        """
        found: dict[Role, Caller] = {}
        judged: dict[SharedEndpoint, dict[str, str]] = {}
        for role, name in names.items():
            if (shared := self._shared.get(name)) is None:
                continue
            if role == "policy":
                writer = self._writers.get(name)
                if writer is None:
                    writer = self._writers[name] = Writer(shared, name)
                found[role] = WriterCaller(writer, run, self._ahead[name], afford)
            else:
                judged.setdefault(shared, {})[role] = name
        for shared, named in judged.items():
            caller = RunCaller(shared, named)
            found |= {role: caller for role in names if role in named}
        return found

    async def aclose(self) -> None:
        """Give up what is still asked of policies."""
        for writer in self._writers.values():
            await writer.aclose()


def share(callers: Mapping[str, Caller]) -> dict[str, SharedEndpoint]:
    """What a study calls a role → its endpoint, for sharing; one for all roles that it has."""
    made = {id(caller): SharedEndpoint(caller) for caller in callers.values()}
    return {name: made[id(caller)] for name, caller in callers.items()}


async def leave(callers: Mapping[Role, object]) -> None:
    """A run asks nothing any more."""
    for caller in callers.values():
        if isinstance(caller, RunCaller | WriterCaller):
            await caller.aclose()


def _retrieved(task: asyncio.Future[Outcome]) -> None:
    """All who waited may have gone; then nobody else asks what became of it."""
    with suppress(asyncio.CancelledError):
        task.exception()
