"""Inspect's own package reads what is exported for it, and its logs come in as labelled proofs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proverbench import load_proofs
from tests.support import problem_rows, proof_rows, write_config, write_rows

inspect_log = pytest.importorskip("inspect_ai.log", reason="the extra [inspect] is not installed")


@pytest.fixture
def runs(command, server, tmp_path):
    write_config(tmp_path / "config.toml", server.base_url)
    write_rows(tmp_path / "p.jsonl", problem_rows(3))
    write_rows(tmp_path / "v.jsonl", proof_rows(3))
    made = command(
        *("run", "--data", "p.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "3"),
        *("--output", "runs/p"),
    )
    assert made.code == 0, made.err
    made = command(
        *("verify", "--data", "v.jsonl", "--config", "config.toml", "--verifier-repeats", "2", "--output", "runs/v")
    )
    assert made.code == 0, made.err
    return command


def test_a_proverbench_run_is_a_log(runs):
    ended = runs("export", "runs/p", "--to", "inspect", "-o", "p.eval")
    assert ended.code == 0, ended.err
    log = inspect_log.read_eval_log(str(Path("p.eval").absolute()))
    assert (log.status, log.eval.task, log.eval.config.epochs) == ("success", "proverbench/ProverBench", 3)
    assert len(log.samples) == 3 * 2 * 3
    assert {sample.id for sample in log.samples} == {f"p{i}/{s}" for i in range(3) for s in range(2)}
    assert {sample.epoch for sample in log.samples} == {1, 2, 3}
    metrics = json.loads(Path("runs/p/summary.json").read_bytes())["splits"]["all"]["metrics"]
    assert {name: metric.value for name, metric in log.results.scores[0].metrics.items()} == metrics
    records = [json.loads(line) for line in Path("runs/p/records.jsonl").read_text().splitlines()]
    accepted = sum(j["valid"] and j["first_error_step"] == -1 for record in records for j in record["judgments"])
    assert sum(sample.scores["proof_accepted"].value == "C" for sample in log.samples) == accepted
    assert log.samples[0].input == "Prove statement number 0."
    assert log.samples[0].output.completion


def test_a_verifierbench_run_says_who_was_right(runs):
    assert runs("export", "runs/v", "--to", "inspect", "-o", "v.eval").code == 0
    log = inspect_log.read_eval_log(str(Path("v.eval").absolute()))
    assert len(log.samples) == 6
    metrics = json.loads(Path("runs/v/summary.json").read_bytes())["splits"]["all"]["metrics"]
    right = sum(sample.scores["verdict_right"].value == "C" for sample in log.samples)
    assert right / 6 == pytest.approx(metrics["rough_accuracy"])


def test_a_log_comes_in_as_labelled_proofs(runs):
    runs("export", "runs/p", "--to", "inspect", "-o", "p.eval")
    ended = runs("data", "import", "--format", "inspect", "p.eval", "--output", "labelled.jsonl")
    assert ended.code == 0, ended.err
    assert "score 'proof_accepted'" in ended.out
    rows = load_proofs("labelled.jsonl").rows
    assert {row.problem_id for row in rows} == {"p0", "p1", "p2"}
    assert rows[0].problem == "Prove statement number 0."


def _other_tasks_log(path: Path) -> None:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

    samples = [
        inspect_log.EvalSample(
            id=i,
            epoch=1,
            input=f"Prove {i}.",
            target="By induction.",
            output=ModelOutput.from_content("some/model", text),
            scores={"human": Score(value=value, explanation="because"), "length": Score(value=3)},
        )
        for i, (text, value) in enumerate([("A proof.", "C"), ("Another.", "I"), ("", "C"), ("Third.", "P")])
    ]
    spec = inspect_log.EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="proofs",
        model="some/model",
        dataset=inspect_log.EvalDataset(),
        config=inspect_log.EvalConfig(),
    )
    inspect_log.write_eval_log(inspect_log.EvalLog(eval=spec, samples=samples, status="success"), str(path))


def test_the_log_of_another_task(command, tmp_path):
    _other_tasks_log(tmp_path / "other.json")
    several = command("data", "import", "--format", "inspect", "other.json", "--output", "o.jsonl")
    assert several.code == 2
    assert "human, length" in several.err
    ended = command("data", "import", "--format", "inspect", "other.json", "--score", "human", "--output", "o.jsonl")
    assert ended.code == 0, ended.err
    rows = load_proofs("o.jsonl").rows
    assert [(row.steps, row.is_correct, row.policy, row.reference_solution) for row in rows] == [
        (["A proof."], True, "some/model", "By induction."),
        (["Another."], False, "some/model", "By induction."),
    ]
    assert rows[0].annotation.reviewer_comment == "because"
    assert "left out: 1 row: no problem or no proof" in ended.out
    assert "left out: 1 row: its human is neither correct nor incorrect" in ended.out


@pytest.mark.parametrize("content", [None, b"no log", b"{}"])
def test_what_is_no_log(command, tmp_path, content):
    if content is not None:
        (tmp_path / "x.json").write_bytes(content)
    ended = command("data", "import", "--format", "inspect", "x.json", "--output", "o.jsonl")
    assert ended.code == 2
    assert "x.json" in ended.err


def test_without_the_package_one_line_says_what_to_install(tmp_path):
    script = "import sys; sys.modules['inspect_ai'] = None; from proverbench.cli import main; main(sys.argv[1:])"
    for words in (
        ["export", ".", "--to", "inspect"],
        ["data", "import", "--format", "inspect", "x.eval", "--output", "o.jsonl"],
    ):
        ended = subprocess.run(
            [sys.executable, "-c", script, *words], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert ended.returncode == 2
        assert "pip install 'proverbench[inspect]'" in ended.stderr
        assert "Traceback" not in ended.stderr
