import asyncio
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.base import EndpointState
from proverbench.endpoints.limits import Bucket, Limiter, Quota
from tests.support import every, grows_too_fast, until


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
    for first in every(given_at):
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


# ---------------------------------------------------------------- slots


async def _turns(n=3):
    for _ in range(n):
        await asyncio.sleep(0)


async def test_a_lower_priority_goes_first_then_who_came_first():
    limiter, _ = _limiter(1)
    await limiter.acquire(0)
    order = []

    async def wait(priority, name):
        await limiter.acquire(priority)
        order.append(name)

    asked = [(3, "policy"), (1, "judge"), (1, "second judge"), (0, "first")]
    waiting = [asyncio.create_task(wait(*one)) for one in asked]
    await _turns()
    assert limiter.waiting == 4
    for count in range(4):
        assert len(order) == count
        limiter.release()
        await _turns()
    assert order == ["first", "judge", "second judge", "policy"]
    assert (limiter.waiting, limiter.state.in_flight) == (0, 1)
    await asyncio.gather(*waiting)


async def test_nobody_passes_who_waits():
    limiter, clock = _limiter(2)
    limiter.pause(1)
    first = asyncio.create_task(limiter.acquire(3))
    await _turns()
    clock.now += 2  # a slot could be given now, but the alarm has not rung
    second = asyncio.create_task(limiter.acquire(3))
    await _turns()
    assert first.done()
    await asyncio.gather(first, second)
    assert limiter.state.in_flight == 2
    limiter.aclose()


async def test_as_many_slots_as_the_limit_and_no_more():
    limiter, _ = _limiter(3)
    await _fill(limiter, 3)
    waiting = asyncio.create_task(limiter.acquire(0))
    await _turns()
    assert not waiting.done()
    limiter.release()
    await asyncio.wait_for(waiting, 60)
    assert limiter.state.in_flight == 3


async def test_a_stopped_limiter_holds_nobody():
    limiter, _ = _limiter(1, requests_per_minute=1)
    await limiter.acquire(0)
    waiting = [asyncio.create_task(limiter.acquire(0)) for _ in range(3)]
    await _turns()
    limiter.stop()
    await asyncio.wait_for(asyncio.gather(*waiting), 60)
    await asyncio.wait_for(limiter.acquire(0), 60)
    limiter.aclose()


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (299, 299), (300, 300), (301, 300), (86_400, 300)])
def test_the_longest_pause_is_five_minutes(asked, given):
    limiter, clock = _limiter(1)
    limiter.pause(asked)
    assert limiter.state.paused_until == clock.now + given


def test_a_shorter_pause_ends_no_longer_one():
    limiter, clock = _limiter(1)
    limiter.pause(60)
    limiter.pause(5)
    assert limiter.state.paused_until == clock.now + 60


@pytest.mark.parametrize(
    ("remaining", "reset_s", "paused"),
    [(0, 7.0, True), (-1, 7.0, True), (1, 7.0, False), (0, 0.0, False), (0, -1.0, False)],
)
def test_an_allowance_that_is_used_up_pauses_until_its_reset(remaining, reset_s, paused):
    limiter, clock = _limiter(1)
    limiter.observe(Quota(remaining, reset_s))
    assert limiter.state.paused_until == (clock.now + 7 if paused else 0.0)


# ---------------------------------------------------------------- the way down and back


def test_one_refusal_costs_half_a_slot_and_a_round_of_answers_gives_it_back():
    limiter, _ = _limiter(10)
    limiter.overloaded(None, attempt=1)
    assert limiter._limit == 9.5
    assert limiter.state.concurrency == 9
    limiter.accepted()
    assert 9.5 < limiter._limit <= 10
    for _ in range(50):
        limiter.accepted()
    assert limiter._limit == 10  # never above the ceiling


@pytest.mark.parametrize(
    ("attempts", "paused"), [((1, 2), False), ((1, 2, 3), True), ((1, 2, 9), False), ((3, 1, 2), True)]
)
def test_a_hint_holds_everyone_only_after_three_refusals_side_by_side(attempts, paused):
    limiter, clock = _limiter(9)
    for attempt in attempts:
        limiter.overloaded(5.0, attempt=attempt)
    assert limiter.state.paused_until == (clock.now + 5 if paused else 0.0)


def test_without_a_hint_nobody_pauses_and_an_answer_starts_the_count_anew():
    limiter, _ = _limiter(9)
    for attempt in range(9):
        limiter.overloaded(None, attempt=attempt)
    assert limiter.state.paused_until == 0.0
    other, _ = _limiter(9)
    for attempt in range(6):
        other.overloaded(5.0, attempt=attempt)
        if attempt % 2:
            other.accepted()
    assert other.state.paused_until == 0.0


