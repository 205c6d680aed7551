"""Labelling in a real browser: by keyboard alone, on a phone, in two windows, in a page that was mailed."""

import json
from pathlib import Path

import pytest

from proverbench.people.labels import read_labels
from proverbench.people.sheet import labelling
from proverbench.show.report.build import open_runs
from proverbench.show.report.write import write_report
from tests.people.conftest import RUN
from tests.people.test_serve import serving
from tests.show.report.conftest import ARTEFACTS, browser, opened  # noqa: F401 (fixtures)


def test_forty_by_keyboard_alone(opened, new_book, folder):  # noqa: F811
    book = new_book(choose=20)
    with serving(book) as origin:
        page = opened(f"{origin}/", "#/label")
        keys = page.page.keyboard
        for at in range(20):
            assert page.page.locator(".judgments").count() == 0, "the verdicts are hidden until the label is given"
            if at == 3:
                keys.press("u")
            elif at % 2:
                keys.press("0")
                keys.press("Escape")
                keys.press("r" if at % 4 == 1 else "f")
                keys.press("c")
                keys.type("it does not follow")
                keys.press("Escape")
                keys.press("Enter")
            else:
                keys.press("a")
                keys.press("Enter")
            page.page.wait_for_selector(".judgments .big-strip")
            if at < 19:
                before = page.page.url
                keys.press("Enter")
                page.until(lambda before=before: page.page.url != before)
                page.settled()
        assert "19 of 20 labelled, 1 undecided" in page.text(".panel .progress")
        assert "The corrected score is known to about ±" in page.text(".panel .progress")
    labels = read_labels(book.path, folder)
    assert list(labels.correct().values()) == [at % 2 == 0 for at in range(20) if at != 3]
    lines = [json.loads(line) for line in book.path.read_text(encoding="utf-8").splitlines()][20:]
    assert lines[1]["annotation"] == {
        "first_fatal_error_step": -1,
        "recoverable_error_steps": [0],
        "reviewer_comment": "it does not follow",
        "first_error_reason": "",
        "remark": "",
    }
    assert lines[3]["undecided"]
    assert all(line["seconds"] >= 0 for line in lines)


def test_undo_takes_back_and_hides_the_verdicts_again(opened, new_book):  # noqa: F811
    book = new_book()
    with serving(book) as origin:
        page = opened(f"{origin}/", "#/label")
        page.page.keyboard.press("a")
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector(".judgments")
        page.page.keyboard.press("z")
        page.until(lambda: page.page.locator(".judgments").count() == 0)
    assert [state["labelled"] for state in book.states().values()] == [False] * 6
    assert len(book.path.read_text(encoding="utf-8").splitlines()) == 6 + 2


def test_two_windows_do_not_overwrite_each_other(opened, new_book):  # noqa: F811
    book = new_book()
    with serving(book) as origin:
        one, other = opened(f"{origin}/", "#/label"), opened(f"{origin}/", "#/label")
        one.page.keyboard.press("a")
        one.page.keyboard.press("Enter")
        one.page.wait_for_selector(".judgments")
        other.page.locator(".steps.choose > li").first.click()
        other.page.get_by_role("button", name="Save (Enter)").click()
        other.faults.clear()  # the browser notes the 409
        other.page.wait_for_selector(".callout.bad")
        assert "labelled in another window" in other.text(".callout.bad")
        assert other.page.locator(".judgments").count() == 1
        other.faults.clear()
    assert [state["labelled"] for state in book.states().values()].count(True) == 1
    assert book.state(next(iter(book.rows)))["annotation"]["first_fatal_error_step"] == -1


@pytest.fixture
def mailed(tmp_path) -> Path:
    with open_runs([RUN]) as report:
        report.head["labelling"] = labelling(RUN, 6)
        return write_report(report, tmp_path / "page.html")


def test_a_mailed_page_keeps_labels_and_offers_them_as_a_file(opened, mailed, folder, tmp_path):  # noqa: F811
    page = opened(mailed, "#/label", viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page.page.get_by_label("Your name").fill("Ann")
    page.page.get_by_role("button", name="Begin").tap()
    page.page.wait_for_selector(".panel")
    page.page.get_by_role("button", name="✓ No error (a)").tap()
    page.page.get_by_role("button", name="Save (Enter)").tap()
    page.page.wait_for_selector(".judgments")
    assert "1 label not downloaded yet" in page.text(".panel .progress")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=ARTEFACTS / "label-phone-dark.png", full_page=True)
    page.page.evaluate("setTimeout(() => location.reload())")
    page.until(lambda: any(fault.startswith("dialog: ") for fault in page.faults))  # a warning, and one stays
    page.faults.clear()
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Download the labels").tap()
    assert download.value.suggested_filename == "prover-labels-Ann.jsonl"
    download.value.save_as(tmp_path / "labels.jsonl")
    labels = read_labels(tmp_path / "labels.jsonl", folder)
    assert list(labels.correct().values()) == [True]
    assert labels.annotators == ["Ann"]
    assert labels.drawn == 6
    page.page.reload()  # which nobody warns of now, and the labels are kept
    page.page.wait_for_selector(".panel")
    assert "1 of 6 labelled" in page.text(".panel .progress")


def test_labelling_is_accessible(opened, new_book):  # noqa: F811
    axe = (Path(__file__).parents[1] / "show/report/assets/axe.min.js").read_text(encoding="utf-8")
    with serving(new_book()) as origin:
        page = opened(f"{origin}/", "#/label")
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.page.screenshot(path=ARTEFACTS / "label-light.png")
        page.page.keyboard.press("0")
        page.page.keyboard.press("Enter")
        page.page.wait_for_selector(".judgments")
        page.page.evaluate(axe)
        found = page.page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found.violations)")
    assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found] == []
