"""`proverbench correct`: by calibration, by labels, and when it refuses."""

import json
import re
from pathlib import Path

import pytest

from proverbench.show.frames import load
from tests.support import write_rows


def sheet(command, run: Path, *more: str) -> list[dict]:
    ended = command("export", run, "--to", "verifierbench", "-o", "sheet.jsonl", "--force", *more)
    assert ended.code == 0
    return [json.loads(line) for line in Path("sheet.jsonl").read_text(encoding="utf-8").splitlines()]


def fill(row: dict, step: int) -> None:
    row["annotation"] |= {"first_fatal_error_step": step, "recoverable_error_steps": [-1]}


def test_by_calibration(command, saved):
    ended = command("correct", saved / "p1", "--calibration", saved / "shown", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)["calibration"]
    judged = load(saved / "shown").proofs
    accepts = judged["accepts"] == 2
    sensitivity = accepts[judged["is_correct"]].mean()
    specificity = 1 - accepts[~judged["is_correct"]].mean()
    assert found["sensitivity"]["value"] == pytest.approx(sensitivity)
    assert found["specificity"]["value"] == pytest.approx(specificity)
    proofs = load(saved / "p1").proofs
    failed = proofs["generation_error"].notna()
    rate = (proofs["score"] == 1)[~failed].mean()
    expected = (rate + specificity - 1) / (sensitivity + specificity - 1) * (1 - failed.mean())
    assert found["value"] == pytest.approx(min(1, max(0, expected)))
    assert found["interval"]["low"] <= found["value"] <= found["interval"]["high"]
    assert found["calibration_problems"] <= 60


def test_the_screen(command, saved):
    ended = command("correct", saved / "p1", "--calibration", saved / "shown")
    assert ended.code == 0
    for part in ("as judged", "calibrated by shown", "sensitivity", "specificity", "their sum - 1", "report this"):
        assert part in ended.out
    assert "assumes that the judge errs on this run's proofs as on the calibration's" in ended.out
    assert f"proverbench label {saved / 'p1'} --choose 40" in ended.out
    for row in ("sensitivity", "specificity", "their sum - 1"):
        assert re.search(rf"^{row} +\d\.\d{{3}} \[-?\d\.\d{{3}}, \d\.\d{{3}}\] +\d+$", ended.out, re.MULTILINE)


@pytest.mark.parametrize("name", ["v1", "v2"])
def test_refuses_a_calibration_of_another_judge_and_says_which_would_fit(command, saved, name):
    ended = command("correct", saved / "p1", "--calibration", saved / name)
    assert ended.code == 2
    assert ended.out == ""
    assert "another reference switch: the run has shown, the calibration not shown" in ended.err
    assert ("another verifier" in ended.err) == (name == "v2")
    fitting = ended.err.splitlines()[-1]
    assert f"verifierbench --data {saved / name / 'inputs.jsonl'} --config CONFIG.toml" in fitting
    assert "--verifier-repeats 2 --use-reference-solution" in fitting
    assert f"--verifier-prompt {saved / 'p1/prompts/verifier.txt'}" in fitting
    assert "m1-verifier" in fitting


def test_the_command_it_names_fits(command, saved, server, tmp_path):
    """Following the message leads to a calibration that is taken (the judge may still be too bad)."""
    from tests.support import write_config

    said = command("correct", saved / "p1", "--calibration", saved / "v1").err.splitlines()[-1]
    words = said.split("what would: verifierbench ")[1].split("   ")[0].split()
    write_config(tmp_path / "CONFIG.toml", server.base_url, model="m1")
    assert command("verify", *words, "--output", "fits").code == 0
    ended = command("correct", saved / "p1", "--calibration", "fits")
    assert "does not measure" not in ended.err
    assert ended.code == 0 or "which is not above 0" in ended.err


def test_the_dry_run_and_the_end_of_a_run_name_a_command_that_fits(command, saved, server, tmp_path):
    """With paths that need quoting; the judge may still be too bad."""
    import shlex

    from tests.support import problem_rows, write_config

    (tmp_path / "my own").mkdir()
    write_rows(tmp_path / "problems.jsonl", problem_rows(3))
    write_config(tmp_path / "my own/c.toml", server.base_url, model="m1")
    run = ("--data", "problems.jsonl", "--config", "my own/c.toml", "--verifier-repeats", "2", "--no-neutralise")
    dry = command("run", *run, "--dry-run")
    done = command("run", *run, "--output", "my own/r")
    assert (dry.code, done.code) == (0, 0)
    (asked,) = [line for line in dry.out.splitlines() if "measure them on annotated proofs" in line]
    (said,) = [line for line in done.err.splitlines() if "measure them on annotated proofs" in line]
    for name, line in (("dry", asked), ("done", said)):
        words = shlex.split(line.split("annotated proofs: verifierbench ")[1])
        words[words.index("PROOFS.jsonl")] = str(saved / "proofs.jsonl")
        assert command("verify", *words, "--output", name).code == 0
        assert "does not measure" not in command("correct", "my own/r", "--calibration", name).err


