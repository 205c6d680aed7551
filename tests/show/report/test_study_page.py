"""The page of a study, in a real browser: the matrix, panels, and judges beside each other."""

import re
import shutil
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.metrics.shown import shown_interval
from proverbench.rehearse import GeneratedReplies, RehearseServer
from proverbench.show.report.build import open_report
from proverbench.show.report.serve import Followed
from proverbench.show.report.write import write_report
from proverbench.show.study import study_tables
from tests.studies import study_file
from tests.support import HUNG_S, ROOT, problem_rows, proof_rows, run_process, write_rows

STUDY = ROOT / "runs/demo-study"


def page_of(study: Path, to: Path) -> Path:
    with open_report([study]) as report:
        write_report(report, to)
    return to


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A study of three policies and two judges whose replies differ, with its calibrations and prices."""
    folder = tmp_path_factory.mktemp("study")
    write_rows(folder / "problems.jsonl", problem_rows(4))
    write_rows(folder / "proofs.jsonl", proof_rows(4))
    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=0.1)) as server:
        prices = "prices = { input = 1, output = 2 }"
        file = study_file(server.base_url, rows=4, endpoint=prices, folder=folder)
        ended = run_process("study", file.name, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "studies/study"


def test_the_matrix_shows_every_score_and_leads_to_its_run(opened, tmp_path):
    page = opened(page_of(STUDY, tmp_path / "r.html")).page
    section = page.locator("section.study")
    expect(section).to_be_visible()
    text = section.inner_text()
    for row in study_tables(STUDY)["runs"]:
        cell = section.locator(f'a[href="#/run/{row["policy"]}--{row["judge"]}"]')
        assert cell.inner_text() == f"{100 * row['value']:.1f} %"
        ends = shown_interval(row["interval"])
        assert ends is not None
        assert f"{100 * ends.low:.1f} to {100 * ends.high:.1f}" in text
    for said in ("more than half", "all judges", "not by"):
        assert said in text
    section.locator('a[href="#/run/cool--wild"]').click()
    expect(page.locator("#glance")).to_contain_text("cool--wild")


def test_the_head_repeats_no_paths():
    with open_report([STUDY]) as report:
        assert "/runs/" not in str(report.head["study"])


def test_a_link_and_the_filters_show_what_one_judge_accepts_and_another_does_not(opened, tmp_path, asked):
    page = opened(page_of(asked, tmp_path / "r.html")).page
    found = [
        (policy, row["accepts"], row["rejects"], row["proofs"])
        for policy, rows in study_tables(asked)["crossed"].items()
        for row in rows
    ]
    policy, accepts, rejects, proofs = max(found, key=lambda row: row[3])
    assert proofs, "the judges cross somewhere"
    link = page.locator(f'a[href="#/proofs?of={policy}&yes={accepts}&no={rejects}"]')
    expect(link).to_have_text(str(proofs))
    link.click()
    hits = page.locator(".hits")
    expect(hits).to_have_text(re.compile(rf"^{proofs} of "))
    expect(page.get_by_label("Not accepted by")).to_have_value(rejects)
    every = sum(row[3] for row in found if row[1:3] == (accepts, rejects))
    page.get_by_label("Policy", exact=True).select_option("")
    expect(hits).to_have_text(re.compile(rf"^{every} of "))
    beside = page.locator("table.beside tr")
    expect(beside).to_have_count(2)
    expect(beside.filter(has=page.get_by_role("rowheader", name=accepts, exact=True))).to_contain_text("accepts")
    other = beside.filter(has=page.get_by_role("rowheader", name=rejects, exact=True))
    expect(other).to_contain_text("does not accept")
    expect(other.locator("a.mark, td[colspan]").first).to_be_visible()


def test_the_charts_of_panels_and_costs(opened, tmp_path, asked):
    page = opened(page_of(asked, tmp_path / "r.html")).page
    panels = page.locator(".panel-curves")
    expect(panels.locator("figcaption")).to_contain_text("Panels of judges: alpha")
    page.get_by_label("Panels on the proofs of").select_option("gamma")
    expect(panels.locator("figcaption")).to_contain_text("Panels of judges: gamma")
    expect(panels.locator("svg.plot")).to_be_visible()
    costs = page.locator("figure.chart").filter(has_text="in US dollars")
    expect(costs.locator("svg.plot [aria-label=dot] path, svg.plot path")).not_to_have_count(0)
    for row in study_tables(asked)["runs"]:
        others = [of for of in study_tables(asked)["runs"] if of["policy"] == row["policy"]]
        assert row["cost_usd"] <= row["alone_usd"] <= sum(of["cost_usd"] for of in others) + 1e-12


def test_the_served_page_takes_up_runs_as_they_come(tmp_path):
    study = tmp_path / "study"
    shutil.copytree(STUDY, study)
    late = study / "runs/warm--wild"
    late.rename(tmp_path / "late")
    followed = Followed([study])
    try:
        assert len(followed.latest()[1].head["study"]["runs"]) == 3
        (tmp_path / "late").rename(late)
        deadline = time.monotonic() + HUNG_S
        while len(followed.latest()[1].head["study"]["runs"]) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        followed.close()
