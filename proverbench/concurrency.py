"""The one bounded async map, and turns at the loop."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

LATE_S = 1.0
"""A timer that fires so late was held up together with everything else: the process was suspended, or starved."""
CATCH_UP_S = 10.0
"""What is waited for once more after that, for what came meanwhile has yet to be read."""

T = TypeVar("T")
R = TypeVar("R")


class AwakeTimeout:
    """:func:`asyncio.timeout` that a suspension (SIGSTOP, a laptop's lid, a batch system) does not run out.

    After one, timers are due before anything that arrived meanwhile has been read: an answer that was delivered, and is
    paid for, would be thrown away.

    Args:
        seconds: Of the process's own time; None: no limit.

    Raises:
        TimeoutError: At the end of the block, when it took longer.
    """

    __slots__ = ("_loop", "_scope", "_seconds", "_timer")

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        self._scope = asyncio.timeout(None)
        await self._scope.__aenter__()
        if self._seconds is not None:
            self._loop = asyncio.get_running_loop()
            self._wait(self._seconds)

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._scope.__aexit__(kind, exc, trace)

    def _wait(self, more_s: float) -> None:
        self._timer = self._loop.call_later(more_s, self._end, self._loop.time() + more_s)

    def _end(self, due: float) -> None:
        if self._loop.time() - due > LATE_S:
            self._wait(CATCH_UP_S)
        else:
            self._scope.reschedule(self._loop.time())


class Turns:
    """Lets one after the other go on, one at each turn of the loop.

    A thousand replies may come in one instant. Were all of them read in the same turn of the loop, nothing else would
    go on meanwhile: no timeout, no signal, no progress.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def wait(self) -> None:
        """Wait until it is this task's turn: first come, first served."""
        loop = asyncio.get_running_loop()
        if not self._taken:
            self._taken = True
            loop.call_soon(self._next)
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # else its task was cancelled
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._taken = False


@dataclass(frozen=True, slots=True)
class Ready(Generic[R]):
    """An item of a source that needs no work: its result is known."""

    result: R


class _Running(Generic[T, R]):
    """The tasks of a bounded map, and the results that nobody has taken yet."""

    def __init__(self, work: Callable[[T], Coroutine[Any, Any, R]]) -> None:
        self._work = work
        self.tasks: set[asyncio.Task[R]] = set()
        self.results: deque[R | BaseException] = deque()
        self.wake = asyncio.Event()
        """Set when there is a result, or the last item was read."""

    async def pump(
        self, source: AsyncGenerator[T | Ready[R], None], acquire: Callable[[], Awaitable[bool]], polite: bool
    ) -> None:
        """Start what the source gives, one item for each slot; read the source to its end."""
        loop = asyncio.get_running_loop()
        async with aclosing(source):
            async for item in source:
                if isinstance(item, Ready):
                    self.results.append(item.result)
                    self.wake.set()
                    continue
                if not await acquire():
                    break
                task = loop.create_task(self._work(item))
                self.tasks.add(task)
                task.add_done_callback(self._on_done)
                if polite:
                    await asyncio.sleep(0)
            async for _ in source:
                pass

    def _on_done(self, task: asyncio.Task[R]) -> None:
        self.tasks.discard(task)
        if task.cancelled():
            self.results.append(asyncio.CancelledError())
        else:
            self.results.append(task.exception() or task.result())
        self.wake.set()


async def bounded_map(
    source: AsyncGenerator[T | Ready[R], None],
    work: Callable[[T], Coroutine[Any, Any, R]],
    *,
    acquire: Callable[[], Awaitable[bool]],
    polite: bool = False,
) -> AsyncGenerator[R, None]:
    """Run ``work`` on the items of ``source`` as slots become free; yield results as they come.

    The source is read one item ahead of the slots, whether or not anybody takes the results, so a slow consumer holds
    nothing up; results should therefore be small. Leaving early cancels what is running.

    Args:
        source: The items; closed at the end.
        work: What to do with one item. It gives its slot back itself. An exception that it raises ends the map.
        acquire: Waits for a slot; False means that nothing new should be started. The source is then read to its end
            all the same, its items left undone, because it may itself be a map whose running items must not be lost;
            it should end soon by itself.
        polite: Let the loop turn after each start, so that maps of higher priority on the same slots take all they
            want first.

    Yields:
        Results, in order of completion.
    """
    running = _Running(work)
    pumping = asyncio.get_running_loop().create_task(running.pump(source, acquire, polite))
    pumping.add_done_callback(lambda _: running.wake.set())
    try:
        while True:
            running.wake.clear()
            while running.results:
                result = running.results.popleft()
                if isinstance(result, BaseException):
                    raise result
                yield result
            if pumping.done():
                pumping.result()
                if not running.tasks and not running.results:
                    return
            if not running.results:
                await running.wake.wait()
    finally:
        pending = [task for task in (pumping, *running.tasks) if not task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
