"""What the rest of the program knows of an endpoint.

An :class:`Endpoint` makes **one attempt** of one call and says what came. Retries, limits, money and
the choice of what to ask are others' work (``retry.py``, ``limits.py``, ``caller.py``).
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from proverbench.endpoints.context import Room
from proverbench.errors import TransientError


@dataclass(frozen=True, slots=True)
class Request:
    """One call, as an endpoint needs to see it."""

    role: str
    """``policy``, ``verifier`` or ``meta``."""
    prompt: str
    """The whole prompt, sent as one user message."""
    key: str
    """The call's key as text (records.CallKey.text), for seeds, replay, batches and messages."""
    seed: int | None = None
    """This call's own seed, when the config sets a base seed."""
    cacheable_chars: int = 0
    """Length of the prefix of ``prompt`` that many calls share; 0 when none does."""
    repeated: bool = False
    """Whether the same prompt is asked several times, one after the other, so that a server does well to keep it."""
    begun: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """To be called when the answer begins to come, where that shows: calls with the same prompt wait for it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint answered; the text is untouched."""

    text: str
    finish_reason: str | None
    reasoning: str | None = None
    """Reasoning returned apart from the text; stored, never parsed."""
    refused: str | None = None
    """WHY, when the provider refused the request for its content: ``context_length``, ``content_policy``."""
    context: Room | None = None
    """What a refusal for the context tells of it."""
    native_finish_reason: str | None = None
    """What the server behind a proxy said, where the proxy passes it on; not kept."""
    remark: str | None = None
    """What the user should know of how this reply came about; said once, not kept."""
    usage: dict[str, Any] | None = None
    """Token counts as the provider sent them (usage.py reads them)."""
    model: str | None = None
    """The model name that the server reported."""
    fingerprint: str | None = None
    """The server's ``system_fingerprint`` or like, if any."""
    response_id: str | None = None


CONNECT_ATTEMPTS = 3
"""Failures to connect at all, with nothing ever answered, after which the address is taken to be wrong."""


STOPPED = "stopped"
"""The kind of calls that got no further attempt because everything stops."""


class AskedElsewhereError(asyncio.CancelledError):
    """Who waits for a call that another run of a study asks is cancelled; the call itself is not."""


class ConnectError(TransientError):
    """No connection came about, so nothing was asked. When that is all that ever happens, the address is wrong."""


class Endpoint(Protocol):
    """Somewhere that calls go. Implement this to add a kind (docs/endpoints.md)."""

    async def complete(self, request: Request) -> Reply:
        """Make one attempt.

        Raises:
            TransientError: Another attempt may succeed (and its children for 429 and timeouts).
            CallFailedError: This call will not be answered.
            FatalEndpointError: No call will be.
        """
        ...

    async def aclose(self) -> None:
        """Release connections. Called once."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of a call that got a reply."""

    reply: Reply
    latency_s: float
    """Time of the successful attempt, in seconds."""
    attempts: int
    """Attempts made, this one included."""
    abandoned: int = 0
    """Attempts given up after waiting (timeouts); the provider may have billed them."""
    asked_in: str | None = None
    """The run that asked it, where another run of a study did."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The outcome of a call that got none, after all retries."""

    error_kind: str
    message: str
    status: int | None
    attempts: int
    abandoned: int = 0
    failed: bool = False
    """Whether no other attempt could have helped: the request itself is at fault, or what it met."""
    asked_in: str | None = None
    """As of :class:`Answered`."""


Outcome = Answered | Unanswered

OnBroken = Callable[[TransientError], object]
"""Takes the error of an attempt whose reply was broken off; it has a ``partial``."""


class Priority:
    """Who goes first when a slot is free; lower is sooner. Judging before new proofs leaves no judging tail."""

    RETRY = 0
    META = 1
    VERIFIER = 2
    POLICY = 3
    HELD = 4
    """A call that would rather wait, for the server to have read its prompt."""


@dataclass(slots=True)
class EndpointState:
    """Live counters of one endpoint, read by the progress line."""

    in_flight: int = 0
    """Slots that are held."""
    awaiting: Counter[str] = field(default_factory=Counter)
    """Role → attempts that wait for their answer; calls that wait to be asked again are not among them."""
    backing_off: int = 0
    concurrency: int = 0
    """The present limit, after lowering and recovery."""
    answered: int = 0
    attempts: int = 0
    abandoned: int = 0
    paused_until: float = 0.0
    """Monotonic time before which the server asked to be left alone; 0 when it did not."""
    notes: list[str] = field(default_factory=list)
    """One-time remarks for the user, e.g. that the first reply had no finish reason."""


class Caller(Protocol):
    """An endpoint with its retries and limits: what sampling and judging use.

    One caller per endpoint, shared by all roles and stages that name it. Use: ``await acquire(priority)``, then
    exactly one ``await call(request)``, which always frees the slot; or ``release()`` to give it back unused.
    """

    state: EndpointState
    cache_first: bool
    """Whether the first judgment of a proof is asked alone, for the others to be read from the server's cache."""

    async def acquire(self, priority: int) -> None:
        """Wait for a free slot; waiters of a lower ``priority`` number go first, then first come first served."""
        ...

    def release(self) -> None:
        """Give an acquired slot back without calling."""
        ...

    async def call(self, request: Request, on_broken: OnBroken | None = None) -> Outcome:
        """Ask, with retries, in the slot that is held; while backing off the slot is lent to others.

        Args:
            request: The call.
            on_broken: Told at once of each attempt whose reply began and was broken off, before the next attempt.

        Raises:
            FatalEndpointError: No call will be answered; the run should stop.
        """
        ...

    def stop(self) -> None:
        """Begin no attempt any more; those in flight end as they will. May be called again.

        Who waits in :meth:`acquire`, or does so later, goes on at once, and should look whether the run is stopping
        and :meth:`release`. Calls that wait for their next attempt, or would, end as :class:`Unanswered` of kind
        ``stopped``.
        """
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
