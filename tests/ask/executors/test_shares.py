"""Limits divided among workers: everything given out, nobody starved, never more than there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.ask.executors.shares import Allotment, divide, portions
from proverbench.endpoints.base import EndpointState, Priority
from proverbench.endpoints.limits import Bucket, Limiter


@pytest.mark.parametrize(
    ("total", "demands", "expected"),
    [
        pytest.param(16, [16, 16], [8, 8], id="all-want-all"),
        pytest.param(17, [17, 17, 17], [6, 6, 5], id="a-rest"),
        pytest.param(500, [12, 500], [12, 488], id="one-at-its-end"),
        pytest.param(10, [1, 2, 10], [1, 2, 7], id="what-is-not-needed-goes-on"),
        pytest.param(16, [2, 2], [8, 8], id="nobody-wants-it"),
        pytest.param(1, [1], [1], id="alone"),
        pytest.param(5, [], [], id="nobody"),
    ],
)
def test_divide(total, demands, expected):
    assert divide(total, demands) == expected


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(0, 1000))
def test_divide_is_fair(demands, more):
    total = len(demands) + more
    parts = divide(total, demands)
    assert sum(parts) == total
    assert min(parts) >= 1
    wanting = [part for part, demand in zip(parts, demands, strict=True) if part < demand]
    # Who wants more has as much as anybody else, but for what divisions leave over, one a round.
    assert all(max(parts) - part <= len(parts) for part in wanting)


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 1000))
def test_portions_give_out_everything(busy, more):
    total = len(busy) + more
    parts = portions(total, busy)
    assert sum(parts) == total
    assert min(parts) >= 1
    shares = [part for part, is_busy in zip(parts, busy, strict=True) if is_busy] or parts
    assert max(shares) - min(shares) <= 1


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40), st.integers(0, 5), st.booleans()), max_size=60),
)
def test_a_purse_never_gives_out_more_than_it_has(total, turns):
    purse = Allotment(total)
    using: dict[int, int] = {}
    for worker, wanted, returned, lost in turns:
        if lost:
            purse.drop(worker)
            using.pop(worker, None)
            continue
        part = purse.offer(worker, wanted)
        assert part <= wanted
        # It may go on with what it had until that ends, then says what it still holds.
        using[worker] = max(part, using.get(worker, 0) - returned)
        assert sum(using.values()) <= total
        purse.settle(worker, using[worker])


def test_what_is_given_back_is_given_on_only_when_confirmed():
    purse = Allotment(10)
    assert purse.offer(1, 10) == 10
    assert purse.offer(1, 5) == 5
    assert purse.offer(2, 5) == 0
    purse.settle(1, 7)
    assert purse.offer(2, 5) == 3
    purse.settle(1, 5)
    assert purse.offer(2, 5) == 5


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(
    st.integers(8, 300),
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 100)), min_size=1, max_size=3),
)
def test_buckets_that_pass_parts_of_an_allowance_keep_it_in_any_minute(per_minute, changes):
    """Two buckets, both asked as often as they give; now and then the allowance is divided in another way."""
    clock = Clock()
    first = per_minute // 2
    buckets = [Bucket(first, clock), Bucket(per_minute - first, clock)]
    given_at = []
    changes_at = {float(10 + at): part for at, part in changes}
    for step in range(1600):
        clock.now = step / 10
        if clock.now in changes_at:
            part = 1 + changes_at[clock.now] * (per_minute - 2) // 100
            buckets[0].resize(part)
            buckets[1].resize(per_minute - part)
        for bucket in buckets:
            while bucket.wait_s() == 0.0:
                bucket.take()
                given_at.append(clock.now)
    in_a_minute = [sum(at <= other < at + 60 for other in given_at) for at in given_at[:: max(1, len(given_at) // 50)]]
    assert max(in_a_minute) <= per_minute


async def test_a_limiter_takes_a_smaller_and_a_larger_part():
    limiter = Limiter(4, state=EndpointState())
    for _ in range(4):
        await limiter.acquire(Priority.POLICY)
    limiter.resize(2)
    limiter.overloaded(None, attempt=1)
    assert (limiter.ceiling, limiter.state.in_flight) == (2, 4)
    limiter.resize(0)
    for _ in range(4):
        limiter.overloaded(None, attempt=1)
        limiter.release()
    assert limiter.state.concurrency == 0
    limiter.resize(3)
    assert limiter.state.concurrency == 3
    for _ in range(3):
        await limiter.acquire(Priority.POLICY)
    assert limiter.waiting == 0
