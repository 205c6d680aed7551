import asyncio
import json
from types import SimpleNamespace

import aiohttp
import anthropic
import openai
import pytest

from proverbench.rehearse import ModelReply, Play, Profile, RehearseServer
from proverbench.rehearse import server as server_module
from proverbench.rehearse.plays import (
    ABSENT,
    answer,
    empty_body,
    error_in_200,
    failure,
    hang,
    late,
    no_credit,
    too_many,
    unknown_model,
    unknown_parameter,
    web_page,
    wrong_key,
)
from tests.support import Gate, every, until

_PROMPT = [{"role": "user", "content": "Write <step> elements."}]


@pytest.fixture
async def server():
    async with RehearseServer() as running:
        yield running


@pytest.fixture
async def client(server):
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0) as made:
        yield made


@pytest.fixture
async def claude(server):
    async with anthropic.AsyncAnthropic(base_url=server.origin, api_key="sk-ant", max_retries=0) as made:
        yield made


@pytest.fixture
def clock(monkeypatch):
    """The server's, moved by hand."""
    made = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(server_module, "time", SimpleNamespace(monotonic=lambda: made.now, time=lambda: 0))
    return made


async def _ask(client, **more):
    return await client.chat.completions.create(model="m", messages=_PROMPT, **more)


async def _message(claude, **more):
    return await claude.messages.create(model="m", max_tokens=100, messages=_PROMPT, **more)


async def _post(server, path="/chat/completions", body=None, **more):
    body = {"model": "m", "messages": _PROMPT} if body is None else body
    async with aiohttp.ClientSession() as session, session.post(server.base_url + path, json=body, **more) as response:
        return response.status, response.headers, await response.read()


