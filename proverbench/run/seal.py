"""Seals of calls.jsonl: what makes a changed, missing, repeated or moved line visible (docs/run-format.md, "Seals").

Every line ends in ``"seal":"NUMBER.SUM.CHAIN"``: its place in the file, a checksum of the line, and a hash of what
precedes the seal and of the chain of the line before. The chain has no secret: it shows damage, and any change made
after a line's seal was quoted, but not what was forged before. Lines that an older version wrote have no seal; the
chain begins with a hash of them. Pure: bytes in, findings out.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import msgspec

_SEAL = re.compile(rb',"seal":"([0-9]{1,18})\.([0-9a-f]{8})\.([0-9a-f]{32})"\}')
_SEAL_BEGINS = b',"seal":"'
_LONGEST_SEAL = 100
_LATEST = 1 << 14
"""So many bytes of checksums are kept before they are hashed."""
_LOSS = b'{"type":"loss"'
_SIZE = 16


class Place(NamedTuple):
    """Where a chain stands."""

    number: int
    """Of the latest line, from 1; 0 before the first."""
    chain: bytes
    """Of the latest line."""

    @property
    def head(self) -> str:
        """The chain as it is written."""
        return self.chain.hex()


START = Place(0, blake2b(b"", digest_size=_SIZE).digest())
"""Of a file without lines."""


class SealFile(msgspec.Struct, frozen=True):
    """Content of seal.json: what calls.jsonl held when it was last synced."""

    lines: int
    """Number of its last line then."""
    head: str
    """The chain of that line."""
    format: int = 1


def sealed(body: bytes, before: Place) -> tuple[bytes, Place]:
    """A line with its seal, and where the chain is then.

    Args:
        body: The line as a JSON object, without a line end.
        before: Of the line before.
    """
    place = Place(before.number + 1, _chain(before.chain, body))
    return body[:-1] + _seal(place, _sum(zlib.crc32(body), place)), place


def _seal(place: Place, checksum: int) -> bytes:
    """What a line ends with."""
    return b'%s%d.%08x.%s"}' % (_SEAL_BEGINS, place.number, checksum, place.chain.hex().encode())


def _sum(crc: int, place: Place) -> int:
    """The checksum of all that a line says; ``crc`` is of its body."""
    return zlib.crc32(b"%d.%s" % (place.number, place.chain), crc)


class _Parts(NamedTuple):
    """A sealed line, taken apart."""

    body: bytes
    intact: bool
    """Whether it has the checksum that the seal says."""
    place: Place


def _parts(raw: bytes) -> _Parts | None:
    """None where a line has no seal."""
    match = _SEAL.search(raw, max(0, len(raw) - _LONGEST_SEAL))
    if match is None or match.end() != len(raw):
        return None
    body = raw[: match.start()] + b"}"
    place = Place(int(match[1]), bytes.fromhex(match[3].decode()))
    return _Parts(body, _sum(zlib.crc32(body), place) == int(match[2], 16), place)


def is_intact(raw: bytes) -> bool:
    """Whether a line is as its seal says; True of one that has none."""
    parts = _parts(raw)
    return parts is None or parts.intact


def place_of(raw: bytes) -> Place | None:
    """What the seal of an intact line says; None where a line has none, or is damaged."""
    parts = _parts(raw)
    return parts.place if parts is not None and parts.intact else None


@dataclass(frozen=True)
class Fault:
    """Something that the seals show."""

    line: int
    """Place in the file, from 1; of the line that shows it."""
    what: str
    """A phrase that goes on after ``line 7``."""
    missing: int = 0
    """How many lines are not there."""


class Checker:
    """Looks at the lines of a file in turn.

    Args:
        kept: What seal.json says; None where there is none.

    Attributes:
        faults: What is wrong so far and nobody has accepted.
        accepted: What was wrong and was accepted by a ``loss`` line.
    """

    def __init__(self, kept: SealFile | None = None) -> None:
        self.faults: list[Fault] = []
        self.accepted: list[Fault] = []
        self.lines = 0
        """Lines that were looked at."""
        self.unsealed = 0
        """Lines before the first seal."""
        self._kept = kept
        self._met = kept is None or kept.lines == 0
        """Whether the line that seal.json names was met."""
        self._prefix = blake2b(digest_size=_SIZE)
        self._sums = blake2b(digest_size=_SIZE)
        self._latest = bytearray()
        """Checksums of the latest lines, which are not in ``_sums`` yet."""
        self._place: Place | None = START
        """What the next line follows; None behind unsealed lines, until it is wanted."""
        self._free: int | None = None
        """A line of this number need not follow: the one before it is faulty, and that is known."""

    def expect(self, kept: SealFile | None) -> None:
        """Take in a newer seal.json, before the lines that it counts are looked at."""
        if kept is not None and (self._kept is None or kept.lines > self._kept.lines):
            self._kept = kept
            self._met = kept == SealFile(self.place.number, self.place.head) or kept.lines <= self.place.number

    def refuse(self, what: str) -> None:
        """The line that was looked at last cannot be used, for a reason that its seal does not show."""
        self.faults.append(Fault(self.lines, what))

    def feed(self, raw: bytes) -> bool:
        """Look at the next whole line, given without its ``\\n``.

        Returns:
            Whether it can be used: it is what was written, where it was written.
        """
        if self._follows(raw):
            return True
        parts = _parts(raw)
        if parts is None:
            usable = self._unsealed(raw)
        elif parts.body.startswith(_LOSS) and parts.intact and self._accepts(parts):
            usable = True
        else:
            usable = self._sealed(parts)
        self._count(zlib.crc32(raw))
        return usable

    def _follows(self, raw: bytes) -> bool:
        """Take in a line that is whole and follows the one before, as nearly all do; it takes one look at its bytes."""
        before = self._place
        at = raw.rfind(_SEAL_BEGINS, max(0, len(raw) - _LONGEST_SEAL))
        if before is None or at < 0 or raw.startswith(_LOSS):
            return False
        crc = zlib.crc32(raw[:at])
        number, chain = before.number + 1, blake2b(raw[:at] + b"}", key=before.chain, digest_size=_SIZE).digest()
        place = Place(number, chain)
        seal = _seal(place, _sum(zlib.crc32(b"}", crc), place))
        if len(raw) - at != len(seal) or not raw.endswith(seal):
            return False
        self._place, self._free = place, None
        self._count(zlib.crc32(seal, crc))
        return True

    def _count(self, crc: int) -> None:
        """A line was looked at; ``crc`` is of all of it."""
        self.lines += 1
        self._latest += crc.to_bytes(4, "big")
        if len(self._latest) >= _LATEST:
            self._sums.update(self._latest)
            self._latest.clear()
        if not self._met and self._kept is not None and self._place is not None:
            kept = self._kept
            self._met = self._place.number == kept.lines and self._place.head == kept.head

    def end(self) -> list[Fault]:
        """The faults of a file that ends here, those of its end included."""
        if self._met or self._kept is None or self._kept == SealFile(self.place.number, self.place.head):
            return list(self.faults)
        missing = self._kept.lines - self.place.number
        if missing > 0:
            what = f"is the last, and {missing} more that seal.json counts are missing"
            return [*self.faults, Fault(self.lines, what, missing)]
        return [*self.faults, Fault(self.lines, "does not end what seal.json was written for")]

    @property
    def place(self) -> Place:
        """Where the chain is, for the line that comes next."""
        if self._place is None:
            self._place = Place(self.unsealed, self._prefix.copy().digest())
        return self._place

    def loss_line(self, body: Callable[[list[Fault]], bytes]) -> tuple[bytes, Place]:
        """A line that accepts all faults so far, and where the chain is behind it.

        Args:
            body: Makes the line, a JSON object whose first field is ``"type":"loss"``, from the faults.
        """
        return sealed(body(self.end()), self._behind_all())

    def _unsealed(self, raw: bytes) -> bool:
        if self.lines > self.unsealed:
            self._fault("has no seal, though lines before it have one")
            self._pass_over(self.place.chain)
            return False
        self.unsealed += 1
        self._prefix.update(raw)
        self._prefix.update(b"\n")
        self._place = None
        return True

    def _sealed(self, parts: _Parts) -> bool:
        expected = self.place
        number = parts.place.number
        if not parts.intact:
            self._fault("is damaged: its checksum does not fit")
            self._pass_over(parts.place.chain)
            return False
        if number <= expected.number:
            self._fault(f"is repeated or moved: it was written as line {number}")
            return False
        follows = parts.place == Place(expected.number + 1, _chain(expected.chain, parts.body))
        known = self._free == number
        self._place, self._free = parts.place, None
        if follows or known:
            return True
        gap = number - expected.number - 1
        if gap:
            lines = "a line that is" if gap == 1 else f"{gap} lines that are"
            self._fault(f"comes after {lines} missing", gap)
        else:
            self._fault("does not follow from the line before: one of the two was changed")
            self._free = number + 1
        return True

    def _fault(self, what: str, missing: int = 0) -> None:
        self.faults.append(Fault(self.lines + 1, what, missing))

    def _pass_over(self, chain: bytes) -> None:
        """Go on behind a line that cannot be used; the next one is taken as it is."""
        number = self.place.number + 1
        self._place, self._free = Place(number, chain), number + 1

    def _accepts(self, parts: _Parts) -> bool:
        """Whether a ``loss`` line is about what was seen; the chain begins anew with it."""
        before = self._behind_all()
        if parts.place != Place(before.number + 1, _chain(before.chain, parts.body)):
            return False
        self.accepted += self.faults
        self.faults = []
        # What seal.json counted before the loss is no longer to be met.
        self._met = self._met or self._kept is None or self._kept.lines < parts.place.number
        self._place, self._free = parts.place, None
        return True

    def _behind_all(self) -> Place:
        sums = self._sums.copy()
        sums.update(self._latest)
        return Place(self.lines, sums.digest())


def _chain(before: bytes, body: bytes) -> bytes:
    return blake2b(body, key=before, digest_size=_SIZE).digest()
