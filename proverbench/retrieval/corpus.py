"""Corpora: JSONL (or a LeanDojo premise file) -> documents, with their hash; subsampling."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from proverbench.errors import DataError
from proverbench.retrieval.records import Document

MAX_FAULTS = 50
"""How many faults a message lists; the rest is counted."""


@dataclass(frozen=True)
class Corpus:
    """What is searched, held constant by name, revision and hash."""

    name: str
    revision: str
    sha256: str
    """Of the file's bytes."""
    documents: list[Document]
    sampled_from: int | None = None
    """Documents of the whole corpus when this is a sample of it; figures on a sample are flattering."""
    sample_seed: int | None = None

    @cached_property
    def rows_of(self) -> dict[str, list[str]]:
        """Row ids for every id and every full name."""
        rows: dict[str, list[str]] = {}
        for document in self.documents:
            for key in {document.id, document.name}:
                rows.setdefault(key, []).append(document.id)
        return rows

    @property
    def key(self) -> str:
        """What two runs must share to be ranked together: the file's hash and, of a sample, which sample."""
        if self.sampled_from is None:
            return self.sha256
        return f"{self.sha256}/{len(self.documents)}/{self.sample_seed}"

    def row(self, name: str) -> str:
        """Return the row id that an outside result means: the first row of that name, or the name itself if foreign."""
        rows = self.rows_of.get(name)
        return rows[0] if rows else name

    def sampled(self, n_documents: int, *, keep: Sequence[str], seed: int) -> "Corpus":
        """Return a corpus of the rows in ``keep`` and enough others, drawn by ``seed``, to make ``n_documents``.

        Raises:
            DataError: If ``keep`` alone is larger.
        """
        kept = set(keep)
        if len(kept) > n_documents:
            raise DataError(f"a sample of {n_documents} documents cannot hold the {len(kept)} gold rows; ask for more")
        if n_documents >= len(self.documents):
            return self
        others = [i for i, document in enumerate(self.documents) if document.id not in kept]
        rng = np.random.Generator(np.random.PCG64(seed))
        drawn = set(rng.choice(len(others), size=n_documents - len(kept), replace=False).tolist())
        rows = {others[i] for i in drawn}
        documents = [d for i, d in enumerate(self.documents) if i in rows or d.id in kept]
        return replace(self, documents=documents, sampled_from=len(self.documents), sample_seed=seed)


class Faults:
    """All faults of one file, raised together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []

    def add(self, line: int | None, message: str) -> None:
        """Note a fault at ``line`` (1-based), or of the file as a whole."""
        self._lines.append(f"{self._path}{'' if line is None else f':{line}'}: {message}")

    def raise_if_any(self) -> None:
        """Raise what was noted.

        Raises:
            DataError: With a line for each fault.
        """
        if self._lines:
            rest = len(self._lines) - MAX_FAULTS
            raise DataError.of(self._lines[:MAX_FAULTS] + ([f"... and {rest} more"] if rest > 0 else []))


def read_bytes(path: Path) -> bytes:
    """Read a data file whole.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror or exc}") from exc


