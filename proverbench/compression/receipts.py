"""Receipts: what a verification found, chained into one root hash, signed if a key is given.

Each part is hashed together with the link before it, so the last link, the root, depends on every part; and as all
links are kept, a changed part is named. An unsigned receipt shows accidents and clumsy changes; only a signature
shows who vouches for it.
"""

import importlib.util
import json
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from proverbench.compression.bundle import BUDGETS, Bundle, Kind
from proverbench.compression.hashing import sha256_hex
from proverbench.errors import DataError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PARTS = ("task", "submission", "sources", "terms", "scores", "verdict", "verifier")
FORMAT = 2
ALGORITHM = "Ed25519"
_START = sha256_hex(b"compressionbench receipt 2")
_CONTEXT = "compressionbench receipt 2"
_KEYS = frozenset({"format", "parts", "chain", "root", "verified_at", "signature"})
_SIGNATURE_KEYS = frozenset({"algorithm", "public_key", "signature"})
# Part → its keys: a receipt has these and no other.
_PART_KEYS: dict[str, tuple[str, ...]] = {
    "task": ("name", "sha256"),
    "submission": ("sha256", "agent", "kind", "track", "budget_minutes", "minutes", "tokens"),
    "sources": ("sha256",),
    "terms": ("sha256",),
    "scores": ("count", "original_count", "charges"),
    "verdict": ("verdict", "problems"),
    "verifier": ("scorer", "kernel", "isolation", "task_source"),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """Who vouches for a receipt."""

    public_key: str
    """Ed25519, 32 bytes in hexadecimal."""
    signature: str
    """64 bytes in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt as written or read."""

    parts: Mapping[str, Any]
    chain: Mapping[str, str]
    """Part → the link after it; the last is the root."""
    verified_at: str
    """When it was made; signed, but no part of the root, so that two verifications can be compared."""
    signature: Signature | None

    @property
    def root(self) -> str:
        """The hash that depends on every part."""
        return self.chain[PARTS[-1]]

    @property
    def valid(self) -> bool:
        """Whether the verdict was ``valid``."""
        return bool(self.parts["verdict"].get("verdict") == "valid")

    def as_json(self) -> dict[str, Any]:
        """The receipt's file."""
        return {
            "format": FORMAT,
            "parts": dict(self.parts),
            "chain": dict(self.chain),
            "root": self.root,
            "verified_at": self.verified_at,
            "signature": None
            if self.signature is None
            else {
                "algorithm": ALGORITHM,
                "public_key": self.signature.public_key,
                "signature": self.signature.signature,
            },
        }


def signed_text(public_key: str, root: str, verified_at: str) -> bytes:
    """What a signature covers."""
    return "\n".join([_CONTEXT, ALGORITHM, public_key, root, verified_at]).encode("utf-8")


def build_parts(bundle: Bundle, outcome: Mapping[str, Any], verifier: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a receipt.

    Args:
        bundle: The submission.
        outcome: ``verdict``, ``problems``, ``count`` and ``charges`` as found, not as claimed.
        verifier: What checked it, how isolated, against whose task.
    """
    spec = bundle.spec
    return {
        "task": {"name": bundle.task.spec.name, "sha256": bundle.task.sha256},
        "submission": {
            "sha256": bundle.sha256,
            "agent": spec.agent,
            "kind": spec.kind,
            "track": spec.track,
            "budget_minutes": spec.budget_minutes,
            "minutes": spec.minutes,
            "tokens": spec.tokens,
        },
        "sources": {"sha256": bundle.sources_sha256},
        "terms": {"sha256": sha256_hex(bundle.terms)},
        "scores": {
            "count": outcome["count"],
            "original_count": bundle.task.spec.original_count,
            "charges": outcome["charges"],
        },
        "verdict": {"verdict": outcome["verdict"], "problems": outcome["problems"]},
        "verifier": dict(verifier),
    }


def chain_parts(parts: Mapping[str, Any]) -> dict[str, str]:
    """The links: each the hash of the one before, the part's name, and the part as canonical JSON."""
    links: dict[str, str] = {}
    before = _START
    for name in PARTS:
        content = json.dumps(parts[name], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        before = links[name] = sha256_hex(f"{before}\n{name}\n{content}".encode("ascii"))
    return links


def make_receipt(parts: Mapping[str, Any], verified_at: str, key: "Ed25519PrivateKey | None") -> Receipt:
    """Chain some parts and, with a key, sign root and time."""
    chain = chain_parts(parts)
    signature = None
    if key is not None:
        public = key.public_key().public_bytes_raw().hex()
        signature = Signature(public, key.sign(signed_text(public, chain[PARTS[-1]], verified_at)).hex())
    return Receipt(parts, chain, verified_at, signature)


def read_receipt(path: Path) -> Receipt:
    """Read a receipt's file, without judging it.

    Raises:
        DataError: If it is not a receipt.
    """
    try:
        found = json.loads(path.read_bytes(), object_pairs_hook=_no_key_twice)
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise DataError(f"{path}: is not JSON: {exc}") from exc
    except RecursionError as exc:
        raise DataError(f"{path}: is not a receipt: nested too deeply") from exc
    if isinstance(found, dict) and found.get("format") == 1:
        raise DataError(
            f"{path}: format 1, whose signature does not bind all that it states: counts as unsigned; "
            "verify the bundle anew"
        )
    try:
        _require_keys(found, _KEYS, "the receipt")
        if found["format"] != FORMAT:
            raise DataError(f"{path}: format is {found['format']!r:.40}; wanted {FORMAT}")
        parts, chain, given = found["parts"], found["chain"], found["signature"]
        _require_keys(parts, PARTS, "parts")
        _require_keys(chain, PARTS, "chain")
        for name, keys in _PART_KEYS.items():
            _require_keys(parts[name], keys, name)
        _require_types(parts)
        _require_texts({**chain, "root": found["root"], "verified_at": found["verified_at"]}, "chain")
        signature = None
        if given is not None:
            _require_keys(given, _SIGNATURE_KEYS, "signature")
            _require_texts(given, "signature")
            if given["algorithm"] != ALGORITHM:
                raise ValueError(f"signature.algorithm is {given['algorithm']!r:.40}; wanted {ALGORITHM}")
            signature = Signature(_hex(given["public_key"], 32), _hex(given["signature"], 64))
    except (KeyError, TypeError, ValueError) as exc:
        raise DataError(f"{path}: is not a receipt: {exc}") from exc
    if found["root"] != chain[PARTS[-1]]:
        raise DataError(f"{path}: root: is not the last link of the chain")
    return Receipt(parts, chain, found["verified_at"], signature)


def _no_key_twice(items: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("a key is there twice")
    return found


def _require_keys(found: object, wanted: Collection[str], what: str) -> None:
    if not isinstance(found, dict):
        raise TypeError(f"{what} is not an object")
    missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing or extra:
        said = [f"lacks {', '.join(missing)}"] if missing else []
        said += [f"has {', '.join(extra)[:80]}, which no receipt has"] if extra else []
        raise ValueError(f"{what} {' and '.join(said)}")


def _hex(text: str, size: int) -> str:
    if re.fullmatch(f"[0-9a-f]{{{2 * size}}}", text) is None:
        raise ValueError(f"the signature holds {text!r:.40}; wanted {2 * size} hexadecimal digits")
    return text


def _require_texts(found: Mapping[str, Any], what: str) -> None:
    for name, value in found.items():
        if not isinstance(value, str):
            raise TypeError(f"{what}.{name} is not text")


def _require_types(parts: Mapping[str, Any]) -> None:
    texts = [("task", "name"), ("task", "sha256"), ("submission", "sha256"), ("submission", "agent")]
    texts += [
        ("submission", "track"),
        ("submission", "kind"),
        ("sources", "sha256"),
        ("terms", "sha256"),
        ("verdict", "verdict"),
        ("verifier", "scorer"),
    ]
    texts += [("verifier", "isolation"), ("verifier", "task_source")]
    for part, name in texts:
        if not isinstance(parts[part][name], str):
            raise TypeError(f"{part}.{name} is not text")
    if not isinstance(parts["verifier"]["kernel"], str | None) or not all(
        isinstance(problem, str) for problem in parts["verdict"]["problems"]
    ):
        raise TypeError("verifier.kernel or verdict.problems is not text")
    submission = parts["submission"]
    if submission["kind"] not in get_args(Kind) or submission["track"] not in BUDGETS:
        raise ValueError("submission.kind or submission.track is unknown")
    if not isinstance(submission["minutes"], int | float | None) or isinstance(submission["minutes"], bool):
        raise TypeError("submission.minutes is not a number")
    for count in (parts["scores"]["count"], parts["scores"]["original_count"]):
        _require_count(count)


def _require_count(count: object) -> None:
    if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
        raise TypeError("a count in scores is not a number")


def receipt_problems(receipt: Receipt, *, trusted: str | None = None) -> list[str]:
    """What is wrong with a receipt in itself: the changed part, or the signature.

    Args:
        receipt: As read.
        trusted: Public key in hexadecimal that must have signed it; None: any, or none.
    """
    chain = chain_parts(receipt.parts)
    changed = [name for name in PARTS if chain[name] != receipt.chain[name]]
    if changed:
        # Later links differ because an earlier one does: only the first is known to be at fault.
        return [f"{changed[0]}: changed after the receipt was made (its link in the chain does not match)"]
    if receipt.signature is None:
        return ["signature: unsigned, but a signature by a trusted key was asked for"] if trusted else []
    _require_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.signature.public_key))
        signed = signed_text(receipt.signature.public_key, receipt.root, receipt.verified_at)
        public.verify(bytes.fromhex(receipt.signature.signature), signed)
    except (InvalidSignature, ValueError):
        return ["signature: does not match what the receipt says"]
    if trusted is not None and receipt.signature.public_key != trusted:
        return [f"signature: by {receipt.signature.public_key}, not by the trusted key {trusted}"]
    return []


def bundle_mismatches(receipt: Receipt, bundle: Bundle) -> list[str]:
    """Where a receipt does not speak of this bundle."""
    found = {
        "task": bundle.task.sha256,
        "submission": bundle.sha256,
        "sources": bundle.sources_sha256,
        "terms": sha256_hex(bundle.terms),
    }
    problems = [
        f"{name}: the bundle's SHA-256 is {value}, the receipt says {receipt.parts[name]['sha256']}"
        for name, value in found.items()
        if receipt.parts[name]["sha256"] != value
    ]
    if receipt.valid and receipt.parts["scores"]["count"] != bundle.spec.count:
        count = receipt.parts["scores"]["count"]
        problems.append(f"scores: the bundle claims {bundle.spec.count} nodes, the receipt says {count}")
    return problems


def make_key(path: Path) -> str:
    """Write a new private key, readable by its owner alone; returns the public key in hexadecimal.

    Raises:
        DataError: If the file is there already.
    """
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        path.touch(mode=0o600, exist_ok=False)
        path.write_bytes(pem)
    except OSError as exc:
        raise DataError(f"{path}: cannot be written: {exc.strerror}") from exc
    return key.public_key().public_bytes_raw().hex()


def load_key(path: Path) -> "Ed25519PrivateKey":
    """Read a private key.

    Raises:
        DataError: If it is not an unencrypted Ed25519 key in PEM.
    """
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as exc:
        raise DataError(
            f"--key {path}: cannot be read: {exc.strerror}; make one: compressionbench keygen {shlex.quote(str(path))}"
        ) from exc
    except (ValueError, TypeError) as exc:
        raise DataError(f"--key {path}: is not an unencrypted private key in PEM") from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise DataError(f"--key {path}: is not an Ed25519 key")
    return key


def _require_cryptography() -> None:
    """Signatures need the package; whatever is unsigned works without it.

    Raises:
        DataError: If it is not installed.
    """
    if importlib.util.find_spec("cryptography") is None:
        raise DataError("signatures need the package cryptography: pip install 'proverbench[lean]'")
