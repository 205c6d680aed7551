"""How much of replies is read into memory: a limit for each, and one budget for all that are in flight."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from proverbench.errors import CallFailedError

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Of a reply that comes whole, unpacked. The longest answers of any model are a few megabytes."""
MAX_STREAM_BYTES = 256 * 1024 * 1024
"""Of a streamed reply, in which each token may bring some hundred bytes; of these its text alone is kept."""
BUDGET_BYTES = 64 * 1024 * 1024
"""Of all replies that are being read; beyond it one at a time is read on, so that some reply always gets done."""
_EVENT_BYTES = 1024
"""What a line of a stream may have for nothing: so much around a token is not kept."""


class Budget:
    """The bytes of replies that are held at the same time."""

    def __init__(self) -> None:
        self.held = 0
        """Bytes of replies that have come and not been let go."""
        self._first: Share | None = None
        """The reply that is read on although the budget is spent."""
        self._waiting: list[asyncio.Future[None]] = []

    @classmethod
    def of_loop(cls) -> "Budget":
        """The one of all endpoints that are asked in the running event loop."""
        return _BUDGETS.setdefault(asyncio.get_running_loop(), cls())

    @contextmanager
    def share(self) -> Iterator["Share"]:
        """What one reply takes of it; given back when the block ends, once the reply has been read."""
        share = Share(self)
        try:
            yield share
        finally:
            self.held -= share.held
            if self._first is share:
                self._first = None
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def room_for(self, share: "Share") -> None:
        """Wait until a reply may be read on."""
        while self.held > BUDGET_BYTES and self._first is not share:
            if self._first is None:
                self._first = share
                return
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future


_BUDGETS: WeakKeyDictionary[asyncio.AbstractEventLoop, Budget] = WeakKeyDictionary()


class Share:
    """What one reply takes of the budget."""

    def __init__(self, budget: Budget) -> None:
        self.held = 0
        self._budget = budget

    async def whole(self, chunks: AsyncIterator[bytes]) -> bytes:
        """A body that is kept as it is.

        Raises:
            CallFailedError: It is too large. Another attempt would most likely be as large, and be paid for again.
        """
        pieces: list[bytes] = []
        async for chunk in _bounded(chunks, MAX_REPLY_BYTES):
            pieces.append(chunk)
            await self._take(len(chunk))
        return b"".join(pieces)

    async def streamed(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The pieces of a stream of events; what its lines have beyond what surrounds a token is kept.

        Raises:
            CallFailedError: They are too many.
        """
        async for chunk in _bounded(chunks, MAX_STREAM_BYTES):
            await self._take(max(0, len(chunk) - _EVENT_BYTES * chunk.count(b"\n")))
            yield chunk

    async def _take(self, size: int) -> None:
        """Hold so many bytes more, and read on when there is room for them."""
        self.held += size
        self._budget.held += size
        if self._budget.held > BUDGET_BYTES:
            await self._budget.room_for(self)


async def _bounded(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The pieces of a body, as long as they are not too many.

    Raises:
        CallFailedError: They are.
    """
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise CallFailedError(
                f"the reply is larger than {most // 2**20} MiB, unpacked; no model writes that much, so look at what "
                "answers at base_url",
                kind="too_large",
            )
        yield chunk
