"""Markdown and text-mode LaTeX as models write them: shown as meant, inert, and nothing vanishes."""

import re

import pytest
from playwright.sync_api import expect

from tests.show.report.test_gate import blank_page

# ruff: noqa: E501 (a table of texts and what becomes of them)


def shown(opened, tmp_path, *texts: str):
    """The prose of a page with these texts, read and typeset."""
    page = opened(blank_page(tmp_path, list(texts)), viewport={"width": 1200, "height": 6000})
    page.page.evaluate("PB.settle(200)")
    page.settled()
    return page.page.locator(".prose")


def html(prose, at: int = 0) -> str:
    """Markup of a text, formulas by their source alone."""
    return str(
        prose.nth(at).evaluate(
            "(node) => { const copy = node.cloneNode(true);"
            " for (const math of copy.querySelectorAll('.math'))"
            " math.replaceWith(`[${math.dataset.source ?? math.textContent}]`);"
            " return copy.innerHTML.replace(/ class=\"bound\"/g, ''); }"
        )
    )


TEXTS = [
    ("**Bold** and *it* and `x_1`", "<p><strong>Bold</strong> and <em>it</em> and <code>x_1</code></p>"),
    ("2*3*4 and a_1 b_2_c", "<p>2*3*4 and a_1 b_2_c</p>"),
    ("# Claim\n\ntext", '<p class="heading-1">Claim</p><p>text</p>'),
    ("- a\n- b $x$", '<ul data-mark="-"><li>a</li><li>b [$x$]</li></ul>'),
    ("3. a\n7. b", '<ol><li value="3">a</li><li value="7">b</li></ol>'),
    ("x\n> 0 and\n+ 1", "<p>x\n&gt; 0 and\n+ 1</p>"),
    (
        "| a | b |\n|---|---|\n| $x$ | 2 |",
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>[$x$]</td><td>2</td></tr></tbody></table>",
    ),
    ("| a | b |\n|---|---|\n| 1 | 2 | hidden |", "<pre>| a | b |\n|---|---|\n| 1 | 2 | hidden |</pre>"),
    (
        "```hidden info\n$x$ <b>\n```",
        '<div class="fence"><p class="info">hidden info</p><pre>$x$ &lt;b&gt;\n</pre></div>',
    ),
    (
        r"\textbf{B} \emph{e} \texttt{t} \mbox{m} \underline{u}",
        "<p><strong>B</strong> <em>e</em> <code>t</code> <span>m</span> <u>u</u></p>",
    ),
    (
        r"\begin{enumerate}\item One $x$ \item Two\end{enumerate}",
        '<ol><li value="1">One [$x$]</li><li value="2">Two</li></ol>',
    ),
    ("\\begin{proof}[of 1] So.\n\\end{proof}", "<p><strong>Proof (of 1).</strong> So.\n∎</p>"),
    (r"\section*{Step 1} Then \qed", '<p class="heading-3">Step 1</p><p>Then ∎</p>'),
    ("one\\\\\ntwo \\ldots", "<p>one<br>\ntwo …</p>"),
    (
        "[a](javascript:alert(1)) ![b](http://x/y.png) <http://e.org>",
        "<p>[a](javascript:alert(1)) ![b](http://x/y.png) &lt;http://e.org&gt;</p>",
    ),
    ("[ref]: http://e.org 'title'", "<p>[ref]: http://e.org 'title'</p>"),
    ("&lt;b&gt; &amp; <b onclick=x>c</b>", "<p>&amp;lt;b&amp;gt; &amp;amp; &lt;b onclick=x&gt;c&lt;/b&gt;</p>"),
    ("a\n===\nb\n---", "<p>a\n===\nb</p><hr>"),
    ("    four *spaces*", "<p>four <em>spaces</em></p>"),
    ("\U000f0000 is held", "<p>⟨U+F0000⟩ is held</p>"),
]


def test_what_is_meant_is_shown(opened, tmp_path):
    prose = shown(opened, tmp_path, *(text for text, _ in TEXTS))
    found = [html(prose, at) for at in range(len(TEXTS))]
    assert found == [expected for _, expected in TEXTS]


