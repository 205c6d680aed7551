import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.endpoints.context import Room, clash, read_room


@pytest.mark.parametrize(
    ("message", "fields", "limit", "wanted"),
    [
        pytest.param(
            "This model's maximum context length is 32768 tokens. However, you requested 33000 tokens (3000 in the "
            "messages, 30000 in the completion).",
            {},
            None,
            (32768, 3000, 30000),
            id="openai",
        ),
        pytest.param(
            "'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum context length is 32768 "
            "tokens and your request has 3000 input tokens (30000 > 32768 - 3000).",
            {},
            None,
            (32768, 3000, 30000),
            id="vllm",
        ),
        pytest.param(
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            {},
            500,
            (8192, 9000, 500),
            id="sglang",
        ),
        pytest.param(
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of "
            "9000 tokens: 5000 tokens from the input messages and 4000 tokens for the completion.",
            {},
            None,
            (8192, 5000, 4000),
            id="sglang-sum",
        ),
        pytest.param(
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000",
            {},
            None,
            (200000, 178959, 64000),
            id="anthropic",
        ),
        pytest.param(
            "prompt is too long: 212,404 tokens > 200,000 maximum",
            {},
            None,
            (200000, 212404, None),
            id="anthropic-prompt",
        ),
        pytest.param(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1887 `inputs` tokens "
            "and 1024 `max_new_tokens`",
            {},
            None,
            (2048, 1887, 1024),
            id="tgi",
        ),
        pytest.param(
            "the request exceeds the available context size",
            {"n_ctx": 8192, "n_prompt": 14429},
            None,
            (8192, 14429, None),
            id="llama.cpp",
        ),
        pytest.param(
            "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with "
            "context length of only 4096 tokens",
            {},
            None,
            (4096, 5000, None),
            id="lm-studio",
        ),
        pytest.param("n_keep (5000) >= n_ctx (4096)", {}, None, (4096, 5000, None), id="lm-studio-short"),
        pytest.param(
            "Your request exceeded model token limit: 131072 (requested: 140000)",
            {},
            32768,
            (131072, 107232, 32768),
            id="kimi",
        ),
        pytest.param("no numbers at all", {}, 7, (None, None, 7), id="none"),
    ],
)
def test_the_three_numbers(message, fields, limit, wanted):
    room = read_room(message, limit=limit, **fields)
    assert (room.context, room.prompt, room.limit) == wanted


@given(st.text(max_size=200), st.none() | st.integers(1, 10**6))
def test_any_message_is_read(message, limit):
    room = read_room(message, limit=limit)
    assert room.words() is not None
    room.why_no_room()
    clash([room])


@pytest.mark.parametrize(
    ("room", "alone"),
    [
        (Room(8192, None, 8192, True), True),
        (Room(8192, 100, 9000, True), True),
        (Room(8192, 100, 9000, False), False),  # nothing speaks of the limit
        (Room(8192, 9000, 9000, True), False),  # the prompt by itself is too long
        (Room(8192, 100, 8191, True), False),
        (Room(None, None, 8192, True), False),
    ],
)
def test_a_limit_that_lets_no_prompt_pass(room, alone):
    assert room.limit_alone is alone


def test_the_largest_limit_fits_every_prompt():
    # 32,768 - 3,000 = 29,768 and 32,768 - 5,000 = 27,768: the smaller one fits both.
    said = clash([Room(32768, 3000, 30000), Room(32768, 5000, 30000)])
    assert all(number in said for number in ("32,768", "5,000", "30,000", "35,000", "27,768", "max_tokens"))
    assert "raise" in clash([Room(8192, 14429, 500)])
    assert clash([Room()]) is None
    assert clash([]) is None
