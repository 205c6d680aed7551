"""Other steps for the proofs of a data file, whose labels must not depend on them."""

from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.inputs.data import load_proofs
from proverbench.inputs.imported import Imported
from proverbench.inputs.splitting import SPLITS, Split, Unsplittable, split_proof
from proverbench.inputs.tables import TableRow, read_rows


def resplit(path: Path, split: Split) -> Imported:
    """The rows of a data file with their proofs cut anew.

    Raises:
        DataError: Lists the faults of the file, or every row whose label names a step or whose proof cannot be cut so.
    """
    load_proofs(path)
    rows, faults = [], []
    for row in read_rows(path, "jsonl"):
        try:
            rows.append(_cut(row, split))
        except Unsplittable as exc:
            faults.append(f"{row.where}: {exc}")
    if faults:
        raise DataError.of(faults)
    before = sum(len(row.data["steps"]) for row in read_rows(path, "jsonl"))
    after = sum(len(row["steps"]) for row in rows)
    return Imported(rows, [SPLITS[split], f"{before} steps before, {after} now."])


def _cut(row: TableRow, split: Split) -> dict[str, Any]:
    data = dict(row.data)
    label = data.get("annotation", data)
    if label.get("first_fatal_error_step") is not None or label.get("recoverable_error_steps") not in (None, [-1]):
        correct = label.get("first_fatal_error_step") == -1 and label.get("recoverable_error_steps") in (None, [-1])
        if not correct:
            raise Unsplittable("its label names a step, which would be another one then")
    text = "\n\n".join(data["steps"])
    try:
        return data | {"steps": split_proof(text, split)}
    except Unsplittable as exc:
        raise Unsplittable(f"field steps: wanted {exc}") from exc
