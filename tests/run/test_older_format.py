"""Runs of format version 1, which kept white space at the start of a step, keep their rule wherever they go."""

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest

from proverbench import load_problems, run_prover
from proverbench.rehearse import GeneratedReplies
from proverbench.rehearse.plays import ModelReply
from proverbench.run.folder import RunFolder
from tests.support import every, problem_rows, write_config, write_rows

RUN = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "2")


@pytest.fixture
def inputs(tmp_path, server):
    """Data, a config, and a model that writes a line end after each opening tag."""
    generated = GeneratedReplies(vary="seed")

    def replies(ask, before):
        reply = generated(ask, before)
        text = reply.content.replace("<step>", "<step>\n  ") if reply.content else reply.content
        return ModelReply(content=text, finish_reason=reply.finish_reason)

    server.replies = replies
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


@pytest.fixture
def older(command, inputs, monkeypatch) -> Path:
    """A run as the older version made it."""
    with monkeypatch.context() as patch:
        patch.setattr("proverbench.ask.parts.FORMAT_VERSION", 1)
        assert command(*RUN, "--output", "old").code == 0
    assert json.loads(Path("old/manifest.json").read_bytes())["format_version"] == 1
    return Path("old")


def steps_of(folder: Path) -> list[str]:
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    return [step for record in records for step in record["steps"]]


def prompts_of(folder: Path) -> dict[str, str]:
    """Of every call, the hash of its prompt; that it is the one that the folder makes, is checked."""
    with closing(RunFolder(folder)) as run:
        lines = list(run.calls())
        for line in lines:
            run.prompt(line.key)
        return {line.key.text: line.prompt_sha256 for line in lines}


def test_it_is_scored_as_it_was_and_says_so(command, older):
    before = (older / "records.jsonl").read_bytes(), (older / "summary.json").read_bytes()
    ended = command("score", older)
    assert ended.code == 0
    assert "format version 1: white space at the start of a step is kept" in ended.out
    assert before == ((older / "records.jsonl").read_bytes(), (older / "summary.json").read_bytes())
    assert all(step.startswith("\n  ") for step in steps_of(older))
    command(*RUN, "--output", "new")
    assert "format version" not in command("score", "new").out
    assert all(step == step.strip() for step in steps_of(Path("new")))


def test_growing_asks_by_its_rule(command, older):
    assert command("run", "--resume", older, "--verifier-repeats", "3").code == 0
    prompts = prompts_of(older)
    for key, prompt in every(prompts.items()):
        role, item, sample, repeat = key.split("/")
        if role == "verifier" and repeat == "2":
            assert prompt == prompts[f"{role}/{item}/{sample}/0"]
    assert json.loads((older / "manifest.json").read_bytes())["format_version"] == 1


def test_python_continues_it_by_its_rule(command, older, server):
    async def grown() -> list:
        problems = load_problems("problems.jsonl").rows
        wanted = {"samples": 2, "verifier_repeats": 3, "folder": older}
        return [record async for record in run_prover(problems, Path("config.toml"), **wanted)]

    records = asyncio.run(grown())
    assert all(step.startswith("\n  ") for record in every(records) for step in record.steps)
    assert json.loads((older / "manifest.json").read_bytes())["format_version"] == 1
    prompts_of(older)


def test_given_steps_go_out_as_they_are(command, inputs):
    write_rows(inputs / "given.jsonl", [{"problem_id": "p0", "sample": 0, "steps": ["\n  Let $n=1$. \n"]}])
    words = ("--limit", "1", "--proofs", "given.jsonl", "--verifier-repeats", "1", "--output", "given")
    assert command("run", "--data", "problems.jsonl", "--config", "config.toml", *words).code == 0
    shown = json.loads(command("inspect", "given", "--call", "verifier/p0/0/0", "--json").out)["prompt"]
    assert "<step0>\n\n\n  Let $n=1$. \n\n\n</step0>" in shown


