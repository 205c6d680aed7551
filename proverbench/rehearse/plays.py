"""What the rehearsal server can do with one request: a well-formed reply, a fault, or anything between.

A script (server.py) is a list of :class:`Play` or a function that returns one. The functions at the end are the
faults that people really met (429 with every form of Retry-After, a body that is no reply, a stream that stops …).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Ending = Literal[
    "complete", "hang", "stall", "cut", "reset", "reset_after_headers", "stream_ends", "stream_error", "leave_open"
]
"""How a response goes on once it is due.

complete             the whole body
hang                 no byte, ever; the client must give up
stall                the first half of the body, then silence
cut                  the first half of the body, then the connection closes
reset                the connection is reset before any byte
reset_after_headers  status and headers, then a reset
stream_ends          a stream whose events stop half way, with a proper end of the body
stream_error         a stream with an error event half way
leave_open           the whole stream, but the connection stays open after the last event
"""


class _Absent:
    """The type of :data:`ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""A field that is not in the body at all, as opposed to null."""


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """What the model says, before it takes the form of one protocol."""

    content: Any = ""
    """A string; or None, or a list of parts or blocks, sent as they are."""
    finish_reason: str | _Absent | None = "stop"
    """In OpenAI's words: ``stop``, ``length`` and ``content_filter`` become Anthropic's ``end_turn``, ``max_tokens``
    and ``refusal``; any other word goes out as it is in both."""
    reasoning: str | None = None
    """``reasoning_content``, or a thinking block before the text."""
    reasoning_field: str = "reasoning_content"
    """Its name in chat completions; some servers write ``reasoning``."""
    model: str | None = None
    """The model name reported; None: the one asked for."""
    usage: Mapping[str, Any] | _Absent | None = field(default_factory=dict)
    """Token counts to report instead of the computed ones; None is null. An empty mapping means computed."""
    fingerprint: str | None = "fp_rehearse"


@dataclass(frozen=True, kw_only=True)
class Play:
    """One response.

    With neither ``reply`` nor ``body`` the server's own replies are played (profile.py), so that
    ``Play(delay_s=2)`` is just a late answer.
    """

    delay_s: float = 0.0
    """Time before the first byte."""
    body_s: float = 0.0
    """Time from the first byte to the last, spread over the events of a stream (or the halves of a body)."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    reply: ModelReply | None = None
    body: bytes | str | Mapping[str, Any] | Sequence[Any] | None = None
    """Sent instead of a reply: bytes and strings as they are, anything else as JSON."""
    ending: Ending = "complete"
    stream_error: Mapping[str, Any] | None = None
    """The error object of ``stream_error``; None: an overload."""

    @property
    def answers(self) -> bool:
        """Whether the client gets a reply out of it, so that the call counts as answered."""
        return self.status == 200 and self.body is None and self.ending in ("complete", "leave_open")


def answer(content: Any, **fields: Any) -> Play:
    """A well-formed reply with that content; ``fields`` are those of :class:`ModelReply`."""
    return Play(reply=ModelReply(content=content, **fields))


def late(delay_s: float) -> Play:
    """The server's own reply, after ``delay_s``."""
    return Play(delay_s=delay_s)


def failure(
    status: int, message: str = "", *, kind: str | None = None, code: str | None = None, **headers: str
) -> Play:
    """A refusal in the body that both protocols use; header names may be written with ``_`` for ``-``."""
    return Play(
        status=status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=error_body(status, message, kind=kind, code=code),
    )


def too_many(retry_after: str | None = None, *, header: str = "Retry-After") -> Play:
    """429; ``retry_after`` is put into the header as it is, however odd."""
    return Play(
        status=429,
        headers={} if retry_after is None else {header: retry_after},
        body=error_body(429, "too many requests: slow down"),
    )


def no_credit() -> Play:
    """The 429 that no waiting cures."""
    return failure(
        429, "You exceeded your current quota, check your plan.", kind="insufficient_quota", code="insufficient_quota"
    )


def wrong_key(key: str = "") -> Play:
    """401 that repeats the key it was sent, whole, as some servers do."""
    return failure(401, f"Incorrect API key provided: {key}", kind="authentication_error", code="invalid_api_key")


def unknown_model(model: str) -> Play:
    """404 for the model."""
    return failure(404, f"The model `{model}` does not exist", kind="not_found_error", code="model_not_found")


def unknown_parameter(name: str) -> Play:
    """400 that names the parameter it does not take."""
    body = error_body(400, f"Unsupported parameter: '{name}' is not supported.", code="unsupported_parameter")
    body["error"]["param"] = name
    return Play(status=400, body=body)


def context_length(protocol: str, limit: int = 128_000) -> Play:
    """400 for a prompt that is too long, in the words of each protocol."""
    if protocol == "messages":
        return failure(400, f"prompt is too long: more than {limit} tokens")
    return failure(400, f"This model's maximum context length is {limit} tokens.", code="context_length_exceeded")


def error_in_200(code: int, message: str = "upstream failed") -> Play:
    """A status 200 whose body is an error."""
    return Play(body={"error": {"code": code, "message": message}})


def web_page() -> Play:
    """A status 200 with a page for people."""
    return Play(
        headers={"Content-Type": "text/html"}, body="<!doctype html><html><body><h1>Bad gateway</h1></body></html>"
    )


def empty_body() -> Play:
    """A status 200 with nothing in it."""
    return Play(body=b"")


def hang() -> Play:
    """No byte, ever."""
    return Play(ending="hang")


_ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def error_body(status: int, message: str, *, kind: str | None = None, code: str | None = None) -> dict[str, Any]:
    """An error object that clients of either protocol read: Anthropic's outer ``type``, OpenAI's ``code``."""
    return {
        "type": "error",
        "error": {
            "type": kind or _ERROR_TYPES.get(status, "api_error"),
            "code": code,
            "message": message or f"rehearsed {status}",
            "param": None,
        },
    }
