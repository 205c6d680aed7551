"""The four sources of a run's folder, read: manifest.json, inputs.jsonl, prompts/, calls.jsonl.

Everything else in the folder is derived from these (derive.py).
"""

import difflib
import hashlib
import os
import shlex
import weakref
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.endpoints.kinds.registry import known_kind, no_such_kind
from proverbench.errors import JournalError, PromptError, RunMismatchError
from proverbench.protocols.declared import as_protocol, declare
from proverbench.protocols.prompts import Template
from proverbench.protocols.registry import known_protocol, no_such_protocol
from proverbench.records import (
    GIVEN,
    Extent,
    Facts,
    Generation,
    Identity,
    Line,
    Manifest,
    Role,
    RoleIdentity,
    Row,
)
from proverbench.run.calls import CallsReader, Ledger
from proverbench.run.disk import CALLS, disk
from proverbench.run.extent import Plan
from proverbench.run.regular import open_regular
from proverbench.run.replies import ReplyReader

MANIFEST = "manifest.json"
INPUTS = "inputs.jsonl"
SUMMARY = "summary.json"
NEXT_INPUTS = "inputs.jsonl.next"
"""The rows of a run that is about to grow; they become INPUTS once the manifest means them."""
PROMPTS = "prompts"
PROTOCOL_FILE = "protocol.toml"
"""In that folder: the protocol that the user declared, where one was."""
SHARDS = "shards"
"""Where a cluster's workers write; taken into the run at its end (executors/shards.py)."""
FORMAT_VERSION = 2
"""Of the runs that are made now; version 1 kept the white space at the start of a step (``Manifest.strips_steps``)."""
_SHOWN_RUNS = 5
"""So many runs at most are named where there is none of the name given."""

PROMPT_FILES: dict[Role, str] = {"policy": "generation.txt", "verifier": "verifier.txt", "meta": "meta.txt"}
"""Role → the name of its template, under prompts/ of the project and of a run."""


def run_id(identity: Identity, extent: Extent) -> str:
    """SHA-256 of identity and extent as compact JSON with sorted keys."""
    canonical = msgspec.json.encode({"extent": extent, "identity": identity}, order="deterministic")
    return hashlib.sha256(canonical).hexdigest()


def pretty(value: object) -> bytes:
    """JSON for people and for byte-wise comparison: indented, keys in the order of the model, one final newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Content of inputs.jsonl."""
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(row) + b"\n" for row in rows)


