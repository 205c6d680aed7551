"""A run open for writing: made, resumed and grown here, by one process at a time."""

import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from proverbench.errors import JournalError, RunMismatchError
from proverbench.protocols.prompts import Template
from proverbench.records import (
    GIVEN,
    AttemptLine,
    BatchLine,
    CallKey,
    CallLine,
    Extent,
    FinalLine,
    Identity,
    Line,
    Manifest,
    Role,
    Row,
    SessionLine,
    ShardPlace,
)
from proverbench.run.disk import CALLS, LOCK, SEAL, disk, write_whole
from proverbench.run.inputs import INPUTS, NEXT_INPUTS, encode_rows, finish_growth
from proverbench.run.journal import Journal, now, write_lines
from proverbench.run.lock import RunLock
from proverbench.run.looks import size_of
from proverbench.run.manifest import FORMAT_VERSION, MANIFEST, PROMPTS, PROTOCOL_FILE, pretty, run_id
from proverbench.run.reading import open_calls
from proverbench.run.regular import read_regular
from proverbench.run.sources import PROMPT_FILES, SUMMARY, Sources


@dataclass(frozen=True)
class Draft:
    """Everything a run is made of before its first call; nothing of it is on disk yet."""

    identity: Identity
    extent: Extent
    operation: dict[str, Any]
    rows: Sequence[Row]
    templates: Mapping[Role, Template]
    lines: Iterable[Line] = ()
    """What calls.jsonl begins with: given proofs (``--proofs``) as answered policy calls, or lines of other runs."""
    shard_place: ShardPlace | None = None
    """Of a shard: where its rows stand."""
    protocol_text: str | None = None
    """Of a protocol that the user declared: its file."""
    format_version: int = FORMAT_VERSION
    """Of a run that there is already, its own: replies go on being read as its judges were shown them."""

    @cached_property
    def inputs(self) -> bytes:
        """Content of inputs.jsonl."""
        return encode_rows(self.rows)

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of the run."""
        return Manifest(
            format_version=self.format_version,
            run_id=run_id(self.identity, self.extent),
            identity=self.identity,
            extent=self.extent,
            inputs_sha256=hashlib.sha256(self.inputs).hexdigest(),
            shard_place=self.shard_place,
            operation=self.operation,
        )


class Session:
    """A run that this process alone may write.

    Nothing is written to calls.jsonl before there is something to say: a session that asks nothing leaves the folder
    as it was.

    Args:
        path: The run's folder; it exists.
        on_start: Called when the first call is about to be asked, with the run's sources.
        lock: The run's lock, where the caller holds it already; taken here otherwise.

    Raises:
        JournalError: If another process writes it, or it is damaged.
    """

    def __init__(
        self,
        path: Path,
        *,
        on_start: Callable[[Sources], object] | None = None,
        lock: RunLock | None = None,
    ) -> None:
        self.path = path
        self._on_start = on_start
        self._lock = lock or RunLock(path)
        try:
            finish_growth(path)
            self.journal = Journal(path)  # first: it makes the file that the sources read, and mends its tail
            try:
                self.sources = Sources(path)
            except BaseException:
                self.journal.close()
                raise
        except BaseException:
            self._lock.release()
            raise
        self._started = False
        self._said_start = False

    @classmethod
    def create(cls, path: Path, draft: Draft, *, on_start: Callable[[Sources], object] | None = None) -> "Session":
        """Make the folder of a new run and open it.

        The manifest comes last: before it is there, the folder is no run, and making it again starts afresh.

        Raises:
            RunMismatchError: If the folder exists and is not empty, or cannot be made.
            JournalError: If it cannot be written.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            refuse_taken(path)
            raise _cannot_make(path, exc) from exc
        refuse_taken(path)
        lock = RunLock(path)
        try:
            refuse_taken(path)  # again: another process may just have made a run of it
            prompts = path / PROMPTS
            with disk(prompts):
                prompts.mkdir(exist_ok=True)
            for role, template in draft.templates.items():
                write_whole(prompts / PROMPT_FILES[role], template.text.encode())
            if draft.protocol_text is not None:
                write_whole(path / PROMPTS / PROTOCOL_FILE, draft.protocol_text.encode())
            write_whole(path / INPUTS, draft.inputs)
            write_lines(path, draft.lines)
            write_whole(path / MANIFEST, pretty(draft.manifest))
        except BaseException:
            lock.release()
            raise
        return cls(path, on_start=on_start, lock=lock)

    def check_growth(self, draft: Draft) -> None:
        """Make sure that the run may become ``draft``: the same identity but for new roles, and no smaller extent.

        Raises:
            RunMismatchError: Names every difference that is not allowed.
            JournalError: If calls.jsonl is damaged.
        """
        self.sources.refresh()
        if faults := growth_faults(self.sources, draft):
            raise RunMismatchError(
                "\n".join([f"{self.path} cannot be resumed so; start a new run for it, or drop the option:", *faults])
            )

    def lacks_anything(self, draft: Draft) -> bool:
        """Whether there may be something to ask once the run has become ``draft``; closed calls are asked again."""
        if draft.manifest.run_id != self.sources.manifest.run_id:
            return True
        roles = self.sources.manifest.identity.roles
        return any(roles[key.role].kind != GIVEN for key in open_calls(self.sources, closed_too=True))

    def grow(self, draft: Draft) -> None:
        """Take on a draft's extent and operation.

        Raises:
            JournalError: If the disk refuses it.
        """
        old = self.sources.manifest
        if draft.manifest == old:
            return
        if size_of(draft.extent) != size_of(old.extent) and next(open_calls(self.sources), None) is None:
            self._say_start(
                draft.operation, grown_from=old.extent
            )  # at once: killed before its first call, it is a look
        for role, template in draft.templates.items():
            if role not in self.sources.templates:
                write_whole(self.path / PROMPTS / PROMPT_FILES[role], template.text.encode())
        if draft.manifest.run_id != old.run_id:
            self._withdraw_summary()
        # The new rows lie beside the old ones until the manifest, in one step, says which are meant.
        if draft.manifest.inputs_sha256 != old.inputs_sha256:
            write_whole(self.path / NEXT_INPUTS, draft.inputs)
        write_whole(self.path / MANIFEST, pretty(draft.manifest))
        finish_growth(self.path)
        self.sources.close()
        self.sources = Sources(self.path)

    def _withdraw_summary(self) -> None:
        """Before the run becomes one that lacks something: no summary on disk says that it is complete."""
        file = self.path / SUMMARY
        with disk(file):
            try:
                says_complete = msgspec.json.decode(read_regular(file), type=_Completeness).complete
            except FileNotFoundError:
                return
            except msgspec.DecodeError:
                says_complete = True  # whatever it says, it is no summary
            if says_complete:
                file.unlink()

    @property
    def started(self) -> bool:
        """Whether this session asked anything."""
        return self._started

    def start(self) -> None:
        """Say that this session begins to ask; closed calls are open again."""
        if not self._started:
            self._started = True
            self._withdraw_summary()
            self._say_start(self.sources.manifest.operation)
            self.sources.ledger.reopen()
            if self._on_start is not None:
                self._on_start(self.sources)

    def _say_start(self, operation: dict[str, Any], *, grown_from: Extent | UnsetType = UNSET) -> None:
        if not self._said_start:
            self._said_start = True
            self.journal.append(SessionLine(event="start", at=now(), operation=operation, grown_from=grown_from))

    def reopen_closed(self) -> None:
        """Before the calls to ask are listed: what ``--final`` closed is open again, on disk too."""
        if self.sources.ledger.any_closed():
            self.start()

    def answered(self, line: CallLine) -> None:
        """Keep an answer."""
        self.sources.ledger.answer(line.key, self.journal.append(line))

    def unanswered(self, line: AttemptLine) -> None:
        """Keep the failure of a call."""
        self.journal.append(line)

    async def batch(self, line: BatchLine) -> None:
        """Keep what happened to a batch; it is on the disk itself when this returns.

        Raises:
            JournalError: If the disk refuses it.
        """
        self.journal.append(line)
        await self.journal.sync()

    def close_unanswered(self, keys: Sequence[CallKey]) -> None:
        """Write the ``final`` line: these calls count as zero credit."""
        self.journal.append(FinalLine(at=now(), keys=[key.text for key in keys]))
        for key in keys:
            self.sources.ledger.close(key)

    async def stop(self, reason: str) -> None:
        """Say why the session stopped, if it asked anything or grew the run, and sync.

        Raises:
            JournalError: If the disk refuses it.
        """
        if self._said_start:
            with suppress(JournalError):  # a full disk was told already, by the answer that did not fit
                self.journal.append(SessionLine(event="stop", at=now(), reason=reason))
        await self.journal.aclose()

    def release(self) -> None:
        """Close the files and let others write the run.

        Raises:
            JournalError: If what was written last cannot be synced.
        """
        self.sources.close()
        try:
            self.journal.close()
        finally:
            self._lock.release()


