"""What notebooks use."""

import json
from contextlib import aclosing

import pytest

import proverbench
from proverbench import (
    ConfigError,
    EndpointError,
    RunMismatchError,
    load_problems,
    load_proofs,
    run_prover,
    run_verifier,
    score_prover,
    score_verifier,
)
from proverbench.rehearse import Profile
from proverbench.rehearse.plays import failure
from tests.support import problem_rows, proof_rows, run_process, write_config, write_rows


@pytest.fixture
def problems(tmp_path):
    return load_problems(write_rows(tmp_path / "problems.jsonl", problem_rows(4))).rows


@pytest.fixture
def proofs(tmp_path):
    return load_proofs(write_rows(tmp_path / "proofs.jsonl", proof_rows(4))).rows


@pytest.fixture
def config(tmp_path, server):
    return write_config(tmp_path / "config.toml", server.base_url)


def test_the_public_names_are_pinned():
    assert proverbench.__all__ == [
        "ConfigError",
        "DataError",
        "EndpointError",
        "InvalidReply",
        "JournalError",
        "PromptError",
        "ProverBenchError",
        "Reply",
        "Request",
        "RunMismatchError",
        "UserInputError",
        "load",
        "load_problems",
        "load_proofs",
        "parse_level",
        "parse_steps",
        "parse_verdict",
        "render_prompt",
        "run_prover",
        "run_verifier",
        "score_prover",
        "score_verifier",
    ]
    assert all(getattr(proverbench, name) is not None for name in proverbench.__all__)


async def test_prover_records_are_scored(problems, config):
    records = [record async for record in run_prover(problems, config, samples=2, verifier_repeats=3)]
    assert sorted(record.key for record in records) == [f"p{i}/{j}" for i in range(4) for j in range(2)]
    metrics = score_prover(records, samples=2, repeats=3)
    assert metrics["proofs"] == 8
    assert metrics["verifier_valid_rate"] == 1.0


async def test_verifier_records_are_scored(proofs, config):
    records = [record async for record in run_verifier(proofs, config, verifier_repeats=2, meta=True)]
    assert score_verifier(records, repeats=2, meta=True)["meta_valid_rate"] == 1.0


async def test_a_folder_is_continued_and_grown(problems, config, server, tmp_path):
    folder = tmp_path / "run"
    async with aclosing(run_prover(problems, config, verifier_repeats=2, folder=folder)) as records:
        async for _ in records:
            break  # leaving early keeps what was answered
    async for _ in run_prover(problems, config, verifier_repeats=2, folder=folder):
        pass
    assert server.stats()["asks_answered_more_than_once"] <= 16
    answered = server.stats()["answered"]
    grown = [r async for r in run_prover(problems, config, verifier_repeats=3, folder=folder)]
    assert server.stats()["answered"] == answered + 4
    assert len(grown) == 4
    assert all(record.complete and len(record.judgments) == 3 for record in grown)
    with pytest.raises(RunMismatchError, match="verifier_repeats"):
        async for _ in run_prover(problems, config, verifier_repeats=1, folder=folder):
            pass


async def test_who_leaves_early_is_journalled_so(problems, server, tmp_path):
    config = write_config(tmp_path / "config.toml", server.base_url, concurrency=1)
    folder = tmp_path / "run"
    async with aclosing(run_prover(problems, config, verifier_repeats=2, folder=folder)) as records:
        async for _ in records:
            break
    async for _ in run_prover(problems, config, verifier_repeats=2, folder=folder):
        pass
    lines = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    assert [line["reason"] for line in lines if line.get("event") == "stop"] == ["left", "done"]


async def test_a_run_of_the_command_line_is_continued_and_keeps_its_limits(problems, server, tmp_path):
    prices = "prices = { input = 1.0, output = 1.0 }"
    config = write_config(tmp_path / "config.toml", server.base_url, more=prices)
    selected = ("--data", "problems.jsonl", "--config", config, "--limit", "3", "--max-cost", "5")
    ended = run_process("run", *selected, "--verifier-repeats", "1", "--output", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    records = [r async for r in run_prover(problems[:3], config, verifier_repeats=2, folder=tmp_path / "run")]
    assert sorted(len(record.judgments) for record in records) == [2, 2, 2]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_bytes())
    assert manifest["operation"]["max_cost_usd"] == 5
    assert manifest["extent"]["limit"] == 3
    more = ("--resume", "run", "--verifier-repeats", "3", "--max-cost", "0.000001")
    assert run_process("run", *more, cwd=tmp_path).code == 1
    asked = server.stats()["requests"]
    records = [r async for r in run_prover(problems[:3], config, verifier_repeats=3, folder=tmp_path / "run")]
    assert not any(record.complete for record in records)
    assert server.stats()["requests"] == asked


async def test_one_refused_call_does_not_stop_a_run_that_had_answers(problems, config, server, tmp_path):
    """A refusal of the very first call is taken for one of every call, but not where the run has answers."""
    async for _ in run_prover(problems, config, verifier_repeats=1, folder=tmp_path / "run"):
        pass
    server.script = lambda received: failure(400) if problems[0].problem in received.ask.prompt else None
    records = [r async for r in run_prover(problems, config, verifier_repeats=2, folder=tmp_path / "run")]
    assert sorted(record.key for record in records if record.complete) == ["p1/0", "p2/0", "p3/0"]


async def test_an_endpoint_that_cannot_be_opened_leaves_a_run_as_it_was(problems, config, tmp_path):
    folder = tmp_path / "run"
    async for _ in run_prover(problems, config, verifier_repeats=1, folder=folder):
        pass
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    keyed = write_config(tmp_path / "keyed.toml", "http://127.0.0.1:9/v1", more='api_key_env = "NOT_SET_HERE"')
    with pytest.raises(ConfigError):
        async for _ in run_prover(problems, keyed, verifier_repeats=2, folder=folder):
            pass
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


async def test_asking_nothing_writes_nothing(problems, config, tmp_path):
    folder = tmp_path / "run"
    for _ in range(2):
        async for _ in run_prover(problems, config, verifier_repeats=1, folder=folder):
            pass
        before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


async def test_a_fault_for_every_call_is_raised(problems, config, server):
    server.revoke()
    server.profile = Profile()
    with pytest.raises(EndpointError):
        async for _ in run_prover(problems, config, verifier_repeats=1):
            pass


async def test_no_samples(problems, config):
    with pytest.raises(ConfigError, match="samples is 0"):
        async for _ in run_prover(problems, config, samples=0):
            pass
