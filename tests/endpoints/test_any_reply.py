"""Whatever a server sends, an endpoint gives a reply or one of its own errors: good replies, damaged anywhere."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.access import Access
from proverbench.endpoints.anthropic import AnthropicEndpoint
from proverbench.endpoints.base import Reply
from proverbench.endpoints.error_facts import read_error
from proverbench.endpoints.http import Heard
from proverbench.endpoints.openai import OpenAIEndpoint
from proverbench.endpoints.responses import ResponsesEndpoint
from proverbench.endpoints.sse import Event
from proverbench.errors import EndpointError
from proverbench.inputs.config import EndpointConfig, RoleConfig

_CONFIG = EndpointConfig(name="x", base_url="http://127.0.0.1:1/v1")
_ROLES = {"verifier": RoleConfig(model="m", endpoint=_CONFIG)}
CHAT, RESPONSES, MESSAGES = (
    made(_CONFIG, _ROLES, access=Access()) for made in (OpenAIEndpoint, ResponsesEndpoint, AnthropicEndpoint)
)

_USAGE = {"prompt_tokens": 1, "completion_tokens": 2}
_PARTS = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]
_CHOICE = {"index": 0, "finish_reason": "stop", "message": {"content": _PARTS, "reasoning_content": "r"}, "error": None}
_RESPONSE = {
    "id": "r",
    "model": "m",
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "error": None,
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "b"}], "content": []},
        {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
_MESSAGE = {
    "id": "m",
    "type": "message",
    "model": "m",
    "content": [{"type": "thinking", "thinking": "b"}, {"type": "redacted_thinking"}, {"type": "text", "text": "a"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
_ERROR = {"error": {"message": "m", "type": "t", "code": 502, "param": "p", "metadata": {"raw": "x"}}}

BODIES = [
    pytest.param(CHAT, {"id": "c", "model": "m", "choices": [_CHOICE], "usage": _USAGE}, id="chat"),
    pytest.param(RESPONSES, _RESPONSE, id="responses"),
    pytest.param(MESSAGES, _MESSAGE, id="messages"),
    pytest.param(CHAT, _ERROR, id="error"),
    pytest.param(RESPONSES, _ERROR, id="error-responses"),
    pytest.param(MESSAGES, {"type": "error", **_ERROR}, id="error-messages"),
]
STREAMS = [
    pytest.param(
        CHAT,
        [
            {"id": "c", "choices": [{"index": 0, "delta": {"content": "a", "reasoning": "r"}, "finish_reason": None}]},
            {"choices": [{"delta": {"content": None}, "finish_reason": "stop"}]},
            {"choices": [], "usage": _USAGE},
        ],
        id="chat",
    ),
    pytest.param(
        RESPONSES,
        [
            {"type": "response.created", "response": _RESPONSE},
            {"type": "response.output_text.delta", "delta": "a"},
            {"type": "response.incomplete", "response": _RESPONSE},
        ],
        id="responses",
    ),
    pytest.param(
        MESSAGES,
        [
            {"type": "message_start", "message": _MESSAGE},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ],
        id="messages",
    ),
]
_ODD = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        502,
        1e300,
        "",
        "text",
        "error",
        "\ud800",
        [],
        [None],
        ["a"],
        [[]],
        [{}],
        {},
        {"a": 1},
        {"type": "text"},
    ]
)


def _places(value, path=()):
    """Paths to everything inside ``value``."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*path, key))


def _damaged(value, data):
    """A copy with one to three values replaced, taken away, or put twice."""
    value = [copy.deepcopy(value)]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(_places(value))[1:]))
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        if data.draw(st.booleans()) or len(path) == 1:
            holder[path[-1]] = copy.deepcopy(data.draw(_ODD))
        elif data.draw(st.booleans()):
            del holder[path[-1]]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
    return value[0]


def _check(reply):
    assert isinstance(reply, Reply)
    assert isinstance(reply.text, str)
    assert reply.finish_reason is None or isinstance(reply.finish_reason, str)
    assert reply.reasoning is None or isinstance(reply.reasoning, str)
    assert reply.usage is None or isinstance(reply.usage, dict)


@pytest.mark.parametrize(("endpoint", "body"), BODIES)
@given(data=st.data())
def test_body(endpoint, body, data):
    with suppress(EndpointError):
        _check(endpoint.read_reply(json.dumps(_damaged(body, data)).encode(), endpoint.roles["verifier"]))


@pytest.mark.parametrize("endpoint", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"])
@given(raw=st.binary(max_size=40))
def test_bytes(endpoint, raw):
    with suppress(EndpointError):
        _check(endpoint.read_reply(raw, endpoint.roles["verifier"]))
    read_error(raw)


@pytest.mark.parametrize(("endpoint", "events"), STREAMS)
@given(data=st.data(), done=st.booleans(), named=st.booleans())
async def test_stream(endpoint, events, data, done, named):
    damaged = _damaged(events, data)

    async def stream():
        for event in damaged if isinstance(damaged, list) else [damaged]:
            name = event.get("type") if named and isinstance(event, dict) else None
            yield Event(name if isinstance(name, str) else "", json.dumps(event).encode())
        if done:
            yield Event("", b"[DONE]")

    with suppress(EndpointError):
        _check(await endpoint.read_stream(stream(), endpoint.roles["verifier"], Heard()))


@given(st.integers(100, 599), st.data())
def test_error_body(status, data):
    facts = read_error(json.dumps(_damaged(_ERROR, data)).encode())
    said = ""
    try:
        assert CHAT.refused_or_raise(status, facts, CHAT.roles["verifier"]).refused
    except EndpointError as exc:
        said = str(exc)
    assert "\n" not in said
