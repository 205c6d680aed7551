"""JSONL files as people write them: an object a line, and every fault found while its fields are read."""

import hashlib
import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proverbench.errors import DataError

ABSENT: Any = object()


_LONE_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class DataLine:
    """One line's object, and the faults found while reading its fields."""

    def __init__(self, path: Path, line: int, data: dict[str, Any], may_hold_surrogates: bool) -> None:
        self.path = path
        self.line = line
        self.data = data
        self.faults: list[str] = []
        self._may_hold_surrogates = may_hold_surrogates

    def fault(self, name: str, found: object, wanted: str) -> None:
        """Note a fault of a field; ``found`` is its value, or ABSENT."""
        self._say(name, "nothing" if found is ABSENT else shown_json(found), wanted)

    def _say(self, name: str, found: str, wanted: str) -> None:
        self.faults.append(f"{self.path}:{self.line}: field {name}: found {found}; wanted {wanted}")

    def text(
        self,
        name: str,
        *,
        default: str | None = None,
        null: bool = False,
        blank: bool = True,
        wanted: str = "a string",
        data: dict[str, Any] | None = None,
        shown_as: str | None = None,
    ) -> str | None:
        """A string field.

        Args:
            name: The key.
            default: Value of an absent field; None makes the field required.
            null: Whether null stands for ``default``.
            blank: Whether a string of white space alone will do.
            wanted: What the message asks for.
            data: Where the key is looked up; the row itself if None.
            shown_as: The field's name in messages.

        Returns:
            The string, or None with a fault.
        """
        value = (self.data if data is None else data).get(name, ABSENT)
        if default is not None and (value is ABSENT or (value is None and null)):
            return default
        if not isinstance(value, str) or not (blank or value.strip()):
            self.fault(shown_as or name, value, wanted)
            return None
        return value if self.clean(shown_as or name, value) else None

    def clean(self, name: str, value: str) -> bool:
        """Whether UTF-8 can hold the text; a lone surrogate could be neither sent nor saved."""
        if self._may_hold_surrogates:
            try:
                value.encode()
            except UnicodeEncodeError as exc:
                found = f"the lone surrogate \\u{ord(value[exc.start]):04x} at character {exc.start + 1}"
                self._say(name, found, "text that UTF-8 can hold")
                return False
        return True

    def index(self, name: str, value: object, n_steps: int | None) -> int | None:
        """An error step's index; ``n_steps`` None: the steps are faulty, so the range is unknown."""
        wanted = "an integer, -1 for none" if n_steps is None else f"an integer from -1 to {n_steps - 1}"
        if type(value) is not int or value < -1 or (n_steps is not None and value >= n_steps):
            self.fault(name, value, wanted)
            return None
        return value


def shown_json(value: object) -> str:
    """A value as JSON, cut short."""
    if isinstance(value, dict):
        return "an object"
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:  # pragma: no cover - JSON that was read can be written
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class DataLines:
    """A JSONL file, an object at a time.

    Attributes:
        sha256: Of the bytes; known when the file has been read to its end.
        faults: Lines that hold no JSON object.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.faults: list[str] = []
        self.sha256 = ""

    def __iter__(self) -> Iterator[DataLine]:
        digest = hashlib.sha256()
        try:
            with self.path.open("rb") as file:
                for line, raw in enumerate(file, 1):  # binary files split at \n only
                    digest.update(raw)
                    if line == 1:
                        raw = raw.removeprefix(BOM_UTF8)
                        self._refuse_one_document(raw)
                    row = self._row(line, raw)
                    if row is not None:
                        yield row
        except OSError as exc:
            raise DataError(f"{self.path}: cannot be read: {exc.strerror}; give the path of a JSONL file") from exc
        self.sha256 = digest.hexdigest()

    def _refuse_one_document(self, first: bytes) -> None:
        """One sentence for a JSON document over many lines, which would be a fault on each of them."""
        if first.strip() in (b"{", b"[", b"[{"):
            raise DataError(
                f"{self.path}:1: looks like one JSON document over several lines; wanted JSONL, one object a line "
                f"(a list becomes JSONL with: jq -c '.[]' {self.path.name})"
            )

    def _row(self, line: int, raw: bytes) -> DataLine | None:
        where = f"{self.path}:{line}"
        try:
            text = raw.decode().rstrip()
        except UnicodeDecodeError as exc:
            self.faults.append(f"{where}: byte {exc.start + 1} is {raw[exc.start]:#04x}, which is not UTF-8")
            return None
        if not text:
            return None
        repeated: list[str] = []
        try:
            data = json.loads(text, object_pairs_hook=_noting(repeated), parse_constant=_refuse_constant)
        except json.JSONDecodeError as exc:
            self.faults.append(f"{where}: not JSON: {exc.msg} at character {exc.pos + 1}; wanted one object a line")
            return None
        except (ValueError, RecursionError) as exc:
            self.faults.append(f"{where}: not JSON that can be read: {exc}")
            return None
        if not isinstance(data, dict):
            self.faults.append(f"{where}: found {_kind(data)}; wanted one object a line")
            return None
        if repeated:
            self.faults.extend(f"{where}: field {name}: found twice in one object; wanted once" for name in repeated)
            return None
        return DataLine(self.path, line, data, _LONE_SURROGATE_ESCAPE.search(raw) is not None)


def _noting(repeated: list[str]) -> Any:
    """A hook for json that notes keys which an object holds twice: readers disagree about which one counts."""

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        return found

    return table


def _refuse_constant(name: str) -> None:
    raise ValueError(f"found {name}, which is no JSON")


def _kind(value: object) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else shown_json(value)


def in_line_order(unreadable: list[str], faulty: list[str], path: Path) -> list[str]:
    """The faults of lines and of fields, in the order of their lines."""
    prefix = len(f"{path}:")
    return sorted(unreadable + faulty, key=lambda fault: int(fault[prefix:].split(":", 1)[0]))