class TestProtocols:
    async def test_chat_completion(self, server, client):
        server.script = [answer("<step>a</step>", reasoning="hm")]
        reply = await _ask(client)
        assert reply.choices[0].message.content == "<step>a</step>"
        assert reply.choices[0].finish_reason == "stop"
        assert reply.choices[0].message.model_extra["reasoning_content"] == "hm"
        assert reply.model == "m"
        assert reply.usage.prompt_tokens_details.cached_tokens < reply.usage.prompt_tokens

    async def test_chat_stream(self, server, client):
        server.script = [answer("abcdefghijklmnopqrstuvwxyz", reasoning="hm", finish_reason="length")]
        stream = await _ask(client, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
        deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
        assert "".join(delta.content or "" for delta in deltas) == "abcdefghijklmnopqrstuvwxyz"
        assert "".join((delta.model_extra or {}).get("reasoning_content", "") for delta in deltas) == "hm"
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"
        assert chunks[-1].usage.completion_tokens == 8

    async def test_message(self, server, claude):
        server.script = [answer("text", reasoning="hm")]
        reply = await _message(claude)
        assert [block.type for block in reply.content] == ["thinking", "text"]
        assert reply.content[1].text == "text"
        assert reply.stop_reason == "end_turn"

    async def test_message_stream_equals_the_whole(self, server, claude):
        blocks = [
            {"type": "thinking", "thinking": "why", "signature": "s"},
            {"type": "redacted_thinking", "data": "xx"},
            {"type": "text", "text": "one two three four"},
            {"type": "text", "text": "five"},
        ]
        server.script = [answer(blocks, finish_reason="length")] * 2
        whole = await _message(claude)
        async with claude.messages.stream(model="m", max_tokens=100, messages=_PROMPT) as stream:
            streamed = await stream.get_final_message()
        assert [b.model_dump(exclude={"parsed_output"}) for b in streamed.content] == [
            b.model_dump() for b in whole.content
        ]
        assert streamed.stop_reason == whole.stop_reason == "max_tokens"
        assert streamed.usage.output_tokens == whole.usage.output_tokens

    async def test_responses(self, server, client):
        server.script = [answer("text", reasoning="hm")] * 2
        whole = await client.responses.create(model="m", input="a question")
        assert whole.output_text == "text"
        async with client.responses.stream(model="m", input="a question") as stream:
            streamed = await stream.get_final_response()
        assert streamed.output_text == "text"
        assert streamed.usage == whole.usage

    async def test_models(self, client):
        assert [model.id async for model in client.models.list()] == ["rehearse"]

    async def test_cache_control_is_reported(self, server, claude):
        server.profile = Profile(true_cache=True)
        blocks = [
            {"type": "text", "text": "x" * 4000, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "the rest"},
        ]
        messages = [{"role": "user", "content": blocks}]
        first, second = [
            (await claude.messages.create(model="m", max_tokens=9, messages=messages)).usage for _ in range(2)
        ]
        assert (first.cache_creation_input_tokens, first.cache_read_input_tokens) == (1000, 0)
        assert (second.cache_creation_input_tokens, second.cache_read_input_tokens) == (0, 1000)
        assert first.input_tokens == second.input_tokens == 2

    async def test_wrong_address_and_wrong_requests(self, server, claude):
        assert (await _post(server, "/nothing"))[0] == 404
        assert (await _post(server, body={"messages": _PROMPT}))[0] == 400
        assert (await _post(server, body=[1]))[0] == 400
        status, _, body = await _post(server, "/messages")
        assert (status, b"max_tokens" in body) == (400, True)

    async def test_log_shows_requests_as_received(self, server, client):
        await _ask(client, temperature=0.5, extra_headers={"X-Mine": "1"})
        received = server.log[0]
        assert received.json["temperature"] == 0.5
        assert received.headers["x-mine"] == "1"
        assert received.key == "sk-test"
        assert received.ask.prompt == _PROMPT[0]["content"]
        assert received.outcome == "answered"


class TestFaults:
    @pytest.mark.parametrize(
        ("play", "status", "found"),
        [
            pytest.param(too_many("1e309"), 429, b"rate_limit_error", id="429"),
            pytest.param(failure(529), 529, b"overloaded_error", id="529"),
            pytest.param(no_credit(), 429, b"insufficient_quota", id="no-credit"),
            pytest.param(wrong_key("sk-secret"), 401, b"sk-secret", id="key-echoed"),
            pytest.param(unknown_model("m"), 404, b"model_not_found", id="unknown-model"),
            pytest.param(unknown_parameter("max_tokens"), 400, b'"param": "max_tokens"', id="unknown-parameter"),
            pytest.param(error_in_200(502), 200, b'"code": 502', id="error-in-200"),
            pytest.param(web_page(), 200, b"<html>", id="html"),
            pytest.param(empty_body(), 200, b"", id="empty"),
            pytest.param(Play(body={"choices": None}), 200, b'{"choices": null}', id="no-choices"),
            pytest.param(answer([{"type": "text", "text": None}]), 200, b'"text": null', id="list-content"),
            pytest.param(answer(None), 200, b'"content": null', id="null-content"),
            pytest.param(answer("\ud800"), 200, b"\\ud800", id="lone-surrogate"),
            pytest.param(answer("x", finish_reason="eos"), 200, b'"finish_reason": "eos"', id="odd-finish"),
            pytest.param(answer("x", finish_reason=None), 200, b'"finish_reason": null', id="null-finish"),
        ],
    )
    async def test_bodies(self, server, play, status, found):
        server.script = [play]
        got, _, body = await _post(server)
        assert got == status
        assert found in body

    async def test_absent_finish_reason(self, server):
        server.script = [answer("x", finish_reason=ABSENT)]
        assert "finish_reason" not in json.loads((await _post(server))[2])["choices"][0]

    async def test_headers_go_out_as_they_are(self, server):
        server.script = [too_many("soon"), failure(503, retry_after_ms="1500")]
        assert (await _post(server))[1]["Retry-After"] == "soon"
        assert (await _post(server))[1]["retry-after-ms"] == "1500"

    @pytest.mark.parametrize(
        ("ending", "error"),
        [
            ("reset", aiohttp.ClientOSError),
            ("reset_after_headers", (aiohttp.ClientOSError, aiohttp.ClientPayloadError)),
            ("cut", aiohttp.ClientPayloadError),
        ],
    )
    async def test_endings(self, server, ending, error):
        server.script = [Play(ending=ending)]
        with pytest.raises(error):
            await _post(server)
        await until(lambda: server.ledger.in_flight["all"] == 0)
        assert sum(server.ledger.answers.values()) == 0
        assert server.log[0].outcome == ending

    @pytest.mark.parametrize("ending", ["hang", "stall"])
    async def test_silence_until_the_client_gives_up(self, server, ending):
        server.script = [Play(ending=ending)]
        asking = asyncio.create_task(_post(server))
        await until(lambda: server.log)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asking, 0.2)
        await until(lambda: server.ledger.in_flight["all"] == 0)
        assert sum(server.ledger.answers.values()) == 0
        assert server.log[0].outcome == "abandoned"

    async def test_stream_that_just_ends(self, server, client):
        server.script = [Play(ending="stream_ends")]
        chunks = [chunk async for chunk in await _ask(client, stream=True)]
        assert all(chunk.choices[0].finish_reason is None for chunk in every(chunks))
        assert not server.ledger.answers

    async def test_stream_that_is_cut(self, server, client):
        server.script = [Play(ending="cut")]
        with pytest.raises(openai.APIConnectionError):
            async for _ in await _ask(client, stream=True):
                pass

    async def test_error_event_in_a_stream(self, server, claude):
        server.script = [Play(ending="stream_error")]
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            async with claude.messages.stream(model="m", max_tokens=9, messages=_PROMPT) as stream:
                await stream.get_final_message()
        assert not server.ledger.answers

    async def test_late_answer(self, server):
        server.script = [late(0.1)]
        loop = asyncio.get_running_loop()
        start = loop.time()
        await _post(server)
        assert loop.time() - start >= 0.1

    async def test_a_function_decides(self, server, client):
        async def script(received):
            return failure(500) if received.arrivals_before == 0 else None

        server.script = script
        with pytest.raises(openai.InternalServerError):
            await _ask(client)
        assert (await _ask(client)).choices[0].finish_reason == "stop"


