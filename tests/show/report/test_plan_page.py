"""The page of a plan, and what a report says of a larger run, in a real browser."""

import pytest
from playwright.sync_api import expect

from proverbench.show.plan.basis import Costs, from_assumptions
from proverbench.show.plan.curves import plan_curves
from proverbench.show.plan.tables import Aims, plan_tables
from proverbench.show.report.build import open_runs
from proverbench.show.report.planning import plan_page
from proverbench.show.report.write import write_report
from tests.support import ROOT


@pytest.fixture
def plan(tmp_path):
    basis = from_assumptions(0.4, 0.5, 0.8, 8, Costs(0.0, 0.1, 0.02, 0.0), 100)
    aims = Aims(245, labels=100, precision=2.0, difference=10.0, budget=200.0)
    tables = plan_tables(basis, aims)
    path = tmp_path / "plan.html"
    path.write_text(plan_page(tables, plan_curves(basis, aims)), encoding="utf-8")
    return path, tables


@pytest.mark.parametrize("width", [1400, 420])
def test_a_plan_is_drawn_with_its_numbers(opened, plan, width):
    path, tables = plan
    page = opened(path, viewport={"width": width, "height": 900}).page
    main = page.locator("main")
    for sentence in tables["says"]:
        expect(main).to_contain_text(sentence)
    for answer in tables["answers"]:
        expect(main).to_contain_text(answer["question"])
    titles = ("problems and samples", "against cost", "difference of 10 points", "score by labels")
    figures = page.locator("figure.chart")
    expect(figures).to_have_count(len(titles))
    for title in titles:
        figure = figures.filter(has_text=title)
        figure.scroll_into_view_if_needed()
        expect(figure.locator("svg[role=img]")).to_be_visible()
    row = tables["designs"][-1]
    last = page.locator("main table").last.locator("tbody tr").last
    expect(last).to_contain_text(f"{100 * row['low']:.1f} % to {100 * row['high']:.1f} %")
    expect(last).to_contain_text(f"{row['cost']:,.2f}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_report_of_a_run_says_what_more_would_buy(opened, tmp_path):
    with open_runs([ROOT / "runs/demo-prover"]) as report:
        (run,) = report.head["runs"]
        drawn = run["samples"] > 1
        assert ("plan" in run["splits"]["all"]["plots"]) == drawn
        write_report(report, tmp_path / "r.html")
    page = opened(tmp_path / "r.html").page
    figure = page.locator("figure.chart").filter(has_text="What more problems or samples would buy")
    expect(figure).to_have_count(int(drawn))
    figure.scroll_into_view_if_needed()
    expect(figure.locator("svg[role=img]")).to_be_visible()
