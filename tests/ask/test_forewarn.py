"""What a dry run, and the start of a run, say of faults that would look like a model's score."""

import json

import pytest

from tests.support import ROOT, every, problem_rows, proof_rows, write_rows

CONFIG = """
[endpoint.e]
base_url = "http://127.0.0.1:9/v1"
{endpoint}
[policy]
endpoint = "e"
model = "m"
generation = {{ {policy} }}
[verifier]
endpoint = "e"
model = "m"
generation = {{ {verifier} }}
"""


@pytest.fixture
def dry_run(command, tmp_path):
    """``dry_run("run", "--option", …, endpoint="context = 9")`` gives the warnings of a dry run."""

    def run(task, *arguments, endpoint="", policy="max_tokens = 100", verifier="max_tokens = 100"):
        rows = problem_rows(2) if task == "run" else proof_rows(2)
        write_rows(tmp_path / "rows.jsonl", rows)
        (tmp_path / "config.toml").write_text(CONFIG.format(endpoint=endpoint, policy=policy, verifier=verifier))
        ended = command(task, "--data", "rows.jsonl", "--config", "config.toml", "--dry-run", *arguments)
        assert ended.code == 0, ended.err
        return [line for line in ended.out.splitlines() if line.startswith("warning: ")]

    return run


def test_nothing_to_warn_of(dry_run):
    assert dry_run("run", endpoint="context = 40000") == []
    assert dry_run("verify") == []


@pytest.mark.parametrize(
    ("generation", "words"),
    [
        ("max_tokens = 100, temprature = 0.5", ["verifier.generation.temprature", "'temperature'"]),
        ("max_tokens = 100, extra_body = { top_pp = 0.5 }", ["verifier.generation.extra_body.top_pp", "'top_p'"]),
    ],
)
def test_misspelt_parameters(dry_run, generation, words):
    (warning,) = dry_run("verify", verifier=generation)
    assert all(word in warning for word in every(words))


@pytest.mark.parametrize("generation", ["top_k = 20", "ignore_eos = true", "best_of = 3", "extra_body = { foo = 1 }"])
def test_parameters_that_are_known_or_near_none(dry_run, generation):
    assert dry_run("verify", verifier=generation) == []


def test_a_judges_prompt_without_our_tags(dry_run, tmp_path):
    (tmp_path / "judge.txt").write_text("Is this right? {problem} {solution} {human_solution} Answer yes or no.")
    (warning,) = dry_run("verify", "--verifier-prompt", "judge.txt")
    assert "<assessment>, <errors>, <first_error_step>" in warning


def test_given_proofs_without_steps(dry_run, tmp_path):
    lines = [
        {"problem_id": f"p{i}", "sample": 0, "text": text} for i, text in enumerate(["No tags.", "<step>a</step>"])
    ]
    (tmp_path / "proofs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (warning,) = dry_run("run", "--proofs", "proofs.jsonl")
    assert "1 of 2 given proofs" in warning
    assert "no_proof_steps" in warning
    assert "<step>" in warning


def test_prompts_that_do_not_fit_beside_the_limit(dry_run):
    (warning,) = dry_run("verify", endpoint="context = 8192", verifier="max_tokens = 8000")
    assert all(word in warning for word in ("verifier: 2 of 2 prompts", "8,000", "8,192", "max_tokens = "))


def test_a_proof_that_is_to_be_written_is_taken_to_fill_its_limit(dry_run):
    # 16,384 tokens of proof and 16,384 of verdict leave room for the rest in 40,960, 32,768 and 32,768 do not.
    assert dry_run("run", endpoint="context = 40960", policy="max_tokens = 16384", verifier="max_tokens = 16384") == []
    (warning,) = dry_run("run", endpoint="context = 40960", policy="max_tokens = 32768", verifier="max_tokens = 32768")
    assert warning.startswith("warning: verifier: 16 of 16 prompts")


@pytest.mark.parametrize("task", ["run", "verify"])
def test_the_shipped_config_of_local_servers_leaves_room(command, task):
    data = ROOT / "data" / ("proverbench.jsonl" if task == "run" else "verifierbench.jsonl")
    extra = ["--meta"] if task == "verify" else []
    ended = command(task, "--data", data, "--config", ROOT / "configs" / "local.toml", "--dry-run", *extra)
    assert ended.code == 0
    assert "warning" not in ended.out


def test_a_run_says_so_too(command, tmp_path, server):
    write_rows(tmp_path / "rows.jsonl", proof_rows(1))
    text = CONFIG.format(endpoint="", policy="max_tokens = 9", verifier="max_tokens = 9, temprature = 1")
    (tmp_path / "config.toml").write_text(text.replace("http://127.0.0.1:9/v1", server.base_url))
    ended = command("verify", "--data", "rows.jsonl", "--config", "config.toml", "--output", "r")
    assert ended.code == 0
    assert "warning: verifier.generation.temprature" in ended.err


def test_a_dry_run_checks_the_way_out(command, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "socks5://p:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    write_rows(tmp_path / "rows.jsonl", proof_rows(1))
    (tmp_path / "config.toml").write_text(CONFIG.format(endpoint="", policy="", verifier=""))
    ended = command("verify", "--data", "rows.jsonl", "--config", "config.toml", "--dry-run")
    assert ended.code == 2
    assert "http_proxy" in ended.err
