"""Receipts from folders, for the ranking and the report: those that count, and the others with the reason."""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proverbench.compression.bundle import effort_faults, name_fault, tracks_of
from proverbench.compression.ranking import RankedTask, Run
from proverbench.compression.receipts import Receipt, read_receipt, receipt_problems
from proverbench.compression.tasks import Task, load_task
from proverbench.compression.verifying import OWN
from proverbench.errors import DataError


@dataclass(frozen=True, slots=True)
class Apart:
    """A receipt that has no place in the ranking."""

    receipt: str
    """Its file."""
    reason: str
    agent: str = ""
    task: str = ""
    count: int | None = None
    """What it states, unvouched."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What some receipts come to."""

    runs: Sequence[Run]
    apart: Sequence[Apart]


class RankingFile(BaseModel):
    """What a ranking.toml says: the organiser's choice of what counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: Annotated[list[str], Field(min_length=1)]
    """Folders of tasks, relative to the file."""
    trust: Annotated[list[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]], Field(min_length=1)]
    """Public keys in hexadecimal."""
    until: datetime | None = None
    """Receipts that were made later do not count."""


def read_ranking_file(path: Path) -> RankingFile:
    """Read a ranking.toml.

    Raises:
        DataError: With a line for each fault.
    """
    try:
        return RankingFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise DataError(f"{path}: cannot be read: {exc}") from exc
    except ValidationError as exc:
        raise DataError.of(
            f"{path}: {'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in exc.errors()
        ) from exc


def read_task_set(folders: Iterable[Path]) -> dict[str, Task]:
    """The tasks in some folders: task folders, or folders that hold such; by SHA-256.

    Raises:
        DataError: If one holds no task, or a task is damaged.
    """
    found: dict[str, Task] = {}
    for folder in folders:
        places = [folder] if (folder / "task.toml").is_file() else sorted(x.parent for x in folder.glob("*/task.toml"))
        if not places:
            raise DataError(f"{folder}: holds no task (a folder with a task.toml)")
        for place in places:
            task = load_task(place)
            found[task.sha256] = task
    return found


def ranked_tasks(tasks: Mapping[str, Task]) -> list[RankedTask]:
    """The columns of a ranking."""
    return [
        RankedTask(sha256, task.spec.name, task.spec.original_count, task.spec.sharing_count)
        for sha256, task in tasks.items()
    ]


def collect_runs(
    paths: Sequence[Path], *, tasks: Mapping[str, Task], trusted: Collection[str], until: datetime | None = None
) -> Collected:
    """The runs that some receipts vouch for, and why others have no place.

    Args:
        paths: Receipts, or folders that are searched for receipt-*.json.
        tasks: The organiser's set, by SHA-256; empty: nothing has a place.
        trusted: Public keys in hexadecimal; empty: nothing has a place.
        until: The last moment at which a receipt may have been made.
    """
    sound: dict[str, list[tuple[Path, Receipt]]] = {}
    apart: list[Apart] = []
    for path in receipt_files(paths):
        try:
            receipt = read_receipt(path)
        except DataError as exc:
            apart += [Apart(str(path), line.removeprefix(f"{path}: ")) for line in str(exc).split("\n")]
            continue
        reason = _reason_against(receipt, tasks, trusted, until)
        if reason is not None:
            apart.append(_apart(path, receipt, reason))
        else:
            sound.setdefault(receipt.parts["submission"]["sha256"], []).append((path, receipt))
    runs: list[Run] = []
    for found in sound.values():
        first = found[0][1]
        if any(_outcome(receipt) != _outcome(first) for _, receipt in found):
            apart += [_apart(path, receipt, "trusted receipts of this submission disagree") for path, receipt in found]
        else:
            runs.append(run_of(first))
            apart += [_apart(path, receipt, "this submission counts already") for path, receipt in found[1:]]
    return Collected(runs, apart)


def _reason_against(
    receipt: Receipt, tasks: Mapping[str, Task], trusted: Collection[str], until: datetime | None
) -> str | None:
    parts = receipt.parts
    problems = receipt_problems(receipt)
    if problems:
        return problems[0]
    if receipt.signature is None:
        return "unsigned: nobody vouches for it"
    if receipt.signature.public_key not in trusted:
        return f"signed by {receipt.signature.public_key}, who is not trusted here (--trust)"
    task = tasks.get(parts["task"]["sha256"])
    if task is None:
        return f"its task {parts['task']['sha256']} is not in the set (--tasks)"
    if parts["verifier"]["task_source"] == OWN:
        return "verified against the bundle's own task"
    if parts["verifier"]["isolation"] in ("none", "nothing was run") and receipt.valid:
        return "verified without isolation (--unsafe)"
    submission = parts["submission"]
    faults = [] if name_fault(submission["agent"]) is None else ["its agent's name cannot be shown"]
    faults += effort_faults(submission["kind"], submission["track"], submission["minutes"])
    if receipt.valid and parts["scores"]["count"] is None:
        faults.append("valid, but without a count")
    if faults:
        return faults[0]
    return None if until is None else _lateness(receipt.verified_at, until)


def _lateness(verified_at: str, until: datetime) -> str | None:
    try:
        made = datetime.fromisoformat(verified_at)
        late = made.astimezone() > until.astimezone()
    except (ValueError, OverflowError):
        return f"its time {verified_at!r:.40} cannot be read"
    return f"late: made {verified_at}, after {until.isoformat()}" if late else None


def _outcome(receipt: Receipt) -> tuple[object, object]:
    return receipt.parts["verdict"]["verdict"], receipt.parts["scores"]["count"]


def _apart(path: Path, receipt: Receipt, reason: str) -> Apart:
    parts = receipt.parts
    return Apart(str(path), reason, parts["submission"]["agent"], parts["task"]["name"], parts["scores"]["count"])


def receipt_files(paths: Iterable[Path]) -> list[Path]:
    """The receipts among some files and folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(path.rglob("receipt-*.json"))
        elif path.is_file():
            found.append(path)
        else:
            raise DataError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


def run_of(receipt: Receipt) -> Run:
    """What the ranking needs of a receipt."""
    parts = receipt.parts
    submission = parts["submission"]
    return Run(
        agent=submission["agent"],
        task=parts["task"]["sha256"],
        count=parts["scores"]["count"] if receipt.valid else None,
        submission=submission["sha256"],
        tracks=tracks_of(submission["kind"], submission["minutes"]),
    )