def parse_jsonl(data: bytes, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield (line number, object) for every line, split at ``\n`` only; BOM, CRLF and blank lines are accepted."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as exc:
            faults.add(number, f"is not UTF-8 at byte {exc.start}")
        except (json.JSONDecodeError, RecursionError) as exc:
            faults.add(number, f"is not JSON: {exc}")
        else:
            if isinstance(row, dict):
                yield number, row
            else:
                faults.add(number, f"a row must be an object, found {type(row).__name__}")


def text_field(row: dict[str, Any], field: str, line: int | None, faults: Faults, *, required: bool = False) -> str:
    """Return a string field; absent and null are empty unless ``required``. Notes what is wrong."""
    value = row.get(field)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        faults.add(line, f"{field} must be a string, found {value!r}")
        return ""
    if required and not value.strip():
        faults.add(line, f"{field} must not be empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        faults.add(line, f"{field} holds a lone surrogate, which no model and no file can take: {value[:60]!r}")
        return ""
    return value


def load_corpus(path: Path, *, name: str = "", revision: str = "") -> Corpus:
    """Load a corpus: JSONL of documents, or the ``corpus.jsonl`` of a LeanDojo-style benchmark.

    A document has ``id`` (or, without one, ``full_name`` or ``name``, which may be a list of parts) and any of
    ``name``, ``kind``, ``module``, ``signature`` (``type``), ``docstring``, ``informal_name``, ``informal``
    (``informal_description``) and ``text``. A LeanDojo row is a file: ``path`` and ``premises``.

    Raises:
        DataError: Lists every fault with its line.
    """
    data = read_bytes(path)
    faults = Faults(path)
    documents: list[Document] = []
    line_of: dict[str, int] = {}
    for number, row in parse_jsonl(data, faults):
        read: Callable[[dict[str, Any], int, Faults], list[Document]]
        read = _premises if "premises" in row and "path" in row else _document
        for document in read(row, number, faults):
            if document.id in line_of:
                faults.add(number, f"id {document.id!r} stands on line {line_of[document.id]} too")
            line_of[document.id] = number
            documents.append(document)
    _refuse_ids_that_are_names(documents, line_of, faults)
    if not documents:
        faults.add(None, "holds no documents")
    faults.raise_if_any()
    return Corpus(
        name=name or path.stem, revision=revision, sha256=hashlib.sha256(data).hexdigest(), documents=documents
    )


def _document(row: dict[str, Any], line: int, faults: Faults) -> list[Document]:
    row = {**row}
    for field in ("name", "full_name", "module", "module_name"):
        if isinstance(row.get(field), list):  # search services give names as lists of parts
            row[field] = ".".join(str(part) for part in row[field])
    name = text_field(row, "full_name", line, faults) or text_field(row, "name", line, faults)
    if isinstance(row.get("id"), int) and not isinstance(row["id"], bool):
        row["id"] = str(row["id"])
    identity = text_field(row, "id", line, faults) or name
    if not identity:
        faults.add(line, "needs an id, a full_name or a name")
        return []

    def first(*fields: str) -> str:
        return next((value for value in (text_field(row, field, line, faults) for field in fields) if value), "")

    return [
        Document(
            id=identity,
            name=name or identity,
            kind=first("kind"),
            module=first("module", "module_name"),
            signature=first("signature", "type"),
            docstring=first("docstring"),
            informal_name=first("informal_name"),
            informal=first("informal", "informal_description"),
            text=first("text"),
        )
    ]


def _premises(row: dict[str, Any], line: int, faults: Faults) -> list[Document]:
    """Read one file of a LeanDojo-style corpus: each premise a document, its code the formal statement."""
    module = text_field(row, "path", line, faults, required=True)
    if not isinstance(row["premises"], list) or not all(isinstance(p, dict) for p in row["premises"]):
        faults.add(line, "premises must be a list of objects")
        return []
    documents = []
    taken: dict[str, int] = {}
    for premise in row["premises"]:
        name = text_field(premise, "full_name", line, faults, required=True)
        taken[name] = taken.get(name, 0) + 1
        # One name may stand in several files, and twice in one file: each is a row, the name joins them.
        suffix = "" if taken[name] == 1 else f"#{taken[name]}"
        documents.append(
            Document(
                id=f"{module}:{name}{suffix}",
                name=name,
                kind=text_field(premise, "kind", line, faults),
                module=module,
                signature=text_field(premise, "code", line, faults),
            )
        )
    return documents


def _refuse_ids_that_are_names(documents: Sequence[Document], line_of: dict[str, int], faults: Faults) -> None:
    """An id that is another row's name would make a gold unit or a returned name mean two things."""
    ids = {document.id for document in documents}
    for document in documents:
        if document.name != document.id and document.name in ids:
            faults.add(
                line_of[document.id],
                f"name {document.name!r} is the id of line {line_of[document.name]}; give copies ids of their own",
            )
