"""How far a session is, for whoever shows it."""

from dataclasses import dataclass, field

from proverbench.records import Role


@dataclass(slots=True)
class StageCount:
    """Progress of one role, for the display."""

    wanted: int
    """Calls that the role may need in all; fewer when generations turn out invalid."""
    answered: int
    """Answered calls, of earlier sessions too."""
    got: int = 0
    """Calls answered in this session."""
    valid: int = 0
    """Valid replies of this session."""
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Of the unanswered calls of this session: error word → how many, and the first one's message."""
    batches: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Batches that are waited for, by our id: their calls, and how many the provider says it is done with."""

    def fail(self, error: str, message: str, calls: int = 1) -> None:
        """Count calls that got no answer."""
        before, first = self.failures.get(error, (0, message))
        self.failures[error] = (before + calls, first)

    @property
    def unanswered(self) -> int:
        """Calls of this session that got no answer."""
        return sum(calls for calls, _ in self.failures.values())

    @property
    def in_batches(self) -> int:
        """Calls in batches that are waited for."""
        return sum(size for size, _ in self.batches.values())


@dataclass(slots=True)
class Progress:
    """What the display reads while a run goes."""

    stages: dict[Role, StageCount] = field(default_factory=dict)
