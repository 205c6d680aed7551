import asyncio
import random

import pytest

from proverbench.endpoints.base import Answered, ConnectError, Priority, Reply, Request, Unanswered
from proverbench.endpoints.caller import EndpointCaller
from proverbench.errors import (
    AttemptTimeoutError,
    CallFailedError,
    FatalEndpointError,
    RateLimitedError,
    TransientError,
)
from tests.support import every, until


class Scripted:
    """Plays a list of replies and errors, then answers; counts what is in flight."""

    def __init__(self, *plays, delay_s=0.0):
        self.plays = list(plays)
        self.delay_s = delay_s
        self.answers = asyncio.Event()
        """Cleared, nothing is answered until it is set."""
        self.answers.set()
        self.asked = []
        self.in_flight = self.most = 0
        self.closed = 0

    async def complete(self, request):
        self.asked.append(request.key)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(self.delay_s)
            await self.answers.wait()
            play = self.plays.pop(0) if self.plays else Reply("yes", "stop", usage=USAGE)
            if isinstance(play, Exception):
                raise play
            return play
        finally:
            self.in_flight -= 1

    async def aclose(self):
        self.closed += 1


class Silent(Scripted):
    """Answers without any token count."""

    async def complete(self, request):
        return Reply("yes", "stop")


USAGE = {"prompt_tokens": 100, "completion_tokens": 400}


