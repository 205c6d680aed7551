"""Server-sent events, as far as model endpoints use them: bytes in, (event, data) out."""

from codecs import BOM_UTF8
from collections.abc import AsyncIterable, AsyncIterator
from typing import NamedTuple

from proverbench.lines import LineBuffer


class Event(NamedTuple):
    """One event of a stream."""

    name: str
    """Value of the ``event`` field, empty if there was none."""
    data: bytes
    """The ``data`` lines, joined by newlines."""


async def iter_events(chunks: AsyncIterable[bytes]) -> AsyncIterator[Event]:
    """The events of a stream in order; an event that the end of the stream cuts short is dropped.

    Lines may end in LF or CRLF and be split anywhere between chunks; comments, other fields and a byte order
    mark at the start are ignored.
    """
    buffer = LineBuffer()
    name, first = "", True
    data: list[bytes] = []
    async for chunk in chunks:
        for line in buffer.feed(chunk):
            if first:
                line, first = line.removeprefix(BOM_UTF8), False
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line:
                if data:
                    yield Event(name, b"\n".join(data))
                name, data = "", []
            elif line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif line.startswith(b"event:"):
                name = line[6:].strip().decode("utf-8", "replace")
