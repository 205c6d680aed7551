"""Calls that go in batches (``--batch``): submit, look, collect, ask again, and find what an earlier process left.

A batch is never submitted twice. Before it leaves, its ``intent`` is on disk, with our own id and its calls; once the
provider's id is known, ``submitted`` is; once its results are saved, ``collected`` (or why there are none). A process
that finds an intent alone asks the provider for such a batch before it submits anything, and one that finds
``submitted`` goes on looking. What is in a batch is asked in no other way, whether the role goes by batch or not.
"""

import asyncio
import hashlib
import random
import tempfile
import uuid
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from proverbench.ask.reserve import Afford
from proverbench.ask.sampling import Job
from proverbench.concurrency import Ready
from proverbench.endpoints.audit import Remarks
from proverbench.endpoints.base import CONNECT_ATTEMPTS, Answered, ConnectError, Outcome, Reply, Unanswered
from proverbench.endpoints.batch import (
    CANCELLED,
    EXPIRED,
    BatchClient,
    BatchState,
    UnknownBatchError,
    UploadError,
)
from proverbench.endpoints.retry import wait_s
from proverbench.errors import (
    CallFailedError,
    EndpointError,
    FatalEndpointError,
    JournalError,
    ProverBenchError,
    TransientError,
)
from proverbench.records import BatchEvent, BatchLine, Role
from proverbench.run.batches import OpenBatch
from proverbench.run.disk import disk
from proverbench.run.journal import now
from proverbench.run.session import Session
from proverbench.run.texts import storable

if TYPE_CHECKING:
    from proverbench.ask.progress import StageCount

E = TypeVar("E")
T = TypeVar("T")

FIRST_LOOK_S = 2.0
"""After which a new batch is looked at; the interval grows by half each time."""
LONGEST_LOOK_S = 120.0
LOST_AFTER = 30
"""Failed looks in a row after which the provider is taken to be out of reach: about an hour."""
SETTLE_S = 10.0
"""Between the first two searches for a batch that an interrupted submission may have made; then it grows by half."""
SEARCHES = 8
"""So often it is looked for, over more than five minutes, for a provider's list may lag behind."""
SEARCHES_LATER = 2
"""So often where the submission is older than :data:`SETTLED`."""
SETTLED = timedelta(hours=1)
LOOKS_AGAIN = 7
"""Looks, over about two minutes, that a batch is given that is not known yet, or over without all of its results."""

_TOLD_AFTER = 2
"""Failures in a row after which the user is told what is waited for."""
_NEVER_ARRIVED = "it never reached the provider"
_YIELD_EVERY = 50
"""Prompts rendered between two turns of the loop."""


