"""The page of a run whose judges give grades, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.rehearse import ModelReply, RehearseServer
from tests.support import run_process, write_config, write_rows

HUMAN = [7, 6, 2]


@pytest.fixture(scope="module")
def page_of_grades(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("graded")
    rows = [
        {
            "proof_id": f"v{n}",
            "problem_id": f"p{n}",
            "problem": f"Statement {n}.",
            "steps": ["First.", "Then."],
            "rubric": "7 points: all of it.",
            "max_grade": 7,
            "grades": [{"grader": "one", "grade": grade, "comment": "seen"}],
            "annotation": {"remark": "a remark"},
        }
        for n, grade in enumerate(HUMAN)
    ]
    write_rows(folder / "proofs.jsonl", rows)
    with RehearseServer.in_thread(replies=lambda ask, before: ModelReply(content="<points>3</points>")) as server:
        write_config(folder / "config.toml", server.base_url)
        told = ("--data", "proofs.jsonl", "--config", "config.toml", "--protocol", "grade-0-7", "--output", "v")
        ended = run_process("verify", *told, "--verifier-repeats", "2", cwd=folder)
    assert ended.code == 0, ended.err
    assert run_process("report", "v", "-o", "page.html", cwd=folder).code == 0
    return folder / "page.html"


def test_grades_are_shown_as_such(page_of_grades, opened):
    page = opened(page_of_grades, "#/proof/v/v2")
    shown = page.page.locator(".reader")
    for said in ("2 of 7 points; counts as wrong", "rejects, grade 3", "agrees with the human"):
        expect(shown).to_contain_text(said)
    expect(shown).to_contain_text("marking scheme", ignore_case=True)
    expect(page.page.locator(".big-strip")).to_contain_text("0 of 2 accept, 2 reject")
    expect(page.page.locator(".human-says")).to_have_text(["7/7", "6/7", "2/7"])
    assert "undefined" not in page.text("body")
    page.go("#/proof/v/v0")
    expect(page.page.get_by_text("against the human").first).to_be_visible()
