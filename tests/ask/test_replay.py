"""A saved run, made by the real pipeline over a real server, answers again."""

import hashlib

import pytest

from proverbench.ask.replay import ReplayEndpoint
from proverbench.endpoints.base import Answered, Request, Unanswered
from proverbench.endpoints.caller import EndpointCaller
from proverbench.errors import FatalEndpointError, RunMismatchError
from proverbench.records import CallKey, CallLine


class Saved:
    """A run folder with two calls, as far as replay looks into one."""

    def __init__(self, path):
        self.lines = {
            CallKey("policy", "p/1", 2, 0): CallLine(
                role="policy",
                id="p/1",
                sample=2,
                prompt_sha256=hashlib.sha256("Prove é.".encode()).hexdigest(),
                text="a \ufffd b",
                text_b64="YSDtoIAgYg==",
                reasoning="why",
                finish_reason="end_turn",
                usage={"input_tokens": 3, "output_tokens": 4},
                model="claude",
                response_id="msg_1",
            ),
            CallKey("verifier", "p/1", 2, 0): CallLine(role="verifier", id="p/1", sample=2, refused="context_length"),
        }

    def refresh(self):
        pass

    def call(self, key):
        return self.lines.get(key)

    def close(self):
        self.lines = {}


@pytest.fixture
def caller(monkeypatch, tmp_path):
    monkeypatch.setattr("proverbench.ask.replay.RunFolder", Saved)
    return EndpointCaller(ReplayEndpoint(tmp_path), name="old", concurrency=2, max_retries=3, timeout_s=5)


async def _ask(caller, key, prompt="Prove é."):
    await caller.acquire(1)
    return await caller.call(Request(role=key.partition("/")[0], prompt=prompt, key=key))


async def test_the_exact_answer_comes_back(caller):
    outcome = await _ask(caller, "policy/p/1/2/0")
    assert isinstance(outcome, Answered)
    assert outcome.reply.text == "a \ud800 b"
    assert (outcome.reply.reasoning, outcome.reply.finish_reason, outcome.reply.model) == ("why", "end_turn", "claude")
    assert outcome.reply.usage == {"input_tokens": 3, "output_tokens": 4}


async def test_a_refusal_is_a_refusal_again(caller):
    outcome = await _ask(caller, "verifier/p/1/2/0")
    assert outcome.reply.refused == "context_length"


async def test_another_prompt_is_refused_and_named(caller):
    with pytest.raises(FatalEndpointError, match="answered policy/p/1/2/0 to another prompt"):
        await _ask(caller, "policy/p/1/2/0", "Prove è.")


async def test_a_missing_one_is_said_plainly_and_stops_nothing(caller, tmp_path):
    outcome = await _ask(caller, "policy/p/1/3/0")
    assert isinstance(outcome, Unanswered)
    assert outcome.message == f"{tmp_path} holds no answer to policy/p/1/3/0"
    assert (outcome.error_kind, outcome.attempts) == ("not_in_run", 1)


def test_no_run_is_an_error(tmp_path):
    with pytest.raises(RunMismatchError, match="does not exist"):
        ReplayEndpoint(tmp_path / "none")
