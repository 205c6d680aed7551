"""Task packages: a folder with the targets, what is pinned, and the files a participant may rewrite.

    TASK/
      task.toml      what is asked, and the hashes of all that must not change
      background/    pinned files; whatever they declare costs only its use
      original/      the editable files as they were
      work/          the participant's versions, same names (absent: the original)
      project/       only of tasks with a lakefile: its other files, pinned

The task's SHA-256 covers task.toml and every file that it pins, not work/.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proverbench.compression.hashing import sha256_hex
from proverbench.errors import DataError
from proverbench.shipped import shipped

ALLOWED_AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
PINNED_FOLDERS = ("background", "original", "project")
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class TaskFile(BaseModel):
    """What task.toml says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[2]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    title: str = ""
    kind: Literal["prelude", "lake"]
    """``prelude``: self-contained files; ``lake``: a project with a lakefile and the user's Lean."""
    lean: str
    """Version of Lean that the hashes were made with."""
    targets: Annotated[list[str], Field(min_length=1)]
    editable: Annotated[list[str], Field(min_length=1)]
    """Paths below original/ and work/."""
    background: list[str] = []
    """Constants of the editable files whose use is free; they are frozen."""
    original_count: Annotated[int, Field(ge=1)]
    sharing_count: Annotated[int, Field(ge=1)]
    """What the automatic sharing pass makes of the originals: a reference, no participant."""
    heartbeats: Annotated[int, Field(ge=1)] = 200_000_000
    time_s: Annotated[int, Field(ge=1)] = 600
    memory_mb: Annotated[int, Field(ge=2_600)] = 8_192
    disk_mb: Annotated[int, Field(ge=16)] = 64
    provided: dict[str, _Sha256] = {}
    """Constant that the background files declare (``prelude`` only) → hash of its type and value."""
    statements: dict[str, _Sha256]
    """Target → hash of its statement."""
    frozen: dict[str, _Sha256] = {}
    """Definition that a statement rests on, or background constant → hash of what it means."""
    files: dict[str, _Sha256]
    """Pinned path → SHA-256 of its bytes."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task with the bytes of everything that it pins."""

    spec: TaskFile
    toml: bytes
    files: Mapping[str, bytes]
    """Pinned path → content."""
    sha256: str

    @property
    def original(self) -> dict[str, bytes]:
        """The editable files as they were."""
        return {path: self.files[f"original/{path}"] for path in self.spec.editable}

    def below(self, folder: str) -> dict[str, bytes]:
        """The pinned files of a folder, by their path in it."""
        prefix = f"{folder}/"
        return {path.removeprefix(prefix): data for path, data in self.files.items() if path.startswith(prefix)}


def load_task(folder: Path) -> Task:
    """Read a task package and check that nothing pinned has changed.

    Raises:
        DataError: With a line for each fault.
    """
    toml = _read(folder / "task.toml", f"{folder} is not a task package: wanted a folder with a task.toml")
    present: dict[str, bytes] = {}
    for top in PINNED_FOLDERS:
        for path in sorted((folder / top).rglob("*")):
            if path.is_file() or path.is_symlink():
                present[path.relative_to(folder).as_posix()] = b"" if path.is_symlink() else path.read_bytes()
    return task_from_files(toml, present, source=str(folder))


def task_from_files(toml: bytes, present: Mapping[str, bytes], *, source: str) -> Task:
    """A task from its files' bytes.

    Args:
        toml: task.toml.
        present: Files below the pinned folders, by path.
        source: Names the task in messages.

    Raises:
        DataError: As :func:`load_task`.
    """
    spec = parse_task(toml, source=f"{source}/task.toml")
    faults = [f"{source}/{path}: is not among the task's pinned files" for path in present if path not in spec.files]
    for path, wanted in spec.files.items():
        faults += _path_faults(path, source)
        if path not in present:
            faults.append(f"{source}/{path}: missing")
        elif (found := sha256_hex(present[path])) != wanted:
            faults.append(f"{source}/{path}: changed: its SHA-256 is {found}, task.toml has {wanted}")
    faults += _spec_faults(spec, source)
    if faults:
        raise DataError.of(faults)
    files = {path: present[path] for path in sorted(spec.files)}
    return Task(spec, toml, files, task_sha256(toml, files))


