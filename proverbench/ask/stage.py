"""One role's calls on their way: each is rendered, waits for its place, is asked, and is kept."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, TypeVar

from proverbench.ask.batching import Batches
from proverbench.ask.cache_first import CacheFirst
from proverbench.ask.first_look import FIRST_LOOK, FirstLook, shown_reading
from proverbench.ask.reserve import Afford
from proverbench.ask.sampling import Job
from proverbench.ask.systematic import watch
from proverbench.concurrency import Ready, bounded_map
from proverbench.endpoints.base import STOPPED, Answered, AskedElsewhereError, Caller, Outcome, Priority, Unanswered
from proverbench.errors import FatalEndpointError, JournalError, ProverBenchError, TransientError
from proverbench.records import CallKey, Role
from proverbench.run.session import Session

if TYPE_CHECKING:
    from proverbench.ask.pipeline import Pipeline

E = TypeVar("E")
_PRIORITY = {"policy": Priority.POLICY, "verifier": Priority.VERIFIER, "meta": Priority.META}
LARGE_CHARS = 64 << 10
"""Proofs of more characters are read in one turn of the loop and shown to the verifier in another."""
BatchesOf = Callable[["Stage"], Batches]
"""Of a role, its batches."""


class Stage:
    """One role's way to its endpoint, directly (acquire, call, append) or in batches (batching.py)."""

    def __init__(
        self, pipeline: "Pipeline", role: Role, caller: Caller | None, batches: BatchesOf | None, *, polite: bool
    ) -> None:
        self._pipeline = pipeline
        self._caller = caller
        self._priority = _PRIORITY[role]
        self._polite = polite
        self.role: Role = role
        self.count = pipeline.progress.stages[role]
        self.leaving = pipeline.leaving
        self._watch = watch(pipeline.session.sources, role)
        self.first_look = FirstLook(self._watch.invalid.total()) if self._watch.looks else None
        self._cache_first: CacheFirst | None = None
        if role == "verifier" and caller is not None and caller.cache_first:
            self._cache_first = CacheFirst(
                pipeline.session.sources.plan.repeats,
                stopping=pipeline.stopping,
                acquire=lambda held: self._take_slot(Priority.HELD if held else self._priority),
                release=self._give_slot_back,
                tell=pipeline.tell,
            )
        self.batches = None if batches is None else batches(self)

    @property
    def session(self) -> Session:
        """The run."""
        return self._pipeline.session

    @property
    def afford(self) -> Afford | None:
        """Says whether a call fits under a cap; None: there is no cap."""
        return self._pipeline.afford

    def stopping(self) -> bool:
        """True once nothing new should be asked."""
        return self._pipeline.stopping()

    def fail(self, fault: ProverBenchError) -> None:
        """End the run for a fault."""
        self._pipeline.fail(fault)

    def tell(self, message: str) -> None:
        """Say something to the user."""
        self._pipeline.tell(message)

    def job(self, number: int) -> Job:
        """A call of the role, by its number."""
        return self._pipeline.job(self.role, number)

    def broken(self, job: Job, exc: TransientError) -> None:
        """Append what came of a reply that was broken off."""
        self._pipeline.broken(job.request.key, exc)

    def keep(self, job: Job, outcome: Outcome, *, batch: str | None = None) -> None:
        """Append what a call came to, parse it, and count it."""
        line = self._pipeline.keep(CallKey.parse(job.request.key), job.prompt_sha256, outcome, batch=batch)
        if isinstance(outcome, Unanswered):
            self.count.fail(outcome.error_kind, outcome.message)
            if outcome.failed:
                self._pipeline.heed(self.role, self._watch.no_answer(outcome.message))
            return
        if line is None:
            return
        reason = self.session.sources.reader.invalid_reason(line, job.n_steps)
        self.count.answered += 1
        self.count.got += 1
        self.count.valid += reason is None
        if self._cache_first is not None:
            first = job.request.begun is not None
            self._cache_first.answered(job.number, line.usage, first=first)
        if self.first_look is not None and (nth := self.first_look.count()) is not None:
            said = shown_reading(self.session.sources.reader, line, job.n_steps)
            self.tell(f"judgment {nth} of the first {FIRST_LOOK}, {job.request.key}: {said}")
        if self._watch.armed:
            self._pipeline.heed(self.role, self._watch.answered(line, reason, outcome.reply.context))
            if (finding := self._watch.finding()) is not None:
                self.tell(finding)

    def ask_all(
        self, source: AsyncGenerator[Job | Ready[E], None], result: Callable[[int], E]
    ) -> AsyncGenerator[E, None]:
        """Ask what comes from ``source``, in the way that was chosen for the role."""
        if self.batches is not None and (self._caller is None or self.role in self._pipeline.batched):
            return self.batches.ask_all(source, result)
        if self.batches is not None:
            source = self.batches.hold_back(source, result)

        async def work(job: Job) -> E:
            await self._ask(job)
            return result(job.number)

        if self._cache_first is None:
            return bounded_map(source, work, acquire=self._acquire, polite=self._polite)
        return bounded_map(self._cache_first.order(source), work, acquire=_taken, polite=self._polite)

    async def _acquire(self) -> bool:
        if self.stopping():
            return False
        await self._take_slot(self._priority)
        if self.stopping():
            self._give_slot_back()
            return False
        return True

    async def _take_slot(self, priority: int) -> None:
        """Wait for a slot of the endpoint; under a declared protocol, first for the judgments that are looked at."""
        assert self._caller is not None
        if self.first_look is None:
            await self._caller.acquire(priority)
            return
        await self.first_look.enter()
        try:
            await self._caller.acquire(priority)
        except BaseException:
            self.first_look.leave()
            raise

    def _give_slot_back(self) -> None:
        assert self._caller is not None
        self._caller.release()
        if self.first_look is not None:
            self.first_look.leave()

    async def _ask(self, job: Job) -> None:
        assert self._caller is not None
        pipeline, task = self._pipeline, asyncio.current_task()
        pipeline.asking.add(task)
        outcome: Outcome | None = None
        reserved: float | None = None
        try:
            if pipeline.afford is not None:
                reserved = await pipeline.afford.reserve(self.role, len(job.request.prompt), self.stopping)
                if reserved is None or self.stopping():
                    self._caller.release()
                    return
            pipeline.session.start()
            outcome = await self._caller.call(job.request, lambda exc: self.broken(job, exc))
            if isinstance(outcome, Answered) or outcome.attempts or outcome.error_kind != STOPPED:
                self.keep(job, outcome)  # of a call that was never asked there is nothing to say
        except (FatalEndpointError, JournalError) as exc:
            pipeline.fail(exc)
        except asyncio.CancelledError as exc:
            if outcome is None and not isinstance(exc, AskedElsewhereError):
                self.count.fail("cancelled", "the run was stopped before its answer; the provider may bill it")
                pipeline.abandoned(CallKey.parse(job.request.key))
            # After a fault the pipeline itself gives these calls up, and the chain should end as usual.
            if task not in pipeline.given_up:
                raise
        finally:
            pipeline.asking.discard(task)
            if self.first_look is not None:
                self.first_look.leave()
            if job.request.begun is not None:
                job.request.begun()
            if reserved is not None and pipeline.afford is not None:
                pipeline.afford.settle(reserved)


async def _taken() -> bool:
    """The slot was taken before."""
    return True
