"""Replies that are odd but hold a paid answer, errors that come as replies, and what must not come through them."""

import asyncio
import base64
import json
from collections.abc import Callable

import pytest

from proverbench.endpoints import bodies, http
from proverbench.endpoints.access import Access
from proverbench.endpoints.base import Answered, Unanswered
from proverbench.endpoints.sse import iter_events
from proverbench.endpoints.transport import Transport
from proverbench.errors import CallFailedError, FatalEndpointError
from proverbench.rehearse.plays import Play, answer, failure
from tests.endpoints.conftest import KEY, ask, request
from tests.support import ROOT, grows_too_fast, until

PROTOCOLS = pytest.mark.parametrize("protocol", ["chat", "responses", "messages"])
GOOD = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
WHOLE = {
    "chat": {"choices": [GOOD]},
    "responses": {"status": "completed", "output": [{"type": "message", "content": [{"type": "text", "text": "yes"}]}]},
    "messages": {"type": "message", "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"},
}


async def _asked(bench, play, protocol="chat", **settings):
    bench.server.script = play if isinstance(play, list) else [play]
    return await ask(bench.caller(protocol, max_retries=1, **settings))


def _events(*data):
    return "".join(f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n" for event in data)


class TestErrors:
    @PROTOCOLS
    @pytest.mark.parametrize(
        "body",
        [
            {"error": "Unauthorized", "code": 401},
            {"error": {"message": "no"}, "status": 401},
            {"object": "error", "message": "no", "type": "x", "code": 401},
            {"detail": "Unauthorized", "status": 401},
            {"message": "no", "status_code": "401"},
            [{"error": {"code": 401, "message": "no"}}],
            {"error": "Unauthorized"},
        ],
        ids=str,
    )
    async def test_a_wrong_key_stops_the_run_however_it_is_told(self, bench, protocol, body):
        with pytest.raises(FatalEndpointError, match="HTTP 401"):
            await _asked(bench, Play(body=body), protocol)

    @PROTOCOLS
    @pytest.mark.parametrize("body", [{"error": "busy", "code": 503}, {"detail": "busy", "status": 503}], ids=str)
    async def test_one_that_passes_is_asked_again(self, bench, protocol, body):
        outcome = await _asked(bench, [Play(body=body), answer("yes")], protocol)
        assert (outcome.reply.text, outcome.attempts) == ("yes", 2)

    @PROTOCOLS
    async def test_an_error_wins_over_the_answer_beside_it(self, bench, protocol):
        with pytest.raises(FatalEndpointError, match="HTTP 401"):
            await _asked(bench, Play(body={**WHOLE[protocol], "error": {"code": 401, "message": "no"}}), protocol)

    async def test_in_a_stream_too(self, bench):
        chunk = {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}], "error": {"code": 401}}
        with pytest.raises(FatalEndpointError, match="HTTP 401"):
            await _asked(bench, Play(body=_events(chunk)))

    @pytest.mark.parametrize("stream", [False, True])
    async def test_a_choice_that_was_filtered_is_a_refusal(self, bench, stream):
        error = {"code": "content_filter", "message": "flagged by the filter"}
        choice = {"message": {"content": ""}, "finish_reason": "error", "error": error}
        play = Play(body=_events({"choices": [choice]}) if stream else {"choices": [choice]})
        assert (await _asked(bench, play, stream=stream)).reply.refused == "content_policy"

    @PROTOCOLS
    @pytest.mark.parametrize("error", [None, {}, "", {"code": None, "message": None}], ids=str)
    async def test_no_error_is_none(self, bench, protocol, error):
        assert (await _asked(bench, Play(body={**WHOLE[protocol], "error": error}), protocol)).reply.text == "yes"

    @pytest.mark.parametrize("status", [200, 500])
    async def test_messages_are_one_line_that_no_terminal_obeys(self, bench, status):
        said = "bad\r\n\x1b[2Jthing\x9b1m\u202e\x07"
        play = failure(500, said) if status == 500 else Play(body={"error": {"message": said, "code": 500}})
        outcome = await _asked(bench, [play, play])
        assert "bad \\x1b[2Jthing\\x9b1m\\u202e\\x07" in outcome.message
        assert outcome.message.isprintable()


