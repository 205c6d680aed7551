import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.audit import SERVER_ENDED, Remarks, audit, is_clipped
from proverbench.endpoints.base import Reply
from proverbench.endpoints.context import Room
from proverbench.errors import Partial, ServerEndedError
from proverbench.spending.usage import normalise_usage

MODEL_ENDED = [
    *("length", "max_tokens", "model_length", "model_context_window_exceeded", "content_filter", "sensitive"),
    *("refusal", "repetition", "pause_turn", "tool_calls", "eos", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION"),
    *("a_word_of_next_year", None),
]


@pytest.mark.parametrize("word", sorted(SERVER_ENDED))
@pytest.mark.parametrize("written", [str, str.upper, " {} \n".format])
def test_what_the_server_ended_is_no_answer(word, written):
    with pytest.raises(ServerEndedError) as ended:
        audit(Reply("half", written(word), usage={"prompt_tokens": 5, "completion_tokens": 1}))
    assert ended.value.kind == f"server_ended:{word}"
    assert ended.value.partial == Partial(written(word), 4, {"prompt_tokens": 5, "completion_tokens": 1})


@pytest.mark.parametrize("word", ["stop", "end_turn", *MODEL_ENDED])
def test_what_the_model_ended_is_an_answer(word):
    reply = Reply("text", word)
    assert audit(reply) is reply


def test_a_proxy_hides_a_break_behind_stop():
    with pytest.raises(ServerEndedError, match="insufficient_system_resource"):
        audit(Reply("half", "stop", native_finish_reason="insufficient_system_resource"))
    assert audit(Reply("all", "stop", native_finish_reason="length")).finish_reason == "stop"


@given(st.text(max_size=30))
def test_any_word_is_one_of_the_three_classes(word):
    try:
        assert audit(Reply("text", word)).finish_reason == word
    except ServerEndedError:
        assert word.strip().lower() in SERVER_ENDED


@pytest.mark.parametrize(("text", "known"), [("text", False), ("", True)])
def test_a_text_without_tokens_is_at_least(text, known):
    reply = audit(Reply(text, "stop", usage={"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}))
    assert normalise_usage(reply.usage).known is known


def _remarks(*replies, chars=100, normal=frozenset({"stop"}), accepted=False):
    said = []
    remarks = Remarks("judge", normal, accepted, said.append)
    for reply in replies:
        remarks.see("verifier", chars, reply)
    return said


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(Reply("a", None), ["accept_missing_finish"], id="missing"),
        pytest.param(Reply("a", "eos_token"), ["eos_token", "non_stop_finish"], id="normal-elsewhere"),
        pytest.param(Reply("a", "Stop"), ["'Stop'"], id="other-case"),
        pytest.param(Reply("a", "stop", native_finish_reason="MAX_TOKENS"), ["MAX_TOKENS", "proxy"], id="native"),
        pytest.param(
            Reply("", "stop", usage={"prompt_tokens": 14903, "completion_tokens": 0, "total_tokens": 14903}),
            ["empty", "14,903"],
            id="empty",
        ),
        pytest.param(
            Reply("a", "stop", usage={"prompt_tokens": 30, "completion_tokens": 10, "total_tokens": 12}),
            ["contradict"],
            id="contradiction",
        ),
        pytest.param(
            Reply("", None, refused="context_length", context=Room(32768, 3000, 30000, True)),
            ["32,768", "30,000", "33,000", "29,768"],
            id="no-room",
        ),
        pytest.param(Reply("a", "stop", remark="how it came about"), ["how it came about"], id="remark"),
    ],
)
def test_what_is_odd_is_said_once(reply, words):
    (said,) = _remarks(reply, reply, reply)
    assert all(word in said for word in ["judge", *words])


@pytest.mark.parametrize(
    "reply",
    [
        Reply("a", "stop", usage={"prompt_tokens": 30, "completion_tokens": 10, "total_tokens": 40}),
        Reply("a", "stop", native_finish_reason="STOP"),
        Reply("a", "length"),
        Reply("a", "stop"),
        Reply("", None, refused="content_policy"),
        Reply("", None, refused="context_length", context=Room(8192, 14429)),
    ],
)
def test_what_is_usual_is_not_remarked_on(reply):
    assert _remarks(reply) == []


def test_another_model_name_is_remarked_on():
    said = _remarks(Reply("a", "stop", model="m-1"), Reply("a", "stop", model="m-2"), Reply("a", "stop", model="m-2"))
    assert len(said) == 1
    assert "m-1" in said[0]
    assert "m-2" in said[0]


@pytest.mark.parametrize(
    ("chars", "tokens", "clipped"),
    [
        # 62,000 / 2,050 = 30 characters a token.
        (62_000, 2_050, True),
        (62_000, 7_750, False),  # 8 exactly
        (62_000, 7_749, True),
        (3_999, 10, False),
        (4_000, 499, True),
        (4_000, 500, False),
    ],
)
def test_clipped_prompts(chars, tokens, clipped):
    assert is_clipped(chars, tokens) is clipped
    reply = Reply("a", "stop", usage={"prompt_tokens": tokens, "completion_tokens": 1})
    said = _remarks(reply, chars=chars)
    assert (len(said) == 1) is clipped
    if clipped:
        assert all(word in said[0] for word in (f"{chars:,}", f"{tokens:,}", "context"))


def test_prompts_that_grow_while_their_tokens_do_not():
    # 8,000, 9,000 and 10,000 characters as 2,050 tokens: fewer than 8 characters a token, but never the same count.
    said = []
    remarks = Remarks("judge", frozenset({"stop"}), False, said.append)
    reply = Reply("a", "stop", usage={"prompt_tokens": 2050, "completion_tokens": 1})
    for chars in (8000, 9000):
        remarks.see("verifier", chars, reply)
    assert said == []
    remarks.see("verifier", 10_000, reply)
    assert len(said) == 1
    assert "10,000" in said[0]
