"""The released files of LeanSearch v2, fetched at a pinned revision and known by their SHA-256.

The corpus comes from the Hugging Face hub by its own library, which resumes what broke off; the benchmark files come
from the release's repository. Where a file's hash is published it must have it; that of the corpus is not known to
this project, so it is recorded at the first fetch (``fetched.json``), and any other file is refused from then on.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.inputs.fetch import PinnedFile
from proverbench.inputs.fetch import fetch as fetch_pinned
from proverbench.inputs.hub import hub_address, hub_file, hub_listing
from proverbench.retrieval.subsets import SHARED_171_SHA256
from proverbench.run.disk import write_whole

CORPUS = "corpus"
CORPUS_REPOSITORY = "FrenzyMath/lsv2-mathlib-v4.28.0-rc1-jsonl"
CORPUS_REVISION = "c5f07cc71d42"
CORPUS_FILE = "mathlib-4280.jsonl"
"""What the corpus is called here."""
RELEASE = "https://raw.githubusercontent.com/frenzymath/LeanSearch-v2/94f4888"
RECORD = "fetched.json"
"""What was fetched, from where, with its hash."""

BENCHMARKS = {
    "mathlibqr": PinnedFile(
        "MathlibQR",
        "benchmark/MathlibQR.json",
        "0ce093ebb9da90c046d10b4e50a901edd8237a5aef357df1a3e08f5f5c1a1294",
        suffix=".json",
    ),
    "mathlibmpr": PinnedFile(
        "MathlibMPR",
        "benchmark/MathlibMPR.json",
        "91a52d4998e81663effcf94cfe72908054577a2a9c16ddd7b32bc61657f4f9a7",
        suffix=".json",
    ),
    "shared-171": PinnedFile(
        "MathlibQR_shared171", "benchmark/MathlibQR_shared171.json", SHARED_171_SHA256, suffix=".json"
    ),
    "prop-ids": PinnedFile(
        "MathlibMPR_Prop_ids",
        "benchmark/MathlibMPR_Prop_ids.txt",
        "4c53d9edbe5dcbcf84d9e687f0a292b8dcc6d162c24a71abc84a0d3a0655f4cc",
        suffix=".txt",
    ),
}
"""The benchmark files, by the name on the command line."""


@dataclass(frozen=True)
class Fetched:
    """A file that is there now."""

    path: Path
    sha256: str
    new: bool
    """Whether it was fetched now."""
    first: bool = False
    """Whether its hash was recorded now, because none is published."""


def fetch(name: str, folder: Path, *, source: str | None = None) -> Fetched:
    """Get a released file.

    Args:
        name: ``corpus`` or a name in :data:`BENCHMARKS`.
        folder: Where it goes; made if absent.
        source: A mirror's address (of the hub for the corpus, of the repository for the others), or a local folder.

    Raises:
        DataError: If the source has another file, or another stands under its name.
        EndpointError: If the source could not be read to the end; what came is kept for the next try.
    """
    if name == CORPUS:
        return _fetch_corpus(folder, source)
    file = BENCHMARKS[name]
    path, new = fetch_pinned(file, folder, source=source or RELEASE)
    return Fetched(path, file.sha256, new)


def _fetch_corpus(folder: Path, source: str | None) -> Fetched:
    target = folder / CORPUS_FILE
    recorded = _record(folder).get(CORPUS_FILE, {}).get("sha256")
    new = not target.exists()
    if new:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _download(target, source)
        except OSError as exc:
            raise DataError(f"{exc.filename or target}: {exc.strerror or exc}") from exc
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if recorded is not None and found != recorded:
        if new:
            target.unlink()
        raise DataError(
            f"{target}: its SHA-256 is {found}; {recorded} was fetched first ({folder / RECORD}). The source has "
            "changed, or the file has; delete both to begin anew"
        )
    if recorded is None:
        of = {"repository": CORPUS_REPOSITORY, "revision": CORPUS_REVISION, "source": hub_address(source)}
        record = {**_record(folder), CORPUS_FILE: {"sha256": found, "bytes": target.stat().st_size, **of}}
        write_whole(folder / RECORD, (json.dumps(record, indent=1) + "\n").encode())
    return Fetched(target, found, new, first=recorded is None)


def _record(folder: Path) -> Mapping[str, Any]:
    path = folder / RECORD
    try:
        found: Mapping[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
        return found
    except (OSError, ValueError) as exc:
        raise DataError(f"{path}: cannot be read ({exc}); delete it to record anew") from exc


def _download(target: Path, source: str | None) -> None:
    """Put the corpus under ``target`` in one step."""
    if source is not None and not source.lower().startswith(("http://", "https://")):
        part = target.with_name(target.name + ".part")
        shutil.copyfile(_only_jsonl(Path(source)), part)
        part.replace(target)
        return
    files = hub_listing(CORPUS_REPOSITORY, CORPUS_REVISION, endpoint=source)
    name = _only([file for file in files if file.endswith(".jsonl")], hub_address(source))
    part = target.with_name(target.name + ".part")
    shutil.copyfile(hub_file(CORPUS_REPOSITORY, name, CORPUS_REVISION, endpoint=source), part)
    part.replace(target)


def _only_jsonl(folder: Path) -> Path:
    if folder.is_file():
        return folder
    return Path(_only(sorted(map(str, folder.glob("*.jsonl"))), str(folder)))


def _only(names: list[str], where: str) -> str:
    if len(names) != 1:
        raise DataError(f"{where}: holds {len(names)} .jsonl files, wanted the corpus alone; name the file")
    return names[0]
