"""Projects with a lakefile. Lean's own `lake` and `lean4export` are played by two small programs around the kernel."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proverbench.compression.authoring import Order, make_project_task, write_task
from proverbench.compression.bundle import Extras, pack, unpack
from proverbench.compression.checking import check_sources
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.project import build_project, import_problems, is_project, read_project
from proverbench.compression.tasks import Task, load_task
from proverbench.compression.verifying import verify_bundle
from proverbench.errors import DataError

LAKE = """#!{python}
import os, subprocess, sys
from pathlib import Path
from proverbench.compression.building import compile_order
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Limits
out = Path(".lake/build/lib/lean").resolve()
if sys.argv[1] == "env":
    os.environ["LEAN_PATH"] = str(out)
    os.execvp(sys.argv[2], sys.argv[2:])
kernel = LeanKernel(find_library(), Limits())
root = Path(".").resolve()
files = {{p.name: p.read_bytes() for p in root.glob("*.lean")}}
out.mkdir(parents=True, exist_ok=True)
for name in compile_order(files):
    done = kernel.compile(root, root / name, root / Path(name).with_suffix(".olean"))
    for message in done.messages:
        print("error:", message)
    if not done.ok:
        sys.exit(1)
    (out / Path(name).with_suffix(".olean")).write_bytes((root / Path(name).with_suffix(".olean")).read_bytes())
"""
EXPORTER = """#!{python}
import os, sys
from pathlib import Path
from proverbench.compression.export import write_export
from proverbench.compression.olean import read_oleans
folder = Path(os.environ["LEAN_PATH"])
export, _ = read_oleans([(p.stem, p.read_bytes()) for p in sorted(folder.glob("*.olean"))])
assert "--" in sys.argv
sys.stdout.buffer.write(write_export(export))
"""


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory, kernel: LeanKernel) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("bin")
    for name, text in (("lake", LAKE), ("lean4export", EXPORTER)):
        (folder / name).write_text(text.format(python=sys.executable))
        (folder / name).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
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
    return make_project_task(read_project(project), order, kernel, tmp_path_factory.mktemp("made"), time_s=120)


def test_a_project_becomes_a_task(task: Task, project: Path, tmp_path: Path) -> None:
    assert is_project(project)
    assert sorted(task.files) == [
        "original/Main.lean",
        "project/Base.lean",
        "project/lakefile.toml",
        "project/lean-toolchain",
    ]
    assert (task.spec.kind, task.spec.provided, task.spec.original_count) == ("lake", [], 76 + 58)
    write_task(task, tmp_path / "task")
    assert load_task(tmp_path / "task") == task


def test_it_is_checked_submitted_and_verified(task: Task, tmp_path: Path, kernel: LeanKernel) -> None:
    shorter = task.original["Main.lean"].replace(
        b"(fun k ih => succ_congr _ k ih)", b"(fun _ ih => congrArg MyNat.succ ih)"
    )
    check = check_sources(task, {"Main.lean": shorter}, kernel)
    assert (check.verdict, check.count) == ("valid", 86)
    data = pack(check, Extras(agent="a"))
    found = verify_bundle(data, unpack(data, source="b"), trusted_task=task, build_folder=tmp_path / "verify")
    assert (found["verdict"], found["problems"], found["count"]) == ("valid", [], 86)
    assert found["verifier"]["isolation"] == "not isolated (a project is built with this user's Lean)"


def test_without_a_kernel_a_project_is_built_and_counted_but_not_called_valid(task: Task) -> None:
    check = check_sources(task, task.original, None)
    assert (check.verdict, check.count) == ("structure checked, not kernel-checked", 134)
    with pytest.raises(DataError, match="not kernel-checked"):
        pack(check, Extras())


def test_errors_of_the_build_have_their_places(task: Task, kernel: LeanKernel) -> None:
    broken = task.original["Main.lean"] + b"theorem x : Nope := x\n"
    check = check_sources(task, {"Main.lean": broken}, kernel)
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
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="needs --editable FILE"):
        make_project_task(read_project(project), Order("t", ["x"]), None, tmp_path / "b", time_s=5)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match="there is no `lake` here"):
        build_project({}, {"Main.lean": b""}, ["x"], tmp_path / "b", time_s=5)
