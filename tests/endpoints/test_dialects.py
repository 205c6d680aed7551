"""Replies in the shapes of real servers: what must come of each, over real HTTP, directly and in batches."""

import json
import re
import time
from pathlib import Path

import pytest

from proverbench.endpoints.base import Priority, Request
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.inputs.config_file import load_config
from proverbench.rehearse import Play, Profile, RehearseServer
from proverbench.rehearse.dialects import dialects, event_bytes
from proverbench.rehearse.plays import answer
from tests.support import SHARED, proof_rows, write_rows

VECTORS = SHARED / "vectors" / "dialects.json"
FOUND = json.loads(VECTORS.read_bytes()) if VECTORS.exists() else {"vectors": [], "environment": []}
TEXT = "<assessment>ok</assessment><errors></errors><first_error_step>-1</first_error_step>"


def play(vector):
    """A vector's reply, as it goes over the wire."""
    reply = vector["reply"]
    now = time.time()
    headers = {
        name: re.sub(r"\{now\+(\d+)\}", lambda found: f"{now + int(found[1]):.0f}", value)
        for name, value in reply.get("headers", {}).items()
    }
    if "events" in reply:
        body = b"".join(event_bytes(event, vector["kind"]) for event in reply["events"])
    else:
        body = reply["text"].encode() if "text" in reply else json.dumps(reply["body"]).encode()
    return Play(status=reply["status"], headers=headers, body=body)


def write_config(path, server, vector, *, retries=0, **generation):
    kind = vector["kind"]
    limits = {"max_tokens": 2000, **vector.get("request", {}).get("generation", {}), **generation}
    lines = [
        "[endpoint.e]",
        f'kind = "{kind}"',
        f'base_url = "{server.base_url if kind == "openai" else server.origin}"',
        f"max_retries = {retries}",
        f"stream = {str(vector['stream']).lower()}",
        "prices = { input = 1.0, output = 10.0 }",
        "[verifier]",
        'model = "m"',
        'endpoint = "e"',
        f"generation = {{ {', '.join(f'{name} = {value}' for name, value in limits.items())} }}",
    ]
    path.write_text("\n".join(lines))


def write_proofs(path, n, characters=0):
    rows = proof_rows(n)
    for row in rows:
        if characters:
            row["steps"] = ["First.", "x" * characters, "Third."]
    write_rows(path, rows)


@pytest.fixture
def ask(command, tmp_path, server):
    """``ask(vector, rows=1)`` runs a verifier against a server that answers so, and tells what came of it."""

    def run(vector, *arguments, rows=1, script=True):
        write_proofs(tmp_path / "rows.jsonl", rows, vector.get("request", {}).get("prompt_characters", 0))
        write_config(tmp_path / "config.toml", server, vector)
        if script:
            server.script = lambda received: play(vector) if received.ask is not None else None
        ended = command("verify", "--data", "rows.jsonl", "--config", "config.toml", "--output", "r", *arguments)
        return Came(ended, Path("r"))

    return run


class Came:
    """A run's end and folder."""

    def __init__(self, ended, folder):
        self.ended, self.folder = ended, folder
        self.said = f"{ended.out}\n{ended.err}".lower().replace(",", "")

    def lines(self, kind):
        read = (json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines())
        return [line for line in read if line["type"] == kind]

    def file(self, name):
        return json.loads((self.folder / name).read_bytes())

    @property
    def records(self):
        return [json.loads(line) for line in (self.folder / "records.jsonl").read_text().splitlines()]

    def says(self, texts):
        lacking = [text for text in texts if text.lower().replace(",", "") not in self.said]
        assert not lacking, (lacking, self.ended.err)


