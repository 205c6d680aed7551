"""Damage of a saved run through the commands: named, nothing overwritten, nothing bought again."""

import json
from pathlib import Path

import pytest

from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS, SEAL
from proverbench.run.journal import Journal
from tests.support import proof_rows, write_config, write_rows


@pytest.fixture
def run(command, tmp_path, server):
    write_rows(tmp_path / "proofs.jsonl", proof_rows(6))
    write_config(tmp_path / "config.toml", server.base_url)
    done = command("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--output", "r")
    assert done.code == 0, done.err
    return Path("r")


def _contents(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def _change_text(lines: list[bytes]) -> list[bytes]:
    changed = [line.replace(b"<first_error_step>-1", b"<first_error_step>-0", 1) for line in lines]
    return changed if changed != lines else [line.replace(b'"stop"', b'"stpo"', 1) for line in lines]


DAMAGES = {
    "changed": _change_text,
    "removed": lambda lines: lines[:2] + lines[3:],
    "repeated": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "swapped": lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
    "cut": lambda lines: lines[:4],
    "no-json": lambda lines: [*lines[:2], b"x" + lines[2], *lines[3:]],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("arguments", [("score", "r"), ("verify", "--resume", "r"), ("report", "r", "-o", "p.html")])
def test_damage_is_named_and_changes_nothing(run, command, server, damage, arguments):
    lines = (run / CALLS).read_bytes().splitlines()
    (run / CALLS).write_bytes(b"".join(line + b"\n" for line in damage(lines)))
    before, asked = _contents(run), server.stats()["requests"]
    ended = command(*arguments)
    assert ended.code not in (0, 130)
    assert "is not what was written" in ended.err
    assert f"{CALLS}:" in ended.err
    assert "--accept-loss" in ended.err
    assert (_contents(run), server.stats()["requests"]) == (before, asked)
    checked = command("verify-run", "r")
    assert checked.code == 1
    assert f"{CALLS}:" in checked.out


def test_a_missing_journal_is_named(run, command):
    (run / CALLS).unlink()
    ended = command("score", "r")
    assert ended.code != 0
    assert "is missing or empty; seal.json counts 8 lines" in ended.err
    assert ended.err.count("verifier/") == 6
    assert command("export", "r", "--to", "csv", "-o", "made").code != 0
    assert not Path("made").exists()


def test_calls_that_a_loss_left_without_an_answer_are_named(run, command):
    lines = (run / CALLS).read_bytes().splitlines(keepends=True)
    lost = [json.loads(line) for line in lines[3:5]]
    (run / CALLS).write_bytes(b"".join(lines[:3] + lines[5:]))
    ended = command("score", "r")
    named = ", ".join(sorted(f"verifier/{line['id']}/0/{line['repeat']}" for line in lost))
    said = next(line for line in ended.err.splitlines() if "have no answer" in line)
    assert ", ".join(sorted(said.partition("answer: ")[2].split(", "))) == named


def test_what_leaves_the_tool_carries_the_line_to_quote(run, command):
    line = command("verify-run", "r").out.strip().splitlines()[-1].replace("verified ", "")
    assert command("export", "r", "--to", "csv", "-o", "made").code == 0
    assert command("export", "r", "--to", "latex", "-o", "r.tex").code == 0
    for page in ("r.md", "r.html"):
        assert command("report", "r", "-o", page).code == 0
    for file in ("made/scores.csv", "r.tex", "r.md"):
        assert line in Path(file).read_text(encoding="utf-8"), file


def test_a_cut_run_of_an_older_version_is_named_by_its_summary(run, command):
    lines = (run / CALLS).read_bytes().splitlines()
    without = [json.loads(line) for line in lines]
    for line in without:
        del line["seal"]
    (run / SEAL).unlink()
    (run / CALLS).write_text("".join(json.dumps(line) + "\n" for line in without))
    assert command("score", "r").code == 0
    (run / CALLS).write_text("".join(json.dumps(line) + "\n" for line in without[:4]))
    before = _contents(run)
    for arguments in (("score", "r"), ("verify", "--resume", "r")):
        ended = command(*arguments)
        assert ended.code != 0
        assert "verifier: summary.json counts 6 answered calls, calls.jsonl has 3" in ended.err
    assert {name: content for name, content in _contents(run).items() if name != ".lock"} == before


def test_an_accepted_loss_is_written_down_and_only_its_calls_are_asked_again(run, command, server):
    before = _contents(run)
    lines = before[CALLS].splitlines()
    (run / CALLS).write_bytes(b"".join(line + b"\n" for line in _change_text(lines[:3]) + lines[3:]))
    asked = server.stats()["requests"]
    accepted = command("score", "r", "--accept-loss")
    assert accepted.code == 1  # incomplete now
    assert "accepted as lost: line" in accepted.err
    loss = json.loads((run / CALLS).read_bytes().splitlines()[-1])
    assert loss["type"] == "loss"
    assert command("verify-run", "r").code == 0
    assert "accepted as lost" in command("verify-run", "r").out
    resumed = command("verify", "--resume", "r")
    assert resumed.code == 0, resumed.err
    assert server.stats()["requests"] - asked == len([n for n in loss["lines"] if b'"call"' in lines[n - 1]])
    after = _contents(run)
    assert (after["records.jsonl"], after["summary.json"]) == (before["records.jsonl"], before["summary.json"])


@pytest.mark.parametrize("kept", [0, 4])
def test_a_loss_at_the_end_is_told_for_ever(run, command, kept):
    lines = (run / CALLS).read_bytes().splitlines(keepends=True)
    (run / CALLS).write_bytes(b"".join(lines[:kept]))
    command("score", "r", "--accept-loss")
    assert command("verify", "--resume", "r").code == 0
    printed = command("verify-run", "r").out
    assert f"{8 - kept} more that seal.json counts are missing" in printed
    command("report", "r", "-o", "r.md")
    assert f"accepted as lost: line {kept}" in Path("r.md").read_text()


def test_verify_run_prints_a_line_to_quote(run, command):
    printed = command("verify-run", "r")
    assert printed.code == 0
    manifest = json.loads((run / "manifest.json").read_bytes())
    seal = json.loads((run / SEAL).read_bytes())
    last = printed.out.strip().splitlines()[-1]
    assert manifest["run_id"][:16] in last
    assert f"{seal['lines']} lines, seal {seal['head']}" in last
    found = json.loads(command("verify-run", "r", "--json").out)
    assert (found["whole"], found["runs"][0]["quote"]) == (True, last)


@pytest.mark.parametrize("name", ["records.jsonl", "summary.json"])
def test_a_changed_figure_does_not_follow(run, command, name):
    (run / name).write_bytes((run / name).read_bytes().replace(b"true", b"false", 1))
    checked = command("verify-run", "r")
    assert checked.code == 1
    assert name in checked.out


def test_a_run_without_seals_is_sealed_from_there_on(run, command):
    lines = [json.loads(line) for line in (run / CALLS).read_bytes().splitlines()]
    for line in lines:
        del line["seal"]
    (run / SEAL).unlink()
    (run / CALLS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "8 of 8 lines were written before there were seals" in command("verify-run", "r").out
    assert command("verify", "--resume", "r", "--verifier-repeats", "2").code == 0
    sealed = [b'"seal"' in line for line in (run / CALLS).read_bytes().splitlines()]
    assert sealed == [False] * 8 + [True] * 8
    assert command("verify-run", "r").code == 0
    changed = (run / CALLS).read_bytes().replace(b"<first_error_step>", b"<first_error_stop>", 1)
    (run / CALLS).write_bytes(changed)
    assert "does not follow from the line before" in command("verify-run", "r").out


@pytest.mark.parametrize("how", ["deleted", "replaced", "moved"])
def test_a_file_that_goes_while_it_is_written_is_saved_elsewhere(tmp_path, how):
    from tests.run.test_journal import call

    journal = Journal(tmp_path)
    journal.append(call(0, "kept"))
    path = tmp_path / CALLS
    if how == "moved":
        path.rename(tmp_path / "away")
    else:
        path.unlink()
    if how == "replaced":
        path.write_text("mine\n")
    with pytest.raises(Exception, match="was moved, replaced or deleted while it was written"):
        journal.close()
    with CallsReader(tmp_path / "calls.rescued.jsonl") as reader:
        assert [line.text for _, line in reader.lines()] == ["kept"]
    assert how != "replaced" or path.read_text() == "mine\n"