def test_the_words_about_a_stratified_draw_agree(command, saved):
    rows = sheet(command, saved / "p1", "--choose", "24")
    for row in rows:
        fill(row, -1)
    write_rows(Path("sheet.jsonl"), rows)
    ended = command("correct", saved / "p1", "--labels", "sheet.jsonl")
    assert ended.code == 0
    said = " ".join(ended.out.split())
    assert "report this" in said
    assert "post-stratified by the judge's verdicts" in said
    assert "Labels alone say nothing" not in said
    if len({row["probability"] for row in rows}) > 1:
        assert "so it is not given" in said


def test_equal_parts(command, saved):
    rows = sheet(command, saved / "p1", "--choose", "8", "--equal")
    counts = [sum(row["stratum"] == name for row in rows) for name in {row["stratum"] for row in rows}]
    assert sum(counts) == 8
    assert max(counts) - min(counts) <= 1
    for more in (("--equal",), ("--equal", "--simple", "--choose", "8")):
        ended = command("export", saved / "p1", "--to", "verifierbench", "-o", "other.jsonl", *more)
        assert ended.code == 2
        assert "needs --choose N and cannot be given with --simple" in ended.err


def test_refuses_a_judge_without_skill(command, saved, server, tmp_path):
    from tests.support import write_config

    write_config(tmp_path / "c.toml", server.base_url, model="m1")
    judge = ("--data", saved / "proofs.jsonl", "--config", "c.toml", "--verifier-repeats", "2")
    assert command("verify", *judge, "--use-reference-solution", "--output", "coin").code == 0
    ended = command("correct", saved / "p1", "--calibration", "coin")
    assert ended.code == 2
    assert re.search(r"has the 95 % interval \[-?\d\.\d{3}, -?\d\.\d{3}\], which is not above 0", ended.err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("p1",), "give --calibration VERIFIERBENCH_RUN or --labels FILE"),
        (("v1", "--calibration", "shown"), "only a ProverBench run is corrected"),
        (("p1", "--calibration", "p2"), "the calibration is no VerifierBench run"),
        (("open", "--calibration", "shown"), "47 of 48 records"),
    ],
    ids=["nothing", "verifier", "prover-calibration", "incomplete"],
)
def test_refusals(command, saved, arguments, said):
    ended = command("correct", *[saved / a if (saved / a).is_dir() else a for a in arguments])
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


# ---------------------------------------------------------------- labels


def test_labels_of_a_random_choice(command, saved):
    rows = sheet(command, saved / "p1", "--choose", "20")
    assert len(rows) == 20
    assert "verdict" not in json.dumps(rows)
    accepted = dict(zip(load(saved / "p1").proofs["key"], load(saved / "p1").proofs["score"] == 1, strict=True))
    for place, row in enumerate(rows[:15]):
        right = accepted[row["proof_id"]] if place % 5 else not accepted[row["proof_id"]]
        fill(row, -1 if right else 0)
    write_rows(Path("sheet.jsonl"), rows)
    ended = command("correct", saved / "p1", "--labels", "sheet.jsonl", "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)["labels"]
    assert found["labelled"] == 15
    assert sum(found["disagreements"].values()) == 3
    assert sum(row["labelled"] for row in found["strata"]) == 15
    assert found["interval"]["low"] <= found["value"] <= found["interval"]["high"]
    screen = command("correct", saved / "p1", "--labels", "sheet.jsonl", "--calibration", saved / "shown")
    assert screen.code == 0
    assert "by 15 labels" in screen.out
    assert "a check: too few labels to report" in screen.out
    assert "Does the judge err here as it does there?" in screen.out
    assert "15 of" in screen.out


def test_a_filled_sheet_is_verifierbench_data(command, saved):
    rows = sheet(command, saved / "p1")
    for row in rows:
        fill(row, -1)
    write_rows(Path("full.jsonl"), rows)
    assert command("data", "validate", "full.jsonl").code == 0


def test_the_choice_is_repeatable(command, saved):
    first = sheet(command, saved / "p1", "--choose", "5")
    assert sheet(command, saved / "p1", "--choose", "5") == first
    assert sheet(command, saved / "p1", "--choose", "5", "--seed", "1") != first


def test_faults_of_a_sheet_are_all_named(command, saved):
    rows = sheet(command, saved / "p1")[:4]
    fill(rows[0], 99)
    fill(rows[1], -1)
    rows[1]["proof_id"] = "elsewhere/0"
    write_rows(Path("bad.jsonl"), rows)
    ended = command("correct", saved / "p1", "--labels", "bad.jsonl")
    assert ended.code == 2
    assert "bad.jsonl:1: field annotation.first_fatal_error_step: found 99" in ended.err

    fill(rows[0], -1)
    rows[0]["steps"] = ["Another proof."]
    write_rows(Path("bad.jsonl"), rows)
    ended = command("correct", saved / "p1", "--labels", "bad.jsonl")
    assert ended.code == 2
    assert "bad.jsonl:1: field steps: found other steps" in ended.err
    assert "bad.jsonl:2: field proof_id: found 'elsewhere/0'; wanted a judged proof" in ended.err


def test_an_empty_sheet(command, saved):
    sheet(command, saved / "p1")
    ended = command("correct", saved / "p1", "--labels", "sheet.jsonl")
    assert ended.code == 2
    assert "no row is filled in" in ended.err
