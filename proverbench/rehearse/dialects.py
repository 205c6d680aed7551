"""How other servers answer: replies in their shapes, played with the rehearsal's own texts (``--dialect NAME``).

dialects.json holds one reply a dialect: of a server that ends a reply in its own word, counts tokens in its own way,
tells a wait in its own words, and so on. Where a model's text belongs there are marks, which the text takes the place
of: ``{whole}``, ``{first half}`` and ``{second half}``, ``{beginning}``; ``{model}`` is the model asked for, and
``{now+N}`` in a header the Unix time N seconds from now. What the tool makes of each is in docs/endpoints.md.
"""

import difflib
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

from proverbench.errors import ConfigError
from proverbench.rehearse.plays import Play
from proverbench.rehearse.wire import as_json


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which some server answers."""

    name: str
    server: str
    """Who answers so."""
    kind: Literal["openai", "anthropic"]
    about: str = msgspec.field(name="class")
    """What is particular: ``usage``, ``limit``, ``money`` …; ``normal`` is a control."""
    status: int = 200
    headers: dict[str, str] = {}
    body: Any = None
    """The whole reply, as JSON; None of a stream."""
    before: str = ""
    """Sent before the body."""
    events: list[Any] | None = None
    """The events of a stream: a text is one event's lines as they are, anything else its data."""
    max_tokens: int | None = None
    """The output limit that the reply speaks of."""

    @property
    def streams(self) -> bool:
        """Whether it is a stream."""
        return self.events is not None

    def reply(self, text: str, model: str) -> Any:
        """The body with a text in it; of a stream, the list of its events."""
        return _filled(self.events if self.streams else self.body, _Fill(text, model))

    def play(self, text: str, model: str) -> Play:
        """The reply as it goes over the wire.

        Args:
            text: What the model says.
            model: The model that was asked for.
        """
        found = self.reply(text, model)
        headers = {name: _moment(value) for name, value in self.headers.items()}
        if not self.streams:
            return Play(status=self.status, headers=headers, body=self.before.encode() + as_json(found))
        body = b"".join(event_bytes(event, self.kind) for event in found)
        return Play(status=self.status, headers={"Content-Type": "text/event-stream", **headers}, body=body)


@dataclass(frozen=True, slots=True)
class _Fill:
    """What takes the place of the marks."""

    text: str
    model: str

    @property
    def marks(self) -> Mapping[str, str]:
        """Mark → text."""
        middle = (len(self.text) + 1) // 2
        return {
            "{whole}": self.text,
            "{first half}": self.text[:middle],
            "{second half}": self.text[middle:],
            "{beginning}": self.text[: min(middle, 40)],
            "{model}": self.model,
        }


def _filled(value: Any, fill: _Fill) -> Any:
    if isinstance(value, str):
        return fill.marks.get(value, value)
    if isinstance(value, list):
        return [_filled(item, fill) for item in value]
    if isinstance(value, dict):
        return {name: _filled(item, fill) for name, item in value.items()}
    return value


def event_bytes(event: Any, kind: str) -> bytes:
    """One event of a stream with its blank line: lines as they are, or data (Anthropic's after the event's name)."""
    if isinstance(event, str):
        return event.encode() + b"\n\n"
    name = f"event: {event['type']}\n".encode() if kind == "anthropic" else b""
    return name + b"data: " + as_json(event) + b"\n\n"


def _moment(value: str) -> str:
    return re.sub(r"\{now\+(\d+)\}", lambda found: f"{time.time() + int(found[1]):.0f}", value)


@cache
def dialects() -> Mapping[str, Dialect]:
    """Every dialect, by name."""
    raw = files("proverbench.rehearse").joinpath("dialects.json").read_bytes()
    return {dialect.name: dialect for dialect in msgspec.json.decode(raw, type=list[Dialect])}


def dialect_named(name: str) -> Dialect:
    """The dialect of that name.

    Raises:
        ConfigError: If there is none; names near ones, and all.
    """
    known = dialects()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    raise ConfigError(f"there is no dialect {name!r}{meant} These are there:\n" + list_dialects())


def list_dialects() -> str:
    """A line for each dialect: name, what is particular, who answers so."""
    known = dialects().values()
    wide, about = max(len(d.name) for d in known), max(len(d.about) for d in known)
    return "\n".join(f"  {d.name:<{wide}}  {d.about:<{about}}  {d.server}" for d in known)
