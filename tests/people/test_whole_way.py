"""From a rehearsed run to a corrected score: forty labels by keyboard alone, on the page that the command serves."""

import json

import pytest
from playwright.sync_api import expect

from tests.cli.test_label import labelling
from tests.support import problem_rows, run_process, write_config, write_rows


def test_forty_labels_correct_the_score(opened, server, tmp_path):
    write_rows(tmp_path / "problems.jsonl", problem_rows(60))
    config = write_config(tmp_path / "config.toml", server.base_url)
    sizes = ("--samples", "2", "--verifier-repeats", "4", "--output", "run")
    ended = run_process("run", "--data", "problems.jsonl", "--config", config, *sizes, cwd=tmp_path)
    assert ended.code == 0, ended.err
    with labelling(tmp_path, "--choose", "40", "--annotator", "ann", of=tmp_path / "run") as origin:
        page = opened(f"{origin}/", "#/label")
        keys = page.page.keyboard
        for at in range(40):
            expect(page.page.get_by_role("heading", name=f"Proof {at + 1} of 40")).to_be_visible()
            page.settled()
            expect(page.page.locator(".judgments")).to_have_count(0)
            keys.press("0" if at % 3 == 0 else "a")
            keys.press("Escape")
            if at % 3 == 0:
                keys.press("f")
            keys.press("Enter")
            expect(page.page.locator(".judgments .big-strip")).to_be_visible()
            if at < 39:
                keys.press("Enter")
        expect(page.page.locator(".panel .progress")).to_contain_text("40 of 40 labelled")
        page.leave()
    (labels,) = tmp_path.glob("*-labels-*.jsonl")
    ended = run_process("correct", "run", "--labels", labels, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    said = json.loads(ended.out)["labels"]
    strata = said["strata"]
    assert (said["labelled"], said["unlabelled"]) == (40, 80)
    assert (
        sum(round(part["labelled"] * part["correct"]) for part in strata) == 26
    )  # all but every third, from the first
    assert said["value"] == pytest.approx(sum(part["share"] * part["correct"] for part in strata))
    assert said["interval"]["low"] < said["value"] < said["interval"]["high"]
