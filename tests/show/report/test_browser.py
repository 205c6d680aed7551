"""The page in a real browser: what a reader does with it. Screenshots go to .artefacts/report/; look at them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.metrics import registry
from tests.browser import ARTEFACTS
from tests.show.report.conftest import DATA, make_page

ASSETS = Path(__file__).parent / "assets"


def test_overview_tells_score_interval_and_invalid_share(opened, prover_page):
    page = opened(prover_page)
    cards = page.page.locator(".card")
    first = cards.first.inner_text()
    assert re.search(r"All problems\s+13 problems", first)
    assert re.search(r"Pessimistic score \?\s+\d+\.\d %", first)
    assert re.search(r"95 % interval \d+\.\d to \d+\.\d %", first)
    invalid = page.page.locator(".cards.wide .card").first.inner_text()
    assert re.search(r"\d+ of \d{3}", invalid)
    assert "bad_index" in invalid
    assert page.text(".chip") == "complete"


def test_the_words_of_a_metric_are_those_of_its_value(opened, monkeypatch, tmp_path):
    renamed = [replace(metric, label=f"<{metric.name}>", headline=None) for metric in registry.METRICS]
    first = renamed[2] = replace(renamed[2], help="A rate that is lower in better runs.", headline=1)
    monkeypatch.setattr(registry, "METRICS", tuple(renamed))
    page = opened(make_page(tmp_path, DATA / "prover"))
    assert first.name == "generation_failure_rate"
    named = page.page.locator(".card .name").first
    assert named.inner_text() == "<generation_failure_rate> ?"
    assert named.get_attribute("title") == "A rate that is lower in better runs."
    assert "<verifier_valid_rate>" in page.page.locator("details.all-metrics").first.text_content()


def test_every_plot_is_there_with_its_numbers_as_csv(opened, prover_page):
    page = opened(prover_page, permissions=["clipboard-read", "clipboard-write"])
    titles = page.page.locator("figure.chart h3").all_inner_texts()
    assert titles == [
        "Was R = 8 needed? Pessimistic score against r",
        "pass@k: how much more attempts help",
        "Cost against score",
        "What more problems or samples would buy",
        "By subject",
        "How far judgments agree",
    ]
    expect(page.page.locator("figure.chart svg.plot")).to_have_count(5)
    says = page.page.locator("figure.chart figcaption p").first.inner_text()
    assert re.search(r"One judgment alone would have given \d+\.\d %; all 8 give \d+\.\d %", says)
    assert "mattered" not in says
    page.page.locator("figure.chart").first.get_by_text("Copy the numbers as CSV").click()
    page.until(lambda: page.page.evaluate("navigator.clipboard.readText()") != "")
    copied = page.page.evaluate("navigator.clipboard.readText()")
    lines = copied.splitlines()
    assert lines[0] == "run,r,value,low,high"
    assert [line.split(",")[1] for line in lines[1:]] == [str(r) for r in range(1, 9)]


def test_plots_of_verifierbench(opened, judge_page):
    page = opened(judge_page)
    titles = page.page.locator("figure.chart h3").all_inner_texts()
    assert titles[0] == "Leniency against strictness: TPR and TNR"
    assert "Voting rules: accept when at least k of 4 judgments accept" in titles
    assert "Where the first error is: reported against annotated" in titles
    page.page.get_by_label("Break down by").select_option("severity")
    expect(page.page.locator("figure.chart h3", has_text="By severity of the human's finding")).to_be_visible()
    page.page.locator("#plots-section .heading select").select_option("qe")
    expect(page.page.locator("figure.chart svg.plot").nth(4)).to_be_attached()


def test_a_proof_that_judges_disagree_on_is_two_clicks_away(opened, judge_page):
    page = opened(judge_page)
    page.page.get_by_role("link", name=re.compile("where one judgment accepts and another rejects")).click()
    expect(page.page.locator(".judgments")).to_be_visible()
    page.settled()
    marks = page.page.locator(".big-strip .mark")
    kinds = {marks.nth(at).get_attribute("class") for at in range(marks.count())}
    assert {"mark accept", "mark reject"} <= kinds
    assert "Human annotation".upper() in page.text(".sheet.human").upper()
    # The first judgment that accepts and the first that rejects stand open.
    expect(page.page.locator("details.judgment[open]")).to_have_count(2)
    expect(page.page.locator("details.judgment.reject[open] h4", has_text="Error").first).to_be_visible()


def test_the_first_wrong_step_is_highlighted_and_linked(opened, judge_page):
    page = opened(judge_page, "#/proofs?show=rejected")
    reject = page.page.locator(".big-strip a.mark.reject").first
    step = reject.inner_text()
    reject.click()
    expect(page.page.locator(".judgment.chosen")).to_be_visible()
    expect(page.page).to_have_url(re.compile(r"#/proof/judge/[^/]+/\d+$"))
    marked = page.page.locator(f"#step-{step}")
    expect(marked).to_contain_class("by-judge")
    expect(marked).to_contain_class("chosen")
    expect(marked).to_contain_text("first wrong step for")


def test_prompt_and_reply_are_one_click_away(opened, judge_page):
    page = opened(judge_page, "#/proofs?show=rejected")
    judgment = page.page.locator("details.judgment[open]").first
    judgment.get_by_role("button", name=re.compile("^Prompt: the judge")).click()
    expect(judgment.locator("pre.raw").first).to_contain_text("<step0>")
    judgment.get_by_role("button", name=re.compile("^Reply: the judge")).click()
    expect(judgment.locator("pre.raw").first).to_contain_text("<first_error_step>")


def test_links_to_a_proof_and_to_a_judgment_open_it(opened, judge_page, prover_page):
    page = opened(judge_page, "#/proofs")
    href = page.page.locator(".rows a").nth(3).get_attribute("href")
    fresh = opened(judge_page, href + "/2")
    expect(fresh.page.locator("#judgment-0-2.chosen[open]")).to_have_count(1)
    expect(fresh.page.locator(".rows a[aria-current]")).to_have_attribute("href", href)
    lost = opened(prover_page, "#/proof/prover/no-such/0")
    expect(lost.page.locator(".pane").first).to_contain_text("has no proof no-such")


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("show=accepted", "every"),
        ("show=split", "split"),
        ("show=invalid", "invalid"),
        ("show=failed", "failed"),
        ("domain=qe", "qe"),
    ],
)
def test_filters_choose_what_they_say(opened, prover_page, query, chosen):
    page = opened(prover_page, f"#/proofs?{query}")
    strips = page.page.locator(".rows .strip").all()
    assert strips or "No proof matches" in page.text(".pane")
    for strip in strips:
        said = strip.get_attribute("aria-label")
        if chosen == "every":
            assert said == "8 of 8 accept"
        elif chosen == "split":
            assert not said.startswith(("0 of", "8 of"))
            assert "reject" in said
        elif chosen == "invalid":
            assert "invalid" in said
        elif chosen == "failed":
            assert said.startswith("no proof: ")
    count = int(page.text(".hits").split()[0])
    assert 0 <= count < 26


@pytest.mark.parametrize("query", ["show=__proto__", "human=constructor", "show=toString&text="])
def test_unknown_filters_are_no_filters(opened, prover_page, query):
    page = opened(prover_page, f"#/proofs?{query}")
    assert page.text(".hits") == "26 of 26 proofs"
    page.page.locator(".rows a").nth(1).click()
    expect(page.page.locator(".rows li:nth-child(2) a[aria-current]")).to_be_visible()


def test_judge_against_human_filters(opened, judge_page):
    page = opened(judge_page, "#/proofs?human=false-accept")
    rows = page.page.locator(".rows li").all()
    assert rows
    for row in rows:
        assert row.locator(".human-says").get_attribute("aria-label").startswith("Human: first error at step")
        assert not row.locator(".strip").get_attribute("aria-label").startswith("0 of")
    assert "against the human" in page.text(".right")


def test_free_text_is_searched_in_the_judgments_too(opened, judge_page):
    page = opened(judge_page, "#/proofs")
    page.page.keyboard.press("/")
    page.page.keyboard.type("Sylow")
    hits = page.page.locator(".hits").first
    expect(page.page).to_have_url(re.compile("text=Sylow"))
    expect(hits).to_have_text(re.compile(r"^([1-9]|1\d|2[0-7]) of 28 proofs$"))
    page.page.get_by_label("Search in").fill("no such words anywhere")
    expect(hits).to_have_text(re.compile("^0 of "))


def test_keys_walk_through_the_proofs(opened, prover_page):
    page = opened(prover_page, "#/proofs?show=split")
    heading, position = page.page.locator(".proof-heading h2").first, page.page.locator(".position").first
    first = heading.inner_text()
    page.page.keyboard.press("j")
    expect(position).to_have_text(re.compile("^2 of"))
    expect(heading).not_to_have_text(first)
    page.page.keyboard.press("k")
    expect(position).to_have_text(re.compile("^1 of"))
    expect(heading).to_have_text(first)
    page.page.keyboard.press("3")
    expect(page.page.locator("#judgment-0-3.chosen[open]")).to_be_visible()
    page.page.keyboard.press("e")
    expect(page.page.locator("details.judgment:not([open])")).to_have_count(0)
    page.page.keyboard.press("?")
    expect(page.page.locator("dialog[open]")).to_have_count(1)
    page.page.keyboard.press("Escape")
    expect(page.page.locator("dialog[open]")).to_have_count(0)
    page.page.keyboard.press("o")
    expect(page.page.locator(".overview")).to_be_visible()


def test_a_key_that_follows_at_once_on_closing_the_help_counts(opened, prover_page):
    """Until the next frame the closed dialog has the focus still."""
    page = opened(prover_page, "#/proofs")
    page.page.keyboard.press("?")
    expect(page.page.locator("dialog[open]")).to_have_count(1)
    focused = page.page.evaluate(
        """() => {
          document.querySelector("dialog").close();
          const focused = document.activeElement;
          focused.dispatchEvent(new KeyboardEvent("keydown", { key: "o", bubbles: true }));
          return focused.closest("dialog") !== null;
        }"""
    )
    assert focused, "the browser moves the focus at once: this test shows nothing"
    expect(page.page.locator(".overview")).to_be_visible()


def test_mathematics_is_typeset(opened, judge_page):
    page = opened(judge_page, "#/proofs")
    expect(page.page.locator(".left .math .katex").nth(3)).to_be_attached()
    source = page.page.locator(".left .math").first.get_attribute("data-source")
    expect(page.page.locator(".left .math annotation").first).to_have_text(source.strip("$"))
    expect(page.page.locator(".left .math.source")).to_have_count(0)


def test_leaderboard_differences_and_published_table(opened, mixed_page):
    page = opened(mixed_page)
    board = page.page.locator("section[aria-label=Leaderboard] table").first
    assert board.locator("tbody tr").count() == 2
    assert "1–2" in board.inner_text()
    heads = [head.inner_text() for head in board.locator("thead th").all()]
    asked = {name: heads.index(name) for name in ("n", "R")}
    for row in board.locator("tbody tr").all():
        cells = [cell.inner_text() for cell in row.locator("th, td").all()]
        assert (cells[asked["n"]], cells[asked["R"]]) == ("28", "4")
    assert "no difference shown" in page.text("section[aria-label=Leaderboard] details")
    board.get_by_role("button", name="Run").click()
    expect(board.locator("th[aria-sort]")).to_have_text(re.compile("^Run"))
    published = page.page.locator("section[aria-labelledby=published]")
    assert "not comparable" in published.inner_text()
    assert published.locator("tr.own").count() == 3
    assert published.locator("tbody tr").count() == 14
    assert "64.5 %" in published.inner_text()


def test_judges_of_the_same_proof_stand_together(opened, mixed_page):
    page = opened(mixed_page, "#/proofs?human=wrong")
    expect(page.page.locator(".judgments")).to_have_count(2)
    expect(page.page.locator(".rows li").first.locator(".strip")).to_have_count(2)
    page.page.get_by_label("Run", exact=True).select_option("prover")
    expect(page.page.locator(".hits").first).to_have_text(re.compile("^0 of"))


def test_libraries_lie_inert_until_they_are_wanted(opened, judge_page):
    """KaTeX, D3 and Plot are most of a small page, and no score needs them: the page stands without them."""
    page = opened(judge_page)
    page.page.add_init_script(
        "addEventListener('DOMContentLoaded', () => {"
        " window.atFirst = [typeof katex, typeof Plot, document.querySelectorAll('template').length] });"
    )
    page.page.reload()
    page.settled()
    assert page.page.evaluate("atFirst") == ["undefined", "undefined", 3]
    assert page.page.evaluate("typeof Plot") == "object"
    page.until(lambda: page.page.evaluate("typeof katex") == "object")  # when nothing else is to be done
    page.until(lambda: page.page.locator("template").count() == 0)
    drawn = page.page.locator(".legend path").all()
    assert drawn
    assert all(path.get_attribute("d") for path in drawn)


def test_printing_needs_no_waiting(opened, judge_page):
    """Before printing everything is typeset and drawn at once, though nothing of it was in sight."""
    page = opened(judge_page, "#/proofs?show=split")
    page.page.evaluate("location.hash = '#/'")
    expect(page.page.locator(".overview")).to_be_visible()
    drawn = page.page.evaluate("dispatchEvent(new Event('beforeprint')), document.querySelectorAll('svg.plot').length")
    assert drawn >= 5
    page.go("#/proofs?show=split")
    expect(page.page.locator(".judgments")).to_be_visible()
    page.page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true })")
    page.settled()
    left = page.page.evaluate("dispatchEvent(new Event('beforeprint')), document.querySelectorAll('.untypeset').length")
    assert left == 0


def test_judges_that_name_other_steps_can_be_found(opened, judge_page):
    split = opened(judge_page, "#/proofs?show=split")
    differ = opened(judge_page, "#/proofs?show=differ")
    assert int(split.text(".hits").split()[0]) < int(differ.text(".hits").split()[0])
    rows = differ.page.locator(".rows li").all()
    assert rows
    for row in rows:
        marks = {mark for mark in row.locator(".strip .mark").all_inner_texts() if mark != "!"}
        assert len(marks) > 1


def test_an_imported_run_says_where_it_comes_from(opened, imported_page):
    page = opened(imported_page)
    assert "imported" in page.page.locator(".glance .chip").all_inner_texts()
    assert "from the published evaluator 0.1.0" in page.text("main .facts")
    page.page.get_by_role("link", name="prover-interrupted").click()
    said = page.page.locator(".callout.bad").first
    expect(said).to_contain_text("finish it with the evaluator that made it, and import it again")
    expect(page.page.locator(".card").first).to_contain_text("no score yet")
    proof = opened(imported_page, "#/proofs?human=wrong")
    assert "Human annotation".upper() in proof.text(".sheet.human").upper()
    judgment = proof.page.locator("details.judgment[open]").first
    judgment.get_by_role("button", name=re.compile("^Prompt: the judge")).click()
    expect(judgment.locator("pre.raw").first).to_contain_text("<step0>")


def test_counts_of_one_are_singular(opened, imported_page, judge_page):
    for made in (imported_page, judge_page):
        page = opened(made)
        assert not re.search(
            r"(?<![\d.,])1 (problem|proof|judgment|row|step)s\b", page.page.locator("main").inner_text()
        )


@pytest.mark.parametrize("place", ["#/", "#/proofs?show=split"], ids=["overview", "proof"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, judge_page, scheme, place):
    page = opened(judge_page, place, color_scheme=scheme, bypass_csp=True)
    page.page.evaluate((ASSETS / "axe.min.js").read_text(encoding="utf-8"))
    found = page.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        f"{violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:300]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize(
    ("name", "fragment", "options"),
    [
        ("overview-light", "", {"color_scheme": "light"}),
        ("overview-dark", "", {"color_scheme": "dark"}),
        ("overview-narrow", "", {"viewport": {"width": 390, "height": 844}}),
        ("proof-light", "#/proofs?show=split", {"color_scheme": "light"}),
        ("proof-dark", "#/proofs?show=split", {"color_scheme": "dark"}),
        ("proof-narrow", "#/proofs?show=split", {"viewport": {"width": 390, "height": 844}}),
    ],
)
def test_screenshots_and_nothing_wider_than_the_screen(opened, judge_page, name, fragment, options):
    page = opened(judge_page, fragment, **options)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=ARTEFACTS / f"{name}.png", full_page="overview" in name)
    wide = page.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide


def test_print_shows_the_whole_overview(opened, judge_page):
    page = opened(judge_page, color_scheme="dark")
    page.page.emulate_media(media="print")
    expect(page.page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.page.pdf(path=ARTEFACTS / "overview.pdf")


def test_model_is_readable_without_the_page(judge_page):
    """The texts are gzipped JSON in base64: what is archived can be read in fifty years."""
    import base64
    import gzip

    text = judge_page.read_text(encoding="utf-8")
    packed = re.search(r'id="chunk-0">([^<]*)<', text)[1]
    chunk = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert chunk["proofs"][0]["steps"]
