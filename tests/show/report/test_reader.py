"""A reader who has nothing else: words are explained, numbers say what they say, and everybody can reach them."""

import re

from playwright.sync_api import expect

from tests.browser import ARTEFACTS


def test_three_sentences_say_what_the_numbers_say(opened, prover_page, judge_page):
    prover = opened(prover_page).page.locator(".says li").all_inner_texts()
    assert len(prover) == 3
    assert re.fullmatch(
        r"\S+ wrote proofs of 13 problems; \d+\.\d % of its proofs \(2 for each problem\) were accepted by all 8 "
        r"judgments that \S+ gave\.",
        prover[0],
    )
    assert re.match(r"The 95 % interval, \d+\.\d to \d+\.\d %, says how precisely", prover[1])
    assert "includes the judge's errors" in prover[2]
    judge = opened(judge_page).page.locator(".says li").all_inner_texts()
    assert re.search(r"accepted \d+\.\d % of the correct ones and rejected \d+\.\d % of the incorrect ones", judge[0])
    assert re.match(r"It (is lenient|is strict|errs about as often)", judge[2])


def test_no_word_points_to_a_file_that_the_reader_lacks(opened, judge_page):
    page = opened(judge_page)
    page.page.keyboard.press("?")
    expect(page.page.locator("header dialog[open]")).to_be_visible()
    page.settled()
    assert "docs/" not in page.page.locator("body").inner_text()


def test_words_are_explained_by_keyboard_and_touch(opened, judge_page):
    page = opened(judge_page, has_touch=True, viewport={"width": 390, "height": 844})
    button = page.page.locator(".card .explain").first
    button.tap()
    dialog = page.page.locator("dialog.explanation[open]")
    expect(dialog).to_contain_text("Harmonic mean of TPR and TNR")
    expect(dialog).to_contain_text("rough_bal_f1")
    page.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    button.focus()
    page.page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    page.page.get_by_role("button", name="Close").last.tap()
    expect(dialog).to_have_count(0)
    page.page.keyboard.press("?")
    glossary = page.page.locator("header dialog")
    expect(glossary).to_be_visible()
    for word in ("Neutralised", "EXACT_MATCH", "bad_index", "First error", "95 % interval"):
        expect(glossary).to_contain_text(word)


def test_reasons_and_levels_are_explained_in_place(opened, judge_page):
    page = opened(judge_page, "#/proofs?show=invalid")
    page.page.keyboard.press("e")
    invalid = page.page.locator(".judgment.invalid .body").first
    invalid.locator(".explain").first.click()
    expect(page.page.locator("dialog.explanation[open] p").first).to_have_text(re.compile(r"^.{20}", re.DOTALL))


def test_the_numbers_of_a_chart_are_a_table_for_everybody(opened, prover_page):
    page = opened(prover_page)
    figure = page.page.locator("figure.chart").first
    figure.get_by_text("The numbers as a table").focus()
    page.page.keyboard.press("Enter")
    rows = figure.locator(".numbers tbody tr")
    expect(rows).to_have_count(8)
    expect(figure.locator(".numbers thead th")).to_have_text(["run", "r", "value", "low", "high"])


def test_colours_of_many_systems_differ(opened, prover_page):
    page = opened(prover_page)
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        colours = page.page.evaluate(
            "() => Array.from({length: 40}, (_, at) => { const node = PB.h('i'); node.style.color = PB.colour(at);"
            " document.body.append(node); return getComputedStyle(node).color; })"
        )
        assert len(set(colours)) == 40


def test_print(opened, prover_page):
    page = opened(prover_page)
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.page.pdf(path=ARTEFACTS / "print.pdf")
    expect(page.page.locator(".explain").first).to_be_hidden()
    expect(page.page.locator(".numbers").first).to_be_hidden()
    expect(page.page.locator("svg.plot").first).to_be_visible()
