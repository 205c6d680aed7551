"""``proverbench.load``: frames of a saved run that agree with its records and scores."""

import json
from pathlib import Path

import pandas as pd
import pytest

import proverbench
from proverbench.show import frames
from tests.support import problem_rows, proof_rows, write_config, write_rows


@pytest.fixture
def runs(command, server, tmp_path) -> Path:
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(4))
    write_config(tmp_path / "c.toml", server.base_url)
    arguments = ("--config", "c.toml", "--verifier-repeats", "2")
    assert command("run", "--data", "problems.jsonl", *arguments, "--samples", "2", "--output", "p").code == 0
    assert command("verify", "--data", "proofs.jsonl", *arguments, "--meta", "--output", "v").code == 0
    return tmp_path


def test_frames_agree_with_the_summary(runs):
    prover, verifier = proverbench.load(runs / "p"), proverbench.load(str(runs / "v"))
    metrics = prover.summary.splits["all"].metrics
    assert prover.proofs["score"].mean() == metrics["pessimistic"]
    assert prover.judgments["valid"].sum() / 16 == metrics["verifier_valid_rate"]
    metrics = verifier.summary.splits["all"].metrics
    right = verifier.judgments["polarity_right"].fillna(False)
    assert right.mean() == metrics["rough_accuracy"]
    assert verifier.judgments["step_right"].fillna(False).mean() == metrics["first_error_step_accuracy"]
    assert verifier.judgments["meta_valid"].mean() == metrics["meta_valid_rate"]
    scores = verifier.scores.set_index(["split", "metric"])
    assert scores.loc[("all", "rough_accuracy"), "value"] == metrics["rough_accuracy"]
    assert scores.loc[("all", "rough_accuracy"), "evidence"] > 0
    assert scores.loc[("all", "rough_accuracy"), "effective_n"] > 0


def test_runs_may_be_loaded_again_and_again(runs):
    descriptors = Path("/dev/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(20):
        assert len(proverbench.load(runs / "p").calls)
    assert len(list(descriptors.iterdir())) <= before


def test_columns_and_types(runs):
    run = proverbench.load(runs / "v")
    for name, table in frames.TABLES.items():
        columns = getattr(frames, name.upper())
        frame = table(run)
        assert {column: str(dtype) for column, dtype in frame.dtypes.items()} == columns
    assert len(run.calls) == len(run.calls[["role", "id", "sample", "repeat"]].drop_duplicates()) == 16
    assert run.calls["input_tokens"].min() > 0


def test_ids_stay_text_and_surrogates_are_shown(runs, command):
    rows = [{**row, "problem_id": f"00{i}"} for i, row in enumerate(problem_rows(2))]
    write_rows(runs / "ids.jsonl", rows)
    arguments = ("--data", "ids.jsonl", "--config", "c.toml", "--verifier-repeats", "1")
    assert command("run", *arguments, "--output", "ids").code == 0
    calls = runs / "ids/calls.jsonl"
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    policy = next(line for line in lines if line.get("role") == "policy")
    import base64

    exact = "<step>a \ud800 b</step>"
    policy |= {
        "text": exact.replace("\ud800", "\ufffd"),
        "text_b64": base64.b64encode(exact.encode("utf-8", "surrogatepass")).decode(),
        "finish_reason": "stop",
    }
    write_rows(calls, lines)
    run = proverbench.load(runs / "ids")
    assert set(run.proofs["problem_id"]) == {"000", "001"}
    assert "a \ufffd b" in set(run.proofs["proof"])
    run.proofs.to_parquet(runs / "proofs.parquet")
    assert pd.read_parquet(runs / "proofs.parquet")["problem_id"].tolist() == ["000", "001"]


def test_no_run(tmp_path):
    with pytest.raises(proverbench.ProverBenchError, match="no saved run"):
        proverbench.load(tmp_path)