def check_usage(came, wanted):
    usage, timing = came.file("summary.json")["usage"]["verifier"], came.file("timing.json")["roles"]["verifier"]
    if wanted is None:
        assert usage["calls_of_unknown_usage"] == 1
        assert timing["cost_is_at_least"]
        return
    counts = {
        "input": usage["input"],
        "output": usage["output"],
        "cached": usage["cached_input"],
        "reasoning": usage["reasoning"],
    }
    assert counts == {name: wanted[name] for name in counts}
    assert timing["cost_is_at_least"] is not wanted["known"]
    assert usage["calls_of_unknown_usage"] == (0 if wanted["known"] else 1)
    # 1 dollar for a million tokens of input, 10 of output.
    assert timing["cost_usd"] == pytest.approx((wanted["input"] + 10 * wanted["output"]) / 1e6)


def check_spent(came, wanted):
    timing = came.file("timing.json")["roles"]["verifier"]
    assert came.file("summary.json")["usage"] == {}, "what is no answer is not in the summary"
    (attempt,) = (line for line in came.lines("attempt") if line["attempts"] == 0)
    assert attempt["error"].startswith("server_ended:")
    assert attempt["text_chars"] > 0
    assert timing["cost_is_at_least"] is (wanted is None or not wanted["known"])
    if wanted is not None:
        assert timing["cost_usd"] == pytest.approx((wanted["input"] + 10 * wanted["output"]) / 1e6)


def check(came, expect):
    """Compare what came of one reply with what a vector expects."""
    outcome = expect["outcome"]
    if outcome in ("answered", "answered-invalid", "refused"):
        (call,) = came.lines("call")
        (judgment,) = came.records[0]["judgments"]
        assert came.ended.code == 0, came.ended.err
        assert judgment["valid"] is (outcome == "answered")
        if outcome != "answered":
            assert judgment["reason"] == expect["reason"]
        if "text" in expect:
            assert call["text"] == expect["text"]
        if "finish" in expect:
            assert call["finish_reason"] == expect["finish"]
        if "reasoning" in expect:
            assert call["reasoning"] == expect["reasoning"]
        if "usage" in expect:
            check_usage(came, expect["usage"])
    else:
        assert came.lines("call") == []
        assert came.ended.code == 1
        assert came.file("summary.json")["complete"] is False
    if outcome == "unanswered-retry":
        assert "fatal" not in came.lines("session")[-1]["reason"]
        assert len([line for line in came.lines("attempt") if line["attempts"]]) == 1
        if "spent" in expect:
            check_spent(came, expect["spent"])
    if outcome in ("fatal", "failed"):  # a call that cannot be answered stops a role that has no answer
        assert "fatal" in came.lines("session")[-1]["reason"]
    for texts in expect.get("notes", []):
        came.says(texts)
        (_note,) = (
            line
            for line in came.ended.err.lower().replace(",", "").splitlines()
            if all(text.lower().replace(",", "") in line for text in texts)
        )
    came.says(expect.get("says", []))
    for text in expect.get("says_not", []):
        assert text.lower() not in came.said


def named(vectors):
    return [pytest.param(vector, id=vector["id"]) for vector in vectors]


