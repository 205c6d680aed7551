"""``proverbench.load``: frames of a saved run that agree with its records and scores."""

import json
from pathlib import Path

import pandas as pd
import pytest

import proverbench
from proverbench.metrics.metric import harmonic_mean, mean
from proverbench.metrics.registry import metrics_of
from proverbench.rehearse import GeneratedReplies, RehearseServer
from proverbench.show import frames
from tests.support import every, problem_rows, proof_rows, write_calls, write_config, write_rows


@pytest.fixture
def runs(command, server, tmp_path) -> Path:
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(4))
    write_config(tmp_path / "c.toml", server.base_url)
    arguments = ("--config", "c.toml", "--verifier-repeats", "2")
    assert command("run", "--data", "problems.jsonl", *arguments, "--samples", "2", "--output", "p").code == 0
    assert command("verify", "--data", "proofs.jsonl", *arguments, "--meta", "--output", "v").code == 0
    return tmp_path


def published(run: proverbench.show.frames.LoadedRun, split: str) -> dict:
    """The published rates of a split by plain means of the frames, as docs/exports.md says."""
    judgments, proofs = run.judgments, run.proofs
    if split != "all":
        judgments, proofs = judgments[judgments["domain"] == split], proofs[proofs["domain"] == split]
    valid = judgments["valid_credit"].mean()
    if run.summary.task == "prover":
        return {
            "pessimistic": proofs["score"].mean(),
            "pass_any_sample": proofs.groupby("problem_id")["score"].max().mean(),
            "generation_failure_rate": proofs["generation_failed"].mean(),
            "verifier_valid_rate": valid,
        }
    by_label = judgments.groupby("is_correct")[["polarity_credit", "step_credit", "meta_credit"]].mean()
    (tpr, _, meta_tpr), (tnr, step, meta_tnr) = (by_label.loc[label] for label in (True, False))
    return {
        "rough_accuracy": judgments["polarity_credit"].mean(),
        "rough_tpr": tpr,
        "rough_tnr": tnr,
        "rough_bal_f1": 2 * tpr * tnr / (tpr + tnr),
        "balanced_accuracy": (tpr + tnr) / 2,
        "first_error_step_accuracy": judgments["step_credit"].mean(),
        "first_error_step_accuracy_incorrect": step,
        "verifier_valid_rate": valid,
        "meta_ver_tpr": meta_tpr,
        "meta_ver_tnr": meta_tnr,
        "meta_ver_bal_f1": 2 * meta_tpr * meta_tnr / (meta_tpr + meta_tnr),
        "meta_valid_rate": judgments["meta_valid_credit"].mean(),
    }


@pytest.fixture
def lossy(command, tmp_path) -> Path:
    """Runs in which many replies are invalid, of the policy too."""
    write_rows(tmp_path / "problems.jsonl", problem_rows(8))
    rows = [row | {"domain": ("ugd", "ugd", "qe", "qe")[i % 4]} for i, row in enumerate(proof_rows(16))]
    write_rows(tmp_path / "proofs.jsonl", rows)
    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=0.25)) as server:
        write_config(tmp_path / "c.toml", server.base_url)
        more = ("--config", "c.toml", "--verifier-repeats", "3")
        assert command("run", "--data", "problems.jsonl", *more, "--samples", "2", "--output", "p").code == 0
        assert command("verify", "--data", "proofs.jsonl", *more, "--meta", "--output", "v").code == 0
    return tmp_path


@pytest.mark.parametrize(("name", "task", "requested"), [("p", "prover", 8 * 2 * 3), ("v", "verifier", 16 * 3)])
def test_plain_means_are_the_published_rates_of_every_metric(lossy, name, task, requested):
    run = proverbench.load(lossy / name)
    assert len(run.judgments) == requested
    assert 0 < run.judgments["valid_credit"].mean() < 1
    for split in ("all", "ugd", "qe"):
        found, metrics = published(run, split), run.summary.splits[split].metrics
        assert set(found) == set(metrics_of(task))
        assert found == pytest.approx({metric: metrics[metric] for metric in found}, abs=1e-12)


def test_judgments_that_were_never_asked_have_rows(lossy):
    run = proverbench.load(lossy / "p")
    failed = run.proofs[run.proofs["generation_failed"] == 1]["key"]
    rows = run.judgments[run.judgments["key"].isin(failed)]
    assert len(rows) == 3 * len(failed) > 0
    assert set(rows["state"]) == {"not asked"}
    assert set(rows["valid_credit"]) == {0.0}


def test_open_judgments_earn_nothing_yet(lossy, command):
    lines = [json.loads(line) for line in (lossy / "v/calls.jsonl").read_text().splitlines()]
    dropped = next(line for line in lines if line.get("role") == "verifier" and line["repeat"] == 1)
    write_calls(lossy / "v", [line for line in lines if line is not dropped])
    row = proverbench.load(lossy / "v").judgments.query("state == 'open'").iloc[0]
    assert (row["proof_id"], row["repeat"]) == (dropped["id"], 1)
    assert row[["valid", "valid_credit", "polarity_credit", "meta_credit"]].isna().all()
    assert command("verify", "--resume", "v", "--final").code == 0
    row = proverbench.load(lossy / "v").judgments.query("state == 'closed'").iloc[0]
    assert (row["reason"], row["valid_credit"], row["polarity_credit"]) == ("unanswered", 0.0, 0.0)


def test_a_score_carries_what_defends_it(lossy):
    for name in ("p", "v"):
        run = proverbench.load(lossy / name)
        scores = run.scores.set_index(["split", "metric"])
        for split, part in every(run.summary.splits.items()):
            for metric, value in every(part.metrics.items()):
                row = scores.loc[(split, metric)]
                if isinstance(value, int):
                    assert (row["count"], row["value"] is pd.NA) == (value, True)
                    continue
                assert row["undefined"] is pd.NA
                made = eval(row["formula"], {"harmonic_mean": harmonic_mean, "mean": mean})
                assert made == pytest.approx(value, abs=1e-12)
                if row["numerator"] is not pd.NA:
                    assert row["numerator"] / row["denominator"] == pytest.approx(value, abs=1e-12)
                assert row["shown_low"] <= value <= row["shown_high"]
                assert row["shown_method"] == "mid-P over problems"
                assert (row["judge"], row["repeats"], row["closed_unanswered"]) == ("m-verifier", 3, 0)
                assert row["prompts"].startswith("policy own" if name == "p" else "verifier own")


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
    write_calls(calls.parent, lines)
    run = proverbench.load(runs / "ids")
    assert set(run.proofs["problem_id"]) == {"000", "001"}
    assert "a \ufffd b" in set(run.proofs["proof"])
    run.proofs.to_parquet(runs / "proofs.parquet")
    assert pd.read_parquet(runs / "proofs.parquet")["problem_id"].tolist() == ["000", "001"]


def test_no_run(tmp_path):
    with pytest.raises(proverbench.ProverBenchError, match="no saved run"):
        proverbench.load(tmp_path)
