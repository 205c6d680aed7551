"""One tiny call of a role, to see what its server says and how."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.factory import read_access
from proverbench.endpoints.kinds.kind import Opening
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.errors import EndpointError
from proverbench.inputs.config import RoleConfig
from proverbench.spending.usage import normalise_usage

LIMIT = 64
"""Most tokens that a probe may be answered with."""
PROMPT = "Reply with the word yes."
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_THINKING = ("thinking", "reasoning_effort", "reasoning")
"""Left out of a probe: a budget for thinking must be less than the limit."""


@dataclass(frozen=True)
class Probed:
    """What one call told."""

    reply: Reply
    latency_s: float
    streamed: bool
    remark: str | None = None
    """What did not work at first."""

    def facts(self) -> dict[str, Any]:
        """The same, for people and scripts."""
        raw, usage = self.reply.usage, normalise_usage(self.reply.usage)
        return {
            "model": self.reply.model,
            "finish_reason": self.reply.finish_reason,
            "usage": None if usage is None else {"input": usage.input, "output": usage.output},
            "cached_tokens_told": raw is not None and "cache" in repr(raw),
            "streaming": self.streamed,
            "reasoning": "apart" if self.reply.reasoning else "in the text" if "<think" in self.reply.text else None,
            "latency_s": round(self.latency_s, 3),
        }


async def probe(role: str, config: RoleConfig) -> Probed:
    """Ask a role's endpoint one tiny question; where it refuses to stream, once more without.

    Raises:
        EndpointError: If no answer came.
        ConfigError: If the endpoint cannot be opened.
    """
    try:
        return await _ask(role, config, stream=True)
    except EndpointError as exc:
        if exc.status not in (400, 404, 422) or not find_kind(config.endpoint.kind).live:
            raise
        try:
            found = await _ask(role, config, stream=False)
        except EndpointError:
            raise exc from None
        return Probed(found.reply, found.latency_s, False, f"a streamed call was refused: {exc}")


async def _ask(role: str, config: RoleConfig, *, stream: bool) -> Probed:
    generation = {key: value for key, value in config.generation.items() if key not in _THINKING}
    named = next((key for key in _LIMITS if key in generation), None)
    tiny = config.model_copy(
        update={
            "generation": generation | ({named: LIMIT} if named else {}),
            "endpoint": config.endpoint.model_copy(update={"stream": stream}),
        }
    )
    opening = Opening(tiny.endpoint, {role: tiny}, 1, read_access(tiny.endpoint), lambda _: None)
    endpoint = await find_kind(tiny.endpoint.kind).open(opening)
    try:
        begun = time.monotonic()
        reply = await endpoint.complete(Request(role=role, prompt=PROMPT, key=f"doctor/{role}"))
        return Probed(reply, time.monotonic() - begun, stream)
    finally:
        await asyncio.shield(endpoint.aclose())
