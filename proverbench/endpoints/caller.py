"""An endpoint with its retries and limits: what the rest of the program calls."""

import asyncio
import random
import time
from collections.abc import Callable

from proverbench.concurrency import AwakeTimeout
from proverbench.endpoints.audit import Remarks, audit
from proverbench.endpoints.base import (
    CONNECT_ATTEMPTS,
    STOPPED,
    Answered,
    ConnectError,
    Endpoint,
    EndpointState,
    OnBroken,
    Outcome,
    Priority,
    Reply,
    Request,
    Unanswered,
)
from proverbench.endpoints.limits import Bucket, Limiter
from proverbench.endpoints.retry import Sleep, retrying
from proverbench.errors import (
    AttemptTimeoutError,
    CallFailedError,
    EndpointError,
    FatalEndpointError,
    RateLimitedError,
    TransientError,
)
from proverbench.spending.usage import normalise_usage

_CHARS_PER_TOKEN = 3.0
"""Few, so that the estimate of a prompt's tokens errs on the high side."""
_FIRST_OUTPUT_GUESS = 1000.0
"""Output tokens that a call is taken to cost before any answer told."""
_GUESS_WEIGHT = 0.1
"""Of the latest answer in the running mean of output tokens."""
_WRONG_ADDRESS = (*range(300, 400), 404, 405)
"""Statuses that speak of the address, not of one call."""