def custom_id(batch_id: str, key: str) -> str:
    """What names a call within a batch: 64 letters and digits at most, and never the same in two batches."""
    digest = hashlib.sha256(f"{batch_id}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key.partition('/')[0]}-{digest[:48]}"


class BatchStage(Protocol):
    """What batches need of the role whose calls they hold."""

    role: Role
    count: "StageCount"
    leaving: asyncio.Event
    """Set when nothing should be waited for any more."""

    @property
    def session(self) -> Session:
        """The run."""
        ...

    def stopping(self) -> bool:
        """True once nothing new should be asked."""
        ...

    @property
    def afford(self) -> Afford | None:
        """Says whether a call fits under a cap; None: there is no cap."""
        ...

    def job(self, number: int) -> Job:
        """A call of the role, by its number."""
        ...

    def keep(self, job: Job, outcome: Outcome, *, batch: str) -> None:
        """Append what a call came to."""
        ...

    def broken(self, job: Job, exc: TransientError) -> None:
        """Append what came of a reply that was broken off."""
        ...

    def fail(self, fault: ProverBenchError) -> None:
        """End the run for a fault."""
        ...

    def tell(self, message: str) -> None:
        """Say something to the user."""
        ...


class _LeavingError(Exception):
    """The session ends before something was done; another will do it."""


@dataclass
class _Over:
    """What became of the calls of a batch."""

    ended: list[int] = field(default_factory=list)
    """Answered, or given up."""
    again: list[int] = field(default_factory=list)
    """To be asked again."""
    queue_full: bool = False
    """True when the provider took none because too much waits there already."""


@dataclass
class Batches:
    """All batches of one role.

    Args:
        stage: The role.
        client: Its endpoint's batches.
        open_ones: Those that earlier sessions left.
        rng: Source of jitter.
    """

    stage: BatchStage
    client: BatchClient
    open_ones: list[OpenBatch]
    rng: random.Random = field(default_factory=random.Random)
    _attempts: Counter[int] = field(default_factory=Counter)
    """Batches that a call was in and got no answer from, in this session."""
    _most: int = 1 << 62
    """Calls in one batch, where the provider takes no more."""
    _remotes: set[str] = field(default_factory=set)
    """The provider's ids of batches that are known."""
    _reached: bool = False
    """Whether the provider has answered anything in this session."""
    _set_aside: dict[str, list[float]] = field(default_factory=dict)
    """Batch → what each of its calls may cost, under a cap."""
    _told_of_cap: bool = False

    def __post_init__(self) -> None:
        client = self.client
        self._remarks = Remarks(client.name, client.normal_stops, client.missing_finish_accepted, self.stage.tell)
        self._remotes |= {batch.remote for batch in self.open_ones if batch.remote is not None}

    async def ask_all(
        self, source: AsyncGenerator[Job | Ready[E], None], result: Callable[[int], E]
    ) -> AsyncGenerator[E, None]:
        """Ask everything in batches, once the source has ended; what is ready flows on before.

        Args:
            source: The calls to make; closed at the end.
            result: From a call's number to what is yielded when it has ended.
        """
        wanted: set[int] = set()
        async with aclosing(source):
            async for item in source:
                if isinstance(item, Ready):
                    yield item.result
                else:
                    wanted.add(item.number)
        held = {number for batch in self.open_ones for number in batch.numbers}
        todo = deque(sorted(wanted - held))
        async with aclosing(self._watch(todo, resubmit=wanted)) as ended:
            async for number, _ in ended:
                if number in wanted:
                    yield result(number)

    async def hold_back(
        self, source: AsyncGenerator[Job | Ready[E], None], result: Callable[[int], E]
    ) -> AsyncGenerator[Job | Ready[E], None]:
        """The source of a role that is asked directly, without the calls that are in open batches.

        These come at its end: ready where the batch answered them, else as calls to make.
        """
        in_batches = {number for batch in self.open_ones for number in batch.numbers}
        held: set[int] = set()
        async with aclosing(source):
            async for item in source:
                if isinstance(item, Job) and item.number in in_batches:
                    held.add(item.number)
                else:
                    yield item
        async with aclosing(self._watch(deque(), resubmit=set())) as ended:
            async for number, done in ended:
                if number in held:
                    yield Ready(result(number)) if done else self.stage.job(number)

    async def cancel(self, *, give_up: bool) -> None:
        """Have the provider stop every open batch, all at once, and save what they did until then.

        Args:
            give_up: Whether batches that the provider does not know are given up.

        Raises:
            EndpointError, JournalError: What kept it from that; what was saved is saved.
        """
        ended = await asyncio.gather(
            *(self._cancel(batch, give_up) for batch in self.open_ones), return_exceptions=True
        )
        faults = [fault for fault in ended if fault is not None]
        for fault in faults[1:]:
            self.stage.tell(f"{self.stage.role}: {fault}")
        if faults:
            raise faults[0]

    async def _cancel(self, batch: OpenBatch, give_up: bool) -> None:
        try:
            state = await self._recover(batch)
            if state is None:
                return
            state = await self._patiently(self.client.cancel, state.remote)
            if not state.over:
                self.stage.tell(f"{self._name(batch)}: being cancelled; what it did is saved once it stops")
            await self._see_through(batch, state)
        except UnknownBatchError as exc:
            if not give_up:
                raise self._not_known(exc) from None
            await self._note("cancelled", batch, message=str(exc))
            self.stage.tell(f"{self._name(batch)} is not known to the provider: given up; its calls may be paid twice")
        except _LeavingError:
            return

    async def _watch(self, todo: deque[int], *, resubmit: set[int]) -> AsyncGenerator[tuple[int, bool], None]:
        """Submit ``todo``, see every open batch through, and submit again what they did not answer.

        Args:
            todo: Calls to submit.
            resubmit: Those that may be submitted; others are given back unanswered.

        Yields:
            Numbers of calls, each with whether it has ended; False: to be asked again in another way.
        """
        stage = self.stage
        tasks = {asyncio.create_task(self._take_up(batch)) for batch in self.open_ones}
        self.open_ones = []
        held = False
        try:
            while True:
                while todo and not held and not stage.stopping():
                    submitted = await self._submit(todo, may_wait=not tasks)
                    if submitted is None:
                        break
                    tasks.add(asyncio.create_task(self._see_through(*submitted)))
                if not tasks:
                    return
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                faults = [fault for task in done if (fault := task.exception()) is not None]
                all_over = [task.result() for task in done if task.exception() is None]
                full = [len(over.again) for over in all_over if over.queue_full]
                held = bool(full and tasks)
                if full and not tasks:
                    await self._make_smaller(max(full))
                for over in all_over:
                    for number in over.ended:
                        yield number, True
                    for number in over.again:
                        if number in resubmit:
                            todo.append(number)
                        else:
                            yield number, False
                if faults:
                    raise faults[0]
        except UnknownBatchError as exc:
            stage.fail(self._not_known(exc))
        except (EndpointError, JournalError) as exc:
            stage.fail(exc)
        except _LeavingError:
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _make_smaller(self, size: int) -> None:
        """The provider takes no batch of that size, and none of ours is in its way."""
        self._most = max(1, min(self._most, size) // 2)
        if size == 1:
            await self._pause(LONGEST_LOOK_S)  # until others' batches are done

    # --- one batch

    async def _submit(self, todo: deque[int], *, may_wait: bool) -> tuple[OpenBatch, BatchState] | None:
        """Submit as much of ``todo`` as one batch may hold; None when the session should end first.

        None also when a cap leaves no room as long as other calls are on their way; with ``may_wait`` there are none
        of ours, and others' are waited for.
        """
        batch = OpenBatch(f"pb-{uuid.uuid4().hex}", [], now())
        submitted: tuple[OpenBatch, BatchState] | None = None
        try:
            submitted = await self._submit_some(batch, todo, may_wait=may_wait)
        finally:
            if submitted is None:
                self._release(batch)
        return submitted

    async def _submit_some(
        self, batch: OpenBatch, todo: deque[int], *, may_wait: bool
    ) -> tuple[OpenBatch, BatchState] | None:
        stage, folder = self.stage, self.stage.session.path
        with ExitStack() as stack:
            with disk(folder):
                file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by the stack
                stack.callback(_discard, file)
                keys = await self._fill(batch, file, todo, may_wait=may_wait)
            if not keys:
                return None
            await self._note("intent", batch, keys=keys)
            state = await self._send(batch, file)
        if state is None:
            return None
        await self._submitted(batch, state)
        stage.tell(f"{stage.role}: {len(keys):,} calls submitted as batch {state.remote}")
        return batch, state

    async def _fill(self, batch: OpenBatch, file: BinaryIO, todo: deque[int], *, may_wait: bool) -> list[str]:
        """Write as many calls of ``todo`` into a batch as it may hold and a cap allows; returns their keys."""
        keys: list[str] = []
        size = 0
        while todo and len(keys) < min(self.client.limits.requests, self._most):
            job = self.stage.job(todo[0])
            line = self.client.line(custom_id(batch.id, job.request.key), job.request)
            size += len(line)
            if keys and size > self.client.limits.bytes:
                break
            if not await self._afford(batch, job, may_wait=may_wait and not keys):
                self._tell_of_cap(len(todo))
                break
            file.write(line)
            batch.numbers.append(todo.popleft())
            keys.append(job.request.key)
            if len(keys) % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
        file.flush()
        return keys

    async def _afford(self, batch: OpenBatch, job: Job, *, may_wait: bool) -> bool:
        """Set aside what a call may cost; False where a cap leaves no room for it now."""
        afford, role, chars = self.stage.afford, self.stage.role, len(job.request.prompt)
        if afford is None:
            return True
        taken = afford.take(role, chars, batch=True)
        if taken is None and may_wait:
            taken = await afford.reserve(role, chars, self.stage.stopping)
        if taken is not None:
            self._set_aside.setdefault(batch.id, []).append(taken)
        return taken is not None

    def _hold(self, batch: OpenBatch) -> None:
        """Set aside what the calls of a batch that is on its way may cost."""
        if self.stage.afford is not None:
            chars = [len(self.stage.job(number).request.prompt) for number in batch.numbers]
            held = [self.stage.afford.take(self.stage.role, n, batch=True, always=True) for n in chars]
            self._set_aside[batch.id] = [taken for taken in held if taken is not None]

    def _release(self, batch: OpenBatch) -> None:
        """What a batch cost is known, or it never came to be."""
        for taken in self._set_aside.pop(batch.id, []):
            if self.stage.afford is not None:
                self.stage.afford.settle(taken)

    def _tell_of_cap(self, waiting: int) -> None:
        if not self._told_of_cap and not self.stage.stopping():
            self._told_of_cap = True
            self.stage.tell(
                f"{self.stage.role}: {waiting:,} calls wait until it is known what the batches before them cost, for "
                "--max-cost may leave no room for them"
            )

    async def _send(self, batch: OpenBatch, file: BinaryIO) -> BatchState | None:
        """Submit until it is certain that the batch has arrived, once."""
        attempt, doubtful = 0, False
        while True:
            file.seek(0)
            try:
                state = await self.client.submit(batch.id, file)
                self._reached = True
                return state
            except TransientError as exc:
                attempt += 1
                doubtful = doubtful or not isinstance(exc, ConnectError | UploadError)
                given_up = attempt > self.client.max_retries or self._is_nowhere(exc, attempt)
                if given_up or await self._pause(wait_s(attempt, exc.retry_after_s, self.rng)):
                    if not doubtful:
                        await self._note("failed", batch, message=_NEVER_ARRIVED)
                    if given_up:
                        raise FatalEndpointError(str(exc), kind=exc.kind, status=exc.status) from None
                    return None
            except EndpointError as exc:
                await self._note("failed", batch, message=str(exc))
                if isinstance(exc, FatalEndpointError):
                    raise
                raise FatalEndpointError(str(exc), kind=exc.kind, status=exc.status) from None
            if doubtful:
                found = await self._find(batch)
                if found is not None or self.stage.leaving.is_set():
                    return found
                doubtful = False

    async def _find(self, batch: OpenBatch) -> BatchState | None:
        """A batch of which it is unknown whether it was submitted; None when it was not, or the session should end."""
        key = self.stage.session.sources.plan.key
        names = {custom_id(batch.id, key(self.stage.role, number).text) for number in batch.numbers}
        since = datetime.fromisoformat(batch.since)
        most = SEARCHES if datetime.now(UTC) - since < SETTLED else SEARCHES_LATER
        looked, wait = 0, SETTLE_S
        while True:
            found = await self._patiently(self.client.find, batch.id, names, since, self._remotes)
            if found.state is not None:
                return found.state
            looked += 1
            if looked >= most and not found.undecided:
                return None
            if looked == 2 and not found.undecided:
                self.stage.tell(f"{self.stage.role}: whether a batch has arrived is not certain; looking for it")
            if found.undecided and looked == 2:
                self.stage.tell(
                    f"{self.stage.role}: a submission was interrupted; whether it arrived will be known when "
                    f"{', '.join(found.undecided)} have ended"
                )
            if await self._pause(wait):
                return None
            wait = min(wait * 1.5, LONGEST_LOOK_S)

    async def _recover(self, batch: OpenBatch) -> BatchState | None:
        """The state of a batch that an earlier session left; None when it never came to be, or cannot be told now."""
        if batch.remote is not None:
            return await self._patiently(self.client.look, batch.remote)
        state = await self._find(batch)
        if state is not None:
            await self._submitted(batch, state)
        elif not self.stage.leaving.is_set():
            await self._note("failed", batch, message=_NEVER_ARRIVED)
        return state

    async def _take_up(self, batch: OpenBatch) -> _Over:
        """Go on with a batch that an earlier session left."""
        self._hold(batch)
        try:
            return await self._taken_up(batch)
        finally:
            self._release(batch)

    async def _taken_up(self, batch: OpenBatch) -> _Over:
        try:
            state = await self._recover(batch)
        except _LeavingError:
            return _Over()
        if state is None:
            return _Over([], [] if self.stage.leaving.is_set() else batch.numbers)
        self.stage.tell(f"{self._name(batch)} of an earlier session is {'over' if state.over else 'going on'}")
        return await self._see_through(batch, state, cancelled_before=state.status == "cancelled")

    async def _see_through(self, batch: OpenBatch, state: BatchState, *, cancelled_before: bool = False) -> _Over:
        """Wait until a batch is over and save its results; nothing has ended when the session should end first."""
        counts = self.stage.count.batches
        interval = FIRST_LOOK_S
        try:
            while not state.over:
                counts[batch.id] = (len(batch.numbers), state.done)
                if await self._pause(interval):
                    return _Over()
                interval = min(interval * 1.5, LONGEST_LOOK_S)
                state = await self._patiently(self.client.look, state.remote)
            counts[batch.id] = (len(batch.numbers), state.done)
            if state.status == "failed":
                return await self._refused(batch, state)
            state, failed = await self._collect_all(batch, state)
            return await self._settle(batch, state, failed, cancelled_before=cancelled_before)
        except _LeavingError:
            return _Over()
        finally:
            counts.pop(batch.id, None)
            self._release(batch)

    async def _refused(self, batch: OpenBatch, state: BatchState) -> _Over:
        """A batch that the provider took and then would not do."""
        await self._note("failed", batch, message=state.why)
        if state.queue_full:
            self.stage.tell(f"{self._name(batch)} was not taken yet: {state.why}")
            return _Over([], batch.numbers, queue_full=True)
        raise FatalEndpointError(
            f"endpoint {self.client.name!r}: {self._name(batch)} was refused: {state.why or 'no reason was given'}; "
            "resume with --batch none to ask directly",
            kind="batch_failed",
        )

    async def _collect_all(self, batch: OpenBatch, state: BatchState) -> tuple[BatchState, dict[int, EndpointError]]:
        """Save the answers of a batch that is over; what came of its other calls is returned.

        Results may come later than the end, and a download may end early as if that were all: what is then missing is
        looked for again before it is paid again.
        """
        wait = FIRST_LOOK_S
        for looked in range(1, LOOKS_AGAIN + 1):
            failed, n_results = await self._patiently(self._collect, batch, state)
            lacking = state.n_results(len(batch.numbers)) - n_results
            if lacking <= 0:
                break
            if looked == _TOLD_AFTER:
                self.stage.tell(f"{self._name(batch)} is over, but {lacking:,} results are missing; looking again")
            if looked < LOOKS_AGAIN:
                if await self._pause(wait):
                    raise _LeavingError
                wait *= 2
                state = await self._patiently(self.client.look, state.remote)
        return state, failed

    async def _collect(self, batch: OpenBatch, state: BatchState) -> tuple[dict[int, EndpointError], int]:
        """Save what answers there are; returns what came of other calls, and how many calls are mentioned at all.

        It may be done again from the start: an answer that is saved is passed over.
        """
        stage, plan = self.stage, self.stage.session.sources.plan
        numbers = {custom_id(batch.id, plan.key(stage.role, number).text): number for number in batch.numbers}
        mentioned: set[int] = set()
        failed: dict[int, EndpointError] = {}
        async with aclosing(self.client.results(state, stage.role)) as results:
            async for result in results:
                number = numbers.get(result.custom_id)
                if number is None:
                    continue  # none of ours
                mentioned.add(number)
                if self._is_answered(number):
                    continue  # saved already, or come twice
                if isinstance(result.outcome, Reply):
                    failed.pop(number, None)
                    attempts = self._attempts[number] + 1
                    job = stage.job(number)
                    stage.keep(job, Answered(result.outcome, 0.0, attempts), batch=batch.id)
                    self._remarks.see(stage.role, len(job.request.prompt), result.outcome)
                else:
                    failed[number] = result.outcome
        answered = {number for number in batch.numbers if self._is_answered(number)}
        return failed, len(mentioned | answered)

    async def _settle(
        self, batch: OpenBatch, state: BatchState, failed: dict[int, EndpointError], *, cancelled_before: bool
    ) -> _Over:
        """Say that a batch is collected, and decide what becomes of the calls that it did not answer."""
        answered = [number for number in batch.numbers if self._is_answered(number)]
        errors = {n: failed.get(n) or _missing(state) for n in batch.numbers if not self._is_answered(n)}
        event: BatchEvent = state.status if state.status in ("expired", "cancelled") else "collected"
        await self._note(event, batch)
        words = f"{len(answered):,} answered" + (f"; not: {_reasons(errors.values())}" if errors else "")
        self.stage.tell(f"{self._name(batch)} is {'over' if event == 'collected' else event}: {words}")
        if not self.stage.count.answered:
            self._raise_if_all_alike(errors.values())
        fatal = next((exc for exc in errors.values() if isinstance(exc, FatalEndpointError)), None)
        over = _Over(answered, [])
        for number, exc in errors.items():
            if isinstance(exc, TransientError) and exc.partial is not None:
                self.stage.broken(self.stage.job(number), exc)
            self._attempts[number] += 1
            attempts = self._attempts[number]
            lasting = isinstance(exc, CallFailedError) and not (exc.kind == CANCELLED and cancelled_before)
            if lasting or fatal or attempts > self.client.max_retries or self.stage.stopping():
                outcome = Unanswered(exc.kind, str(exc), exc.status, attempts, failed=lasting and exc.kind != CANCELLED)
                self.stage.keep(self.stage.job(number), outcome, batch=batch.id)
                over.ended.append(number)
            else:
                over.again.append(number)
        if fatal is not None:
            raise FatalEndpointError(f"endpoint {self.client.name!r}: {fatal}", kind=fatal.kind, status=fatal.status)
        return over

    def _raise_if_all_alike(self, errors: Iterable[EndpointError]) -> None:
        """A refusal of every call of an endpoint that has answered nothing is a fault of the whole run."""
        found = list(errors)
        if all(isinstance(exc, CallFailedError) and exc.status is not None for exc in found):
            first = found[0]
            raise FatalEndpointError(f"endpoint {self.client.name!r}: {first}", kind=first.kind, status=first.status)

    # --- small things

    def _not_known(self, exc: UnknownBatchError) -> FatalEndpointError:
        # Nothing that leads to a second submission is offered here: the batch may well be going on.
        return FatalEndpointError(
            f"endpoint {self.client.name!r}: {exc}. Was it submitted to another server or account? Resume with the "
            "base_url and key of then, or later; docs/batch.md says what can be done where it is lost",
            kind=exc.kind,
            status=exc.status,
        )

    def _is_answered(self, number: int) -> bool:
        return self.stage.session.sources.ledger.offset(self.stage.role, number) is not None

    def _name(self, batch: OpenBatch) -> str:
        return f"{self.stage.role}: batch {batch.remote or batch.id} ({len(batch.numbers):,} calls)"

    async def _submitted(self, batch: OpenBatch, state: BatchState) -> None:
        batch.remote = state.remote
        self._remotes.add(state.remote)
        await self._note("submitted", batch)

    async def _note(
        self, event: BatchEvent, batch: OpenBatch, *, keys: list[str] | None = None, message: str = ""
    ) -> None:
        line = BatchLine(
            event=event,
            at=batch.since if event == "intent" else now(),
            batch=batch.id,
            remote=batch.remote,
            role=self.stage.role,
            keys=keys or [],
            message=storable(message)[0],
        )
        self.stage.session.start()
        await self.stage.session.batch(line)

    async def _patiently(self, work: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """Do something that may be done again, for as long as an outage may last; the batch does not suffer from it.

        What is not known is waited for too, a while: a new batch, or its results, may be seen late.

        Raises:
            UnknownBatchError: If it stays unknown.
            _LeavingError: If the session should end first.
        """
        attempt, unknown = 0, 0
        while True:
            try:
                done = await work(*arguments)
            except UnknownBatchError as exc:
                unknown += 1
                if exc.status != 404 or unknown >= LOOKS_AGAIN:
                    raise
                if await self._pause(FIRST_LOOK_S * 2.0 ** (unknown - 1)):
                    raise _LeavingError from None
            except TransientError as exc:
                attempt += 1
                if attempt > LOST_AFTER or self._is_nowhere(exc, attempt):
                    raise FatalEndpointError(
                        f"endpoint {self.client.name!r}: {exc}; what was submitted goes on there, resume later",
                        kind=exc.kind,
                        status=exc.status,
                    ) from None
                if await self._pause(wait_s(attempt, exc.retry_after_s, self.rng)):
                    raise _LeavingError from None
            else:
                self._reached = True
                return done

    def _is_nowhere(self, exc: TransientError, attempt: int) -> bool:
        """Whether an address is wrong where nothing ever answered; of a fault that lasts, the user is told."""
        self._reached = self._reached or not isinstance(exc, ConnectError)
        if attempt == _TOLD_AFTER:
            self.stage.tell(f"{self.stage.role}: endpoint {self.client.name!r}: {exc}; trying again")
        return not self._reached and attempt >= CONNECT_ATTEMPTS

    async def _pause(self, seconds: float) -> bool:
        """Wait; True as soon as the session should end."""
        try:
            await asyncio.wait_for(self.stage.leaving.wait(), seconds)
        except TimeoutError:
            return False
        return True


def _discard(file: BinaryIO) -> None:
    """Close a scratch file. What a full disk did not take was told when it was written."""
    with suppress(OSError):
        file.close()


def _missing(state: BatchState) -> EndpointError:
    """The error of a call that the results of a batch do not mention."""
    if state.status == "cancelled":
        return CallFailedError("the batch was cancelled before this request's turn", kind=CANCELLED)
    if state.status == "expired":
        return TransientError("the batch expired before this request's turn", kind=EXPIRED)
    return TransientError("the results of the batch do not mention this request", kind="batch_missing")


def _reasons(errors: Iterable[EndpointError]) -> str:
    """How many of each kind, e.g. ``8 batch_expired, 1 http_500``."""
    return ", ".join(f"{count:,} {kind}" for kind, count in Counter(exc.kind for exc in errors).most_common())
