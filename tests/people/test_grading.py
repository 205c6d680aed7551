"""Labelling a run whose judges give grades: people give points, from the page to the corrected score."""

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.errors import DataError
from proverbench.people.book import LabelBook
from proverbench.people.labels import read_labels
from proverbench.people.sheet import Scale, drawn_of, labelling, rows, scale_of
from proverbench.rehearse import ModelReply, RehearseServer
from proverbench.run.folder import RunFolder
from proverbench.run.saved import open_runs as open_saved
from proverbench.show.report.build import open_runs
from proverbench.show.report.labelling import make_label_server
from proverbench.show.report.write import write_report
from tests.people.test_serve import served
from tests.support import problem_rows, run_process, write_config, write_rows


def _reply(ask, before):
    if "<step>" in ask.prompt:
        return ModelReply(content="<step>So.</step><step>Hence.</step>")
    number = re.search(r"tatement number (\d+)", ask.prompt)
    assert number is not None
    return ModelReply(content=f"<points>{int(number[1]) % 8}</points>")


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Path:
    """Sixteen proofs that a judge gave 0 to 7 points."""
    folder = tmp_path_factory.mktemp("graded")
    write_rows(folder / "p.jsonl", [{**row, "rubric": "7 points: all of it."} for row in problem_rows(16)])
    with RehearseServer.in_thread(replies=_reply) as server:
        write_config(folder / "c.toml", server.base_url)
        words = ("--data", "p.jsonl", "--config", "c.toml", "--verifier-repeats", "2", "--output", "run")
        more = ("--protocol", "grade-0-7", "--no-use-reference-solution")
        ended = run_process("run", *words, *more, cwd=folder, timeout_s=300)
        assert ended.code == 0, ended.err
    return folder / "run"


@pytest.fixture
def folder(graded) -> RunFolder:
    return RunFolder(graded)


@pytest.fixture
def book(folder, tmp_path) -> LabelBook:
    drawn = drawn_of(folder, choose=12)
    return LabelBook(tmp_path / "labels.jsonl", list(rows(folder, drawn, annotator="ann")), "ann")


def serving(book, graded):
    (saved,) = open_saved([graded], split="all")
    return served(graded, lambda followed: make_label_server(followed, 0, book, saved.arrays, scale_of(saved.folder)))


def test_strata_are_those_of_acceptance(folder):
    assert scale_of(folder) == Scale(7, 1, 6)
    assert {(proof.stratum, proof.stratum_size) for proof in drawn_of(folder, choose=12)} == {("none", 12), ("all", 4)}


def test_grades_by_keyboard_to_the_corrected_score(opened, command, book, folder, graded):
    given = [7, 6, 5, 0, 3, 7, 2, 6, 1, 4, 7]
    with serving(book, graded) as origin:
        page = opened(f"{origin}/", "#/label")
        keys = page.page.keyboard
        assert "What is this proof worth?" in page.text(".labelling h2")
        assert "Counts as correct from 6 of 7." in page.text(".panel")
        assert page.page.get_by_text("7 points: all of it.").count() == 1
        assert page.page.locator("button.step-number").count() == 0
        for at, grade in enumerate([*given, None]):
            expect(page.page.get_by_role("heading", name=f"Proof {at + 1} of 12")).to_be_visible()
            page.settled()
            expect(page.page.locator(".judgments")).to_have_count(0)
            keys.press("u" if grade is None else str(grade))
            if grade is not None:
                keys.press("Enter")
            expect(page.page.locator(".judgments .big-strip")).to_be_visible()
            if grade is not None:
                keys.press("Enter")
        expect(page.page.locator(".panel .progress")).to_contain_text("11 of 12 labelled, 1 undecided")
        page.leave()
    labels = read_labels(book.path, folder)
    assert list(labels.correct().values()) == [grade >= 6 for grade in given]
    assert [opinions[0].grade for opinions in labels.opinions.values()][:11] == given
    assert "counts as correct from 6 of 7" in " ".join(labels.remarks())
    for name in ("correct", "analyse"):
        ended = command(name, graded, "--labels", book.path)
        assert ended.code == 0, ended.err
    ended = command("data", "import", "--format", "labels", book.path, "--output", "again.jsonl")
    assert ended.code == 0, ended.err
    again = [json.loads(line) for line in Path("again.jsonl").read_text().splitlines()]
    assert [(row["grade"], row["max_grade"], row["rubric"]) for row in again] == [
        (grade, 7, "7 points: all of it.") for grade in given
    ]


