"""R judgments of a proof share a prompt: the first is asked alone, so that the others are read from the server's cache.

The others of a proof wait until the answer to the first has begun, for then the server has read the prompt. They never
wait at the price of throughput: while they do, other calls fill the slots; where there are none, they go out at once.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar

from proverbench.ask.sampling import Job
from proverbench.concurrency import Ready
from proverbench.spending.usage import normalise_usage

E = TypeVar("E")

WAIT_FROM_CHARS = 4_000
"""Prompts of so many characters or more are worth waiting for; providers cache none below about 1,000 tokens."""
_TURNS = 4
"""Of the loop, in which a source that need not wait has its next call ready."""
GIVE_UP_AFTER = 20
"""Proofs whose later judgments were answered without a cached token, after which nothing waits any more."""


class CacheFirst:
    """Puts the judgments of a run in order.

    Args:
        repeats: R; a judgment's number divided by it is its proof's.
        stopping: True once nothing new should be asked.
        acquire: Waits for a slot; with True only while nobody else wants it.
        release: Gives a slot back unused.
        tell: Takes what the user should know.
    """

    def __init__(
        self,
        repeats: int,
        *,
        stopping: Callable[[], bool],
        acquire: Callable[[bool], Awaitable[None]],
        release: Callable[[], None],
        tell: Callable[[str], None],
    ) -> None:
        self._repeats = repeats
        self._stopping = stopping
        self._acquire = acquire
        self._release = release
        self._tell = tell
        self._on = repeats > 1
        self._fresh: Job | None = None
        """The first of a proof, or a call that waits for nothing."""
        self._warm: deque[Job] = deque()
        self._held: dict[int, deque[Job]] = {}
        """Proof → calls that wait for the answer to its first to begin."""
        self._open: tuple[int, bool] | None = None
        """The proof whose calls are coming, and whether the answer to its first has begun."""
        self._ready: deque[Ready[object]] = deque()
        self._room = asyncio.Event()
        self._wake = asyncio.Event()
        self._cold: set[int] = set()
        self._told_cached = False

    def begun(self, proof: int) -> None:
        """The answer to a proof's first call has begun, or there will be none: the others go."""
        if self._open is not None and self._open[0] == proof:
            self._open = (proof, True)
        waiting = self._held.pop(proof, None)
        if waiting:
            self._warm += waiting
        self._wake.set()

    def answered(self, number: int, raw_usage: dict[str, Any] | None, *, first: bool) -> None:
        """A call was answered; ``first`` says that it was asked alone."""
        if not self._on or self._told_cached:
            return
        usage = normalise_usage(raw_usage)
        if usage is None:
            return
        if usage.cached_input:
            self._told_cached = True
        elif not first:
            self._cold.add(number // self._repeats)
            if len(self._cold) >= GIVE_UP_AFTER:
                self._on = False
                self._tell(
                    f"note: after {GIVE_UP_AFTER} proofs the server has told of no cached token, so judgments no "
                    "longer wait for the first of their proof (cache_first is off)"
                )
                for proof in list(self._held):
                    self.begun(proof)

    async def order(self, source: AsyncGenerator[Job | Ready[E], None]) -> AsyncGenerator[Job | Ready[E], None]:
        """The calls of ``source`` in their order, each with its slot already taken; what is ready goes through.

        Once nothing new is asked, the source is read to its end and its calls are dropped.
        """
        pumping = asyncio.ensure_future(self._pump(source))
        pumping.add_done_callback(lambda _: self._wake.set())
        try:
            while True:
                self._wake.clear()
                while self._ready:
                    yield self._ready.popleft()  # type: ignore[misc]
                if self._stopping():
                    self._room.set()
                    if pumping.done():
                        break
                    await self._wake.wait()
                elif self._warm or self._fresh is not None:
                    await self._acquire(False)
                    if (job := self._next()) is not None:
                        yield job
                elif self._held:
                    if (job := await self._last_resort(pumping)) is not None:
                        yield job
                elif pumping.done():
                    break
                else:
                    await self._wake.wait()
            pumping.result()
        finally:
            pumping.cancel()
            await asyncio.gather(pumping, return_exceptions=True)

    def _next(self) -> Job | None:
        """The call for a slot that was just granted; None, and the slot given back, when nothing new is asked."""
        job: Job | None = None
        if not self._stopping():
            if self._warm:
                job = self._warm.popleft()
            elif self._fresh is not None:
                job, self._fresh = self._fresh, None
                self._room.set()
            elif self._held:
                proof = next(iter(self._held))
                job = self._held[proof].popleft()
                if not self._held[proof]:
                    del self._held[proof]
        if job is None:
            self._release()
        return job

    async def _last_resort(self, pumping: asyncio.Future[None]) -> Job | None:
        """Only calls that wait are there: one of them, if a slot is free that nobody else wants."""
        for _ in range(_TURNS):  # the source may have another call at once
            if pumping.done() or self._warm or self._fresh is not None:
                break
            await asyncio.sleep(0)
        if self._warm or self._fresh is not None or not self._held:
            return None
        slot = asyncio.ensure_future(self._acquire(True))
        waking = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait({slot, waking}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self._release()
            raise
        finally:
            waking.cancel()
            if not slot.done():
                slot.cancel()
            await asyncio.gather(slot, waking, return_exceptions=True)
        return None if slot.cancelled() else self._next()

    async def _pump(self, source: AsyncGenerator[Job | Ready[E], None]) -> None:
        async with aclosing(source):
            async for item in source:
                if isinstance(item, Ready):
                    self._ready.append(Ready(item.result))
                elif not self._stopping():
                    await self._take(item)
                self._wake.set()

    async def _take(self, job: Job) -> None:
        """Find the place of a call; waits while there is a fresh one already."""
        proof = job.number // self._repeats
        if self._on and self._open is not None and self._open[0] == proof:
            job = replace(job, request=replace(job.request, repeated=True))
            if self._open[1]:
                self._warm.append(job)
            else:
                self._held.setdefault(proof, deque()).append(job)
            return
        while self._fresh is not None and not self._stopping():
            self._room.clear()
            await self._room.wait()
        if self._on and len(job.request.prompt) >= WAIT_FROM_CHARS:
            self._open = (proof, False)
            job = replace(job, request=replace(job.request, repeated=True, begun=lambda: self.begun(proof)))
        else:
            self._open = None
        self._fresh = job
