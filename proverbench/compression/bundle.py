"""Submissions: one .tar.gz with everything that a stranger needs to check a count again.

    submission.json     who, what, how much, and the SHA-256 of all the rest
    task/               the task package, without work/
    sources/            the editable files, rewritten
    terms.ndjson        the kernel terms that they became
    log/                the participant's log, if one was given

The same content gives the same bytes: members sorted, no times, no owners.
"""

import gzip
import io
import json
import math
import tarfile
import unicodedata
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proverbench.compression.checking import SCORER, Check
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.tasks import Task, listing_sha256, task_from_files
from proverbench.errors import DataError

_LARGEST_PACKED, _LARGEST, _MOST_MEMBERS = 64 * 2**20, 256 * 2**20, 1_000
Kind = Literal["agent", "record"]
Track = Literal["open", "agent-60", "agent-120"]
BUDGETS: dict[Track, int | None] = {"open": None, "agent-60": 60, "agent-120": 120}
"""Track → minutes that an agent may take, None for anyone and any time."""
_LONGEST_NAME = 100
_PIECE = 1 << 16
_Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def tracks_of(kind: Kind, minutes: float | None) -> list[Track]:
    """The tracks that a run counts on: an agent's with the minutes it took, within their budgets; open always."""
    took = minutes if kind == "agent" and minutes else math.inf
    return [track for track, budget in BUDGETS.items() if budget is None or 0 < took <= budget]


def track_of(given: str, minutes: float | None) -> tuple[Kind, Track]:
    """What ``--track`` means: the kind of run, and the narrowest track that it is handed in for."""
    if given in ("record", "open"):
        return "record", "open"
    if given == "agent":
        return "agent", min(tracks_of("agent", minutes), key=lambda track: BUDGETS[track] or math.inf)
    return "agent", "agent-60" if given == "agent-60" else "agent-120"


def name_fault(name: str) -> str | None:
    """What is wrong with an agent's name; None if nothing is."""
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name.isspace():
        return f"wanted 1 to {_LONGEST_NAME} characters that can be shown"
    if any(unicodedata.category(char) in ("Cf", "Cc", "Co", "Cs", "Cn") for char in name):
        return "holds a character that is not shown, or turns the direction of writing"
    if unicodedata.normalize("NFC", name) != name:
        return "is not in Unicode's composed form (NFC)"
    return None


def effort_faults(kind: Kind, track: Track, minutes: float | None) -> list[str]:
    """What does not fit in what is said of a run's kind, track and minutes."""
    faults = []
    if minutes is not None and not (math.isfinite(minutes) and minutes >= 0):
        faults.append(f"minutes {minutes:g}: wanted a number of minutes")
    elif track not in tracks_of(kind, minutes):
        said = "unsaid" if minutes is None else f"{minutes:g}"
        faults.append(f"track {track} is for agents within {BUDGETS[track]} minutes; this is: {kind}, minutes {said}")
    return faults


class SubmissionFile(BaseModel):
    """What submission.json says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[2] = 2
    task: str
    task_sha256: _Sha256
    agent: str
    kind: Kind
    """``agent``: a model alone; ``record``: any means."""
    track: Track
    """The narrowest track that it was handed in for; it counts on all that its minutes fit."""
    budget_minutes: int | None
    minutes: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    """What the participant says it took; None when unsaid."""
    tokens: dict[str, Any] | None
    """The participant's own account of tokens, unread."""
    scorer: str
    kernel: str
    count: Annotated[int, Field(ge=1)]
    original_count: Annotated[int, Field(ge=1)]
    charges: dict[str, int]
    """Declaration → its nodes; they sum to ``count``."""
    files: dict[str, _Sha256]
    """Every other member of the bundle → SHA-256 of its bytes."""


@dataclass(frozen=True, slots=True)
class Extras:
    """What a participant says beside the proofs."""

    agent: str = "unnamed"
    kind: Kind = "record"
    track: Track = "open"
    minutes: float | None = None
    tokens: dict[str, Any] | None = None
    log: Mapping[str, bytes] | None = None
    """Files of the log, by path."""

    def __post_init__(self) -> None:
        """Refuse what no bundle can say, before a check is waited for.

        Raises:
            DataError: Says all that is wrong.
        """
        fault = name_fault(self.agent)
        faults = [] if fault is None else [f"--agent {self.agent!r}: {fault}"]
        faults += [f"--track or --minutes: {fault}" for fault in effort_faults(self.kind, self.track, self.minutes)]
        if faults:
            raise DataError.of(faults)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A submission as read: every member's bytes, and what they mean."""

    sha256: str
    """Of the .tar.gz."""
    spec: SubmissionFile
    task: Task
    sources: Mapping[str, bytes]
    terms: bytes
    problems: tuple[str, ...]
    """What does not agree with submission.json or the task: signs of tampering."""

    @property
    def sources_sha256(self) -> str:
        """Of the list of the sources' hashes."""
        return listing_sha256(self.sources)


