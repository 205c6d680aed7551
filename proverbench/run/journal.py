"""calls.jsonl: append, read, resume. It knows lines and keys, not what a reply means (docs/run-format.md).

What is promised: when :meth:`Journal.append` returns, the whole line has been handed to the operating system, so
killing the process loses nothing; an fsync follows within :data:`SYNC_INTERVAL_S`, so a power cut costs at most the
answers of that time. A write that the disk refuses leaves no torn line behind, and nothing is appended any more once a
sync was refused: the system tells of a failed sync only once.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec

from proverbench.errors import JournalError
from proverbench.lines import LineBuffer
from proverbench.records import Line, LossLine
from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS, SEAL, disk, end_of_last_line, replacing, sync_folder, write_whole
from proverbench.run.regular import open_regular
from proverbench.run.seal import START, Checker, Place, SealFile, place_of, sealed

SYNC_INTERVAL_S = 1.0
_CHUNK = 1 << 20
_encode = msgspec.json.Encoder().encode


def now() -> str:
    """The present UTC time as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LineFile:
    """The one writer of a file of lines that only grows.

    Opening it cuts a torn last line off, so that the next record is never glued to it.

    Args:
        path: The file; the caller holds the :class:`RunLock` of its folder.

    Raises:
        JournalError: If the file cannot be opened for writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with disk(self.path):
            self._fd = open_regular(self.path, os.O_RDWR | os.O_CREAT)
            try:
                self._end = end_of_last_line(self._fd)
                if os.fstat(self._fd).st_size != self._end:
                    os.ftruncate(self._fd, self._end)
                sync_folder(path.parent)
            except BaseException:
                os.close(self._fd)
                raise
        self._synced = self._end
        self._sync_fault: OSError | JournalError | None = None
        self._closing = asyncio.Event()
        self._syncing: asyncio.Task[None] | None = None

    def append_raw(self, raw: bytes) -> int:
        """Append a whole line, its line end included; returns its offset.

        Raises:
            JournalError: If the disk refuses it; what was written before is whole.
        """
        offset = self._end
        with disk(self.path):
            if self._sync_fault is not None:
                raise self._sync_fault
            try:
                written = os.pwrite(self._fd, raw, offset)
                while written < len(raw):
                    written += os.pwrite(self._fd, raw[written:], offset + written)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, offset)
                raise
        self._end += len(raw)
        self._schedule_sync()
        return offset

    def _schedule_sync(self) -> None:
        if self._syncing is None or self._syncing.done():
            with contextlib.suppress(RuntimeError):  # outside a loop, close() syncs
                self._syncing = asyncio.get_running_loop().create_task(self._sync_soon())

    async def _sync_soon(self) -> None:
        while self._synced < self._end and self._sync_fault is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), SYNC_INTERVAL_S)
            if self._closing.is_set() or self._fd < 0:  # closed, by either close
                return
            end = self._end
            try:
                await asyncio.to_thread(self._sync_now, self._mark())
            except (OSError, JournalError) as exc:
                self._sync_fault = exc
            else:
                self._synced = end

    def _mark(self) -> object:
        """What :meth:`_sync_now` is to know of the present moment."""
        return None

    def _sync_now(self, mark: object) -> None:
        """Bring what is written to the disk itself; may run in a thread."""
        os.fsync(self._fd)

    async def sync(self) -> None:
        """Wait until all that was appended is on the disk itself.

        Raises:
            JournalError: If the disk refuses it.
        """
        end = self._end
        with disk(self.path):
            if self._sync_fault is not None:
                raise self._sync_fault
            try:
                await asyncio.to_thread(self._sync_now, self._mark())
            except (OSError, JournalError) as exc:
                self._sync_fault = exc
                raise
        self._synced = max(self._synced, end)

    async def aclose(self) -> None:
        """Sync and close; once a sync in progress is done.

        Raises:
            JournalError: If the disk refuses the sync.
        """
        self._closing.set()
        if self._syncing is not None:
            await asyncio.gather(self._syncing, return_exceptions=True)
        self.close()

    def close(self) -> None:
        """Sync and close; does nothing twice.

        Raises:
            JournalError: If the disk refuses the sync.
        """
        if self._fd < 0:
            return
        with disk(self.path):
            try:
                if self._sync_fault is not None:
                    raise self._sync_fault
                if self._synced < self._end:
                    self._sync_now(self._mark())
            finally:
                fd, self._fd = self._fd, -1
                os.close(fd)


class Journal(LineFile):
    """The one writer of a run's calls.jsonl; every line gets its seal (seal.py).

    After each sync seal.json says how far the file had come. A file that was moved, replaced or deleted meanwhile is
    saved elsewhere, and nothing more is written.

    Args:
        folder: The run's folder; the caller holds its :class:`RunLock`.

    Raises:
        JournalError: If the file cannot be opened for writing.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / CALLS)
        self._place: Place | None = None
        """Where the chain is; found out when it is first wanted."""

    def append(self, line: Line) -> int:
        """Append a whole line; returns its offset.

        Raises:
            JournalError: If the disk refuses it; what was written before is whole.
        """
        return self.append_sealed(*sealed(_encode(line), self._where()))

    def append_sealed(self, raw: bytes, place: Place) -> int:
        """Append a line that has its seal already; returns its offset.

        Raises:
            JournalError: If the disk refuses it.
        """
        offset = self.append_raw(raw + b"\n")
        self._place = place
        return offset

    def _where(self) -> Place:
        if self._place is None:
            with disk(self.path):
                self._place = _place_at_end(self._fd, self._end)
        return self._place

    def _mark(self) -> object:
        return self._end, self._where()

    def _sync_now(self, mark: object) -> None:
        super()._sync_now(mark)
        end, place = cast("tuple[int, Place]", mark)
        self._refuse_if_moved(end)
        with contextlib.suppress(JournalError):  # an older seal.json is true too
            write_seal(self.path.parent, place)

    def _refuse_if_moved(self, end: int) -> None:
        """Make sure that the file that is written is still the one at its path.

        Raises:
            JournalError: Otherwise; says where its content is saved.
        """
        mine = os.fstat(self._fd)
        try:
            in_place = os.path.samestat(mine, self.path.stat())
        except (FileNotFoundError, NotADirectoryError):
            in_place = False
        if mine.st_size < end:
            raise JournalError(
                f"{self.path} was cut while it was written: it has {mine.st_size:,} bytes, and {end:,} were "
                "written. Find out what shortened it; --resume asks again what is lost"
            )
        if not in_place:
            saved = self._save_elsewhere()
            raise JournalError(
                f"{self.path} was moved, replaced or deleted while it was written. All that was in it is saved in "
                f"{saved}; move it back to {self.path}, then resume"
            )

    def _save_elsewhere(self) -> Path:
        folder, stem = self.path.parent, "calls.rescued"
        if not folder.is_dir():
            folder, stem = folder.parent, f"{folder.name}.{stem}"
        number, target = 1, folder / f"{stem}.jsonl"
        while target.exists():
            number += 1
            target = folder / f"{stem}-{number}.jsonl"
        with replacing(target) as file:
            at = 0
            while chunk := os.pread(self._fd, _CHUNK, at):
                file.write(chunk)
                at += len(chunk)
        return target