def test_labels_references_and_definitions_hold_for_a_whole_proof(opened, tmp_path):
    texts = [
        r"\newcommand{\R}{\mathbb{R}} Let $x \in \R$.",
        "\\begin{align} a &= b \\label{eq:one} \\\\ c &= d \\end{align}\n\\begin{equation}\\label{two} e \\end{equation}",
        r"By \eqref{eq:one} and \ref{two}, $\eqref{two}$; \eqref{none}.",
        "$\\qed$ and $x \\mbox{ if } y$",
        r"\begin{equation} f \label{a hidden message} \end{equation}",
    ]
    script = """(async () => { const texts = await PB.model(); const scope = PB.scopeOf(texts);
      document.querySelector("main").replaceChildren(...texts.map((text) => PB.text(text, { scope })));
      PB.settle(500); document.documentElement.dataset.ready = "yes"; })();"""
    page = opened(blank_page(tmp_path, texts, script))
    prose = page.page.locator(".prose")
    expect(prose.nth(0).locator(".mathbb")).to_have_text(["R"])
    expect(prose.nth(1).locator(".math.display .katex-html")).to_have_count(2)
    numbers = [
        re.findall(r"\(\d\)", text) for text in prose.nth(1).locator(".math.display .katex-html").all_inner_texts()
    ]
    assert numbers == [["(1)"], ["(2)"]]
    expect(prose.nth(2)).to_contain_text("By (1) and 2", use_inner_text=True)
    assert "\\eqref{none}" in prose.nth(2).inner_text()
    assert prose.nth(3).locator(".math.source").count() == 0
    assert "a hidden message" in prose.nth(4).inner_text()


HOSTILE = [
    "<style>.verdict{display:none}</style><link rel=stylesheet href=//e>",
    "<form id=main><input name=textContent></form><a id=PB name=PB>",
    '<svg></p><style><a id="</style><img src=1 onerror=alert(1)>">',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "[x](data:text/html,<script>alert(2)</script>) [y]( javascript:alert(3))",
    "`</code><script>alert(4)</script>`\n\n```</pre><script>alert(5)</script>\n<b>\n```",
    "\\textbf{<img src=x onerror=alert(6)>} \\emph{\\textbf{" + "\\emph{" * 300 + "x" + "}" * 302,
    "- " * 5000 + "deep",
    "*" * 20_000 + "a" + "_" * 20_000,
    "[" * 20_000 + "`" * 5001 + "\\" * 9001,
    "\\begin{itemize}" * 500 + "\\item x" * 500,
    "| a " * 3000 + "|\n" + "|---" * 3000 + "|\n" + "| x |\n" * 200,
    "$\\def\\x{\\x\\x}\\x$ \\newcommand{\\y}{\\y\\y} $\\y$",
    "\\newcommand{\\__proto__}{1} \\newcommand{\\constructor}{2} $\\constructor$",
]


def test_hostile_texts_are_inert_and_quick(opened, tmp_path):
    prose = shown(opened, tmp_path, *HOSTILE)  # which is given up when it loops, and fails of any dialog or request
    page = prose.page
    assert page.locator("main :is(script, style, img, svg svg, form, input, a, link, iframe)").count() == 0
    ours = page.evaluate(
        "() => [...document.querySelectorAll('.prose *')].filter((node) => !node.closest('.math'))"
        ".flatMap((node) => [...node.attributes].map((attribute) => attribute.name))"
    )
    assert set(ours) <= {"class", "value", "data-mark"}
    assert page.locator(".verdict").count() == len(HOSTILE)
    assert page.locator(".verdict").first.is_visible()


@pytest.mark.parametrize("text", [text for text, _ in TEXTS])
def test_raw_text_is_one_press_away_and_exact(opened, tmp_path, text):
    prose = shown(opened, tmp_path, text)
    prose.page.evaluate("PB.toggleRaw()")
    assert prose.first.text_content() == text.replace("\U000f0000", "\U000f0000")
    prose.page.evaluate("PB.toggleRaw()")
