"""How much of replies is read into memory: a limit for each, and a budget for all that are in flight at an endpoint."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from proverbench.errors import CallFailedError

R = TypeVar("R")

MAX_REPLY_BYTES = 64 * 1024 * 1024
"""Of a reply that comes whole, unpacked. The longest answers of any model are a few megabytes."""
MAX_STREAM_BYTES = 256 * 1024 * 1024
"""Of a streamed reply, in which each token may bring some hundred bytes; of these its text alone is kept."""
FREE_BYTES = 1024 * 1024
"""What any reply may hold. Hundreds are in flight, and hardly any is larger."""
LARGE_AT_ONCE = 2
"""Replies of an endpoint that may hold more at the same time; the others are read on when one of these is done."""


class Bodies:
    """The replies of one endpoint that are being read."""

    def __init__(self) -> None:
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def whole(self, chunks: AsyncIterator[bytes], read: Callable[[bytes], Awaitable[R]]) -> R:
        """What a body says that is kept as it is.

        Args:
            chunks: It, as it comes.
            read: Reads it once it is whole; a large one keeps its place until then.

        Raises:
            CallFailedError: It is too large. Another attempt would most likely be as large, and be paid for again.
        """
        pieces: list[bytes] = []
        size, is_large = 0, False
        try:
            async for chunk in chunks:
                pieces.append(chunk)
                size += len(chunk)
                if size > MAX_REPLY_BYTES:
                    raise _too_large(MAX_REPLY_BYTES)
                if size > FREE_BYTES and not is_large:
                    await self._large.acquire()
                    is_large = True
            raw = b"".join(pieces)
            pieces.clear()
            return await read(raw)
        finally:
            if is_large:
                self._large.release()


async def bounded(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The pieces of a body, as long as they are not too many.

    Raises:
        CallFailedError: They are.
    """
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise _too_large(most)
        yield chunk


def _too_large(most: int) -> CallFailedError:
    return CallFailedError(
        f"the reply is larger than {most // 2**20} MiB, unpacked; no model writes that much, so look at what "
        "answers at base_url",
        kind="too_large",
    )
