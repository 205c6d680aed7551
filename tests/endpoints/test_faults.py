"""faults.md rows 1 to 21, as far as they are an endpoint's: a real server plays each, over both protocols."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import traceback

import pytest

from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Answered, Priority, Unanswered
from proverbench.errors import EndpointError, FatalEndpointError
from proverbench.rehearse.plays import (
    ABSENT,
    ModelReply,
    Play,
    answer,
    context_length,
    empty_body,
    error_in_200,
    failure,
    hang,
    no_credit,
    too_many,
    unknown_model,
    unknown_parameter,
    web_page,
    wrong_key,
)
from tests.endpoints.conftest import KEY, ask, request
from tests.support import Gate, every, until

PROTOCOLS = pytest.mark.parametrize("protocol", ["chat", "responses", "messages"])
OF_BOTH = pytest.mark.parametrize("protocol", ["chat", "messages"])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def body(message, finish="stop"):
    return Play(body={"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


class TestErrorIn200:  # row 1
    @PROTOCOLS
    async def test_transient_is_retried(self, bench, protocol):
        bench.server.script = [error_in_200(502), answer("yes")]
        outcome = await ask(bench.caller(protocol))
        assert (outcome.reply.text, outcome.attempts) == ("yes", 2)

    @PROTOCOLS
    async def test_wrong_key_stops(self, bench, protocol):
        bench.server.script = [error_in_200(401, "no such key")]
        with pytest.raises(FatalEndpointError, match="no such key"):
            await ask(bench.caller(protocol))
        assert len(bench.server.log) == 1


class TestShapes:  # rows 2 and 3
    @pytest.mark.parametrize(
        "bad",
        [
            pytest.param(Play(body={"choices": None}), id="null-choices"),
            pytest.param(Play(body={"choices": []}), id="no-choices"),
            pytest.param(Play(body={"choices": [{"finish_reason": "stop"}]}), id="no-message"),
            pytest.param(Play(body={"choices": [{"message": None}]}), id="null-message"),
            pytest.param(Play(body={"choices": ["text"]}), id="choice-is-text"),
            pytest.param(Play(body={"choices": {"0": 1}}), id="choices-is-object"),
            pytest.param(body({"content": {"text": "a"}}), id="content-is-object"),
            pytest.param(body({"content": 7}), id="content-is-number"),
            pytest.param(Play(body=[]), id="list"),
            pytest.param(Play(body='"text"'), id="bare-text"),
            pytest.param(Play(body="{" * 100_000), id="deep"),
            pytest.param(Play(body="[" * 100_000 + "]" * 100_000), id="deep-closed"),
            pytest.param(Play(body=b"\xff\xfe\x00"), id="bytes"),
            pytest.param(empty_body(), id="empty"),
            pytest.param(web_page(), id="html"),
        ],
    )
    async def test_chat(self, bench, bad):
        bench.server.script = [bad, bad, bad]
        outcome = await ask(bench.caller())
        assert isinstance(outcome, Unanswered)
        assert (outcome.error_kind, outcome.attempts) == ("bad_reply", 3)

    @pytest.mark.parametrize(
        "bad", [Play(body={"content": None}), Play(body={}), Play(body=[]), empty_body(), web_page()]
    )
    @pytest.mark.parametrize("protocol", ["messages", "responses"])
    async def test_others(self, bench, protocol, bad):
        bench.server.script = [bad, bad, bad]
        outcome = await ask(bench.caller(protocol))
        assert outcome.error_kind == "bad_reply"

    async def test_message_says_what_came(self, bench):
        bench.server.script = [Play(body="<html><head><title>Gateway login</title></head></html>")] * 3
        outcome = await ask(bench.caller())
        assert "an HTML page titled 'Gateway login'" in outcome.message

    async def test_empty_says_so(self, bench):
        bench.server.script = [empty_body()] * 3
        assert "nothing" in (await ask(bench.caller())).message

    @PROTOCOLS
    async def test_plain_reply_to_a_stream_request(self, bench, protocol):
        """Some servers ignore ``stream``."""
        made = bench.caller(protocol, stream=False)
        whole = await ask(made)
        recorded = bench.server.log[0]
        assert not recorded.json.get("stream")
        assert isinstance(whole, Answered)
        plain = {
            "chat": {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]},
            "messages": {"type": "message", "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"},
            "responses": {
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}],
            },
        }[protocol]
        bench.server.script = [Play(body=plain)]
        bench.server._played = 0
        outcome = await ask(bench.caller(protocol, stream=True))
        assert outcome.reply.text == "a"


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "<first_error_step>0</first_error_step>"}]},
    {"type": "text", "text": "one "},
    {"type": "unheard_of", "text": "no"},
    {"type": "text", "text": None},
    {"type": "text", "text": "two"},
    "bare",
    None,
]


class TestContents:  # rows 4, 5, 12, 13
    async def test_list_of_parts(self, bench):
        bench.server.script = [body({"content": PARTS})]
        reply = (await ask(bench.caller())).reply
        assert reply.text == "one two"
        assert reply.reasoning == "<first_error_step>0</first_error_step>"

    @STREAMED
    async def test_everything_in_reasoning(self, bench, stream):
        bench.server.script = [answer(None, reasoning="<assessment>", finish_reason="length")]
        outcome = await ask(bench.caller(stream=stream))
        assert (outcome.reply.text, outcome.reply.finish_reason) == ("", "length")
        assert outcome.reply.reasoning == "<assessment>"
        assert outcome.attempts == 1

    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    @STREAMED
    async def test_reasoning_kept_apart(self, bench, stream, name):
        bench.server.script = [answer("text", reasoning="thought", reasoning_field=name)]
        reply = (await ask(bench.caller(stream=stream))).reply
        assert (reply.text, reply.reasoning) == ("text", "thought")

    async def test_both_reasoning_fields_hold_the_same(self, bench):
        bench.server.script = [body({"content": "a", "reasoning": "r", "reasoning_content": "r"})]
        assert (await ask(bench.caller())).reply.reasoning == "r"

    @STREAMED
    async def test_anthropic_blocks(self, bench, stream):
        bench.server.script = [
            answer(
                [
                    {"type": "thinking", "thinking": "<first_error_step>0</first_error_step>", "signature": "s"},
                    {"type": "redacted_thinking", "data": "AAAA"},
                    {"type": "text", "text": "one "},
                    {"type": "text", "text": "two"},
                ]
            )
        ]
        reply = (await ask(bench.caller("messages", stream=stream))).reply
        assert reply.text == "one two"
        assert reply.reasoning == "<first_error_step>0</first_error_step>\n\n[redacted thinking]"
        assert reply.finish_reason == "end_turn"

    @STREAMED
    @pytest.mark.parametrize(
        ("content", "finish", "refused", "stored"),
        [
            pytest.param([], "content_filter", "content_policy", "refusal", id="refusal"),
            pytest.param([{"type": "text", "text": "wait"}], "pause_turn", None, "pause_turn", id="pause"),
            pytest.param([{"type": "thinking", "thinking": "hm"}], "stop", None, "end_turn", id="only-thinking"),
        ],
    )
    async def test_anthropic_answered_without_an_answer(self, bench, stream, content, finish, refused, stored):
        bench.server.script = [answer(content, finish_reason=finish)]
        outcome = await ask(bench.caller("messages", stream=stream))
        assert isinstance(outcome, Answered)
        assert (outcome.reply.refused, outcome.reply.finish_reason, outcome.attempts) == (refused, stored, 1)

    @STREAMED
    async def test_responses_reasoning(self, bench, stream):
        bench.server.script = [answer("text", reasoning="thought")]
        reply = (await ask(bench.caller("responses", stream=stream))).reply
        assert (reply.text, reply.reasoning, reply.finish_reason) == ("text", "thought", "stop")

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param('"\\ud83d alone"', id="lone-surrogate"),
            pytest.param('"a\\u0000b"', id="nul"),
            pytest.param('"\\ufffe ℝ"', id="noncharacter"),
            pytest.param('"tab\there"', id="raw-control-character"),
        ],
    )
    async def test_odd_characters_arrive(self, bench, text):
        raw = '{"choices": [{"message": {"content": %s}, "finish_reason": "stop"}], "usage": {"x": NaN}}'.replace(
            "%s", text
        )
        bench.server.script = [Play(body=raw.encode())]
        assert (await ask(bench.caller())).reply.text == json.loads(text, strict=False)

    async def test_surrogates_in_a_prompt_are_sent_as_replacements(self, bench):
        await ask(bench.caller(), "a \ud800 b ℝ")
        assert bench.server.log[0].json["messages"][0]["content"] == "a \ufffd b ℝ"

    async def test_a_character_cut_in_two_by_a_stream(self, bench):
        chunks = [r'{"choices":[{"delta":{"content":"\ud83d"}}]}', r'{"choices":[{"delta":{"content":"\ude00"}}]}']
        chunks += ['{"choices":[{"delta":{},"finish_reason":"stop"}]}', "[DONE]"]
        text = "".join(f"data: {chunk}\n\n" for chunk in chunks)
        bench.server.script = [Play(headers={"Content-Type": "text/event-stream"}, body=text)]
        assert (await ask(bench.caller(stream=True))).reply.text == "😀"


class TestFinishReasons:  # rows 6 and 7
    @STREAMED
    @pytest.mark.parametrize(
        "reason", ["stop", "length", "eos", "STOP", "end_turn", "content_filter", "tool_calls", "odd"]
    )
    async def test_stored_as_sent(self, bench, reason, stream):
        bench.server.script = [answer("a", finish_reason=reason)]
        outcome = await ask(bench.caller(stream=stream))
        assert (outcome.reply.finish_reason, outcome.attempts) == (reason, 1)

    @pytest.mark.parametrize("reason", [None, ABSENT, "", " "])
    async def test_missing(self, bench, reason):
        bench.server.script = [answer("a", finish_reason=reason)] * 3
        caller = bench.caller()
        outcome = await ask(caller)
        await ask(caller)
        assert outcome.reply.finish_reason is None
        assert len(caller.state.notes) == 1
        assert "accept_missing_finish" in caller.state.notes[0]

    @PROTOCOLS
    async def test_a_stream_that_just_ends_is_no_answer(self, bench, protocol):
        bench.server.script = [Play(reply=ModelReply(content="abc" * 50), ending="stream_ends")] * 3
        outcome = await ask(bench.caller(protocol, stream=True))
        assert (outcome.error_kind, outcome.attempts) == ("stream_cut", 3)

    async def test_error_is_no_answer(self, bench):
        bench.server.script = [answer("half", finish_reason="error")] * 3
        outcome = await ask(bench.caller())
        assert (outcome.error_kind, outcome.attempts) == ("server_ended:error", 3)

    async def test_an_error_beside_the_choice_is_classified(self, bench):
        choice = {
            "message": {"content": "half"},
            "finish_reason": "error",
            "error": {"code": 402, "message": "no money"},
        }
        bench.server.script = [Play(body={"choices": [choice]})]
        with pytest.raises(FatalEndpointError, match="no money"):
            await ask(bench.caller())

    @pytest.mark.parametrize(("sent", "stored"), [("length", "max_tokens"), ("stop_sequence", "stop_sequence")])
    async def test_anthropic(self, bench, sent, stored):
        bench.server.script = [answer("a", finish_reason=sent)]
        assert (await ask(bench.caller("messages"))).reply.finish_reason == stored

    @STREAMED
    @pytest.mark.parametrize(("sent", "stored"), [("length", "length"), ("content_filter", "content_filter")])
    async def test_responses(self, bench, sent, stored, stream):
        bench.server.script = [answer("a", finish_reason=sent)]
        assert (await ask(bench.caller("responses", stream=stream))).reply.finish_reason == stored


class TestConnections:  # row 8
    @PROTOCOLS
    @STREAMED
    @pytest.mark.parametrize("ending", ["cut", "reset", "reset_after_headers"])
    async def test_broken_is_retried(self, bench, protocol, stream, ending):
        bench.server.script = [Play(ending=ending), answer("yes")]
        outcome = await ask(bench.caller(protocol, stream=stream))
        assert (outcome.reply.text, outcome.attempts, outcome.abandoned) == ("yes", 2, 0)

    async def test_others_go_on(self, bench):
        bench.server.script = lambda got: Play(ending="reset") if got.index % 3 == 0 else None
        caller = bench.caller(max_retries=20)
        outcomes = await asyncio.gather(*(ask(caller, f"prompt {n}") for n in range(40)))
        assert all(isinstance(outcome, Answered) for outcome in every(outcomes))
        assert caller.state.in_flight == 0

    async def test_nobody_listens(self, bench):
        caller = bench.caller(base_url="http://127.0.0.1:1/v1", max_retries=6)
        with pytest.raises(FatalEndpointError, match=r"'judge'.*check base_url, and that the server is running"):
            await ask(caller)
        assert caller.state.attempts == 3

    async def test_a_server_that_goes_away_later_costs_only_its_calls(self, bench):
        caller = bench.caller()
        await ask(caller)
        await bench.server.stop()
        outcome = await ask(caller)
        assert isinstance(outcome, Unanswered)
        assert outcome.attempts == 3


class TestAddresses:  # row 9
    @pytest.mark.parametrize("tail", ["/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/", "/v1beta/openai"])
    async def test_accepted(self, bench, tail):
        outcome = await ask(bench.caller(base_url=bench.server.origin + tail))
        assert isinstance(outcome, Answered)

    @pytest.mark.parametrize("tail", ["", "/v1", "/v1/"])
    async def test_anthropic_with_or_without_version(self, bench, tail):
        assert isinstance(await ask(bench.caller("messages", base_url=bench.server.origin + tail)), Answered)

    async def test_without_version_stops_and_proposes_it(self, bench):
        with pytest.raises(FatalEndpointError, match=f'try base_url = "{bench.server.origin}/v1"'):
            await ask(bench.caller(base_url=bench.server.origin))
        assert len(bench.server.log) == 1

    @PROTOCOLS
    async def test_unknown_model_stops_even_later(self, bench, protocol):
        bench.server.script = [answer("a"), unknown_model("model-verifier")]
        caller = bench.caller(protocol)
        await ask(caller)
        with pytest.raises(FatalEndpointError, match=r"model-verifier.*check the role's model"):
            await ask(caller)

    async def test_redirect_is_told(self, bench):
        bench.server.script = [Play(status=308, headers={"Location": "https://elsewhere"})]
        with pytest.raises(FatalEndpointError, match="redirects"):
            await ask(bench.caller())


class TestParameters:  # rows 10 and 11
    @pytest.mark.parametrize("name", ["max_tokens", "temperature"])
    @OF_BOTH
    async def test_the_error_names_it(self, bench, name, protocol):
        bench.server.script = [unknown_parameter(name)]
        with pytest.raises(FatalEndpointError, match=f"does not accept '{name}'; change it in the role's generation"):
            await ask(bench.caller(protocol))

    async def test_only_what_is_set_is_sent(self, bench):
        generation = {
            "max_completion_tokens": 5,
            "reasoning_effort": "high",
            "extra_body": {"grammar": "g", "top_k": 1},
        }
        await ask(bench.caller(generation=generation), "p")
        assert bench.server.log[0].json == {
            "model": "model-verifier",
            "max_completion_tokens": 5,
            "reasoning_effort": "high",
            "grammar": "g",
            "top_k": 1,
            "messages": [{"role": "user", "content": "p"}],
        }

    async def test_anthropic_body(self, bench):
        generation = {"max_tokens": 5000, "thinking": {"type": "enabled", "budget_tokens": 2000}}
        await ask(bench.caller("messages", generation=generation), "p")
        assert bench.server.log[0].json == {
            "model": "model-verifier",
            "max_tokens": 5000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "messages": [{"role": "user", "content": [{"type": "text", "text": "p"}]}],
        }
        headers = bench.server.log[0].headers
        assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")

    @pytest.mark.parametrize(
        ("generation", "settings", "streamed"),
        [
            pytest.param({"max_tokens": 20_000}, {}, False, id="short"),
            pytest.param({"max_tokens": 64_000}, {}, True, id="long"),
            pytest.param({"max_tokens": 64_000}, {"timeout_s": 300.0}, False, id="no-time-to-be-idle"),
            pytest.param({"max_tokens": 20_000}, {"read_timeout_s": 60.0}, True, id="longer-than-the-silence-allowed"),
            pytest.param({"max_tokens": 64_000}, {"stream": False}, False, id="configured-off"),
            pytest.param({"max_tokens": 10}, {"stream": True}, True, id="configured-on"),
        ],
    )
    @PROTOCOLS
    async def test_streams_when_needed(self, bench, protocol, generation, settings, streamed):
        outcome = await ask(bench.caller(protocol, generation=generation, **{"timeout_s": 1800.0, **settings}))
        assert bench.server.log[0].ask.stream is streamed
        assert isinstance(outcome, Answered)
        assert outcome.reply.usage

    async def test_streams_without_a_limit_when_there_is_time(self, bench):
        await ask(bench.caller(generation={}, timeout_s=1800.0))
        assert bench.server.log[0].ask.stream

    @OF_BOTH
    async def test_529_is_retried(self, bench, protocol):
        bench.server.script = [failure(529), answer("yes")]
        assert (await ask(bench.caller(protocol))).attempts == 2

    @PROTOCOLS
    async def test_error_in_mid_stream_is_retried(self, bench, protocol):
        bench.server.script = [Play(reply=ModelReply(content="abc" * 50), ending="stream_error"), answer("yes")]
        outcome = await ask(bench.caller(protocol, stream=True))
        assert (outcome.reply.text, outcome.attempts) == ("yes", 2)

    @OF_BOTH
    async def test_wrong_key_in_mid_stream_stops(self, bench, protocol):
        error = {"type": "authentication_error", "message": "revoked"}
        bench.server.script = [Play(reply=ModelReply(content="abc" * 50), ending="stream_error", stream_error=error)]
        with pytest.raises(FatalEndpointError, match="revoked"):
            await ask(bench.caller(protocol, stream=True))

    async def test_a_shared_prefix_is_marked_for_the_cache(self, bench):
        await ask(bench.caller("messages"), "fixed part, own part", cacheable_chars=11)
        blocks = bench.server.log[0].json["messages"][0]["content"]
        assert blocks == [
            {"type": "text", "text": "fixed part,", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": " own part"},
        ]

    async def test_a_server_that_refuses_the_cache_mark_is_asked_without_it(self, bench):
        refusal = {"type": "error", "error": {"type": "invalid_request_error"}}
        refusal["error"]["message"] = "messages.0.content.0.text.cache_control: Extra inputs are not permitted"

        def play(got):
            return Play(status=400, body=refusal) if "cache_control" in json.dumps(got.json) else None

        bench.server.script = play
        caller = bench.caller("messages", max_retries=0)
        for _ in range(3):
            outcome = await ask(caller, "fixed part, own part", cacheable_chars=11)
            assert isinstance(outcome, Answered)
        assert ["cache_control" in json.dumps(got.json) for got in bench.server.log] == [True, False, False, False]
        said = [note for note in caller.state.notes if "cache_control" in note]
        assert len(said) == 1

    @pytest.mark.parametrize(
        ("prompt", "chars", "texts"),
        [("  \nabc", 3, ["  \nabc"]), ("abc \n", 3, ["abc \n"]), ("abc", 9, ["abc"]), ("abc", 0, ["abc"])],
    )
    async def test_no_blank_block_is_sent(self, bench, prompt, chars, texts):
        await ask(bench.caller("messages"), prompt, cacheable_chars=chars)
        assert [b["text"] for b in bench.server.log[0].json["messages"][0]["content"]] == texts

    async def test_each_call_its_own_seed(self, bench):
        caller = bench.caller(generation={"seed": 7})
        for repeat in (0, 1, 0):
            await ask(caller, repeat=repeat)
        await ask(caller, seed=99)
        first, second, again, given = [got.json["seed"] for got in bench.server.log]
        assert first == again != second
        assert first != 7
        assert given == 99


class TestRefusals:
    @PROTOCOLS
    async def test_context_length(self, bench, protocol):
        bench.server.script = [context_length(protocol)]
        outcome = await ask(bench.caller(protocol))
        assert isinstance(outcome, Answered)
        assert (outcome.reply.text, outcome.reply.refused) == ("", "context_length")

    @OF_BOTH
    async def test_content_policy(self, bench, protocol):
        bench.server.script = [failure(400, "flagged", code="content_policy_violation")]
        assert (await ask(bench.caller(protocol))).reply.refused == "content_policy"

    async def test_other_4xx_stops_at_first_and_is_unanswered_later(self, bench):
        bench.server.script = [failure(422, "odd")]
        with pytest.raises(FatalEndpointError, match="odd"):
            await ask(bench.caller())
        bench.server.script = lambda got: failure(422, "odd") if "bad" in got.ask.prompt else None
        caller = bench.caller()
        await ask(caller)
        outcome = await ask(caller, "bad")
        assert (outcome.error_kind, outcome.status, outcome.attempts) == ("http_422", 422, 1)


class TestRetries:  # rows 15 to 18 and 21
    @pytest.mark.parametrize(
        ("header", "value", "least"),
        [
            ("Retry-After", "7", 7),
            ("Retry-After", "1.5", 1.5),
            ("retry-after-ms", "2500", 2.5),
            ("Retry-After", "Fri, 01 Jan 1999 00:00:00 GMT", 0),
            ("Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT", 300),
            ("Retry-After", "nan", 0),
            ("Retry-After", "1e309", 300),
            ("Retry-After", "9" * 5000, 300),
            ("Retry-After", "soon", 0),
            ("Retry-After", "-3", 0),
        ],
    )
    async def test_hint(self, bench, header, value, least):
        bench.server.script = [Play(status=503, headers={header: value}, body=b""), answer("yes")]
        caller = bench.caller()
        assert (await ask(caller)).attempts == 2
        assert least <= bench.naps.taken[0] <= least * 1.25 + 1

    @pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
    @OF_BOTH
    async def test_transient(self, bench, status, protocol):
        bench.server.script = [failure(status), answer("yes")]
        assert (await ask(bench.caller(protocol))).attempts == 2

    async def test_bounded(self, bench):
        bench.server.script = lambda got: failure(503)
        outcome = await ask(bench.caller(max_retries=4))
        assert (outcome.error_kind, outcome.status, outcome.attempts) == ("http_503", 503, 5)
        assert len(bench.server.log) == 5
        assert all(nap <= 2**n for n, nap in enumerate(bench.naps.taken))

    @pytest.mark.parametrize(
        "play",
        [
            no_credit(),
            failure(402, "pay"),
            failure(403, "Your billing account is closed"),
            failure(400, "Your credit balance is too low to access the API."),
            wrong_key(KEY),
            failure(403, "permission denied", kind="permission_error"),
        ],
    )
    @OF_BOTH
    async def test_stops_late_too(self, bench, protocol, play):  # row 16
        bench.server.script = [*[answer("a")] * 5, play]
        caller = bench.caller(protocol)
        for _ in range(5):
            assert isinstance(await ask(caller), Answered)
        with pytest.raises(FatalEndpointError):
            await ask(caller)
        assert len(bench.server.log) == 6

    async def test_rate_limit_lowers_concurrency_and_it_comes_back(self, bench):  # row 17
        caller = bench.caller(concurrency=20, max_retries=100)
        bench.server.script = lambda got: too_many() if got.index < 60 else None
        lowest = 20

        async def back_off(seconds):
            nonlocal lowest
            lowest = min(lowest, caller.state.concurrency)
            await asyncio.sleep(seconds / 50)

        caller._sleep = back_off
        outcomes = await asyncio.gather(*(ask(caller, f"p{n}") for n in range(400)))
        assert all(isinstance(outcome, Answered) for outcome in outcomes)
        assert lowest <= 10
        assert caller.state.concurrency == 20
        assert bench.server.ledger.max_in_flight["all"] <= 20
        assert sum(outcome.attempts for outcome in outcomes) == len(bench.server.log)

    @pytest.mark.parametrize("stream", [False, True])
    async def test_silence(self, bench, stream, pass_time):  # rows 18 and 21
        bench.server.script = [hang(), answer("yes")]
        caller = bench.caller(read_timeout_s=60.0, timeout_s=600.0, stream=stream)
        asking = asyncio.create_task(ask(caller))
        await until(lambda: bench.server.log)
        pass_time(60.0)
        outcome = await asyncio.wait_for(asking, 45.0)
        assert (outcome.attempts, outcome.abandoned, caller.state.abandoned) == (2, 1, 1)

    async def test_the_whole_attempt_is_bounded(self, bench, pass_time):
        bench.server.script = [Play(reply=ModelReply(content="ab" * 200), body_s=600.0), answer("yes")]
        asking = asyncio.create_task(ask(bench.caller(read_timeout_s=300.0, timeout_s=60.0, stream=True)))
        await until(lambda: bench.server.log)
        pass_time(60.0)
        outcome = await asyncio.wait_for(asking, 45.0)
        assert (outcome.attempts, outcome.abandoned) == (2, 1)

    async def test_hang_to_the_end(self, bench):
        bench.server.script = [hang(), hang()]
        outcome = await ask(bench.caller(timeout_s=0.1, max_retries=1))
        assert isinstance(outcome, Unanswered)
        assert (outcome.error_kind, outcome.abandoned) == ("read_timeout", 2) or outcome.error_kind == "timeout"
        assert outcome.abandoned == 2


class TestLoad:  # rows 19 and 20
    async def test_never_more_in_flight_than_configured(self, bench):
        bench.server.script = gate = Gate()
        caller = bench.caller(concurrency=7)
        roles = ["policy", "verifier", "meta"] * 30
        asking = asyncio.gather(*(ask(caller, f"p{n}", role=role) for n, role in enumerate(roles)))
        await until(lambda: bench.server.ledger.in_flight["all"] == 7)
        gate.open()
        await asking
        assert bench.server.ledger.max_in_flight["all"] == 7

    @pytest.mark.parametrize(("allowed", "least", "most"), [(256, 192, 192), (64, 30, 50), (32, 4, 18)])
    async def test_few_descriptors(self, tmp_path, bench, allowed, least, most):
        config = tmp_path / "config.toml"
        config.write_text(f'[verifier]\nmodel = "m"\nbase_url = "{bench.server.base_url}"\n')
        script = textwrap.dedent("""
            import asyncio, sys
            from proverbench.inputs.config_file import load_config
            from proverbench.endpoints.base import Request
            from proverbench.endpoints.factory import close_callers, open_callers

            async def main():
                callers = await open_callers(load_config(sys.argv[1]), ["verifier"], concurrency=1000)
                caller = callers["verifier"]
                async def one(n):
                    await caller.acquire(1)
                    return await caller.call(Request("verifier", f"p{n}", f"verifier/p/0/{n}"))
                outcomes = await asyncio.gather(*(one(n) for n in range(220)))
                print(caller.state.concurrency, sum(type(o).__name__ == "Answered" for o in outcomes))
                print(*caller.state.notes)
                await close_callers(callers)

            asyncio.run(main())
        """)
        command = f'ulimit -n {allowed}; exec "$0" -c "$1" "$2"'
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", command, sys.executable, script, str(config), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, err = await process.communicate()
        assert err == b""
        concurrency, answered = map(int, out.decode().splitlines()[0].split())
        assert least <= concurrency <= most
        assert answered == 220
        assert f"{allowed} open files" in out.decode()
        assert bench.server.ledger.max_in_flight["all"] <= concurrency

    async def test_no_descriptor_is_left(self, bench):
        before = len(os.listdir("/dev/fd"))
        caller = bench.caller(concurrency=20)
        bench.server.script = lambda got: Play(ending="reset") if got.index % 2 else None
        await asyncio.gather(*(ask(caller, f"p{n}") for n in range(50)))
        await caller.aclose()
        await bench.server.stop()
        await until(lambda: len(os.listdir("/dev/fd")) <= before)


class TestWhoGoesFirst:
    async def test_by_priority_then_order(self, bench):
        caller = bench.caller(concurrency=1)
        await caller.acquire(Priority.POLICY)
        order = []

        async def wait(name, priority):
            await caller.acquire(priority)
            order.append(name)
            caller.release()

        waiting = [("p1", Priority.POLICY), ("m", Priority.META), ("v1", Priority.VERIFIER), ("v2", Priority.VERIFIER)]
        tasks = [asyncio.create_task(wait(*who)) for who in waiting]
        await asyncio.sleep(0)
        caller.release()
        await asyncio.gather(*tasks)
        assert order == ["m", "v1", "v2", "p1"]


class TestModelName:  # row 40
    async def test_a_change_is_remarked(self, bench):
        caller = bench.caller()
        await ask(caller)
        bench.server.reported_model = "other"
        outcome = await ask(caller)
        await ask(caller)
        assert outcome.reply.model == "other"
        assert [note for note in caller.state.notes if "'model-verifier' and now as 'other'" in note] != []
        assert len(caller.state.notes) == 1


class TestSecrets:  # row 43
    @PROTOCOLS
    @pytest.mark.parametrize(
        "echo",
        [
            f"Incorrect API key provided: {KEY}.",
            f"Incorrect API key provided: {KEY[:8]}********{KEY[-4:]}.",
            f"bad header 'Authorization: Bearer {KEY}'",
            f"see https://user:{KEY}@host/v1?key={KEY}&x=1",
            json.dumps({"headers": {"x-api-key": KEY}}),
        ],
    )
    async def test_no_byte_of_a_key(self, bench, protocol, echo):
        caller = bench.caller(protocol, headers={"X-Tenant": "tenant-secret-77"})
        for play in (
            failure(401, echo + " tenant-secret-77"),
            failure(503, echo),
            Play(body=echo),
            Play(status=500, body=echo),
        ):
            bench.server.script = lambda got, play=play: play
            try:
                said = (await ask(caller)).message
            except FatalEndpointError as exc:
                said = "".join(traceback.format_exception(exc))
            for piece in (KEY, KEY[:8], KEY[-8:], "tenant-secret"):
                assert piece not in said

    @PROTOCOLS
    @pytest.mark.parametrize(
        ("play", "key", "base_url"),
        [
            pytest.param(failure(401, f"no such key: {KEY}"), KEY, None, id="refused"),
            pytest.param(failure(503, f"busy with {KEY}"), KEY, None, id="busy"),
            pytest.param(Play(body=f"not JSON: {KEY}"), KEY, None, id="no-json"),
            pytest.param(Play(body={"choices": KEY, "output": KEY, "content": KEY}), KEY, None, id="no-reply"),
            pytest.param(None, f"{KEY}\nX-Other: {KEY}", None, id="a-key-that-is-no-header"),
            pytest.param(None, KEY, "http://127.0.0.1:1/v1", id="nobody-listens"),
        ],
    )
    async def test_nor_in_what_an_exception_was_caused_by(self, bench, protocol, play, key, base_url):
        """As whoever prints the whole chain, with every cause, reads it."""
        bench.server.script = lambda got: play
        endpoint = bench.endpoint(protocol, base_url=base_url, key=key, headers={"X-Tenant": "tenant-secret-77"})
        with pytest.raises(EndpointError) as raised:
            await endpoint.complete(request())
        said = "".join(traceback.format_exception(raised.value)) + repr(raised.value)
        for cause in (raised.value.__cause__, raised.value.__cause__ and raised.value.__cause__.__cause__):
            said += repr(cause)
        for piece in (KEY, KEY[:8], KEY[-8:], "tenant-secret"):
            assert piece not in said

    async def test_not_in_the_repr_of_what_holds_it(self):
        assert KEY not in repr(Access(key=KEY, headers={"X-Tenant": KEY}))


class TestTurns:
    """Replies are read one at each turn of the loop."""

    @pytest.fixture
    def too_late(self, monkeypatch, pass_time):
        """A caller whose time is up while a reply that has come waits for its turn."""

        def made(caller):
            async def wait() -> None:
                pass_time(60.0)
                await asyncio.sleep(600)

            monkeypatch.setattr(caller._endpoint._turns, "wait", wait)
            return caller

        return made

    @STREAMED
    @OF_BOTH
    async def test_a_reply_that_has_come_is_kept_though_the_time_is_up(self, bench, protocol, stream, too_late):
        caller = too_late(bench.caller(protocol, stream=stream, timeout_s=60.0))
        bench.server.script = [answer("yes")]
        outcome = await ask(caller)
        assert (outcome.reply.text, outcome.attempts) == ("yes", 1)

    async def test_a_failure_that_has_come_is_a_timeout_then(self, bench, too_late):
        caller = too_late(bench.caller("chat", timeout_s=60.0, max_retries=0))
        bench.server.script = [failure(500)]
        assert (await ask(caller)).error_kind == "timeout"
