import asyncio
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.base import EndpointState
from proverbench.endpoints.limits import Bucket, Limiter, Quota
from tests.support import grows_too_fast, until


class Clock:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def _limiter(concurrency, **more):
    clock = Clock()
    return Limiter(concurrency, state=EndpointState(), clock=clock, **more), clock


async def _fill(limiter, n):
    for _ in range(n):
        await limiter.acquire(3)


@given(st.integers(1, 2000), st.lists(st.floats(0, 5), min_size=1, max_size=400))
def test_no_minute_sees_more_than_allowed(per_minute, pauses):
    clock = Clock()
    bucket = Bucket(per_minute, clock)
    given_at = []
    for pause in pauses:
        clock.now += pause
        if bucket.wait_s() == 0.0:
            bucket.take()
            given_at.append(clock.now)
    for first in given_at:
        assert sum(first <= at < first + 60 - 1e-6 for at in given_at) <= per_minute


@pytest.mark.parametrize("per_minute", [1, 7, 60, 600, 100_000])
def test_a_minute_gives_nearly_all_that_is_allowed(per_minute):
    clock = Clock()
    bucket = Bucket(per_minute, clock)
    taken, end = 0, clock.now + 60
    while clock.now < end:
        wait = bucket.wait_s()
        if wait:
            clock.now += wait + 1e-6
        else:
            bucket.take()
            taken += 1
    assert 0.97 * per_minute <= taken <= per_minute + 1


def test_overdraft_is_paid_off_first():
    clock = Clock()
    bucket = Bucket(60, clock)
    assert bucket.take(11) == pytest.approx(10)
    assert bucket.wait_s() == pytest.approx(11)
    bucket.take(-11)
    assert bucket.wait_s() == 0.0


