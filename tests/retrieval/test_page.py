"""The page in a real browser, offline; skipped where there is none."""

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from proverbench.retrieval.leaderboard import build_page
from proverbench.retrieval.page import render_report
from proverbench.retrieval.published import PublishedRow
from tests.retrieval.support import make_query
from tests.retrieval.test_leaderboard import SINGLE, a_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """``view(place)`` opens the page there."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    sync_api = pytest.importorskip("playwright.sync_api")
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(hostile_page(), encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.faults = []
        page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: page.faults.append("a dialog"))
        page.on("request", lambda request: page.faults.append(request.url) if "://" in request.url[:8] else None)

        def go(place: str) -> Any:
            page.goto(f"file://{path}{place}")
            page.wait_for_selector("html[data-ready]")
            page.faults[:] = [fault for fault in page.faults if not fault.startswith("file://")]
            assert page.locator(".banner").first.inner_text().startswith("Subsampled corpus"), "on every view"
            assert "Commercial use is not allowed" in page.locator("footer.licences").inner_text(), "on every view"
            return page

        yield go
        browser.close()


def test_the_leaderboard(view: Any) -> None:
    page = view("#/")
    rows = page.locator("table.board tbody tr")
    assert [rows.nth(i).locator(".system").inner_text() for i in range(3)] == ["first", "second", HOSTILE]
    assert "CC-BY-NC-4.0" in rows.nth(0).inner_text()
    assert re.search(r"\b0\.\d{3}\b", rows.nth(0).locator("td").nth(0).inner_text()), "three decimals"
    assert page.locator("table.board svg.spark").count() == 3
    published = page.locator(".published tbody tr")
    assert published.count() == 2
    assert "paper" in published.nth(0).inner_text()
    assert page.locator("table.board").get_by_text("Older").count() == 0
    assert page.faults == []


def test_curves_are_chosen_and_precision_is_refused_with_its_reason(view: Any) -> None:
    page = view("#/compare")
    precision = page.locator("label.disabled")
    assert precision.locator("input").is_disabled()
    assert "single gold unit" in precision.inner_text()
    page.wait_for_selector("figure.chart svg.plot, figure.chart .canvas svg")
    dashed = page.locator(
        'figure.chart .canvas [stroke-dasharray="4 3"] path, figure.chart .canvas path[stroke-dasharray="4 3"]'
    )
    assert dashed.count() == 2, "a paper and a hosted service are two lines, dashed"
    page.get_by_role("radio", name="nDCG@k").check()
    assert page.locator("figure.chart h3").first.inner_text() == "nDCG@k"
    page.get_by_role("checkbox", name="second").uncheck()
    assert page.locator("figure.chart .legend li").count() == 2
    assert page.faults == []


def test_queries_show_where_each_system_put_the_answer(view: Any) -> None:
    page = view("#/queries")
    rows = page.locator("table.queries tbody tr")
    assert rows.count() == 8
    assert [rows.nth(6).locator("td").nth(i).inner_text() for i in (1, 2, 3)] == ["30", "3", "–"]
    page.get_by_label("Search").fill("text 3")
    assert rows.count() == 1
    page = view("#/query/7")
    assert page.locator(".prose").inner_text() == HOSTILE
    assert page.locator("ol.top li.gold").first.inner_text().startswith(HOSTILE)
    assert page.faults == []


def test_what_is_held_constant_and_prior_work_have_a_view(view: Any) -> None:
    page = view("#/methodology")
    text = page.locator("main").inner_text()
    for fact in ("own-v1", "CoveredRoute@k", "1" * 64, "arXiv:2605.13137"):
        assert fact in text
    page = view("#/changelog")
    assert page.locator("tbody tr").count() == 3
    page = view("#/breakdowns")
    assert "Breakdowns" in page.locator("main").inner_text()
    assert page.faults == []


def test_engines_are_dashed_and_no_two_of_thirteen_lines_look_alike(view: Any, tmp_path: Path) -> None:
    runs = [a_run(f"system {i}", [1 + i] * 8) for i in range(12)]
    runs.append(a_run("engine", [2] * 8, external=True, own_corpus="its corpus"))
    path = tmp_path / "many.html"
    path.write_text(render_report(build_page(runs)), encoding="utf-8")
    page = view("#/").context.browser.new_page()
    page.goto(f"file://{path}#/compare")
    page.wait_for_selector("html[data-ready]")
    page.locator("select").first.select_option(label=page.locator("select option").last.inner_text())
    legend = page.locator("figure.chart .legend li")
    assert legend.count() == 13
    swatches = [legend.nth(i).locator("svg").inner_html() for i in range(13)]
    assert len(set(swatches)) == 13
    dashed = [legend.nth(i).inner_text() for i in range(13) if "stroke-dasharray" in swatches[i]]
    assert dashed == ["engine: published engine, its corpus"]
    page.close()
