"""Bodies of requests and replies as JSON, whatever a server makes of it. Pure."""

import json
import re
from typing import Any, TypeVar

import msgspec

_DEEPEST = 64
"""Levels of a reply that are kept where it has too many for a JSON reader."""

T = TypeVar("T")


def decode(raw: bytes, wanted: type[T]) -> T:
    """Read JSON; what msgspec refuses is read as the json module does.

    Such are a byte order mark, lone surrogates, NaN and control characters.

    Raises:
        ValueError: If it is not JSON, or not of that shape.
    """
    try:
        return msgspec.json.decode(raw, type=wanted)
    except RecursionError:
        raw = _shallow(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    try:
        return msgspec.convert(_loads(raw), type=wanted)
    except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
        raise ValueError(str(exc)) from None


def _loads(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig", "replace"), strict=False)
    except RecursionError:
        return json.loads(_shallow(raw).decode("utf-8-sig", "replace"), strict=False)


_MARKS = re.compile(rb'"[^"\\]*(?:\\(?:.|\Z)[^"\\]*)*(?:"|\Z)|[\[\]{}]', re.DOTALL)
"""Strings, also one that never ends (else each quote in it would be tried anew), and brackets."""


def _shallow(raw: bytes) -> bytes:
    """JSON with null for what is nested too deeply: an odd field that nobody reads must not cost an answer."""
    kept: list[bytes] = []
    start = depth = 0
    for mark in _MARKS.finditer(raw):
        if mark[0] in b"[{":
            depth += 1
            if depth == _DEEPEST:
                kept += [raw[start : mark.start()], b"null"]
        elif mark[0] in b"]}":
            if depth == _DEEPEST:
                start = mark.end()
            depth -= 1
    return b"".join([*kept, raw[start:]]) if depth < _DEEPEST else raw


def encode(body: dict[str, Any]) -> bytes:
    """Write JSON. Lone surrogates, which no server could read, go out as U+FFFD."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        whole = json.dumps(body, ensure_ascii=False)
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
