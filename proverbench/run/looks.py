"""How often a run was looked at: complete, then grown, then complete again (docs/metrics.md, "Looks")."""

from typing import NamedTuple

from msgspec import UNSET

from proverbench.metrics.inference import look_level
from proverbench.records import Extent, SessionLine
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
    planned: int | None = None
    grown_from: set[tuple[int, int, int]] = set()
    for line in sources.calls.facts():
        if not isinstance(line, SessionLine) or line.event != "start":
            continue
        if not grown_from:
            planned = (line.operation or {}).get("looks", planned)
        if line.grown_from is not UNSET:
            grown_from.add(size_of(line.grown_from))
    # A session that was killed between its line and the new manifest grew nothing.
    number = 1 + len(grown_from - {size_of(sources.manifest.extent)})
    if number == 1:
        planned = sources.manifest.operation.get("looks", planned)
    return Looks(number, planned)


def size_of(extent: Extent) -> tuple[int, int, int]:
    """How much data there is: more of it is a further look."""
    return extent.rows, extent.samples, extent.verifier_repeats