class _Completeness(msgspec.Struct):
    """The one field of a summary that matters here."""

    complete: bool


def refuse_taken(path: Path) -> None:
    """Only a folder that is empty, or in which a run was begun but never finished making, becomes a run.

    Raises:
        RunMismatchError: If there is anything else at ``path``, or can never be a folder there.
        JournalError: If it cannot be read.
    """
    try:
        path.lstat()  # exists() also says no of what can never be made, such as a link to nowhere
    except FileNotFoundError:
        return
    except OSError as exc:
        raise _cannot_make(path, exc) from exc
    if not path.is_dir():
        raise RunMismatchError(f"{path} is no folder; give another --output")
    with disk(path):
        names = {entry.name.removesuffix(".tmp") for entry in path.iterdir()}
    if names - {PROMPTS, INPUTS, CALLS, SEAL, LOCK, MANIFEST} or (path / MANIFEST).exists():
        raise RunMismatchError(
            f"{path} exists and is not empty; give another --output, or --resume {shlex.quote(str(path))}"
        )


def _cannot_make(path: Path, exc: OSError) -> RunMismatchError:
    return RunMismatchError(f"cannot make the run's folder {path}: {exc.strerror}; give another --output")


def identity_differences(old: Identity, new: Identity, *, first: str = "the run has", second: str = "now") -> list[str]:
    """What differs between two identities, a line each; roles that only one of them has do not count.

    Args:
        old: One of them.
        new: The other.
        first: Says whose the value of ``old`` is.
        second: Says whose that of ``new`` is.
    """
    faults = []
    for name in old.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if name in ("roles", "prompt_sha256"):
            faults += [
                f"  {name}.{role}: {first} {value!r}, {second} {after[role]!r}"
                for role, value in before.items()
                if role in after and after[role] != value
            ]
        elif name == "own_prompts":
            continue  # follows from the prompts' hashes
        elif before != after:
            faults.append(f"  {name}: {first} {before!r}, {second} {after!r}")
    return faults


