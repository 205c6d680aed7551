"""`proverbench protocol check`: what examples read, and what a saved run's replies would give."""

import json
import re
from pathlib import Path

import pytest

from tests.support import ROOT

FILE = r"""
[protocol]
name = "tag-index"
verdict = "first-error-step"
prompt = "my.txt"
[protocol.find]
tag = "first_error_step"
[[protocol.example]]
reply = "<first_error_step>0</first_error_step>"
expect = 0
[[protocol.example]]
reply = "0"
expect_reason = "missing:value"
"""


@pytest.fixture
def declared(tmp_path):
    (tmp_path / "my.toml").write_text(FILE)
    (tmp_path / "my.txt").write_text("{problem} {solution}")
    return tmp_path


def test_every_example_is_shown(command, declared):
    ended = command("protocol", "check", "my.toml")
    assert (ended.code, ended.err) == (0, "")
    assert "example 1" in ended.out
    assert "read 0.0" in ended.out
    assert "read missing:value" in ended.out


def test_what_is_read_otherwise_is_a_fault_and_the_others_are_shown(command, declared):
    (declared / "my.toml").write_text(FILE.replace("expect = 0", "expect = 3\nn = 2"))
    ended = command("protocol", "check", "my.toml")
    assert ended.code == 2
    assert "read 0.0, but the file expects 3.0" in ended.out
    assert "read missing:value\n" in ended.out
    assert "my.toml: protocol.example 1: read 0.0" in ended.err


def test_a_prompt_without_its_slots_is_a_fault(command, declared):
    (declared / "my.txt").write_text("{problem}")
    ended = command("protocol", "check", "my.toml")
    assert ended.code == 2
    assert "{solution}" in ended.err
    (declared / "my.txt").unlink()
    assert command("protocol", "check", "my.toml").code == 2


def test_a_saved_runs_replies_are_counted(command, declared):
    run = ROOT / "runs/demo-verifier"
    ended = command("protocol", "check", "my.toml", "--run", run, "--json")
    assert ended.code == 0
    told = json.loads(ended.out)["judgments"]
    lines = [json.loads(line) for line in (run / "calls.jsonl").read_text().splitlines()]
    texts = [line["text"] for line in lines if line["type"] == "call" and line["role"] == "verifier"]
    assert told["read"] == len(texts)
    said = [re.findall(r"<first_error_step>\s*(-?\d+)\s*</first_error_step>", text) for text in texts]
    one = [found[0] for found in said if len(found) == 1]
    assert told["accepts"] == sum(value == "-1" for value in one if told["valid"])
    assert told["valid"] + sum(told["invalid"].values()) == told["read"]
    assert sum(told["values"].values()) == told["valid"] > 0
    shown = command("protocol", "check", "my.toml", "--run", run).out
    assert f"{told['valid']} of {told['read']} judgments are valid; {told['accepts']} accept" in shown


def test_a_shipped_one_may_be_tried_too(command, tmp_path):
    before = sorted(Path(ROOT / "runs/demo-verifier").iterdir())
    ended = command("protocol", "check", "grade-0-7", "--run", ROOT / "runs/demo-verifier")
    assert ended.code == 0
    assert "a grade up to 7 by 1; a proof is accepted from 6" in ended.out
    assert "invalid, missing:points" in ended.out
    assert sorted(Path(ROOT / "runs/demo-verifier").iterdir()) == before


def test_no_such_protocol(command, tmp_path):
    assert "did you mean 'score-3'?" in command("protocol", "check", "score-4").err
    assert "cannot be read" in command("protocol", "check", "absent.toml").err
