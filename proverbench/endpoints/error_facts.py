"""What the body of an error says, whatever its shape; what that means is in classify.py. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proverbench.endpoints.context import Room, read_room
from proverbench.redact import one_line

_HTML = re.compile(rb"<(?:!doctype|html|head|body)", re.IGNORECASE)
_MAX_SHOWN = 500
"""Characters of a provider's message that are kept."""


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What an error body says, whatever its shape."""

    message: str
    type: str = ""
    code: str = ""
    param: str = ""
    page: bool = False
    """True for a web page: a gateway's, or a firewall's that did not like one prompt. Its words say nothing."""

    status: int = field(default=0, compare=False)
    """An HTTP status among the body's numbers, 0 for none."""
    marks: str = field(default="", compare=False)
    """Names of fields that say by themselves what kind of error it is, such as ``contentFilter``."""
    n_ctx: int | None = field(default=None, compare=False)
    """The context in tokens, where a field tells it."""
    n_prompt: int | None = field(default=None, compare=False)
    """The prompt's tokens, likewise."""
    wait: str = field(default="", compare=False)
    """How long to wait, where the body says it in a field of its own: a duration such as ``26s``."""
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Response headers of the server behind a gateway, where the body repeats them; names in lower case."""

    @property
    def words(self) -> str:
        """Type, code, message and marks in one text, for matching."""
        return "" if self.page else f"{self.type}\n{self.code}\n{self.message}\n{self.marks}"

    def room(self, limit: int | None) -> Room:
        """What it tells of the context; ``limit`` is the request's own output limit."""
        return read_room(self.message, n_ctx=self.n_ctx, n_prompt=self.n_prompt, limit=limit)


def read_error(body: bytes) -> ErrorFacts:
    """The facts of an error body: any JSON shape in use, HTML, plain text or nothing."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorFacts(message=gist(body), page=_HTML.search(body[:4000]) is not None)
    return error_facts(data) or ErrorFacts(message=gist(body))


def error_facts(data: Any) -> ErrorFacts | None:
    """The facts of a decoded error, or None when it is no error object."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return ErrorFacts(message=data[:_MAX_SHOWN]) if isinstance(data, str) and data else None
    error = data.get("error")
    if isinstance(error, str):
        return ErrorFacts(
            message=error[:_MAX_SHOWN],
            type=_word(data.get("type")) or _word(data.get("error_type")),
            code=_word(data.get("code")),
            status=_status_in(data),
        )
    if not isinstance(error, dict):
        error = data
    message = error.get("message") or error.get("detail") or error.get("msg")
    if message is None and not (error.get("type") or error.get("code")):
        return None
    text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False) if message else ""
    found = error.get("metadata")
    metadata: dict[str, Any] = found if isinstance(found, dict) else {}
    if isinstance(metadata.get("raw"), str):
        text = f"{text}: {metadata['raw']}"
    marks = [name for name in ("contentFilter", "innererror") if error.get(name) or data.get(name)]
    headers = metadata.get("headers")
    return ErrorFacts(
        message=text[:_MAX_SHOWN],
        type=_word(error.get("type")) or _word(error.get("status")),
        code=_word(error.get("code")),
        param=_word(error.get("param")),
        status=_status_in(error) or _status_in(data),
        marks="\n".join([*marks, *(["moderation_reasons"] if metadata.get("reasons") else [])]),
        n_ctx=_tokens(error.get("n_ctx")),
        n_prompt=_tokens(error.get("n_prompt_tokens")),
        wait=_retry_delay(error.get("details")),
        headers={str(k).lower(): str(v) for k, v in headers.items()} if isinstance(headers, dict) else {},
    )


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _retry_delay(details: Any) -> str:
    """The wait that Google puts among the details of an error."""
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return str(detail["retryDelay"])[:40]
    return ""


def error_inside(data: Any) -> ErrorFacts | None:
    """The facts of an error that came where a reply should be, or None when that is none.

    Servers and gateways send, with HTTP 200: an ``error`` object or text; ``object`` or ``type`` ``error`` beside a
    message; a message or detail beside a status; any of these as the first of a list.
    """
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return None
    if is_error(data.get("error")):
        return error_facts(data) or ErrorFacts(message=str(data["error"])[:_MAX_SHOWN], status=_status_in(data))
    marked = data.get("object") == "error" or data.get("type") == "error"
    facts = error_facts({**data, "error": None}) if marked or _status_in(data) else None
    # The mark is no type of error; a type such as "message" or "response" is none either.
    return replace(facts, type="" if facts.type == "error" else facts.type) if facts else None


def is_error(error: Any) -> bool:
    """Whether the ``error`` of a reply says that there is one; null, and an object of nulls, say that there is none."""
    return any(value is not None for value in error.values()) if isinstance(error, dict) else bool(error)


def _status_in(table: dict[str, Any]) -> int:
    words = (_word(table.get(name)) for name in ("code", "status", "status_code", "statusCode"))
    return next(filter(None, map(status_of, words)), 0)


def status_of(word: str) -> int:
    """The status that a number is; 0 when it is none."""
    is_status = word.isascii() and word.isdigit() and len(word) == 3 and 400 <= int(word) <= 599
    return int(word) if is_status else 0


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)[:100]


def gist(body: bytes) -> str:
    """The gist of a body that is no JSON, without markup, as one line."""
    text = body[:4000].decode("utf-8", "replace")
    if _HTML.search(body[:4000]):
        title = re.search(r"<title[^>]*>([^<]{1,200})", text, re.IGNORECASE)
        return f"an HTML page{f' titled {title.group(1).strip()!r}' if title else ''}"
    return one_line(text)[:_MAX_SHOWN] or "nothing"
