"""What protocols look for in a reply: elements, boxes and JSON objects; pure, and linear in the text."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

_BOX = re.compile(r"\\boxed\s*+\{")
_BRACE = re.compile(r"[{}]")
_JSON_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
        (?P<mark>[{}\[\],:])
        |(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
        |(?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)
    )""",
    re.VERBOSE,
)


@lru_cache
def tags(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What opens and what closes an element of that name."""
    escaped = re.escape(name)
    return (
        re.compile(rf"<{escaped}\s*+>", re.IGNORECASE),
        re.compile(rf"</\s*+{escaped}\s*+>", re.IGNORECASE),
    )


def elements(text: str, name: str) -> Iterator[str]:
    """The stripped contents of the elements ``<name>…</name>``, from the left, not overlapping, each the shortest.

    ``name`` is found in any case; nothing but white space may follow it in the opening tag.
    """
    opening, closing = tags(name)
    position = 0
    while (start := opening.search(text, position)) and (end := closing.search(text, start.end())):
        yield text[start.end() : end.start()].strip()
        position = end.end()


def last_box(text: str) -> str | None:
    r"""The stripped content of the last ``\boxed{…}`` that closes and is not blank; None without one.

    Braces are balanced, escaped ones included; a box inside a box counts as one of its own.
    """
    closes: dict[int, int] = {}
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closes[opened.pop()] = brace.start()
    for box in reversed(list(_BOX.finditer(text))):
        end = closes.get(box.end() - 1)
        if end is not None and (content := text[box.end() : end].strip()):
            return content
    return None


def last_plain_box(text: str) -> str | None:
    r"""The stripped content of the last ``\boxed{…}`` read up to its first ``}``, blank ones included, or None.

    Boxes are matched from the left and do not overlap; no white space may stand before the brace.
    """
    found = None
    position = 0
    while (start := text.find("\\boxed{", position)) >= 0 and (end := text.find("}", start)) >= 0:
        found = text[start + len("\\boxed{") : end].strip()
        position = end + 1
    return found


def json_objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects in ``text``, from the left, none inside another; numbers are ``int`` or ``Decimal``.

    An object counts where it decodes strictly: no key twice, no NaN. What stands around it does not matter.
    """
    reach = 0
    for start, end in _object_spans(text):
        if start < reach:
            continue
        try:
            decoded = json.loads(text[start:end], parse_float=Decimal, parse_int=_whole)
        except (RecursionError, ValueError):  # deeper than Python's own limit: nobody's verdict
            continue
        reach = end
        yield decoded


def _whole(digits: str) -> Decimal:
    return Decimal(digits)  # int() refuses more than 4,300 digits


def _object_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of every object that is well formed, outer ones before those inside them."""
    ends: dict[int, int] = {}
    seen: set[int] = set()
    position = text.find("{")
    while position >= 0:
        if position not in seen:
            _scan(text, position, seen, ends)
        position = text.find("{", position + 1)
    return sorted(ends.items())


class _Open(NamedTuple):
    """A container that is not closed yet."""

    start: int
    keys: set[str] | None
    """Keys so far; None: an array."""


def _scan(text: str, position: int, seen: set[int], ends: dict[int, int]) -> None:
    """Read one JSON object at ``position`` as far as it is one; note every object that is met, and where it ends.

    An object that is met is read alike from its own start, so none is read twice: that keeps the whole linear.
    """
    stack: list[_Open] = []
    wants = "value"
    while match := _JSON_TOKEN.match(text, position):
        kind, token, start = match.lastgroup, match[match.lastgroup or ""], match.start(match.lastgroup or "")
        position = match.end()
        top = stack[-1] if stack else None
        if token == "{" and wants in ("value", "value or end"):
            if start in seen:
                if start not in ends:
                    return
                position, wants = ends[start], "next"
            else:
                seen.add(start)
                stack.append(_Open(start, set()))
                wants = "key or end"
        elif token == "[" and wants in ("value", "value or end") and stack:
            stack.append(_Open(start, None))
            wants = "value or end"
        elif top is None:
            return
        elif token == "}" and top.keys is not None and wants in ("key or end", "next"):
            ends[stack.pop().start] = position
            wants = "next"
        elif token == "]" and top.keys is None and wants in ("value or end", "next"):
            stack.pop()
            wants = "next"
        elif token == "," and wants == "next":
            wants = "value" if top.keys is None else "key"
        elif token == ":" and wants == "colon":
            wants = "value"
        elif kind == "string" and top.keys is not None and wants in ("key", "key or end"):
            key = json.loads(token)
            if key in top.keys:
                return
            top.keys.add(key)
            wants = "colon"
        elif kind in ("string", "scalar") and wants in ("value", "value or end"):
            wants = "next"
        else:
            return
        if not stack:
            return
