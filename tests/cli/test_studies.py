"""Every command over saved runs, on a study's folder; merging parts of one; the first file; the list of runs."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from proverbench.rehearse import GeneratedReplies, RehearseServer
from proverbench.run.study import cells_of
from tests.ask.test_study import derived, study_file
from tests.cli.test_label import labelling
from tests.people.test_serve import RIGHT, ask
from tests.support import ROOT, every, problem_rows, proof_rows, run_process, write_rows


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a study of two policies and two judges, whole and as two parts."""
    folder = tmp_path_factory.mktemp("study")
    write_rows(folder / "problems.jsonl", problem_rows(6))
    write_rows(folder / "proofs.jsonl", proof_rows(8))
    with (
        RehearseServer.in_thread(replies=GeneratedReplies(vary="seed")) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(folder)
        file = study_file(server.base_url, policies=("alpha", "beta"), rows=6)
        for more in ((), ("--shard", "1/2", "--output", "part1"), ("--shard", "2/2", "--output", "part2")):
            ended = run_process("study", file, *more, cwd=folder)
            assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def here(made, command, monkeypatch):
    monkeypatch.chdir(made)
    return command


STUDY = "studies/study"


def test_inspect_shows_the_matrix(here):
    found = json.loads(here("inspect", STUDY, "--json").out)
    assert {(row["policy"], row["judge"]) for row in found["runs"]} == {
        (policy, judge) for policy in ("alpha", "beta") for judge in ("strict", "mild")
    }
    for row in found["runs"]:
        summary = json.loads(Path(row["run"], "summary.json").read_bytes())
        assert row["value"] == summary["splits"]["all"]["metrics"]["pessimistic"]
    assert {row["judge"] for row in found["calibrations"]} == {"strict", "mild"}
    assert set(found["panels"]) == {"alpha", "beta"}
    shown = here("inspect", STUDY).out
    assert "Panels" in shown
    assert "alpha" in shown
    ended = here("inspect", STUDY, "3")
    assert ended.code == 2
    assert "one of its runs" in ended.err


def test_score_rebuilds_every_run(here):
    before = derived(Path(STUDY))
    Path(STUDY, "runs/alpha--mild/records.jsonl").unlink()
    assert here("score", STUDY).code == 0
    assert derived(Path(STUDY)) == before


def test_labels_of_a_policy_serve_the_run_of_every_judge(here, tmp_path):
    with labelling(tmp_path, "--policy", "alpha", "--choose", "6", "--annotator", "Ann", of=Path(STUDY)) as origin:
        states = ask(f"{origin}/labels.json")[1]["states"]
        model = ask(f"{origin}/model.json")[1]
        for key in states:
            said = {"proof_id": key, "annotation": RIGHT, "version": 0}
            assert ask(f"{origin}/label", said, Origin=origin)[0] == 200
    assert {run["name"] for run in model["runs"]} == {"alpha--mild", "alpha--strict"}
    file = tmp_path / "study-alpha-labels-Ann.jsonl"
    for judge in ("mild", "strict"):
        found = json.loads(here("correct", f"{STUDY}/runs/alpha--{judge}", "--labels", file, "--json").out)
        assert found["labels"]["labelled"] == 6
        assert found["labels"]["labels_only"] is not None, "one simple random draw"
    other = here("correct", f"{STUDY}/runs/beta--mild", "--labels", file)
    assert other.code == 2
    assert "labels of another run" in other.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "has proofs of alpha, beta; say with --policy whose to label"),
        (("--policy", "gamma"), "--policy gamma: no such policy"),
    ],
)
def test_whose_proofs_are_labelled_must_be_said(here, more, said):
    ended = here("label", STUDY, *more)
    assert ended.code == 2
    assert said in ended.err


def test_compare_compares_the_policies_under_each_judge(here):
    found = json.loads(here("compare", STUDY, "--json").out)["judges"]
    assert set(found) == {"strict", "mild"}
    alone = json.loads(here("compare", f"{STUDY}/runs/alpha--mild", f"{STUDY}/runs/beta--mild", "--json").out)
    assert found["mild"]["pairs"] == alone["pairs"]
    assert "under judge mild" in here("compare", STUDY).out


def test_correct_and_analyse(here):
    rows = json.loads(here("correct", STUDY, "--json").out)["runs"]
    assert all(row["corrected"] is not None for row in every(rows))
    found = json.loads(here("analyse", STUDY, "--json").out)
    assert sorted(sorted(panel["runs"]) for panel in found["panels"]) == [
        ["alpha--mild", "alpha--strict"],
        ["beta--mild", "beta--strict"],
    ]
    assert not any(panel.get("reason") for panel in found["panels"])


def test_exports_have_the_matrix(here, tmp_path):
    values = {
        (row["policy"], row["judge"]): row["value"] for row in json.loads(here("inspect", STUDY, "--json").out)["runs"]
    }
    assert here("export", STUDY, "--to", "csv", "-o", tmp_path / "csv").code == 0
    with (tmp_path / "csv/matrix.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["policy"]]
    assert {(row["policy"], row["judge"]): float(row["value"]) for row in rows} == values
    latex = here("export", STUDY, "--to", "latex").out
    assert latex.index("Policy & mild & strict") < latex.index(r"\end{table}")
    assert f"{100 * values['alpha', 'mild']:.1f}" in latex
    assert here("export", STUDY, "--to", "xlsx", "-o", tmp_path / "x.xlsx").code == 0
    assert here("export", STUDY, "--to", "parquet", "-o", tmp_path / "parquet").code == 0
    assert (tmp_path / "parquet/matrix.parquet").exists()


def test_report_has_every_run(here, tmp_path):
    assert here("report", STUDY, "-o", tmp_path / "r.html").code == 0
    text = (tmp_path / "r.html").read_text()
    for name in ("alpha--mild", "beta--strict"):
        assert name in text


def test_merged_parts_equal_the_whole(here, made):
    shutil.rmtree(made / "whole", ignore_errors=True)
    ended = here("merge", "part1", "part2", "-o", "whole")
    assert ended.code == 0, ended.err
    assert derived(Path("whole")) == derived(Path(STUDY))
    assert here("merge", "part1", STUDY + "/runs/alpha--mild", "-o", "other").code == 2
    assert not Path("other").exists()


def test_runs_lists_what_is_there_and_what_is_damaged(here, tmp_path):
    shutil.copytree(STUDY, tmp_path / "s")
    shutil.copytree(ROOT / "runs/demo-prover", tmp_path / "alone")
    Path(tmp_path, "s/runs/alpha--mild/manifest.json").write_text("{")
    rows = json.loads(here("runs", tmp_path, "--json").out)
    assert len(rows) == 1 + len(cells_of(Path(STUDY)))
    (fault,) = [row for row in rows if row["fault"] is not None]
    assert fault["run"].endswith("alpha--mild")
    shown = here("runs", tmp_path)
    assert shown.code == 0
    assert "damaged" in shown.out


def test_a_first_file_from_configs(here, tmp_path):
    file = tmp_path / "first.toml"
    configs = [
        argument for name in ("openai", "local", "embedded") for argument in ("--init", ROOT / f"configs/{name}.toml")
    ]
    assert here("study", file, *configs).code == 0
    text = (
        file.read_text()
        .replace('data/proverbench.jsonl"', 'x"')
        .replace('[study]\ndata = "x"', '[study]\ndata = "shipped:proverbench"')
    )
    file.write_text(text)
    ended = here("study", file, "--dry-run")
    assert ended.code == 0, ended.err
    assert "gpt-5--gpt-5-mini (new)" in ended.out
    assert here("study", file, *configs).code == 2
