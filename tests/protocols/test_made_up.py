"""A protocol is one value: made-up ones work from prompt to page, with nothing else naming them."""

import json
import re
import shutil

import pytest

from proverbench.errors import InvalidReply
from proverbench.protocols import registry
from proverbench.protocols.basic_v1 import parse_steps, read_steps
from proverbench.protocols.protocol import Protocol, Slots
from proverbench.records import Verdict
from proverbench.rehearse import ModelReply
from tests.support import problem_rows, proof_rows, write_config, write_rows

POLICY = Slots(names=("problem",), required=("problem",), own="generation.txt")
JUDGE = Slots(names=("statement", "problem", "human_solution", "solution"), required=("problem", "solution"), own=None)


def _ruling(text: str, n_steps: int) -> Verdict:
    found = re.findall(r"\[(guilty|free)\]", text)
    if len(found) != 1:
        raise InvalidReply("no_ruling")
    return Verdict(None, text, "", label="accept" if found[0] == "free" else "reject")


def _verse(text: str, n_steps: int) -> Verdict:
    found = re.search(r"verse (\d+|none)", text)
    if found is None:
        raise InvalidReply("no_verse")
    return Verdict(-1 if found[1] == "none" else int(found[1]) - 1, text, "")


def _protocol(name, verdict, read, layout, tags):
    return Protocol(
        name=name,
        slots={"policy": POLICY, "verifier": JUDGE},
        verdict=verdict,
        read_proof=lambda text, strip: parse_steps(text, strip_start=strip),
        readable_steps=lambda text, strip: read_steps(text, strip_start=strip),
        read_judgment=read,
        accepts=lambda said: said.label == "accept" or said.first_error_step == -1,
        reasons={"no_ruling": "There is no ruling.", "no_verse": "There is no verse."},
        layout=layout,
        tags=tags,
    )


COURT = _protocol("court-1", "label", _ruling, lambda steps: " / ".join(steps), ("gavel",))
CHOIR = _protocol("choir-1", "first-error-step", _verse, lambda steps: "\n".join(steps), ("verse",))
ANSWERS = {
    "court-1": ("[free]", "[guilty]", "no idea"),
    "choir-1": ("verse none", "verse 1", "silence"),
}


@pytest.fixture(params=[COURT, CHOIR], ids=lambda protocol: protocol.name)
def made_up(request, monkeypatch, tmp_path, server):
    monkeypatch.setattr(registry, "PROTOCOLS", (*registry.PROTOCOLS, request.param))
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    rows = proof_rows(6)
    rows[0]["steps"] = ["First <gavel> and <verse>."]
    write_rows(tmp_path / "proofs.jsonl", rows)
    (tmp_path / "judge.txt").write_text("Of {problem}, judge: {solution}")
    write_config(tmp_path / "config.toml", server.base_url, concurrency=1)
    answers = ANSWERS[request.param.name]

    def reply(ask, before):
        number = int(re.search(r"statement number (\d)", ask.prompt)[1])
        content = "<step>So.</step>" if "judge:" not in ask.prompt else answers[number % 3]
        return ModelReply(content=content)

    server.replies = reply
    return request.param


COMMON = ("--config", "config.toml", "--verifier-prompt", "judge.txt", "--verifier-repeats", "2")
COMMON += ("--no-use-reference-solution",)


def _prompts(server):
    return [received.ask.prompt for received in server.received if "judge:" in received.ask.prompt]


def test_made_up_protocols_end_to_end(command, made_up, tmp_path):
    named = (*COMMON, "--protocol", made_up.name)
    for name in ("a", "b"):
        ended = command("run", "--data", "problems.jsonl", *named, "--output", name)
        assert ended.code == 0, ended.err
    ended = command("verify", "--data", "proofs.jsonl", *named, "--output", "v")
    assert ended.code == 0, ended.err
    summary = json.loads((tmp_path / "a" / "summary.json").read_bytes())
    assert summary["protocol"] == made_up.name
    assert summary["splits"]["all"]["metrics"]["pessimistic"] == pytest.approx(2 / 6)
    assert summary["invalid"]["verifier"] == {("no_ruling" if made_up is COURT else "no_verse"): 4}
    judged = json.loads((tmp_path / "v" / "summary.json").read_bytes())["splits"]["all"]["metrics"]
    assert judged["rough_tpr"] == pytest.approx(1 / 3)  # of 0, 2, 4, which are right, 0 is accepted and 2 unreadable
    assert judged["rough_tnr"] == pytest.approx(1 / 3)
    records = [json.loads(line) for line in (tmp_path / "v" / "records.jsonl").read_text().splitlines()]
    assert records[0]["neutralised"] == 1  # its own tag, not the other's
    assert ("accepts" in records[0]["judgments"][0]) == (made_up is COURT)
    shutil.copytree(tmp_path / "v", tmp_path / "before")
    assert command("score", "v").code == 0
    for name in ("records.jsonl", "summary.json"):
        assert (tmp_path / "v" / name).read_bytes() == (tmp_path / "before" / name).read_bytes()
    assert made_up.name in command("inspect", "a").out
    assert command("inspect", "v", "v1").code == 0
    assert command("compare", "a", "b").code == 0
    assert command("report", "a", "v", "-o", "page.html").code == 0
    assert command("export", "a", "v", "--to", "csv", "-o", "tables").code == 0


def test_another_protocol_cannot_continue_a_run(command, made_up):
    named = ("run", "--data", "problems.jsonl", *COMMON, "--protocol", made_up.name, "--output", "a")
    assert command(*named).code == 0
    ended = command("run", "--resume", "a", "--protocol", "basic-v1", "--verifier-repeats", "3")
    assert ended.code == 2
    assert "protocol: the run has" in ended.err


def test_runs_of_different_protocols_are_not_compared(command, made_up):
    assert command("run", "--data", "problems.jsonl", *COMMON, "--protocol", made_up.name, "--output", "a").code == 0
    command("run", "--data", "problems.jsonl", *COMMON, "--output", "b")  # by whose rules every judgment is invalid
    assert command("compare", "a", "b").code != 0


def test_a_run_of_a_protocol_that_is_not_known_is_refused(command, made_up, monkeypatch):
    assert command("run", "--data", "problems.jsonl", *COMMON, "--protocol", made_up.name, "--output", "a").code == 0
    monkeypatch.setattr(registry, "PROTOCOLS", registry.PROTOCOLS[:-1])
    ended = command("score", "a")
    assert ended.code == 2
    assert f"protocol '{made_up.name}', which this version does not know" in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--protocol", "basic-v2"), "no protocol is called 'basic-v2'; did you mean 'basic-v1'?"),
        (("--protocol", "court-1", "--meta"), "protocol 'court-1' has no meta"),
        (("--protocol", "court-1"), "protocol court-1 has no verifier prompt of its own; give yours"),
    ],
    ids=["unknown", "meta", "prompt"],
)
def test_what_a_protocol_lacks_is_told_before_any_call(command, monkeypatch, tmp_path, options, said):
    monkeypatch.setattr(registry, "PROTOCOLS", (*registry.PROTOCOLS, COURT))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(2))
    write_config(tmp_path / "config.toml", "http://127.0.0.1:9/v1")
    ended = command("verify", "--data", "proofs.jsonl", "--config", "config.toml", *options, "--output", "r")
    assert ended.code == 2
    assert said in ended.err
    assert not (tmp_path / "r").exists()
