"""`proverbench compare`: what it shows, what it warns of, what it refuses."""

import json
import re
import shutil
from pathlib import Path

import pytest

from proverbench.run.comparability import ASPECTS, differences
from proverbench.show.frames import load
from proverbench.show.report.build import open_runs
from tests.support import ROOT, change_manifest, write_calls, write_rows


def found(command, *arguments) -> dict:
    ended = command("compare", *arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def changed(run: Path, target: Path, edit) -> Path:
    """A copy of a run whose manifest says something else."""
    shutil.copytree(run, target)
    change_manifest(target, edit)
    return target


def test_two_judges(command, saved):
    answer = found(command, saved / "v1", saved / "v2")
    assert answer["task"] == "verifier"
    assert [difference["aspect"] for difference in answer["differs"]] == ["verifier"]
    assert any(warning.startswith("verifier_valid_rate differs") for warning in answer["warnings"])
    one, other = (load(saved / name).summary.splits["all"].metrics for name in ("v1", "v2"))
    row = next(row for row in answer["pairs"] if row["metric"] == "rough_bal_f1")
    assert row["difference"] == pytest.approx(one["rough_bal_f1"] - other["rough_bal_f1"])
    assert row["interval"]["low"] <= row["difference"] <= row["interval"]["high"]
    assert 0 < row["p"] <= row["p_holm"] <= 1
    assert "meta_ver_bal_f1" in {row["metric"] for row in answer["pairs"]}


def test_two_policies_under_two_judges_warn(command, saved):
    answer = found(command, saved / "p1", saved / "p2")
    assert [difference["aspect"] for difference in answer["differs"]] == ["policy"]
    assert any("another judge is another ruler" in warning for warning in answer["warnings"])


def test_the_screen(command, saved):
    ended = command("compare", saved / "p1", saved / "p2", "--metric", "pessimistic")
    assert ended.code == 0
    assert "ProverBench, split all, 24 problems in common" in ended.out
    assert "what differs: policy (p1: m1-policy" in ended.out
    assert not re.search(r"\][*†]", ended.out)
    assert "is higher" in ended.out or "no difference shown" in ended.out


def test_three_runs_have_ranks_and_holm(command, saved, tmp_path):
    shutil.copytree(saved / "v1", tmp_path / "v3")
    ended = command("compare", saved / "v1", saved / "v2", tmp_path / "v3", "--metric", "rough_tpr")
    assert ended.code == 0
    assert "p (Holm)" in ended.out
    assert "with intervals that hold for all pairs together" in ended.out
    assert "Ranks that the shown differences allow" in ended.out
    answer = found(command, saved / "v1", saved / "v2", tmp_path / "v3", "--all-metrics")
    assert len(answer["pairs"]) == 3 * 12


def test_another_number_of_samples_is_not_compared_on_pass_any(command, saved, tmp_path):
    target = changed(saved / "p1", tmp_path / "one", lambda m: m["extent"].update(samples=1))
    answer = found(command, saved / "p1", target)
    assert {row["metric"] for row in answer["pairs"]} == {"pessimistic"}
    assert any("pass_any_sample grows with S" in warning for warning in answer["warnings"])


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda m: m["identity"].update(protocol="basic-v2"), "protocol"),
        (lambda m: m["extent"].update(verifier_repeats=1), "repeats (p1: 2; other: 1): all R judgments must accept"),
    ],
    ids=["protocol", "repeats"],
)
def test_refuses_what_cannot_be_compared(command, saved, tmp_path, edit, said):
    ended = command("compare", saved / "p1", changed(saved / "p1", tmp_path / "other", edit))
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""


def test_refuses_other_tasks_and_single_runs_and_unknown_metrics(command, saved):
    ended = command("compare", saved / "p1", saved / "v1")
    assert (ended.code, ended.out) == (2, "")
    assert "they are different benchmarks" in ended.err
    assert "at least two runs" in command("compare", saved / "p1").err
    ended = command("compare", saved / "p1", saved / "p2", "--metric", "rough_tpr")
    assert ended.code == 2
    assert "--metric rough_tpr: not a metric of all these runs; there are pessimistic" in ended.err


def test_refuses_a_proof_with_another_label(command, saved, tmp_path):
    shutil.copytree(saved / "v1", tmp_path / "v3")
    inputs = tmp_path / "v3/inputs.jsonl"
    rows = [json.loads(line) for line in inputs.read_text().splitlines()]
    rows[0] |= {"first_error_step": 2, "is_correct": False}
    rows[0]["annotation"]["first_fatal_error_step"] = 2
    data = "".join(json.dumps(row) + "\n" for row in rows)
    inputs.write_text(data)
    import hashlib

    manifest = json.loads((tmp_path / "v3/manifest.json").read_bytes())
    manifest["inputs_sha256"] = hashlib.sha256(data.encode()).hexdigest()
    (tmp_path / "v3/manifest.json").write_text(json.dumps(manifest))
    ended = command("compare", saved / "v1", tmp_path / "v3")
    assert ended.code == 2
    assert "proof v0 has other steps or another label in v3" in ended.err


