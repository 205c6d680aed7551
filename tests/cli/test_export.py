"""`proverbench export`: every form, read back by the programs that will read it."""

import re
import shutil
import subprocess
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from proverbench.show import frames
from proverbench.show.exports.export import TABLES
from proverbench.show.exports.latex_table import latex_text
from proverbench.show.exports.registry import export_names
from proverbench.show.exports.safe import CELL_LIMIT, cut, looks_like_formula, visible
from proverbench.show.frames import load
from tests.cli.conftest import HOSTILE
from tests.support import HUNG_S, ROOT


def test_csv(command, saved):
    ended = command("export", saved / "p1", saved / "v1", "--to", "csv", "-o", "out")
    assert (ended.code, ended.err) == (0, "")
    assert sorted(path.name for path in Path("out").iterdir()) == ["judgments.csv", "proofs.csv", "scores.csv"]
    proofs = pd.read_csv("out/proofs.csv", dtype={"problem_id": str})
    assert list(proofs.columns) == ["run", *frames.PROOFS]
    assert proofs.groupby("run").size().to_dict() == {"p1": 48, "v1": 60}
    scores = pd.read_csv("out/scores.csv")
    row = scores[(scores.run == "p1") & (scores.split == "all") & (scores.metric == "pessimistic")].iloc[0]
    assert row.value == load(saved / "p1").summary.splits["all"].metrics["pessimistic"]
    assert row.low <= row.value <= row.high


def test_parquet_holds_texts_exactly(command, saved):
    assert command("export", saved / "given", "--to", "parquet", "--table", "proofs", "-o", "out").code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["proofs.parquet"]
    assert pd.read_parquet("out/proofs.parquet")["proof"].tolist() == HOSTILE


def test_csv_is_safe_to_open(command, saved):
    assert command("export", saved / "given", "--to", "csv", "-o", "out").code == 0
    proofs = pd.read_csv("out/proofs.csv")["proof"].tolist()
    assert proofs[0] == "'" + HOSTILE[0]
    assert proofs[1] == "'@SUM(A1)"
    assert proofs[2] == "bell ␇ and escape ␛"
    assert proofs[3] == HOSTILE[3]  # nothing is cut here
    assert "\x07" not in Path("out/proofs.csv").read_text(encoding="utf-8")


def test_csv_for_locales_that_split_at_semicolons(command, saved):
    assert command("export", saved / "given", "--to", "csv", "-o", "plain").code == 0
    assert command("export", saved / "given", "--to", "csv", "--separator", ";", "-o", "out").code == 0
    for name in ("scores", "proofs", "judgments"):
        plain = pd.read_csv(f"plain/{name}.csv")
        pd.testing.assert_frame_equal(pd.read_csv(f"out/{name}.csv", sep=";", decimal=","), plain)
    assert "0,0;" in Path("out/scores.csv").read_text(encoding="utf-8")
    refused = command("export", saved / "given", "--to", "xlsx", "--separator", ";")
    assert (refused.code, refused.err) == (2, "error: --separator does nothing with --to xlsx; leave it out\n")


def test_xlsx_holds_text_and_no_formula(command, saved):
    assert command("export", saved / "given", "--to", "xlsx").code == 0
    book = openpyxl.load_workbook("export.xlsx")
    assert book.sheetnames == ["scores", "proofs", "judgments"]
    rows = list(book["proofs"].iter_rows())
    column = [cell.value for cell in rows[0]].index("proof")
    cells = [row[column] for row in rows[1:]]
    assert all(cell.data_type == "s" for cell in cells)
    assert cells[0].value == HOSTILE[0]
    assert cells[0].quotePrefix
    assert not cells[4].quotePrefix
    assert cells[2].value == "bell ␇ and escape ␛"
    assert len(cells[3].value) <= CELL_LIMIT
    assert re.search(r" … \[cut: \d+ of 40000 characters are missing\]$", cells[3].value)
    sample = [cell.value for cell in rows[0]].index("sample")
    assert rows[1][sample].value == 0  # numbers stay numbers


def test_latex(command, saved):
    ended = command(
        "export", saved / "p1", saved / "p2", saved / "v1", "--to", "latex", "--split", "all", "--split", "qe"
    )
    assert ended.code == 0
    assert ended.out.count("\\begin{table}") == 2
    assert "\\toprule" in ended.out
    value = load(saved / "p1").summary.splits["all"].metrics["pessimistic"]
    row = next(line for line in ended.out.splitlines() if "m1-policy &" in line)
    assert row.split(" & ")[1:5] == ["m1-verifier", "24", "2", "2"]
    assert row.split(" & ")[5].startswith(f"{100 * value:.1f}")
    assert row.endswith("\\\\")
    columns = re.search(r"\\begin{tabular}{(\w+)}", ended.out)[1]
    assert row.count("&") == len(columns) - 1
    assert "24 problems, S = 2, R = 2." in ended.out
    assert re.search(r"% m1-policy: all pessimistic = \d+/48; ", ended.out)
    assert "verifier (p1: m1-verifier; p2: m2-verifier)" in ended.out  # said: another judge
    assert "(openai)" not in ended.out
    assert "max\\_tokens" not in ended.out
    of = load(saved / "v1").entry.rows
    assert len(of) == 60
    assert f"intervals over the {len({row.problem_id for row in of})} problems that the proofs are of." in ended.out
    assert "Meta bal.\\ F1" in ended.out  # v1 was graded
    assert "not comparable with published tables" in ended.out


