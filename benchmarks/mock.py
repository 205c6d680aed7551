"""A model endpoint that costs next to nothing, so that it is never the limit: ``python -m benchmarks.mock``.

One process and one asyncio protocol: a request is cut out of the bytes, not decoded; replies are made beforehand.
A call's latency is drawn from what it is (its role, its problem, and whether it is the 1st, 2nd, 3rd … of that
problem), so that a simulation can deal the same ones in whatever order it asks (schedule.py). For anything that must
behave like a provider there is ``proverbench rehearse``.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable

from proverbench.records import Role
from proverbench.rehearse.plays import error_body
from proverbench.rehearse.profile import Latency
from proverbench.rehearse.replies import GeneratedReplies
from proverbench.rehearse.wire import Ask, Numbers, Protocol, as_json, body_of, events_of

_VARIANTS = 64
_MAX_KEPT = 8 << 20
"""Bytes of made replies of one kind; large ones have fewer variants."""
_PROMPTS: dict[Role, str] = {
    "policy": "Write <step> elements.",
    "verifier": "Give <assessment>. <step0>\n\na\n\n</step0>\n\n<step1>\n\nb\n\n</step1>",
    "meta": "Give a <level>.",
}
_PROBLEM = re.compile(rb"\$f_\{(\d+)\}")
_PROTOCOLS: dict[bytes, Protocol] = {b"/v1/chat/completions": "chat", b"/v1/messages": "messages"}


Latencies = Callable[[Role, int, int], float]
"""Role, number of the problem, how many calls of that role the problem had before → seconds."""


def dealt(latency: Latency, seed: int = 0) -> Latencies:
    """What the mock deals."""
    if latency.kind == "fixed":
        return lambda role, problem, nth: latency.median_s
    return lambda role, problem, nth: latency.draw(random.Random(f"{seed}/{role}/{problem}/{nth}"))


def _respond(status: int, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode("ascii") + body


class Replies:
    """Whole HTTP responses by protocol, role and manner, made once.

    Args:
        reply_bytes: About how long the text of a reply is.
    """

    def __init__(self, reply_bytes: int) -> None:
        make = GeneratedReplies(accept_rate=0.7, min_chars=reply_bytes)
        variants = max(2, min(_VARIANTS, _MAX_KEPT // max(1, reply_bytes)))
        self._made: dict[tuple[Protocol, Role, bool], list[bytes]] = {}
        for protocol in _PROTOCOLS.values():
            for role, prompt in _PROMPTS.items():
                for stream in (False, True):
                    asks = [
                        Ask(protocol, "mock", f"{prompt} {n}", None, stream, True, None, 0) for n in range(variants)
                    ]
                    self._made[protocol, role, stream] = [self._response(ask, make) for ask in asks]

    def choose(self, protocol: Protocol, role: Role, body: bytes) -> bytes:
        """The response to a request's body."""
        stream = b'"stream":true' in body or b'"stream": true' in body
        made = self._made[protocol, role, stream]
        return made[zlib.crc32(body) % len(made)]

    @staticmethod
    def _response(ask: Ask, make: GeneratedReplies) -> bytes:
        reply, numbers = make(ask, 0), Numbers("0" * 24, 0, 0)
        if ask.stream:
            return _respond(200, "text/event-stream", b"".join(events_of(ask, reply, numbers)))
        return _respond(200, "application/json", as_json(body_of(ask, reply, numbers)))


def _role(body: bytes) -> Role:
    return "meta" if b"<level>" in body else "verifier" if b"<assessment>" in body else "policy"


class Counts:
    """What ``GET /stats`` says."""

    def __init__(self) -> None:
        self.requests = 0
        self.in_flight = 0
        self.max_in_flight = 0
        self.first_at = 0.0
        self.last_at = 0.0


class Dealer:
    """The latency of each request as it arrives.

    Args:
        latencies: What to deal.
    """

    def __init__(self, latencies: Latencies) -> None:
        self._latencies = latencies
        self._seen: Counter[tuple[Role, int]] = Counter()

    def __call__(self, role: Role, body: bytes) -> float:
        """The latency of the next request of that role about the problem that ``body`` shows (tool.py writes them)."""
        found = _PROBLEM.search(body)
        problem = int(found[1]) if found else 0
        nth = self._seen[role, problem]
        self._seen[role, problem] += 1
        return self._latencies(role, problem, nth)


class Connection(asyncio.Protocol):
    """One client connection; requests on it come one after the other, as HTTP/1.1 clients send them."""

    def __init__(self, replies: Replies, deal: "Dealer", counts: Counts, failing: float) -> None:
        self._replies = replies
        self._deal = deal
        self._counts = counts
        self._failing = failing
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer when the whole request is there."""
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._buffer) < end + 4 + length:
            return
        path = head.split(b" ", 2)[1]
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        self._answer(path, body)

    def _answer(self, path: bytes, body: bytes) -> None:
        counts = self._counts
        if path not in _PROTOCOLS:
            status = 200 if path == b"/stats" else 404
            self._write(_respond(status, "application/json", json.dumps(vars(counts)).encode()))
            return
        role = _role(body)
        now = self._loop.time()
        counts.first_at = counts.first_at or now
        counts.requests += 1
        counts.in_flight += 1
        counts.max_in_flight = max(counts.max_in_flight, counts.in_flight)
        if self._failing and random.random() < self._failing:
            response = _respond(500, "application/json", as_json(error_body(500, "rehearsed")))
        else:
            response = self._replies.choose(_PROTOCOLS[path], role, body)
        delay = self._deal(role, body)
        if delay > 0:
            self._loop.call_later(delay, self._done, response)
        else:
            self._done(response)

    def _done(self, response: bytes) -> None:
        self._counts.in_flight -= 1
        self._counts.last_at = self._loop.time()
        self._write(response)

    def _write(self, response: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(response)


async def serve(options: argparse.Namespace) -> None:
    """Listen; the first line on stdout is the port."""
    replies, counts = Replies(options.reply_bytes), Counts()
    deal = Dealer(dealt(Latency.parse(options.latency), options.seed))
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(replies, deal, counts, options.failing), "127.0.0.1", options.port, backlog=8192
    )
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


def main() -> None:
    """Run as ``python -m benchmarks.mock``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", default="fixed:0", help="fixed:SECONDS or lognormal:MEDIAN,SIGMA")
    parser.add_argument("--reply-bytes", type=int, default=2000)
    parser.add_argument("--failing", type=float, default=0.0, help="share of requests answered with 500")
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
