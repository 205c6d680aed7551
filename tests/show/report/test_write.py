import hashlib
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.show.report.build import open_runs
from proverbench.show.report.html import asset, content_policy, page_file, render_page
from proverbench.show.report.write import write_report
from tests.show.report.conftest import DATA, make_page

PACKAGE = Path(__file__).parents[3] / "proverbench" / "show" / "report"


def test_the_page_is_the_same_each_time(tmp_path):
    first = make_page(tmp_path / "a", DATA / "prover").read_bytes()
    assert make_page(tmp_path / "b", DATA / "prover").read_bytes() == first


def test_the_page_loads_nothing(tmp_path):
    text = make_page(tmp_path, DATA / "judge").read_text(encoding="utf-8")
    head = text[: text.index("<style>")]
    assert "connect-src 'none'" in head.replace("&#x27;", "'")
    markup = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<(?:script|img|iframe)[^>]+src=|<link[^>]+href=\"(?!data:)", markup)
    assert "url(fonts/" not in text


def test_a_report_that_is_too_large_becomes_a_folder_with_an_index(tmp_path, monkeypatch, opened):
    monkeypatch.setattr("proverbench.show.report.index.CHUNK_CHARACTERS", 20_000)
    index = make_page(tmp_path, DATA / "judge", largest=15_000)
    assert index == tmp_path / "report" / "index.html"
    parts = sorted(index.parent.glob("part-*.html"))
    assert len(parts) > 2
    page = opened(index, "#/")
    assert page.page.locator(".card").count() > 3
    page.page.get_by_role("link", name="Proofs", exact=True).click()
    page.page.wait_for_url(re.compile(r"/part-001\.html#"))
    expect(page.page.locator(".judgments")).to_have_count(1)
    page.settled()
    last = page.page.locator(".rows li").last
    name = last.locator(".name").inner_text()
    page.page.evaluate("(to) => { location.hash = to; }", last.locator("a").get_attribute("href"))
    page.page.wait_for_url(re.compile(r"/part-00[2-9]\.html#"))
    expect(page.page.locator(".proof-heading h2")).to_have_text(name)
    hits = page.page.locator(".hits")
    expect(hits).to_have_text(re.compile("of 28 proofs$"))
    expect(page.page.locator(".filters .where")).to_contain_text("whole texts only in the part that is open")
    page.page.get_by_label("Search in").fill("Sylow")
    expect(hits).to_have_text(re.compile(r"\(whole texts: of this part only\)$"))


def test_command_writes_page_and_markdown(command, tmp_path):
    ended = command("report", DATA / "prover", "-o", tmp_path / "out" / "page.html", "--published")
    assert ended.code == 0, ended.err
    assert "page.html" in ended.err
    assert (tmp_path / "out" / "page.html").stat().st_size > 1_000_000
    ended = command("report", DATA / "prover", "--format", "md")
    assert ended.out.startswith("### ProverBench: prover")
    ended = command("report", DATA / "prover", "--format", "md", "-o", tmp_path / "summary.md")
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("### ProverBench")
    assert not list(tmp_path.glob(".page*"))


def test_command_refuses_what_is_no_run(command, tmp_path):
    (tmp_path / "empty").mkdir()
    ended = command("report", tmp_path / "empty")
    assert ended.code != 0
    assert "no saved run" in ended.err
    for name in ("report", "view"):
        ended = command(name, tmp_path / "nothing")
        assert (ended.code, "nothing does not exist" in ended.err) == (2, True)


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    target = tmp_path / "page.html"
    target.write_text("old", encoding="utf-8")
    with open_runs([DATA / "prover"]) as report:

        def broken(number):
            raise OSError("disk full")

        monkeypatch.setattr(report, "chunk", broken)
        with pytest.raises(OSError, match="disk full"):
            write_report(report, target)
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_assets_are_the_files_that_were_shipped():
    folders = [PACKAGE / "assets", Path(__file__).parent / "assets"]
    for folder in folders:
        packages = json.loads((folder / "assets.json").read_text(encoding="utf-8"))
        listed = {name: digest for package in packages for name, digest in package["files"].items()}
        there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"assets.json"}
        assert there == set(listed)
        for name, digest in listed.items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
        for package in packages:
            assert any(name.startswith("LICENSE.") for name in package["files"]), package["package"]
    assert asset("katex.min.js")


def test_policy_allows_these_scripts_and_nothing_else():
    policy = content_policy(["alert(1)"], ["a{}"])
    digest = "bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI="
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy.replace("style-src-attr 'unsafe-inline'", "")
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("script", ["</script>", "a = '<script'", "x <!-- y"])
def test_a_script_that_would_end_its_element_is_refused(script):
    with pytest.raises(ValueError, match="must not hold"):
        render_page("t", {}, script)


def test_titles_are_escaped():
    page = render_page("<script>alert(1)</script>", {}, "0", math=False, plots=False)
    assert "<script>alert(1)" not in page
    assert "katex" not in page.split("<style>")[1][:200]
    assert page_file("page.css") in page


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("-o", "a.md"), "### ProverBench"),
        (("-o", "new/a.markdown"), "### ProverBench"),
        (("-o", "a.html"), "<!doctype html>"),
        (("-o", "a.md", "--format", "html"), "<!doctype html>"),
        (("-o", "a.html", "--format", "md"), "### ProverBench"),
    ],
)
def test_the_name_says_what_is_written(command, words, begins):
    assert command("report", DATA / "prover", *words).code == 0
    assert Path(words[1]).read_text(encoding="utf-8").lower().startswith(begins.lower())


def test_a_dash_is_standard_output(command):
    ended = command("report", DATA / "prover", "-o", "-", "--format", "md")
    assert ended.code == 0
    assert ended.out.startswith("### ProverBench")
    ended = command("report", DATA / "prover", "-o", "-")
    assert ended.code == 2
    assert "--format md" in ended.err
    assert list(Path().iterdir()) == []
