"""Kind ``openai``: chat completions and the Responses API, of OpenAI and every compatible server."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from proverbench.endpoints.access import Access
from proverbench.endpoints.audit import server_ended, word
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.body import decode
from proverbench.endpoints.error_facts import ErrorFacts, error_facts, is_error
from proverbench.endpoints.http import Heard, HttpEndpoint, OnQuota, Wire, cut, joined, text_or_none
from proverbench.endpoints.network import address
from proverbench.endpoints.sse import Event
from proverbench.inputs.config import EndpointConfig, RoleConfig
from proverbench.spending.usage import merge_usage

DEFAULT_BASE_URL = "https://api.openai.com/v1"


@dataclass(slots=True)
class _Message:
    """A message, or a stream's delta. Only the content decides whether it can be read; the rest may be anything."""

    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


@dataclass(slots=True)
class _Choice:
    index: Any = 0
    message: _Message | None = None
    delta: _Message | None = None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    """What the server behind a proxy said."""
    usage: Any = None
    error: Any = None


class _Completion(msgspec.Struct):
    object: Any = None
    choices: Any = None
    error: Any = None
    usage: Any = None
    x_groq: Any = None
    model: Any = None
    system_fingerprint: Any = None
    id: Any = None


class _PlainDelta(msgspec.Struct):
    content: str | None = None
    refusal: Literal[""] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _PlainChoice(msgspec.Struct):
    delta: _PlainDelta
    index: Literal[0] = 0
    finish_reason: Literal[""] | None = None
    native_finish_reason: Literal[""] | None = None
    provider_specific_fields: None = None
    usage: None = None
    error: None = None


class _PlainChunk(msgspec.Struct):
    """A chunk that brings text and nothing else, as nearly all do; what decodes as one needs no further look."""

    choices: tuple[_PlainChoice]
    object: Literal["chat.completion.chunk"]
    error: None = None
    usage: None = None
    x_groq: None = None
    model: Any = None
    system_fingerprint: Any = None
    id: Any = None


_PLAIN = msgspec.json.Decoder(_PlainChunk)


class OpenAIEndpoint(HttpEndpoint):
    """One attempt at a time of a chat completion; see :class:`HttpEndpoint` for the arguments."""

    def __init__(
        self,
        endpoint: EndpointConfig,
        roles: Mapping[str, RoleConfig],
        *,
        access: Access,
        on_quota: OnQuota | None = None,
        trust_env: bool = True,
    ) -> None:
        super().__init__(
            endpoint,
            roles,
            url=address(endpoint.base_url or DEFAULT_BASE_URL, self.path),
            headers={"Authorization": f"Bearer {access.key}"} if access.key else {},
            access=access,
            on_quota=on_quota,
            trust_env=trust_env,
        )

    path = "/chat/completions"

    def body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """The request body of a chat completion."""
        wire = self.roles[request.role]
        body = {**wire.parameters, "messages": [{"role": "user", "content": request.prompt}]}
        seed = self.seed(request, wire)
        if seed is not None:
            body["seed"] = seed
        if stream:
            body["stream"] = True
            body.setdefault("stream_options", {"include_usage": True})
        return body

    def read_reply(self, raw: bytes, wire: Wire) -> Reply:
        """The first choice of a chat completion."""
        try:
            completion = decode(raw, _Completion)
        except ValueError:
            completion = _Completion()
        if is_error(completion.error):  # also beside choices: what a server calls an error it does not stand by
            return self._refused(completion.error, wire, raw)
        choices = _choices(completion)
        if not choices:
            refused = self.refused_inside(raw, wire)
            if refused is not None:
                return refused
            raise self.bad_reply(raw, "a 200 that holds no choice of a chat completion")
        choice = next((choice for choice in choices if choice.message is not None), choices[0])
        usage = merge_usage([completion.usage, *(choice.usage for choice in choices), _groq_usage(completion)])
        if is_error(choice.error):
            return self._refused(choice.error, wire)
        if choice.message is None:
            if server_ended(choice.finish_reason):
                raise self.broken_off(str(choice.finish_reason), usage)
            raise self.bad_reply(raw, "a choice without a message")
        text, thinking = split_content(choice.message.content)
        if text is None:
            raise self.bad_reply(raw, "a message whose content is neither text nor a list of parts")
        reasoning = [*_reasoning(choice.message), *thinking]
        return _reply(completion, text, reasoning, choice, refusal_of(choice.message), usage)

    async def read_stream(self, events: AsyncIterator[Event], wire: Wire, heard: Heard) -> Reply:
        """A chat completion from its chunks."""
        whole = _Completion()
        refusal: list[str] = []
        last = _Choice()
        done = False
        async for event in events:
            if not event.name and (plain := _plain(event.data)) is not None:
                _take_over(whole, plain)
                _hear_plain(plain.choices[0].delta, heard)
                continue
            if event.data.startswith(b"[DONE]"):
                done = True
                break
            chunk = self._chunk(event)
            if is_error(chunk.error) or event.name == "error" or chunk.object == "error":
                return self._refused(chunk.error or {"message": "an error event"}, wire, event.data)
            _take_over(whole, chunk)
            for usage in (chunk.usage, _groq_usage(chunk)):
                if usage is not None:
                    heard.usage.append(usage)
            for choice in _choices(chunk):
                if choice.index not in (0, None, "0"):
                    continue
                _hear(choice, heard, refusal)
                if is_error(choice.error):
                    return self._refused(choice.error, wire)
                if choice.finish_reason is not None and (
                    last.finish_reason is None or server_ended(choice.finish_reason)
                ):
                    last = choice
                    heard.finish_reason = choice.finish_reason
        if not done and last.finish_reason is None:
            raise cut()
        usage = merge_usage(heard.usage)
        return _reply(whole, joined(heard.text), heard.reasoning, last, joined(refusal), usage)

    def _chunk(self, event: Event) -> _Completion:
        try:
            return decode(event.data, _Completion)
        except ValueError:
            raise self.bad_reply(event.data, "a chunk of a stream that is no chat completion") from None

    def _refused(self, error: Any, wire: Wire, raw: bytes = b"") -> Reply:
        """What the error of a 200 means.

        Args:
            error: As it stands there.
            wire: The role that asked.
            raw: Of an error at the top of a body, the whole, which may hold its code.
        """
        refused = self.refused_inside(raw, wire) if raw else None
        if refused is not None:
            return refused
        facts = error_facts({"error": error}) or ErrorFacts(message=str(error)[:200])
        return self.refused_or_raise(200, facts, wire)


