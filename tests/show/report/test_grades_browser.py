"""The page of a run whose judges give grades, in a real browser."""

from pathlib import Path

import pytest

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


def test_grades_are_shown_as_such(page_of_grades, browser):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(page_of_grades.as_uri() + "#/proof/v/v2")
    page.locator(".big-strip").wait_for()
    shown = page.locator(".reader").inner_text()
    assert "2 of 7 points; counts as wrong" in shown
    assert "rejects, grade 3" in shown
    assert "agrees with the human" in shown
    assert "marking scheme" in shown.lower()
    assert "0 of 2 accept, 2 reject" in page.locator(".big-strip").inner_text()
    assert "undefined" not in page.locator("body").inner_text()
    assert page.locator(".human-says").all_inner_texts() == ["7/7", "6/7", "2/7"]
    page.goto(page_of_grades.as_uri() + "#/proof/v/v0")
    page.get_by_text("against the human").first.wait_for()
    assert faults == []
    page.close()
