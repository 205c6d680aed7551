"""What models and datasets write is hostile text: it stays text, runs nothing, calls nothing, hides nothing."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.rehearse import RehearseServer
from proverbench.rehearse.plays import ModelReply
from proverbench.show.report.html import pack, page_file, render_page
from tests.show.report.conftest import make_page
from tests.support import run_process, write_config, write_rows

LONG_FORMULA = "$" + "x+" * 500_000 + "x$"
HOSTILE = [
    "$y_{<t}$ and $a<b$ and b>c",
    '$\\href{x"><animate onbegin=alert(1)>}{z}$ stays',
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "$5 and $6 are prices",
    '<svg onload=alert(3)><style>*{display:none}</style><iframe src="https://example.org/">',
    "$\\includegraphics{https://example.org/x.png}$ $\\htmlId{main}{y}$ $\\url{javascript:alert(4)}$",
    "\\(\\def\\a{\\a\\a}\\a\\) loops, $\\undefined{z}$ is unknown, $\\frac{1$ is broken",
    "half: $50% of x$; \\begin{align} a &= b \\\\ c &< d \\end{align} \\[ e = mc^2 \\]",
    "turned\u202eround, bell\u0007, null\u0000, [click](javascript:alert(5)) <a href='javascript:alert(6)'>x</a>",
    "$\\color{white}\\rule{9999em}{9999em}$ $\\kern-9999em z$",
    "${{constructor.constructor('alert(7)')()}}$ `${alert(8)}`",
    LONG_FORMULA,
    "$" + "{" * 3000 + "$",
    "\\( " * 30_000,
]
"""Each is a step of a proof, and the text of a judgment."""


def reply(ask, answered_before):
    if ask.role == "policy":
        return ModelReply(content="".join(f"<step>{step}</step>" for step in HOSTILE))
    if ask.role == "verifier":
        body = "\n".join(step for step in HOSTILE if len(step) < 10_000)
        errors = "" if answered_before else f"<error>{HOSTILE[2]}</error><error>{HOSTILE[1]}</error>"
        index = -1 if answered_before else 2
        return ModelReply(
            content=f"<assessment>{body}</assessment><errors>{errors}</errors>"
            f"<first_error_step>{index}</first_error_step>",
            reasoning="<script>alert(9)</script>",
        )
    raise AssertionError(ask.role)


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    data = write_rows(
        folder / "data.jsonl",
        [
            {
                "problem_id": "</script><b>p/1?#%",
                "problem": "\n\n".join(step for step in HOSTILE if len(step) < 10_000),
                "reference_solution": HOSTILE[2],
                "domain": "<i>ugd</i>",
                "subject": HOSTILE[4],
            }
        ],
    )
    with RehearseServer.in_thread(replies=reply) as server:
        config = write_config(folder / "config.toml", f"{server.origin}/v1", concurrency=1, model="<script>m")
        ended = run_process(
            *("run", "--data", data, "--config", config, "--verifier-repeats", "2", "--output", folder / "<b>run"),
            cwd=folder,
        )
    assert ended.code == 0, ended.err
    return make_page(folder, folder / "<b>run")


def test_hostile_text_stays_text_and_nothing_vanishes(opened, hostile_page):
    page = opened(hostile_page, "#/proofs")
    page.page.locator("#step-7").scroll_into_view_if_needed()
    page.settled()
    expect(page.page.locator(".steps li").nth(7).locator(".katex-display")).to_have_count(2)
    expect(page.page.locator(".steps li .prose")).to_have_count(len(HOSTILE))
    page.settled()
    shown = page.page.locator(".steps li .prose").all_text_contents()
    assert shown[2] == HOSTILE[2]
    assert shown[3] == HOSTILE[3]
    assert shown[4] == HOSTILE[4]
    assert "\\href" in shown[1]
    assert "onbegin=alert(1)" in shown[1]
    assert shown[5] == HOSTILE[5]
    assert shown[6] == HOSTILE[6]
    assert "⟨U+202E⟩" in shown[8]
    assert "bell␇, null␀" in shown[8]
    assert shown[11] == LONG_FORMULA
    assert shown[12] == HOSTILE[12]
    assert shown[13].strip() == HOSTILE[13].strip()
    page.page.locator("#step-0").scroll_into_view_if_needed()
    typeset = page.page.locator(".steps li").nth(0).locator(".katex annotation")
    expect(typeset).to_have_text(["y_{<t}", "a<b"])
    display = page.page.locator(".steps li").nth(7)
    assert "50\\% of x" in display.locator("annotation").first.text_content()
    assert page.page.locator("main script, main iframe, main img, main style, main svg svg").count() == 0
    assert page.page.locator("main a[href^='javascript']").count() == 0


def test_hostile_names_in_overview_filters_links_and_calls(opened, hostile_page):
    page = opened(hostile_page)
    assert "<b>run" in page.text("main h2")
    assert "<script>m-policy" in page.text(".lead")
    page.page.get_by_role("link", name="Proofs", exact=True).click()
    expect(page.page.locator(".judgment[open]").first).to_be_visible()
    href = page.page.locator(".rows a").first.get_attribute("href")
    fresh = opened(hostile_page, href + "/1")
    expect(fresh.page.locator(".judgment.chosen")).to_have_count(1)
    fresh.page.get_by_role("button", name="Reasoning: the judge's exact text").first.click()
    expect(fresh.page.locator("pre.raw").first).to_have_text("<script>alert(9)</script>")


def test_hostile_proof_does_not_stall_the_page(opened, hostile_page):
    page = opened(hostile_page, "#/proofs")  # which is given up when it loops: it would need many minutes
    page.until(lambda: page.page.locator("html[data-typeset=no]").count() == 0)


def test_the_policy_refuses_script_request_and_markup(opened, hostile_page):
    """The proof: what a hole would let in is refused by the browser."""
    watched = opened(hostile_page)
    page = watched.page
    tried = page.evaluate(
        """async () => {
            const tried = {};
            const script = document.createElement("script");
            try {
                script.textContent = "window.ran = 1";
                document.body.append(script);
                tried.script = window.ran ?? "refused";
            } catch (error) { tried.script = "refused"; }
            try {
                document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = 2'>");
                tried.markup = "in";
            } catch (error) { tried.markup = "refused"; }
            try { await fetch("https://example.org/"); tried.fetch = "out"; } catch (error) { tried.fetch = "refused"; }
            await new Promise((go) => setTimeout(() => {  // what the debugger itself evaluates is exempt
                try { (0, eval)("window.ran = 3"); tried.eval = "ran"; } catch (error) { tried.eval = "refused"; }
                go();
            }));
            const image = new Image();
            tried.image = await new Promise((go) => {
                image.onload = () => go("out");
                image.onerror = () => go("refused");
                image.src = "https://example.org/x.png";
            });
            tried.ran = window.ran ?? null;
            return tried;
        }"""
    )
    assert tried == {
        "script": "refused",
        "markup": "refused",
        "fetch": "refused",
        "eval": "refused",
        "image": "refused",
        "ran": None,
    }
    watched.until(lambda: any("Content Security Policy" in fault for fault in watched.faults))
    watched.leave()
    assert not [fault for fault in watched.faults if fault.startswith(("dialog", "popup"))]
    watched.faults.clear()


def test_texts_with_lone_surrogates_are_kept(opened, tmp_path):
    packed = pack({"text": "a\ud800b"})
    assert packed == pack(json.loads('{"text": "a\\ud800b"}'))
    script = (
        '"use strict";(async () => { const model = await PB.model();'
        ' document.querySelector("main").replaceChildren(PB.raw(`${model.text.length} ${model.text.charCodeAt(1)}`));'
        ' document.documentElement.dataset.ready = "yes"; })();'
    )
    page = tmp_path / "page.html"
    page.write_text(render_page("t", {"text": "a\ud800b"}, script), encoding="utf-8")
    assert opened(page).text("main") == "3 55296"
    assert page_file("page.js") in page.read_text(encoding="utf-8")
