"""R judgments of a proof share a prompt: the first is asked alone, so that the others are read from the server's cache.

The others of a proof wait until the answer to the first has begun, for then the server has read the prompt. They never
wait at the price of throughput: while they do, other calls fill the slots; where there are none, they go out at once.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
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
        self._more_of_it = False
        """Whether the source has more calls of the proof that came last, at once."""
        self._warm: deque[Job] = deque()
        self._held: dict[int, deque[Job]] = {}
        """Proof → calls that wait for the answer to its first to begin."""
        self._open: tuple[int, bool] | None = None
        """The proof whose calls are coming, and whether the answer to its first has begun."""
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
        pull: asyncio.Future[Job | Ready[E] | None] | None = None
        try:
            while True:
                if self._stopping():
                    if pull is not None:
                        await pull
                    async for _ in source:
                        pass
                    return
                if self._warm or self._fresh is not None:
                    await self._acquire(False)
                    if (job := self._next()) is not None:
                        yield job
                    continue
                if pull is None and (not self._held or self._more_of_it):
                    item = await anext(source, None)
                elif pull is not None and not self._held:
                    item = await pull
                    pull = pull if item is None else None
                else:
                    # The next proof may be long in coming: the calls that wait look for free slots meanwhile.
                    pull = pull or asyncio.ensure_future(_next_of(source))
                    if (job := await self._last_resort(pull)) is not None:
                        yield job
                    if not pull.done():
                        continue
                    item = pull.result()
                    pull = pull if item is None else None  # at the end it stays
                if item is None:
                    self._more_of_it = False
                    if not (self._held or self._warm):
                        return
                elif isinstance(item, Ready):
                    yield item
                else:
                    self._take(item)
        finally:
            if pull is not None:
                pull.cancel()
                await asyncio.gather(pull, return_exceptions=True)
            await source.aclose()

    def _next(self) -> Job | None:
        """The call for a slot that was just granted; None, and the slot given back, when nothing new is asked."""
        job: Job | None = None
        if not self._stopping():
            if self._warm:
                job = self._warm.popleft()
            elif self._fresh is not None:
                job, self._fresh = self._fresh, None
            elif self._held:
                proof = next(iter(self._held))
                job = self._held[proof].popleft()
                if not self._held[proof]:
                    del self._held[proof]
        if job is None:
            self._release()
        return job

    async def _last_resort(self, pull: asyncio.Future[Any]) -> Job | None:
        """Only calls that wait are there: one of them, if a slot is free that nobody else wants."""
        for _ in range(_TURNS):  # the source may have another call at once
            if self._warm or (pull.done() and pull.result() is not None):
                return None
            await asyncio.sleep(0)
        self._wake.clear()
        slot = asyncio.ensure_future(self._acquire(True))
        waking = asyncio.ensure_future(self._wake.wait())
        wanted = {slot, waking} if pull.done() else {slot, waking, pull}
        try:
            await asyncio.wait(wanted, return_when=asyncio.FIRST_COMPLETED)
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

    def _take(self, job: Job) -> None:
        """Find the place of a call."""
        if not self._on:
            self._more_of_it, self._fresh = False, job
            return
        proof, repeat = divmod(job.number, self._repeats)
        if self._open is not None and self._open[0] == proof:
            job = replace(job, request=replace(job.request, repeated=True))
            if self._open[1]:
                self._warm.append(job)
            else:
                self._held.setdefault(proof, deque()).append(job)
        elif len(job.request.prompt) >= WAIT_FROM_CHARS:
            self._open = (proof, False)
            self._fresh = replace(job, request=replace(job.request, repeated=True, begun=lambda: self.begun(proof)))
        else:
            self._open, self._fresh = None, job
        self._more_of_it = self._open is not None and repeat < self._repeats - 1


async def _next_of(source: AsyncGenerator[E, None]) -> E | None:
    """The next item of a source; None at its end."""
    return await anext(source, None)
