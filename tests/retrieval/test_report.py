from pathlib import Path

import pytest

from proverbench.errors import RunMismatchError
from proverbench.retrieval.report import load_page
from tests.retrieval.test_run import make_run


def test_runs_of_one_system_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    make_run(tmp_path / "a" / "scripted")
    make_run(tmp_path / "b" / "scripted")
    make_run(tmp_path / "c")
    labels = [run["label"] for run in load_page([tmp_path / "a", tmp_path / "b", tmp_path / "c"])["runs"]]
    assert labels == ["scripted (a/scripted)", "scripted (b/scripted)", "scripted (c)"]
    assert [run["label"] for run in load_page([tmp_path / "c"])["runs"]] == ["scripted"]


def test_every_path_without_a_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunMismatchError) as caught:
        load_page([tmp_path / "empty", tmp_path / "nowhere"])
    assert "empty: no run" in str(caught.value)
    assert "nowhere: no run" in str(caught.value)
