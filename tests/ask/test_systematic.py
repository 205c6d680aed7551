"""Replies that are all bad for one reason stop a run; one good answer, or a resume, lets it go on."""

import asyncio
import json
from pathlib import Path

import pytest

from proverbench import load_proofs, run_verifier
from proverbench.ask.systematic import RoleWatch
from proverbench.endpoints.context import Room
from proverbench.errors import FatalEndpointError
from proverbench.records import CallLine
from proverbench.rehearse.plays import answer, failure
from tests.support import problem_rows, proof_rows, write_config, write_rows

GOOD = "<assessment>ok</assessment><errors></errors><first_error_step>-1</first_error_step>"
CONTEXT = (
    "maximum context length is 32768 tokens; you requested 33000 tokens (3000 in the messages, 30000 in the completion)"
)


def call(role="verifier", finish="stop", refused=None, output=100):
    usage = {"prompt_tokens": 10, "completion_tokens": output}
    return CallLine(role=role, id="p", finish_reason=finish, refused=refused, usage=usage)


def fed(watch, *events):
    """What a watch says to each event: an answer's reason, a failure, or None for a good answer."""
    said = []
    for event in events:
        if event == "failed":
            said.append(watch.no_answer("no such parameter"))
        else:
            refused = event.partition(":")[2] if str(event).startswith("refused:") else None
            said.append(watch.answered(call(watch.role, refused=refused), event))
    return said


CTX = "refused:context_length"


@pytest.mark.parametrize(
    ("role", "calls", "events", "fires"),
    [
        ("verifier", 100, [CTX] * 8, True),
        ("verifier", 100, [CTX] * 7, False),
        ("verifier", 5, [CTX] * 5, True),
        ("verifier", 5, [CTX] * 4, False),
        ("verifier", 2, [CTX] * 2, False),
        ("policy", 100, [CTX] * 8, True),
        ("meta", 100, ["failed"] * 8, True),
        ("verifier", 100, ["refused:content_policy", CTX] * 4, True),
        ("verifier", 100, ["failed", CTX] * 10, False),
        ("verifier", 100, [None] + [CTX] * 30, False),
        ("verifier", 100, [CTX] * 7 + [None] + [CTX] * 30, False),
        ("verifier", 100, ["missing:assessment"] * 20, True),
        ("verifier", 100, ["missing:assessment"] * 19, False),
        ("verifier", 100, ["missing:assessment"] * 19 + ["bad_index"] * 30, False),
        ("verifier", 12, ["missing:assessment"] * 12, True),
        ("verifier", 7, ["missing:assessment"] * 7, False),
        ("meta", 100, ["bad_level"] * 20, True),
        ("policy", 100, ["no_proof_steps"] * 50, False),
    ],
)
def test_when_it_fires(role, calls, events, fires):
    said = fed(RoleWatch(role, calls), *events)
    assert (said[-1] is not None) is fires
    assert all(one is None for one in said[:-1])


def test_a_policys_proofs_are_a_finding():
    watch = RoleWatch("policy", 100)
    findings = []
    for _ in range(30):
        watch.answered(call("policy"), "no_proof_steps")
        findings.append(watch.finding())
    assert [number for number, finding in enumerate(findings, 1) if finding] == [20]
    assert "20 of 20 are no_proof_steps" in findings[19]


def test_the_message_names_what_clashes():
    watch = RoleWatch("verifier", 3, limit=30000)
    rooms = [Room(32768, prompt, 30000, True) for prompt in (3000, 5000, 4000)]
    said = [watch.answered(call(refused="context_length"), CTX, room) for room in rooms]
    assert all(number in said[-1] for number in ("32,768", "5,000", "30,000", "35,000", "27,768", "max_tokens"))
    assert "with which 3 of 3 prompts fit" in said[-1]


def test_prompts_that_fit_with_no_limit_are_counted():
    watch = RoleWatch("verifier", 3, limit=30000)
    rooms = [Room(32768, prompt, 30000, True) for prompt in (3000, 50000, 4000)]
    said = [watch.answered(call(refused="context_length"), CTX, room) for room in rooms]
    assert "2 of 3 prompts would fit with max_tokens = 28,768" in said[-1]


def test_a_limit_that_is_too_low():
    watch = RoleWatch("verifier", 8, limit=512)
    said = [watch.answered(call(finish="length", output=512), "non_stop_finish") for _ in range(8)]
    assert all(word in said[-1] for word in ("8 of 8", "'length'", "non_stop_finish", "512", "median output 512"))


@pytest.fixture
def inputs(tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(30))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(30))
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


VERIFY = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--concurrency", "1")


def calls_of(folder):
    lines = [json.loads(line) for line in Path(folder, "calls.jsonl").read_text().splitlines()]
    return [line for line in lines if line["type"] == "call"]


def test_a_run_stops_and_a_resume_goes_on(command, inputs, server):
    refusal = failure(400, CONTEXT, kind="BadRequestError")
    server.script = lambda received: refusal
    first = command(*VERIFY, "--output", "r")
    assert first.code == 1
    assert "32,768" in first.err.splitlines()[-1]
    assert first.err.splitlines()[-1].endswith("--resume r")
    assert len(calls_of("r")) == 8
    second = command("verify", "--resume", "r")
    assert second.code == 0, "the user was told, and asks all the same"
    assert len(calls_of("r")) == 30


def test_it_counts_over_sessions(command, inputs, server):
    server.script = lambda received: answer("no tags at all")
    assert command(*VERIFY, "--output", "r", "--limit", "7").code == 0
    assert len(calls_of("r")) == 7
    grown = command("verify", "--resume", "r", "--limit", "30", "--data", "proofs.jsonl", "--concurrency", "1")
    assert grown.code == 1
    assert len(calls_of("r")) == 20
    assert "missing:assessment" in grown.err.splitlines()[-1]


def test_one_good_answer_of_an_earlier_session_disarms_it(command, inputs, server):
    server.script = lambda received: answer(GOOD)
    assert command(*VERIFY, "--output", "r", "--limit", "1").code == 0
    server.script = lambda received: answer("no tags at all")
    assert command("verify", "--resume", "r", "--limit", "30", "--data", "proofs.jsonl").code == 0
    assert len(calls_of("r")) == 30


def test_calls_that_all_fail_at_an_endpoint_that_answers_others(command, inputs, server):
    def script(received):
        return None if received.ask.role == "policy" else failure(400, "Unsupported parameter: 'min_p'", code="x")

    server.script = script
    ended = command(
        *("run", "--data", "problems.jsonl", "--config", "config.toml", "--concurrency", "1"),
        *("--verifier-repeats", "2", "--output", "r"),
    )
    assert ended.code == 1
    last = ended.err.splitlines()[-1]
    assert "the first 8 calls of the verifier all failed" in last
    assert "min_p" in last


def test_a_policy_without_steps_is_told_and_goes_on(command, inputs, server):
    server.script = lambda received: answer("a proof without tags")
    ended = command(
        *("run", "--data", "problems.jsonl", "--config", "config.toml", "--verifier-repeats", "1", "--output", "r")
    )
    assert ended.code == 0
    assert ended.err.count("no_proof_steps") == 1
    assert len(calls_of("r")) == 30


def test_it_is_an_error_in_python(inputs, server):
    server.script = lambda received: answer("no tags at all")

    async def ask():
        async for _ in run_verifier(
            load_proofs(inputs / "proofs.jsonl").rows, inputs / "config.toml", folder=inputs / "r"
        ):
            pass

    with pytest.raises(FatalEndpointError, match="missing:assessment"):
        asyncio.run(ask())
