"""How often a run was looked at: complete, then grown, then complete again (docs/metrics.md, "Looks")."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from proverbench.metrics.inference import look_level
from proverbench.records import Extent, Manifest, SessionLine
from proverbench.run.sources import Sources


class Looks(NamedTuple):
    """Looks at one run."""

    number: int
    """k: 1 for a run that was never grown after it was complete."""
    planned: int | None
    """K, if ``--looks K`` was said before the second look."""

    @property
    def single(self) -> bool:
        """Whether nothing needs to be said: the first look, and no others were announced."""
        return self.number == 1 and self.planned is None

    @property
    def remark(self) -> str | None:
        """What stands beside a score and its interval, which no look changes."""
        if self.number == 1:
            return None
        return f"{self}: grown after it was complete; its 95 % intervals are those of a single look"

    @property
    def level(self) -> float:
        """Below which a difference counts as shown."""
        return look_level(self.number, self.planned)

    def __str__(self) -> str:
        if self.planned is not None and self.number <= self.planned:
            return f"look {self.number} of {self.planned}"
        return f"look {self.number}"


class LookCounter:
    """Counts looks from the lines of calls.jsonl, in order."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._planned: int | None = None
        self._grown_from: set[tuple[int, int, int]] = set()

    def see(self, line: SessionLine) -> None:
        """Take in what a session wrote."""
        if line.event != "start":
            return
        if not self._grown_from:
            self._planned = (line.operation or {}).get("looks", self._planned)
        if line.grown_from is not UNSET:
            self._grown_from.add(size_of(line.grown_from))

    def looks(self) -> Looks:
        """What they come to."""
        # A session that was killed between its line and the new manifest grew nothing.
        number = 1 + len(self._grown_from - {size_of(self._manifest.extent)})
        planned = self._manifest.operation.get("looks", self._planned) if number == 1 else self._planned
        return Looks(number, planned)


def looks_of(sources: Sources) -> Looks:
    """Count the looks at a run from what its sessions wrote."""
    counter = LookCounter(sources.manifest)
    for line in sources.calls.facts():
        if isinstance(line, SessionLine):
            counter.see(line)
    return counter.looks()


def looked_at(looks: Mapping[str, Looks]) -> list[str]:
    """What verdicts on these runs carry, in a sentence; none where each is at its first and only look."""
    grown = ", ".join(f"{name} is at {look}" for name, look in looks.items() if not look.single)
    if not grown:
        return []
    level = min(look.level for look in looks.values())
    return [
        f"{grown}: growing a complete run is a further look. A difference is shown below {level:.4f}, so that all "
        "looks together are wrong in 7.5 % of cases at most (5 % if their number was said beforehand)"
    ]


def looks_in(timing: Mapping[str, Any]) -> Looks:
    """The looks that a timing.json tells of; one where it says nothing."""
    return Looks(**timing.get("looks", {"number": 1, "planned": None}))


def size_of(extent: Extent) -> tuple[int, int, int]:
    """How much data there is: more of it is a further look."""
    return extent.rows, extent.samples, extent.verifier_repeats
