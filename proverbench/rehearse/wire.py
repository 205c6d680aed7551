"""The protocols' bodies: a request read into an :class:`Ask`, a reply written as JSON or as a stream of events.

Pure: bytes and values in, bytes and values out. Written from the providers' public API references (OpenAI chat
completions and responses, Anthropic messages).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from proverbench.records import Role
from proverbench.rehearse.plays import ABSENT, ModelReply

Protocol = Literal["chat", "responses", "messages"]
"""Chat completions, Responses (both OpenAI's), Messages (Anthropic's)."""

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

_ANTHROPIC_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
_CHUNKS = 8


JUDGES_ARE_ASKED = ("<assessment>", "<points>", "\\boxed{0.5}", "<paragraph_0>")
"""What a verifier's prompt wants back, or shows: of basic-v1, grade-0-7, score-3 and process-v1."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request for a completion, whatever its protocol."""

    protocol: Protocol
    model: str
    prompt: str
    """All text of all messages, joined by blank lines."""
    seed: int | None
    """The request's own ``seed``, if it has one."""
    stream: bool
    include_usage: bool
    """Whether a stream of chat completions ends with token counts."""
    max_tokens: int | None
    cached_chars: int
    """Length of the text up to the last ``cache_control`` mark; 0 without one."""
    marks: tuple[int, ...] = ()
    """Length of the text up to each of them."""

    @property
    def role(self) -> Role:
        """Who is asking, told by what the prompt wants back."""
        if "<level>" in self.prompt:
            return "meta"
        if any(mark in self.prompt for mark in JUDGES_ARE_ASKED):
            return "verifier"
        return "policy"

    @property
    def digest(self) -> str:
        """Names the question: prompt and seed, as what a client should ask only once."""
        return digest(self.prompt, self.seed)


