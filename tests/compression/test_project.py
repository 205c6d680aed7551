"""Projects with a lakefile. Lean's own `lake` and `lean4export` are played by two small programs around the kernel."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from proverbench.compression.authoring import Order, make_project_task, write_task
from proverbench.compression.bundle import Extras, pack, unpack
from proverbench.compression.checking import check_sources
from proverbench.compression.isolation import MEANS, python
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.project import fetch_project, import_problems, is_project, read_project
from proverbench.compression.tasks import Task, load_task
from proverbench.compression.verifying import verify_bundle
from proverbench.errors import DataError
from tests.compression.hostile import shell_source

# The toolchain is a folder that a stage can see: `lean` around the wheel's library, and copies of our readers for the
# exporter. `lake` runs outside, as a user's does.
LEAN = """#!{python} -IS
import ctypes, os, sys
if sys.argv[1:] == ["--print-prefix"]:
    print(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.exit()
args = [b"lean", *map(os.fsencode, sys.argv[1:])]
os._exit(ctypes.CDLL({library!r}).lean_main(len(args), (ctypes.c_char_p * (len(args) + 1))(*args, None)))
"""
LAKE = """#!{python}
import os, subprocess, sys
from pathlib import Path
out = Path(".lake/build/lib/lean").resolve()
os.environ["LEAN_PATH"] = str(out)
os.environ["PATH"] = os.path.dirname(os.path.abspath(__file__)) + os.pathsep + os.environ["PATH"]
if sys.argv[1] == "env":
    os.execvp(sys.argv[2], sys.argv[2:])
out.mkdir(parents=True, exist_ok=True)
for path in sorted(Path(".").glob("*.lean")):  # in this order each comes after its imports
    target = out / path.with_suffix(".olean").name
    if subprocess.run(["lean", path.name, "-R", ".", "-o", str(target)]).returncode:
        sys.exit(1)
"""
EXPORTER = """#!{python} -IS
import os, sys
from pathlib import Path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/lib")
from proverbench.compression.export_writing import write_export
from proverbench.compression.olean import read_oleans
assert "--" in sys.argv
found = {{}}
for folder in reversed(os.environ["LEAN_PATH"].split(os.pathsep)):
    found |= {{path.stem: path.read_bytes() for path in Path(folder).glob("*.olean")}}
export, _ = read_oleans(sorted(found.items()))
sys.stdout.buffer.write(write_export(export))
"""
CHECKER = """#!{python} -IS
import os, sys
data = b"".join(open(name + ".olean", "rb").read() for name in sys.argv[1:])
if b"refuse_me" in data:
    print("(kernel) declaration type mismatch", file=sys.stderr)
    sys.exit(1)
"""


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory, kernel: LeanKernel) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("toolchain")
    (folder / "bin").mkdir()
    for name, text in (("lake", LAKE), ("lean", LEAN), ("lean4export", EXPORTER), ("lean4checker", CHECKER)):
        (folder / "bin" / name).write_text(text.format(python=python(), library=str(kernel.library)))
        (folder / "bin" / name).chmod(0o755)
    for name in ("proverbench", "msgspec"):
        found = find_spec(name)
        assert found is not None
        assert found.origin is not None
        shutil.copytree(Path(found.origin).parent, folder / "lib" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder, *folder.parents):  # so that a stage, which runs as nobody, may enter
        if path != Path("/") and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o011)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, toy_sources: dict[str, bytes]) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / ".lake" / "packages").mkdir(parents=True)
    (folder / ".lake" / "packages" / "big.lean").write_text("skipped")
    (folder / "lakefile.toml").write_text('name = "toy"\n')
    (folder / "lean-toolchain").write_text("leanprover/lean4:v4.35.0\n")
    head, rest = toy_sources["Toy.lean"].split(b"theorem succ_congr")
    (folder / "Base.lean").write_bytes(head)
    main = b"prelude\nimport Base\ntheorem succ_congr" + rest.split(b"structure Pair")[0]
    (folder / "Main.lean").write_bytes(main)
    return folder


@pytest.fixture(scope="module")
def task(toolchain: None, project: Path, tmp_path_factory: pytest.TempPathFactory, kernel: LeanKernel) -> Task:
    order = Order("toy", ["zero_add_by_helper"], editable=["Main.lean"])
    return make_project_task(read_project(project), order, kernel, tmp_path_factory.mktemp("made"), time_s=3600)


def test_a_project_becomes_a_task(task: Task, project: Path, tmp_path: Path) -> None:
    assert is_project(project)
    assert sorted(task.files) == [
        "original/Main.lean",
        "project/Base.lean",
        "project/lakefile.toml",
        "project/lean-toolchain",
    ]
    assert (task.spec.kind, task.spec.provided, task.spec.original_count) == ("lake", {}, 76 + 58)
    write_task(task, tmp_path / "task")
    assert load_task(tmp_path / "task") == task


@pytest.fixture(scope="module")
def fetched(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fetched")
    fetch_project(task.below("project"), task.original, folder, time_s=3600)
    return folder


SHORTER = (b"(fun k ih => succ_congr _ k ih)", b"(fun _ ih => congrArg MyNat.succ ih)")


def test_it_is_checked_submitted_and_verified(task: Task, fetched: Path, kernel: LeanKernel) -> None:
    shorter = task.original["Main.lean"].replace(*SHORTER)
    check = check_sources(task, {"Main.lean": shorter}, kernel, build_folder=fetched)
    assert (check.problems, check.verdict, check.count) == ((), "valid", 86)
    data = pack(check, Extras(agent="a"))
    found = verify_bundle(unpack(data, source="b"), trusted=[task], build_folder=fetched)
    assert (found["verdict"], found["problems"], found["count"]) == ("valid", [], 86)
    assert found["verifier"]["isolation"] in MEANS
    assert (fetched / "Main.lean").read_bytes() == task.original["Main.lean"], "what was fetched is only read"


def test_what_was_not_fetched_is_not_built(task: Task, tmp_path: Path, kernel: LeanKernel) -> None:
    with pytest.raises(DataError, match="compressionbench fetch TASK"):
        check_sources(task, task.original, kernel, build_folder=tmp_path)


def test_another_lean_s_kernel_has_a_say(
    task: Task, fetched: Path, kernel: LeanKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the task's Lean is not the wheel's, its own checker replays too; here it refuses what bears a name."""
    other = replace(task, spec=task.spec.model_copy(update={"lean": "4.99.0"}))
    assert check_sources(other, task.original, kernel, build_folder=fetched).verdict == "valid"
    refused = task.original["Main.lean"] + b"theorem refuse_me (n : MyNat) : Eq n n := Eq.refl\n"
    check = check_sources(other, {"Main.lean": refused}, kernel, build_folder=fetched)
    assert (check.verdict, check.problems[0]) == (
        "invalid",
        "kernel: lean4checker rejects it: (kernel) declaration type mismatch ",
    )
    assert check_sources(task, {"Main.lean": refused}, kernel, build_folder=fetched).verdict == "valid"


def test_a_file_of_the_project_runs_apart(task: Task, fetched: Path, kernel: LeanKernel, tmp_path: Path) -> None:
    """Code that runs while the file compiles, or is exported, reaches nothing outside."""
    mark = tmp_path / "mark"
    hostile = shell_source(f"echo out > {mark}", imports="Base")
    check = check_sources(task, {"Main.lean": hostile.encode()}, kernel, build_folder=fetched)
    assert check.verdict == "invalid"
    assert not mark.exists()


def test_errors_of_the_build_have_their_places(task: Task, fetched: Path, kernel: LeanKernel) -> None:
    broken = task.original["Main.lean"] + b"theorem x : Nope := x\n"
    check = check_sources(task, {"Main.lean": broken}, kernel, build_folder=fetched)
    assert check.verdict == "invalid"
    assert any(problem.startswith("Main.lean:") and "Nope" in problem for problem in check.problems)


def test_imports_stay_within_the_packages_of_the_originals() -> None:
    originals = {"Main.lean": b"import Mathlib.Order.Basic\nimport Base\n"}
    project = {"Base.lean": b""}
    fine = {"Main.lean": b"import Mathlib.Data.Nat.Basic\nimport Base\n"}
    assert import_problems(fine, originals, project) == []
    foreign = {"Main.lean": b"import Evil\n"}
    assert import_problems(foreign, originals, project) == [
        "Main.lean: imports Evil, which is neither an editable file nor in the pinned background"
    ]
    module = {"Main.lean": b"module\nimport Base\n"}
    assert "begins with `module`" in import_problems(module, originals, project)[0]


def test_a_project_needs_editable_files_and_lean(
    project: Path, kernel: LeanKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="needs --editable FILE"):
        make_project_task(read_project(project), Order("t", ["x"]), kernel, tmp_path / "b", time_s=5)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match="there is no `lake` here"):
        fetch_project({}, {"Main.lean": b""}, tmp_path / "b", time_s=5)