class Sources:
    """A run's sources, as they are on disk at this moment.

    Args:
        path: The run's folder.

    Attributes:
        manifest: What was asked.
        rows: The selected rows, in data order.
        templates: Role → the template as used; a role is absent when it has none here (an imported run).
        plan: The calls, numbered.
        calls: Reads their lines.
        reader: Reads their replies.

    Raises:
        RunMismatchError: If the folder is no run.
        JournalError: If a source but calls.jsonl is damaged; names the file and line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        while True:
            self.manifest = read_manifest(path)
            try:
                self._read_parts()
                break
            except JournalError:
                if read_manifest(path) == self.manifest:
                    raise  # it did not just grow between the two looks at it
        self.calls = CallsReader(path / CALLS)
        self._ledger: Ledger | None = None

    @property
    def ledger(self) -> Ledger:
        """Which calls are answered; the file is read through when this is first looked at.

        Raises:
            JournalError: If a line of calls.jsonl is damaged; names its number.
        """
        if self._ledger is None:
            self._ledger = self._read_ledger(None)
        return self._ledger

    def read_through(self, observe: Callable[[Facts], object]) -> None:
        """Show every line of calls.jsonl, in order; where the ledger is still to be made, that is done on the way.

        Raises:
            JournalError: If a line of calls.jsonl is damaged; names its number.
        """
        if self._ledger is None:
            self._ledger = self._read_ledger(observe)
        else:
            for line in self.calls.facts():
                observe(line)

    def _read_ledger(self, observe: Callable[[Line], object] | None) -> Ledger:
        ledger = self.calls.ledger(self.plan, observe)
        self._refuse_shrunk(ledger)
        return ledger

    def _refuse_shrunk(self, ledger: Ledger) -> None:
        """What no seal shows, of a run of an older version: that calls are gone which the summary counts."""
        if ledger.checker.unsealed < ledger.checker.lines or self.calls.kept() is not None:
            return
        try:
            summary = msgspec.json.decode((self.path / SUMMARY).read_bytes(), type=_Counted)
        except (OSError, msgspec.DecodeError):
            return  # nothing is known of what there was
        if summary.run_id != self.manifest.run_id:
            return  # it is of the run before it grew
        faults = [
            f"  {role}: {SUMMARY} counts {usage.calls:,} answered calls, {CALLS} has {ledger.count(role):,}"
            for role, usage in summary.usage.items()
            if self.plan.size(role) and ledger.count(role) < usage.calls
        ]
        if faults:
            raise JournalError(
                "\n".join(
                    [
                        f"{self.path / CALLS} lacks calls that were answered:",
                        *faults,
                        "Put a whole copy of it back. Or go on with what is left: "
                        f"proverbench score {shlex.quote(str(self.path))} --accept-loss writes down what is lost, and "
                        "--resume can then ask those calls again",
                    ]
                )
            )

    def _read_parts(self) -> None:
        path = self.path
        self.rows = Inputs(path, self.manifest)
        self.protocol_text = _declared_text(path, self.manifest.identity)
        declared = None
        if self.protocol_text is not None:
            declared = as_protocol(declare(self.protocol_text, str(path / PROMPTS / PROTOCOL_FILE)), self.protocol_text)
        self.reader = ReplyReader(self.manifest, declared)
        try:
            self.templates = {
                role: Template.load(role, path / PROMPTS / PROMPT_FILES[role], self.reader.protocol)
                for role in self.manifest.identity.prompt_sha256
                if (path / PROMPTS / PROMPT_FILES[role]).is_file()
            }
        except PromptError as exc:
            raise JournalError(str(exc)) from exc
        for role, template in self.templates.items():
            if template.sha256 != self.manifest.identity.prompt_sha256[role]:
                raise JournalError(
                    f"{template.source} is not the prompt that the run was made with (its SHA-256 is not the one in "
                    f"{MANIFEST}); put the original back"
                )
        self.plan = Plan(
            self.rows, self.manifest.extent, judged_only=not benchmark_of(self.manifest.identity.task).samples
        )
        self.latest_proof: tuple[int, Generation] | None = None
        """The proof that was read last, and its number: it is wanted several times in a row (reading.proof_steps)."""

    def refresh(self) -> None:
        """Take into account what was written since; a run that grew meanwhile has its new rows and calls.

        All of calls.jsonl has been read, and found sound, when this returns.

        Raises:
            JournalError: If a source is damaged.
        """
        manifest = read_manifest(self.path)
        if manifest.run_id != self.manifest.run_id:
            self.manifest, before = manifest, self.rows
            self._read_parts()
            before.close()
            self._ledger = None
        self.calls.update(self.ledger)

    def close(self) -> None:
        """Close the files."""
        self.calls.close()
        self.rows.close()


class _CountedCalls(msgspec.Struct):
    calls: int


class _Counted(msgspec.Struct):
    """What a summary says of how many calls were answered."""

    run_id: str
    usage: dict[Role, _CountedCalls]


def read_manifest(path: Path) -> Manifest:
    """The manifest of the run at ``path``.

    Raises:
        RunMismatchError: If the folder is no run.
        JournalError: If its manifest is damaged or too new.
    """
    file = path / MANIFEST
    try:
        with open(file, "rb", opener=open_regular) as stream:
            raw = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        raise RunMismatchError(_no_run(path)) from None
    except OSError as exc:
        raise JournalError(f"cannot read {file}: {exc.strerror}") from exc
    try:
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        if b'"tool": "retrievalbench"' in raw:
            raise RunMismatchError(
                f"{path} is a run of retrievalbench; look into it with: retrievalbench report {shlex.quote(str(path))}"
            ) from None
        hint = (
            " (a run of the published evaluator? see: proverbench data import)" if b"evaluator_version" in raw else ""
        )
        raise JournalError(f"{file} is no manifest of a run: {exc}{hint}") from exc
    if manifest.format_version > FORMAT_VERSION:
        raise JournalError(
            f"{file} has format version {manifest.format_version}; this version reads up to {FORMAT_VERSION}: upgrade"
        )
    try:
        msgspec.convert(manifest.operation, _Operation)
    except msgspec.ValidationError as exc:
        raise JournalError(f"{file}: operation: {exc}; the manifest was changed") from None
    needed = benchmark_of(manifest.identity.task).asked(meta=manifest.extent.meta, given=False)
    if lacking := [role for role in needed if role not in manifest.identity.roles]:
        raise JournalError(f"{file}: identity.roles lacks {', '.join(lacking)}; the manifest was changed")
    _check_identity(raw, manifest, file)
    return manifest


def _declared_text(path: Path, identity: Identity) -> str | None:
    """The file that declares a run's protocol; None where it is one of this version's.

    Raises:
        JournalError: If it is not there, or was changed.
    """
    if identity.protocol_sha256 is msgspec.UNSET:
        return None
    file = path / PROMPTS / PROTOCOL_FILE
    try:
        raw = file.read_bytes()
    except OSError as exc:
        raise JournalError(f"cannot read {file}, which says how replies are to be read: {exc.strerror}") from exc
    if hashlib.sha256(raw).hexdigest() != identity.protocol_sha256:
        raise JournalError(
            f"{file} is not the protocol that the run was made with (its SHA-256 is not the one in {MANIFEST}); put "
            "the original back"
        )
    return raw.decode()


class _Stored(msgspec.Struct):
    """What a run's id is made of."""

    identity: dict[str, Any]
    extent: dict[str, Any]