def digest(*parts: object) -> str:
    """SHA-256 of the parts, in 32 hex digits; lone surrogates are allowed."""
    text = "\0".join(str(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_ask(protocol: Protocol, body: Mapping[str, Any]) -> Ask:
    """Read a request.

    Raises:
        ValueError: If it is none: the message says which field is missing or wrong, as a provider would.
    """
    if not isinstance(body.get("model"), str):
        raise ValueError("model: field required")
    messages = body.get("input" if protocol == "responses" else "messages")
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages: field required")
    if protocol == "messages" and not isinstance(body.get("max_tokens"), int):
        raise ValueError("max_tokens: field required")
    texts, marks = _texts(messages)
    options = body.get("stream_options")
    limits = [body.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    return Ask(
        protocol=protocol,
        model=body["model"],
        prompt="\n\n".join(texts),
        seed=body["seed"] if isinstance(body.get("seed"), int) else None,
        stream=body.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        max_tokens=next((limit for limit in limits if isinstance(limit, int)), None),
        cached_chars=max(marks, default=0),
        marks=marks,
    )


def _texts(messages: list[Any]) -> tuple[list[str], tuple[int, ...]]:
    """The text of every message, and how much of it lies before each cache mark."""
    texts: list[str] = []
    marks: list[int] = []
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            texts.append(content)
            continue
        text = ""
        for block in content or []:
            text += block.get("text", "") if isinstance(block, dict) else ""
            if isinstance(block, dict) and "cache_control" in block:
                marks.append(sum(map(len, texts)) + len(text))
        texts.append(text)
    return texts, tuple(marks)


def count_tokens(text: str) -> int:
    """A stand-in for a tokeniser: one token per four characters, begun ones counted."""
    return (len(text) + 3) // 4


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a reply reports beside its text."""

    id: str
    created: int
    cached_tokens: int
    """Prompt tokens read from the provider's cache."""
    written_tokens: int = 0
    """Prompt tokens written to it (Anthropic bills these apart)."""


def body_of(ask: Ask, reply: ModelReply, numbers: Numbers) -> dict[str, Any]:
    """The whole reply as one JSON object."""
    if ask.protocol == "messages":
        return _message(ask, reply, numbers)
    if ask.protocol == "responses":
        return _response(ask, reply, numbers)
    message: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": None}
    if reply.reasoning is not None:
        message[reply.reasoning_field] = reply.reasoning
    choice: dict[str, Any] = {"index": 0, "message": message, "logprobs": None}
    if reply.finish_reason is not ABSENT:
        choice["finish_reason"] = reply.finish_reason
    return _chat_frame(ask, reply, numbers, "chat.completion", [choice]) | _chat_usage(ask, reply, numbers)


def events_of(ask: Ask, reply: ModelReply, numbers: Numbers) -> list[bytes]:
    """The reply as server-sent events, each with its blank line."""
    if ask.protocol == "messages":
        return [_event(event["type"], event) for event in _message_events(ask, reply, numbers)]
    if ask.protocol == "responses":
        return [_event(event["type"], event) for event in _response_events(ask, reply, numbers)]
    return [*(_data(chunk) for chunk in _chat_chunks(ask, reply, numbers)), b"data: [DONE]\n\n"]


def error_event(ask: Ask, error: Mapping[str, Any] | None) -> bytes:
    """An error in the middle of a stream, in the protocol's form."""
    error = error or {"type": "overloaded_error", "message": "Overloaded", "code": None}
    if ask.protocol == "messages":
        return _event("error", {"type": "error", "error": dict(error)})
    return _data({"error": dict(error)})


def as_json(value: object) -> bytes:
    """JSON in ASCII, because some strings hold lone surrogates."""
    return json.dumps(value).encode("ascii")


def _data(value: object) -> bytes:
    return b"data: " + as_json(value) + b"\n\n"


def _event(name: str, value: object) -> bytes:
    return f"event: {name}\n".encode() + _data(value)


def _pieces(text: str) -> Iterator[str]:
    size = max(1, -(-len(text) // _CHUNKS))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _output_tokens(reply: ModelReply) -> tuple[int, int]:
    """All output tokens, and those of the reasoning among them."""
    content = reply.content if isinstance(reply.content, str) else json.dumps(reply.content)
    reasoning = count_tokens(reply.reasoning or "")
    return count_tokens(content) + reasoning, reasoning


# --- chat completions


def _chat_frame(ask: Ask, reply: ModelReply, numbers: Numbers, kind: str, choices: list[Any]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{numbers.id}",
        "object": kind,
        "created": numbers.created,
        "model": reply.model or ask.model,
        "system_fingerprint": reply.fingerprint,
        "choices": choices,
    }


def _chat_usage(ask: Ask, reply: ModelReply, numbers: Numbers) -> dict[str, Any]:
    if reply.usage is ABSENT:
        return {}
    if reply.usage is None or reply.usage:
        return {"usage": reply.usage}
    prompt, (output, reasoning) = count_tokens(ask.prompt), _output_tokens(reply)
    return {
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": numbers.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }
    }


def _chat_chunks(ask: Ask, reply: ModelReply, numbers: Numbers) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: Any = None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "delta": delta}
        if finish is not ABSENT:
            choice["finish_reason"] = finish
        return _chat_frame(ask, reply, numbers, "chat.completion.chunk", [choice])

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.reasoning or ""):
        yield chunk({reply.reasoning_field: piece})
    if isinstance(reply.content, str):
        for piece in _pieces(reply.content):
            yield chunk({"content": piece})
    elif reply.content is not None:
        yield chunk({"content": reply.content})
    yield chunk({}, reply.finish_reason)
    if ask.include_usage:
        yield _chat_frame(ask, reply, numbers, "chat.completion.chunk", []) | _chat_usage(ask, reply, numbers)


# --- messages


def _message(ask: Ask, reply: ModelReply, numbers: Numbers) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": f"msg_{numbers.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model or ask.model,
        "content": _blocks(reply),
        "stop_sequence": None,
        "usage": _message_usage(ask, reply, numbers),
    }
    if reply.finish_reason is not ABSENT:
        body["stop_reason"] = _stop_reason(reply)
    return body


def _stop_reason(reply: ModelReply) -> object:
    reason = reply.finish_reason
    return _ANTHROPIC_REASONS.get(reason, reason) if isinstance(reason, str) else None


def _blocks(reply: ModelReply) -> list[Any]:
    blocks: list[Any] = []
    if reply.reasoning is not None:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "rehearsed"})
    if isinstance(reply.content, str):
        blocks.append({"type": "text", "text": reply.content})
    elif reply.content is not None:
        blocks += reply.content
    return blocks


def _message_usage(ask: Ask, reply: ModelReply, numbers: Numbers) -> dict[str, Any] | None:
    if reply.usage is ABSENT or reply.usage is None:
        return None
    if isinstance(reply.usage, Mapping) and reply.usage:
        return dict(reply.usage)
    fresh = count_tokens(ask.prompt) - numbers.cached_tokens - numbers.written_tokens
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": numbers.written_tokens,
        "cache_read_input_tokens": numbers.cached_tokens,
        "output_tokens": _output_tokens(reply)[0],
    }