class TestAnswers:
    @pytest.mark.parametrize("choices", [[GOOD, None], [None, GOOD], ["x", GOOD, 3], [{"message": 5}, GOOD]], ids=str)
    async def test_the_first_good_choice_counts(self, bench, choices):
        assert (await _asked(bench, Play(body={"choices": choices}))).attempts == 1

    @PROTOCOLS
    @pytest.mark.parametrize("depth", [500, 3000, 50_000])
    async def test_an_unknown_field_may_be_nested_as_deeply_as_it_likes(self, bench, protocol, depth):
        deep = "[" * depth + '"]}"' + "]" * depth
        body = json.dumps(WHOLE[protocol])[:-1] + f', "odd": {deep}, "usage": {{"prompt_tokens": 1, "odd": {deep}}}}}'
        outcome = await _asked(bench, Play(body=body), protocol)
        assert (outcome.reply.text, outcome.attempts) == ("yes", 1)
        assert len(json.dumps(outcome.reply.usage)) < 200

    @pytest.mark.parametrize("index", ["0", 0, None, 0.0])
    async def test_an_index_of_any_writing(self, bench, index):
        chunk = {"choices": [{"index": index, "delta": {"content": "yes"}, "finish_reason": "stop"}, None]}
        assert (await _asked(bench, Play(body=_events(chunk)), stream=True)).reply.text == "yes"

    @PROTOCOLS
    async def test_a_byte_order_mark_before_the_body(self, bench, protocol):
        body = b"\xef\xbb\xbf" + json.dumps(WHOLE[protocol]).encode()
        outcome = await _asked(bench, Play(body=body), protocol)
        assert (outcome.reply.text, outcome.attempts) == ("yes", 1)

    async def test_a_byte_order_mark_before_a_stream(self, bench):
        chunk = {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]}
        outcome = await _asked(bench, Play(body="\ufeff" + _events(chunk)), stream=True)
        assert (outcome.reply.text, outcome.attempts) == ("yes", 1)

    async def test_a_stream_that_does_not_say_that_it_is_one(self, bench):
        chunk = {"choices": [{"delta": {"content": "yes"}, "finish_reason": "stop"}]}
        assert (await _asked(bench, Play(body=_events(chunk)), stream=True)).reply.text == "yes"

    @pytest.mark.parametrize("delta", [None, [], {}, "x"], ids=str)
    async def test_a_message_whose_last_delta_is_none(self, bench, delta):
        events = [
            {"type": "message_start", "message": {"content": [], "stop_reason": "end_turn", "usage": {}}},
            {"type": "content_block_start", "index": "0", "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "yes"}},
            {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ]
        reply = (await _asked(bench, Play(body=_events(*events)), "messages", stream=True)).reply
        assert (reply.text, reply.finish_reason, reply.usage) == ("yes", "end_turn", {"output_tokens": 3})

    @pytest.mark.parametrize("status", ["queued", "in_progress"])
    async def test_a_response_that_is_not_finished_is_no_answer(self, bench, status):
        with pytest.raises(FatalEndpointError, match=f"is {status}, not finished.*background"):
            await _asked(bench, Play(body={"status": status, "output": []}), "responses")

    @pytest.mark.parametrize(
        ("protocol", "body"),
        [
            ("chat", {"choices": [{"message": {"content": None, "refusal": "I won't"}, "finish_reason": "stop"}]}),
            (
                "chat",
                {
                    "choices": [
                        {"message": {"content": [{"type": "refusal", "refusal": "I won't"}]}, "finish_reason": "stop"}
                    ]
                },
            ),
            (
                "responses",
                {
                    "status": "completed",
                    "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I won't"}]}],
                },
            ),
        ],
    )
    async def test_a_refusal_is_an_answer(self, bench, protocol, body):
        reply = (await _asked(bench, Play(body=body), protocol)).reply
        assert (reply.refused, reply.text, reply.finish_reason) == ("content_policy", "I won't", "stop")

    async def test_a_refusal_in_a_stream(self, bench):
        chunks = [{"choices": [{"delta": {"refusal": piece}}]} for piece in ("I ", "won't")]
        end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
        reply = (await _asked(bench, Play(body=_events(*chunks, end)), stream=True)).reply
        assert (reply.refused, reply.text) == ("content_policy", "I won't")


