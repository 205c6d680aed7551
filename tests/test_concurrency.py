"""The bounded map: how much runs at once, and what happens to what runs when it stops."""

import asyncio
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from proverbench import concurrency
from proverbench.concurrency import AwakeTimeout, Ready, Turns, bounded_map


async def numbers(n: int) -> AsyncGenerator[int | Ready[int], None]:
    for number in range(n):
        yield number


class Slots:
    """At most ``limit`` at once; none any more once ``closed``."""

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(limit)
        self.closed = False
        self.running = self.most = 0

    async def acquire(self) -> bool:
        if self.closed:
            return False
        await self._free.acquire()
        if self.closed:
            self._free.release()
            return False
        return True

    async def work(self, item: int) -> int:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.01)
            return item
        finally:
            self.running -= 1
            self._free.release()


async def test_never_more_than_there_are_slots():
    slots = Slots(3)
    assert sorted([r async for r in bounded_map(numbers(20), slots.work, acquire=slots.acquire)]) == list(range(20))
    assert slots.most == 3


async def test_what_is_ready_passes_through():
    async def source() -> AsyncGenerator[int | Ready[int], None]:
        yield Ready(-1)
        yield 1

    slots = Slots(1)
    assert sorted([r async for r in bounded_map(source(), slots.work, acquire=slots.acquire)]) == [-1, 1]


async def test_a_map_that_stops_lets_its_source_finish():
    """A verifier that is told to ask nothing new must not cancel the policy's calls in flight."""
    upstream, downstream = Slots(4), Slots(1)
    begun: list[int] = []
    saved: list[int] = []

    async def save(item: int) -> int:
        begun.append(item)
        result = await upstream.work(item)
        saved.append(result)
        downstream.closed = upstream.closed = len(saved) >= 2
        return result

    outer = bounded_map(
        bounded_map(numbers(100), save, acquire=upstream.acquire), downstream.work, acquire=downstream.acquire
    )
    results = [result async for result in outer]
    assert sorted(saved) == begun
    assert 2 < len(saved) < 10
    assert set(results) <= set(saved)


async def test_leaving_early_cancels_what_runs():
    slots = Slots(2)
    async with aclosing(bounded_map(numbers(10), slots.work, acquire=slots.acquire)) as results:
        async for _ in results:
            break
    assert slots.running == 0


async def test_a_failure_ends_the_map():
    slots = Slots(2)

    async def work(item: int) -> int:
        await slots.work(item)
        if item == 3:
            raise ValueError(item)
        return item

    with pytest.raises(ValueError, match="3"):
        async for _ in bounded_map(numbers(10), work, acquire=slots.acquire):
            pass
    assert slots.running == 0


class TestTurns:
    async def test_one_at_each_turn_of_the_loop_in_order(self):
        turns = Turns()
        went: list[tuple[int, int]] = []
        turn = 0

        async def go(number: int) -> None:
            await turns.wait()
            went.append((turn, number))

        tasks = [asyncio.create_task(go(number)) for number in range(5)]
        while not all(task.done() for task in tasks):
            turn += 1
            await asyncio.sleep(0)
        assert [number for _, number in went] == [0, 1, 2, 3, 4]
        assert len({at for at, _ in went}) == 5

    async def test_who_comes_alone_does_not_wait(self):
        turns = Turns()
        for _ in range(2):
            waiting = turns.wait()
            with pytest.raises(StopIteration):
                waiting.send(None)
            await asyncio.sleep(0)

    async def test_who_is_cancelled_holds_nobody_up(self):
        turns = Turns()
        tasks = [asyncio.create_task(turns.wait()) for _ in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[2].cancel()
        done, _ = await asyncio.wait(tasks, timeout=60)
        assert len(done) == 4
        assert [task.cancelled() for task in tasks] == [False, True, True, False]


class TestAwakeTimeout:
    async def test_ends_what_takes_too_long(self, monkeypatch):
        monkeypatch.setattr(concurrency, "CATCH_UP_S", 0.01)  # where the machine itself is late
        with pytest.raises(TimeoutError):
            async with AwakeTimeout(0.01):
                await asyncio.Event().wait()

    async def test_no_limit(self):
        async with AwakeTimeout(None):
            await asyncio.sleep(0)

    async def test_what_came_while_the_process_was_suspended_counts(self):
        """As after SIGSTOP: the time is over when the process goes on, and the answer has been there for long."""
        here, there = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=here)
        async with AwakeTimeout(0.05):
            await asyncio.sleep(0)
            there.sendall(b"an answer\n")
            time.sleep(0.05 + concurrency.LATE_S + 0.2)  # noqa: ASYNC251 - nothing in this process goes on meanwhile
            assert await reader.readline() == b"an answer\n"
            await asyncio.sleep(0.01)
        there.close()
        writer.close()

    async def test_a_cancellation_from_outside_is_none_of_its_own(self):
        async def forever() -> None:
            async with AwakeTimeout(1000):
                await asyncio.Event().wait()

        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