class TestWhileItRuns:
    async def test_key_is_revoked_and_back(self, server, client):
        server.revoke()
        with pytest.raises(openai.AuthenticationError, match="sk-test"):
            await _ask(client)
        server.restore()
        await _ask(client)
        server.revoke("another")
        await _ask(client)

    async def test_everyone_is_throttled_for_a_while(self, server, clock):
        server.throttle(0.75)
        clock.now += 0.25
        status, headers, _ = await _post(server)
        assert (status, headers["Retry-After"]) == (429, "0.500")
        clock.now += 0.5
        assert (await _post(server))[0] == 200

    async def test_control_over_http(self, server):
        orders = {"revoke": True, "faults": "500=0.5", "latency": "fixed:0.5", "model": "other"}
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{server.origin}/rehearse/control", json=orders) as response:
                assert response.status == 200
            async with session.post(f"{server.origin}/rehearse/control", json={"fault": "500=0.5"}) as response:
                assert response.status == 400
                assert "faults" in (await response.json())["error"]
        assert server.profile.faults == {"500": 0.5}
        assert (await _post(server))[0] == 401
        server.control({"restore": True, "faults": "", "latency": "fixed:0", "reset": True})
        assert json.loads((await _post(server))[2])["model"] == "other"
        assert len(server.log) == 1

    async def test_quota_is_kept_and_told(self, server, clock):
        server.profile = Profile(requests_per_minute=120)
        responses = []
        for _ in range(3):
            responses.append(await _post(server))
            clock.now += 0.25
        assert [status for status, _, _ in responses] == [200, 200, 429]
        assert responses[2][1]["x-ratelimit-remaining-requests"] == "0"
        assert responses[2][1]["Retry-After"] == "0.500"
        clock.now += 0.25
        assert (await _post(server))[0] == 200

    async def test_known_models_and_context(self, server, client):
        server.profile = Profile(models=frozenset({"other"}))
        with pytest.raises(openai.NotFoundError):
            await _ask(client)
        server.profile = Profile(context_tokens=1)
        with pytest.raises(openai.BadRequestError, match="context length"):
            await _ask(client)


class TestCounts:
    async def test_in_flight_is_counted_by_role(self, server, client):
        server.profile = Profile(max_in_flight=3)
        server.script = gate = Gate()
        asking = asyncio.gather(*(_ask(client) for _ in range(3)))
        await until(lambda: server.ledger.in_flight["all"] == 3)
        gate.open()
        await asking
        assert server.ledger.max_in_flight["all"] == 3
        assert server.ledger.max_in_flight["policy"] == 3
        assert server.ledger.in_flight["all"] == 0

    async def test_one_after_the_other_is_never_two(self, server, client):
        for _ in range(50):
            await _ask(client)
        assert server.ledger.max_in_flight["all"] == 1

    @pytest.mark.parametrize("deciding", [False, True])
    async def test_abandoned_request_is_not_in_flight_any_more(self, server, deciding):
        """Whether it was given up while it was answered, or while a script decided on the answer."""
        server.script = Gate(n=5) if deciding else [hang()] * 5
        for n in range(5):
            asking = asyncio.create_task(_post(server))
            await until(lambda n=n: len(server.log) > n)
            asking.cancel()
            await until(lambda: server.ledger.in_flight["all"] == 0)
        await _post(server)
        assert server.ledger.max_in_flight["all"] == 1
        assert server.ledger.abandoned == 5
        assert [received.outcome for received in server.log] == ["abandoned"] * 5 + ["answered"]

    async def test_stats_count_answers_and_hide_keys(self, server, client):
        for seed in (1, 1, 2):
            await _ask(client, seed=seed)
        async with aiohttp.ClientSession() as session, session.get(f"{server.origin}/rehearse/stats?prompts=1") as got:
            text = await got.text()
        stats = json.loads(text)
        assert stats["answered"] == 3
        assert stats["distinct_asks_answered"] == 2
        assert stats["asks_answered_more_than_once"] == 1
        assert stats["prompts_by_times_answered"] == {"3": 1}
        assert sorted(stats["answers_by_ask"].values()) == [1, 2]
        assert "sk-test" not in text

    async def test_failures_are_no_answers(self, server, client):
        server.script = [failure(500), Play(reply=ModelReply(content="x"), status=200)]
        with pytest.raises(openai.InternalServerError):
            await _ask(client)
        await _ask(client)
        assert server.stats()["answered"] == 1
        assert server.stats()["responses"] == {"500": 1, "answered": 1}


def test_in_a_thread():
    with (
        RehearseServer.in_thread(script=[answer("hello")]) as server,
        openai.OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client,
    ):
        reply = client.chat.completions.create(model="m", messages=_PROMPT)
    assert reply.choices[0].message.content == "hello"


def test_port_that_is_taken():
    from proverbench.errors import ConfigError

    with (
        RehearseServer.in_thread() as server,
        pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{server.port}"),
        RehearseServer.in_thread(port=server.port),
    ):
        pass
