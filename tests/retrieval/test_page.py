"""The page in a real browser, offline."""

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from proverbench.retrieval.leaderboard import build_page
from proverbench.retrieval.page import render_report
from proverbench.retrieval.published import PublishedRow
from tests.browser import Watched
from tests.retrieval.support import make_query
from tests.retrieval.test_leaderboard import SINGLE, a_run

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">'


def published(source: Literal["paper", "hosted API"], recall: float) -> PublishedRow:
    metrics = {"R@1": 0.2, "R@10": recall}
    return PublishedRow(system="Older", source=source, reference="x", task="jsonl", corpus="lib", n=8, metrics=metrics)


PUBLISHED = [published("paper", 0.7), published("hosted API", 0.8)]


def hostile_page() -> str:
    queries = [*SINGLE[:-1], make_query("q7", HOSTILE, [HOSTILE])]
    sample = {"documents": 100, "sampled_from": 243_000, "sample_seed": 1, "key": "sample"}
    runs = [
        a_run("first", [1, 1, 1, 1, 2, 9, 30, None], queries=queries, corpus=sample, licence="CC-BY-NC-4.0"),
        a_run("second", [3] * 8, queries=queries, corpus=sample),
        a_run(HOSTILE, [None] * 8, queries=queries, corpus=sample),
    ]
    runs[0].ranked["q7"][:] = [HOSTILE]
    return render_report(build_page(runs, published=PUBLISHED))


def test_the_page_carries_everything_and_allows_nothing_else() -> None:
    page = hostile_page()
    assert HOSTILE not in page, "what others wrote is only in the packed model"
    policy = html.unescape(re.findall('Content-Security-Policy" content="([^"]*)"', page)[0])
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(hostile_page(), encoding="utf-8")
    return path


@pytest.fixture
def view(opened: Callable[..., Watched], page_file: Path) -> Callable[[str], Page]:
    """``view(place)`` opens the page there."""

    def go(place: str) -> Page:
        page = opened(page_file, place).page
        expect(page.locator(".banner").first).to_have_text(re.compile("^Subsampled corpus"))  # on every view
        expect(page.locator("footer.licences")).to_contain_text("Commercial use is not allowed")  # on every view
        return page

    return go


def test_the_leaderboard(view: Callable[[str], Page]) -> None:
    page = view("#/")
    rows = page.locator("table.board tbody tr")
    expect(rows.locator(".system")).to_have_text(["first", "second", HOSTILE])
    expect(rows.nth(0)).to_contain_text("CC-BY-NC-4.0")
    expect(rows.nth(0).locator("td").nth(0)).to_have_text(re.compile(r"\b0\.\d{3}\b"))
    expect(page.locator("table.board svg.spark")).to_have_count(3)
    published = page.locator(".published tbody tr")
    expect(published).to_have_count(2)
    expect(published.nth(0)).to_contain_text("paper")
    expect(page.locator("table.board").get_by_text("Older")).to_have_count(0)


def test_curves_are_chosen_and_precision_is_refused_with_its_reason(view: Callable[[str], Page]) -> None:
    page = view("#/compare")
    precision = page.locator("label.disabled")
    expect(precision.locator("input")).to_be_disabled()
    expect(precision).to_contain_text("single gold unit")
    dashed = page.locator(
        'figure.chart .canvas [stroke-dasharray="4 3"] path, figure.chart .canvas path[stroke-dasharray="4 3"]'
    )
    expect(dashed).to_have_count(2)  # a paper and a hosted service are two lines, dashed
    page.get_by_role("radio", name="nDCG@k").check()
    expect(page.locator("figure.chart h3").first).to_have_text("nDCG@k")
    page.get_by_role("checkbox", name="second").uncheck()
    expect(page.locator("figure.chart .legend li")).to_have_count(2)


def test_queries_show_where_each_system_put_the_answer(view: Callable[[str], Page]) -> None:
    page = view("#/queries")
    rows = page.locator("table.queries tbody tr")
    expect(rows).to_have_count(8)
    assert [rows.nth(6).locator("td").nth(i).inner_text() for i in (1, 2, 3)] == ["30", "3", "–"]
    page.get_by_label("Search").fill("text 3")
    expect(rows).to_have_count(1)
    page = view("#/query/7")
    expect(page.locator(".prose")).to_have_text(HOSTILE)
    assert page.locator("ol.top li.gold").first.inner_text().startswith(HOSTILE)


def test_what_is_held_constant_and_prior_work_have_a_view(view: Callable[[str], Page]) -> None:
    page = view("#/methodology")
    for fact in ("own-v1", "CoveredRoute@k", "1" * 64, "arXiv:2605.13137"):
        expect(page.locator("main")).to_contain_text(fact)
    page = view("#/changelog")
    expect(page.locator("tbody tr")).to_have_count(3)
    page = view("#/breakdowns")
    expect(page.locator("main h2")).to_have_text("Breakdowns")


def test_a_place_is_left_for_another(opened: Callable[..., Watched], page_file: Path) -> None:
    page = opened(page_file, "#/methodology")
    page.page.locator("header.bar nav a", has_text="Changelog").click()
    expect(page.page.locator("main h2")).to_have_text("Changelog")
    expect(page.page.locator("header.bar nav a[aria-current]")).to_have_text("Changelog")


def test_engines_are_dashed_and_no_two_of_thirteen_lines_look_alike(
    opened: Callable[..., Watched], tmp_path: Path
) -> None:
    runs = [a_run(f"system {i}", [1 + i] * 8) for i in range(12)]
    runs.append(a_run("engine", [2] * 8, external=True, own_corpus="its corpus"))
    path = tmp_path / "many.html"
    path.write_text(render_report(build_page(runs)), encoding="utf-8")
    watched = opened(path, "#/compare")
    page = watched.page
    page.locator("select").first.select_option(label=page.locator("select option").last.inner_text())
    legend = page.locator("figure.chart .legend li")
    expect(legend).to_have_count(13)
    expect(legend.locator("svg")).to_have_count(13)
    watched.settled()
    swatches = [legend.nth(i).locator("svg").inner_html() for i in range(13)]
    assert len(set(swatches)) == 13
    dashed = [legend.nth(i).inner_text() for i in range(13) if "stroke-dasharray" in swatches[i]]
    assert dashed == ["engine: published engine, its corpus"]