async def test_cancelled_waiters_leave_no_slot_behind():
    limiter, _ = _limiter(1)
    await limiter.acquire(0)
    waiting = [asyncio.create_task(limiter.acquire(1)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    limiter.release()  # grants the second ...
    waiting[1].cancel()  # ... which is cancelled before it runs
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    await asyncio.wait_for(waiting[2], 60)
    assert limiter.state.in_flight == 1


async def test_refusing_everything_halves_each_round():
    limiter, _ = _limiter(100)
    seen = []
    for _ in range(3):
        for _ in range(limiter.state.concurrency):
            limiter.overloaded(None, attempt=1)
        seen.append(limiter.state.concurrency)
    assert seen == [50, 25, 12]


@pytest.mark.parametrize("ceiling", [16, 64, 1000])
async def test_a_refusal_now_and_then_costs_little(ceiling):
    limiter, _ = _limiter(ceiling)
    for n in range(20_000):
        if n % 20 == 0:
            limiter.overloaded(1.0, attempt=n)
        else:
            limiter.accepted()
    assert limiter.state.concurrency >= 0.5 * ceiling
    assert limiter.state.paused_until == 0.0


@pytest.mark.parametrize(("ceiling", "capacity"), [(64, 16), (1000, 100), (200, 150)])
async def test_settles_near_what_the_server_takes(ceiling, capacity):
    """A server that refuses what is beyond its capacity: few refusals, and the capacity used."""
    limiter, _ = _limiter(ceiling)
    refused = answered = 0
    for turn in range(400):
        round_size = limiter.state.concurrency
        for _ in range(min(round_size, capacity)):
            limiter.accepted()
        for _ in range(max(0, round_size - capacity)):
            limiter.overloaded(None, attempt=1)
        if turn >= 200:
            answered += min(round_size, capacity)
            refused += max(0, round_size - capacity)
    assert answered >= 0.9 * 200 * capacity
    assert refused <= 0.35 * answered


async def test_never_below_one():
    limiter, _ = _limiter(3)
    for _ in range(20):
        limiter.overloaded(None, attempt=1)
    assert limiter.state.concurrency == 1
    await asyncio.wait_for(limiter.acquire(0), 60)


async def test_finds_its_way_back():
    """From the bottom back to 100: first doubling, up to half of what was too much."""
    limiter, _ = _limiter(100)
    for _ in range(300):
        limiter.overloaded(None, attempt=1)
    assert limiter.state.concurrency == 1
    rounds = []
    while limiter.state.concurrency < 100:
        for _ in range(limiter.state.concurrency):
            limiter.accepted()
        rounds.append(limiter.state.concurrency)
    assert rounds[:5] == [2, 4, 8, 16, 32]
    assert len(rounds) <= 35


async def test_a_hint_holds_everyone_when_nothing_but_refusals_comes():
    limiter, clock = _limiter(10)
    limiter.overloaded(5.0, attempt=1)
    limiter.overloaded(5.0, attempt=2)
    await asyncio.wait_for(limiter.acquire(0), 60)
    limiter.overloaded(5.0, attempt=3)
    waiting = asyncio.create_task(limiter.acquire(0))
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.now += 5.1
    limiter.release()
    await asyncio.wait_for(waiting, 60)
    limiter.aclose()


@pytest.mark.parametrize(("share", "paused"), [(0.01, False), (0.05, False), (0.3, False), (0.8, True), (1.0, True)])
async def test_refusals_come_sooner_than_answers(share, paused):
    """A thousand begin together; some are refused at once, the first answer comes only when all refusals are told."""
    limiter, _ = _limiter(1000)
    rng = random.Random(1)
    for attempt in range(1000):
        if rng.random() < share:
            limiter.overloaded(5.0, attempt=attempt)
    assert (limiter.state.paused_until > 0.0) == paused


async def test_a_pause_holds_everyone():
    limiter, clock = _limiter(10)
    limiter.pause(5)
    waiting = asyncio.create_task(limiter.acquire(0))
    await asyncio.sleep(0)
    assert not waiting.done()
    clock.now += 5.1
    limiter.accepted()
    limiter._serve()
    await asyncio.wait_for(waiting, 60)
    limiter.aclose()


async def test_a_pause_ends_by_itself():
    limiter = Limiter(10, state=EndpointState())
    began = time.monotonic()
    limiter.observe(Quota(0, 0.05))
    assert limiter.state.paused_until > began
    await asyncio.wait_for(limiter.acquire(0), 60)
    assert time.monotonic() - began >= 0.05
    limiter.observe(Quota(3, 60.0))
    assert limiter.state.paused_until == 0.0
    await asyncio.wait_for(limiter.acquire(0), 30)


async def test_requests_a_minute():
    """1,200: 20 at once, then (1200 - 20 + 1) / 60 = 19.7 a second."""
    limiter, clock = _limiter(100, requests_per_minute=1200)
    waiting = [asyncio.create_task(limiter.acquire(3)) for _ in range(30)]
    granted = []
    for _ in range(4):
        await asyncio.sleep(0)
        limiter._serve()
        granted.append(limiter.state.in_flight)
        clock.now += 0.2
    assert granted == [20, 23, 27, 30]  # 20 + 3.9, 7.9, 11.8
    await asyncio.wait_for(asyncio.gather(*waiting), 60)
    limiter.aclose()


async def test_requests_a_minute_are_waited_for():
    limiter = Limiter(100, requests_per_minute=1200, state=EndpointState())
    began = time.monotonic()
    await asyncio.wait_for(_fill(limiter, 30), 60)
    assert time.monotonic() - began > 0.4
    limiter.aclose()


async def test_an_unused_slot_costs_no_request():
    limiter, _ = _limiter(10, requests_per_minute=1)
    for _ in range(5):
        await asyncio.wait_for(limiter.acquire(0), 60)
        limiter.refund()
        limiter.release()
    assert limiter.state.in_flight == 0


def test_cost_of_a_waiter_does_not_grow():
    """As many waiters as slots: a scan for each would be quadratic."""

    async def serve(n):
        limiter, _ = _limiter(n)
        await _fill(limiter, n)
        waiting = [asyncio.create_task(limiter.acquire(n % 4)) for n in range(n)]
        await asyncio.sleep(0)
        for _ in range(n):
            limiter.release()
        await asyncio.gather(*waiting)
        assert limiter.state.in_flight == n

    assert not grows_too_fast(lambda: asyncio.run(serve(1250)), lambda: asyncio.run(serve(2500)))


async def test_a_long_call_that_is_not_refused_at_once_lets_the_limit_grow(monkeypatch):
    monkeypatch.setattr("proverbench.endpoints.limits._ACCEPTED_AFTER_S", 0.02)
    limiter, _ = _limiter(10)
    assert limiter.watch() is None
    for _ in range(8):
        limiter.overloaded(None, attempt=1)
    assert limiter.state.concurrency == 6
    running = [limiter.watch() for _ in range(6)]
    running[0].cancel()
    await until(lambda: all(watch._timer is None for watch in running))
    assert limiter.state.concurrency == 6
    running[1].accept()  # counted once
    assert limiter._limit == pytest.approx(6 + 5 / 6, abs=0.1)
