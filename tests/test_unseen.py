"""Characters that a reader cannot see: which, how they are shown, how many there are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.unseen import is_unseen, unseen, visible


@pytest.mark.parametrize(
    ("text", "count", "shown"),
    [
        pytest.param("plain ℝ, é, 数\tand\nlines", 0, "plain ℝ, é, 数\tand\nlines", id="nothing"),
        pytest.param("a\u202eb\u2066c", 2, "a⟨U+202E⟩b⟨U+2066⟩c", id="directions"),
        pytest.param("a" + "\u200b" * 57 + "b", 57, "a⟨U+200B×57⟩b", id="run-of-one-character"),
        pytest.param("so\u00adft", 1, "so⟨U+00AD⟩ft", id="soft-hyphen"),
        pytest.param("\U000e0041\U000e0042", 2, "⟨U+E0041⟩⟨U+E0042⟩", id="tags"),
        pytest.param("a\ufe00b\U000e0100", 2, "a⟨U+FE00⟩b⟨U+E0100⟩", id="variation-selectors"),
        pytest.param("❤\ufe0f and 1\ufe0f", 1, "❤\ufe0f and 1⟨U+FE0F⟩", id="emoji-keep-their-style"),
        pytest.param("❤\ufe0f\ufe0f", 1, "❤\ufe0f⟨U+FE0F⟩", id="one-style-is-enough"),
        pytest.param("\x1b[31m\x00", 2, "␛[31m␀", id="controls"),
        pytest.param("\ud800", 1, "⟨U+D800⟩", id="half-a-pair"),
        pytest.param("\u3164\u115f\u2028", 3, "⟨U+3164⟩⟨U+115F⟩⟨U+2028⟩", id="fillers-and-separators"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, count: int, shown: str) -> None:
    assert unseen(text) == count
    assert visible(text) == shown


@given(st.text())
def test_what_is_shown_can_be_seen(text: str) -> None:
    shown = visible(text)
    assert unseen(shown) == 0
    assert visible(shown) == shown
    assert (shown == text) == (unseen(text) == 0)


@given(st.text(st.characters(codec="ascii")))
def test_ascii_counts_as_other_text_does(text: str) -> None:
    assert unseen(text + "é") == unseen(text)


def test_every_control_and_direction_is_among_them() -> None:
    for code in range(0x110000):
        char = chr(code)
        if unicodedata.category(char) == "Cc" and char not in "\t\n\r":
            assert is_unseen(char), hex(code)
        if unicodedata.bidirectional(char) in {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}:
            assert is_unseen(char), hex(code)
        if unicodedata.category(char) in {"Lu", "Ll", "Nd", "Sm"}:
            assert not is_unseen(char), hex(code)
