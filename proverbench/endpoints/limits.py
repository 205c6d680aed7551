"""How much may go to one endpoint at once, and when: slots by priority, AIMD, requests and tokens a minute, pauses.

Every attempt goes through :meth:`Limiter.acquire`. All work per attempt is O(log n) in the number of waiters.
"""

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from proverbench.endpoints.base import EndpointState

_LOWERING = 0.5
"""Slots that one refusal for load costs: when all in flight are refused, the limit halves; one in twenty costs 1/40."""
_RECOVERY_ROUNDS = 50
"""Above half of what was too much, the limit takes this many rounds of answers to cross the whole range."""
_PAUSE_AFTER = 3
"""Refusals without an answer between them after which a hint to wait may be taken to be meant for everyone; with many
in flight the square root of the limit, for among many some refusals stand side by side by chance."""
_ACCEPTED_AFTER_S = 5.0
"""Overload is told at once: an attempt that is not refused in this time is accepted, however long its answer takes."""
_BURST = 32
"""So many slots are given before the loop turns; thousands of calls begun in one turn would starve its sockets."""
_MAX_PAUSE_S = 300.0
_ROUNDING_S = 0.001
"""Sleeps end a little late, so that a clock that is read a little early does not make them start again."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What the headers of a reply say is left of one of the account's allowances."""

    remaining: int
    reset_s: float
    """Seconds until the allowance is whole again."""


