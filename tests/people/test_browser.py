"""Labelling in a real browser: by keyboard alone, on a phone, in two windows, in a page that was mailed."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.people.labels import read_labels
from proverbench.people.sheet import labelling
from proverbench.show.report.build import open_runs
from proverbench.show.report.write import write_report
from tests.browser import ARTEFACTS
from tests.people.conftest import RUN
from tests.people.test_serve import RIGHT, serving


def test_forty_by_keyboard_alone(opened, new_book, folder):
    book = new_book(choose=20)
    with serving(book) as origin:
        page = opened(f"{origin}/", "#/label")
        keys = page.page.keyboard
        for at in range(20):
            expect(page.page.get_by_role("heading", name=f"Proof {at + 1} of 20")).to_be_visible()
            page.settled()
            # The verdicts are hidden until the label is given.
            expect(page.page.locator(".judgments")).to_have_count(0)
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
            expect(page.page.locator(".judgments .big-strip")).to_be_visible()
            if at < 19:
                keys.press("Enter")
        expect(page.page.locator(".panel .progress")).to_contain_text("19 of 20 labelled, 1 undecided")
        expect(page.page.locator(".panel .progress")).to_contain_text("The corrected score is known to about ±")
        page.leave()
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


def test_undo_takes_back_and_hides_the_verdicts_again(opened, new_book):
    book = new_book()
    with serving(book) as origin:
        page = opened(f"{origin}/", "#/label")
        page.page.keyboard.press("a")
        page.page.keyboard.press("Enter")
        expect(page.page.locator(".judgments")).to_be_visible()
        page.page.keyboard.press("z")
        expect(page.page.locator(".judgments")).to_have_count(0)
        page.leave()
    assert [state["labelled"] for state in book.states().values()] == [False] * 6
    assert len(book.path.read_text(encoding="utf-8").splitlines()) == 6 + 2


def test_two_windows_do_not_overwrite_each_other(opened, new_book):
    book = new_book()
    with serving(book) as origin:
        one, other = opened(f"{origin}/", "#/label"), opened(f"{origin}/", "#/label")
        one.page.keyboard.press("a")
        one.page.keyboard.press("Enter")
        expect(one.page.locator(".judgments")).to_be_visible()
        other.page.locator(".steps.choose > li").first.click()
        other.page.get_by_role("button", name="Save (Enter)").click()
        expect(other.page.locator(".callout.bad")).to_contain_text("labelled in another window")
        expect(other.page.locator(".judgments")).to_have_count(1)
        other.until(lambda: bool(other.faults))
        one.leave()
        other.leave()
        assert ["409" in fault for fault in other.faults] == [True], "the browser notes the refusal"
        other.faults.clear()
    assert [state["labelled"] for state in book.states().values()].count(True) == 1
    assert book.state(next(iter(book.rows)))["annotation"]["first_fatal_error_step"] == -1


@pytest.fixture
def mailed(tmp_path) -> Path:
    with open_runs([RUN]) as report:
        report.head["labelling"] = labelling(RUN, 6)
        return write_report(report, tmp_path / "page.html")


def test_a_mailed_page_keeps_labels_and_offers_them_as_a_file(opened, mailed, folder, tmp_path):
    page = opened(mailed, "#/label", viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page.page.get_by_label("Your name").fill("Ann")
    page.page.get_by_role("button", name="Begin").tap()
    page.page.get_by_role("button", name="✓ No error (a)").tap()
    page.page.get_by_role("button", name="Save (Enter)").tap()
    expect(page.page.locator(".judgments")).to_be_visible()
    expect(page.page.locator(".panel .progress")).to_contain_text("1 label not downloaded yet")
    page.settled()
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
    expect(page.page.locator(".panel .progress")).not_to_contain_text("not downloaded yet")
    page.page.reload()  # which nobody warns of now, and the labels are kept
    expect(page.page.locator(".panel .progress")).to_contain_text("1 of 6 labelled")


def test_a_label_whose_line_was_torn_is_open_again(opened, new_book):
    book = new_book()
    first, second = list(book.rows)[:2]
    for key in (first, second):
        book.add(key, {"annotation": RIGHT}, version=0)
    book.close()
    whole = book.path.read_bytes()
    book.path.write_bytes(whole[:-40])  # as after a power cut while the second was written
    again = new_book(path=book.path)
    with serving(again) as origin:
        page = opened(f"{origin}/", "#/label")
        expect(page.page.get_by_role("heading", name="Proof 2 of 6")).to_be_visible()
        expect(page.page.locator(".panel .progress")).to_contain_text("1 of 6 labelled")
        page.page.keyboard.press("a")
        page.page.keyboard.press("Enter")
        expect(page.page.locator(".panel .progress")).to_contain_text("2 of 6 labelled")
        page.leave()
    assert [state["labelled"] for state in again.states().values()] == [True, True, *[False] * 4]


def test_labelling_is_accessible(opened, new_book):
    axe = (Path(__file__).parents[1] / "show/report/assets/axe.min.js").read_text(encoding="utf-8")
    with serving(new_book()) as origin:
        page = opened(f"{origin}/", "#/label")
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.page.screenshot(path=ARTEFACTS / "label-light.png")
        page.page.keyboard.press("0")
        page.page.keyboard.press("Enter")
        expect(page.page.locator(".judgments")).to_be_visible()
        page.settled()
        page.page.evaluate(axe)
        found = page.page.evaluate("axe.run({resultTypes: ['violations']}).then((found) => found.violations)")
        page.leave()
    assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found] == []
