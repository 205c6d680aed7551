import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.spending.usage import Usage, normalise_usage


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
        pytest.param({"prompt_tokens": 9}, Usage(9, 0, 0, 0), id="half"),
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


def test_sums():
    assert Usage(1, 2, 3, 4) + Usage(1, 2, 3, 4, 5) == Usage(2, 4, 6, 8, 5)
    assert (Usage(1, 0, 0, 2) + Usage(1, 0, 0, 2)).reasoning is None