class Watch:
    """Whether one attempt has been counted as accepted yet."""

    __slots__ = ("_limiter", "_timer")

    def __init__(self, limiter: "Limiter", after_s: float) -> None:
        self._limiter = limiter
        self._timer: asyncio.TimerHandle | None = asyncio.get_running_loop().call_later(after_s, self.accept)

    def accept(self) -> None:
        """Count it, the first time that this is called."""
        if self._timer is not None:
            self.cancel()
            self._limiter.accepted()

    def cancel(self) -> None:
        """Count it no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Bucket:
    """An allowance per minute that refills evenly, with a second's worth (at least one unit) to spend at once.

    In any minute no more than ``per_minute`` whole units are given out. It may be overdrawn: what turns out dearer
    than expected is paid off before anything else is given out.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._capacity = float(max(1, per_minute // 60))
        self._rate = (per_minute - self._capacity + 1) / 60
        self._clock = clock
        self._level = self._capacity
        self._at = clock()

    def wait_s(self, amount: float = 1.0) -> float:
        """Seconds until ``amount`` (or a full bucket, if that is less) can be taken; 0 when it can be now."""
        self._refill()
        missing = min(amount, self._capacity) - self._level
        return missing / self._rate if missing > 1e-9 else 0.0

    def take(self, amount: float = 1.0) -> float:
        """Spend, at once or on credit; a negative amount gives back.

        Returns:
            Seconds until the credit is paid off, 0 when none was needed. Who waits so long before using what was
            taken keeps the limit, in order of taking.
        """
        self._refill()
        self._level = min(self._capacity, self._level - amount)
        return max(0.0, -self._level / self._rate)

    def resize(self, per_minute: int) -> None:
        """Refill at another rate from now on.

        A change costs what is in the bucket and a unit more, so that buckets that share an allowance, and pass parts of
        it to each other, keep it together in any minute.
        """
        if per_minute == self._per_minute:
            return
        self._refill()
        self._per_minute = per_minute
        self._capacity = float(max(1, per_minute // 60))
        self._rate = (per_minute - self._capacity + 1) / 60
        self._level = min(self._level - 1.0, 0.0)

    def settle(self, amount: float) -> None:
        """Correct what was taken on an estimate: positive for more, negative for less.

        What was taken too much has been waited for already, so it may be spent at once, up to a minute's worth.
        """
        self._refill()
        self._level = min(60 * self._rate, self._level - amount)

    def _refill(self) -> None:
        now = self._clock()
        if self._level < self._capacity:
            self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
        self._at = now


class Limiter:
    """Slots of one endpoint.

    Args:
        concurrency: Most attempts in flight, ever.
        requests_per_minute: Most attempts begun in any minute, or None.
        state: Counters for others to read; kept up to date here.
        clock: Monotonic time in seconds.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: int | None = None,
        state: EndpointState,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ceiling = concurrency
        self.state = state
        state.concurrency = concurrency
        self._clock = clock
        self._limit = float(concurrency)
        self._threshold = float(concurrency)
        self._refusals = 0
        self._refused = range(0)
        """Numbers of the attempts from the first to the last of those that were refused without an answer between."""
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._alarm: asyncio.TimerHandle | None = None
        self._burst = 0
        self._stopped = False

    async def acquire(self, priority: int) -> None:
        """Wait for a slot; a lower ``priority`` goes first, then first come first served."""
        self._burst += 1
        if self._burst % _BURST == 0:
            await asyncio.sleep(0)
        if not self._waiting and self._delay_s() == 0.0:
            self._grant()
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), future))
        self._serve()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release()  # it was granted in the same turn of the loop in which the waiter was cancelled
            raise

    def release(self) -> None:
        """Give a slot back."""
        self.state.in_flight -= 1
        self._serve()

    def refund(self) -> None:
        """Give back the request that an unused slot was counted for."""
        if self._requests:
            self._requests.take(-1.0)

    def watch(self) -> Watch | None:
        """Follow an attempt that begins, for the limit's way back up; None while the limit is not lowered.

        A run of calls that take an hour each would otherwise need days to find its way back.
        """
        return Watch(self, _ACCEPTED_AFTER_S) if self._limit < self.ceiling or self._refusals else None

    def accepted(self) -> None:
        """An attempt was answered, or not refused at once: let the limit grow.

        It doubles with each round up to half of what was too much, then grows evenly.
        """
        self._refusals = 0
        if self._limit >= self.ceiling:
            return
        round_gain = self._limit if self._limit < self._threshold else max(1.0, self.ceiling / _RECOVERY_ROUNDS)
        self._set_limit(min(float(self.ceiling), self._limit + round_gain / self._limit))
        self._serve()

    def overloaded(self, hint_s: float | None, *, attempt: int) -> None:
        """The endpoint refused an attempt for its load: lower the limit by the share that this attempt is of it.

        So a server that refuses now and then is asked almost as before, and one that refuses everything half as much
        with each round. A hint holds everyone only when nothing but refusals comes; else it is for that call. As
        refusals come at once and answers only after a while, that there was no answer between some refusals says little
        with many in flight: most of the attempts that began between the first and the last of them must be refused too.

        Args:
            hint_s: The provider's hint in seconds.
            attempt: The attempt's number, in the order in which attempts began.
        """
        if self._refusals == 0:
            self._threshold = max(1.0, self._limit / 2)
        near = range(self._refused.start - self.ceiling, self._refused.stop + self.ceiling)
        if self._refusals == 0 or attempt not in near:  # one that began long ago says nothing of now
            self._refusals, self._refused = 0, range(attempt, attempt + 1)
        self._refusals += 1
        self._refused = range(min(self._refused.start, attempt), max(self._refused.stop, attempt + 1))
        enough = self._refusals >= max(_PAUSE_AFTER, math.isqrt(int(self._limit)))
        if hint_s and enough and 2 * self._refusals > len(self._refused):
            self.pause(hint_s)
        self._set_limit(min(self.ceiling, max(1.0, self._limit - _LOWERING)))

    def pause(self, seconds: float) -> None:
        """Begin nothing for so long (at most five minutes)."""
        self.state.paused_until = max(self.state.paused_until, self._clock() + min(seconds, _MAX_PAUSE_S))

    def observe(self, quota: Quota) -> None:
        """Respect what the headers say is left: with nothing left, wait for the reset."""
        if quota.remaining <= 0 and quota.reset_s > 0:
            self.pause(quota.reset_s)

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return len(self._waiting)

    def resize(self, concurrency: int, requests_per_minute: int | None = None) -> None:
        """Take another part of limits that several processes share; calls in flight beyond it end as they will.

        Args:
            concurrency: Most attempts in flight from now on; 0: none may begin.
            requests_per_minute: Where there is such a limit; None leaves it.
        """
        if self._requests and requests_per_minute is not None:
            self._requests.resize(requests_per_minute)
        if concurrency == self.ceiling:
            return
        lowered = self._limit < self.ceiling
        self.ceiling = concurrency
        self._threshold = min(self._threshold, float(concurrency))
        self._set_limit(min(self._limit, float(concurrency)) if lowered else float(concurrency))
        self._serve()

    def stop(self) -> None:
        """Let every waiter go, now and from now on: limits hold nobody who will only give the slot back."""
        self._stopped = True
        self._serve()

    def aclose(self) -> None:
        """Stop the timer."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _set_limit(self, limit: float) -> None:
        self._limit = limit
        self.state.concurrency = int(limit)

    def _grant(self) -> None:
        self.state.in_flight += 1
        if self._requests:
            self._requests.take()

    def _delay_s(self) -> float:
        """0 if a slot can be given now, the seconds until it may be, or inf when that takes a release."""
        if self._stopped:
            return 0.0
        if self.state.in_flight >= int(self._limit):
            return math.inf
        delay = 0.0
        if self.state.paused_until:
            delay = max(0.0, self.state.paused_until - self._clock())
            if delay == 0.0:
                self.state.paused_until = 0.0
        return max(delay, self._requests.wait_s()) if self._requests else delay

    def _serve(self) -> None:
        while self._waiting:
            if self._waiting[0][2].done():
                heapq.heappop(self._waiting)  # its waiter was cancelled
                continue
            delay = self._delay_s()
            if delay > 0.0:
                if math.isfinite(delay):
                    self._wake_in(delay)
                return
            future = heapq.heappop(self._waiting)[2]
            self._grant()
            future.set_result(None)

    def _wake_in(self, delay: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + delay + _ROUNDING_S
        if self._alarm is not None:
            if self._alarm.when() <= due:
                return
            self._alarm.cancel()
        self._alarm = loop.call_at(due, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        self._serve()
