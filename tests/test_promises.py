"""The table of promises is true and whole: its sentences are on their pages, its tests exist, no point is left out."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.promises import ROOT, Promise, nearest, plain, points, promises

PROMISES = promises()
PAGES = {
    *("metrics", "run-format", "endpoints", "batch", "many-machines", "report", "data"),
    *("compression", "compression-metrics", "retrieval", "retrieval-metrics"),
}
TELL = {
    *("report: For pages of other benchmarks", "compression: From Python"),
    *("compression: share", "retrieval: Config", "retrieval: Public engines", "retrieval: The embedded model"),
    *("retrieval: Speed", "retrieval-metrics: Sources", "many-machines: Slurm", "run-format: timing.json"),
    "data: Commands",
}
"""Sections that show how something is done, or whose promises are tables that other tests compare with the code."""


@cache
def page(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def defined_in(file: str) -> frozenset[str]:
    """``test_x`` and ``TestY::test_x`` of a test file."""
    found = []
    for node in ast.parse(page(ROOT / "tests" / file)).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found += [f"{prefix}{part.name}" for part in inside if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(found)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.id)
def test_it_is_said_and_tested(promise: Promise):
    text = plain(page(promise.page))
    if promise.says not in text:
        pytest.fail(
            f"{promise.page.name} does not say any more: {promise.says!r}. "
            f"Is it now: {nearest(promise.says, page(promise.page))!r}? python -m tests.promises --renew writes it"
        )
    assert len(promise.says) > 10
    assert promise.tests
    for test in promise.tests:
        file, _, name = test.partition("::")
        assert name in defined_in(file), test


def test_no_page_is_left_out():
    assert {promise.page.stem for promise in PROMISES} == PAGES


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_point_of_a_list_is_a_promise(name):
    """What a page lists with bullets, it promises."""
    said = [promise.says for promise in PROMISES if promise.page.stem == name]
    left_out = [
        point for point in points(page(ROOT / "docs" / f"{name}.md")) if not any(text in point for text in said)
    ]
    assert left_out == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_section_that_is_no_instruction_holds_a_promise(name):
    said = [promise.says for promise in PROMISES if promise.page.stem == name]
    sections = re.split(r"^##+ (.*)$", page(ROOT / "docs" / f"{name}.md"), flags=re.MULTILINE)[1:]
    named = dict(zip(sections[::2], sections[1::2], strict=True))
    without = {f"{name}: {title}" for title, text in named.items() if not any(one in plain(text) for one in said)}
    assert without <= TELL
    assert not {title for title in TELL if title.startswith(f"{name}: ") and title not in without}


def test_every_break_changes_one_place_of_the_code():
    broken = [(promise.id, one) for promise in PROMISES for one in promise.breaks]
    assert len(broken) >= 60
    for name, one in broken:
        assert one.file.startswith("proverbench/"), name
        text = page(ROOT / one.file)
        assert text.count(one.find) == 1, (name, one.find)
        changed = text.replace(one.find, one.put)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), (name, one.put)


def test_sentences_of_a_page_are_read_as_people_read_them():
    text = "# A\n\n- One **thing** [here](b.md#c),\n  two.\n- `x_y`\n\n```\n- code\n```\n  - inner\n"
    assert points(text) == ["One thing here, two.", "x_y", "inner"]


def test_a_sentence_in_other_words_is_found_again():
    page = "Intro: nothing.\n\n- First, *this*: that; and more. Then `that`.\n- Other."
    assert nearest("First this: that; and less.", page) == "First, this: that; and more."
    assert nearest("Something of another kind altogether", page) is None