class TestSecrets:
    @pytest.mark.parametrize(
        "said",
        [
            KEY,
            KEY.upper(),
            KEY.encode().hex(),
            base64.b64encode(KEY.encode()).decode(),
        ],
    )
    async def test_none_is_left_in_any_field(self, bench, said):
        play = Play(
            body={
                "id": said,
                "model": f"m {said}",
                "system_fingerprint": said,
                "usage": {"prompt_tokens": 1, "note": [said], said: 1},
                "choices": [
                    {
                        "message": {"content": f"key {said}", "reasoning": said},
                        "finish_reason": f"stop {said}",
                    }
                ],
            }
        )
        reply = (await _asked(bench, play)).reply
        assert said not in repr(reply)
        assert reply.text == "key [redacted]"
        assert reply.usage["prompt_tokens"] == 1

    async def test_nor_in_a_stream_that_cuts_it_in_two(self, bench):
        chunks = [{"choices": [{"delta": {"content": piece}}]} for piece in (KEY[:9], KEY[9:])]
        end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
        assert (await _asked(bench, Play(body=_events(*chunks, end)), stream=True)).reply.text == "[redacted]"

    @pytest.mark.parametrize("key", ["none", "whatever", "stop"])
    async def test_a_word_that_local_servers_take_for_a_key_stays_a_word(self, bench, key):
        play = Play(body={"choices": [{"message": {"content": f"so {key} x"}, "finish_reason": "stop"}]})
        reply = (await _asked(bench, play, key=key)).reply
        assert (reply.text, reply.finish_reason) == (f"so {key} x", "stop")

    async def test_the_models_own_name_stays(self, bench):
        play = Play(body={**WHOLE["chat"], "model": "model-verifier"})
        assert (await _asked(bench, play, headers={"X-Route": "model-verifier"})).reply.model == "model-verifier"

    @pytest.mark.parametrize("headers", [{}, {"Content-Length": KEY}, {"X-Tenant": f"{KEY}\n"}])
    async def test_a_request_that_cannot_be_made_says_no_value(self, bench, headers):
        url = bench.server.base_url if headers else "http://.../v1"
        redact = Access(headers=headers).redact
        transport = Transport(url, headers, connect_timeout_s=1, read_timeout_s=1, redact=redact)
        with pytest.raises(FatalEndpointError, match="check base_url") as caught:
            await transport.post(b"{}").__aenter__()
        assert KEY not in str(caught.value)
        await transport.aclose()