def _place_at_end(fd: int, end: int) -> Place:
    """Where the chain of a file of ``end`` bytes is."""
    if end == 0:
        return START
    begin = max(0, end - _CHUNK)
    tail = os.pread(fd, end - 1 - begin, begin)
    cut = tail.rfind(b"\n")
    last = place_of(tail[cut + 1 :]) if cut >= 0 or begin == 0 else None
    if last is not None:
        return last
    checker, buffer, at = Checker(), LineBuffer(), 0
    while at < end and (chunk := os.pread(fd, min(_CHUNK, end - at), at)):
        at += len(chunk)
        for raw in buffer.feed(chunk):
            checker.feed(raw)
    return checker.place


def write_seal(folder: Path, place: Place) -> None:
    """Say in seal.json how far a calls.jsonl has come.

    Raises:
        JournalError: If the disk refuses it.
    """
    write_whole(folder / SEAL, _encode(SealFile(place.number, place.head)) + b"\n")


def accept_loss(folder: Path) -> LossLine | None:
    """Write down what a calls.jsonl has lost, so that the run can go on without it.

    Args:
        folder: The run's folder; the caller holds its :class:`RunLock`.

    Returns:
        The line that says so; None where nothing is lost.

    Raises:
        JournalError: If the disk refuses it.
    """
    journal = Journal(folder)
    try:
        with CallsReader(folder / CALLS) as reader:
            checker = reader.examine()
            faults = checker.end()
            if not faults:
                return None
            loss = LossLine(
                at=now(),
                lines=reader.lost,
                missing=sum(fault.missing for fault in faults),
                faults=[f"line {fault.line} {fault.what}" for fault in faults],
            )
        journal.append_sealed(*checker.loss_line(lambda _: _encode(loss)))
    finally:
        journal.close()
    return loss


def write_lines(folder: Path, lines: Iterable[Line]) -> None:
    """Begin a calls.jsonl with ``lines``, in one step.

    Raises:
        JournalError: If the disk refuses it.
    """
    place = START
    with replacing(folder / CALLS) as file:
        for line in lines:
            raw, place = sealed(_encode(line), place)
            file.write(raw + b"\n")
    write_seal(folder, place)
