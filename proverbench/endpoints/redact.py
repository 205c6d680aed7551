"""Keep keys out of every message, file and log line.

Providers echo what they refuse: whole keys in a 401 body, masked keys with both ends showing, URLs with ``?key=``.
Every text of foreign origin passes through a :class:`Redactor` before it may enter an exception.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

_MASK = "[redacted]"
_SHORTEST_PIECE = 6
"""A message that shares this many consecutive characters with a secret gives a part of it away."""

_PATTERNS = (
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=*-]{4,}"),
    re.compile(r"(?i)(?<=://)[^\s/@'\"]+@"),
    re.compile(r"(?i)(?<=[?&])((?:api[_-]?)?key|token|access_token|sig|signature|auth)=[^\s&'\"]+"),
    re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi)[-_][A-Za-z0-9_*.-]{4,}"),
)


class Redactor:
    """Replaces secrets, and pieces of them, by ``[redacted]``.

    Args:
        secrets: Values that must never be shown; empty ones are ignored.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        given = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""), unquote(secret))}
        self._secrets = sorted(given, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """``text`` without any secret."""
        for secret in self._secrets:
            text = _without(text, secret)
        for pattern in _PATTERNS:
            text = pattern.sub(_keep_name, text)
        return text


def _keep_name(match: re.Match[str]) -> str:
    name = match.group(1) if match.re.groups else None
    return f"{name}={_MASK}" if name else _MASK


def _without(text: str, secret: str) -> str:
    text = text.replace(secret, _MASK)
    if len(secret) < _SHORTEST_PIECE:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        length = _shared_length(text, at, secret)
        if length >= _SHORTEST_PIECE:
            out.append(_MASK)
            at += length
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def _shared_length(text: str, at: int, secret: str) -> int:
    """Length of the longest piece of ``secret`` that stands in ``text`` at ``at``, or 0 if shorter than a piece."""
    if text[at : at + _SHORTEST_PIECE] not in secret or len(text) - at < _SHORTEST_PIECE:
        return 0
    length = _SHORTEST_PIECE
    while at + length < len(text) and text[at : at + length + 1] in secret:
        length += 1
    return length
