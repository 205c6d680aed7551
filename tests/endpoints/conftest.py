"""Callers over a real local server, from a config as a user would write it."""

import asyncio
import random

import pytest

from proverbench.endpoints.access import Access
from proverbench.endpoints.anthropic import AnthropicEndpoint
from proverbench.endpoints.base import Priority, Request
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.openai import OpenAIEndpoint
from proverbench.endpoints.responses import ResponsesEndpoint
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.rehearse import RehearseServer

KEY = "sk-test-4f9c2e71d8aa0b35"


class Naps:
    """A sleep that records what was asked for and takes next to no time."""

    def __init__(self):
        self.taken = []

    async def __call__(self, seconds):
        self.taken.append(seconds)
        await asyncio.sleep(0)


class Bench:
    """Makes endpoints and callers of either protocol over one server, and closes them."""

    def __init__(self, server):
        self.server = server
        self.naps = Naps()
        self._open = []

    def endpoint(self, protocol="chat", *, base_url=None, key=KEY, headers=None, generation=None, **settings):
        kind = "anthropic" if protocol == "messages" else "openai"
        default = self.server.origin if kind == "anthropic" else self.server.base_url
        if generation is None:
            generation = {"max_tokens": 1000}
        config = EndpointConfig(name="judge", kind=kind, base_url=base_url or default, **settings)
        roles = {
            role: RoleConfig(model=f"model-{role}", generation=generation, endpoint=config)
            for role in ("policy", "verifier", "meta")
        }
        made = {"messages": AnthropicEndpoint, "responses": ResponsesEndpoint, "chat": OpenAIEndpoint}[protocol]
        endpoint = made(config, roles, access=Access(key=key, headers=headers or {}))
        self._open.append(endpoint)
        return endpoint

    def caller(self, protocol="chat", *, concurrency=16, max_retries=2, timeout_s=600.0, **settings):
        endpoint = self.endpoint(protocol, timeout_s=timeout_s, **settings)
        return EndpointCaller(
            endpoint,
            name="judge",
            concurrency=concurrency,
            max_retries=max_retries,
            timeout_s=timeout_s,
            sleep=self.naps,
            rng=random.Random(1),
        )

    async def aclose(self):
        for endpoint in self._open:
            await endpoint.aclose()


def request(prompt="Judge this.", *, role="verifier", repeat=0, **more):
    return Request(role=role, prompt=prompt, key=f"{role}/p/0/{repeat}", **more)


async def ask(caller, *args, priority=Priority.VERIFIER, **kwargs):
    await caller.acquire(priority)
    return await caller.call(request(*args, **kwargs))


@pytest.fixture
async def pass_time(monkeypatch):
    """``pass_time(60)`` lets every timer of the test's loop that is due within 60 seconds ring now."""
    loop = asyncio.get_running_loop()
    real, passed = loop.time, []
    monkeypatch.setattr(loop, "time", lambda: real() + sum(passed))
    return passed.append


@pytest.fixture
async def bench():
    async with RehearseServer() as server:
        made = Bench(server)
        yield made
        await made.aclose()
