"""One batch of the rehearsal: its items, and how far it is."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from proverbench.rehearse.profile import BatchProfile
from proverbench.rehearse.wire import Protocol

State = Literal["waiting", "succeeded", "errored", "expired", "canceled"]
Fate = Literal["fine", "missing", "errored", "duplicate"]

ENDPOINTS: Mapping[str, Protocol] = {"/v1/chat/completions": "chat", "/v1/responses": "responses"}


@dataclass
class Item:
    """One request of a batch, and what became of it."""

    custom_id: str
    body: dict[str, Any]
    fate: Fate = "fine"
    state: State = "waiting"
    result: dict[str, Any] = field(default_factory=dict)
    """The reply's body, or the error's."""
    status: int = 200


@dataclass
class Batch:
    """One batch."""

    id: str
    protocol: Protocol
    items: list[Item]
    started: float
    """On the monotonic clock."""
    created_at: float
    """On the wall clock."""
    expires_after: int | None
    """Number of items after which it expires."""
    request: dict[str, Any] = field(default_factory=dict)
    """What else it was created with: endpoint, file, metadata."""
    rejected: str | None = None
    cancelled: bool = False
    expired: bool = False
    ended_at: float | None = None
    seen: Counter[str] = field(default_factory=Counter)
    """How often each kind of lateness was met."""

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.ended_at is not None

    def is_late(self, what: str) -> bool:
        """Whether something (a count of the profile) is not there yet; each time it is asked for counts."""
        profile: BatchProfile = self.request["profile"]
        self.seen[what] += 1
        return self.seen[what] <= int(getattr(profile, what))

    def count(self, state: State) -> int:
        """How many items are in this state."""
        return sum(item.state == state for item in self.items)
