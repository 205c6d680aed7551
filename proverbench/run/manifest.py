"""A run's manifest: who is asked what, how much, where and how; read from its folder and checked against its id."""

import difflib
import hashlib
import shlex
from pathlib import Path
from typing import Any

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.endpoints.kinds.registry import known_kind, no_such_kind
from proverbench.errors import JournalError, RunMismatchError
from proverbench.protocols.registry import known_protocol, no_such_protocol
from proverbench.records import GIVEN, Extent, Identity, Manifest, RoleIdentity
from proverbench.run.regular import open_regular

MANIFEST = "manifest.json"
PROMPTS = "prompts"
PROTOCOL_FILE = "protocol.toml"
"""In that folder: the protocol that the user declared, where one was."""
FORMAT_VERSION = 2
"""Of the runs that are made now; version 1 kept the white space at the start of a step (``Manifest.strips_steps``)."""
_SHOWN_RUNS = 5
"""So many runs at most are named where there is none of the name given."""


def run_id(identity: Identity, extent: Extent) -> str:
    """SHA-256 of identity and extent as compact JSON with sorted keys."""
    canonical = msgspec.json.encode({"extent": extent, "identity": identity}, order="deterministic")
    return hashlib.sha256(canonical).hexdigest()


def pretty(value: object) -> bytes:
    """JSON for people and for byte-wise comparison: indented, keys in the order of the model, one final newline."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


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


def declared_text(path: Path, identity: Identity) -> str | None:
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
