"""`run --proofs` with plain texts: how they become steps, and what the dry run says of them."""

import json
from pathlib import Path

import pytest

from tests.support import problem_rows, write_config, write_rows

RUN = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--verifier-repeats", "1")
OWN = """
[protocol]
name = "tagged"
verdict = "label"
prompt = "own.txt"
[protocol.find]
tag = "verification"
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


@pytest.fixture
def inputs(tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(2))
    write_config(tmp_path / "config.toml", server.base_url)
    texts = {"p0": "One.\n\nTwo.\nStill two.", "p1": "Alone."}
    write_rows(tmp_path / "given.jsonl", [{"problem_id": p, "sample": 0, "text": t} for p, t in texts.items()])
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/p0.txt").write_text(texts["p0"])
    (tmp_path / "texts/p0.1.md").write_text("Another.")
    (tmp_path / "texts/p1.tex").write_text("\\begin{document}Alone. % a note\n\\end{document}")
    return tmp_path


def steps_of(run: str) -> list[list[str]]:
    return [json.loads(line)["steps"] for line in Path(run, "records.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("split", "steps"),
    [
        ("paragraphs", [["One.", "Two.\nStill two."], ["Alone."]]),
        ("lines", [["One.", "Two.", "Still two."], ["Alone."]]),
        ("whole", [["One.\n\nTwo.\nStill two."], ["Alone."]]),
    ],
)
def test_texts_become_steps(command, inputs, server, split, steps):
    ended = command(*RUN, "--proofs", "given.jsonl", "--split", split, "--output", "r")
    assert ended.code == 0, ended.err
    assert steps_of("r") == steps
    before = Path("r/records.jsonl").read_bytes()
    assert command("score", "r").code == 0
    assert Path("r/records.jsonl").read_bytes() == before
    assert command("run", "--resume", "r", "--verifier-repeats", "2").code == 0
    assert steps_of("r") == steps


def test_another_split_is_another_run(command, inputs):
    ids = []
    for split in ("paragraphs", "lines"):
        command(*RUN, "--proofs", "given.jsonl", "--split", split, "--output", split)
        ids.append(json.loads(Path(split, "manifest.json").read_bytes())["run_id"])
    assert ids[0] != ids[1]
    write_rows(inputs / "tags.jsonl", [{"problem_id": f"p{i}", "sample": 0, "text": "<step>a</step>"} for i in (0, 1)])
    for name, options in (("plain", ()), ("tags", ("--split", "tags"))):
        command(*RUN, "--proofs", "tags.jsonl", *options, "--output", name)
        ids.append(json.loads(Path(name, "manifest.json").read_bytes())["run_id"])
    assert ids[2] == ids[3]


def test_a_folder_of_texts(command, inputs):
    ended = command(*RUN, "--proofs", "texts", "--split", "paragraphs", "--output", "r")
    assert ended.code == 1, "p1 has no second sample"
    assert steps_of("r") == [["One.", "Two.\nStill two."], ["Another."], ["Alone."], []]
    (inputs / "texts/other.txt").write_text("x")
    (inputs / "texts/p0.1.txt").write_text("x")
    refused = command(*RUN, "--proofs", "texts", "--split", "paragraphs", "--output", "q")
    assert refused.code == 2
    assert "'other' is no problem of the data file" in refused.err
    assert "a second text of 'p0', sample 1" in refused.err


@pytest.mark.parametrize("protocol", [(), ("--protocol", "own.toml", "--no-use-reference-solution")])
def test_the_dry_run_says_what_it_found(command, inputs, server, protocol):
    (inputs / "own.toml").write_text(OWN)
    (inputs / "own.txt").write_text("{problem} {solution}")
    ended = command(*RUN, *protocol, "--proofs", "given.jsonl", "--split", "lines", "--dry-run")
    assert ended.code == 0, ended.err
    assert "given proofs: 2 of 2, of 1 to 3 steps (median 3); 0 invalid" in ended.out
    without = command(*RUN, *protocol, "--proofs", "given.jsonl", "--dry-run")
    assert "given proofs: 2 of 2; 2 invalid" in without.out
    assert "cut texts by --split" in without.out
    assert server.stats()["requests"] == 0


def test_a_split_needs_proofs(command, inputs):
    ended = command(*RUN, "--split", "lines", "--output", "r")
    assert ended.code == 2
    assert "it needs --proofs" in ended.err
