"""Every filter of the page finds what the same question finds in the frame of proofs: one run, several, unfinished."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from proverbench import load
from proverbench.rehearse import GeneratedReplies, RehearseServer
from tests.show.report.conftest import make_page
from tests.support import problem_rows, proof_rows, run_process, write_calls, write_config, write_rows

R = 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """``p`` and ``q`` judged the same proofs with other prompts, ``open`` is p with calls open; ``v`` has labels."""
    folder = tmp_path_factory.mktemp("filters")
    write_rows(folder / "p.jsonl", problem_rows(12))
    labelled = proof_rows(24)
    labelled[1]["annotation"] |= {
        "first_fatal_error_step": None,
        "recoverable_error_steps": None,
        "verdict": "incorrect",
    }
    for name in ("is_correct", "first_error_step"):
        labelled[1].pop(name, None)
    write_rows(folder / "v.jsonl", labelled)
    asked = "Judge: <assessment> <errors> <first_error_step>."
    (folder / "judge.txt").write_text(asked + "\n{problem}\n{human_solution}\n{solution}\n")

    def run(command: str, name: str, data: str, *more: str) -> None:
        words = ("--data", str(folder / data), "--config", str(folder / "c.toml"), "--verifier-repeats", str(R))
        # In a process of its own: where the browser is driven, no other loop runs in this thread.
        ended = run_process(command, *words, *more, "--output", str(folder / name), cwd=folder)
        assert ended.code == 0, ended.err

    with RehearseServer.in_thread(replies=GeneratedReplies(vary="seed", invalid_rate=0.12, accept_rate=0.7)) as server:
        write_config(folder / "c.toml", server.base_url)
        run("run", "p", "p.jsonl", "--samples", "2")
        run("run", "q", "p.jsonl", "--samples", "2", "--verifier-prompt", str(folder / "judge.txt"))
        run("verify", "v", "v.jsonl")
    shutil.copytree(folder / "p", folder / "open")
    lines = [json.loads(line) for line in (folder / "open/calls.jsonl").read_text().splitlines()]
    policy = next(line["id"] for line in lines if line.get("role") == "policy")
    kept = [line for line in lines if line.get("id") != policy]
    judged = [line for line in kept if line.get("role") == "verifier"]
    write_calls(folder / "open", [line for line in kept if line not in judged[-5:]])
    return folder


def proofs_of(paths: list[Path]) -> list[pd.DataFrame]:
    """The rows of each proof, one for each run that has it: the same text under the same key."""
    frames = []
    for number, path in enumerate(paths):
        frame = load(path).proofs
        frame["run"] = number
        # A proof that is not there is each run's own.
        frame["text"] = frame["proof"].where(frame["proof"] != "", f"run {number}")
        frames.append(frame)
    return [rows for _, rows in pd.concat(frames).groupby(["key", "text"])]


def expected(rows: pd.DataFrame) -> set[str]:
    """The names of the filters that a proof passes, by its rows."""
    failed = rows["generation_failed"].fillna(0) == 1
    correct, label = rows["is_correct"].iloc[0], rows["label"].iloc[0]
    passes = {
        "show=accepted": bool(((rows["accepts"] == R) & ~failed).all()),
        "show=rejected": bool((rows["rejects"] > 0).any()),
        "show=split": bool(rows["accepts"].sum() > 0 and rows["rejects"].sum() > 0),
        "show=invalid": bool((rows["invalid"] > 0).any()),
        "show=failed": bool(failed.any()),
        "show=unanswered": bool((~rows["complete"]).any()),
    }
    if correct is not pd.NA:
        passes |= {
            "human=right": bool(correct),
            "human=wrong": not correct,
            "human=false-accept": bool(not correct and rows["accepts"].sum() > 0),
            "human=false-reject": bool(correct and rows["rejects"].sum() > 0),
            "human=differs": bool(rows["rejects"].sum() > 0 if correct else rows["accepts"].sum() > 0),
        }
        assert correct or label is pd.NA or label >= 0
    return {name for name, holds in passes.items() if holds}


SHOWS = ("accepted", "rejected", "split", "invalid", "failed", "unanswered")
HUMANS = ("right", "wrong", "false-accept", "false-reject", "differs")


@pytest.mark.parametrize(
    "names", [["p"], ["q"], ["open"], ["v"], ["p", "q"], ["open", "q"], ["p", "q", "v"]], ids="+".join
)
def test_filters_count_what_the_proofs_say(opened, runs, tmp_path, names):
    page = opened(make_page(tmp_path, *(runs / name for name in names)))
    for chosen in [None, *(names if len(names) > 1 else [])]:
        everything = [expected(rows) for rows in proofs_of([runs / name for name in ([chosen] if chosen else names)])]
        only = f"&run={chosen}" if chosen else ""
        filters = [f"show={show}" for show in SHOWS]
        filters += [f"human={human}" for human in HUMANS] if "v" in names else []
        for wanted in filters:
            page.go(f"#/proofs?{wanted}{only}")
            count = sum(wanted in passed for passed in everything)
            shown = page.text(".hits")
            assert shown.startswith(f"{count} of "), (wanted, chosen, shown, count)
