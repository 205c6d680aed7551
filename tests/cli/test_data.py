"""``proverbench data`` as it is typed: whole output and exit code."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from proverbench.cli import pages
from proverbench.cli.data import command
from proverbench.inputs import fetch

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"


def run(*args: object) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args])


def proof(**changes: Any) -> dict[str, Any]:
    row = {
        "problem_id": "p1",
        "proof_id": "v1",
        "problem": "Prove that " + "it holds. " * 12,
        "domain": "ugd",
        "subject": "Algebra",
        "policy": "m",
        "reference_solution": "By definition.",
        "steps": ["First \x1b[31mred.", "Second.\n\n" + "long " * 30, "Third."],
        "annotation": {
            "first_fatal_error_step": 2,
            "recoverable_error_steps": [1],
            "reviewer_comment": "Step 1 is unclear.",
        },
    }
    return row | changes


@pytest.fixture
def proofs(tmp_path: Path) -> Path:
    path = tmp_path / "v.jsonl"
    right = {"first_fatal_error_step": -1, "recoverable_error_steps": [-1]}
    rows = [proof(), proof(proof_id="v2", annotation=right, policy=None, domain=None)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    path = tmp_path / "p.jsonl"
    path.write_text('{"problem_id": "a", "problem": "Prove A."}\n{"problem_id": "b", "problem": "Prove B."}\n')
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_validate_says_what_files_hold(proofs: Path, problems: Path) -> None:
    result = run("validate", proofs, problems)
    assert result.exit_code == 0
    assert result.output == (
        f"{proofs}: valid\n"
        "  2 proofs of 1 problems, 6 steps (VerifierBench)\n"
        "  labels    1 correct, 1 with a fatal error, 0 with recoverable errors only\n"
        "  reference 2 of 2 rows have a reference solution\n"
        "  domain    ugd 1, (none) 1\n"
        "  subject   Algebra 2\n"
        "  policy    m 1, (none) 1\n"
        f"  sha256    {sha256(proofs)}\n"
        f"{problems}: valid\n"
        "  2 problems (ProverBench)\n"
        "  reference 0 of 2 rows have a reference solution\n"
        "  domain    (none) 2\n"
        f"  sha256    {sha256(problems)}\n"
    )


def test_validate_lists_all_faults_of_all_files(tmp_path: Path, problems: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"problem": ""}\n{"problem": "x", "domain": "all"}\n')
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"problem": "x"\n')
    result = run("validate", bad, problems, torn)
    assert result.exit_code == 2
    assert result.stdout.startswith(f"{problems}: valid\n")
    assert [line.split(";")[0] for line in result.stderr.splitlines()] == [
        f'{bad}:1: field problem: found ""',
        f'{bad}:2: field domain: found "all"',
        f"{torn}:1: not JSON: Expecting ',' delimiter at character 16",
        "3 faults in 2 of 3 files",
    ]


def test_validate_json(proofs: Path, tmp_path: Path) -> None:
    result = run("validate", "--json", proofs, tmp_path / "none.jsonl")
    assert result.exit_code == 2
    good, missing = json.loads(result.stdout)
    assert (good["valid"], good["kind"], good["rows"]) == (True, "proofs", 2)
    assert good["labels"] == {"correct": 1, "fatal": 1, "only_recoverable": 0}
    assert missing["faults"] == [
        f"{tmp_path / 'none.jsonl'}: cannot be read: No such file or directory; give the path of a JSONL file"
    ]


def test_the_kind_can_be_said(proofs: Path) -> None:
    assert "found nothing; wanted a non-empty list" not in run("validate", proofs).output
    result = run("validate", "--kind", "problems", proofs)
    assert result.exit_code == 2
    assert "these are annotated proofs" in result.stderr


@pytest.mark.shared
def test_real_files_are_valid() -> None:
    files = [*sorted((SHARED / "real").glob("*.jsonl")), *sorted((SHARED / "published-run").glob("*.data.jsonl"))]
    result = run("validate", *files)
    assert (result.exit_code, result.output.count(": valid\n")) == (0, len(files))


def test_show_lists_rows_in_80_columns(proofs: Path) -> None:
    result = run("show", proofs)
    lines = result.output.splitlines()
    assert [line.split("Prove")[0].split() for line in lines] == [
        ["0", "v1", "ugd", "recov.", "1/3"],
        ["1", "v2", "-", "correct"],
    ]
    assert all(len(line) <= 80 for line in lines)


def test_show_spells_out_what_cannot_be_seen(tmp_path: Path) -> None:
    hidden = {"problem_id": "p\u202e1", "problem": "Prove \u2066it.", "domain": "d\u200bom"}
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(hidden), encoding="utf-8")
    shown = run("show", data).output
    assert not set(shown) & {"\u202e", "\u2066", "\u200b"}
    assert "d\\u200b" in shown


@pytest.mark.parametrize("name", ["v1", "0"])
def test_show_one_row_by_id_or_index(proofs: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    result = run("show", proofs, name)
    assert result.exit_code == 0
    assert all(len(line) <= 80 for line in result.output.splitlines() if not line.startswith("from"))
    wanted = [
        "── Problem",
        "── Step 0 ─",
        "── Step 1  ✗ recoverable error",
        "── Step 2  ✗ fatal error",
        "Step 1 is unclear.",
    ]
    places = [result.output.index(text) for text in wanted]
    assert places == sorted(places)
    assert f"from       {proofs}:1\n" in result.output
    assert "\x1b" not in result.output
    assert "\\u001b[31mred" in result.output


def test_show_a_problems_proofs(proofs: Path) -> None:
    assert [line.split()[1] for line in run("show", proofs, "p1").output.splitlines()] == ["v1", "v2"]


def test_show_json(proofs: Path, problems: Path) -> None:
    rows = [json.loads(line) for line in run("show", "--json", problems).output.splitlines()]
    assert [row["problem_id"] for row in rows] == ["a", "b"]
    (row,) = [json.loads(line) for line in run("show", "--json", proofs, "v1").output.splitlines()]
    assert (row["first_error_step"], row["is_correct"]) == (1, False)


@pytest.mark.parametrize("row", ["v9", "2", "-1"])
def test_show_what_is_not_there(proofs: Path, row: str) -> None:
    result = run("show", proofs, "--", row)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {proofs}: has no row '{row}': no such id, and indices are 0 to 1")


def test_import_says_what_it_decided(tmp_path: Path) -> None:
    source = tmp_path / "gsm8k.json"
    rows = [
        {"id": f"gsm8k-{i}", "problem": "p", "steps": ["a", "b" * (i != 1)], "label": i - 1, "generator": "m"}
        for i in range(3)
    ]
    source.write_text(json.dumps(rows))
    output = tmp_path / "out.jsonl"
    result = run("import", "--format", "processbench", source, "--output", output)
    assert result.exit_code == 0
    assert "2 proofs of 1 problems, 4 steps (VerifierBench)" in result.output
    assert "left out: 1 row: a step of the proof is empty" in result.output
    assert "recorded as its fatal error, with" in result.output
    assert run("validate", output).exit_code == 0
    again = run("import", "--format", "processbench", source, "--output", output)
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)


def test_import_by_a_description(tmp_path: Path) -> None:
    source = tmp_path / "c.csv"
    source.write_text("Question,Answer,Grade\nq,a,yes\nq,b,no\n")
    (tmp_path / "c.toml").write_text("[fields]\nproblem = 'Question'\nproof = 'Answer'\nverdict = 'Grade'\n")
    args = ["import", "--format", tmp_path / "c.toml", source, "--output", tmp_path / "o.jsonl"]
    result = run(*args, "--json")
    assert result.exit_code == 0
    report = json.loads(result.output)
    assert (report["rows"], report["left_out"]) == (2, {})
    assert "judges proofs as a whole" in report["notes"][0]


def test_graders_who_differ_and_another_split(tmp_path: Path) -> None:
    source = tmp_path / "opc.jsonl"
    row = {"problem_id": 1, "problem": "p", "score": [1, 1], "uncertain": [], "feedback": []}
    rows = [row | {"solution": "a\nb"}, row | {"solution": "c", "score": [0, 1]}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    args = ["import", "--format", "opc", source, "--split", "lines", "--graders", "all-agree"]
    result = run(*args, "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 0
    assert "1 proofs of 1 problems, 2 steps (VerifierBench)" in result.output
    assert "left out: 1 row: have graders who differ" in result.output


def test_split(tmp_path: Path, proofs: Path) -> None:
    graded = {"problem": "p", "steps": ["a\nb", "c"], "grade": 3, "max_grade": 7}
    (tmp_path / "g.jsonl").write_text(json.dumps(graded) + "\n")
    result = run("split", tmp_path / "g.jsonl", "--split", "lines", "--output", tmp_path / "o.jsonl")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "o.jsonl").read_text())["steps"] == ["a", "b", "c"]
    assert "2 steps before, 3 now" in result.output
    refused = run("split", proofs, "--split", "lines", "--output", tmp_path / "p.jsonl")
    assert refused.exit_code == 2
    assert "its label names a step" in refused.stderr
    assert not (tmp_path / "p.jsonl").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--format", "opc", "--data", "x"], "--data is for --format published"),
        (["--format", "labels", "--split", "lines"], "are not for --format labels"),
        (["--format", "opc"], "cannot be read: No such file or directory"),
        (["--format", "gradingbnch"], "did you mean 'gradingbench'?"),
        (["--format", "no.toml"], "cannot be read"),
    ],
)
def test_import_with_options_that_do_not_fit(tmp_path: Path, args: list[str], message: str) -> None:
    result = run("import", tmp_path / "no.json", "--output", tmp_path / "o.jsonl", *args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_fetch_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proofs: Path, problems: Path) -> None:
    for name, path in (("proverbench", problems), ("verifierbench", proofs)):
        mirror = tmp_path / "mirror" / fetch.PINNED[name].path
        mirror.parent.mkdir(parents=True)
        mirror.write_bytes(path.read_bytes())
        pinned = fetch.PinnedFile(name, fetch.PINNED[name].path, sha256(path))
        monkeypatch.setitem(fetch.PINNED, name, pinned)  # the published files cannot be shipped
    args = ["fetch", "--from", tmp_path / "mirror", "--output", tmp_path / "out"]
    result = run(*args)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{tmp_path}/out/proverbench.jsonl: 2 rows, fetched, SHA-256 as pinned\n"
        f"{tmp_path}/out/verifierbench.jsonl: 2 rows, fetched, SHA-256 as pinned\n",
    )
    assert "there already" in run(*args, "proverbench").stdout


def test_fetch_of_another_file_leaves_nothing_behind(tmp_path: Path, problems: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "proverbench.jsonl").write_bytes(problems.read_bytes())
    result = run("fetch", "proverbench", "--from", mirror, "--output", tmp_path / "out")
    assert result.exit_code == 2
    assert f"has SHA-256 {sha256(problems)}; wanted a71e6709" in result.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_console_without_unicode_does_not_crash(proofs: Path) -> None:
    code = "from proverbench.cli import main; main(prog_name='proverbench')"
    result = subprocess.run(
        [sys.executable, "-c", code, "data", "show", str(proofs), "v1"],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "fatal error" in result.stdout
