"""Saved runs for the commands that look into them, made once by the real commands against a rehearsal endpoint."""

import json
import os
from pathlib import Path

import pytest

from proverbench.cli import main
from proverbench.rehearse import GeneratedReplies, RehearseServer
from tests.support import problem_rows, proof_rows, write_calls, write_config, write_rows

HOSTILE = [
    '=HYPERLINK("http://x","y")',
    "@SUM(A1)",
    "bell \x07 and escape \x1b",
    "x" * 40_000,
    "a <b> & \\frac{1}{2} % $x_1$ ~ ^ #",
]
"""Steps of the given proofs of the run ``given``."""


@pytest.fixture(scope="session")
def saved(tmp_path_factory) -> Path:
    """A folder with complete runs: p1, p2 (ProverBench, two policies), v1, v2 (their judges' VerifierBench), more.

    ``shown`` is v1 with the reference solution shown and fits p1 as a calibration; ``given`` judged hostile proofs;
    ``open`` lacks calls.
    """
    folder = tmp_path_factory.mktemp("saved")
    write_rows(folder / "problems.jsonl", problem_rows(24))
    write_rows(folder / "proofs.jsonl", proof_rows(60))
    proofs = [{"problem_id": f"p{i}", "sample": 0, "steps": [text]} for i, text in enumerate(HOSTILE)]
    write_rows(folder / "hostile.jsonl", proofs)

    def run(*arguments: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments), prog_name="proverbench")
        assert ended.value.code == 0, arguments

    before = Path.cwd()
    os.chdir(folder)
    try:
        judge = ("--data", "proofs.jsonl", "--verifier-repeats", "2")
        policy = ("--data", "problems.jsonl", "--samples", "2", "--verifier-repeats", "2")
        for name, invalid in (("1", 0.02), ("2", 0.15)):
            with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=invalid)) as server:
                write_config(folder / f"c{name}.toml", server.base_url, model=f"m{name}")
                config = ("--config", f"c{name}.toml")
                run("run", *policy, *config, "--output", f"p{name}")
                run("verify", *judge, *config, "--meta", "--output", f"v{name}")
                if name == "1":
                    run("verify", *judge, *config, "--use-reference-solution", "--output", "shown")
                    given = ("--limit", str(len(HOSTILE)), "--proofs", "hostile.jsonl", "--verifier-repeats", "1")
                    run("run", "--data", "problems.jsonl", *config, *given, "--output", "given")
    finally:
        os.chdir(before)
    # A judge that is often right: a calibration from which a correction can be made.
    _teach(folder / "shown")
    _forget(folder / "p1", folder / "open")
    return folder


def _teach(run: Path) -> None:
    """Let the saved judge say what the labels say on four of five proofs."""
    labels = {row["proof_id"]: row["first_error_step"] for row in _lines(run / "inputs.jsonl")}
    lines = _lines(run / "calls.jsonl")
    for line in lines:
        if line["type"] == "call" and int(line["id"][1:]) % 10 not in (0, 1):
            said = f"<first_error_step>{labels[line['id']]}</first_error_step>"
            line |= {"text": f"<assessment>A.</assessment><errors></errors>{said}", "finish_reason": "stop"}
    write_calls(run, lines)


def _forget(run: Path, copy: Path) -> None:
    """A copy of a run without its last judgment."""
    import shutil

    shutil.copytree(run, copy)
    lines = _lines(copy / "calls.jsonl")
    calls = [place for place, line in enumerate(lines) if line["type"] == "call" and line["role"] == "verifier"]
    del lines[calls[-1]]
    write_calls(copy, lines)


def _lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
