"""`proverbench analyse` on saved runs, as its users see it."""

import json
import re

import pytest

from proverbench.cli import pages
from proverbench.show.frames import load
from tests.support import ROOT


def found(command, *arguments) -> dict:
    ended = command("analyse", *arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_a_prover_run(command, saved):
    answer = found(command, saved / "p1")
    run = answer["runs"]["p1"]
    scores = load(saved / "p1").summary.splits["all"].metrics
    at = {(row["r"], row["k"]): row for row in run["voting"]}
    assert set(at) == {(1, 1), (2, 1), (2, 2)}
    assert at[2, 2]["value"] == pytest.approx(scores["pessimistic"])
    assert at[2, 2]["cost"] > at[1, 1]["cost"] > 0
    assert run["cost_unit"] == "tokens"
    assert [row["value"] for row in run["pass_at_k"]] == pytest.approx(
        [scores["pessimistic"], scores["pass_any_sample"]]
    )
    assert {row["measure"] for row in run["repeat_agreement"]} == {
        "raw_agreement",
        "fleiss_kappa",
        "krippendorff_alpha",
        "gwet_ac1",
    }
    assert {row["by"] for row in run["breakdown"]} == {"domain", "subject", "length", "policy"}
    assert answer["panels"] == []


def test_a_verifier_run(command, saved):
    run = found(command, saved / "v1")["runs"]["v1"]
    scores = load(saved / "v1").summary.splits["all"].metrics
    first = {row["metric"]: row["value"] for row in run["voting"] if row["r"] == 1}
    assert first == pytest.approx(
        {"tpr": scores["rough_tpr"], "tnr": scores["rough_tnr"], "bal_f1": scores["rough_bal_f1"]}
    )
    assert run["threshold"]["r"] == 2
    assert sum(map(sum, run["confusion"]["counts"])) == scores["proofs"] * 2
    assert {row["group"] for row in run["breakdown"] if row["by"] == "severity"} == {"none", "fatal"}


def test_judges_of_the_same_proofs_are_a_panel(command, saved):
    answer = found(command, saved / "v1", saved / "v2", saved / "p1", saved / "p2")
    panel = {panel["task"]: panel for panel in answer["panels"]}
    assert panel["verifier"]["proofs"] == 60
    assert {(row["first"], row["second"]) for row in panel["verifier"]["pairs"]} == {("v1", "v2")}
    # The two policies wrote the same text here and there at most, so what they share is small or nothing.
    assert panel["prover"].get("proofs", 0) < 48


def test_the_screen(command, saved, monkeypatch):
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "110")
    ended = command("analyse", saved / "p1", saved / "v1", saved / "v2")
    assert ended.code == 0
    for part in (
        "p1: ProverBench, split all, 24 problems, 48 proofs, 2 repeats",
        "Voting: at least k of r judgments accept",
        "Unbiased pass@k",
        "Best threshold",
        "Agreement with people",
        "annotated first-error step (rows) against reported",
        "By severity",
        "Judges of the same proofs: v1, v2",
        "docs/metrics.md",
    ):
        assert part in ended.out
    assert max(map(len, ended.out.splitlines())) <= 110


def test_one_split_and_factor(command, saved):
    answer = found(command, saved / "v1", "--split", "qe", "--by", "length")
    run = answer["runs"]["v1"]
    assert run["proofs"] == 30
    assert {row["by"] for row in run["breakdown"]} == {"length"}
    assert run["threshold"]["value"] is None  # all proofs of this made-up domain are incorrect
    assert command("analyse", saved / "v1", "--split", "qe").code == 0


def test_pass_at_k_beyond_the_samples_says_why(command, saved):
    ended = command("analyse", saved / "p1", "--pass-k", "2", "--pass-k", "5")
    assert ended.code == 0
    assert "needs k from 1 to the number of samples, 2" in ended.out


def test_the_same_run_gives_the_same_answer(command, saved):
    first = command("analyse", saved / "v1", "--json").out
    assert command("analyse", saved / "v1", "--json").out == first
    assert command("analyse", saved / "v1", "--json", "--seed", "5").out != first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere",), "nowhere"),
        (("open",), "47 of 48 records of 'all' are complete; go on with `proverbench run --resume"),
        (("p1", "--split", "algebra"), "has no split 'algebra'; it has all, ugd, qe"),
        (("p1", "--by", "colour"), "--by colour: no such factor; use domain, subject"),
        (("p1", "p1"), "a run is given twice"),
    ],
    ids=["no-run", "incomplete", "no-split", "no-factor", "twice"],
)
def test_refusals(command, saved, monkeypatch, arguments, said):
    monkeypatch.chdir(saved)
    ended = command("analyse", *[saved / a if (saved / a).is_dir() else a for a in arguments])
    assert ended.code == 2
    assert ended.out == ""
    assert said in ended.err


@pytest.mark.parametrize("run", ["demo-prover", "demo-verifier"])
def test_intervals_that_rest_on_few_problems_say_so_once(command, run):
    """In runs so small that every interval does."""
    shown = command("analyse", ROOT / "runs" / run)
    assert shown.code == 0, shown.err
    assert shown.out.count("Rests on few problems with the rarer outcome: ") == 1
    assert not re.search(r"\][*†]", shown.out)


@pytest.mark.parametrize("command_line", [("analyse", "v1"), ("compare", "v1", "v2"), ("score", "v1"), ("score", "p1")])
def test_on_a_narrow_terminal_nothing_is_cut(command, saved, monkeypatch, command_line):
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    name, *runs = command_line
    shown = command(name, *(saved / run for run in runs))
    assert shown.code == 0
    assert "…" not in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80 or "saved in" in shown.out
    metrics = load(saved / runs[0]).summary.splits["all"].metrics
    wanted = {
        "analyse": ("first_error_step", "krippendorff_alpha", "raw_agreement"),
        "compare": ("first_error_step_accuracy ", "meta_ver_bal_f1 "),
        "score": metrics,
    }[name]
    assert [metric for metric in wanted if metric not in shown.out] == []