class Time:
    """A clock that sleeping moves on."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def _caller(endpoint, *, concurrency=4, max_retries=3, time=None, **more):
    time = time or Time()
    return EndpointCaller(
        endpoint,
        name="judge",
        concurrency=concurrency,
        max_retries=max_retries,
        clock=time,
        sleep=time.sleep,
        rng=random.Random(0),
        **more,
    )


async def _ask(caller, key="verifier/p/0/0", prompt="p" * 300):
    await caller.acquire(Priority.VERIFIER)
    return await caller.call(Request("verifier", prompt, key))


async def test_counts():
    endpoint = Scripted(TransientError("x", kind="network"), AttemptTimeoutError("x", kind="read_timeout"))
    caller = _caller(endpoint)
    outcome = await _ask(caller)
    assert (outcome.attempts, outcome.abandoned) == (3, 1)
    state = caller.state
    assert (state.attempts, state.abandoned, state.answered, state.in_flight, state.backing_off) == (3, 1, 1, 0, 0)


async def test_the_last_error_is_told():
    errors = [TransientError("first", kind="a"), TransientError("last", kind="http_503", status=503)]
    outcome = await _ask(_caller(Scripted(*errors), max_retries=1))
    assert outcome == Unanswered("http_503", "last", 503, 2, 0)


async def test_no_retries_at_all():
    endpoint = Scripted(TransientError("x", kind="x"))
    assert isinstance(await _ask(_caller(endpoint, max_retries=0)), Unanswered)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("error", "fatal"),
    [
        (CallFailedError("x", kind="http_422", status=422), True),
        (CallFailedError("x", kind="own"), False),
        (TransientError("x", kind="http_500", status=500), False),
    ],
)
async def test_a_4xx_is_fatal_only_while_nothing_was_answered(error, fatal):
    caller = _caller(Scripted(error), max_retries=0)
    if fatal:
        with pytest.raises(FatalEndpointError, match="endpoint 'judge': x"):
            await _ask(caller)
    else:
        assert isinstance(await _ask(caller), Unanswered)
    later = _caller(Scripted(Reply("a", "stop"), error), max_retries=0)
    await _ask(later)
    assert isinstance(await _ask(later), Unanswered)


@pytest.mark.parametrize(("kind", "attempts"), [("connect", 3), ("certificate", 3), ("connect_timeout", 5)])
async def test_an_address_that_never_connects_stops_the_run(kind, attempts):
    endpoint = Scripted(*[ConnectError("no way", kind=kind)] * 9)
    with pytest.raises(FatalEndpointError, match="no way"):
        await _ask(_caller(endpoint, max_retries=4))
    assert len(endpoint.asked) == attempts


async def test_a_server_that_answered_once_may_be_away_for_a_while():
    caller = _caller(Scripted(Reply("a", "stop"), *[ConnectError("no way", kind="connect")] * 9), max_retries=4)
    await _ask(caller)
    assert (await _ask(caller)).attempts == 5


async def test_a_refusal_counts_as_an_answer():
    caller = _caller(Scripted(Reply("", None, refused="context_length"), CallFailedError("x", kind="x", status=400)))
    await _ask(caller)
    assert isinstance(await _ask(caller), Unanswered)
    assert caller.state.notes == []


async def test_a_slot_is_lent_while_its_call_backs_off():
    """One slot; the first call fails and waits; the second is answered meanwhile, then the first is tried again."""
    endpoint = Scripted(TransientError("x", kind="x"))
    caller = _caller(endpoint, concurrency=1)
    first = asyncio.create_task(_ask(caller, "a"))
    second = asyncio.create_task(_ask(caller, "b"))
    await asyncio.gather(first, second)
    assert endpoint.asked[0] == "a"
    assert sorted(endpoint.asked[1:]) == ["a", "b"]
    assert endpoint.most == 1


async def test_a_broken_server_does_not_swallow_the_whole_run():
    """However many calls fail, no more than twice the concurrency are begun and unfinished."""

    class Broken(Scripted):
        async def complete(self, request):
            await asyncio.sleep(0)
            self.asked.append(request.key)
            raise TransientError("x", kind="x")

    endpoint = Broken()
    caller = _caller(endpoint, concurrency=5, max_retries=10**6)
    caller._sleep = lambda seconds: asyncio.sleep(0.001)
    tasks = [asyncio.create_task(_ask(caller, str(n))) for n in range(200)]
    await until(lambda: len(endpoint.asked) >= 500)
    assert len(set(endpoint.asked)) <= 10
    assert caller.state.backing_off <= 5
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (caller.state.in_flight, caller.state.backing_off) == (0, 0)


async def test_never_more_in_flight_whatever_fails():
    rng = random.Random(5)
    plays = [
        rng.choice([TransientError("x", kind="x"), RateLimitedError("x", kind="y"), Reply("a", "stop")])
        for _ in range(300)
    ]
    endpoint = Scripted(*plays, delay_s=0.0005)
    caller = _caller(endpoint, concurrency=6, max_retries=1000)
    outcomes = await asyncio.gather(*(_ask(caller, str(n)) for n in range(200)))
    assert all(isinstance(outcome, Answered) for outcome in every(outcomes))
    assert endpoint.most <= 6
    assert (caller.state.in_flight, caller.state.backing_off) == (0, 0)


async def test_tokens_a_minute():
    """500 tokens a call at 1,000 a minute: 20 calls take about ten minutes of the clock."""
    time = Time()
    caller = _caller(Scripted(), time=time, tokens_per_minute=1000, concurrency=1)
    for n in range(20):
        await _ask(caller, str(n))
    assert 8 * 60 < time.now < 13 * 60


async def test_tokens_a_minute_of_a_server_that_tells_none():
    """A call is then taken to use what was assumed: 300 characters are 100 tokens, an answer is 1,000."""
    time = Time()
    caller = _caller(Silent(), time=time, tokens_per_minute=1100, concurrency=1)
    for n in range(20):
        await _ask(caller, str(n))
    assert 18 * 60 < time.now < 21 * 60


async def test_tokens_of_an_attempt_that_failed_are_given_back():
    time = Time()
    caller = _caller(Scripted(*[CallFailedError("x", kind="x")] * 20), time=time, tokens_per_minute=1100, concurrency=1)
    for n in range(20):
        await _ask(caller, str(n))
    assert time.now < 2 * 60


async def test_a_timeout_of_the_whole_attempt():
    caller = _caller(Scripted(delay_s=300.0), timeout_s=0.02, max_retries=1)
    outcome = await _ask(caller)
    assert outcome == Unanswered("timeout", "no answer within 0.02 s", None, 2, 2)


async def test_an_endpoint_with_a_bug_leaves_no_slot_behind():
    caller = _caller(Scripted(ZeroDivisionError("own")))
    with pytest.raises(ZeroDivisionError):
        await _ask(caller)
    assert caller.state.in_flight == 0


async def test_close():
    endpoint = Scripted()
    await _caller(endpoint).aclose()
    assert endpoint.closed == 1


@pytest.mark.parametrize(("status", "fatal"), [(400, False), (413, False), (422, False), (404, True), (308, True)])
async def test_on_an_endpoint_that_answered_in_an_earlier_session_only_the_address_may_be_wrong(status, fatal):
    """Otherwise a single call with a 400 of its own would stop every session that begins with it."""
    caller = _caller(Scripted(CallFailedError("x", kind="own", status=status)), answered_before=1)
    if fatal:
        with pytest.raises(FatalEndpointError):
            await _ask(caller)
    else:
        assert isinstance(await _ask(caller), Unanswered)
        assert isinstance(await _ask(caller), Answered)


def _sleepless(endpoint, **more):
    """A caller that really sleeps."""
    caller = _caller(endpoint, **more)
    caller._sleep = asyncio.sleep
    return caller


async def _soon(awaitable):
    """Before any of the waits of minutes that are to be cut short would end."""
    return await asyncio.wait_for(awaitable, 60.0)


async def test_stop_ends_calls_that_wait_for_another_attempt():
    busy = RateLimitedError("slow down", kind="http_429", status=429, retry_after_s=300.0)
    caller = _sleepless(Scripted(*[busy] * 9), concurrency=1)
    calls = [asyncio.create_task(_ask(caller, str(n))) for n in range(2)]
    await until(lambda: caller.state.attempts == 2 and caller.state.awaiting.total() == 0)
    caller.stop()
    caller.stop()
    told = "the run stopped while it waited to be asked again; the last attempt: slow down"
    assert await _soon(asyncio.gather(*calls)) == [Unanswered("stopped", told, None, 1)] * 2
    assert (caller.state.in_flight, caller.state.backing_off, caller.state.attempts) == (0, 0, 2)


async def test_stop_lets_waiters_go():
    caller = _sleepless(Scripted(), concurrency=1)
    caller.limiter.pause(300.0)
    waiters = [asyncio.create_task(caller.acquire(Priority.POLICY)) for _ in range(40)]
    await asyncio.sleep(0)
    caller.stop()
    await _soon(asyncio.gather(*waiters))
    await _soon(caller.acquire(Priority.POLICY))
    for _ in range(41):
        caller.release()
    assert caller.state.in_flight == 0


async def test_stop_waits_for_what_is_in_flight_and_asks_nothing_new():
    endpoint = Scripted(Reply("paid", "stop"), TransientError("x", kind="x"))
    endpoint.answers.clear()
    caller = _sleepless(endpoint)
    calls = [asyncio.create_task(_ask(caller, str(n))) for n in range(2)]
    await until(lambda: endpoint.in_flight == 2)
    caller.stop()
    endpoint.answers.set()
    answered, stopped = await _soon(asyncio.gather(*calls))
    assert (answered.reply.text, stopped.error_kind) == ("paid", "stopped")
    assert (await _soon(_ask(caller))).error_kind == "stopped"
    assert endpoint.asked == ["0", "1"]
    assert caller.state.in_flight == 0


async def test_stop_ends_the_wait_for_tokens():
    caller = _sleepless(Scripted(), tokens_per_minute=10)
    call = asyncio.create_task(_ask(caller))
    await until(lambda: caller._naps)
    caller.stop()
    assert (await _soon(call)).error_kind == "stopped"
    assert caller.state.attempts == caller.state.in_flight == 0


async def test_a_call_that_is_cancelled_while_it_backs_off_stays_cancelled():
    caller = _sleepless(Scripted(RateLimitedError("x", kind="x", retry_after_s=300.0)))
    call = asyncio.create_task(_ask(caller))
    await until(lambda: caller.state.backing_off == 1)
    call.cancel()
    caller.stop()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (caller.state.in_flight, caller.state.backing_off) == (0, 0)
