"""`proverbench plan`: from pilots, from assumptions, and when it refuses."""

import json

import pytest

from proverbench.cli import pages
from tests.support import write_rows


def found(command, *arguments) -> dict:
    ended = command("plan", *arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_from_assumptions(command):
    answer = found(command, "--share", "0.4", "--icc", "0.5")
    whole = {row["samples"]: row["width"] for row in answer["designs"] if row["problems"] == 245}
    assert [whole[s] for s in (1, 4, 16)] == pytest.approx([0.122, 0.097, 0.090], abs=1e-3)
    assert answer["unit"] is None


def test_from_a_pilot(command, saved):
    answer = found(command, saved / "p1", "--precision", "8")
    assert answer["repeats"] == 2
    assert answer["unit"] == "tokens"
    assert all(row["width_range"][0] <= row["width"] <= row["width_range"][1] for row in answer["designs"])
    (precise,) = (answer["design"] for answer in answer["answers"])
    assert precise["width"] <= 0.16
    assert [row["repeats"] for row in answer["score_by_repeats"]] == [1, 2]
    assert answer["score_by_repeats"][1]["score"] == pytest.approx(answer["components"]["share"], abs=1e-6)
    assert set(answer["judgment_components"]) == {"problem", "sample", "judgment"}


def test_a_budget_is_in_dollars(command, saved):
    prices = ("--proof-cost", "0.02", "--judgment-cost", "0.01")
    answer = found(command, saved / "p1", "--budget", "4", *prices)
    assert answer["unit"] == "USD"
    (spent,) = (part["design"] for part in answer["answers"])
    assert (spent["problems"], spent["samples"], spent["cost"]) == (100, 1, 4.0)
    (nothing,) = found(command, saved / "p1", "--budget", "0.01", *prices)["answers"]
    assert nothing["design"] is None
    assert nothing["reason"] == "two problems with one sample already cost 0.08 US dollars"


def test_dear_problems_are_asked_more_often(command):
    costs = ("--problem-cost", "81", "--proof-cost", "1", "--judgment-cost", "1")
    answer = found(command, "--share", "0.4", "--repeats", "8", "--correlation", "0.5", *costs)
    assert answer["components"]["best_samples"] == 3
    assert answer["difference_components"]["best_samples"] == 4  # √(2 · 81 / 9)
    assert found(command, "--share", "0.4")["components"]["best_samples"] is None


def test_labels(command, saved):
    costs = ("--proof-cost", "0", "--judgment-cost", "0", "--label-cost", "5")
    for basis in (("--share", "0.4"), (saved / "p1",)):
        few, many = (found(command, *basis, "--labels", count, *costs) for count in ("40", "400"))
        assert sum(part["labels"] for part in few["labels"]["strata"]) == 40
        assert sum(part["share"] for part in few["labels"]["strata"]) == pytest.approx(1, abs=1e-5)
        assert few["designs"][0]["cost"] == 200
        wide, narrow = ([row["labelled_high"] - row["labelled_low"] for row in part["designs"]] for part in (few, many))
        for row, with_few, with_many in zip(few["designs"], wide, narrow, strict=True):
            assert row["width"] < with_many < with_few


def sheet(command, run, path, *, right) -> None:
    """Labels of 24 of a run's proofs: those that ``right`` says of a row's stratum are correct."""
    assert command("export", run, "--to", "verifierbench", "--choose", "24", "-o", path).code == 0
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        step = -1 if right(row["stratum"], number) else 0
        row["annotation"] |= {"first_fatal_error_step": step, "recoverable_error_steps": [-1]}
    write_rows(path, rows)


def test_a_pilots_labels_say_how_often_the_judge_is_right(command, saved, tmp_path):
    sheet(command, saved / "p1", tmp_path / "good.jsonl", right=lambda stratum, _: stratum == "all")
    sheet(command, saved / "p1", tmp_path / "bad.jsonl", right=lambda _, number: number % 2 == 0)
    answers = [
        found(command, saved / "p1", "--labels", "60", *more)
        for more in ((), ("--labelled", "good.jsonl"), ("--labelled", "bad.jsonl"))
    ]
    unknown, good, bad = (answer["labels"] for answer in answers)
    assert (unknown["known"], good["known"], unknown["score"]) == (False, True, None)
    assert good["added_variance"] < bad["added_variance"] <= unknown["added_variance"]
    # The score is that of correct's estimate, but for (x + ½)/(n + 1) in place of x/n.
    by_hand = sum(part["share"] * (part["correct"] + 0.5) / (part["labelled"] + 1) for part in good["strata"])
    assert good["score"] == pytest.approx(by_hand, abs=1e-5)
    assert sum(part["labelled"] for part in good["strata"]) == 24
    for row in answers[1]["designs"]:
        assert row["labelled_low"] < good["score"] < row["labelled_high"]


def test_a_page_is_written(command, saved, tmp_path):
    ended = command("plan", saved / "p1", "--labels", "40", "-o", tmp_path / "new" / "plan.html")
    assert (ended.code, ended.err) == (0, f"wrote {tmp_path / 'new' / 'plan.html'}; open it in any browser\n")
    assert "Content-Security-Policy" in (tmp_path / "new" / "plan.html").read_text(encoding="utf-8")


def test_differences(command, saved):
    answer = found(command, saved / "p1", saved / "p2", "--difference", "20")
    assert all("detectable" in row for row in answer["designs"])
    assert answer["answers"][0]["design"]["detectable"] <= 0.2 + 1e-9
    assert answer["difference_components"]["share"] == pytest.approx(
        found(command, saved / "p1")["components"]["share"] - found(command, saved / "p2")["components"]["share"]
    )
    assert ", difference " in answer["basis"]
    one = found(command, saved / "p1", "--correlation", "0.8", "--difference", "20")
    assert one["answers"][0]["design"] is not None


def test_the_screen(command, saved, monkeypatch):
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    ended = command("plan", saved / "p1", "--correlation", "0.8", "--difference", "10", "--precision", "0.1")
    assert ended.code == 0
    assert "more samples cannot reduce that part" in " ".join(ended.out.split())
    assert "of the variance of the difference of two runs' proofs" in " ".join(ended.out.split())
    assert "none: all 245 problems with 64 samples of each give ±" in ended.out
    assert "The cheapest way to show 10 points with a power of 80%" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a pilot run, or --share"),
        (("v1",), "a pilot is a ProverBench run"),
        (("p1", "--difference", "3"), "--difference needs two pilots, or --correlation"),
        (("p1", "--budget", "200"), "--budget 200 is in US dollars, and what a call costs is not known"),
        (("--share", "0.4", "--budget", "200"), "give --proof-cost and --judgment-cost"),
        (("p1", "--proof-cost", "1"), "give --judgment-cost too"),
        (("p1", "--problem-cost", "1"), "give --proof-cost and --judgment-cost too"),
        (("p1", "--repeats", "8"), "the pilot has 2 repeats, fewer than 8"),
        (("open",), "47 of 48 records"),
        (("p1", "--labelled", "none.jsonl"), "--labelled none.jsonl needs --labels L"),
        (("--share", "0.4", "--labelled", "none.jsonl"), "needs the PILOT run whose proofs they are of"),
        (("p1", "--labels", "40", "--labelled", "p1/inputs.jsonl"), "p1/inputs.jsonl"),
    ],
)
def test_refusals(command, saved, arguments, said):
    ended = command("plan", *[saved / a if (saved / a).is_dir() else a for a in arguments])
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
