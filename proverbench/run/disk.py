"""The files of a run's folder: how they are named, replaced in one step, and what the disk says put in words."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from proverbench.errors import JournalError

CALLS = "calls.jsonl"
SEAL = "seal.json"
LOCK = ".lock"


_LONGEST_NAME = 200
"""Bytes of a name; systems take 255, and a few characters are put before or behind it."""


def fitting_name(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name of a file that disks take: of one that is too long the beginning, and a hash of the whole.

    Args:
        name: It, as it would be.
        longest: Bytes that it may have.
    """
    raw = os.fsencode(name)
    if len(raw) <= longest:
        return name
    mark = f"-{hashlib.sha256(raw).hexdigest()[:8]}"
    return raw[: longest - len(mark)].decode("utf-8", "ignore") + mark


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot sync a folder, and need not
            os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Replace a file in one step by what is written into the block's file: readers see the old content or the new.

    Raises:
        JournalError: If the disk refuses it; the old content stands.
    """
    temporary = path.with_name(f"{fitting_name(path.name)}.tmp")
    with disk(path):
        try:
            with open(temporary, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file's content in one step.

    Raises:
        JournalError: If the disk refuses it; the old content stands.
    """
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def disk(path: Path) -> Iterator[None]:
    """Turn what the system says of the disk into one sentence that names the path."""
    try:
        yield
    except OSError as exc:
        raise JournalError(
            f"cannot write {path}: {exc.strerror or exc}. What was saved before is whole; free space or "
            "restore access, then resume"
        ) from exc


def end_of_last_line(fd: int) -> int:
    """Length of the file up to and with its last ``\\n``."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - (64 << 10))
        block = os.pread(fd, end - start, start)
        cut = block.rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        end = start
    return 0