def growth_faults(sources: Sources, draft: Draft) -> list[str]:
    """What keeps a run from becoming ``draft``, a line each."""
    return [
        *identity_differences(sources.manifest.identity, draft.identity),
        *_shrinking(sources, draft),
        *_other_format(sources.manifest, draft),
    ]


def _other_format(manifest: Manifest, draft: Draft) -> list[str]:
    """A run keeps the format that it was made with: its judges were shown proofs as that reads them."""
    if draft.format_version == manifest.format_version:
        return []
    return [f"  format_version: the run has {manifest.format_version}, now {draft.format_version}"]


def _shrinking(sources: Sources, draft: Draft) -> list[str]:
    old, new = sources.manifest.extent, draft.extent
    faults = [
        f"  {name}: the run has {getattr(old, name)}, now {getattr(new, name)}; a run can only grow"
        for name in ("samples", "verifier_repeats")
        if getattr(new, name) < getattr(old, name)
    ]
    if old.meta and not new.meta:
        faults.append("  meta: the run asks the meta-verifier; a run can only grow")
    if old.shard != new.shard:
        faults.append(f"  shard: the run has {old.shard}, now {new.shard}")
    kept = set(map(str, draft.rows))
    missing = sum(1 for row in sources.rows if str(row) not in kept)
    if missing:
        faults.append(f"  rows: {missing} of the run's {len(sources.rows)} rows are not selected any more")
    return faults
