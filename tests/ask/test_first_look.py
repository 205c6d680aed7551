"""A declared protocol asks five judgments first, shows what was read of each, and stops if none is valid."""

import json
import threading
from pathlib import Path

import pytest

from proverbench.rehearse import ModelReply
from tests.support import problem_rows, proof_rows, write_config, write_rows

LABEL = """
[protocol]
name = "tagged"
verdict = "label"
prompt = "own.txt"
[protocol.find]
tag = "verification"
which = "last"
[protocol.values]
true = "accept"
false = "reject"
[[protocol.example]]
reply = "<verification>true</verification>"
expect = "accept"
[[protocol.example]]
reply = "true"
expect_reason = "missing:value"
"""
VERIFY = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--protocol", "own.toml", "--output", "r")


@pytest.fixture
def inputs(tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(30))
    write_config(tmp_path / "config.toml", server.base_url)
    (tmp_path / "own.toml").write_text(LABEL)
    # Long enough for later judgments of a proof to wait for the first (cache_first).
    (tmp_path / "own.txt").write_text("Is it right? " + "Think. " * 800 + "{problem} {solution}")
    return tmp_path


def answers(server, text_of):
    """Answer judgments by their place in the order of arrival, from 0; policies write a proof of one step."""
    lock, seen = threading.Lock(), [0]

    def reply(ask, before):
        if "Is it right?" not in ask.prompt:
            return ModelReply(content="<step>So.</step>")
        with lock:
            place, seen[0] = seen[0], seen[0] + 1
        return ModelReply(content=text_of(place))

    server.replies = reply


def calls_of(folder):
    lines = [json.loads(line) for line in Path(folder, "calls.jsonl").read_text().splitlines()]
    return [line for line in lines if line["type"] == "call" and line["role"] == "verifier"]


@pytest.mark.parametrize("repeats", [1, 3, 8])
def test_none_valid_stops_the_run_after_five(command, inputs, server, repeats):
    answers(server, lambda place: "I would say true.")
    ended = command(*VERIFY, "--verifier-repeats", str(repeats))
    assert ended.code == 1
    assert len(calls_of("r")) == 5
    assert ended.err.count("invalid, missing:value") == 5
    assert "none of the first 5 judgments is valid under protocol 'tagged' (5 missing:value)" in ended.err
    answers(server, lambda place: "<verification>true</verification>")
    again = command("verify", "--resume", "r")
    assert again.code == 0, "the user was told, and asks all the same"
    assert len(calls_of("r")) == 30 * repeats


def test_different_reasons_stop_it_too(command, inputs, server):
    answers(server, lambda place: ("true", "<verification>maybe</verification>")[place % 2])
    ended = command(*VERIFY)
    assert ended.code == 1
    assert len(calls_of("r")) == 5
    assert "missing:value" in ended.err.splitlines()[-1]
    assert "bad_value" in ended.err.splitlines()[-1]


def test_one_valid_is_enough(command, inputs, server):
    answers(server, lambda place: "<verification>False</verification>" if place == 3 else "no idea")
    ended = command(*VERIFY, "--verifier-repeats", "2")
    assert ended.code == 0, ended.err
    assert len(calls_of("r")) == 60
    assert ended.err.count("of the first 5, ") == 5
    assert ended.err.count("label reject: rejects") == 1


def test_fewer_judgments_than_five(command, inputs, server):
    answers(server, lambda place: "no idea")
    ended = command(*VERIFY, "--limit", "3")
    assert ended.code == 1
    assert "none of the first 3 judgments is valid" in ended.err


def test_proofs_that_a_policy_writes_first(command, inputs, server):
    answers(server, lambda place: "<verification>true</verification>")
    prove = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--protocol", "own.toml", "--output", "p")
    ended = command(*prove, "--verifier-repeats", "4", "--no-use-reference-solution")
    assert ended.code == 0, ended.err
    assert ended.err.count("label accept: accepts") == 5


def test_a_shipped_protocol_looks_at_nothing(command, inputs, server):
    ended = command("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--output", "r")
    assert ended.code == 0
    assert "of the first 5" not in ended.err
