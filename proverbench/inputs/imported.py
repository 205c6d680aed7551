"""What an import made of other people's files, and how it becomes a data file."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from proverbench.errors import DataError
from proverbench.inputs.data import load_problems, load_proofs
from proverbench.inputs.rows import derive_problem_id, derive_proof_id
from proverbench.run.disk import fitting_name

FIRST_ERROR_IS_FATAL = (
    "The first wrong step of each proof is recorded as its fatal error, with recoverable_error_steps [-1]: "
    "the source does not grade severity."
)
UNLOCATED = (
    "The source judges proofs as a whole, so no error has a place: these rows count for right, wrong and grades, and "
    "never for localisation (first_error_step_accuracy)."
)


@dataclass
class Imported:
    """What an importer made of files."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """Of problems, or of proofs, as a data file holds them."""
    notes: list[str] = field(default_factory=list)
    """What was decided on the way, for people to read."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why rows were left out → how many."""

    @property
    def are_proofs(self) -> bool:
        """Whether the rows are proofs."""
        return bool(self.rows) and "steps" in self.rows[0]

    def keep_agreed(self) -> None:
        """Leave out proofs whose graders differ."""
        agreed = [row for row in self.rows if len({given["grade"] for given in row.get("grades", ())}) <= 1]
        if len(agreed) < len(self.rows):
            self.left_out["have graders who differ"] += len(self.rows) - len(agreed)
        self.rows = agreed


def with_ids(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the ids that a reader would derive where it has none."""
    ids = {"problem_id": row.get("problem_id") or derive_problem_id(row["problem"])}
    if "steps" in row:
        ids["proof_id"] = row.get("proof_id") or derive_proof_id(ids["problem_id"], row["steps"])
    return ids | {name: value for name, value in row.items() if name not in ids}


def write_rows(imported: Imported, output: Path) -> None:
    """Write the rows as JSONL and prove that they keep every rule; on a fault nothing is left behind.

    Raises:
        DataError: If ``output`` exists, or the rows break a rule of data files (such as an id said twice).
    """
    if output.exists():
        raise DataError(f"{output}: exists already; give another --output, or delete it")
    if not imported.rows:
        left = "".join(f"; {n} {why}" for why, n in imported.left_out.items())
        raise DataError(f"no row could be imported; nothing was written{left}")
    part = output.with_name(f"{fitting_name(output.name)}.part")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            for row in imported.rows:
                file.write(msgspec.json.encode(row) + b"\n")
        (load_proofs if imported.are_proofs else load_problems)(part)
        part.replace(output)
    except DataError as exc:
        raise DataError(f"the imported rows would not be valid:\n{exc}".replace(str(part), str(output))) from exc
    except OSError as exc:
        raise DataError(f"{output}: cannot be written: {exc.strerror}") from exc
    finally:
        part.unlink(missing_ok=True)
