"""An export by itself: is it well formed, does the kernel accept it, what do its theorems cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proverbench.compression.charges import Charge, charge
from proverbench.compression.export import Theorem
from proverbench.compression.export_reading import read_export
from proverbench.compression.export_writing import write_export
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.rules import kernel_problems
from proverbench.compression.structure import check_structure


@dataclass(frozen=True, slots=True)
class Counted:
    """What was found."""

    declarations: int
    terms: int
    kernel: str | None
    verdict: Literal["accepted", "rejected", "structure checked, not kernel-checked"]
    problems: tuple[str, ...]
    charge: Charge | None
    """None when the export is not well formed or has no theorem."""

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        items = self.charge.items if self.charge else ()
        return {
            "declarations": self.declarations,
            "terms": self.terms,
            "kernel": self.kernel,
            "verdict": self.verdict,
            "problems": list(self.problems),
            "count": self.charge.count if self.charge else None,
            "charges": {item.name: {"kind": item.kind, "nodes": item.nodes, **item.pays()} for item in items},
        }


def count_file(file: Path, targets: Sequence[str], background: Sequence[str], kernel: LeanKernel | None) -> Counted:
    """Read, check and count an export.

    Args:
        file: lean4export NDJSON.
        targets: Theorems to charge; none: every theorem.
        background: Constants whose use is free.
        kernel: Replays it; None: only its structure is checked.

    Raises:
        DataError: If it cannot be read, or a target is not there.
        StoppedError: If a limit ended it without a verdict.
    """
    export = read_export(file)
    name = kernel.name if kernel else None
    faults = check_structure(export)
    if faults:
        return Counted(len(export.declarations), len(export), name, "rejected", tuple(faults), None)
    goals = list(targets) or [export.name_text(item.name) for item in export.declarations if isinstance(item, Theorem)]
    charged = charge(export, goals, background) if goals else None
    problems: tuple[str, ...] = ()
    verdict: Literal["accepted", "rejected", "structure checked, not kernel-checked"]
    verdict = "structure checked, not kernel-checked"
    if kernel is not None:
        problems = tuple(kernel_problems(export, kernel.replay(write_export(export)).problems))
        verdict = "rejected" if problems else "accepted"
    return Counted(len(export.declarations), len(export), name, verdict, problems, charged)
