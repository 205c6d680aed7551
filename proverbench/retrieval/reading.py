"""Data files of other people: bytes, lines, fields; every fault noted with its place and all raised together."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proverbench.errors import DataError

MAX_FAULTS = 50
"""How many faults a message lists; the rest is counted."""


class Faults:
    """All faults of one file, raised together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []

    def add(self, line: int | None, message: str) -> None:
        """Note a fault at ``line`` (1-based), or of the file as a whole."""
        self._lines.append(f"{self._path}{'' if line is None else f':{line}'}: {message}")

    def raise_if_any(self) -> None:
        """Raise what was noted.

        Raises:
            DataError: With a line for each fault.
        """
        if self._lines:
            rest = len(self._lines) - MAX_FAULTS
            raise DataError.of(self._lines[:MAX_FAULTS] + ([f"... and {rest} more"] if rest > 0 else []))


def read_bytes(path: Path) -> bytes:
    """Read a data file whole.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror or exc}") from exc


def parse_jsonl(data: bytes, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield (line number, object) for every line, split at ``\n`` only; BOM, CRLF and blank lines are accepted."""
    lines = data.removeprefix(b"\xef\xbb\xbf")
    if lines.lstrip().startswith(b"["):
        faults.add(None, "is a JSON list; wanted JSONL, an object a line")
        return
    for number, line in enumerate(lines.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as exc:
            faults.add(number, f"is not UTF-8 at byte {exc.start}")
        except (json.JSONDecodeError, RecursionError) as exc:
            faults.add(number, f"is not JSON: {exc}")
        else:
            if isinstance(row, dict):
                yield number, row
            else:
                faults.add(number, f"a row must be an object, found {type(row).__name__}")


def text_field(row: dict[str, Any], field: str, line: int | None, faults: Faults, *, required: bool = False) -> str:
    """Return a string field; absent and null are empty unless ``required``. Notes what is wrong."""
    value = row.get(field)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        faults.add(line, f"{field} must be a string, found {value!r}")
        return ""
    if required and not value.strip():
        faults.add(line, f"{field} must not be empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        faults.add(line, f"{field} holds a lone surrogate, which no model and no file can take: {value[:60]!r}")
        return ""
    return value
