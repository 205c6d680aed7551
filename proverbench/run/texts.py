"""Texts as every JSON reader takes them, and their exact form where that is another."""

import base64
import re
from typing import Any

from proverbench.errors import JournalError
from proverbench.records import CallLine
from proverbench.run.disk import CALLS

_MAX_DEPTH = 32
_INT_RANGE = range(-(1 << 63), 1 << 64)
_SURROGATE = re.compile("[\ud800-\udfff]")


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