class TestSize:
    @pytest.mark.parametrize("stream", [False, True])
    async def test_a_reply_that_is_too_large_is_given_up_at_once(self, bench, monkeypatch, stream):
        monkeypatch.setattr(bodies, "MAX_STREAM_BYTES" if stream else "MAX_REPLY_BYTES", 2**20)
        outcome = await _asked(bench, [answer("x" * 2**21)], stream=stream)
        assert isinstance(outcome, Unanswered)
        assert (outcome.error_kind, outcome.attempts) == ("too_large", 1)
        assert isinstance(await _asked(bench, [answer("x" * 2**19)], stream=stream), Answered)

    @pytest.mark.parametrize("stream", [False, True])
    async def test_large_replies_share_one_budget_of_bytes(self, bench, monkeypatch, stream):
        """What is held at once does not grow with the calls in flight; all get done, and over all endpoints."""
        size, budget = 2**20, 3 * 2**20
        monkeypatch.setattr(bodies, "BUDGET_BYTES", budget)
        held: list[int] = []
        take = bodies.Share._take

        async def noting(share: bodies.Share, more: int) -> None:
            await take(share, more)
            held.append(bodies.Budget.of_loop().held)

        monkeypatch.setattr(bodies.Share, "_take", noting)
        endpoints = [bench.endpoint(stream=stream), bench.endpoint(stream=stream)]
        bench.server.script = [answer("x" * size)] * 12
        replies = await asyncio.gather(*(endpoints[n % 2].complete(request()) for n in range(12)))
        assert [len(reply.text) for reply in replies] == [size] * 12
        assert budget < max(held) <= budget + 2 * size + 12 * 2**18  # one reply, and a piece of each that waits
        assert bodies.Budget.of_loop().held == 0

    async def test_tokens_of_a_stream_are_not_held(self):
        """What surrounds them is thousands of times longer than the text; hundreds of long answers come at once."""
        event = _events({"choices": [{"delta": {"content": "x"}}], "id": "i" * 300}).encode()

        async def chunks():
            for _ in range(2000):
                yield event

        with bodies.Budget.of_loop().share() as share:
            assert len([chunk async for chunk in share.streamed(chunks())]) == 2000
            assert share.held == 0

    async def test_who_waits_for_the_budget_may_be_cancelled(self, monkeypatch):
        monkeypatch.setattr(bodies, "BUDGET_BYTES", 10)
        budget = bodies.Budget.of_loop()

        async def chunks():
            yield b"x" * 100
            yield b"y" * 100

        async def read() -> bytes:
            with budget.share() as share:
                return await share.whole(chunks())

        with budget.share() as first:
            assert len(await first.whole(chunks())) == 200
            calls = [asyncio.create_task(read()) for _ in range(3)]
            await until(lambda: budget.held == 500)
            calls[0].cancel()
            await until(lambda: budget.held == 400)
            assert not any(call.done() for call in calls[1:])
        assert [len(await call) for call in calls[1:]] == [200, 200]
        assert budget.held == 0

    def test_a_deep_body_that_is_no_json_takes_linear_time(self):
        def decoding(size: int) -> Callable[[], None]:
            body = b"[" * size + b'"' + b'\\"' * (5 * size)

            def decode() -> None:
                with pytest.raises(ValueError, match=r"recursion|JSON|Expecting|Unterminated"):
                    http.decode(body, object)

            return decode

        assert not grows_too_fast(decoding(50_000), decoding(100_000))

    async def test_of_an_error_only_the_beginning_is_read(self, bench, monkeypatch):
        read: list[int] = []
        read_error = http.read_error
        monkeypatch.setattr(http, "_MAX_ERROR_BYTES", 1000)
        monkeypatch.setattr(http, "read_error", lambda raw: (read.append(len(raw)), read_error(raw))[1])
        endpoint = bench.endpoint()
        bench.server.script = [failure(418, "x" * 2**22), failure(418, "short")]
        for _ in range(2):
            with pytest.raises(CallFailedError):
                await endpoint.complete(request())
        assert 1000 <= read[0] < 2**21  # what had come in one piece when enough had come
        assert read[1] < 1000

    def test_what_is_read_is_bounded_as_the_page_says(self):
        page = " ".join((ROOT / "docs/endpoints.md").read_text(encoding="utf-8").split())
        most = f"{bodies.MAX_REPLY_BYTES // 2**20} MiB, unpacked (streamed: {bodies.MAX_STREAM_BYTES // 2**20} MiB)"
        assert f"A reply of more than {most}, is given up" in page
        assert (
            f"Replies that are being read hold {bodies.BUDGET_BYTES // 2**20} MiB together, over all endpoints" in page
        )
        assert http._MAX_ERROR_BYTES == 2**20
        assert "Of an error's body no more than a megabyte is read." in page

    def test_a_line_in_many_chunks_takes_linear_time(self):
        async def read(size: int) -> None:
            async def chunks():
                yield b"data: "
                for _ in range(size):
                    yield b"x" * 2000
                yield b"\n\n"

            (event,) = [event async for event in iter_events(chunks())]
            assert len(event.data) == 2000 * size

        assert not grows_too_fast(lambda: asyncio.run(read(2_000)), lambda: asyncio.run(read(4_000)))
