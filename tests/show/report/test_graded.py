"""Runs whose judges give grades, in the report: acceptance comes from the grade, and no step is ever named."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.metrics.arrays import UNLOCATED
from proverbench.rehearse import ModelReply, RehearseServer
from proverbench.show.report.build import open_runs
from proverbench.show.report.index import ACCEPTS, INVALID_FROM
from tests.show.report.conftest import make_page
from tests.support import problem_rows, run_process, write_config, write_rows

HUMAN = [7, 6, 2, 7]
"""People's grades of four proofs; 6 and 7 are right."""
JUDGES = [(7, 7), (6, 3), (3, 2), (0, None)]
"""What two judgments of each give; None cannot be read."""


def _reply(ask, before):
    if "<step>" in ask.prompt:
        return ModelReply(content="<step>So.</step>")
    points = JUDGES[int(re.search(r"tatement number (\d)", ask.prompt)[1])][before % 2]
    return ModelReply(content="no grade" if points is None else f"<points>{points} out of 7</points>")


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """``v`` graded proofs that people graded; ``p`` wrote and graded four."""
    folder = tmp_path_factory.mktemp("graded")
    rows = [
        {
            "proof_id": f"v{n}",
            "problem_id": f"p{n}",
            "problem": f"Statement number {n}.",
            "steps": ["First.", "Then."],
            "grade": grade,
            "max_grade": 7,
        }
        for n, grade in enumerate(HUMAN)
    ]
    write_rows(folder / "v.jsonl", rows)
    write_rows(folder / "p.jsonl", problem_rows(4))
    with RehearseServer.in_thread(replies=_reply) as server:
        write_config(folder / "c.toml", server.base_url)
        for command, name in (("verify", "v"), ("run", "p")):
            words = ("--data", f"{name}.jsonl", "--config", "c.toml", "--verifier-repeats", "2", "--output", name)
            more = ("--protocol", "grade-0-7", "--no-use-reference-solution", "--concurrency", "1")
            ended = run_process(command, *words, *more, cwd=folder, timeout_s=300)
            assert ended.code == 0, ended.err
    return folder


def marks_and_grades(head: dict) -> dict[str, tuple[list, list]]:
    at = {name: place for place, name in enumerate(head["index"]["columns"])}
    found = {}
    for row in head["index"]["proofs"]:
        [[_, why, marks, grades]] = row[at["runs"]]
        assert why is None
        found[row[at["key"]]] = (marks, grades)
    return found


def test_the_index_has_acceptance_and_grade_of_each_judgment(runs):
    with open_runs([runs / "v"]) as report:
        head, chunk = report.head, report.chunk(0)
    run = head["runs"][0]
    assert run["verdict"] == "grade"
    assert marks_and_grades(head) == {
        "v0": ([ACCEPTS, ACCEPTS], [7, 7]),
        "v1": ([ACCEPTS, UNLOCATED], [6, 3]),
        "v2": ([UNLOCATED, UNLOCATED], [3, 2]),
        "v3": ([UNLOCATED, INVALID_FROM], [0, None]),
    }
    assert [proof["annotation"]["grade"] for proof in chunk["proofs"]] == [[grade, 7] for grade in HUMAN]
    plots = run["splits"]["all"]["plots"]
    assert "confusion" not in plots
    assert {row["on"] for row in plots["agreement"] + plots["human_agreement"]} == {"accept"}
    assert plots["grades"]["judge_max"] == plots["grades"]["people_max"] == 7
    assert sum(row["count"] for row in plots["grades"]["distribution"]) == 7 + len(HUMAN)
    assert "first_error_step_accuracy" not in run["splits"]["all"]["metrics"]
    assert not any("step" in warning for warning in run["warnings"])
    assert head["reasons"]["missing:points"]


READ = {
    "v": {
        "accepted by every judgment": 1,
        "rejected by a judgment": 3,
        "where one judgment accepts and another rejects": 1,
        "where judgments differ in grade": 2,
        "wrong, but accepted": 0,
        "right, but rejected": 2,
        "with an invalid judgment": 1,
    },
    "p": {
        "accepted by every judgment": 1,
        "rejected by a judgment": 3,
        "where one judgment accepts and another rejects": 1,
        "where judgments differ in grade": 2,
        "with an invalid judgment": 1,
        "without a valid proof": 0,
    },
}


@pytest.mark.parametrize("name", ["v", "p"])
def test_the_page_counts_by_acceptance_and_shows_grades(opened, runs, tmp_path, name):
    page = opened(make_page(tmp_path, runs / name))
    found = {}
    for link in page.page.locator("nav.read .place").all():
        count, what = link.inner_text().split(" ", 1)
        found[what] = int(count)
    assert found == READ[name]
    shows = page.page.locator("main").inner_text()
    assert "differ in verdict or step" not in shows
    assert "Where the first error is" not in shows
    run, key = (name, "v1") if name == "v" else (name, "p1%2F0")
    page.go(f"#/proof/{run}/{key}")
    strip = page.page.locator(".big-strip")
    expect(strip.locator(".mark")).to_have_text(["6", "3"])
    expect(strip).to_contain_text("1 of 2 accept, 1 reject")
    judgments = page.page.locator(".judgments")
    expect(judgments).to_contain_text("Judgment 0 accepts, grade 6")
    expect(judgments).to_contain_text("Judgment 1 rejects, grade 3")
    expect(judgments).not_to_contain_text("step -3")
    choices = page.page.locator("form.filters select").first.inner_text()
    assert "Judgments differ in grade" in choices
    assert "or step" not in choices
    if name == "v":
        assert "6 of 7 points" in page.text(".human")
        page.go("#/proofs?human=false-reject")
        expect(page.page.locator(".hits").first).to_have_text(re.compile("^2 of 4"))


