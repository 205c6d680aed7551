"""Yardsticks: nothing but a client that makes N calls with M in flight. ``python -m benchmarks.clients CLIENT …``.

Each asks the same prompt, reads the reply's text, and does nothing with it.
"""

import argparse
import asyncio
import resource
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

Call = Callable[[], Awaitable[object]]

PROMPT = "Judge this proof; give <assessment>, <errors>, <first_error_step>.\n" + "Let $x < y$ be real numbers. " * 100
_MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]
_MAX_TOKENS = 2048
_TIMEOUT_S = 600.0
"""For connecting too: on a busy machine the SDKs' own 5 s are over before a thousand connections are made."""


def openai_client(origin: str, *, fast: bool) -> tuple[AbstractAsyncContextManager[Any], Call]:
    """The openai SDK on its default transport, or on aiohttp."""
    import openai

    http = openai.DefaultAioHttpClient() if fast else None
    client = openai.AsyncOpenAI(
        base_url=f"{origin}/v1", api_key="k", max_retries=0, timeout=_TIMEOUT_S, http_client=http
    )

    async def call() -> object:
        reply = await client.chat.completions.create(model="mock", messages=_MESSAGES, max_tokens=_MAX_TOKENS)
        return reply.choices[0].message.content

    return client, call


def anthropic_client(origin: str, *, fast: bool) -> tuple[AbstractAsyncContextManager[Any], Call]:
    """The anthropic SDK on its default transport, or on aiohttp."""
    import anthropic

    http = anthropic.DefaultAioHttpClient() if fast else None
    client = anthropic.AsyncAnthropic(base_url=origin, api_key="k", max_retries=0, timeout=_TIMEOUT_S, http_client=http)

    async def call() -> object:
        reply = await client.messages.create(model="mock", messages=_MESSAGES, max_tokens=_MAX_TOKENS)
        return reply.content

    return client, call


def aiohttp_client(origin: str) -> tuple[AbstractAsyncContextManager[Any], Call]:
    """No SDK: aiohttp and json."""
    import aiohttp

    body = {"model": "mock", "messages": _MESSAGES, "max_tokens": _MAX_TOKENS}
    sessions: list[aiohttp.ClientSession] = []

    @asynccontextmanager
    async def opened() -> Any:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            sessions.append(session)
            yield session

    async def call() -> object:
        async with sessions[0].post(f"{origin}/v1/chat/completions", json=body) as response:
            return (await response.json())["choices"][0]["message"]["content"]

    return opened(), call


CLIENTS: dict[str, Callable[[str], tuple[AbstractAsyncContextManager[Any], Call]]] = {
    "openai": lambda origin: openai_client(origin, fast=False),
    "openai-aiohttp": lambda origin: openai_client(origin, fast=True),
    "anthropic": lambda origin: anthropic_client(origin, fast=False),
    "anthropic-aiohttp": lambda origin: anthropic_client(origin, fast=True),
    "aiohttp": aiohttp_client,
}


async def drive(name: str, origin: str, *, calls: int, in_flight: int) -> None:
    """Make ``calls`` calls, ``in_flight`` at a time."""
    left = iter(range(calls))
    async with AsyncExitStack() as stack:
        client, call = CLIENTS[name](origin)
        await stack.enter_async_context(client)

        async def work() -> None:
            for _ in left:
                await call()

        await asyncio.gather(*(work() for _ in range(in_flight)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as ``python -m benchmarks.clients``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("origin")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--in-flight", type=int, default=64)
    options = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))
    asyncio.run(drive(options.client, options.origin, calls=options.calls, in_flight=options.in_flight))


if __name__ == "__main__":
    main()
