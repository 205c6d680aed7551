"""How often a run was looked at: complete, then grown, then complete again (docs/metrics.md, "Looks")."""

from typing import NamedTuple

from msgspec import UNSET

from proverbench.metrics.inference import look_level
from proverbench.records import SessionLine
from proverbench.run.sources import Sources


class Looks(NamedTuple):
    """Looks at one run."""

    number: int
    """k: 1 for a run that was never grown after it was complete."""
    planned: int | None
    """K, if ``--looks K`` was said before the second look."""

    @property
    def level(self) -> float:
        """Below which a difference counts as shown."""
        return look_level(self.number, self.planned)

    def __str__(self) -> str:
        if self.planned is not None and self.number <= self.planned:
            return f"look {self.number} of {self.planned}"
        return f"look {self.number}"


def looks_of(sources: Sources) -> Looks:
    """Count the looks at a run from what its sessions wrote."""
    number = 1
    planned: int | None = None
    for line in sources.calls.facts():
        if not isinstance(line, SessionLine) or line.event != "start":
            continue
        if number == 1:
            planned = (line.operation or {}).get("looks", planned)
        number += line.grown_from is not UNSET
    if number == 1:
        planned = sources.manifest.operation.get("looks", planned)
    return Looks(number, planned)
