"""The automatic sharing pass on a version of a task, in the stage that judges."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.compression.checking import check_sources
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.tasks import Task
from proverbench.errors import DataError


@dataclass(frozen=True, slots=True)
class SharedCount:
    """What one way of sharing comes to."""

    count: int
    lets: int
    """How many subterms were bound."""


@dataclass(frozen=True, slots=True)
class SharedTask:
    """The pass on one version of a task, both ways."""

    before: int
    """Nodes without it."""
    everything: SharedCount
    """All repeated subterms of more than one node bound."""
    paying: SharedCount
    """Only those that make the whole smaller."""
    problems: tuple[str, ...]
    """What the kernel does not accept; empty unless the pass is wrong."""
    terms: bytes
    """The shorter version's kernel terms, lean4export NDJSON."""

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "count": self.before,
            "shared": {"count": self.everything.count, "lets": self.everything.lets},
            "shared_where_it_pays": {"count": self.paying.count, "lets": self.paying.lets},
            "kernel_problems": list(self.problems),
        }


def share_task(
    task: Task, sources: Mapping[str, bytes], kernel: LeanKernel, *, build_folder: Path | None = None
) -> SharedTask:
    """Run the pass on some version of a task.

    Raises:
        DataError: If the version is not valid.
        StoppedError: If a limit ended it, or there is no isolation.
    """
    check = check_sources(task, sources, kernel, build_folder=build_folder)
    if check.verdict != "valid":
        raise DataError.of(check.problems)
    question = {"op": "share", "provided": sorted(check.provided)}
    answer, terms = kernel.judge(question, [task.toml, check.terms])
    everything, paying = (SharedCount(found["count"], found["lets"]) for found in answer["both"])
    return SharedTask(answer["before"], everything, paying, tuple(answer["problems"]), terms)