def task_sha256(toml: bytes, files: Mapping[str, bytes]) -> str:
    """The task's hash: of a list of all paths with their contents' hashes."""
    return listing_sha256({"task.toml": toml, **files})


def listing_sha256(files: Mapping[str, bytes]) -> str:
    """Hash of some files: of the lines ``SHA-256  path``, sorted by path."""
    lines = [f"{sha256_hex(files[path])}  {path}\n" for path in sorted(files)]
    return sha256_hex("".join(lines).encode("utf-8"))


def load_work(folder: Path, task: Task) -> tuple[dict[str, bytes], list[str]]:
    """The participant's files, and a problem for each that does not belong.

    Args:
        folder: Where they lie; a file that is absent is taken from the task's originals.
        task: The task.
    """
    sources = dict(task.original)
    problems = []
    if folder.is_dir():
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink():
                problems.append(f"work/{name}: is a symbolic link; wanted a file")
            elif path.is_file() and name in sources:
                sources[name] = path.read_bytes()
            elif path.suffix == ".lean":
                problems.append(f"work/{name}: is not an editable file of this task ({', '.join(sorted(sources))})")
    return sources, problems


def module_name(path: str) -> str:
    """The module that a file is: ``Sub/B.lean`` → ``Sub.B``."""
    return ".".join(PurePosixPath(path).with_suffix("").parts)


def render_task(spec: TaskFile) -> bytes:
    """task.toml for a task."""
    lines = ["# A task of compressionbench (docs/compression.md). Whoever changes a byte of it makes another task."]
    tables: list[str] = []
    for key, value in spec.model_dump().items():
        if isinstance(value, dict):
            tables += ["", f"[{key}]", *(f"{_quoted(name)} = {_quoted(text)}" for name, text in sorted(value.items()))]
        elif isinstance(value, list):
            items = "".join(f"\n    {_quoted(item)}," for item in value)
            lines.append(f"{key} = [{items}\n]" if items else f"{key} = []")
        else:
            lines.append(f"{key} = {_quoted(value) if isinstance(value, str) else value}")
    return "\n".join([*lines, *tables, ""]).encode("utf-8")


def _quoted(text: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which JSON leaves bare.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse_task(toml: bytes, *, source: str) -> TaskFile:
    """What a task.toml says.

    Raises:
        DataError: With a line for each fault.
    """
    try:
        found = tomllib.loads(toml.decode("utf-8-sig"))
        if found.get("format") == 1:
            raise DataError(
                f"{source}: format 1, whose hashes compare proofs inside definitions; make the task anew with "
                "`compressionbench new`"
            )
        return TaskFile.model_validate(found)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise DataError(f"{source}: cannot be read: {exc}") from exc
    except ValidationError as exc:
        raise DataError.of(
            f"{source}: {'.'.join(str(part) for part in fault['loc'])}: {fault['msg']} (found {fault['input']!r:.80})"
            for fault in exc.errors()
        ) from exc


def _spec_faults(spec: TaskFile, source: str) -> list[str]:
    faults = [
        f"{source}: target {name} has no entry in [statements]" for name in spec.targets if name not in spec.statements
    ]
    faults += [
        f"{source}: editable file {path} is not pinned as original/{path}"
        for path in spec.editable
        if f"original/{path}" not in spec.files
    ]
    modules: dict[str, str] = {}
    for path in spec.files:
        top, _, rest = path.partition("/")
        if top in ("background", "original") and rest.endswith(".lean"):
            name = module_name(rest)
            if name in modules:
                faults.append(f"{source}: {path} and {modules[name]} are both module {name}")
            modules[name] = path
    return faults


def _path_faults(path: str, source: str) -> Iterable[str]:
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts or "\\" in path or not parts or parts[0] not in PINNED_FOLDERS:
        yield f"{source}: {path!r} is not a path below {', '.join(PINNED_FOLDERS)}"


def _read(path: Path, otherwise: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise DataError(f"{otherwise} ({exc.strerror})") from exc


def shipped_tasks() -> dict[str, Path]:
    """Our own tasks, by name."""
    return {path.parent.name: path.parent for path in sorted(shipped("data/compression").glob("*/task.toml"))}
