"""Lean projects with a lakefile: fetched and built outside as the organiser made them, then only read.

A participant's files are compiled on top of that, offline and each in a stage of its own, and what the targets reach is
exported by lean4export in another. It does not say which file a constant comes from, so the .olean files of the
editable modules are asked for their constants' names.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from proverbench.compression.building import compile_order, read_header
from proverbench.compression.kernel import LeanKernel, Toolchain, read_claim, shown
from proverbench.compression.limits import StoppedError
from proverbench.compression.tasks import listing_sha256, module_name
from proverbench.errors import DataError

_FETCHED = ".compressionbench-fetched"
_ASK_S = 300
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


@dataclass(frozen=True, slots=True)
class ProjectBuild:
    """What a participant's version of a project was built to."""

    oleans: Mapping[str, bytes]
    """Path of each editable file → its .olean."""
    terms: bytes = b""
    """What lean4export says that the targets reach."""
    problems: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


def fetch_project(project: Mapping[str, bytes], originals: Mapping[str, bytes], folder: Path, *, time_s: int) -> None:
    """Fetch a project's packages and build it as its organiser made it, with the user's own `lake`, unconfined.

    A lakefile is a program, and so are the packages that it names: the organiser's, never a participant's, whose
    files are not part of this.

    Raises:
        DataError: If there is no Lean here, or it does not build.
        StoppedError: If the time ran out.
    """
    for path, data in {**project, **originals}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != data:
            target.write_bytes(data)
    done = _lake(["build", *(module_name(path) for path in sorted(originals))], folder, time_s)
    if done.returncode != 0:
        raise DataError.of(_errors(done))
    (folder / _FETCHED).write_text(listing_sha256({**project, **originals}), encoding="utf-8")


def find_toolchain(folder: Path) -> Toolchain:
    """The Lean that a fetched project is built with.

    Raises:
        DataError: If there is none.
    """
    paths = [Path(part) for part in _said(["env", "printenv", "LEAN_PATH"], folder).split(os.pathsep) if part]
    prefix = Path(_said(["env", "lean", "--print-prefix"], folder)).resolve()
    lean_path = [path.resolve() for path in paths if path.is_dir()]
    return Toolchain([str(prefix / "bin" / "lean")], lean_path, [prefix, *lean_path])


def build_project(sources: Mapping[str, bytes], names: Sequence[str], folder: Path, kernel: LeanKernel) -> ProjectBuild:
    """Build a participant's files on what was fetched, offline, and export what some constants reach.

    Every file is compiled in a stage of its own, and exported in another: loading compiled files runs their
    initialisers.

    Args:
        sources: The editable files.
        names: Constants to export, with all that they reach.
        folder: Where fetch_project built; only read.
        kernel: Whose stages and limits are used.

    Raises:
        DataError: If the project was not fetched, or there is no Lean here.
        StoppedError: If a limit ended it, or there is no isolation.
    """
    toolchain = find_toolchain(folder)
    oleans: dict[str, bytes] = {}
    for path in compile_order(sources):
        seen = {PurePosixPath(done).with_suffix(".olean").as_posix(): data for done, data in oleans.items()}
        compilation = kernel.compile(path, {**seen, path: sources[path]}, toolchain)
        if compilation.olean is None:
            return ProjectBuild(oleans, problems=compilation.messages, log=compilation.log)
        oleans[path] = compilation.olean
    exporter = _tool("lean4export", folder)
    modules = [module_name(path) for path in oleans]
    files = {PurePosixPath(path).with_suffix(".olean").as_posix(): data for path, data in oleans.items()}
    seeing = replace(toolchain, visible=[*toolchain.visible, exporter.parent])
    claim = read_claim("lean4export", kernel.run_program([str(exporter), *modules, "--", *names], files, None, seeing))
    if claim is None or claim.status != 0 or claim.result is None:
        said = "nothing that can be read" if claim is None else shown(claim.messages)
        return ProjectBuild(oleans, problems=(f"lean4export did not export it: {said}",))
    return ProjectBuild(oleans, claim.result)


def check_with_own_kernel(oleans: Mapping[str, bytes], folder: Path, kernel: LeanKernel) -> list[str]:
    """Replay compiled files with the kernel of the project's own Lean (lean4checker), in a stage of its own.

    Returns:
        Why it does not accept them; empty when it does.

    Raises:
        DataError: If there is no lean4checker.
        StoppedError: If a limit ended it.
    """
    checker = _tool("lean4checker", folder)
    toolchain = find_toolchain(folder)
    files = {PurePosixPath(path).with_suffix(".olean").as_posix(): data for path, data in oleans.items()}
    seeing = replace(toolchain, visible=[*toolchain.visible, checker.parent])
    argv = [str(checker), *(module_name(path) for path in oleans)]
    claim = read_claim("lean4checker", kernel.run_program(argv, files, None, seeing))
    if claim is None:
        raise StoppedError("lean4checker left nothing that can be read; no verdict")
    return [] if claim.status == 0 else [f"kernel: lean4checker rejects it: {shown(claim.messages)}"]


def fetched_for(folder: Path, project: Mapping[str, bytes], originals: Mapping[str, bytes]) -> bool:
    """Whether a folder holds what fetch_project made of these files."""
    mark = folder / _FETCHED
    return mark.is_file() and mark.read_text(encoding="utf-8") == listing_sha256({**project, **originals})


def _lake(arguments: Sequence[str], folder: Path, time_s: int) -> "subprocess.CompletedProcess[bytes]":
    lake = shutil.which("lake") or shutil.which("lake", path=str(Path.home() / ".elan" / "bin"))
    if lake is None:
        raise DataError("this task is a Lean project, and there is no `lake` here: install Lean (elan) and lean4export")
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(lake).parent), os.environ.get("PATH", "")])}
    started = subprocess.Popen(
        [lake, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        start_new_session=True,
    )
    try:
        out, err = started.communicate(timeout=time_s)
    except subprocess.TimeoutExpired as exc:
        raise StoppedError(f"lake {arguments[0]} took more than {time_s} s; no verdict") from exc
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)  # whatever it started ends with it
        started.wait()
    return subprocess.CompletedProcess(list(arguments), started.returncode, out, err)


def _said(arguments: Sequence[str], folder: Path) -> str:
    done = _lake(arguments, folder, _ASK_S)
    if done.returncode != 0:
        raise DataError(f"lake {' '.join(arguments)} ended with {done.returncode}: {_errors(done)[-1]}")
    return done.stdout.decode("utf-8", "replace").strip()


def _tool(name: str, folder: Path) -> Path:
    """A program of the project's, or else of the PATH."""
    for path in sorted(folder.glob(f".lake/packages/*/.lake/build/bin/{name}")):
        return path.resolve()
    found = shutil.which(name)
    if found is None:
        raise DataError(f"this task needs `{name}`: build it with the project's own Lean and put it on the PATH")
    return Path(found).resolve()


def _errors(done: "subprocess.CompletedProcess[bytes]") -> tuple[str, ...]:
    text = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")
    found = [match[1] for line in text.splitlines() if (match := _ERROR.match(line.strip())) and "warning:" not in line]
    return tuple(dict.fromkeys(found)) or (f"lake build ended with {done.returncode}: {' '.join(text.split())[-300:]}",)