def test_undo_buttons_and_a_grade_off_the_scale(opened, book, graded):
    with serving(book, graded) as origin:
        page = opened(f"{origin}/", "#/label")
        page.page.get_by_label("Grade, 0 to 7").fill("8")
        page.page.keyboard.press("Enter")
        page.page.get_by_role("button", name="5", exact=True).click()
        page.page.get_by_role("button", name="Save (Enter)").click()
        expect(page.page.locator(".judgments")).to_be_visible()
        assert [state["grade"] for state in book.states().values() if state["labelled"]] == [5]
        page.page.keyboard.press("z")
        expect(page.page.locator(".judgments")).to_have_count(0)
        page.leave()
    assert not any(state["labelled"] for state in book.states().values())


def test_a_mailed_page_offers_grades(opened, graded, folder, tmp_path):
    with open_runs([graded]) as report:
        report.head["labelling"] = labelling(graded, 12)
        path = write_report(report, tmp_path / "page.html")
    page = opened(path, "#/label", viewport={"width": 390, "height": 844}, has_touch=True)
    page.page.get_by_label("Your name").fill("Ann")
    page.page.get_by_role("button", name="Begin").tap()
    page.page.get_by_role("button", name="7", exact=True).tap()
    page.page.get_by_role("button", name="Save (Enter)").tap()
    expect(page.page.locator(".judgments")).to_be_visible()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Download the labels").tap()
    download.value.save_as(tmp_path / "labels.jsonl")
    labels = read_labels(tmp_path / "labels.jsonl", folder)
    assert list(labels.correct().values()) == [True]
    assert labels.drawn == 12


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"grade": 8}, "field grade: found 8; wanted a number from 0 to 7"),
        ({"grade": "7/7"}, 'field grade: found "7/7"; wanted a number from 0 to 7'),
        ({"grade": 7, "max_grade": 10}, "field max_grade: found 10; wanted 7, as the judges'"),
    ],
)
def test_what_is_no_grade_of_the_scale_is_named(folder, tmp_path, change, fault):
    lines = list(rows(folder, drawn_of(folder, choose=12)))
    lines[3] |= change
    write_rows(tmp_path / "sheet.jsonl", lines)
    with pytest.raises(DataError, match=re.escape(fault)) as raised:
        read_labels(tmp_path / "sheet.jsonl", folder)
    assert str(raised.value).count("\n") == 0
    assert ":4:" in str(raised.value)


def test_annotators_who_grade_agree_by_acceptance(folder, tmp_path, command, graded):
    lines = list(rows(folder, drawn_of(folder, choose=12)))
    graded_by = ((name, at, row) for name in "ab" for at, row in enumerate(lines))
    both = [{**row, "annotator": name, "grade": 7 if at % 2 else at % 5} for name, at, row in graded_by]
    both[0]["grade"] = 6
    write_rows(tmp_path / "sheet.jsonl", both)
    labels = read_labels(tmp_path / "sheet.jsonl", folder)
    assert len(labels.correct()) == 11
    assert any("1 tied" in remark for remark in labels.remarks())
    ended = command("analyse", graded, "--labels", tmp_path / "sheet.jsonl", "--json")
    found = json.loads(ended.out)
    assert "agreement" in json.dumps(found)


def test_grading_and_plots_of_grades_are_accessible(opened, book, graded, tmp_path):
    axe = (Path(__file__).parents[1] / "show/report/assets/axe.min.js").read_text(encoding="utf-8")

    def violations(page) -> list:
        page.page.evaluate(axe)
        found = page.page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found.violations)")
        return [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found]

    with serving(book, graded) as origin:
        page = opened(f"{origin}/", "#/label", color_scheme="dark")
        page.page.keyboard.press("7")
        page.page.keyboard.press("Enter")
        expect(page.page.locator(".judgments")).to_be_visible()
        page.settled()
        assert violations(page) == []
        page.leave()
    with open_runs([graded]) as report:
        plots = opened(write_report(report, tmp_path / "page.html"))
    plots.settled()
    expect(plots.page.get_by_role("heading", name="Which grades are given")).to_be_visible()
    assert violations(plots) == []


def test_a_page_says_that_replies_were_lost(opened, command, graded, tmp_path):
    run = tmp_path / "lossy"
    shutil.copytree(graded, run)
    lines = (run / "calls.jsonl").read_bytes().splitlines(keepends=True)
    (run / "calls.jsonl").write_bytes(b"".join(lines[:5] + lines[6:]))
    assert command("score", run, "--accept-loss").code == 1  # incomplete now
    with open_runs([run]) as report:
        page = opened(write_report(report, tmp_path / "page.html"))
    expect(page.page.locator("main")).to_contain_text("Saved replies were lost: ")
    expect(page.page.locator("main")).to_contain_text("This run is unfinished.")
