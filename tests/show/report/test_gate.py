"""The gate for shown texts, and formulas that would kill or deceive, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.rehearse import RehearseServer
from proverbench.show.report.html import render_page
from proverbench.unseen import is_unseen, unseen, visible
from tests.show.report.conftest import make_page
from tests.support import run_process, write_config, write_rows

NOTHING = '"use strict"; document.documentElement.dataset.ready = "yes";'

DRAWN = """
(async () => {
  const texts = await PB.model();
  const main = document.querySelector("main");
  const verdict = () => PB.h("p", { class: "verdict" }, "✗ rejects");
  main.replaceChildren(...texts.map((text) => PB.h("section", null, PB.text(text), verdict())));
  document.documentElement.dataset.ready = "yes";
})();
"""


def blank_page(folder: Path, texts: list[str], script: str = DRAWN) -> Path:
    page = folder / "page.html"
    page.write_text(render_page("t", texts, script, plots=False), encoding="utf-8")
    return page


def test_page_and_python_spell_out_the_same_characters(opened, tmp_path):
    page = opened(blank_page(tmp_path, [], NOTHING)).page
    in_page = page.evaluate(
        "() => Array.from({length: 0x110000}, (_, code) => code)"
        ".filter((code) => PB.unseen(String.fromCodePoint(code)) > 0)"
    )
    assert in_page == [code for code in range(0x110000) if is_unseen(chr(code))]
    texts = [
        "a\u202eb\x00",
        "\u200b" * 9 + "x",
        "❤\ufe0f\ufe0f 1\ufe0f",
        "\U000e0041\U000e0041\U000e0042",
        "\u00ad\u200d",
    ]
    assert page.evaluate("(texts) => texts.map(PB.visible)", texts) == [visible(text) for text in texts]
    assert page.evaluate("(texts) => texts.map(PB.unseen)", texts) == [unseen(text) for text in texts]


def test_elements_pass_the_gate_in_text_and_in_what_is_read_aloud(opened, tmp_path):
    page = opened(blank_page(tmp_path, [], NOTHING)).page
    found = page.evaluate(
        "() => { const node = PB.h('a', {title: 'a\\u202e', 'aria-label': 'b\\u200b', href: '#/c\\u200b'}, 'd\\u2066');"
        " return [node.title, node.getAttribute('aria-label'), node.getAttribute('href'), node.textContent]; }"
    )
    assert found == ["a⟨U+202E⟩", "b⟨U+200B⟩", "#/c\u200b", "d⟨U+2066⟩"]


def nested(depth: int) -> str:
    return "$" + "x^{" * depth + "x" + "}" * depth + "$"


def macros(depth: int) -> str:
    """As deep, without a brace within a brace: each macro holds the one before."""
    names = [f"\\m{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(depth)]
    body = "".join(f"\\def{name}{{x^{{{names[at - 1] if at else 'x'}}}}}" for at, name in enumerate(names))
    return f"${body}{names[-1]}$"


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        pytest.param(nested(61), "nested too deeply", id="deep"),
        pytest.param(nested(1500), "nested too deeply", id="very-deep"),
        pytest.param(macros(144), "nested too deeply", id="deep-by-macros"),
        pytest.param("$" + "x^2_3+" * 1300 + "x$", "too large to typeset", id="costly"),
        pytest.param("$\\text{a\u202eb}$", "holds characters that cannot be seen", id="bidi"),
        pytest.param("$\\kern-8em\\kern-8em\\text{hidden}$", "moves text out of its place", id="kern"),
        pytest.param("$\\llap{\\text{a long text that is hidden}}$", "moves text out of its place", id="llap"),
        pytest.param("$\\raisebox{8em}{\\text{up}}$", "moves text out of its place", id="raisebox"),
    ],
)
def test_what_would_kill_or_deceive_is_shown_as_source(opened, tmp_path, formula, why):
    page = opened(blank_page(tmp_path, [f"before {formula} after"]))
    source = page.page.locator(".math.source")
    expect(source).to_have_attribute("title", f"Shown as source: {why}")
    assert source.text_content() == visible(formula)


def test_what_is_harmless_is_typeset(opened, tmp_path):
    texts = [nested(8), "$\\sum_{\\mathclap{i<j}} x_{ij}$", "$a\\!b \\hspace{1em} c$", "$\\left(\\frac{1}{2}\\right)$"]
    page = opened(blank_page(tmp_path, texts)).page
    expect(page.locator(".katex-html")).to_have_count(len(texts))
    expect(page.locator(".math.source")).to_have_count(0)


PAINTERS = [
    "$\\smash{\\rule[-8em]{8em}{16em}}$",
    "$\\colorbox{white}{\\rule{0pt}{8em}}$",
    "$\\rlap{\\rule[-8em]{8em}{16em}}$",
    "$\\mathclap{\\rule[-8em]{8em}{16em}}$",
    "a" + "\u0300" * 60 + "\u0329" * 60,
    "\u05d0\u05d1 -1 \u05d2",
]


def test_verdicts_look_the_same_beside_hostile_text(opened, tmp_path):
    watched = opened(blank_page(tmp_path, PAINTERS))
    page = watched.page
    expect(page.locator(".prose .katex-html")).to_have_count(4)
    page.evaluate("() => document.fonts.ready.then(() => true)")
    watched.settled()
    verdicts = page.locator(".verdict")
    beside = [verdicts.nth(at).screenshot() for at in range(len(PAINTERS))]
    page.evaluate("() => document.querySelectorAll('.prose').forEach((node) => (node.style.visibility = 'hidden'))")
    watched.settled()
    alone = [verdicts.nth(at).screenshot() for at in range(len(PAINTERS))]
    assert [at for at, (one, other) in enumerate(zip(beside, alone, strict=True)) if one != other] == []


def test_what_a_formula_hides_can_be_seen(opened, tmp_path):
    texts = [
        "$a\\phantom{secret}b$",
        "$\\color{transparent}{secret}$",
        "$\\textcolor{white}{secret}$",
        "$\\color{#ffffff00}s$",
    ]
    page = opened(blank_page(tmp_path, texts), color_scheme="light").page
    expect(page.locator(".katex-html")).to_have_count(len(texts))
    colours = page.evaluate(
        "() => [...document.querySelectorAll('.katex-html *')]"
        ".filter((part) => !part.firstElementChild && part.textContent.trim())"
        ".map((part) => getComputedStyle(part).color)"
    )
    assert set(colours) == {"rgb(29, 32, 38)", "rgb(86, 92, 104)"}  # the ink of the page, and what is hidden, softer


WATCHED = """
(async () => {
  const texts = await PB.model();
  window.turns = []; // what each turn added
  let before = 0;
  const count = () => {
    const now = document.querySelectorAll(".katex").length + document.querySelectorAll(".section, .section > p").length;
    turns.push(now - before);
    before = now;
    requestAnimationFrame(count);
  };
  window.show = () =>
    requestAnimationFrame(() => {
      document.querySelector("main").replaceChildren(...texts.map((text) => PB.text(text)));
      count();
    });
  document.documentElement.dataset.ready = "yes";
})();
"""

SETTLED = "() => document.querySelector('.section') && document.documentElement.dataset.typeset === 'yes'"
RIGHT_TO_LEFT = "\u05d0b (\u05d2 x^2) " * 25_000  # 300 KB without a line's end
LARGE = [pytest.param("$x$" * 350_000, id="formulas"), pytest.param(RIGHT_TO_LEFT, id="right-to-left")]


@pytest.mark.parametrize("text", LARGE)
def test_no_turn_of_a_large_text_does_much(opened, tmp_path, text):
    page = opened(blank_page(tmp_path, [text], WATCHED), viewport={"width": 600, "height": 400}).page
    page.evaluate("show()")
    page.wait_for_function(SETTLED, timeout=120_000)
    page.evaluate("() => window.scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_function(SETTLED, timeout=120_000)
    turns = page.evaluate("turns")
    assert sum(turns) > 80
    assert max(turns) < 250  # formulas that are typeset, and a group of sections that are made
    assert page.locator(".prose").text_content().count(text[1]) >= text.count(text[1])  # nothing is lost
    lengths = page.evaluate("() => [...document.querySelectorAll('.section')].map((node) => node.textContent.length)")
    assert max(lengths) <= 3000
    assert page.locator(".katex").count() < 20_000  # of 350,000: those near the window


@pytest.mark.parametrize("line", ["Let $a + b = c$ be so. ", "\\begin{align} a &= b \\\\\n c &= d \\end{align} so\n"])
def test_no_formula_is_cut_where_a_section_ends(opened, tmp_path, line):
    page = opened(blank_page(tmp_path, [line * 1000])).page
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".section").count() > 5
    assert page.locator(".katex").count() == 1000


def test_hidden_text_is_counted_where_it_is_read(opened, tmp_path):
    steps = ["Fine.", "So \U000e0061\U000e0063\U000e0063 it holds.\u200b"]
    proofs = write_rows(tmp_path / "proofs.jsonl", [{"problem_id": "p", "sample": 0, "steps": steps}])
    data = write_rows(tmp_path / "data.jsonl", [{"problem_id": "p", "problem": "Prove it."}])
    with RehearseServer.in_thread() as server:
        config = write_config(tmp_path / "config.toml", f"{server.origin}/v1")
        extent = ("--verifier-repeats", "1", "--output", tmp_path / "run")
        ended = run_process("run", "--data", data, "--config", config, "--proofs", proofs, *extent, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "4 characters in 1 proof can be read by a judge and not seen by a person" in ended.out + ended.err
    page = opened(make_page(tmp_path, tmp_path / "run"), "#/proofs")
    said = page.page.locator(".big-strip").first
    expect(said).to_contain_text("holds 4 characters that a judge reads and a person cannot see")
    expect(page.page.locator("#step-1")).to_contain_text("⟨U+E0061⟩⟨U+E0063×2⟩ it holds.⟨U+200B⟩")
    shown = run_process("inspect", tmp_path / "run", "0", cwd=tmp_path)
    assert "4 characters that a person cannot see" in shown.out
