"""At most so many requests in any window of time, over processes and restarts."""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from proverbench.run.disk import disk
from proverbench.run.lock import try_lock

_POLL_S = 0.2
"""How often to look whether another process is done with its request."""


class PoliteWindow:
    """A sliding window whose memory is a locked file, so that all processes and resumed runs keep one limit.

    Requests go one after the other: the lock is held from before a request until after its answer. A request counts
    until ``seconds`` after its answer came; the server saw it before that, so no window of ``seconds`` on its side
    can hold more than ``requests``.

    Args:
        path: The file of the service.
        requests: How many.
        seconds: In how long.
        clock: Seconds since a fixed date, the same for all processes.
        sleep: Waits.
    """

    def __init__(
        self,
        path: Path,
        *,
        requests: int,
        seconds: float,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.requests = requests
        self.seconds = seconds
        self._path = path
        self._clock = clock
        self._sleep = sleep

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait until a request may be sent; the block is the request.

        Raises:
            JournalError: If the file cannot be written: without it the limit could not be kept.
        """
        with self._opened() as fd:
            while not try_lock(fd):
                await self._sleep(_POLL_S)
            times = _read(fd)
            while (wait := self._wait_s(times)) > 0:
                await self._sleep(wait)
            # Written before the request, for should this process die the server has seen it all the same.
            self._write(fd, [*times, self._clock()])
            try:
                yield
            finally:
                self._write(fd, [*times, self._clock()])

    def _wait_s(self, times: list[float]) -> float:
        """Forget what is past; return how long to wait before the next request, 0 if none."""
        now = self._clock()
        # A time in the future was written under a clock that has since been set back; it counts as now.
        times[:] = [min(at, now) for at in times if now - at < self.seconds]
        if len(times) < self.requests:
            return 0.0
        return max(self.seconds - (now - times[-self.requests]), 0.001)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        with disk(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            yield fd
        finally:
            os.close(fd)  # and with it the lock

    def _write(self, fd: int, times: list[float]) -> None:
        data = json.dumps(times).encode()
        with disk(self._path):
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))


def _read(fd: int) -> list[float]:
    try:
        return sorted(float(at) for at in json.loads(os.pread(fd, 1 << 20, 0) or b"[]"))
    except (ValueError, TypeError):
        return []  # a write torn by a power cut
