"""One play on its way to one client: when its bytes leave, and how it ends."""

import asyncio
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web

from proverbench.rehearse.ledger import Ledger, Slot
from proverbench.rehearse.others import Others
from proverbench.rehearse.plays import Play
from proverbench.rehearse.received import Received
from proverbench.rehearse.wire import as_json, body_of, error_event, events_of

if TYPE_CHECKING:
    from proverbench.rehearse.server import RehearseServer


@dataclass
class PlayedResponse:
    """One play on its way to one client."""

    server: "RehearseServer"
    ledger: Ledger
    http: web.Request
    received: Received
    play: Play
    slot: Slot
    read: tuple[int, int] | None = field(default=None, init=False)
    """Tokens that the modelled prompt cache read and wrote."""

    async def perform(self) -> web.StreamResponse:
        """Send it; returns when the client has all of it, or is gone."""
        play, cache, ask = self.play, self.server.profile.prefix_cache, self.received.ask
        if cache is not None and ask is not None:
            now = time.monotonic()
            self.read = cache.ask(ask, now, now + play.delay_s)
        await asyncio.sleep(play.delay_s)
        if play.ending == "hang":
            return await self._wait_for_client()
        if play.ending == "reset" and self.received.ask is not None:
            return await self._reset()
        status, kind, parts = self._parts()
        if play.ending == "reset":  # what was asked for is done (a batch is submitted), only the news of it is lost
            return await self._reset()
        headers = {"Content-Type": kind, **play.headers}
        if play.ending == "complete" and len(parts) == 1 and not play.body_s:
            self._finish()
            return web.Response(status=status, body=parts[0], headers=headers)
        return await self._slowly(status, headers, parts)

    def _parts(self) -> tuple[int, str, list[bytes]]:
        """Status, content type, and the body in the pieces in which it is sent."""
        play, ask = self.play, self.received.ask
        if play.body is not None:
            return play.status, "application/json", [_raw(play.body)]
        if ask is None and play.reply is None:
            status, body = Others(self.server.batches, self.server.profile, self.server.origin).answer(
                self.http, self.received.body
            )
            return (play.status if play.status != 200 else status), "application/json", [body]
        if ask is None:
            raise web.HTTPNotFound
        reply, numbers = self.server.reply_to(ask, play, self.read)
        if not ask.stream:
            return play.status, "application/json", [as_json(body_of(ask, reply, numbers))]
        events = events_of(ask, reply, numbers)
        if play.ending == "stream_ends":
            events = events[: len(events) // 2]
        if play.ending == "stream_error":
            events = [*events[: len(events) // 2], error_event(ask, play.stream_error)]
        return play.status, "text/event-stream", events

    async def _slowly(self, status: int, headers: dict[str, str], parts: list[bytes]) -> web.StreamResponse:
        play = self.play
        response = web.StreamResponse(status=status, headers=headers)
        if len(parts) == 1:
            response.content_length = len(parts[0])
            middle = len(parts[0]) // 2
            parts = [parts[0][:middle], parts[0][middle:]]
        await response.prepare(self.http)
        if play.ending == "reset_after_headers":
            await response.write(b"")
            return await self._reset()
        halfway = play.ending in ("cut", "stall")
        for number, part in enumerate(parts):
            if number:
                await asyncio.sleep(play.body_s / (len(parts) - 1))
            if halfway and number >= (len(parts) + 1) // 2:
                return await (self._cut() if play.ending == "cut" else self._wait_for_client())
            if number == len(parts) - 1:
                self._finish()
            await response.write(part)
        if play.ending == "leave_open":
            return await self._wait_for_client()
        await response.write_eof()
        return response

    def _finish(self) -> None:
        """The last byte is about to leave, after which the client may ask again."""
        self.ledger.done(self.slot)
        ask = self.received.ask
        if ask is not None and self.play.answers:
            self.server.count_answer(self.ledger, ask)
            self.received.outcome = "answered"
        elif self.play.ending == "complete":
            self.received.outcome = str(self.play.status)
        else:
            self.received.outcome = self.play.ending

    async def _reset(self) -> web.StreamResponse:
        self.received.outcome = self.play.ending
        self.ledger.done(self.slot)
        transport = self.http.transport
        if transport is not None:
            linger_none = struct.pack("ii", 1, 0)  # close() then sends RST instead of FIN
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_none)
            transport.abort()
        return await self._wait_for_client()

    async def _cut(self) -> web.StreamResponse:
        self.received.outcome = self.play.ending
        self.ledger.done(self.slot)
        if self.http.transport is not None:
            self.http.transport.close()
        return await self._wait_for_client()

    async def _wait_for_client(self) -> web.StreamResponse:
        """Wait until the connection is gone: aiohttp then cancels this."""
        await asyncio.Event().wait()
        raise AssertionError("an event that nobody sets")


def _raw(body: bytes | str | Mapping[str, Any] | Sequence[Any]) -> bytes:
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else as_json(body)
