"""The published prompt templates: fetched from their repository at a pinned revision, and used by ``--prompts``.

None is shipped, for they have no licence. Where they are in the repository is not assumed: a template is known by its
placeholders. Their hashes are not known to this project, so they are recorded at the first fetch (``fetched.json``),
and any other text is refused from then on.
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.errors import ConfigError, DataError
from proverbench.inputs.fetch import download
from proverbench.protocols.basic_v1 import BASIC_V1
from proverbench.protocols.prompts import Template
from proverbench.records import Role
from proverbench.run.disk import write_whole

REPOSITORY = "InternLM/AdvancedMathBench"
REVISION = "30e2e67"
ARCHIVE = f"https://github.com/{REPOSITORY}/archive/{REVISION}.zip"
FOLDER = Path("data/advancedmathbench/prompts")
"""Where ``--prompts published`` looks."""
RECORD = "fetched.json"
PUBLISHED = "published"
"""The name of the published set."""
FILES: Mapping[Role, str] = {"policy": "generation.txt", "verifier": "verifier.txt", "meta": "meta.txt"}
_MOST_BYTES = 1 << 20
_SUFFIXES = (".txt", ".md", ".prompt", ".jinja", ".tmpl", "")


@dataclass(frozen=True)
class FetchedPrompt:
    """A template that is there now."""

    role: Role
    path: Path
    sha256: str
    """Of its text with LF line ends, as in manifests."""
    first: bool
    """Whether its hash was recorded now."""


def fetch_prompts(folder: Path = FOLDER, *, source: str | None = None) -> list[FetchedPrompt]:
    """Get the templates of all roles.

    Args:
        folder: Where they go.
        source: The address of a zip archive, an archive, or a folder with the repository's files; None: the repository.

    Raises:
        DataError: If the source does not have exactly one template for each role, or others than were fetched first.
        EndpointError: If it could not be read.
    """
    source = source or ARCHIVE
    with tempfile.TemporaryDirectory() as place:
        found = _one_for_each_role(_texts(source, Path(place)), source)
    recorded = _recorded(folder)
    fetched = []
    for role, (name, raw) in found.items():
        digest = _digest(raw)
        if recorded.get(role, {"sha256": digest})["sha256"] != digest:
            raise DataError(
                f"{source}: its {role} template ({name}) has SHA-256 {digest}; {recorded[role]['sha256']} was fetched "
                f"first ({folder / RECORD}). Nothing was changed; delete the folder to begin anew"
            )
        fetched.append(FetchedPrompt(role, folder / FILES[role], digest, role not in recorded))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for role, (_, raw) in found.items():
            write_whole(folder / FILES[role], raw)
        record = {
            role: {"sha256": _digest(raw), "path": name, "revision": REVISION, "source": source}
            for role, (name, raw) in found.items()
        }
        write_whole(folder / RECORD, (json.dumps(recorded or record, indent=1) + "\n").encode())
    except OSError as exc:
        raise DataError(f"{exc.filename or folder}: {exc.strerror or exc}") from exc
    return fetched


def prompt_set(name: str, roles: Iterable[Role]) -> dict[Role, Path]:
    """The templates that ``--prompts NAME`` means.

    Args:
        name: ``own``, ``published``, or a folder with generation.txt, verifier.txt and meta.txt.
        roles: Those that need one.

    Raises:
        ConfigError: If one is missing or, of the published ones, has changed since it was fetched.
    """
    if name == "own":
        return {}
    published = name == PUBLISHED
    folder = FOLDER if published else Path(name)
    paths = {role: folder / FILES[role] for role in roles}
    missing = [str(path) for path in paths.values() if not path.is_file()]
    if missing:
        remedy = (
            "get them with: proverbench data fetch prompts" if published else "give own, published or such a folder"
        )
        raise ConfigError(f"--prompts {name}: {', '.join(missing)} is not there; {remedy}")
    recorded = _recorded(folder) if published else {}
    for role, path in paths.items():
        if published and recorded.get(role, {}).get("sha256") != Template.load(role, path).sha256:
            raise ConfigError(
                f"--prompts published: {path} is not what was fetched; get it with: proverbench data fetch prompts"
            )
    return paths


def _recorded(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    try:
        found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    except (OSError, ValueError) as exc:
        raise DataError(f"{path}: cannot be read ({exc}); delete it to record anew") from exc
    return found


def _digest(raw: bytes) -> str:
    text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(text.encode()).hexdigest()


def _texts(source: str, place: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of every small text of the source."""
    path = Path(source)
    if source.lower().startswith(("http://", "https://")):
        path = place / "archive.zip"
        download(source, path)
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.suffix in _SUFFIXES and file.is_file() and file.stat().st_size <= _MOST_BYTES:
                yield str(file.relative_to(path)), file.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if (
                    Path(member.filename).suffix in _SUFFIXES
                    and not member.is_dir()
                    and member.file_size <= _MOST_BYTES
                ):
                    yield member.filename, archive.read(member)
    except (OSError, zipfile.BadZipFile) as exc:
        raise DataError(f"{source}: is neither a folder nor a zip archive ({exc})") from exc


def _one_for_each_role(texts: Iterable[tuple[str, bytes]], source: str) -> dict[Role, tuple[str, bytes]]:
    found: dict[Role, list[tuple[str, bytes]]] = {role: [] for role in FILES}
    for name, raw in texts:
        try:
            role = _role_of(raw.decode("utf-8-sig"))
        except UnicodeDecodeError:
            continue
        if role is not None and all(raw != other for _, other in found[role]):
            found[role].append((name, raw))
    faults = [
        f"{source}: has {len(named)} texts that could be the {role} template, wanted one"
        + (f" ({', '.join(name for name, _ in named)}); give a folder with the right one alone" if named else "")
        for role, named in found.items()
        if len(named) != 1
    ]
    if faults:
        raise DataError.of(faults)
    return {role: named[0] for role, named in found.items()}


def _role_of(text: str) -> Role | None:
    """Whose template a text is, by its placeholders: the most demanding role of which it has every required one."""
    for role in ("meta", "verifier", "policy"):
        if all("{" + name + "}" in text for name in BASIC_V1.slots[role].required):
            return role
    return None