def _plain(raw: bytes) -> _PlainChunk | None:
    """A chunk of text alone; None of any other chunk."""
    try:
        return _PLAIN.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _choices(completion: _Completion) -> list[_Choice]:
    """The choices that can be read; others, such as null, are passed over, for one beside them may be paid for."""
    choices = completion.choices if isinstance(completion.choices, list) else []
    return [
        _Choice(
            index=choice.get("index"),
            message=_message(choice.get("message")),
            delta=_message(choice.get("delta")),
            finish_reason=word(choice.get("finish_reason")),
            native_finish_reason=_native(choice),
            usage=choice.get("usage"),
            error=choice.get("error"),
        )
        for choice in choices
        if isinstance(choice, dict)
    ]


def _native(choice: dict[str, Any]) -> str | None:
    """The finish reason that a proxy was given, where it passes it on: OpenRouter's place, then LiteLLM's."""
    fields = choice.get("provider_specific_fields")
    return word(choice.get("native_finish_reason")) or (
        word(fields.get("native_finish_reason")) if isinstance(fields, dict) else None
    )


def _groq_usage(completion: _Completion) -> Any:
    return completion.x_groq.get("usage") if isinstance(completion.x_groq, dict) else None


def _hear(choice: _Choice, heard: Heard, refusal: list[str]) -> None:
    """Take what a chunk's choice adds."""
    if choice.usage is not None:
        heard.usage.append(choice.usage)
    delta = choice.delta or choice.message
    if delta is not None:
        piece, thinking = split_content(delta.content)
        if piece:
            heard.text.append(piece)
        heard.reasoning += [*_reasoning(delta), *thinking]
        refusal.append(refusal_of(delta))


def _hear_plain(delta: _PlainDelta, heard: Heard) -> None:
    """The same for a chunk of text alone."""
    if delta.content:
        heard.text.append(delta.content)
    if thought := delta.reasoning_content or delta.reasoning:
        heard.reasoning.append(thought)


def _message(value: Any) -> _Message | None:
    if not isinstance(value, dict):
        return None
    return _Message(
        content=value.get("content"),
        refusal=value.get("refusal"),
        reasoning_content=value.get("reasoning_content"),
        reasoning=value.get("reasoning"),
    )


def refusal_of(message: _Message) -> str:
    """What the model says instead of an answer, where the API tells it apart: a field, or a part of the content."""
    return message.refusal if isinstance(message.refusal, str) else refusal_in(message.content)


def refusal_in(content: Any) -> str:
    """The refusal among the parts of a content."""
    parts = content if isinstance(content, list) else []
    said = [part.get("refusal") for part in parts if isinstance(part, dict) and part.get("type") == "refusal"]
    return "".join(piece for piece in said if isinstance(piece, str))


def split_content(content: Any) -> tuple[str | None, list[str]]:
    """A message's text, and the thinking that stands among its parts.

    Text parts are joined without a separator, as published; parts of unknown types, and null texts, are left out.
    None for the text means that the content is of no known shape.
    """
    if isinstance(content, str):
        return content, []
    if content is None:
        return "", []
    if not isinstance(content, list):
        return None, []
    text: list[str] = []
    thinking: list[str] = []
    for part in content:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind in ("text", "output_text") and isinstance(part.get("text"), str):
            text.append(part["text"])
        elif kind in ("thinking", "reasoning"):
            thinking.append(_thought(part))
    return "".join(text), [piece for piece in thinking if piece]


def _thought(part: dict[str, Any]) -> str:
    for name in ("thinking", "reasoning", "text"):
        value = part.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return split_content(value)[0] or ""
    return ""


def _reasoning(message: _Message) -> list[str]:
    """The reasoning beside the content. Servers that send both fields send the same in both."""
    for value in (message.reasoning_content, message.reasoning):
        if isinstance(value, str) and value:
            return [value]
    return []


def _take_over(whole: _Completion, chunk: _Completion | _PlainChunk) -> None:
    whole.model = whole.model or chunk.model
    whole.id = whole.id or chunk.id
    whole.system_fingerprint = whole.system_fingerprint or chunk.system_fingerprint


def _reply(
    completion: _Completion,
    text: str,
    reasoning: list[str],
    choice: _Choice,
    refusal: str,
    usage: dict[str, Any] | None,
) -> Reply:
    refused = bool(refusal) and not text.strip()
    return Reply(
        text=refusal if refused else text,
        finish_reason=choice.finish_reason,
        native_finish_reason=choice.native_finish_reason,
        reasoning=joined(reasoning) or None,
        refused="content_policy" if refused else None,
        usage=usage,
        model=text_or_none(completion.model),
        fingerprint=text_or_none(completion.system_fingerprint),
        response_id=text_or_none(completion.id),
    )
