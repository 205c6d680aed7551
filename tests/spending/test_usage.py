import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.spending.usage import Usage, merge_usage, normalise_usage


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        pytest.param(
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 80},
                "completion_tokens_details": {"reasoning_tokens": 40},
            },
            Usage(100, 80, 0, 50, 40),
            id="chat",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "output_tokens": 50,
                "input_tokens_details": {"cached_tokens": 80},
                "output_tokens_details": {"reasoning_tokens": 40},
            },
            Usage(100, 80, 0, 50, 40),
            id="responses",
        ),
        pytest.param(
            # Anthropic: 10 fresh + 70 read + 20 written = 100 in all.
            {
                "input_tokens": 10,
                "cache_read_input_tokens": 70,
                "cache_creation_input_tokens": 20,
                "output_tokens": 50,
            },
            Usage(100, 70, 20, 50),
            id="anthropic",
        ),
        pytest.param({"input_tokens": 10, "output_tokens": 5}, Usage(10, 0, 0, 5), id="anthropic-without-cache"),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}, Usage(9, 4, 0, 1), id="deepseek"
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": None}, Usage(9, 0, 0, 1), id="null"
        ),
        pytest.param({"prompt_tokens": 9}, Usage(9, 0, 0, 0, known=False), id="half"),
        pytest.param({"completion_tokens": 9}, Usage(0, 0, 0, 9, known=False), id="other-half"),
        pytest.param(
            # xAI: 940 tokens of reasoning beside 9; 981 - 32 = 949.
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 981,
                "completion_tokens_details": {"reasoning_tokens": 940},
            },
            Usage(32, 0, 0, 949, 940),
            id="reasoning-beside",
        ),
        pytest.param(
            {"prompt_tokens": 32, "completion_tokens": None, "total_tokens": 1041},
            Usage(32, 0, 0, 1009),
            id="only-the-total-tells",
        ),
        pytest.param(
            {"prompt_tokens": 0, "completion_tokens": 9, "total_tokens": 41},
            Usage(32, 0, 0, 9, known=False),
            id="input-from-the-total",
        ),
        pytest.param({"total_tokens": 41}, Usage(0, 0, 0, 41, known=False), id="total-alone"),
        pytest.param(
            {"prompt_tokens": 300, "completion_tokens": 100, "total_tokens": 120},
            Usage(300, 0, 0, 100, known=False),
            id="total-below-its-parts",
        ),
        pytest.param(
            {"prompt_tokens": 30, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 50}},
            Usage(30, 0, 0, 59, 50, known=False),
            id="reasoning-above-without-a-total",
        ),
        pytest.param(
            {
                "prompt_tokens": 30,
                "completion_tokens": 9,
                "total_tokens": 39,
                "completion_tokens_details": {"reasoning_tokens": 50},
            },
            Usage(30, 0, 0, 50, 50, known=False),
            id="reasoning-above-with-a-total",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 12},
            Usage(9, 9, 0, 1, known=False),
            id="cached-above-input",
        ),
        pytest.param(
            {
                "prompt_tokens": 9,
                "completion_tokens": 1,
                "prompt_token_details": {"cached_tokens": 0},
                "cached_tokens": 4,
            },
            Usage(9, 4, 0, 1),
            id="first-that-is-not-zero",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 0, "text_without_tokens": True},
            Usage(9, 0, 0, 0, known=False),
            id="text-without-tokens",
        ),
        pytest.param(
            {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            Usage(0, 0, 0, 0, known=False),
            id="zeros",
        ),
        pytest.param({"prompt_tokens": None, "completion_tokens": "many"}, None, id="odd"),
        pytest.param({"prompt_tokens": True, "completion_tokens": -1}, None, id="odd-numbers"),
        pytest.param({}, None, id="empty"),
        pytest.param(None, None, id="none"),
    ],
)
def test_shapes(raw, usage):
    assert normalise_usage(raw) == usage


_NAMES = [
    *("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens"),
    *("prompt_tokens_details", "output_tokens_details"),
]
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(st.dictionaries(st.sampled_from(_NAMES), _VALUES | st.dictionaries(st.just("cached_tokens"), _VALUES)))
def test_anything_is_read_or_unknown(raw):
    usage = normalise_usage(raw)
    assert usage is None or 0 <= usage.cached_input <= usage.input
    assert usage is None or 0 <= usage.cache_write <= usage.input - usage.cached_input


_USAGES = st.dictionaries(st.sampled_from(_NAMES), _VALUES | st.dictionaries(st.just("cached_tokens"), _VALUES))


@given(st.lists(_USAGES | st.none() | st.text(max_size=2), max_size=4))
def test_nothing_that_comes_later_erases_a_count(found):
    merged = merge_usage(found)
    assert (merged is None) == (not any(isinstance(usage, dict) for usage in found))
    for usage in found:
        for name, value in usage.items() if isinstance(usage, dict) else ():
            if type(value) is int and 0 < value < 1e15 and not isinstance(merged[name], dict):
                assert merged[name] >= value


def test_merging():
    start = {"input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 1}
    zeros = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 50, "service_tier": None}
    assert merge_usage([start, zeros]) == {
        "input_tokens": 900,
        "cache_read_input_tokens": 100,
        "output_tokens": 50,
        "service_tier": None,
    }
    details = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0}}
    assert merge_usage([details, {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}}]) == details
    assert merge_usage([None, start, "odd"]) is start
    assert merge_usage([]) is None


def test_sums():
    assert Usage(1, 2, 3, 4) + Usage(1, 2, 3, 4, 5) == Usage(2, 4, 6, 8, 5)
    assert (Usage(1, 0, 0, 2) + Usage(1, 0, 0, 2)).reasoning is None


def test_a_sum_is_known_when_every_part_of_it_is():
    known, unknown = Usage(3, 0, 0, 2), Usage(3, 0, 0, 2, known=False)
    assert (known + known).known
    assert not (known + unknown).known
    assert not (unknown + known).known
