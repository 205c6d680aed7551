"""Every kind of pair of runs, in every output that can show two: none stands beside another without a word."""

import itertools
import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from proverbench import load
from proverbench.cli import main
from proverbench.rehearse import GeneratedReplies, RehearseServer
from proverbench.show.report.build import open_runs
from tests.support import problem_rows, write_calls, write_config, write_rows

PROMPT = "Judge: <assessment>, <errors>, <first_error_step>.\n{problem}\n{human_solution}\n{solution}\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A run, and one of each kind that differs from it in one thing."""
    folder = tmp_path_factory.mktemp("beside")
    problems = problem_rows(8)
    write_rows(folder / "p.jsonl", problems)
    write_rows(folder / "changed.jsonl", [row | {"problem": f"{row['problem']} Really."} for row in problems])
    (folder / "judge.txt").write_text(PROMPT)

    def run(name: str, *more: str, data: str = "p.jsonl", config: str = "c.toml", repeats: int = 4) -> None:
        words = ["--data", str(folder / data), "--config", str(folder / config), "--verifier-repeats", str(repeats)]
        words += [] if "--samples" in more else ["--samples", "2"]
        with pytest.raises(SystemExit) as ended:
            main(["run", *words, *more, "--output", str(folder / name)], prog_name="proverbench")
        assert ended.value.code == 0

    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=0.05, accept_rate=0.8)) as server:
        write_config(folder / "c.toml", server.base_url)
        write_config(folder / "other.toml", server.base_url, model="n")
        run("base")
        run("repeats", repeats=2)
        run("samples", "--samples", "1")
        run("judge", config="other.toml")
        run("prompt", "--verifier-prompt", str(folder / "judge.txt"))
        run("data", data="changed.jsonl")
        run("reference", "--no-use-reference-solution")
        run("neutralise", "--no-neutralise")
        run("few", "--limit", "3")
    for name in ("unfinished", "closed"):
        shutil.copytree(folder / "base", folder / name)
        lines = [json.loads(line) for line in (folder / name / "calls.jsonl").read_text().splitlines()]
        last = max(place for place, line in enumerate(lines) if line.get("role") == "verifier")
        write_calls(folder / name, lines[:last] + lines[last + 1 :])
    with pytest.raises(SystemExit):
        main(["run", "--resume", str(folder / "closed"), "--final"], prog_name="proverbench")
    return folder


SAID = {
    "repeats": "repeats (base: 4; repeats: 2)",
    "samples": "samples (base: 2; samples: 1)",
    "judge": "verifier (base: m-verifier",
    "prompt": "verifier prompt (base:",
    "data": "data file (base:",
    "reference": "reference switch (base: shown; reference: not shown)",
    "neutralise": "neutralising (base: on; neutralise: off)",
    "few": "problems (base: 8; few: 3)",
    "unfinished": "unfinished is not finished",
    "closed": "closed: 1 unanswered calls were closed as zero credit",
}
"""Kind of pair → what each output must say of it."""
APART = ("repeats", "samples", "few")
"""Kinds that must not stand in one table."""
EVERY = pytest.mark.parametrize("kind", SAID)


def flat(text: str) -> str:
    """Without what formats add: line ends, escapes."""
    text = text.replace("\\_", "_").replace("\\textasciitilde{}", "~")
    return " ".join(re.sub(r"\\(?=[^\w\s])", "", text).split())


@EVERY
def test_latex(command, runs, kind):
    ended = command("export", runs / "base", runs / kind, "--to", "latex")
    assert SAID[kind] in flat(ended.out)
    assert SAID[kind] in flat(ended.err)
    assert ended.out.count("\\begin{table}") == (2 if kind in APART else 1)
    for name, repeats, samples, n in (("base", 4, 2, 8), (kind, *asked(runs / kind))):
        model = "m-policy" if kind != "judge" or name == "base" else "n-policy"
        judge = model.replace("policy", "verifier")
        rows = [line for line in ended.out.splitlines() if line.startswith(f"    {model}")]
        assert any(f"& {judge} & {n} & {samples} & {repeats} & " in row for row in rows), (name, rows)


def asked(run: Path) -> tuple[int, int, int]:
    """R, S and n."""
    extent = load(run).manifest.extent
    return extent.verifier_repeats, extent.samples, extent.rows


@EVERY
@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_tables(command, runs, kind, form):
    ended = command("export", runs / "base", runs / kind, "--to", form, "--table", "scores")
    assert ended.code == 0
    assert SAID[kind] in flat(ended.err)
    if form == "csv":
        scores = pd.read_csv("export/scores.csv")
    elif form == "parquet":
        scores = pd.read_parquet("export/scores.parquet")
    else:
        scores = pd.read_excel("export.xlsx", sheet_name="scores")
    by_run = {name: rows.iloc[0] for name, rows in scores[scores["metric"] == "pessimistic"].groupby("run")}
    for name, row in by_run.items():
        repeats, samples, n = asked(runs / name)
        assert (row["judge"], row["repeats"], row["samples"], row["rows"]) == (
            "n-verifier" if name == "judge" else "m-verifier", repeats, samples, n,
        )  # fmt: skip
        assert row["reference_shown"] == (name != "reference")
        assert row["neutralised"] == (name != "neutralise")
    if kind == "unfinished":
        return  # without a figure of 'all', only of the split that is complete
    assert (by_run["base"]["board"] != by_run[kind]["board"]) == (kind in APART)
    if kind not in APART:
        assert SAID[kind] in by_run[kind]["differs"]
    assert by_run["closed"]["closed_unanswered"] == 1 if kind == "closed" else True


