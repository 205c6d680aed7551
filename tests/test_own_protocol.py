"""What docs/own-data.md and docs/protocols.md tell people to do works, word for word."""

import json
import re
import shlex
from pathlib import Path

import pytest

from proverbench.rehearse import ModelReply
from tests.support import ROOT, SHARED, write_config

_FILE = re.compile(r"`([\w.]+\.(?:csv|toml|txt))`[^`]*?:\n\n```\w+\n(.*?)```", re.DOTALL)


def files_and_commands(page: str, server) -> tuple[dict[str, str], list[list[str]]]:
    """The files that a page shows, with the server's address in them, and its first block of commands."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    files = {
        name: content.replace("http://127.0.0.1:8000/v1", server.base_url) for name, content in _FILE.findall(text)
    }
    block = re.search(r"```console\n(.*?)```", text, re.DOTALL)
    assert block is not None
    commands = [shlex.split(line.removeprefix("$ ").removeprefix("proverbench")) for line in block[1].splitlines()]
    return files, commands


def test_from_a_csv_to_a_report_in_five_commands(command, tmp_path, server):
    files, commands = files_and_commands("own-data.md", server)
    assert set(files) == {"graded.csv", "mine.toml", "judge.toml"}
    assert len(commands) == 5
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    said = []
    for arguments in commands:
        ended = command(*arguments)
        assert ended.code == 0, (arguments, ended.err)
        said.append(ended.out)
    assert "4 proofs of 2 problems, 6 steps" in said[0]
    assert "left out: 1 row: have no grade" in said[0]
    rows = [json.loads(line) for line in (tmp_path / "graded.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["grade"] for row in rows] == [6.5, 0, 7, 2]
    metrics = json.loads(Path("runs/judge/summary.json").read_bytes())["splits"]["all"]["metrics"]
    assert metrics["verifier_valid_rate"] == 1
    assert metrics["mae_points"] == pytest.approx(7 * metrics["mae"])
    assert (metrics["correct_proofs"], metrics["incorrect_proofs"]) == (2, 2)
    assert "report.html" in {path.name for path in tmp_path.iterdir()}
    assert "6.5 of 7 points; counts as correct" in command("inspect", "runs/judge", "0").out


def test_a_protocol_of_ones_own(command, tmp_path, server):
    files, commands = files_and_commands("protocols.md", server)
    assert set(files) == {"my.txt", "my.toml"}
    files |= {"judge.toml": files_and_commands("own-data.md", server)[0]["judge.toml"]}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    prompts = []

    def reply(ask, before):
        prompts.append(ask.prompt)
        return ModelReply(content='First.\n{"result": {"score": 8.5, "why": "short"}}')

    server.replies = reply
    checked = command(*commands[0])
    assert checked.code == 0, checked.err
    assert checked.out.count("  example ") == 4
    ended = command(*commands[2])
    assert ended.code == 0, ended.err
    assert ended.err.count("grade 8.5 of 10: accepts") == 5
    assert '{"result": {"score": N, "why": "…"}}' in prompts[0]
    again = command(*commands[1])
    assert again.code == 0
    assert re.search(r"(\d+) of \1 judgments are valid; \1 accept", again.out)


@pytest.mark.shared
def test_imo_proofbench_end_to_end(command, tmp_path, server):
    """60 problems from the released file, a policy, a judge that grades by their schemes, and a page."""
    source = SHARED / "data/graded/imo_proofbench_v2.csv"
    assert command("data", "import", "--format", "imo-proofbench", source, "--output", "imo.jsonl").code == 0
    write_config(tmp_path / "config.toml", server.base_url)
    told = ("--data", "imo.jsonl", "--config", "config.toml", "--protocol", "grade-0-7", "--verifier-repeats", "2")
    ended = command("run", *told, "--output", "r")
    assert ended.code == 0, ended.err
    summary = json.loads(Path("r/summary.json").read_bytes())
    assert {name: split["selected_rows"] for name, split in summary["splits"].items()} == {
        "all": 60, "ugd": 0, "qe": 0, "imo-advanced": 30, "imo-basic": 30,
    }  # fmt: skip
    records = [json.loads(line) for line in Path("r/records.jsonl").read_text().splitlines()]
    grades = [[judgment["grade"] for judgment in record["judgments"]] for record in records]
    metrics = summary["splits"]["all"]["metrics"]
    assert metrics["mean_grade"] == pytest.approx(sum(map(sum, grades)) / 120 / 7, abs=1e-12)
    assert metrics["pessimistic"] == sum(min(pair) >= 6 for pair in grades) / 60
    judged = [received.body for received in server.log if b"<points>" in received.body]
    assert len(judged) == 120
    assert sum(b"(Partial)" in body for body in judged) > 100
    written = [received.body for received in server.log if b"<points>" not in received.body]
    assert not any(b"(Partial)" in body for body in written), "the policy never sees a marking scheme"
    assert command("report", "r", "-o", "imo.html").code == 0


@pytest.mark.shared
def test_proofs_of_imo_proofbench_with_an_experts_grades(command, tmp_path, server):
    data = SHARED / "data/graded/imo_proofbench_graded.jsonl"
    write_config(tmp_path / "config.toml", server.base_url)
    told = ("--data", data, "--config", "config.toml", "--protocol", "grade-0-7", "--domain", "imo-advanced")
    ended = command("verify", *told, "--output", "v")
    assert ended.code == 0, ended.err
    metrics = json.loads(Path("v/summary.json").read_bytes())["splits"]["all"]["metrics"]
    assert metrics["correct_proofs"] + metrics["incorrect_proofs"] == metrics["proofs"] == 30
    assert metrics["first_error_step_accuracy"] is None
    assert 0 <= metrics["mae"] <= 1
