"""Runs of the published evaluator whose replies are laid out as models write them: imported, replayed, compared.

Every prompt's hash, every value and every figure is that evaluator's (the README of the folder).
"""

import hashlib
import json
from contextlib import closing
from pathlib import Path

import pytest

from proverbench.records import CallKey
from proverbench.run.folder import RunFolder
from proverbench.run.sources import Sources
from tests.support import SHARED

FORMATTED = SHARED / "data" / "published-run" / "formatted"
EXPECTED = json.loads((FORMATTED / "expected.json").read_bytes())["runs"]
RUNS = pytest.mark.parametrize("name", EXPECTED)


def import_run(command, name: str) -> Path:
    data = FORMATTED / f"{name}.data.jsonl"
    source = FORMATTED / name
    ended = command("data", "import", "--format", "published", source, "--data", data, "--output", "imported")
    assert ended.code == 0, ended.err
    return Path("imported")


def replay(command, name: str, *more: str) -> Path:
    """The imported run asked again, by kind ``replay`` for every role."""
    wanted = EXPECTED[name]
    roles = [call["role"] for call in wanted["calls"]]
    config = "".join(f'[{role}]\nkind = "replay"\nrun = "imported"\n' for role in dict.fromkeys(roles))
    Path("replay.toml").write_text(config)
    words = ["run" if wanted["task"] == "prover" else "verify", "--config", "replay.toml"]
    words += ["--data", str(FORMATTED / f"{name}.data.jsonl"), "--verifier-repeats", str(wanted["verifier_repeats"])]
    if wanted["task"] == "prover":
        words += ["--samples", str(wanted["samples"])]
    words += ["--meta"] if wanted["meta"] else []
    words.append("--use-reference-solution" if wanted["use_reference_solution"] else "--no-use-reference-solution")
    options = {"policy": "--generation-prompt", "verifier": "--verifier-prompt", "meta": "--meta-prompt"}
    for role, path in wanted["prompts"].items():
        words += [options[role], str(FORMATTED / path)]
    ended = command(*words, "--no-neutralise", "--output", "replayed", *more)
    assert ended.code == 0, ended.err
    return Path("replayed")


def check_values(folder: Path, name: str) -> None:
    """What was read of every reply, and every figure, is the published evaluator's."""
    with closing(RunFolder(folder)) as run:
        for call in EXPECTED[name]["calls"]:
            record = run.record(call["id"], call["sample"])
            assert record is not None
            if call["role"] == "policy":
                assert (record.generation_error is None) == call["valid"], call
                if call["valid"]:
                    assert record.steps == call["value"]
                continue
            judgment = record.judgments[call["repeat"]]
            if call["role"] == "verifier":
                found = (judgment.assessment, judgment.errors, judgment.first_error_step) if judgment.valid else None
                assert found == (tuple(call["value"].values()) if call["valid"] else None), call
            else:
                assert judgment.meta is not None
                assert judgment.meta.level == call["value"], call
        summary = run.summary()
    for split, metrics in EXPECTED[name]["metrics"].items():
        assert summary.splits[split].metrics == pytest.approx(metrics, abs=1e-12)
    assert summary.complete


@RUNS
def test_an_import_has_its_values_and_figures(command, name):
    check_values(import_run(command, name), name)


@RUNS
def test_a_replay_asks_what_was_asked(command, name):
    import_run(command, name)
    folder = replay(command, name)
    wanted = {(c["role"], c["id"], c["sample"], c["repeat"]): c["prompt_sha256"] for c in EXPECTED[name]["calls"]}
    with closing(RunFolder(folder)) as run:
        asked = {(c.role, c.id, c.sample, c.repeat): c.prompt_sha256 for c in run.calls()}
        assert asked == wanted
        for key in wanted:
            assert hashlib.sha256(run.prompt(CallKey(*key)).encode()).hexdigest() == wanted[key]
    check_values(folder, name)


def test_an_import_by_the_older_rule_is_not_replayed(command):
    folder = import_run(command, "prover")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format_version": 1}))
    assert "import the run again" in command("score", folder).out
    Path("replay.toml").write_text(
        '[policy]\nkind = "replay"\nrun = "imported"\n[verifier]\nkind = "replay"\nrun = "imported"\n'
    )
    data = FORMATTED / "prover.data.jsonl"
    ended = command("run", "--data", data, "--config", "replay.toml", "--output", "replayed")
    assert ended.code == 2
    assert "import it again" in ended.err
    with closing(Sources(folder)) as sources:
        assert sources.manifest.format_version == 1
