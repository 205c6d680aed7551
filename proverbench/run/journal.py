"""calls.jsonl: append, read, resume. It knows lines and keys, not what a reply means (docs/run-format.md).

What is promised: when :meth:`Journal.append` returns, the whole line has been handed to the operating system, so
killing the process loses nothing; an fsync follows within :data:`SYNC_INTERVAL_S`, so a power cut costs at most the
answers of that time. A write that the disk refuses leaves no torn line behind, and nothing is appended any more once a
sync was refused: the system tells of a failed sync only once.
"""

import asyncio
import base64
import contextlib
import errno
import fcntl
import json
import os
import re
import shlex
import socket
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import msgspec

from proverbench.errors import JournalError
from proverbench.lines import LineBuffer
from proverbench.records import CallFacts, CallKey, CallLine, Facts, FinalLine, Line, LossLine, Role, SessionLine
from proverbench.run.extent import ROLES, Plan
from proverbench.run.regular import open_regular
from proverbench.run.seal import START, Checker, Place, SealFile, is_intact, place_of, sealed

CALLS = "calls.jsonl"
SEAL = "seal.json"
LOCK = ".lock"
SYNC_INTERVAL_S = 1.0
_CHUNK = 1 << 20
_BLOCK = 1 << 18
"""So much is read at once where one call after another is wanted."""
_MAX_DEPTH = 32
_MOST_FAULTS = 20
"""So many faults of a file are named."""
_KEY = re.compile(
    rb'"role":"(\w{1,20})","id":"((?:[^"\\]|\\.){1,200})"(?:,"sample":(\d{1,9}))?(?:,"repeat":(\d{1,9}))?'
)
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
_INT_RANGE = range(-(1 << 63), 1 << 64)

_SURROGATE = re.compile("[\ud800-\udfff]")


T = TypeVar("T")
_decode_line = msgspec.json.Decoder(Line).decode
_decode_facts = msgspec.json.Decoder(Facts).decode
_encode = msgspec.json.Encoder().encode


