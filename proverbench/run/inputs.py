"""The rows that a run asks about, read from its folder one at a time."""

import hashlib
import os
import weakref
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import overload

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.errors import JournalError
from proverbench.records import Manifest, Row
from proverbench.run.disk import disk
from proverbench.run.manifest import MANIFEST, read_manifest
from proverbench.run.regular import open_regular

INPUTS = "inputs.jsonl"
NEXT_INPUTS = "inputs.jsonl.next"
"""The rows of a run that is about to grow; they become INPUTS once the manifest means them."""


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Content of inputs.jsonl."""
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(row) + b"\n" for row in rows)


def finish_growth(path: Path) -> None:
    """Complete or undo what a process that died left of a growing run; the caller holds the run's lock.

    Raises:
        JournalError: If the disk refuses it.
    """
    pending = path / NEXT_INPUTS
    if not pending.exists():
        return
    with disk(pending):
        if hashlib.sha256(pending.read_bytes()).hexdigest() == read_manifest(path).inputs_sha256:
            pending.replace(path / INPUTS)
        else:
            pending.unlink()


class Inputs(Sequence[Row]):
    """The rows of a run, in data order: read from the file when they are looked at, so that they take no memory.

    Args:
        path: The run's folder.
        manifest: Says which rows they are.

    Raises:
        JournalError: If the file is missing, damaged, or not the one that the run was made with.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        # It stays open, so that these stay the rows when the run grows and another file takes its place.
        file, self._fd = _open_inputs(path, manifest)
        self._close = weakref.finalize(self, os.close, self._fd)
        kind = benchmark_of(manifest.identity.task).row
        self._decode: Callable[[bytes], Row] = msgspec.json.Decoder(kind).decode
        self._ends = array("q", [0])
        self._latest: tuple[int, Row] | None = None
        with open(self._fd, "rb", closefd=False) as stream:
            stream.seek(0)
            for number, line in enumerate(stream, start=1):
                try:
                    self._decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as exc:
                    raise JournalError(f"{file}:{number}: not an input row of this run: {exc}") from exc
                self._ends.append(self._ends[-1] + len(line))
        if len(self) != manifest.extent.rows:
            raise JournalError(f"{file} has {len(self)} rows, {MANIFEST} says {manifest.extent.rows}")

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        place = range(len(self))[place]
        if self._latest is None or self._latest[0] != place:
            start, end = self._ends[place], self._ends[place + 1]
            self._latest = (place, self._decode(os.pread(self._fd, end - start, start)))
        return self._latest[1]

    def close(self) -> None:
        """Close the file."""
        self._close()
        self._fd = -1


def _open_inputs(path: Path, manifest: Manifest) -> tuple[Path, int]:
    """inputs.jsonl, or what will be it (:func:`finish_growth`): its path, and the open file."""
    found = None
    for file in (path / INPUTS, path / NEXT_INPUTS):
        try:
            with open(file, "rb", opener=open_regular) as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
                if found == manifest.inputs_sha256:
                    return file, os.dup(stream.fileno())
        except FileNotFoundError:
            continue
        except OSError as exc:
            raise JournalError(f"cannot read {file}: {exc.strerror}") from exc
    if found is None:
        raise JournalError(f"cannot read {path / INPUTS}: there is no such file")
    raise JournalError(
        f"{path / INPUTS} is not the file that the run was made with (its SHA-256 is not the one in {MANIFEST}); "
        "put the original back"
    )
