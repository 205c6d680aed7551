"""The file that `proverbench label` writes: every label is on disk before it is confirmed."""

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proverbench.errors import DataError, JournalError, UserInputError
from proverbench.inputs.label_lines import label_faults, label_lines
from proverbench.people.sheet import OPEN, OPEN_GRADED
from proverbench.run.disk import disk, end_of_last_line, sync_folder
from proverbench.run.texts import storable


class StaleError(Exception):
    """The proof was labelled elsewhere since; ``state`` is what counts now."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        super().__init__("this proof was labelled in another window")
        self.state = dict(state)


class LabelBook:
    """An annotator's labels of one draw.

    Args:
        path: The file; a new one begins with the draw's rows.
        rows: The drawn rows (:func:`proverbench.people.sheet.rows`), for a new file.
        annotator: Whose labels are appended.

    Raises:
        JournalError: If the disk refuses it.
        DataError: If the file is there and is no labels file.
        UserInputError: If it has labels of another run, or another process has it open.
    """

    def __init__(self, path: Path, rows: Sequence[Mapping[str, Any]], annotator: str) -> None:
        self.path, self.annotator = path, annotator
        self._lock = threading.Lock()
        with disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._claim()
            self._begin(rows)
        except BaseException:
            os.close(self._fd)
            raise

    def _claim(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserInputError(f"{self.path}: another process is labelling in this file; use its page") from None

    def _begin(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Cut a torn last line off, read what is there, and write the draw into a new file."""
        with disk(self.path):
            self._end = end_of_last_line(self._fd)
            os.ftruncate(self._fd, self._end)
        self.rows: dict[str, dict[str, Any]] = {}
        self._state: dict[str, dict[str, Any]] = {}
        if self._end:
            self._read()
            run_id = rows[0]["run_id"] if rows else None
            if run_id is not None and {row.get("run_id") for row in self.rows.values()} != {run_id}:
                raise UserInputError(f"{self.path}: holds labels of another run; give another -o, or that run")
        else:
            self._append("".join(_line({**row, "annotator": self.annotator}) for row in rows))
            sync_folder(self.path.parent)
            self.rows = {row["proof_id"]: dict(row) for row in rows}
        for key in self.rows:
            self._state.setdefault(key, _state_of({}, 0))

    def _read(self) -> None:
        lines, faults = label_lines(self.path)
        if faults:
            raise DataError.of(faults)
        for line in lines:
            key = line.data.get("proof_id")
            if not isinstance(key, str) or not isinstance(line.data.get("steps"), list):
                raise DataError(f"{self.path}:{line.line}: not a line of a labels file; give another -o")
            self.rows.setdefault(key, line.data)
            if line.data.get("annotator") == self.annotator:
                version = self._state.get(key, {"version": -1})["version"] + 1
                self._state[key] = _state_of(line.data, version)

    def state(self, key: str) -> dict[str, Any]:
        """What counts of a proof now: ``annotation``, ``grade``, ``undecided``, ``labelled``, ``version``.

        Raises:
            KeyError: If the proof was not drawn.
        """
        return self._state[key]

    def states(self) -> dict[str, dict[str, Any]]:
        """Of every drawn proof, in the order of the draw."""
        return {key: self._state[key] for key in self.rows}

    def add(self, key: str, said: Mapping[str, Any], *, version: int, seconds: float | None = None) -> dict[str, Any]:
        """Append a label, an "I cannot say", or what takes one back.

        Args:
            key: The proof.
            said: ``annotation`` (its error steps null takes a label back) and ``undecided``; where people grade,
                ``grade`` (null takes it back), and of the annotation the texts alone.
            version: Of the state that the annotator saw.
            seconds: Spent on the proof.

        Returns:
            The new state.

        Raises:
            KeyError: If the proof was not drawn.
            StaleError: If another window has labelled it since.
            DataError: If the label breaks a rule of the data.
            JournalError: If the disk refuses it; what was there is whole.
        """
        with self._lock:
            now = self._state[key]
            if version != now["version"]:
                raise StaleError(now)
            row = {**self.rows[key], "annotator": self.annotator}
            empty = OPEN_GRADED if "max_grade" in row else OPEN
            row["annotation"] = _annotation(said.get("annotation"), empty)
            if "max_grade" in row:
                row["grade"] = said.get("grade")
            row.pop("undecided", None)
            if said.get("undecided") is True:
                row |= {"annotation": {**empty, "reviewer_comment": row["annotation"]["reviewer_comment"]}}
                row |= {"grade": None} if "max_grade" in row else {}
                row["undecided"] = True
            if seconds is not None:
                row["seconds"] = round(seconds, 1)
            if faults := label_faults(row):
                raise DataError.of(faults)
            self._append(_line(row))
            self._state[key] = _state_of(row, now["version"] + 1)
            return self._state[key]

    def _append(self, text: str) -> None:
        data = text.encode()
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], self._end + written)
            os.fsync(self._fd)
        except OSError as exc:
            with contextlib.suppress(OSError):  # the torn line is then cut off when the file is next opened
                os.ftruncate(self._fd, self._end)
            raise JournalError(f"cannot write {self.path}: {exc.strerror or exc}; what was saved is whole") from exc
        self._end += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _state_of(data: Mapping[str, Any], version: int) -> dict[str, Any]:
    annotation = data.get("annotation") or dict(OPEN)
    undecided = data.get("undecided") is True
    grade = data.get("grade")
    labelled = not undecided and (annotation.get("recoverable_error_steps") is not None or grade is not None)
    said = {"annotation": annotation, "undecided": undecided, "labelled": labelled, "version": version}
    return said if grade is None else {**said, "grade": grade}


def _annotation(said: Any, empty: Mapping[str, Any]) -> dict[str, Any]:
    """The annotation that a page sends, with all its fields; whether they obey the rules is another question."""
    if not isinstance(said, dict):
        raise DataError(f"annotation: found {said!r}; wanted an object")
    known = {name: said.get(name, unsaid) for name, unsaid in empty.items()}
    return {name: storable(value)[0] if isinstance(value, str) else value for name, value in known.items()}
