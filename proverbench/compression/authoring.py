"""Making a task package from Lean sources."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from proverbench.compression.building import compile_files, source_problems
from proverbench.compression.export import Export, Theorem
from proverbench.compression.hashing import (
    constant_hashes,
    definition_hash,
    frozen_names,
    sha256_hex,
    statement_constants,
    statement_hash,
)
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.project import build_project, fetch_project
from proverbench.compression.rules import axioms_of, erase_proofs, names_of, reserved_names
from proverbench.compression.sharing import share
from proverbench.compression.structure import check_structure
from proverbench.compression.tasks import ALLOWED_AXIOMS, Task, TaskFile, module_name, render_task, task_from_files
from proverbench.errors import DataError


@dataclass(frozen=True, slots=True)
class Order:
    """What a task's author asks for."""

    name: str
    targets: Sequence[str]
    title: str = ""
    editable: Sequence[str] = ()
    """Paths; empty: the files that declare the targets."""
    background: Sequence[str] = ()
    """Constants of the editable files whose use shall be free."""
    freeze: Sequence[str] = ()
    """Definitions to freeze beside those that the statements rest on."""
    heartbeats: int = 200_000_000


def read_sources(project: Path) -> dict[str, bytes]:
    """The .lean files of a project folder, or a lone .lean file, by path in the project.

    Raises:
        DataError: If there are none.
    """
    if project.is_file() and project.suffix == ".lean":
        # A module's name starts with a capital by custom; Lean takes any, so the file keeps its own.
        return {project.name: project.read_bytes()}
    files = {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in sorted(project.rglob("*.lean"))
        if path.is_file() and ".lake" not in path.parts and path.name != "lakefile.lean"
    }
    if not files:
        raise DataError(f"{project}: holds no .lean file")
    return files


def make_task(files: Mapping[str, bytes], order: Order, kernel: LeanKernel) -> Task:
    """Build some ``prelude`` sources and record what a task pins.

    Raises:
        DataError: With a line for each thing that keeps them from being a task.
        StoppedError: If a limit ended the build, or there is no isolation.
    """
    problems = source_problems(files, [module_name(path) for path in files], prelude=True)
    if problems:
        raise DataError.of(problems)
    _refuse_unknown_files(order.editable, files)
    built = compile_files(files, kernel)
    if built.problems:
        raise DataError.of(built.problems)
    question = {"op": "make", "paths": list(built.oleans), "order": asdict(order)}
    recorded = _recorded(kernel.judge(question, list(built.oleans.values()))[0])
    editable = recorded["editable"]
    _refuse_background_on_editable(files, editable)
    pinned = {("original" if path in editable else "background") + f"/{path}": data for path, data in files.items()}
    return finish_task(recorded, pinned)


