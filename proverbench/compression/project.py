"""Lean projects with a lakefile, built with the user's own Lean: ``lake build``, then ``lean4export``.

What is exported is what the targets reach. lean4export does not say which file a constant comes from, so the .olean
files of the editable modules are asked for their constants' names.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from proverbench.compression.building import Built, read_header
from proverbench.compression.export import read_export_lines
from proverbench.compression.kernel import StoppedError
from proverbench.compression.olean import constant_names
from proverbench.compression.tasks import Task, module_name
from proverbench.errors import DataError

LAKEFILES = ("lakefile.toml", "lakefile.lean")
_SKIPPED = frozenset({".lake", ".git", "build"})
_ERROR = re.compile(r"^(?:error: )?(\S+\.lean:\d+:\d+: (?:error: )?.*)$")


def is_project(folder: Path) -> bool:
    """Whether a folder has a lakefile."""
    return any((folder / name).is_file() for name in LAKEFILES)


def read_project(folder: Path) -> dict[str, bytes]:
    """A project's files, by path, without what is built or fetched."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not _SKIPPED.intersection(relative.parts):
            found[relative.as_posix()] = path.read_bytes()
    return found


def import_problems(
    sources: Mapping[str, bytes], originals: Mapping[str, bytes], project: Mapping[str, bytes]
) -> list[str]:
    """Imports beyond the project's own modules and the packages that the originals import from."""
    modules = {module_name(path) for path in [*sources, *project] if path.endswith(".lean")}
    packages = {
        name.split(".")[0]
        for data in originals.values()
        for name in read_header(data.decode("utf-8", "replace")).imports
    }
    problems = []
    for path, data in sorted(sources.items()):
        header = read_header(data.decode("utf-8", "replace"))
        problems += [
            f"{path}: imports {name}, which is neither an editable file nor in the pinned background"
            for name in header.imports
            if name not in modules and name.split(".")[0] not in packages
        ]
        if header.module:
            problems.append(f"{path}: begins with `module`, whose compiled form hides proofs; leave that line out")
    return problems


def build_project(
    project: Mapping[str, bytes], editable: Mapping[str, bytes], names: Sequence[str], folder: Path, *, time_s: int
) -> Built:
    """Lay a project out in a folder, build its editable modules, and export what some constants reach.

    Args:
        project: Its other files.
        editable: The files under study.
        names: Constants to export, with all that they reach.
        folder: Where it is built; what is there already, such as fetched packages, is kept and used.
        time_s: Limit on each of the two commands.

    Raises:
        DataError: If there is no Lean here, or what it wrote cannot be read.
        StoppedError: If the time ran out.
    """
    for path, data in {**project, **editable}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != data:
            target.write_bytes(data)
    modules = {path: module_name(path) for path in sorted(editable)}
    done = _lake(["build", *modules.values()], folder, time_s)
    if done.returncode != 0:
        return Built(None, {}, _errors(done))
    done = _lake(["env", "lean4export", *modules.values(), "--", *names], folder, time_s)
    if done.returncode != 0:
        raise DataError(f"lean4export ended with {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-300:]}")
    export = read_export_lines(done.stdout.splitlines(), source="lean4export")
    declared = {path: _module_constants(folder, name) for path, name in modules.items()}
    return Built(export, declared, ())


def build_lake_task(task: Task, sources: Mapping[str, bytes], folder: Path) -> Built:
    """Build a participant's version of a project task.

    Raises:
        DataError: As :func:`build_project`.
        StoppedError: Likewise.
    """
    names = [*task.spec.targets, *task.spec.frozen, *task.spec.background]
    return build_project(task.below("project"), sources, names, folder, time_s=task.spec.time_s)


def _module_constants(folder: Path, module: str) -> tuple[str, ...]:
    relative = Path(*module.split(".")).with_suffix(".olean")
    for place in (".lake/build/lib/lean", ".lake/build/lib"):
        path = folder / place / relative
        if path.is_file():
            return constant_names(module, path.read_bytes())
    raise DataError(f"lake built no {relative} in {folder / '.lake/build/lib/lean'}")


def _lake(arguments: Sequence[str], folder: Path, time_s: int) -> "subprocess.CompletedProcess[bytes]":
    lake = shutil.which("lake") or shutil.which("lake", path=str(Path.home() / ".elan" / "bin"))
    if lake is None:
        raise DataError("this task is a Lean project, and there is no `lake` here: install Lean (elan) and lean4export")
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(lake).parent), os.environ.get("PATH", "")])}
    try:
        return subprocess.run([lake, *arguments], cwd=folder, capture_output=True, env=env, timeout=time_s, check=False)
    except subprocess.TimeoutExpired as exc:
        raise StoppedError(f"lake {arguments[0]} took more than {time_s} s; no verdict") from exc


def _errors(done: "subprocess.CompletedProcess[bytes]") -> tuple[str, ...]:
    text = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
    found = [match[1] for line in text.splitlines() if (match := _ERROR.match(line.strip())) and "warning:" not in line]
    return tuple(dict.fromkeys(found)) or (f"lake build ended with {done.returncode}: {' '.join(text.split())[-300:]}",)