def test_a_problem_that_changed_under_its_id_is_named():
    from proverbench.records import Problem
    from proverbench.run.comparability import changed_problems

    one = [Problem(problem_id=name, problem=f"Prove {name}.") for name in "abc"]
    other = [one[0], Problem(problem_id="b", problem="Prove something else."), Problem(problem_id="d", problem="D")]
    assert changed_problems({"x": one, "y": one}) == []
    (warning,) = changed_problems({"x": one, "y": other})
    assert warning.startswith("1 of 2 common problems has another text in y than in x: b")


def test_a_seed_is_no_difference(saved):
    import msgspec

    manifest = load(saved / "v1").manifest
    role = manifest.identity.roles["verifier"]
    other = msgspec.structs.replace(role, generation={**role.generation, "seed": 99})
    identity = msgspec.structs.replace(manifest.identity, roles={**manifest.identity.roles, "verifier": other})
    assert differences({"a": manifest, "b": msgspec.structs.replace(manifest, identity=identity)}) == []


def test_the_page_lists_every_aspect():
    words = {"compared": "compared", "warns": "warning", "refuses": "refused"}
    page = (ROOT / "docs/comparing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert rows[2:] == [(a.name, words[a.prover], words[a.verifier], a.why) for a in ASPECTS]


def test_runs_of_both_benchmarks_differ_in_that_alone(command, saved):
    ended = command("compare", saved / "p1", saved / "v1")
    assert ended.code == 2
    assert ended.err.count("cannot be compared") == 1
    assert "different benchmarks" in ended.err


def test_a_metric_that_cannot_be_compared_is_refused(command, saved, tmp_path):
    target = changed(saved / "p1", tmp_path / "one", lambda m: m["extent"].update(samples=1))
    ended = command("compare", saved / "p1", target, "--metric", "pass_any_sample")
    assert ended.code == 2
    assert "pass_any_sample cannot be compared" in ended.err


def test_the_report_doubts_what_compare_doubts(command, saved, tmp_path):
    closed = shutil.copytree(saved / "v1", tmp_path / "closed")
    lines = (closed / "calls.jsonl").read_bytes().splitlines(keepends=True)
    write_calls(closed, [line for line in lines[:-2] if b'"meta"' not in line])
    assert command("verify", "--resume", closed, "--final").code == 0
    told = found(command, closed, saved / "v2")["warnings"]
    assert any("closed as zero credit" in warning for warning in told)
    with open_runs([closed, saved / "v2"]) as report:
        shown = {comparison["split"]: comparison["warnings"] for comparison in report.head["comparisons"]}
    assert shown["all"] == told


def test_corrected_differences(command, saved, tmp_path):
    twin = shutil.copytree(saved / "p1", tmp_path / "twin")
    answer = found(command, saved / "p1", twin, "--calibration", saved / "shown")
    (row,) = answer["calibration"]["pairs"]
    assert row["metric"] == "corrected"
    assert row["difference"] == 0
    assert row["interval"]["low"] < 0 < row["interval"]["high"]
    ended = command("compare", saved / "p1", twin, "--calibration", saved / "shown")
    assert "Corrected by shown, first minus second" in ended.out
    assert "This assumes that the judge errs on these runs' proofs as on the calibration's." in ended.out
    for arguments, said in (
        ((saved / "p1", saved / "p2", "--calibration", saved / "shown"), "another verifier"),
        ((saved / "v1", saved / "v2", "--calibration", saved / "shown"), "only ProverBench runs are corrected"),
        ((saved / "p1", twin, "--labels", "sheet.jsonl"), "1 given for 2 runs"),
    ):
        ended = command("compare", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err


def test_differences_corrected_by_labels(command, saved, tmp_path):
    twin = shutil.copytree(saved / "p1", tmp_path / "twin")
    out = ("--to", "verifierbench", "--choose", "30", "-o", "sheet.jsonl")
    assert command("export", saved / "p1", *out).code == 0
    rows = [json.loads(line) for line in Path("sheet.jsonl").read_text(encoding="utf-8").splitlines()]
    for place, row in enumerate(rows):
        row["annotation"] |= {"first_fatal_error_step": -1 if place % 2 else 0, "recoverable_error_steps": [-1]}
    write_rows(Path("sheet.jsonl"), rows)
    labels = ("--labels", "sheet.jsonl", "--labels", "sheet.jsonl")
    (row,) = found(command, saved / "p1", twin, *labels)["labels"]["pairs"]
    assert (row["metric"], row["difference"]) == ("corrected", 0)
