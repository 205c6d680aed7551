"""The first judgment of a proof is asked alone, never at the price of throughput."""

import json
from pathlib import Path

import pytest

from proverbench.rehearse import Profile
from proverbench.rehearse.plays import Play, answer, failure
from proverbench.rehearse.profile import Latency
from tests.support import every, problem_rows, proof_rows, write_config, write_rows

GOOD = "<assessment>ok</assessment><errors></errors><first_error_step>-1</first_error_step>"


@pytest.fixture
def verify(command, tmp_path, server):
    """``verify(rows, repeats, characters=5000, concurrency=2, more="")`` runs a verifier; gives the requests' story."""

    def run(rows, repeats, *, characters=5000, concurrency=2, more="", delay_s=0.02):
        proofs = proof_rows(rows)
        for proof in proofs:
            proof["steps"] = ["First.", "y" * characters, "Third."]
        write_rows(tmp_path / "proofs.jsonl", proofs)
        write_config(tmp_path / "config.toml", server.base_url, concurrency=concurrency, more=more)
        server.profile = Profile(latency=Latency("fixed", delay_s), true_cache=True)
        early = []
        answered = server.ledger.prompt_answers

        def script(received):
            ask = received.ask
            asked_before = [other for other in server.log if other.ask and other.ask.prompt == ask.prompt][:-1]
            if asked_before and not any(other.outcome == "answered" for other in asked_before):
                early.append(received.index)

        server.script = script
        ended = command(
            *("verify", "--data", "proofs.jsonl", "--config", "config.toml"),
            *("--verifier-repeats", str(repeats), "--output", "r"),
        )
        assert ended.code == 0, ended.err
        assert len(answered) == rows
        return ended, early

    return run


def test_the_others_wait_for_the_first(verify, server):
    _, early = verify(6, 4)
    assert early == []
    assert server.ledger.max_in_flight["all"] == 2


def test_they_do_not_where_it_is_off(verify):
    _, early = verify(6, 4, more="cache_first = false\n")
    assert early != []


def test_short_prompts_do_not_wait(verify):
    _, early = verify(6, 4, characters=10)
    assert early != []


def test_never_at_the_price_of_throughput(verify, server):
    # One proof, four slots: nothing else could fill them.
    _, early = verify(1, 4, concurrency=4, delay_s=0.2)
    assert len(early) == 3
    assert server.ledger.max_in_flight["all"] == 4


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_with_a_policy_every_call_is_made_once(command, tmp_path, server, concurrency):
    # Long problems make long prompts; proofs come one after the other, while judgments wait.
    rows = [{**row, "problem": row["problem"] + "z" * 5000} for row in problem_rows(5)]
    write_rows(tmp_path / "problems.jsonl", rows)
    write_config(tmp_path / "config.toml", server.base_url, concurrency=concurrency)
    server.profile = Profile(latency=Latency("lognormal", 0.01, 1.0))
    options = ("--samples", "2", "--verifier-repeats", "4", "--output", "r")
    assert command("run", "--data", "problems.jsonl", "--config", "config.toml", *options).code == 0
    assert server.stats()["answered_by_role"] == {"policy": 10, "verifier": 40}
    assert server.ledger.max_in_flight["all"] <= concurrency


def test_it_switches_itself_off(verify, server):
    server.replies = lambda ask, before: (
        answer(GOOD, usage={"prompt_tokens": 2000, "completion_tokens": 9, "total_tokens": 2009}).reply
    )
    ended, _ = verify(30, 3, delay_s=0.0)
    assert ended.err.count("cache_first is off") == 1


def test_it_stays_on_where_tokens_are_cached(verify):
    ended, early = verify(30, 3, delay_s=0.0)
    assert "cache_first is off" not in ended.err
    assert early == []


def test_a_first_call_that_is_refused_lets_the_others_go(command, tmp_path, server):
    proofs = proof_rows(3)
    for proof in proofs:
        proof["steps"] = ["First.", "y" * 5000, "Third."]
    write_rows(tmp_path / "proofs.jsonl", proofs)
    write_config(tmp_path / "config.toml", server.base_url, concurrency=1)
    seen = set()

    def script(received):
        first = received.ask.prompt not in seen
        seen.add(received.ask.prompt)
        return failure(400, "content_filter") if first else None

    server.script = script
    options = ("--verifier-repeats", "3", "--output", "r")
    assert command("verify", "--data", "proofs.jsonl", "--config", "config.toml", *options).code == 0
    lines = [json.loads(line) for line in Path("r/calls.jsonl").read_text().splitlines()]
    assert sum(line["type"] == "call" for line in lines) == 9


def test_a_stream_that_has_begun_is_enough(command, tmp_path, server):
    proofs = proof_rows(1)
    for proof in proofs:
        proof["steps"] = ["First.", "y" * 5000, "Third."]
    write_rows(tmp_path / "proofs.jsonl", proofs)
    write_config(tmp_path / "config.toml", server.base_url, concurrency=1, more="stream = true\n")
    server.script = lambda received: Play(body_s=0.05)
    options = ("--verifier-repeats", "3", "--output", "r")
    assert command("verify", "--data", "proofs.jsonl", "--config", "config.toml", *options).code == 0
    lines = [json.loads(line) for line in Path("r/calls.jsonl").read_text().splitlines()]
    assert sum(line["type"] == "call" for line in lines) == 3


def test_both_ends_are_marked_for_anthropic(verify, command, tmp_path, server):
    text = f'[verifier]\nkind = "anthropic"\nbase_url = "{server.origin}"\nmodel = "m"\nconcurrency = 1\n'
    proofs = proof_rows(1)
    proofs[0]["steps"] = ["First.", "y" * 5000, "Third."]
    write_rows(tmp_path / "proofs.jsonl", proofs)
    (tmp_path / "config.toml").write_text(text + "generation = { max_tokens = 100 }\n")
    options = ("--verifier-repeats", "2", "--output", "r")
    assert command("verify", "--data", "proofs.jsonl", "--config", "config.toml", *options).code == 0
    for received in every(server.log):
        blocks = received.json["messages"][0]["content"]
        assert [("cache_control" in block) for block in blocks] == [True, True]