if FOUND["vectors"]:

    @pytest.mark.parametrize("vector", named(FOUND["vectors"]))
    def test_vector(ask, server, vector):
        came = ask(vector)
        # The template adds to the characters of the proof, which are the vector's.
        characters = len(server.log[0].ask.prompt)
        notes = [[t.replace("62,000", f"{characters:,}") for t in ts] for ts in vector["expect"].get("notes", [])]
        check(came, {**vector["expect"], "notes": notes})
        assert len(server.log) == (2 if "or" in vector["expect"] else 1)

    @pytest.mark.parametrize("vector", named(v for v in FOUND["vectors"] if "systematic" in v["expect"]))
    @pytest.mark.parametrize("rows", [8, 24])
    def test_every_call_gets_this_reply(ask, vector, rows):
        came = ask(vector, "--concurrency", "1", rows=rows)
        wanted = vector["expect"]["systematic"]
        assert came.ended.code == wanted["exit"]
        last = came.ended.err.lower().replace(",", "").splitlines()[-1]
        assert all(text.lower() in last for text in wanted["says"])
        assert came.lines("session")[-1]["reason"].startswith("systematic: verifier: ")
        invalid = vector["expect"]["outcome"] == "answered-invalid"
        assert len(came.lines("call")) == (8 if rows == 8 else 20 if invalid else 8)

    @pytest.mark.parametrize("vector", named(v for v in FOUND["vectors"] if "wait_s" in v["expect"]))
    async def test_the_wait_that_a_retry_respects(tmp_path, vector):
        async with RehearseServer(script=[play(vector), answer(TEXT)]) as server:
            write_config(tmp_path / "config.toml", server, vector, retries=1)
            naps = await naps_of(tmp_path / "config.toml")
        wanted = vector["expect"]["wait_s"]
        assert len(naps) == 1
        # Without jitter the wait is the hint; jitter adds up to a quarter of it and a second.
        assert (wanted or 0) <= naps[0] <= 1.25 * (wanted or 0) + 1.0

    @pytest.mark.parametrize("vector", named(v for v in FOUND["vectors"] if "pause_s" in v["expect"]))
    async def test_the_pause_before_the_next_request(tmp_path, vector):
        async with RehearseServer(script=[play(vector)]) as server:
            write_config(tmp_path / "config.toml", server, vector)
            callers = await open_callers(load_config(tmp_path / "config.toml"), ["verifier"])
            caller = callers["verifier"]
            await caller.acquire(Priority.VERIFIER)
            await caller.call(Request("verifier", "x", "verifier/v0/0/0"))
            paused_s = caller.state.paused_until - time.monotonic()
            await close_callers(callers)
        assert paused_s == pytest.approx(vector["expect"]["pause_s"], abs=1.0)


async def naps_of(config):
    """How long a call waits for its second attempt."""
    callers = await open_callers(load_config(config), ["verifier"])
    naps = []

    async def nap(seconds):
        naps.append(seconds)

    caller = callers["verifier"]
    caller._sleep = nap
    await caller.acquire(Priority.VERIFIER)
    await caller.call(Request("verifier", "x", "verifier/v0/0/0"))
    await close_callers(callers)
    return naps


OUTCOMES = {
    "normal": "answered",
    "usage": "answered",
    "truncated": "answered",
    "model-ended": "answered-invalid",
    "server-ended": "unanswered-retry",
    "limit": "refused",
    "rate": "unanswered-retry",
    "money": "fatal",
    "refusal": "refused",
    "parameter": "failed",
}
OTHER = {"groq_request_above_the_minute": "failed", "reset_header_is_a_date": "answered"}
NOTES = {
    "eos_for_a_normal_end": [["eos_token"]],
    "empty_stop": [["empty reply"]],
    "vllm_prompt_plus_limit": [["32,768"]],
}
"""Remarks, directly and in batches."""
REASONS = {"empty_stop": "empty_final_answer"}


@pytest.mark.parametrize("dialect", [pytest.param(d, id=name) for name, d in dialects().items()])
@pytest.mark.parametrize("batch", [False, True], ids=["direct", "batch"])
def test_a_rehearsed_dialect(ask, server, dialect, batch):
    if batch and dialect.streams:
        return  # there are no streams in batches
    server.profile = Profile(dialect=dialect)
    vector = {"kind": dialect.kind, "stream": dialect.streams}
    if dialect.max_tokens:
        vector["request"] = {"generation": {"max_tokens": dialect.max_tokens}}
    came = ask(vector, *(["--batch", "all"] if batch else []), script=False)
    outcome = OTHER.get(dialect.name, OUTCOMES[dialect.about])
    reason = "refused:context_length" if dialect.about == "limit" else "refused:content_policy"
    if outcome == "answered-invalid":
        reason = REASONS.get(dialect.name, "non_stop_finish")
    if batch and dialect.name == "anthropic_cache_mark_refused":
        outcome = "unanswered-retry"  # asked again without the mark, if retries were allowed
    check(came, {"outcome": outcome, "reason": reason, "notes": NOTES.get(dialect.name, [])})