def pack(check: Check, extras: Extras) -> bytes:
    """The .tar.gz of a valid check.

    Raises:
        DataError: If the check is not valid.
    """
    if check.verdict != "valid" or check.charge is None or check.kernel is None:
        raise DataError.of(check.problems or (f"verdict: {check.verdict}",))
    task = check.task
    members = {f"task/{path}": data for path, data in {"task.toml": task.toml, **task.files}.items()}
    members |= {f"sources/{path}": data for path, data in check.sources.items()}
    members |= {f"log/{path}": data for path, data in (extras.log or {}).items()}
    members["terms.ndjson"] = check.terms
    spec = SubmissionFile(
        task=task.spec.name,
        task_sha256=task.sha256,
        agent=extras.agent,
        kind=extras.kind,
        track=extras.track,
        budget_minutes=BUDGETS[extras.track],
        minutes=extras.minutes,
        tokens=extras.tokens,
        scorer=SCORER,
        kernel=check.kernel,
        count=check.charge.count,
        original_count=task.spec.original_count,
        charges={item.name: item.nodes for item in check.charge.items},
        files={path: sha256_hex(data) for path, data in sorted(members.items())},
    )
    text = json.dumps(spec.model_dump(), indent=1, sort_keys=True)
    return pack_members({"submission.json": text.encode("ascii") + b"\n", **members})


def pack_members(members: Mapping[str, bytes]) -> bytes:
    """A .tar.gz of some files that depends on their paths and contents alone."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(members):
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.mtime = len(members[path]), 0o644, 0
            tar.addfile(info, io.BytesIO(members[path]))
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def bundle_name(data: bytes) -> str:
    """The file name that a submission's bytes have."""
    return f"submission-{sha256_hex(data)[:16]}.tar.gz"


