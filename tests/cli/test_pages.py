"""Text for a terminal."""

import unicodedata

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.cli import pages
from proverbench.cli.pages import (
    beside,
    cells,
    cut,
    cut_middle,
    one_line,
    padded,
    printable,
    right,
    rule,
    section,
    wrapped,
)

ANY = st.text(max_size=60)


@given(ANY, st.integers(4, 40))
def test_nothing_is_wider_than_it_may_be(text, columns):
    line = one_line(text)
    assert cells(cut(line, columns)) <= columns
    assert cells(padded(line, columns)) == columns
    assert cells(cut_middle(line, columns)) <= columns or not line.isascii()
    assert all(cells(part) <= columns for part in wrapped(text, columns))


@given(ANY)
def test_wrapping_loses_no_word(text):
    assert "".join("".join(wrapped(text, 20)).split()) == "".join(printable(text).split())


@given(ANY)
def test_no_text_commands_the_terminal(text):
    commands = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert [char for char in printable(text) if unicodedata.category(char) in commands and char != "\n"] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\u001b[31mred"),
        ("a\tb", "a b"),
        ("\r", "\\u000d"),
        ("\ud800", "\\ud800"),
        ("\u202e", "\\u202e"),
    ],
)
def test_what_is_spelled_out(text, shown):
    assert printable(text) == shown


def test_a_section_fits(monkeypatch):
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    text = click.unstyle(section("A title " * 20, "Sei $x$ ℝ. " * 40 + "\n\n" + "漢字" * 60))
    assert all(cells(line) <= 80 for line in text.split("\n"))
    assert rule("t", 20) == "── t ───────────────"


def test_nothing_is_wrapped_where_another_command_reads():
    sentence = "A sentence that grep should find as a whole. " * 5
    assert f"  {sentence.strip()}" in section("Title", f"Before.\n{sentence}").split("\n")
    assert beside("note: ", f"{sentence}\nand more", 40) == [f"note: {sentence}", "      and more"]


def test_what_stands_beside_a_label_is_indented(monkeypatch):
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    assert beside("note: ", "one two three", 14) == ["note: one two", "      three"]


def test_what_is_written_right_to_left_turns_nothing_beside_it():
    for line in (*beside("name  ", "\u05d0\u05d1 1 2", 40), padded("\u05d0\u05d1", 6), right("\u0627", 6)):
        assert line.count("\u2068") == line.count("\u2069") == 1
    assert beside("name  ", "\u05d0\u05d1 1 2", 40) == ["name  \u2068\u05d0\u05d1 1 2\u2069"]
    assert padded("\u05d0\u05d1", 6) == "\u2068\u05d0\u05d1\u2069    "
    assert "\u2068" not in section("title", "plain \u00e9 \u4e2d text")