def _message_events(ask: Ask, reply: ModelReply, numbers: Numbers) -> Iterator[dict[str, Any]]:
    whole = _message(ask, reply, numbers)
    usage = whole["usage"] or {"input_tokens": 0, "output_tokens": 0}
    yield {
        "type": "message_start",
        "message": {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}},
    }
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        yield from _block_events(index, block)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": whole.get("stop_reason"), "stop_sequence": None},
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _block_events(index: int, block: Any) -> Iterator[dict[str, Any]]:
    kind = block.get("type") if isinstance(block, dict) else None
    name = kind if kind in ("text", "thinking") else None
    start = {**block, name: ""} if name else block
    if name == "thinking":
        start["signature"] = ""
    yield {"type": "content_block_start", "index": index, "content_block": start}
    if name:
        for piece in _pieces(block[name]):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": f"{name}_delta", name: piece}}
    if name == "thinking":
        delta = {"type": "signature_delta", "signature": block.get("signature", "")}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


# --- responses


def _response(ask: Ask, reply: ModelReply, numbers: Numbers) -> dict[str, Any]:
    prompt, (output, reasoning) = count_tokens(ask.prompt), _output_tokens(reply)
    items: list[Any] = []
    if reply.reasoning is not None:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"id": f"rs_{numbers.id}", "type": "reasoning", "summary": summary})
    if reply.content is not None:
        part = {"type": "output_text", "text": reply.content, "annotations": []}
        content = [part] if isinstance(reply.content, str) else reply.content
        items.append(
            {
                "id": f"msg_{numbers.id}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    stopped = reply.finish_reason == "stop"
    reason = "max_output_tokens" if reply.finish_reason == "length" else reply.finish_reason
    return {
        "id": f"resp_{numbers.id}",
        "object": "response",
        "created_at": numbers.created,
        "model": reply.model or ask.model,
        "status": "completed" if stopped else "incomplete",
        "incomplete_details": None if stopped else {"reason": None if reason is ABSENT else reason},
        "error": None,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": numbers.cached_tokens},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": prompt + output,
        },
    }


def _response_events(ask: Ask, reply: ModelReply, numbers: Numbers) -> Iterator[dict[str, Any]]:
    whole = _response(ask, reply, numbers)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    kind = "response.completed" if whole["status"] == "completed" else "response.incomplete"
    events = [
        {"type": "response.created", "response": begun},
        *(event for index, item in enumerate(whole["output"]) for event in _item_events(index, item)),
        {"type": kind, "response": whole},
    ]
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    empty = {**item, "content": [], "status": "in_progress"} if "content" in item else item
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    for number, part in enumerate(item.get("content", [])):
        text = part.get("text") or ""
        place = {"item_id": item["id"], "output_index": index, "content_index": number}
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        for piece in _pieces(text):
            yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}
