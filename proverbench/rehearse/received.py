"""A request as it came to the rehearsal, and the script that may say what it gets."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proverbench.rehearse.plays import Play
from proverbench.rehearse.wire import Ask


@dataclass(eq=False)
class Received:
    """One request as it came, and what became of it."""

    index: int
    """Zero-based, over all requests of the log."""
    at: float
    """When its body was complete, in seconds on the monotonic clock."""
    method: str
    path: str
    headers: Mapping[str, str]
    """Case does not matter."""
    body: bytes
    ask: Ask | None = None
    """The question, where the request is one."""
    arrivals_before: int = 0
    """How often the same question had come before."""
    outcome: str = "in flight"
    """``answered``, the status of a refusal, the play's ending, or ``abandoned`` by the client."""

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def key(self) -> str:
        """The API key that came with it, or the empty string."""
        return self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")


Script = Sequence[Play] | Callable[[Received], Play | Awaitable[Play | None] | None]
"""A list is played to the requests for completions in the order they come, after it the profile. A function is asked
at every request, batches and files included, and returns None for the ordinary way of things."""
