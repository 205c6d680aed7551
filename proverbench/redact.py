"""Keep keys out of every message, file and log line.

Providers echo what they refuse: whole keys in a 401 body, masked keys with both ends showing, URLs with ``?key=``.
Every text of foreign origin passes through a :class:`Redactor` before it may enter an exception.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote, unquote

from proverbench.unseen import is_unseen

_MASK = "[redacted]"
_SHORTEST_PIECE = 6
"""A message that shares this many consecutive characters with a secret gives a part of it away."""

_SHORTEST_WHOLE = 8
"""A secret at least so long is looked for in other writings too (case, base64, hexadecimal), and in answers."""

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
        secrets = [secret for secret in secrets if secret]
        given = {form for secret in secrets for form in (secret, quote(secret, safe=""), unquote(secret))}
        self._secrets = sorted(given, key=len, reverse=True)
        forms = {form for secret in secrets if _is_telling(secret) for form in _forms(secret)}
        self._whole = sorted(forms, key=len, reverse=True)
        telling = [secret for secret in self._secrets if _is_telling(secret)]
        self._pieces = frozenset(piece for secret in telling for piece in _pieces(secret))
        self.name: Callable[[str], str] = lru_cache(maxsize=1024)(self.field)
        """As :meth:`field`; remembered, for texts that come with every reply."""

    def whole(self, text: str) -> str:
        """``text`` without any secret as a whole; for answers, where a piece of one may well be a word.

        Secrets of less than eight characters, and those of less than sixteen letters and nothing else, are left: the
        keys that local servers are given, such as ``none`` or ``whatever``, are words too.
        """
        for form in self._whole:
            text = text.replace(form, _MASK)
        return text

    def field(self, text: str) -> str:
        """``text`` without any secret, or piece of one, that is long enough to be one; for a reply's small fields."""
        text = self.whole(text)
        if not self._pieces or self._pieces.isdisjoint(_pieces(text)):  # nearly always
            return text
        for secret in self._secrets:
            if _is_telling(secret):
                text = _without(text, secret)
        return text

    def __call__(self, text: str) -> str:
        """``text`` without any secret, piece of one, or what looks like one."""
        text = self.whole(text)
        for secret in self._secrets:
            text = _without(text, secret)
        for pattern in _PATTERNS:
            text = pattern.sub(_keep_name, text)
        return text


def one_line(text: str) -> str:
    """``text`` as one line that a terminal shows and does not obey: white space is one space, controls are escaped."""
    return "".join(ascii(c)[1:-1] if is_unseen(c) else c for c in " ".join(text.split()))


def _is_telling(secret: str) -> bool:
    return len(secret) >= _SHORTEST_WHOLE and (len(secret) >= 2 * _SHORTEST_WHOLE or not secret.isalpha())


def _pieces(text: str) -> Iterator[str]:
    """All pieces of a text that are just long enough to give a secret away."""
    return (text[at : at + _SHORTEST_PIECE] for at in range(len(text) - _SHORTEST_PIECE + 1))


def _forms(secret: str) -> list[str]:
    """Writings of a secret from which it can be read off."""
    raw = secret.encode("utf-8", "surrogatepass")
    coded = [base64.b64encode(raw), base64.urlsafe_b64encode(raw)]
    return [
        secret,
        quote(secret, safe=""),
        secret.lower(),
        secret.upper(),
        *(code.decode().rstrip("=") for code in coded),
        raw.hex(),
        raw.hex().upper(),
    ]


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


_ANY_KEY = Redactor()


def shown(value: object) -> str:
    """A value as JSON would show it, cut short. Tables are not shown: they may hold anything."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    text = plain(repr(value)) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


def plain(text: str) -> str:
    """``text`` without what looks like a key or a URL's password, on one line."""
    return one_line(_ANY_KEY(text))
