"""`proverbench label`: the command serves the page, keeps labels, goes on where it was; what it says when it cannot."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.people.conftest import RUN
from tests.people.test_serve import RIGHT, ask
from tests.support import HUNG_S, run_process


@contextmanager
def labelling(folder: Path, *arguments: str, of: Path = RUN) -> Iterator[str]:
    """The address of a running `proverbench label`; Ctrl-C ends it."""
    command = [sys.executable, "-m", "proverbench", "label", str(of.resolve()), "--port", "0", *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.match(r"(http://127\.0\.0\.1:\d+)/#/label", said)
        if found is None:
            raise AssertionError(said + process.communicate()[1])
        try:
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=HUNG_S)
    assert process.returncode == 0
    assert re.search(r"labelled in \S+-labels-\S+\.jsonl; proverbench correct", err)


def test_it_labels_and_goes_on_where_it_was(tmp_path):
    with labelling(tmp_path, "--choose", "5", "--annotator", "Ann B") as origin:
        states = ask(f"{origin}/labels.json")[1]["states"]
        key = next(iter(states))
        said = {"proof_id": key, "annotation": RIGHT, "version": 0}
        assert ask(f"{origin}/label", said, Origin=origin)[0] == 200
    path = tmp_path / "prover-labels-Ann-B.jsonl"
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["annotator"] == "Ann B"
    with labelling(tmp_path, "--annotator", "Ann B") as origin:
        again = ask(f"{origin}/labels.json")[1]["states"]
    assert list(again) == list(states)
    assert [name for name, state in again.items() if state["labelled"]] == [key]
    ended = run_process("label", RUN, "--annotator", "Ann B", "--choose", "6", cwd=tmp_path)
    assert ended.code == 2
    assert "holds a draw of 5, not of 6; leave --choose out" in ended.err


@pytest.mark.parametrize(
    ("run", "more", "said"),
    [
        (RUN, ("--choose", "1000"), "judged proofs, fewer than the 1000 to choose"),
        (RUN.parent / "judge", (), "a labelling sheet is made of a ProverBench run; this one is VerifierBench"),
        (RUN.parent / "none", (), "none"),
    ],
)
def test_what_cannot_be_labelled_is_said_and_nothing_is_written(tmp_path, run, more, said):
    ended = run_process("label", run, "--annotator", "a", *more, cwd=tmp_path)
    assert ended.code == 2
    assert said in ended.err
    assert list(tmp_path.iterdir()) == []
