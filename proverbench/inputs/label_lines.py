"""The lines of a labels file: VerifierBench rows that people fill in (docs/labels.md)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.inputs.jsonl import DataLine, DataLines
from proverbench.inputs.rows import read_proof
from proverbench.records import Proof


@dataclass(frozen=True)
class LabelLine:
    """A line of a labels file: VerifierBench data, perhaps not filled in, and who says so."""

    line: int
    data: dict[str, Any]
    """As it stands there."""
    row: "DataLine"

    @property
    def is_open(self) -> bool:
        """Whether the line holds no label: nothing was said yet, or it was taken back."""
        annotation = self.data.get("annotation")
        names = ("first_fatal_error_step", "recoverable_error_steps", "verdict")
        unsaid = isinstance(annotation, dict) and all(annotation.get(name) is None for name in names)
        return unsaid and self.data.get("grade") is None

    def proof(self, correct_from: float | None = None) -> tuple[Proof | None, list[str]]:
        """The proof with its label, or every fault of the line.

        Args:
            correct_from: Points from which a proof that was graded counts as correct.
        """
        found = read_proof(self.row, correct_from)
        return found, self.row.faults


def label_lines(path: Path | str) -> tuple[list[LabelLine], list[str]]:
    """The lines of a labels file (docs/labels.md), and the faults of those that are no JSON objects.

    A last line that was torn, as by a process that was killed, is passed over.

    Raises:
        DataError: If the file cannot be read.
    """
    path = Path(path)
    lines = DataLines(path)
    found = [LabelLine(row.line, row.data, row) for row in lines]
    content = path.read_bytes()
    torn = None if content.endswith(b"\n") else f"{path}:{content.count(10) + 1}:"
    return found, [fault for fault in lines.faults if torn is None or not fault.startswith(torn)]


def label_faults(data: dict[str, Any]) -> list[str]:
    """Why a label that is about to be written breaks a rule of the data; nothing for one that is open or undecided."""
    row = DataLine(Path("label"), 0, data, may_hold_surrogates=True)
    line = LabelLine(0, data, row)
    if line.is_open:
        return []
    return [fault.removeprefix("label:0: ") for fault in line.proof()[1]]