def _check_identity(raw: bytes, manifest: Manifest, file: Path) -> None:
    """Refuse a run that this version would read by other rules than it was made with."""
    protocol = manifest.identity.protocol
    if manifest.identity.protocol_sha256 is msgspec.UNSET and known_protocol(protocol) is None:
        raise RunMismatchError(
            f"{file}: its replies are to be read by protocol {protocol!r}, which this version does not know; "
            f"{no_such_protocol(protocol)}. Upgrade proverbench"
        )
    for role, asked in manifest.identity.roles.items():
        if asked.kind != GIVEN and known_kind(asked.kind) is None:
            raise RunMismatchError(
                f"{file}: the {role} was asked at an endpoint of kind {asked.kind!r}, which this version does not "
                f"know; {no_such_kind(asked.kind)}. Upgrade proverbench"
            )
    try:
        found = stored_run_id(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:  # in a field that this version does not know
        raise JournalError(f"{file} is no manifest of a run: {exc}") from exc
    if manifest.run_id != found:
        raise JournalError(
            f"{file}: run_id is {manifest.run_id[:12]}…, but what it identifies has {found[:12]}…; the manifest was "
            "changed: put the original back, or start a new run"
        )


def stored_run_id(raw: bytes) -> str:
    """:func:`run_id` of a manifest's JSON as it is stored, with whatever fields the version that wrote it knew."""
    stored = msgspec.json.decode(raw, type=_Stored)
    identity = _in_order(stored.identity, Identity)
    if isinstance(roles := identity.get("roles"), dict):
        identity["roles"] = {role: _in_order(roles[role], RoleIdentity) for role in sorted(roles)}
    canonical = msgspec.json.encode({"extent": _in_order(stored.extent, Extent), "identity": identity})
    return hashlib.sha256(canonical).hexdigest()


def _in_order(stored: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields in the order of the struct, then those that this version does not know; what they hold, sorted."""
    names = sorted(stored, key=lambda name: (*kind.__struct_fields__, name).index(name))
    return {name: msgspec.json.decode(msgspec.json.encode(stored[name], order="sorted")) for name in names}


class _Operation(msgspec.Struct):
    """What is read back from ``Manifest.operation``, to be checked; there may be more."""

    roles: dict[str, dict[str, Any]] | None = None
    prices: dict[str, dict[str, Any]] | None = None
    concurrency: int | None = None
    max_cost_usd: float | None = None
    max_tokens_total: int | None = None
    batch: str | None = None
    looks: int | None = None
    imported: dict[str, Any] | None = None


def _no_run(path: Path) -> str:
    """What stands at a path that is no run, and which runs may be meant."""
    if not path.exists():
        fault, places = f"{path} does not exist", [path.parent, path.parent / "runs"]
    else:
        fault, places = f"{path} is no saved run: it has no {MANIFEST}", [path]
    found = {run.parent.name: run.parent for place in places for run in sorted(place.glob(f"*/{MANIFEST}"))}
    near = difflib.get_close_matches(path.name, found, n=_SHOWN_RUNS, cutoff=0.0)
    if not near:
        return fault
    more = f" and {len(found) - len(near)} more" if len(found) > len(near) else ""
    return f"{fault}; there {'are' if near[1:] else 'is'} {', '.join(str(found[name]) for name in near)}{more}"


def finish_growth(path: Path) -> None:
    """Complete or undo what a process that died left of a growing run; the caller holds the run's lock.

    Raises:
        JournalError: If the disk refuses it.
    """
    pending = path / NEXT_INPUTS
    if not pending.exists():
        return
    with disk(pending):
        if hashlib.sha256(pending.read_bytes()).hexdigest() == read_manifest(path).inputs_sha256:
            pending.replace(path / INPUTS)
        else:
            pending.unlink()


class Inputs(Sequence[Row]):
    """The rows of a run, in data order: read from the file when they are looked at, so that they take no memory.

    Args:
        path: The run's folder.
        manifest: Says which rows they are.

    Raises:
        JournalError: If the file is missing, damaged, or not the one that the run was made with.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        # It stays open, so that these stay the rows when the run grows and another file takes its place.
        file, self._fd = _open_inputs(path, manifest)
        self._close = weakref.finalize(self, os.close, self._fd)
        kind = benchmark_of(manifest.identity.task).row
        self._decode: Callable[[bytes], Row] = msgspec.json.Decoder(kind).decode
        self._ends = array("q", [0])
        self._latest: tuple[int, Row] | None = None
        with open(self._fd, "rb", closefd=False) as stream:
            stream.seek(0)
            for number, line in enumerate(stream, start=1):
                try:
                    self._decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as exc:
                    raise JournalError(f"{file}:{number}: not an input row of this run: {exc}") from exc
                self._ends.append(self._ends[-1] + len(line))
        if len(self) != manifest.extent.rows:
            raise JournalError(f"{file} has {len(self)} rows, {MANIFEST} says {manifest.extent.rows}")

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        place = range(len(self))[place]
        if self._latest is None or self._latest[0] != place:
            start, end = self._ends[place], self._ends[place + 1]
            self._latest = (place, self._decode(os.pread(self._fd, end - start, start)))
        return self._latest[1]

    def close(self) -> None:
        """Close the file."""
        self._close()
        self._fd = -1


def _open_inputs(path: Path, manifest: Manifest) -> tuple[Path, int]:
    """inputs.jsonl, or what will be it (:func:`finish_growth`): its path, and the open file."""
    found = None
    for file in (path / INPUTS, path / NEXT_INPUTS):
        try:
            with open(file, "rb", opener=open_regular) as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
                if found == manifest.inputs_sha256:
                    return file, os.dup(stream.fileno())
        except FileNotFoundError:
            continue
        except OSError as exc:
            raise JournalError(f"cannot read {file}: {exc.strerror}") from exc
    if found is None:
        raise JournalError(f"cannot read {path / INPUTS}: there is no such file")
    raise JournalError(
        f"{path / INPUTS} is not the file that the run was made with (its SHA-256 is not the one in {MANIFEST}); "
        "put the original back"
    )