class EndpointCaller:
    """Calls one endpoint (the :class:`~proverbench.endpoints.base.Caller` protocol).

    Args:
        endpoint: Makes single attempts.
        name: Of the endpoint, for messages.
        concurrency: Most attempts in flight, ever.
        max_retries: Attempts of a call after its first.
        timeout_s: Longest time for one attempt as a whole; None: no limit.
        requests_per_minute: Limit, or None.
        tokens_per_minute: Limit on input and output together, or None.
        normal_stops: The finish reasons that are a normal stop for the endpoint's kind. None: replies are taken as
            they are, without the audit, because they are no live ones.
        missing_finish_accepted: Whether replies without a finish reason may be valid; else the first is remarked on.
        cache_first: Whether the first judgment of a proof is asked alone (ask/cache_first.py).
        answered_before: Answers that the run has of this endpoint already, from earlier sessions.
        clock: Monotonic time in seconds.
        sleep: Waits.
        rng: Source of jitter.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        name: str = "endpoint",
        concurrency: int,
        max_retries: int,
        timeout_s: float | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        normal_stops: frozenset[str] | None = frozenset({"stop"}),
        missing_finish_accepted: bool = False,
        answered_before: int = 0,
        cache_first: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.state = EndpointState()
        self.name = name
        self.cache_first = cache_first
        self.limiter = Limiter(concurrency, requests_per_minute=requests_per_minute, state=self.state, clock=clock)
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._output_guess = _FIRST_OUTPUT_GUESS
        self._audits = normal_stops is not None
        self._remarks = Remarks(
            name, normal_stops or frozenset(), missing_finish_accepted or normal_stops is None, self.state.notes.append
        )
        self._told_long_wait = False
        self._clock = clock
        self._sleep = sleep
        self._rng = rng or random.Random()
        self._most_backing_off = concurrency
        self._answered_before = answered_before
        self._stopped = asyncio.Event()
        self._naps: set[asyncio.Future[None]] = set()

    async def acquire(self, priority: int) -> None:
        """Wait for a free slot; waiters of a lower ``priority`` number go first."""
        await self.limiter.acquire(priority)

    def release(self) -> None:
        """Give an acquired slot back without calling."""
        self.limiter.refund()
        self.limiter.release()

    def resize(
        self, concurrency: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        """Take another part of limits that several processes share (``Limiter.resize``)."""
        self.limiter.resize(concurrency, requests_per_minute)
        if self._tokens and tokens_per_minute is not None:
            self._tokens.resize(tokens_per_minute)

    async def call(self, request: Request, on_broken: OnBroken | None = None) -> Outcome:
        """Ask, with retries, in the slot that is held; see the protocol.

        Raises:
            FatalEndpointError: No call will be answered.
        """
        call = _Progress(on_broken)
        try:
            reply = await self._with_retries(request, call)
        except FatalEndpointError as exc:
            raise self._named(exc) from None
        except EndpointError as exc:
            if self.state.answered == 0 and self._hits_every_call(exc):
                raise self._named(exc) from None
            failed = isinstance(exc, CallFailedError) and exc.kind != STOPPED
            return Unanswered(exc.kind, str(exc), exc.status, call.attempts, call.abandoned, failed)
        finally:
            if call.holds_slot:
                self.limiter.release()
        self.state.answered += 1
        self._remarks.see(request.role, len(request.prompt), reply)
        return Answered(reply, call.latency_s, call.attempts, call.abandoned)

    def stop(self) -> None:
        """Begin no attempt any more; see the protocol."""
        self._stopped.set()
        for nap in self._naps:
            nap.cancel()
        self.limiter.stop()

    async def aclose(self) -> None:
        """Release connections."""
        self.limiter.aclose()
        await self._endpoint.aclose()

    async def _with_retries(self, request: Request, call: "_Progress") -> Reply:
        try:
            return await self._attempt(request, call)
        except TransientError as exc:
            call.last_error = exc
            first = [exc]

        async def attempt() -> Reply:
            # tenacity sees the failure above as its own first attempt. So a call that succeeds at once, as nearly
            # all do, does not pay for tenacity.
            if first:
                raise first.pop()
            try:
                return await self._attempt(request, call)
            except TransientError as exc:
                call.last_error = exc
                raise

        async def back_off(seconds: float) -> None:
            await self._back_off(seconds, call)

        return await retrying(max_retries=self._max_retries, rng=self._rng, sleep=back_off)(attempt)

    async def _attempt(self, request: Request, call: "_Progress") -> Reply:
        """One attempt in the slot that is held, counted and timed."""
        expected = await self._reserve_tokens(request, call) if self._tokens else 0.0
        if self._stopped.is_set():
            if self._tokens:
                self._settle_tokens(expected, None)
            raise call.stopped()
        call.attempts += 1
        self.state.attempts += 1
        number = self.state.attempts
        self.state.awaiting[request.role] += 1
        started = self._clock()
        watch = self.limiter.watch()
        reply: Reply | None = None
        try:
            async with AwakeTimeout(self._timeout_s):
                reply = await self._endpoint.complete(request)
                if self._audits:
                    reply = audit(reply)
        except TimeoutError:
            self._abandon(call)
            raise AttemptTimeoutError(f"no answer within {self._timeout_s or 0:g} s", kind="timeout") from None
        except (AttemptTimeoutError, asyncio.CancelledError):
            self._abandon(call)
            raise
        except RateLimitedError as exc:
            self._tell_long_wait(exc)
            self.limiter.overloaded(exc.retry_after_s, attempt=number)
            raise
        except ConnectError as exc:
            # A host that is slow to connect may only be busy with the thousand others that began together.
            slow = exc.kind == "connect_timeout"
            if self.state.answered == 0 and call.attempts >= CONNECT_ATTEMPTS and not slow:
                raise FatalEndpointError(str(exc), kind=exc.kind) from None
            raise
        except TransientError as exc:
            call.broken(exc)
            raise
        finally:
            self.state.awaiting[request.role] -= 1
            if watch and reply:
                watch.accept()
            elif watch:
                watch.cancel()
            if self._tokens:
                self._settle_tokens(expected, reply)
        call.latency_s = self._clock() - started
        return reply

    async def _back_off(self, seconds: float, call: "_Progress") -> None:
        """Wait, and meanwhile lend the slot to other calls, unless too many are backing off already.

        Without that bound a server that refuses everything would soon have the whole run waiting to be retried.
        """
        if self.state.backing_off >= self._most_backing_off:
            await self._nap(seconds, call)
            return
        self.state.backing_off += 1
        call.holds_slot = False
        self.limiter.release()
        try:
            await self._nap(seconds, call)
            await self.limiter.acquire(Priority.RETRY)
            call.holds_slot = True
        finally:
            self.state.backing_off -= 1

    async def _nap(self, seconds: float, call: "_Progress") -> None:
        """Sleep, until :meth:`stop` at the longest.

        Raises:
            CallFailedError: Of kind ``stopped``.
        """
        if self._stopped.is_set():
            raise call.stopped()
        nap = asyncio.ensure_future(self._sleep(seconds))
        self._naps.add(nap)
        try:
            await nap
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._stopped.is_set() and not (task and task.cancelling()):
                raise call.stopped() from None
            raise
        finally:
            self._naps.discard(nap)

    def _abandon(self, call: "_Progress") -> None:
        call.abandoned += 1
        self.state.abandoned += 1

    async def _reserve_tokens(self, request: Request, call: "_Progress") -> float:
        expected = len(request.prompt) / _CHARS_PER_TOKEN + self._output_guess
        assert self._tokens is not None
        wait = self._tokens.take(expected)
        if wait > 0.0:
            try:
                await self._nap(wait, call)
            except (asyncio.CancelledError, CallFailedError):
                self._tokens.settle(-expected)
                raise
        return expected

    def _settle_tokens(self, expected: float, reply: Reply | None) -> None:
        """Replace what was expected by what was used; a failed attempt is taken to have used nothing."""
        assert self._tokens is not None
        usage = normalise_usage(reply.usage) if reply else None
        if usage:
            self._output_guess += _GUESS_WEIGHT * (usage.output - self._output_guess)
        used = usage.total if usage else expected if reply else 0.0
        self._tokens.settle(used - expected)

    def _tell_long_wait(self, exc: RateLimitedError) -> None:
        if exc.asked_s is not None and not self._told_long_wait:
            self._told_long_wait = True
            self.state.notes.append(
                f"endpoint {self.name!r}: the server asks to wait {exc.asked_s:,.0f} s; it is asked again after "
                f"{exc.retry_after_s:,.0f} s"
            )

    def _hits_every_call(self, exc: EndpointError) -> bool:
        """Whether a fault, on an endpoint that has answered nothing yet, is taken to be one of the whole run.

        Where earlier sessions had answers, model and parameters are known to be good, so a call that is refused is
        refused for itself: were it taken for more, one such call would stop every session that begins with it. Only
        the address may have changed since.
        """
        if isinstance(exc, CallFailedError) and exc.status is not None:
            return not self._answered_before or exc.status in _WRONG_ADDRESS
        return isinstance(exc, ConnectError)

    def _named(self, exc: EndpointError) -> FatalEndpointError:
        return FatalEndpointError(f"endpoint {self.name!r}: {exc}", kind=exc.kind, status=exc.status)


class _Progress:
    """One call on its way."""

    __slots__ = ("abandoned", "attempts", "holds_slot", "last_error", "latency_s", "on_broken")

    def __init__(self, on_broken: OnBroken | None) -> None:
        self.on_broken = on_broken
        self.attempts = 0
        self.abandoned = 0
        self.latency_s = 0.0
        self.holds_slot = True
        self.last_error: TransientError | None = None

    def broken(self, exc: TransientError) -> None:
        """Tell of an attempt whose reply was broken off: what came of it was paid for."""
        if exc.partial is not None and self.on_broken is not None:
            self.on_broken(exc)

    def stopped(self) -> CallFailedError:
        """The error of a call that got no further attempt because everything stops."""
        why = f"; the last attempt: {self.last_error}" if self.last_error else ""
        return CallFailedError(f"the run stopped while it waited to be asked again{why}", kind=STOPPED)