def test_an_attempt_that_began_long_ago_says_nothing_of_now():
    limiter, _ = _limiter(9)
    for attempt in (1000, 1001, 1):
        limiter.overloaded(5.0, attempt=attempt)
    assert limiter.state.paused_until == 0.0


async def test_an_attempt_is_watched_only_while_the_limit_is_lowered():
    limiter, _ = _limiter(4)
    assert limiter.watch() is None
    limiter.overloaded(None, attempt=1)
    watch = limiter.watch()
    assert watch is not None
    lowered = limiter._limit
    watch.accept()
    raised = limiter._limit
    assert raised > lowered
    watch.accept()  # counted once
    assert limiter._limit == raised
    limiter.overloaded(None, attempt=2)
    forgotten = limiter.watch()
    assert forgotten is not None
    forgotten.cancel()
    lowered = limiter._limit
    forgotten.accept()
    assert limiter._limit == lowered


# ---------------------------------------------------------------- another part of shared limits


async def test_another_part_of_the_limits():
    limiter, _ = _limiter(4)
    await _fill(limiter, 4)
    waiting = asyncio.create_task(limiter.acquire(0))
    await _turns()
    limiter.resize(2)
    assert (limiter.ceiling, limiter.state.concurrency) == (2, 2)
    limiter.release()  # 3 in flight, 2 allowed
    await _turns()
    assert not waiting.done()
    limiter.resize(6)
    await asyncio.wait_for(waiting, 60)
    assert (limiter.state.in_flight, limiter.state.concurrency) == (4, 6)


def test_a_lowered_limit_stays_lowered_when_the_part_grows():
    limiter, _ = _limiter(8)
    for _ in range(8):
        limiter.overloaded(None, attempt=1)
    assert limiter._limit == 4
    limiter.resize(16)
    assert limiter._limit == 4
    limiter.resize(2)
    assert limiter._limit == 2
    for _ in range(3):
        limiter.accepted()
    assert limiter._limit == 2


async def test_no_slot_at_all():
    limiter, _ = _limiter(2)
    limiter.resize(0)
    waiting = asyncio.create_task(limiter.acquire(0))
    await _turns()
    assert not waiting.done()
    limiter.resize(1)
    await asyncio.wait_for(waiting, 60)


# ---------------------------------------------------------------- allowances a minute


def test_a_second_of_the_allowance_can_be_spent_at_once():
    clock = Clock()
    bucket = Bucket(600, clock)
    assert [bucket.wait_s() for _ in range(10) if bucket.take() == 0.0] == [0.0] * 9 + [pytest.approx(60 / 591)]
    clock.now += 1000
    assert bucket.wait_s(10) == 0.0
    assert bucket.wait_s(11) == 0.0  # a full bucket is enough for more than it holds
    bucket.take(10)
    assert bucket.wait_s(1) == pytest.approx(60 / 591)


def test_slow_allowances_hold_one():
    clock = Clock()
    bucket = Bucket(1, clock)
    assert bucket.take() == 0.0
    assert bucket.wait_s() == pytest.approx(60)


def test_what_was_taken_too_much_may_be_spent_up_to_a_minutes_worth():
    clock = Clock()
    bucket = Bucket(60, clock)  # one a second
    bucket.take(31)
    bucket.settle(-30)  # it was one
    assert bucket.wait_s() == pytest.approx(1)
    bucket.settle(5)  # it was six
    assert bucket.wait_s() == pytest.approx(6)
    clock.now += 60
    bucket.settle(-1000)
    assert bucket.take(60) == 0.0
    assert bucket.wait_s() == pytest.approx(1)


def test_another_rate_costs_what_was_there_and_one_more():
    clock = Clock()
    bucket = Bucket(600, clock)
    bucket.resize(600)
    assert bucket.wait_s(10) == 0.0  # the same rate: nothing happened
    bucket.resize(1200)
    assert bucket.wait_s() == pytest.approx(60 / 1181)
    owing = Bucket(60, clock)
    owing.take(11)
    owing.resize(120)
    assert owing.wait_s() == pytest.approx((10 + 1 + 1) * 60 / 119)


async def test_a_limiter_passes_its_allowance_on():
    limiter, _ = _limiter(100, requests_per_minute=600)
    await _fill(limiter, 10)
    limiter.resize(100, 60)
    waiting = asyncio.create_task(limiter.acquire(0))
    await _turns()
    assert not waiting.done()
    assert limiter._requests.wait_s() == pytest.approx(2)
    limiter.refund()
    assert limiter._requests.wait_s() == pytest.approx(1)
    waiting.cancel()
    limiter.aclose()
    without, _ = _limiter(1)
    without.refund()
    without.resize(1, 60)
    await asyncio.wait_for(without.acquire(0), 60)
