"""calls.jsonl read: which calls are answered, line by line or by offset, every line held against its seal."""

import contextlib
import os
import re
import shlex
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from proverbench.errors import JournalError
from proverbench.lines import LineBuffer
from proverbench.records import CallFacts, CallKey, CallLine, Facts, FinalLine, Line, LossLine, Role, SessionLine
from proverbench.run.disk import SEAL
from proverbench.run.extent import ROLES, Plan
from proverbench.run.regular import open_regular
from proverbench.run.seal import Checker, SealFile, is_intact

_CHUNK = 1 << 20
_BLOCK = 1 << 18
"""So much is read at once where one call after another is wanted."""
_MOST_FAULTS = 20
"""So many faults of a file are named."""
_MOST_CALLS = 12
"""So many of the calls that have no answer are named."""
_KEY = re.compile(
    rb'"role":"(\w{1,20})","id":"((?:[^"\\]|\\.){1,200})"(?:,"sample":(\d{1,9}))?(?:,"repeat":(\d{1,9}))?'
)
T = TypeVar("T")
_decode_line = msgspec.json.Decoder(Line).decode
_decode_facts = msgspec.json.Decoder(Facts).decode


def call_named_in(raw: bytes) -> str:
    """Which call a line is about, as far as it can still be read: ``(verifier/p1/0/2)``, with a blank before it."""
    match = _KEY.search(raw)
    if match is None:
        return ""
    role, item, sample, repeat = (part.decode("utf-8", "replace") if part else "0" for part in match.groups())
    return f" ({role}/{item}/{sample}/{repeat})"


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
        self.losses: list[LossLine] = []
        """What is lost and was accepted."""
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

    def open_calls(self) -> Iterator[CallKey]:
        """The calls that are neither answered nor closed."""
        for role, offsets in self._offsets.items():
            yield from (self.plan.key(role, number) for number, at in enumerate(offsets) if at == self._OPEN)

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
        self._unusable: set[int] = set()
        """Lines that cannot be used, from 1, as far as they were looked at."""
        self._lost: frozenset[int] = frozenset()
        """Of these, those whose loss somebody accepted."""
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
            self._examine(
                checker,
                ledger.end,
                lambda offset, raw: _take_in(ledger, offset, raw, observe),
                lambda: [key.text for key in ledger.open_calls()],
            )
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
        return sorted(self._unusable)

    def _examine(
        self,
        checker: Checker,
        start: int,
        take_in: Callable[[int, bytes], object],
        unanswered: Callable[[], Sequence[str]] = tuple,
    ) -> None:
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
                self._unusable.add(checker.lines)
            if len(checker.faults) > known:
                known = len(checker.faults)
                named[checker.lines] = call_named_in(raw)
            self._examined = offset + len(raw) + 1
        faults = checker.end()
        if faults and not checker.lines:
            raise self._damaged([f"it is missing or empty; {SEAL} counts {faults[0].missing} lines"], unanswered())
        if faults:
            raise self._damaged(
                [f"{self.path}:{fault.line}{named.get(fault.line, '')} {fault.what}" for fault in faults],
                unanswered(),
            )
        self._lost = frozenset(self._unusable)

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

    def _damaged(self, faults: Sequence[str], unanswered: Sequence[str]) -> JournalError:
        shown = [*faults[:_MOST_FAULTS], *([f"and {len(faults) - _MOST_FAULTS} more"] * (len(faults) > _MOST_FAULTS))]
        if unanswered:
            more = f" and {len(unanswered) - _MOST_CALLS:,} more" if len(unanswered) > _MOST_CALLS else ""
            shown.append(f"as it is, these calls have no answer: {', '.join(unanswered[:_MOST_CALLS])}{more}")
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
    elif isinstance(line, LossLine):
        ledger.losses.append(line)