def _numbers(page, title: str) -> list[list[str]]:
    """The table of a chart's numbers."""
    figure = page.page.locator("figure.chart", has=page.page.get_by_role("heading", name=title))
    figure.locator("details.numbers summary").click()
    rows = figure.locator("details.numbers tbody tr")
    rows.first.wait_for()
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


def test_grades_are_plotted_with_their_numbers(opened, runs, tmp_path):
    page = opened(make_page(tmp_path, runs / "v"))
    shown = page.page.locator("#plots-section")
    # Grades 7 7 6 3 3 2 0, of which 7 7 6 accept.
    assert "42.9 % of the judge's grades accept, from 6 of 7 on" in shown.inner_text()
    assert _numbers(page, "Which grades are given")[-2:] == [
        ["people", "0.8571", "1", "0.2500"],
        ["people", "1", "2", "0.5000"],
    ]
    # Means 7, 4.5, 2.5 and 0 against 7, 6, 2 and 7.
    assert "of 4 proofs the judge grades 2 lower than people, 1 the same, 1 higher" in shown.inner_text()
    against = _numbers(page, "The judge's grade against people's")
    assert against == [["2", "2.500", "1"], ["6", "4.500", "1"], ["7", "0", "1"], ["7", "7", "1"]]
    # Where it gives 7 people give 7, twice; 3: once 6 and once 2.
    assert "where the judge gives 3, people give 4 on average (2 judgments)" in shown.inner_text()
    worth = _numbers(page, "Calibration")
    assert [(row[0], row[1], row[-1]) for row in worth] == [
        ("0", "7", "1"), ("2", "2", "1"), ("3", "4", "2"), ("6", "6", "1"), ("7", "7", "2"),
    ]  # fmt: skip
    assert shown.locator("figure.chart svg[role=img]").count() >= 3


def test_grades_without_people_have_their_spread_alone(opened, runs, tmp_path):
    page = opened(make_page(tmp_path, runs / "p"))
    titles = page.page.locator("#plots-section h3").all_inner_texts()
    assert "Which grades are given" in titles
    assert not any("people" in title or "Calibration" in title for title in titles)


def test_no_figure_but_a_share_is_in_percent(command, opened, runs, tmp_path):
    """Points, correlations, kappa and bias: on the page, in Markdown, in LaTeX and in a terminal."""
    split = json.loads((runs / "v" / "summary.json").read_bytes())["splits"]["all"]
    value = {name: split["metrics"][name] for name in ("mae", "mae_points", "bias_valid", "pearson", "qwk")}
    # Errors 0 0, 0 3, 1 0, 7 and, of the invalid one, 7 points.
    assert value["mae_points"] == pytest.approx(18 / 8)
    short = {name: f"{value[name]:.3f}" for name in ("bias_valid", "pearson", "qwk")}
    short |= {"mae_points": "2.25", "mae": f"{100 * value['mae']:.1f}"}

    assert command("report", runs / "v", "--format", "md", "-o", tmp_path / "v.md").code == 0
    text = (tmp_path / "v.md").read_text()
    for name, shown in short.items():
        assert f"| `{name}` | {shown} [" in text
    assert "Scores are in percent (mae_points is in points; bias_valid, pearson, " in text
    asked = ("--metric", "mae", "--metric", "mae_points", "--metric", "pearson")
    latex = command("export", runs / "v", "--to", "latex", *asked).out
    cells = [shown.replace("-", "$-$") for shown in (short["mae"], short["mae_points"], short["pearson"])]
    assert re.search(" & ".join(re.escape(cell) + r" \{[^&]*\}" for cell in cells), latex)
    assert r"Not percentages: mae\_points is in points; pearson is a plain number." in latex
    for told in (command("score", runs / "v").out, command("inspect", runs / "v").out):
        assert "ot shares: mae_points is in points; bias_valid, pearson, " in told
        assert "scores 0-1" not in told


def test_the_page_shows_units_and_the_direction_of_a_bias(opened, runs, tmp_path):
    page = opened(make_page(tmp_path, runs / "v"))
    rows = {
        row.locator("code").first.inner_text(): row.locator("td").first.inner_text()
        for row in page.page.locator("details.all-metrics tbody tr").all()
        if row.locator("code").count()
    }
    assert rows["mae_points"].startswith("2.25 points")
    assert "%" in rows["mae"]
    for name in ("bias_valid", "pearson", "spearman", "kendall_b", "qwk"):
        assert "%" not in rows[name]
        assert re.match(r"−?[01]\.\d{3}( \[|$)", rows[name].split("\n")[0])
    page.page.locator("tr", has_text="bias_valid").locator("button.explain").click()
    said = page.page.locator("dialog.explanation[open]")
    expect(said).to_contain_text("0 is best; a plain number, from −1 to 1.")
