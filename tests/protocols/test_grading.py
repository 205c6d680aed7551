"""Replies under ``grade-0-7``, ``score-3`` and ``process-v1``."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.errors import InvalidReply
from proverbench.protocols.grading import REASONS, parse_paragraph, parse_points, parse_score
from tests.support import grows_too_fast

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "protocols.json").read_text("utf-8"))["parser"]


def _read(protocol: str, text: str, n_steps: int) -> dict[str, object]:
    try:
        if protocol == "process-v1":
            return {"valid": True, "first_error_step": parse_paragraph(text, n_steps)}
        return {"valid": True, "grade": parse_points(text) if protocol == "grade-0-7" else parse_score(text)}
    except InvalidReply as exc:
        return {"valid": False, "reason": exc.reason}


@pytest.mark.parametrize(
    ("protocol", "vector"),
    [pytest.param(name, vector, id=f"{name}-{vector['name']}") for name, vs in VECTORS.items() for vector in vs],
)
def test_vectors(protocol: str, vector: dict) -> None:
    assert _read(protocol, vector["text"], vector.get("num_steps", 1)) == vector["expected"]


@given(st.text(alphabet="<>/points \\boxed{}0123456789.+-outf７", max_size=60))
def test_any_text_is_read_or_has_a_reason(text: str) -> None:
    for protocol in VECTORS:
        read = _read(protocol, text, 3)
        assert read["valid"] or read["reason"] in {*REASONS, "empty_final_answer"}


@given(st.integers(min_value=-3, max_value=12), st.integers(min_value=1, max_value=9))
def test_an_index_is_valid_exactly_from_minus_one_to_the_last_paragraph(index: int, n_steps: int) -> None:
    read = _read("process-v1", f"\\boxed{{{index}}}", n_steps)
    assert read["valid"] is (-1 <= index < n_steps)


@pytest.mark.parametrize("piece", ["<points>", "<points>6", "\\boxed{", "\\boxed{}", "{", "}", "<points >9</points>"])
@pytest.mark.parametrize("protocol", list(VECTORS))
def test_reading_takes_linear_time(protocol: str, piece: str) -> None:
    once, twice = "x" + piece * 20_000, "x" + piece * 40_000
    assert not grows_too_fast(lambda: _read(protocol, once, 2), lambda: _read(protocol, twice, 2))


def test_a_number_of_a_million_digits_is_out_of_range() -> None:
    digits = "1" * 10**6
    assert _read("grade-0-7", f"<points>{digits}</points>", 1)["reason"] == "grade_out_of_range"
    assert _read("score-3", f"\\boxed{{{digits}}}", 1)["reason"] == "score_not_allowed"
    assert _read("process-v1", f"\\boxed{{{digits}}}", 1)["reason"] == "bad_index"
