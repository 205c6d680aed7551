"""A grade is shown as one, and nothing speaks of steps where there are none."""

import csv
import json
import re
from pathlib import Path

import pytest

from proverbench.metrics.arrays import UNLOCATED
from proverbench.rehearse import ModelReply
from proverbench.show.report.build import open_runs
from proverbench.show.report.index import ACCEPTS
from tests.support import write_config, write_rows

HUMAN = [7, 6, 2, 0]
JUDGE = [(7, 7), (5, 6), (3, None), (0, 6)]
"""Two judgments of each proof."""


@pytest.fixture
def graded(command, tmp_path, server):
    """A run under grade-0-7 of four graded proofs, R = 2."""
    rows = [
        {
            "proof_id": f"v{n}",
            "problem_id": f"p{n}",
            "problem": f"Statement number {n}.",
            "steps": ["First.", "Then."],
            "rubric": "7 points: all of it.",
            "max_grade": 7,
            "grades": [{"grader": "one", "grade": grade, "comment": "seen"}, {"grader": "two", "grade": grade}],
            "annotation": {"remark": "a remark"},
        }
        for n, grade in enumerate(HUMAN)
    ]
    write_rows(tmp_path / "proofs.jsonl", rows)
    write_config(tmp_path / "config.toml", server.base_url)
    seen = {}

    def reply(ask, before):
        number = int(re.search(r"Statement number (\d)", ask.prompt)[1])
        turn = seen[number] = seen.get(number, -1) + 1
        points = JUDGE[number][turn % 2]
        return ModelReply(content="no grade" if points is None else f"Because.\n<points>{points}</points>")

    server.replies = reply
    told = ("--data", "proofs.jsonl", "--config", "config.toml", "--protocol", "grade-0-7", "--output", "v")
    ended = command("verify", *told, "--verifier-repeats", "2", "--concurrency", "1")
    assert ended.code == 0, ended.err
    return command


def test_the_table_of_inspect(graded):
    out = graded("inspect", "v").out
    rows = {line.split()[1]: line.split()[3:] for line in out.splitlines() if re.match(r" +\d  v\d", line)}
    assert [rows[f"v{n}"][-2] for n in range(4)] == ["7/7", "6/7", "2/7", "0/7"]
    assert sorted(rows["v1"][:2]) == ["5", "6"]
    assert sorted(rows["v2"][:2]) == ["!", "3"]
    assert "a number is a grade of 7, accepted from 6" in out
    assert "first wrong step" not in out


def test_a_proof_of_inspect(graded):
    out = graded("inspect", "v", "v2").out
    assert "2 of 7 points; counts as incorrect" in out
    assert "one: 2" in out
    assert "one, 2: seen" in out
    assert "Remark: a remark" in out
    assert "── Marking scheme" in out
    assert "rejects, grade 3" in out
    assert "step is not known" not in out


def test_analyse_speaks_of_no_steps(graded):
    ended = graded("analyse", "v")
    assert ended.code == 0, ended.err
    assert "step" not in ended.out.replace("--json", "").lower()
    told = json.loads(graded("analyse", "v", "--json").out)["runs"]["v"]
    assert told["confusion"] is None
    assert {row["on"] for row in [*told["repeat_agreement"], *told["human_agreement"]]} == {"accept"}


def test_analyse_shows_other_thresholds_without_asking(graded, server):
    asked = server.stats()["requests"]
    before = {path: path.read_bytes() for path in Path("v").iterdir() if path.is_file()}
    told = json.loads(graded("analyse", "v", "--accept-from", "7", "--accept-from", "3", "--json").out)["runs"]["v"]
    rows = {row["from"]: row for row in told["accept_from"]}
    # Of the correct (7 and 6) the judge's 7, 7, 5, 6, of the others 3, none, 0, 6; what is invalid is never right.
    # From 3 on, 4 of 4 accept and 1 of 4 rejects (0); from 6 on, 3 and 2 (3, 0); from 7 on, 2 and 3.
    assert {least: (row["metrics"]["rough_tpr"], row["metrics"]["rough_tnr"]) for least, row in rows.items()} == {
        3: (1.0, 0.25),
        6: (0.75, 0.5),
        7: (0.5, 0.75),
    }
    assert [row["own"] for row in told["accept_from"]] == [False, True, False]
    shown = graded("analyse", "v", "--accept-from", "7").out
    assert "If proofs were accepted from another grade" in shown
    assert "6 (the run)" in shown
    assert server.stats()["requests"] == asked
    assert {path: path.read_bytes() for path in Path("v").iterdir() if path.is_file()} == before


def test_a_threshold_that_is_none_is_refused(graded):
    ended = graded("analyse", "v", "--accept-from", "8")
    assert ended.code == 2
    assert "grades of 'grade-0-7' are 0 to 7" in ended.err


def test_export_has_grades(graded):
    ended = graded("export", "v", "--to", "csv", "-o", "out")
    assert ended.code == 0, ended.err
    found = {}
    for file in Path("out").rglob("*.csv"):
        with file.open(encoding="utf-8", newline="") as opened:
            found[file.stem.rpartition("-")[2]] = list(csv.DictReader(opened))
    proofs = next(rows for name, rows in found.items() if "proofs" in name)
    assert [float(row["grade"]) for row in proofs] == HUMAN
    assert [float(row["mean_judged_grade"]) for row in proofs] == [7, 5.5, 3, 3]
    judgments = next(rows for name, rows in found.items() if "judgments" in name)
    given = sorted((row["proof_id"], row["grade"]) for row in judgments if row["grade"])
    assert [float(grade) for name, grade in given if name == "v1"] == [5, 6]
    assert len(given) == 7


def test_the_pages_data_has_grades(graded):
    with open_runs([Path("v")]) as report:
        index = report.head["index"]
        rows = [dict(zip(index["columns"], row, strict=True)) for row in index["proofs"]]
        (chunk,) = report.chunks()
    assert [row["grade"] for row in rows] == ["7/7", "6/7", "2/7", "0/7"]
    marks = {row["key"]: row["runs"][0][2:] for row in rows}
    assert marks["v0"] == [[ACCEPTS, ACCEPTS], [7, 7]]
    assert sorted(zip(*marks["v1"], strict=True)) == [(UNLOCATED, 5), (ACCEPTS, 6)]
    assert sorted(marks["v2"][1], key=str) == [3, None]
    annotation = chunk["proofs"][2]["annotation"]
    assert (annotation["grade"], annotation["grades"]) == ([2, 7], [["one", 2, "seen"], ["two", 2, ""]])
    assert next(iter(chunk["problems"].values()))["rubric"] == "7 points: all of it."
    assert "confusion" not in report.head["runs"][0]["splits"]["all"]["plots"]
