"""Making a task package from Lean sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proverbench.compression.building import build_prelude, source_problems
from proverbench.compression.charges import charge
from proverbench.compression.checking import axioms_of
from proverbench.compression.export import Export, Theorem, write_export
from proverbench.compression.hashing import definition_hash, frozen_names, sha256_hex, statement_hash
from proverbench.compression.kernel import LeanKernel
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
        StoppedError: If a limit ended the build.
    """
    problems = source_problems(files, [module_name(path) for path in files], prelude=True)
    if problems:
        raise DataError.of(problems)
    built = build_prelude(files, kernel)
    if built.export is None:
        raise DataError.of(built.problems)
    export = built.export
    _refuse_unfit(export, order, kernel)
    owner = {name: path for path, names in built.modules.items() for name in names}
    editable = sorted(order.editable or {owner[target] for target in order.targets})
    _refuse_unknown_files(editable, files)
    _refuse_background_on_editable(files, editable)
    provided = sorted(name for name, path in owner.items() if path not in editable)
    spec_files = {("original" if path in editable else "background") + f"/{path}": data for path, data in files.items()}
    by_text = {export.name_text(name): name for name in export.constants()}
    pinned = {by_text[name] for name in provided}
    rests = frozen_names(export, [by_text[target] for target in order.targets], pinned)
    frozen = sorted({*(export.name_text(name) for name in rests), *order.background, *order.freeze} - set(provided))
    spec = TaskFile(
        format=1,
        name=order.name,
        title=order.title,
        kind="prelude",
        lean=export.lean_version,
        targets=list(order.targets),
        editable=editable,
        background=list(order.background),
        provided=provided,
        original_count=charge(export, order.targets, [*provided, *order.background]).count,
        heartbeats=order.heartbeats,
        statements={name: statement_hash(export, export.constants()[by_text[name]][0]) for name in order.targets},
        frozen={name: definition_hash(export, by_text[name], pinned) for name in frozen},
        files={path: sha256_hex(data) for path, data in spec_files.items()},
    )
    return task_from_files(render_task(spec), spec_files, source=order.name)


def _refuse_unfit(export: Export, order: Order, kernel: LeanKernel) -> None:
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
    rejected = kernel.replay(write_export(export)).problems
    if rejected:
        raise DataError.of(f"kernel: {problem.declaration}: {problem.message}" for problem in rejected)


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
    """Write a task package, with a copy of the editable files to work on.

    Raises:
        DataError: If the folder is there already and not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder}: exists and is not empty; name a new folder")
    everything = {"task.toml": task.toml, **task.files}
    everything |= {f"work/{path}": data for path, data in task.original.items()}
    for path, data in everything.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