def now() -> str:
    """The present UTC time as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def storable(text: str) -> tuple[str, str | None]:
    """``text`` without lone surrogates, and its exact form in base64 where it held one.

    pandas, DuckDB, Parquet and pydantic refuse lone surrogates even when they are escaped in JSON.
    """
    if text.isascii():  # which strings know of themselves
        return text, None
    try:
        text.encode()
    except UnicodeEncodeError:
        exact = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
        return _SURROGATE.sub("\ufffd", text), exact
    return text, None


def storable_value(value: Any, depth: int = 0) -> Any:
    """A JSON value as every reader takes it, the exact form not kept.

    Strings are made :func:`storable`; what is nested deeper than readers follow becomes null, and so does an integer
    that has no place in 64 bits.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return storable(value)[0]
    if isinstance(value, int):
        return value if value in _INT_RANGE else None
    if isinstance(value, dict):
        if depth == _MAX_DEPTH:
            return None
        return {storable(str(key))[0]: storable_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return None if depth == _MAX_DEPTH else [storable_value(item, depth + 1) for item in value]
    return value


def exact_text(line: CallLine) -> str:
    """The text of a reply exactly as it came, lone surrogates included.

    Raises:
        JournalError: If what is stored of it cannot be read.
    """
    return _exact(line, line.text, line.text_b64)


def exact_reasoning(line: CallLine) -> str | None:
    """As :func:`exact_text`, of the reasoning that came apart from the text."""
    return None if line.reasoning is None else _exact(line, line.reasoning, line.reasoning_b64)


def _exact(line: CallLine, text: str, as_base64: str | None) -> str:
    """What JSON readers refuse stands beside the text in base64."""
    if as_base64 is None:
        return text
    try:
        return base64.b64decode(as_base64, validate=True).decode("utf-8", "surrogatepass")
    except ValueError as exc:  # binascii.Error and UnicodeDecodeError are ones
        raise JournalError(
            f"{CALLS}: {line.key.text}: a text in base64 cannot be read ({exc}); it was changed"
        ) from None


def call_named_in(raw: bytes) -> str:
    """Which call a line is about, as far as it can still be read: ``(verifier/p1/0/2)``, with a blank before it."""
    match = _KEY.search(raw)
    if match is None:
        return ""
    role, item, sample, repeat = (part.decode("utf-8", "replace") if part else "0" for part in match.groups())
    return f" ({role}/{item}/{sample}/{repeat})"


def try_lock(fd: int) -> bool:
    """Lock an open file for this process, unless another has it; closing the file frees it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Ledger:
    """Where each answered call of a plan lies in calls.jsonl: eight bytes a call.

    A call is answered (an offset), closed by ``--final`` (worth nothing until asked again) or open.
    """

    _OPEN = -1
    _CLOSED = -2

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.end = 0
        """Where the first line begins that is not taken into account yet."""
        self.checker = Checker()
        """Looks at the seals of the lines that are taken into account."""
        self._offsets: dict[Role, array[int]] = {role: array("q", [self._OPEN]) * plan.size(role) for role in ROLES}

    def offset(self, role: Role, number: int) -> int | None:
        """Where the call's line begins, or None when it has no answer."""
        offset = self._offsets[role][number]
        return offset if offset >= 0 else None

    def is_open(self, role: Role, number: int) -> bool:
        """True when the call is neither answered nor closed."""
        return self._offsets[role][number] == self._OPEN

    def is_closed(self, role: Role, number: int) -> bool:
        """True when ``--final`` closed the call without an answer."""
        return self._offsets[role][number] == self._CLOSED

    def answer(self, key: CallKey | CallFacts, offset: int) -> None:
        """Note an answer; the first one of a key counts, keys outside the plan are passed over."""
        number = self.plan.number(key)
        if number is not None and self._offsets[key.role][number] < 0:
            self._offsets[key.role][number] = offset

    def close(self, key: CallKey) -> None:
        """Close a call that has no answer."""
        number = self.plan.number(key)
        if number is not None and self._offsets[key.role][number] < 0:
            self._offsets[key.role][number] = self._CLOSED

    @property
    def n_lines(self) -> int:
        """Lines taken into account."""
        return self.checker.lines

    def any_closed(self) -> bool:
        """True when ``--final`` closed a call that has no answer since."""
        return any(self._CLOSED in offsets for offsets in self._offsets.values())

    def reopen(self) -> None:
        """A new session asks again what was closed."""
        for role, offsets in self._offsets.items():
            if self._CLOSED in offsets:
                self._offsets[role] = array("q", (self._OPEN if o == self._CLOSED else o for o in offsets))

    def count(self, role: Role) -> int:
        """How many calls of a role are answered."""
        offsets = self._offsets[role]
        return len(offsets) - offsets.count(self._OPEN) - offsets.count(self._CLOSED)

    def count_closed(self, role: Role) -> int:
        """How many calls of a role are closed."""
        return self._offsets[role].count(self._CLOSED)


class CallsReader:
    """Reads lines of a calls.jsonl that may still be growing.

    Args:
        path: The file; a missing one reads as empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._block = (0, b"")
        """What :meth:`call_at` read last, and its offset."""
        self._next = -1
        """Offset behind the latest line that it read."""
        self._lost: set[int] = set()
        self._examined = 0
        """Where the first line begins that was not looked at."""
        try:
            self._fd = open_regular(path, os.O_RDONLY)
        except FileNotFoundError:
            self._fd = -1
        else:
            self._close = weakref.finalize(self, os.close, self._fd)  # of one that nobody closes, too

    def raw_lines(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every whole line with its offset, without its ``\\n``; a torn last line is left out."""
        if self._fd < 0:
            return
        offset = at = start
        buffer = LineBuffer()
        while chunk := os.pread(self._fd, _CHUNK, at):
            at += len(chunk)
            for line in buffer.feed(chunk):
                yield offset, line
                offset += len(line) + 1

    def lines(self, start: int = 0, *, lines_before: int = 0) -> Iterator[tuple[int, Line]]:
        """Every whole line, decoded, with its offset.

        Args:
            start: Offset of the first line wanted.
            lines_before: How many lines stand before it, for messages.

        Raises:
            JournalError: If a line is no such line; names its number.
        """
        for number, (offset, raw) in enumerate(self.raw_lines(start), start=lines_before + 1):
            line = self._decoded(number, raw, _decode_line)
            if line is not None:
                yield offset, line

    def facts(self) -> Iterator[Facts]:
        """Every whole line without the texts of calls, several times quicker than :meth:`lines`.

        Raises:
            JournalError: If a line is no such line; names its number.
        """
        for number, (_, raw) in enumerate(self.raw_lines(), start=1):
            line = self._decoded(number, raw, _decode_facts)
            if line is not None:
                yield line

    def _decoded(self, number: int, raw: bytes, decode: Callable[[bytes], T]) -> T | None:
        """A line, or None where its loss was accepted."""
        if number in self._lost:
            return None
        try:
            if is_intact(raw):
                return decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        self._examine(Checker(self.kept()), 0, lambda offset, raw: decode(raw))  # raises, unless it was accepted
        return None

    def call_at(self, offset: int) -> CallLine:
        """The call line that begins at ``offset``."""
        try:
            line = _decode_line(self._line_at(offset))
        except (msgspec.DecodeError, UnicodeDecodeError):
            line = None
        if not isinstance(line, CallLine):
            raise JournalError(f"{self.path}: no call at byte {offset}; the file was changed meanwhile")
        return line

    def _line_at(self, offset: int) -> bytes:
        """The line that begins at ``offset``; calls that stand one behind the other are read many at a time."""
        start, block = self._block
        at = offset - start
        if 0 <= at < len(block) and (end := block.find(b"\n", at)) >= 0:
            self._next = start + end + 1
            return block[at:end]
        size = _BLOCK if offset == self._next else 16 << 10
        while True:
            raw = os.pread(self._fd, size, offset)
            end = raw.find(b"\n")
            if end >= 0:
                self._block, self._next = (offset, raw), offset + end + 1
                return raw[:end]
            if len(raw) < size:
                raise JournalError(f"{self.path}: no whole line at byte {offset}; the file was changed meanwhile")
            size *= 4

    def ledger(self, plan: Plan, observe: Callable[[Line], object] | None = None) -> Ledger:
        """The state of every call of ``plan``.

        Args:
            plan: The calls of the run.
            observe: Sees every line, so that nobody need read them again.

        Raises:
            JournalError: If a line is damaged; names its number.
        """
        ledger = Ledger(plan)
        self.update(ledger, observe)
        return ledger

    def update(self, ledger: Ledger, observe: Callable[[Line], object] | None = None) -> None:
        """Take into account the lines that came since ``ledger`` was made or updated.

        Args:
            ledger: Made of this file.
            observe: Sees each of these lines.

        Raises:
            JournalError: If a line is damaged; names its number.
        """
        checker = ledger.checker
        checker.expect(self.kept())
        try:
            self._examine(checker, ledger.end, lambda offset, raw: _take_in(ledger, offset, raw, observe))
        finally:
            ledger.end = self._examined

    def examine(self) -> Checker:
        """Look at every line, without raising what is found.

        Returns:
            A checker that has seen them; lines that are no lines of a run's calls are among its faults.
        """
        checker = Checker(self.kept())
        with contextlib.suppress(JournalError):
            self._examine(checker, 0, lambda offset, raw: _decode_line(raw))
        return checker

    @property
    def lost(self) -> list[int]:
        """Lines that cannot be used, from 1, as far as they were looked at."""
        return sorted(self._lost)

    def _examine(self, checker: Checker, start: int, take_in: Callable[[int, bytes], object]) -> None:
        """Look at lines, and take in those that can be used.

        Raises:
            JournalError: If something is wrong that nobody has accepted; names every line.
        """
        known = len(checker.faults)
        named: dict[int, str] = {}
        self._examined = start
        for offset, raw in self.raw_lines(start):
            usable = checker.feed(raw)
            if usable:
                try:
                    take_in(offset, raw)
                except ValueError as exc:  # so are msgspec's and Unicode's
                    checker.refuse(f"is not a line of a run's calls ({exc})")
                    usable = False
            if not usable:
                self._lost.add(checker.lines)
            if len(checker.faults) > known:
                known = len(checker.faults)
                named[checker.lines] = call_named_in(raw)
            self._examined = offset + len(raw) + 1
        faults = checker.end()
        if faults and not checker.lines:
            raise self._damaged([f"it is missing or empty; {SEAL} counts {faults[0].missing} lines"])
        if faults:
            raise self._damaged(
                [f"{self.path}:{fault.line}{named.get(fault.line, '')} {fault.what}" for fault in faults]
            )

    def kept(self) -> SealFile | None:
        """What seal.json says; None where there is none.

        Raises:
            JournalError: If it cannot be read.
        """
        file = self.path.with_name(SEAL)
        try:
            return msgspec.json.decode(file.read_bytes(), type=SealFile)
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise JournalError(f"cannot read {file}: {exc.strerror}") from exc
        except msgspec.DecodeError as exc:
            raise JournalError(
                f"{file}: is damaged ({exc}); put it back, or remove it to go by the lines alone"
            ) from exc

    def _damaged(self, faults: Sequence[str]) -> JournalError:
        shown = [*faults[:_MOST_FAULTS], *([f"and {len(faults) - _MOST_FAULTS} more"] * (len(faults) > _MOST_FAULTS))]
        return JournalError(
            "\n".join(
                [
                    f"{self.path} is not what was written:",
                    *(f"  {fault}" for fault in shown),
                    "Put a whole copy of it back. Or go on with what is left: "
                    f"proverbench score {shlex.quote(str(self.path.parent))} --accept-loss writes down what is lost, "
                    "and --resume can then ask those calls again",
                ]
            )
        )

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            self._close()
            self._fd = -1

    def __enter__(self) -> "CallsReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _take_in(ledger: Ledger, offset: int, raw: bytes, observe: Callable[[Line], object] | None) -> None:
    line = _decode_line(raw)
    if observe is not None:
        observe(line)
    if isinstance(line, CallLine):
        ledger.answer(line, offset)
    elif isinstance(line, SessionLine) and line.event == "start":
        ledger.reopen()
    elif isinstance(line, FinalLine):
        for key in [CallKey.parse(text) for text in line.keys]:
            ledger.close(key)


class RunLock:
    """Only one process writes a run. The system frees the lock when its owner dies.

    Where the file system knows no locks (some cluster file systems), the file itself is the lock, and its owner is
    taken for dead when no such process runs on this host.

    Args:
        folder: The run's folder.

    Raises:
        JournalError: If another process holds it; names host and process.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        while True:
            with disk(self.path):
                self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                try:
                    self._refuse_unless_free(folder)
                    if self._is_current():
                        break
                except BaseException:
                    os.close(self._fd)
                    raise
                os.close(self._fd)  # the owner removed the file between our open and our lock
        owner_line = json.dumps({"host": socket.gethostname(), "pid": os.getpid()}) + "\n"
        try:
            with disk(self.path):
                os.ftruncate(self._fd, 0)
                os.pwrite(self._fd, owner_line.encode(), 0)
        except BaseException:
            os.close(self._fd)  # which frees the lock
            raise

    def _refuse_unless_free(self, folder: Path) -> None:
        try:
            if try_lock(self._fd):
                return
        except OSError as exc:
            if exc.errno not in _NO_LOCKS:
                raise
            owner = _owner(self._fd)
            if owner is None or owner.is_dead():
                return
        raise JournalError(
            f"{folder} is being written by {_owner(self._fd) or 'another process'}; "
            "wait for it, or stop it, and resume then"
        )

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except FileNotFoundError:
            return False

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Remove the lock file and give the lock back."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._fd)


class _Owner(NamedTuple):
    """Who wrote a lock file."""

    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    def is_dead(self) -> bool:
        if self.host != socket.gethostname():
            return False  # nobody here can tell
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False


def _owner(fd: int) -> _Owner | None:
    try:
        owner = json.loads(os.pread(fd, 1000, 0))
        return _Owner(str(owner["host"]), int(owner["pid"]))
    except (ValueError, KeyError, TypeError):
        return None


def writer(folder: Path) -> str | None:
    """Who is writing the run at this moment, in words; None when nobody is."""
    try:
        fd = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        owner = _owner(fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return str(owner or "another process")
        except OSError:
            return None if owner is None or owner.is_dead() else str(owner)
        return None
    finally:
        os.close(fd)


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
            if self._closing.is_set():
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
    temporary = path.with_name(f"{path.name}.tmp")
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
