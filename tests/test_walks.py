"""The walks of docs/walks are scripts that run, from an empty folder, against a rehearsed server."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from proverbench.rehearse import GeneratedReplies, ModelReply, RehearseServer
from tests.support import ROOT

WALKS = sorted((ROOT / "docs/walks").glob("*.md"))
_COMPLETE = "_PROVERBENCH_COMPLETE"


class _JudgeWhoKnows:
    """Judges the shipped annotated proofs as people did, nine times of ten; all else is made up."""

    def __init__(self) -> None:
        self.made_up = GeneratedReplies(vary="seed")
        lines = (ROOT / "data/verifierbench.jsonl").read_text(encoding="utf-8").splitlines()
        self.labels = {json.loads(line)["steps"][-1]: json.loads(line)["first_error_step"] for line in lines}

    def __call__(self, ask, answered_before):
        step = next((label for text, label in self.labels.items() if text in ask.prompt), None)
        if ask.role != "verifier" or step is None:
            return self.made_up(ask, answered_before)
        if random.Random(f"{ask.seed}/{answered_before}/{len(ask.prompt)}").random() < 0.1:
            step = 0 if step == -1 else -1
        errors = "" if step == -1 else f"Step {step}."
        return ModelReply(
            content=f"<assessment>Read.</assessment><errors>{errors}</errors><first_error_step>{step}</first_error_step>"
        )


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """A folder of the installed commands, for PATH."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("proverbench", "verifierbench"):
        script = folder / name
        script.write_text(f"#!{sys.executable}\nfrom proverbench.__main__ import {name}\n{name}()\n")
        script.chmod(0o755)
    return folder


def test_there_are_three():
    assert [page.stem for page in WALKS] == ["judge", "paper", "tonight"]


@pytest.mark.parametrize("page", WALKS, ids=lambda page: page.stem)
def test_a_walk_runs(page: Path, commands, tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    with RehearseServer.in_thread(replies=_JudgeWhoKnows()) as server:
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "".join(blocks)],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "SERVER": server.base_url},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert list((tmp_path / "mine").glob("*.html"))


def test_the_shell_can_complete(commands, tmp_path):
    ended = subprocess.run(
        [commands / "proverbench"],
        env={**os.environ, _COMPLETE: "bash_complete", "COMP_WORDS": "proverbench do", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "doctor" in ended.stdout
