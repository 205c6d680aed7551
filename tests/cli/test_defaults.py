"""Defaults that people meet: names of runs, another run at the same endpoint, what they are told to type."""

import re
import shlex
from pathlib import Path

import pytest

from proverbench.run.disk import fitting_name, write_whole
from proverbench.run.going import in_flight_of
from proverbench.run.lock import RunLock
from proverbench.run.naming import new_run_path
from tests.support import ROOT, problem_rows, write_config, write_rows


@pytest.fixture
def ready(command, server, tmp_path):
    write_config(tmp_path / "config.toml", server.base_url, concurrency=5)
    write_rows(tmp_path / "p.jsonl", problem_rows(2))

    def run(*more: str | Path, config: str = "config.toml"):
        return command("run", "--data", "p.jsonl", "--config", config, "--verifier-repeats", "1", *more)

    return run


def test_a_run_that_judges_saved_proofs_again_names_its_judge(ready, tmp_path, server):
    assert ready("--output", "first").code == 0
    (tmp_path / "replay.toml").write_text(
        f'[policy]\nkind = "replay"\nrun = "first"\n[verifier]\nbase_url = "{server.base_url}"\nmodel = "lab/judge 2"\n'
    )
    ended = ready(config="replay.toml")
    assert ended.code == 0, ended.err
    (folder,) = Path("runs").iterdir()
    assert re.fullmatch(r"prover-m-policy-by-judge-2-\d{4}-\d\d-\d\d", folder.name)


def test_a_run_of_given_proofs_names_its_judge(ready, tmp_path):
    write_rows(tmp_path / "given.jsonl", [{"problem_id": f"p{i}", "sample": 0, "steps": ["So."]} for i in range(2)])
    assert ready("--proofs", "given.jsonl").code == 0
    (folder,) = Path("runs").iterdir()
    assert "-by-m-verifier-" in folder.name


def test_a_long_name_fits_on_the_disk_and_stays_its_own(tmp_path):
    names = [new_run_path(tmp_path, "prover", "m" * 300 + end, "j" * 300).name for end in "ab"]
    assert len(set(names)) == 2
    for name in names:
        (tmp_path / f"{name}.calls.rescued-10.jsonl").write_text("")
    assert fitting_name("é" * 80, 80).startswith("é" * 35 + "-")
    assert fitting_name("é" * 40, 80) == "é" * 40


def test_a_file_whose_name_is_as_long_as_it_may_be_is_replaced_too(tmp_path):
    write_whole(tmp_path / ("x" * 255), b"1")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"1"]


def test_other_names_stay(tmp_path):
    assert "-by-" not in new_run_path(tmp_path, "prover", "a/b").name


def test_a_second_run_at_the_same_endpoint_hears_of_the_first(ready, server):
    assert ready("--output", "runs/first").code == 0
    alone = ready("--output", "runs/second")
    assert "going on" not in alone.err
    with RunLock(Path("runs/first")):
        beside = ready("--output", "elsewhere/third", "--concurrency", "3")
    assert beside.code == 0
    assert (
        f"note: runs/first is going on at the same endpoint, {server.base_url}: it may have 5 calls in flight and this "
        "run 3, 8 together"
    ) in beside.err


@pytest.mark.parametrize("operation", [{}, {"roles": []}, {"roles": {"policy": {"endpoint": {"base_url": None}}}}])
def test_operations_without_addresses(operation):
    assert in_flight_of(operation) == {}


def test_paths_with_spaces_are_quoted_in_what_is_to_be_typed(ready):
    ended = ready("--output", "my runs/one")
    assert ended.err.splitlines()[-1] == "complete; look into it with: proverbench inspect 'my runs/one'"
    said = ended.err.splitlines()[-1].partition("with: ")[2]
    assert shlex.split(said) == ["proverbench", "inspect", "my runs/one"]


_PLACE = re.compile(
    r"(?:proverbench|verifierbench|retrievalbench|compressionbench|\.command\}|\bwith) "
    r"[a-z -]*(?:--resume |inspect |score |report |correct |keygen |submit )"
    r"\{(?!shlex\.quote|printable\(shlex)([^}]*)\}"
)


def test_no_message_puts_a_bare_path_into_a_command():
    """Names that were quoted before are the exceptions."""
    quoted_before = {"name", "run_is", "labels_are"}
    bare = [
        f"{path.name}: {found[0]}"
        for path in sorted((ROOT / "proverbench").rglob("*.py"))
        for found in _PLACE.finditer(path.read_text(encoding="utf-8"))
        if found[1] not in quoted_before
    ]
    assert bare == []
