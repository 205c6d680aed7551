"""Values as TOML; Python reads TOML and does not write it. Pure."""

import json
import re
from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def assignments(table: Mapping[str, object]) -> Iterator[str]:
    """A line ``key = value`` for each entry that is not None."""
    return (f"{_key(name)} = {_value(value)}" for name, value in table.items() if value is not None)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(assignments(value)) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's strings, numbers and booleans are TOML's too, but for U+007F and \ud800 pairs, which must not be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
