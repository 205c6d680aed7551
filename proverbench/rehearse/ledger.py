"""What the server has seen: requests, how many at once, which questions were answered and how often."""

import hashlib
import select
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, slots=True)
class Slot:
    """One request that is being served."""

    names: tuple[str, ...]
    """What it counts for: ``all``, its path, its role."""
    fileno: int
    """The connection's file descriptor."""


@dataclass
class Ledger:
    """Counts since the start or the last reset."""

    requests: Counter[str] = field(default_factory=Counter)
    """Requests by path."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Responses by status, and those that had none by their ending."""
    in_flight: Counter[str] = field(default_factory=Counter)
    """Requests being served now, by ``all``, path and role."""
    max_in_flight: Counter[str] = field(default_factory=Counter)
    """The most there ever were at once."""
    arrivals: Counter[str] = field(default_factory=Counter)
    """Ask (prompt and seed) → requests."""
    answers: Counter[str] = field(default_factory=Counter)
    """Ask (prompt and seed) → replies given in full."""
    prompt_answers: Counter[str] = field(default_factory=Counter)
    """Prompt → replies given in full."""
    answered_roles: Counter[str] = field(default_factory=Counter)
    """Role → replies given in full."""
    keys: Counter[str] = field(default_factory=Counter)
    """API key → requests; the empty string where there was none."""
    abandoned: int = 0
    """Requests whose client left before the response was complete."""
    _serving: set[Slot] = field(default_factory=set)

    @contextmanager
    def serving(self, *names: str, fileno: int) -> Iterator[Slot]:
        """Count a request as in flight until :meth:`done`, or the end of the block."""
        slot = Slot(("all", *names), fileno)
        self._serving.add(slot)
        for name in slot.names:
            self.in_flight[name] += 1
        self._note_maximum(slot)
        try:
            yield slot
        finally:
            self.done(slot)

    def done(self, slot: Slot) -> None:
        """The response is about to be complete: from here on the client may ask again. Does nothing twice."""
        if slot in self._serving:
            self._serving.remove(slot)
            for name in slot.names:
                self.in_flight[name] -= 1

    def answered(self, ask: str, prompt: str, role: str) -> None:
        """A reply was given in full."""
        self.answers[ask] += 1
        self.prompt_answers[prompt] += 1
        self.answered_roles[role] += 1

    def _note_maximum(self, slot: Slot) -> None:
        if all(self.in_flight[name] <= self.max_in_flight[name] for name in slot.names):
            return
        # A client that gave up on a request may ask the next one before its farewell to the first has been read
        # here; so before a new maximum is believed, look which connections are closed on the other side.
        left = _closed_by_client(other.fileno for other in self._serving)
        for other in [other for other in self._serving if other is not slot and other.fileno in left]:
            self.done(other)
        for name in slot.names:
            self.max_in_flight[name] = max(self.max_in_flight[name], self.in_flight[name])

    def as_json(self) -> dict[str, Any]:
        """The counts for people and scripts; keys are shown by their hash alone."""
        return {
            "requests": sum(self.requests.values()),
            "requests_by_path": dict(self.requests),
            "responses": dict(self.statuses),
            "in_flight": {name: n for name, n in self.in_flight.items() if n},
            "max_in_flight": dict(self.max_in_flight),
            "abandoned": self.abandoned,
            "answered": sum(self.answers.values()),
            "answered_by_role": dict(self.answered_roles),
            "distinct_asks_answered": len(self.answers),
            "asks_answered_more_than_once": sum(n > 1 for n in self.answers.values()),
            "distinct_prompts_answered": len(self.prompt_answers),
            "prompts_by_times_answered": {str(n): k for n, k in sorted(Counter(self.prompt_answers.values()).items())},
            "keys": {_fingerprint(key): n for key, n in self.keys.items()},
        }


def _closed_by_client(filenos: Iterable[int]) -> set[int]:
    poll = select.poll()
    for fileno in filenos:
        if fileno >= 0:
            poll.register(fileno, getattr(select, "POLLRDHUP", select.POLLHUP))
    return {fileno for fileno, _ in poll.poll(0)}


def _fingerprint(key: str) -> str:
    return "none" if not key else "sha256:" + hashlib.sha256(key.encode()).hexdigest()[:12]
