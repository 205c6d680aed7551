"""Kind ``anthropic``: the Messages API."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from proverbench.endpoints.access import Access
from proverbench.endpoints.audit import word
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.body import decode
from proverbench.endpoints.error_facts import ErrorFacts, is_error
from proverbench.endpoints.http import Heard, HttpEndpoint, OnQuota, Wire, cut, joined, text_or_none
from proverbench.endpoints.kinds.kind import Opening
from proverbench.endpoints.network import DEFAULT_URLS, address
from proverbench.endpoints.sse import Event
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.spending.usage import merge_usage

DEFAULT_BASE_URL = DEFAULT_URLS["anthropic"]
VERSION = "2023-06-01"
"""Of the API; sent with every request."""


class _Message(msgspec.Struct):
    type: Any = None
    content: Any = None
    stop_reason: Any = None
    usage: Any = None
    model: Any = None
    id: Any = None
    error: Any = None


class _Piece(msgspec.Struct):
    """An event of a stream; which fields it has depends on its type."""

    type: str = ""
    index: Any = 0
    message: _Message | None = None
    content_block: Any = None
    delta: Any = None
    usage: Any = None
    error: Any = None


class AnthropicEndpoint(HttpEndpoint):
    """One attempt at a time of a message; see :class:`HttpEndpoint` for the arguments."""

    def __init__(
        self,
        endpoint: EndpointConfig,
        roles: Mapping[str, RoleConfig],
        *,
        access: Access,
        on_quota: OnQuota | None = None,
    ) -> None:
        super().__init__(
            endpoint,
            roles,
            url=address((endpoint.base_url or DEFAULT_BASE_URL).removesuffix("/v1"), "/v1/messages"),
            headers={"anthropic-version": VERSION, **({"x-api-key": access.key} if access.key else {})},
            access=access,
            on_quota=on_quota,
        )

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """The request body of a message; the prefix that calls share is marked for the provider's cache."""
        wire = self.roles[request.role]
        body = {**wire.parameters, "messages": [{"role": "user", "content": _blocks(request, marked=self.marks_cache)}]}
        if stream:
            body["stream"] = True
        return body

    def read_reply(self, raw: bytes, wire: Wire) -> Reply:
        """The text of a message."""
        try:
            message = decode(raw, _Message)
        except ValueError:
            message = _Message()
        if is_error(message.error) or not isinstance(message.content, list):
            refused = self.refused_inside(raw, wire)
            if refused is not None:
                return refused
            raise self.bad_reply(raw, "a 200 that is no message with content")
        return _reply(message, message.content)

    async def read_stream(self, events: AsyncIterator[Event], wire: Wire, heard: Heard) -> Reply:
        """A message from its events."""
        message: _Message | None = None
        blocks: dict[int, dict[str, Any]] = {}
        pieces: dict[int, list[str]] = {}
        ended = False
        async for event in events:
            piece = self._piece(event)
            if piece.type == "error" or event.name == "error":
                return self._refused(piece.error, event.data, wire)
            if piece.type == "message_start" and piece.message is not None:
                message = piece.message
                heard.usage.append(message.usage)
            elif piece.type == "content_block_start":
                blocks[_index(piece)] = block = _table(piece.content_block)
                pieces[_index(piece)] = [_words(block)]
            elif piece.type == "content_block_delta":
                delta = _table(piece.delta)
                pieces.setdefault(_index(piece), []).append(words := _words(delta))
                (heard.text if delta.get("type") == "text_delta" else heard.reasoning).append(words)
            elif piece.type == "message_delta" and message is not None:
                message.stop_reason = heard.finish_reason = word(_table(piece.delta).get("stop_reason")) or word(
                    message.stop_reason
                )
                heard.usage.append(piece.usage)
            elif piece.type == "message_stop":
                ended = True
                break
        if message is None or not (ended or word(message.stop_reason)):
            raise cut()
        message.usage = merge_usage(heard.usage)
        for index, block in blocks.items():
            if block.get("type") in ("text", "thinking"):
                block[block["type"]] = joined(pieces[index])
        return _reply(message, [blocks[index] for index in sorted(blocks)])

    def _piece(self, event: Event) -> _Piece:
        try:
            return decode(event.data, _Piece)
        except ValueError:
            raise self.bad_reply(event.data, "an event of a stream that is none of the Messages API") from None

    def _refused(self, error: Any, raw: bytes, wire: Wire) -> Reply:
        refused = self.refused_inside(raw, wire)
        return refused or self.refused_or_raise(200, ErrorFacts(message=str(error)[:200]), wire)


def _index(piece: _Piece) -> int:
    """Which block an event is of."""
    try:
        return int(piece.index)
    except (TypeError, ValueError, OverflowError):
        return 0


def _blocks(request: Request, *, marked: bool) -> list[dict[str, Any]]:
    """The prompt as text blocks: one, or the shared prefix and the rest.

    Marked, unless the server refuses that, are the prefix, and the end of a prompt that is asked again.

    The API refuses blocks that are empty or hold nothing but white space, so such a prefix or rest makes no block.
    """
    whole: dict[str, Any] = {"type": "text", "text": request.prompt}
    if not marked:
        return [whole]
    mark = {"cache_control": {"type": "ephemeral"}}
    at = min(request.cacheable_chars, len(request.prompt))
    head, rest = request.prompt[:at], request.prompt[at:]
    if not head.strip():
        return [{**whole, **mark}] if request.repeated else [whole]
    if not rest.strip():
        return [{**whole, **mark}]
    last = {"type": "text", "text": rest, **(mark if request.repeated else {})}
    return [{"type": "text", "text": head, **mark}, last]


def _words(block: dict[str, Any]) -> str:
    """The text or thinking that a block or delta adds."""
    for name in ("text", "thinking"):
        if isinstance(block.get(name), str):
            return str(block[name])
    return ""


def _reply(message: _Message, content: list[Any]) -> Reply:
    text: list[str] = []
    reasoning: list[str] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            text.append(block["text"])
        elif kind == "thinking":
            reasoning.append(_words(block))
        elif kind == "redacted_thinking":
            reasoning.append("[redacted thinking]")
    stop = word(message.stop_reason)
    return Reply(
        text="".join(text),
        finish_reason=stop,
        reasoning="\n\n".join(filter(None, reasoning)) or None,
        # The provider's own classifier stopped the answer: that is a refusal of the content, not a model's bad reply.
        refused="content_policy" if stop == "refusal" else None,
        usage=message.usage if isinstance(message.usage, dict) else None,
        model=text_or_none(message.model),
        response_id=text_or_none(message.id),
    )


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


async def open_anthropic(opening: Opening) -> AnthropicEndpoint:
    """Open an endpoint of kind ``anthropic``."""
    return AnthropicEndpoint(opening.config, opening.roles, access=opening.access, on_quota=opening.on_quota)