def test_a_replay_of_it_asks_what_it_asked(command, older):
    Path("replay.toml").write_text('[policy]\nkind = "replay"\nrun = "old"\n[verifier]\nkind = "replay"\nrun = "old"\n')
    assert command(*RUN[:4], "replay.toml", *RUN[5:], "--output", "again").code == 0
    assert prompts_of(Path("again")) == prompts_of(older)
    assert (older / "summary.json").read_bytes() == Path("again/summary.json").read_bytes()


def test_proofs_of_it_are_judged_anew_as_they_were(command, older, server):
    judge = f'[verifier]\nmodel = "another"\nbase_url = "{server.base_url}"\n'
    Path("replay.toml").write_text(f'[policy]\nkind = "replay"\nrun = "old"\n{judge}')
    assert command(*RUN[:4], "replay.toml", *RUN[5:], "--output", "again").code == 0
    assert steps_of(Path("again")) == steps_of(older)


def test_comparing_it_with_a_newer_one_warns(command, older):
    assert command(*RUN, "--output", "new").code == 0
    ended = command("compare", "old", "new")
    assert ended.code == 0
    assert "warning: steps (old: white space kept at the start; new: stripped on both sides)" in ended.out


def test_shards_of_two_versions_are_not_joined(command, inputs, monkeypatch):
    assert command(*RUN, "--shard", "1/2", "--output", "s1").code == 0
    monkeypatch.setattr("proverbench.ask.parts.FORMAT_VERSION", 1)
    assert command(*RUN, "--shard", "2/2", "--output", "s2").code == 0
    ended = command("merge", "s1", "s2", "--output", "whole")
    assert ended.code == 2
    assert "format_version" in ended.err


def test_a_prompt_that_was_not_sent_is_not_shown(command, older):
    manifest = json.loads((older / "manifest.json").read_bytes())
    assert command("inspect", older, "--call", "verifier/p0/0/0").out.count("<step0>")
    (older / "manifest.json").write_text(json.dumps(manifest | {"format_version": 2}))
    shown = command("inspect", older, "--call", "verifier/p0/0/0").out
    assert "is not the one that this folder makes" in " ".join(shown.split())
    assert "<step0>" not in shown
    answer = json.loads(command("inspect", older, "--call", "verifier/p0/0/0", "--json").out)
    assert answer["prompt"] is None
    assert "is not the one that this folder makes" in answer["prompt_unknown"]


class TestWhatIsOpened:
    @pytest.mark.parametrize("words", ["score r", "inspect r", "export r --to csv", "report r", "analyse r"])
    def test_an_unknown_protocol_is_refused(self, command, inputs, words):
        command(*RUN, "--output", "r")
        manifest = json.loads(Path("r/manifest.json").read_bytes())
        manifest["identity"]["protocol"] = "basic-v2"
        Path("r/manifest.json").write_text(json.dumps(manifest))
        ended = command(*words.split())
        assert ended.code == 2
        assert "protocol 'basic-v2', which this version does not know; did you mean 'basic-v1'?" in ended.err

    @pytest.mark.parametrize(
        ("part", "field", "value"),
        [
            ("extent", "verifier_repeats", 1),
            ("identity", "neutralise", False),
            ("identity", "correct_from", 6),
            ("extent", "looks", 3),
        ],
    )
    def test_a_run_id_of_something_else_is_refused(self, command, inputs, part, field, value):
        command(*RUN, "--output", "r")
        manifest = json.loads(Path("r/manifest.json").read_bytes())
        manifest[part][field] = value
        Path("r/manifest.json").write_text(json.dumps(manifest))
        ended = command("score", "r")
        assert ended.code == 1
        assert "run_id is" in ended.err

    def test_how_the_manifest_is_written_does_not_matter(self, command, inputs):
        command(*RUN, "--output", "r")
        manifest = json.loads(Path("r/manifest.json").read_bytes())
        Path("r/manifest.json").write_text(json.dumps(manifest, sort_keys=True, indent=7))
        assert command("score", "r").code == 0
