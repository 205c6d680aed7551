"""The page of a study, in a real browser: the matrix, panels, and judges beside each other."""

from playwright.sync_api import expect

from proverbench.metrics.shown import shown_interval
from proverbench.run.study import expanded
from proverbench.show.report.build import open_runs
from proverbench.show.report.write import write_report
from proverbench.show.study import study_head, study_tables
from tests.support import ROOT

STUDY = ROOT / "runs/demo-study"


def test_the_matrix_shows_every_score_and_leads_to_its_run(opened, tmp_path):
    with open_runs(expanded([STUDY], calibrations=True)) as report:
        report.head["study"] = study_head(STUDY)
        write_report(report, tmp_path / "r.html")
    page = opened(tmp_path / "r.html").page
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
    assert "/runs/" not in str(study_head(STUDY))