def test_latex_of_two_runs_of_one_model_names_the_runs(command, saved, tmp_path):
    shutil.copytree(saved / "v1", tmp_path / "again_1")
    ended = command("export", saved / "v1", tmp_path / "again_1", "--to", "latex", "-o", "t/table.tex")
    assert ended.code == 0
    made = Path("t/table.tex").read_text(encoding="utf-8")
    assert "m1-verifier (v1) &" in made
    assert "m1-verifier (again\\_1) &" in made


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_compiles(command, saved):
    command("export", saved / "p1", saved / "v1", "--to", "latex", "-o", "table.tex")
    document = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{table}\\end{document}"
    Path("paper.tex").write_text(document, encoding="utf-8")
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], check=True, timeout=HUNG_S)


def test_an_incomplete_run_has_rows_but_no_scores(command, saved):
    assert command("export", saved / "open", "--to", "csv", "-o", "out").code == 0
    assert len(pd.read_csv("out/proofs.csv")) == 48
    assert "all" not in set(pd.read_csv("out/scores.csv")["split"])
    assert "--" in command("export", saved / "open", "--to", "latex").out


def test_nothing_is_replaced_unasked(command, saved):
    Path("export.xlsx").write_text("mine")
    ended = command("export", saved / "p1", "--to", "xlsx")
    assert (ended.code, Path("export.xlsx").read_text()) == (2, "mine")
    assert "export.xlsx is there already" in ended.err
    assert command("export", saved / "p1", "--to", "xlsx", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("p1", "--to", "latex", "--split", "x"), "--split x: no run has it; there are all, ugd, qe"),
        (("p1", "--to", "latex", "--metric", "x"), "--metric x: no such metric; there are pessimistic"),
        (("p1", "--to", "csv", "--split", "qe"), "--split does nothing with --to csv"),
        (("p1", "--to", "xlsx", "--seed", "0"), "--seed does nothing with --to xlsx"),
        (("v1", "--to", "verifierbench"), "made of a ProverBench run"),
        (("p1", "p2", "--to", "verifierbench"), "give one RUN"),
        (("p1", "--to", "verifierbench", "--choose", "999"), "fewer than the 999 to choose"),
        (("nowhere", "--to", "csv"), "nowhere"),
    ],
)
def test_refusals(command, saved, arguments, said):
    ended = command("export", *[saved / a if (saved / a).is_dir() else a for a in arguments])
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert list(Path().iterdir()) == []


def test_a_missing_library_is_named(command, saved, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = command("export", saved / "p1", "--to", "parquet")
    assert ended.code == 2
    assert "pip install 'proverbench[export]'" in ended.err


# ---------------------------------------------------------------- the parts


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("=1+1", True),
        ("  =1+1", True),
        ("+CMD|' /C calc'!A0", True),
        ("-x", True),
        ("@x", True),
        ("\tx", True),
        ("＝1", True),
        ("-1", False),
        ("+2.5e-3", False),
        ("x = 1", False),
        ("", False),
    ],
)
def test_formulas(text, formula):
    assert looks_like_formula(text) is formula


def test_visible():
    assert visible("a\x00b\x1bc\td\ne\rf\x7f\x85\ufffe") == "a␀b␛c\td\ne␍f␡⟨U+0085⟩⟨U+FFFE⟩"


@pytest.mark.parametrize("text", ["x" * 40_000, "𝔸" * 20_000, "x" * CELL_LIMIT + "𝔸"])
def test_cut_fits_and_says_how_much_is_missing(text):
    short = cut(text)
    assert len(short.encode("utf-16-le")) // 2 <= CELL_LIMIT
    kept, missing, total = re.fullmatch(r"(.*) … \[cut: (\d+) of (\d+) characters are missing\]", short, re.S).groups()
    assert text.startswith(kept)
    assert int(total) == len(text) == len(kept) + int(missing)
    assert cut(text[:1000]) == text[:1000]


def test_latex_text():
    assert latex_text("a_b & 50% \\x {y}\n$z$ #~^<>") == (
        r"a\_b \& 50\% \textbackslash{}x \{y\} \$z\$ \#\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}"
    )


def test_the_page_lists_every_format():
    page = (ROOT / "docs/exports.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*`) \| .* \|$", page.split("\n## ")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == export_names()


def test_the_page_lists_every_column():
    page = (ROOT / "docs/exports.md").read_text(encoding="utf-8")
    assert list(frames.TABLES) == list(TABLES)
    for table in frames.TABLES:
        row = re.search(rf"^\| `{table}` \| (.*) \|$", page, re.MULTILINE)[1]
        assert re.findall(r"`(\w+)`", row) == list(getattr(frames, table.upper()))


@pytest.mark.parametrize("form", ["parquet", "xlsx"])
def test_what_is_not_installed_is_told_before_anything_is_made(command, saved, tmp_path, monkeypatch, form):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = command("export", saved / "p1", "--to", form, "-o", tmp_path / "made" / "it")
    assert ended.code == 2
    assert "pip install 'proverbench[export]'" in ended.err
    assert not (tmp_path / "made").exists()