@EVERY
def test_markdown(command, runs, kind):
    shown = command("report", runs / "base", runs / kind, "--format", "md").out
    boards, _, _ = shown.partition("### ProverBench: base")
    assert SAID[kind] in flat(boards)
    assert boards.count("| run | judge | n | S | R |") == (2 if kind in APART else 1)
    repeats, samples, n = asked(runs / kind)
    assert re.search(rf"\| {kind} \| [mn]-verifier \| {n} \| {samples} \| {repeats} \|", boards)


@EVERY
def test_page(runs, kind):
    with open_runs([runs / "base", runs / kind]) as report:
        boards, apart = report.head["boards"], report.head["apart"].get("prover", [])
    assert len(boards) == (2 if kind in APART else 1)
    said = apart if kind in APART else boards[0]["notes"]
    assert any(SAID[kind] in sentence for sentence in said)


@EVERY
def test_compare(command, runs, kind):
    ended = command("compare", runs / "base", runs / kind)
    if kind == "repeats":
        assert ended.code == 2
        assert f"{SAID[kind]}" in flat(ended.err)
        assert "--repeats 2" in ended.err
    elif kind == "unfinished":
        assert ended.code == 2
        assert "records of 'all' are complete" in ended.err
    elif kind == "few":
        assert "3 problems in common" in ended.out
        assert "left out, because another run lacks them: base 5" in ended.out
    else:
        assert ended.code == 0
        assert SAID[kind] in flat(ended.out)


@pytest.mark.parametrize("kind", [kind for kind in SAID if kind != "unfinished"])
def test_analyse(command, runs, kind):
    ended = command("analyse", runs / "base", runs / kind, "--by", "domain")
    assert ended.code == 0
    assert SAID[kind] in flat(ended.out)


def test_score_says_what_was_measured(command, runs):
    shown = " ".join(command("score", runs / "reference").out.split())
    wanted = (
        "m-policy writes, m-verifier judges; 8 problems, S = 2, R = 4; prompts: policy own, verifier own; "
        "reference solution not shown; neutralising on"
    )
    assert wanted in shown


def test_a_run_of_few_problems_is_not_ranked_before_one_of_many(runs):
    with open_runs([runs / "base", runs / "few", runs / "judge"]) as report:
        assert [board["runs"] for board in report.head["boards"]] == [["base", "judge"], ["few"]]


def at_subsets(run: Path, r: int) -> Fraction:
    """pessimistic, had r judgments been asked: over every subset, one by one."""
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    total = Fraction(0)
    for record in records:
        says = [j["valid"] and j["first_error_step"] == -1 for j in record["judgments"]]
        subsets = list(itertools.combinations(says, r))
        total += Fraction(sum(map(all, subsets)), len(subsets)) if subsets else 0
    return total / len(records)


def test_the_common_r_is_offered_and_exact(command, runs):
    wanted = {name: at_subsets(runs / name, 2) for name in ("base", "repeats")}
    with open_runs([runs / "base", runs / "repeats"]) as report:
        [offer] = report.head["common"]["prover"]
    assert offer["repeats"] == 2
    assert {row["run"]: row["value"] for row in offer["scores"]} == pytest.approx(
        {name: float(value) for name, value in wanted.items()}, abs=1e-11
    )
    words = ("--repeats", "2", "--json")
    answer = json.loads(command("compare", runs / "base", runs / "repeats", *words).out)
    [row] = answer["pairs"]
    assert (row["metric"], answer["repeats"]) == ("pessimistic", 2)
    assert row["first_value"] == pytest.approx(float(wanted["base"]), abs=1e-11)
    assert row["second_value"] == pytest.approx(float(wanted["repeats"]), abs=1e-11)
    assert row["interval"]["low"] <= row["difference"] <= row["interval"]["high"]
    markdown = command("report", runs / "base", runs / "repeats", "--format", "md").out
    assert f"At the R = 2 that all have, `pessimistic` is: base {100 * float(wanted['base']):.1f}" in markdown


def test_repeats_that_are_not_there_are_refused(command, runs):
    ended = command("compare", runs / "base", runs / "repeats", "--repeats", "3")
    assert ended.code == 2
    assert "not so many judgments were asked: repeats has 2" in ended.err
    ended = command("compare", runs / "base", runs / "judge", "--repeats", "2", "--metric", "pass_any_sample")
    assert ended.code == 2
    assert "there are pessimistic" in ended.err


def test_all_repeats_at_once_are_the_published_score(command, runs):
    words = ("--json", "--metric", "pessimistic")
    plain = json.loads(command("compare", runs / "base", runs / "judge", *words).out)
    same = json.loads(command("compare", runs / "base", runs / "judge", *words, "--repeats", "4").out)
    assert plain["pairs"] == same["pairs"]


def test_sheets_of_a_workbook_hold_integers(command, runs):
    assert command("export", runs / "base", "--to", "xlsx", "--table", "scores").code == 0
    rows = list(openpyxl.load_workbook("export.xlsx")["scores"].iter_rows(values_only=True))
    header, *body = rows
    counts = [dict(zip(header, row, strict=True)) for row in body]
    found = {row["metric"]: row["count"] for row in counts if row["split"] == "all" and row["count"] is not None}
    assert found == {"problems": 8, "proofs": 16}
    assert all(isinstance(count, int) for count in found.values())
