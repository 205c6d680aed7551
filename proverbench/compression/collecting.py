"""Receipts and bundles from folders, for the ranking and the report."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from proverbench.compression.ranking import Run
from proverbench.compression.receipts import Receipt, read_receipt, receipt_problems
from proverbench.errors import DataError


def collect_runs(paths: Sequence[Path], *, trusted: set[str]) -> tuple[list[Run], list[str]]:
    """The runs that some receipts vouch for, and why others are not counted.

    Args:
        paths: Receipts, or folders that are searched for receipt-*.json.
        trusted: Public keys in hexadecimal; not empty: only receipts signed by one of them count.
    """
    runs: list[Run] = []
    problems: list[str] = []
    for path in receipt_files(paths):
        try:
            receipt = read_receipt(path)
        except DataError as exc:
            problems += str(exc).split("\n")
            continue
        found = receipt_problems(receipt)
        if not found and trusted and (receipt.signature is None or receipt.signature.public_key not in trusted):
            found = ["signature: not by a trusted key"]
        if found:
            problems += [f"{path}: {problem}" for problem in found]
        else:
            runs.append(run_of(receipt))
    return runs, problems


def receipt_files(paths: Iterable[Path]) -> list[Path]:
    """The receipts among some files and folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(path.rglob("receipt-*.json"))
        elif path.is_file():
            found.append(path)
        else:
            raise DataError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


def run_of(receipt: Receipt) -> Run:
    """What the ranking needs of a receipt."""
    parts = receipt.parts
    return Run(
        agent=parts["submission"]["agent"],
        task=parts["task"]["sha256"],
        task_name=parts["task"]["name"],
        count=parts["scores"]["count"] if receipt.valid else None,
        submission=parts["submission"]["sha256"],
        original_count=parts["scores"].get("original_count"),
        track=parts["submission"]["track"],
    )
