"""cache_first by simulation: the tool's own order of asking and the rehearsal's prompt cache, in virtual time.

A grid of R, calls in flight and caching rules would take hours of waiting at a real server. What decides the outcome
is the order in which calls go out and when answers begin, so here the tool's own ``CacheFirst``, caller and request
bodies ask the cache model of ``rehearse --prefix-cache`` directly, on a clock that jumps (virtual_time.py). Each call
takes the same time in both orders. benchmarks/cache_first.py measures the same with whole processes over HTTP.
"""

import asyncio
import math
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import NamedTuple

from benchmarks import virtual_time
from proverbench.ask.cache_first import CacheFirst
from proverbench.ask.sampling import Job
from proverbench.concurrency import Ready, bounded_map
from proverbench.endpoints.access import Access
from proverbench.endpoints.anthropic import AnthropicEndpoint
from proverbench.endpoints.base import Answered, Priority, Reply, Request
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.openai import OpenAIEndpoint
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.rehearse.prefix_cache import PrefixCache
from proverbench.rehearse.wire import Protocol, count_tokens, read_ask
from proverbench.spending.money import cost
from proverbench.spending.prices import Prices
from proverbench.spending.usage import NO_USAGE, Usage

SHARED_CHARS = 3_200
"""Of every prompt: the instructions, which all proofs share."""
PROOF_CHARS = 8_800
OUTPUT_TOKENS = 500
FIRST_BYTE_S = 2.0
MEDIAN_S = 20.0
SIGMA = 0.6
"""A judge that thinks: the answer begins after two seconds and takes a lognormal time."""

PRICES = {
    "openai": Prices(input=1.0, cached_input=0.1, output=4.0),
    "anthropic": Prices(input=1.0, cached_input=0.1, cache_write=1.25, output=4.0),
}
"""US dollars per million tokens."""


class Simulated(NamedTuple):
    """One way of asking."""

    cached_share: float
    """Of the prompt tokens."""
    cost_usd: float
    seconds: float
    """From the first call to the last answer."""


class _Model:
    """The endpoint: answers after a time, and counts what its prompt cache did."""

    def __init__(self, kind: str, *, streamed: bool = True) -> None:
        self._streamed = streamed
        config = EndpointConfig(name="m", kind=kind, base_url="http://127.0.0.1:1/v1")
        roles = {"verifier": RoleConfig(model="m", endpoint=config, generation={"max_tokens": 4096})}
        wire: type[OpenAIEndpoint | AnthropicEndpoint] = OpenAIEndpoint if kind == "openai" else AnthropicEndpoint
        self._wire = wire(config, roles, access=Access())
        self._protocol: Protocol = "chat" if kind == "openai" else "messages"
        self._cache = PrefixCache()
        self.used = NO_USAGE
        self.last_s = 0.0

    def count(self, request: Request, now: float, begins: float) -> Usage:
        """What a request that comes now uses."""
        ask = read_ask(self._protocol, self._wire.body(request, stream=False))
        read, written = self._cache.ask(ask, now, begins)
        usage = Usage(count_tokens(ask.prompt), read, written, OUTPUT_TOKENS)
        self.used += usage
        return usage

    async def complete(self, request: Request) -> Reply:
        """Answer: the first byte after a while, the rest in its own time."""
        loop = asyncio.get_running_loop()
        usage = self.count(request, loop.time(), loop.time() + FIRST_BYTE_S)
        await asyncio.sleep(FIRST_BYTE_S)
        if self._streamed and request.begun is not None:
            request.begun()
        await asyncio.sleep(random.Random(request.key).lognormvariate(math.log(MEDIAN_S), SIGMA))
        self.last_s = loop.time()
        told = {"prompt_tokens": usage.input, "completion_tokens": usage.output, "cached_tokens": usage.cached_input}
        return Reply("judged", "stop", usage=told)

    async def aclose(self) -> None:
        """Nothing is open."""

    def outcome(self, kind: str, seconds: float) -> Simulated:
        """What all its calls came to."""
        return Simulated(self.used.cached_input / self.used.input, cost(self.used, PRICES[kind]).usd, seconds)


def simulate(*, kind: str, repeats: int, in_flight: int, proofs: int, first: bool, streamed: bool = True) -> Simulated:
    """Judge ``proofs`` proofs ``repeats`` times each, the first of each alone or all at once.

    Of a reply that is not streamed nobody sees that it has begun: the others of its proof wait until it is whole.
    """
    model = _Model(kind, streamed=streamed)
    virtual_time.run(_asked(model, repeats, in_flight, proofs, first=first))
    return model.outcome(kind, model.last_s)


def ideal(*, kind: str, repeats: int, proofs: int) -> Simulated:
    """Every call asked once the answer before it has begun, so that all that can be read is."""
    model = _Model(kind)
    for number in range(proofs * repeats):
        request = replace(_job(number, repeats).request, repeated=True)
        model.count(request, 1e-6 * number, 1e-6 * number)
    return model.outcome(kind, math.nan)


async def _asked(model: _Model, repeats: int, in_flight: int, proofs: int, *, first: bool) -> None:
    clock = asyncio.get_running_loop().time
    caller = EndpointCaller(model, concurrency=in_flight, max_retries=0, cache_first=first, clock=clock)
    order = CacheFirst(
        repeats,
        stopping=lambda: False,
        acquire=lambda held: caller.acquire(Priority.HELD if held else Priority.VERIFIER),
        release=caller.release,
        tell=_unexpected,
    )

    async def source() -> AsyncGenerator[Job | Ready[None], None]:
        for number in range(proofs * repeats):
            yield _job(number, repeats)

    async def work(job: Job) -> None:
        outcome = await caller.call(job.request)
        assert isinstance(outcome, Answered)
        if first:
            order.answered(job.number, outcome.reply.usage, first=job.request.begun is not None)
        if job.request.begun is not None:
            job.request.begun()

    async def at_once() -> bool:
        await caller.acquire(Priority.VERIFIER)
        return True

    async def taken() -> bool:
        return True

    asked = (
        bounded_map(order.order(source()), work, acquire=taken)
        if first
        else bounded_map(source(), work, acquire=at_once)
    )
    async with aclosing(asked):
        async for _ in asked:
            pass
    await caller.aclose()


def _job(number: int, repeats: int) -> Job:
    proof = number // repeats
    shared = ("Judge this proof step by step. " * (SHARED_CHARS // 31))[:SHARED_CHARS]
    prompt = shared + f"Proof {proof}: " + "by induction, " * (PROOF_CHARS // 14)
    request = Request("verifier", prompt, f"{number}", cacheable_chars=len(shared))
    return Job(number, request, "")


def _unexpected(message: str) -> None:
    raise AssertionError(message)