def unpack_members(data: bytes, *, source: str) -> dict[str, bytes]:
    """The files of a .tar.gz; only regular files with plain relative paths.

    Raises:
        DataError: If it is damaged, too large, or holds anything else.
    """
    if len(data) > _LARGEST_PACKED:
        raise DataError(f"{source}: has more than {_LARGEST_PACKED // 2**20} MiB")
    found: dict[str, bytes] = {}
    faults: list[str] = []
    stream = _Inflated(data, source)
    try:
        # A stream of pieces: nothing is held but what has been read of the members.
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if len(found) >= _MOST_MEMBERS:
                    raise DataError(f"{source}: has more than {_MOST_MEMBERS:,} members")
                parts = PurePosixPath(member.name).parts
                if not member.isreg() or not parts or member.name.startswith("/") or ".." in parts:
                    faults.append(f"{source}: member {member.name!r} is not a plain file with a relative path")
                elif member.name in found:
                    faults.append(f"{source}: member {member.name!r} is there twice")
                elif member.size > _LARGEST:
                    raise DataError(f"{source}: unpacks to more than {_LARGEST // 2**20} MiB")
                else:
                    file = tar.extractfile(member)
                    found[member.name] = file.read() if file else b""
        stream.finish()
    except (zlib.error, tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as exc:
        raise DataError(f"{source}: is not a readable .tar.gz: {exc}") from exc
    if faults:
        raise DataError.of(faults)
    return found


class _Inflated(io.RawIOBase):
    """A .gz's content, read piece by piece, no more of it than is allowed."""

    def __init__(self, data: bytes, source: str) -> None:
        self._source = source
        self._left = memoryview(data)
        self._plain = zlib.decompressobj(wbits=31)
        self._total = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many; none at the end.

        Raises:
            DataError: When there are more than a bundle may have.
        """
        wanted = size if 0 < size < _PIECE else _PIECE
        piece = b""
        while not piece and not self._plain.eof and (self._plain.unconsumed_tail or len(self._left)):
            packed = self._plain.unconsumed_tail
            if not packed:
                packed, self._left = bytes(self._left[:_PIECE]), self._left[_PIECE:]
            piece = self._plain.decompress(packed, wanted)
        self._total += len(piece)
        if self._total > _LARGEST:
            raise DataError(f"{self._source}: unpacks to more than {_LARGEST // 2**20} MiB")
        return piece

    def finish(self) -> None:
        """Read on to the end, and see that it is one.

        Raises:
            DataError: If it is cut, or something follows.
        """
        while self.read():
            pass
        if not self._plain.eof or self._plain.unused_data or self._left:
            raise DataError(f"{self._source}: is cut, or has bytes after its end")


def read_bundle(path: Path) -> Bundle:
    """Read a submission from a file; its name must be that of its bytes.

    Raises:
        DataError: If it cannot be read at all.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc
    bundle = unpack(data, source=path.name)
    if path.name != bundle_name(data):
        said = f"the file's name is {path.name}, its SHA-256 {bundle.sha256} says {bundle_name(data)}"
        return Bundle(bundle.sha256, bundle.spec, bundle.task, bundle.sources, bundle.terms, (said, *bundle.problems))
    return bundle


def unpack(data: bytes, *, source: str) -> Bundle:
    """Read a submission's bytes and compare everything in them with what they say of it.

    Raises:
        DataError: If it cannot be read at all; what can be read but disagrees is in ``problems``.
    """
    members = unpack_members(data, source=source)
    spec = _read_spec(members.pop("submission.json", None), source)
    problems = _file_problems(members, spec)
    toml = members.get("task/task.toml")
    if toml is None:
        raise DataError(f"{source}: holds no task/task.toml")
    pinned = {path.removeprefix("task/"): content for path, content in members.items() if path.startswith("task/")}
    del pinned["task.toml"]
    task = task_from_files(toml, pinned, source=f"{source}: task")
    if task.sha256 != spec.task_sha256:
        problems.append(f"task: its SHA-256 is {task.sha256}, submission.json says {spec.task_sha256}")
    if task.spec.name != spec.task:
        problems.append(f"task: is {task.spec.name}, submission.json says {spec.task}")
    if task.spec.original_count != spec.original_count:
        problems.append(
            f"original count: the task says {task.spec.original_count}, submission.json {spec.original_count}"
        )
    sources = {
        path.removeprefix("sources/"): content for path, content in members.items() if path.startswith("sources/")
    }
    if sorted(sources) != sorted(task.spec.editable):
        problems.append(f"sources: are {sorted(sources)}, the task's editable files {sorted(task.spec.editable)}")
    if sum(spec.charges.values()) != spec.count:
        problems.append(f"count: submission.json says {spec.count}, its charges sum to {sum(spec.charges.values())}")
    fault = name_fault(spec.agent)
    if fault is not None:
        problems.append(f"agent: {spec.agent[:_LONGEST_NAME]!r}: {fault}")
    problems += [f"effort: {fault}" for fault in effort_faults(spec.kind, spec.track, spec.minutes)]
    if spec.budget_minutes != BUDGETS[spec.track]:
        problems.append(f"effort: budget_minutes {spec.budget_minutes} is not that of track {spec.track}")
    return Bundle(sha256_hex(data), spec, task, sources, members.get("terms.ndjson", b""), tuple(problems))


def _read_spec(data: bytes | None, source: str) -> SubmissionFile:
    if data is None:
        raise DataError(f"{source}: holds no submission.json")
    try:
        found = SubmissionFile.model_validate_json(data)
        _refuse_doubled_keys(data)
        return found
    except ValueError as exc:
        if not isinstance(exc, ValidationError):
            raise DataError(f"{source}: submission.json: {exc}") from exc
        raise DataError.of(
            f"{source}: submission.json: {'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in exc.errors()
        ) from exc


def _refuse_doubled_keys(data: bytes) -> None:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) != len(items):
            raise ValueError("a key is there twice")
        return dict(items)

    json.loads(data, object_pairs_hook=pairs)


def _file_problems(members: Mapping[str, bytes], spec: SubmissionFile) -> list[str]:
    problems = [f"{path}: is not listed in submission.json" for path in sorted(members) if path not in spec.files]
    for path, wanted in sorted(spec.files.items()):
        if path not in members:
            problems.append(f"{path}: is missing")
        elif (found := sha256_hex(members[path])) != wanted:
            problems.append(f"{path}: changed: its SHA-256 is {found}, submission.json says {wanted}")
    return problems


def read_log(folder: Path) -> dict[str, bytes]:
    """A participant's log.

    Raises:
        DataError: If it is not a folder of plain files.
    """
    if not folder.is_dir():
        raise DataError(f"--log {folder}: is not a directory")
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise DataError(f"--log {path}: is a symbolic link; wanted plain files")
        if path.is_file():
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def read_tokens(path: Path) -> dict[str, Any]:
    """A participant's account of tokens.

    Raises:
        DataError: If it is not a JSON object.
    """
    try:
        found = json.loads(path.read_bytes())
    except OSError as exc:
        raise DataError(f"--tokens-json {path}: cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise DataError(f"--tokens-json {path}: is not JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise DataError(f"--tokens-json {path}: holds no JSON object but {type(found).__name__}")
    return found