def _recorded(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the judging stage recorded of a new task.

    Raises:
        DataError: If the sources make no task.
    """
    if "refused" in answer:
        raise DataError.of(answer["refused"])
    return {key: value for key, value in answer.items() if key != "nonce"}


def make_project_task(
    files: Mapping[str, bytes], order: Order, kernel: LeanKernel, build_folder: Path, *, time_s: int
) -> Task:
    """Build a project with a lakefile with the user's Lean, and record what a task pins.

    Raises:
        DataError: As :func:`make_task`; also if the order names no editable files or there is no Lean here.
        StoppedError: If a limit ended the build, or there is no isolation.
    """
    if not order.editable:
        raise DataError("a Lean project needs --editable FILE: the files that may be rewritten")
    _refuse_unknown_files(order.editable, files)
    originals = {path: files[path] for path in order.editable}
    project = {path: data for path, data in files.items() if path not in originals}
    fetch_project(project, originals, build_folder, time_s=time_s)
    names = [*order.targets, *order.background, *order.freeze]
    built = build_project(originals, names, build_folder, kernel)
    if built.problems:
        raise DataError.of(built.problems)
    question = {"op": "make", "exported": True, "own": list(built.oleans), "order": asdict(order)}
    recorded = _recorded(kernel.judge(question, [built.terms, *built.oleans.values()])[0])
    pinned = {f"original/{path}": data for path, data in originals.items()}
    pinned |= {f"project/{path}": data for path, data in project.items()}
    return finish_task(recorded, pinned)


def record_task(
    export: Export,
    order: Order,
    kind: Literal["prelude", "lake"],
    editable: Sequence[str],
    provided: Sequence[str],
    kernel: LeanKernel,
) -> dict[str, Any]:
    """What task.toml says of kernel terms: all of it but the files' hashes.

    Raises:
        DataError: With a line for each thing that keeps them from being a task.
        StoppedError: If a limit ended it.
    """
    _refuse_unfit(export, order)
    by_text = {export.name_text(name): name for name in export.constants()}
    start = statement_constants(export, [by_text[target] for target in order.targets])
    reserved = reserved_names(export, provided, prelude=kind == "prelude")
    further = {*order.background, *order.freeze, *reserved}
    erased, rejected = erase_proofs(export, start | {by_text[name] for name in further}, provided, kernel)
    if erased is None:
        raise DataError.of(rejected)
    pinned = names_of(erased, provided)
    erased_names = {erased.name_text(name): name for name in erased.constants()}
    rests = frozen_names(erased, names_of(erased, [export.name_text(name) for name in start]), pinned)
    frozen = sorted({*(erased.name_text(name) for name in rests), *further} - set(provided))
    free = [*provided, *order.background]
    shared = share(export, list(order.targets), free, kernel)
    return {
        "name": order.name,
        "title": order.title,
        "kind": kind,
        "lean": export.lean_version,
        "targets": list(order.targets),
        "editable": sorted(editable),
        "background": list(order.background),
        # A project's background (Mathlib, say) is too large to list; its manifest pins it.
        "provided": _hashes(export, provided) if kind == "prelude" else {},
        "original_count": shared.before,
        "sharing_count": shared.everything.charge.count,
        "heartbeats": order.heartbeats,
        "statements": {name: statement_hash(export, export.constants()[by_text[name]][0]) for name in order.targets},
        "frozen": {name: definition_hash(erased, erased_names[name], pinned) for name in frozen},
    }


def _hashes(export: Export, provided: Sequence[str]) -> dict[str, str]:
    pinned = names_of(export, provided)
    found: dict[str, str] = {}
    for declaration in export.declarations:
        if declaration.name in pinned:
            found |= constant_hashes(export, declaration)
    return dict(sorted(found.items()))


def finish_task(recorded: Mapping[str, Any], files: Mapping[str, bytes]) -> Task:
    """A task from what was recorded of its terms, and its pinned files."""
    spec = TaskFile(format=2, **recorded, files={path: sha256_hex(data) for path, data in files.items()})
    return task_from_files(render_task(spec), files, source=spec.name)


def _refuse_unfit(export: Export, order: Order) -> None:
    constants = {export.name_text(name): constant for name, (constant, _) in export.constants().items()}
    faults = check_structure(export)
    for target in order.targets:
        if target not in constants:
            faults.append(f"--target {target}: not declared; theorems here: {', '.join(_theorems(export)) or 'none'}")
        elif not isinstance(constants[target], Theorem):
            faults.append(f"--target {target}: not a theorem")
    faults += [f"--background {name}: not declared" for name in order.background if name not in constants]
    faults += [f"--freeze {name}: not declared" for name in order.freeze if name not in constants]
    faults += [
        f"the targets rest on the axiom {name} (allowed: {', '.join(sorted(ALLOWED_AXIOMS))})"
        for name in axioms_of(export, list(order.targets))
        if name not in ALLOWED_AXIOMS
    ]
    if faults:
        raise DataError.of(faults)


def _theorems(export: Export) -> list[str]:
    return [export.name_text(item.name) for item in export.declarations if isinstance(item, Theorem)]


def _refuse_unknown_files(editable: Sequence[str], files: Mapping[str, bytes]) -> None:
    unknown = [path for path in editable if path not in files]
    if unknown:
        raise DataError.of(f"--editable {path}: no such file; files: {', '.join(sorted(files))}" for path in unknown)


def _refuse_background_on_editable(files: Mapping[str, bytes], editable: Sequence[str]) -> None:
    """What is pinned must not rest on what may be rewritten: its use is free."""
    pinned = {path: data for path, data in files.items() if path not in editable}
    problems = source_problems(pinned, [module_name(path) for path in pinned], prelude=True)
    if problems:
        said = (
            problem.replace("neither an editable file nor in the pinned", "not in the pinned") for problem in problems
        )
        raise DataError.of(f"{problem}; name that file with --editable, or the importing one too" for problem in said)


def write_task(task: Task, folder: Path) -> None:
    """Write a task package, with a copy of the editable files to work on, and the commands `check` and `submit`.

    Raises:
        DataError: If the folder is there already and not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(path.name != "build" for path in folder.iterdir())):
        raise DataError(f"{folder}: exists and is not empty; name a new folder")
    everything = {"task.toml": task.toml, **task.files}
    everything |= {f"work/{path}": data for path, data in task.original.items()}
    for path, data in everything.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    for command in ("check", "submit"):
        script = folder / command
        script.write_text(_SCRIPT.format(command=command), encoding="utf-8")
        script.chmod(0o755)


_SCRIPT = """#!/bin/sh
# The task in this folder, with whatever compressionbench is installed: ./{command} --help
exec compressionbench {command} "$(dirname "$0")" "$@"
"""
