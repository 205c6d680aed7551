"""Corpora: JSONL (or a LeanDojo premise file) -> documents, with their hash; subsampling."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from proverbench.errors import DataError
from proverbench.retrieval.leandojo import Library, read_premises
from proverbench.retrieval.reading import Faults, parse_jsonl, read_bytes, text_field
from proverbench.retrieval.records import Document

KNOWN_DOCUMENTS = {("mathlib-4280", "c5f07cc71d42"): 310_579}
"""Rows of the published corpora, by name and revision."""


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
    library: Library = field(default_factory=Library)
    """Which file imports which, of a LeanDojo corpus."""

    @cached_property
    def rows_of(self) -> dict[str, list[str]]:
        """Row ids for every id and every full name."""
        rows: dict[str, list[str]] = {}
        for document in self.documents:
            for key in {document.id, document.name} - {""}:
                rows.setdefault(key, []).append(document.id)
        return rows

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Place of each row id in :attr:`documents`."""
        return {document.id: number for number, document in enumerate(self.documents)}

    @property
    def key(self) -> str:
        """What two runs must share to be ranked together: the file's hash and, of a sample, which sample."""
        if self.sampled_from is None:
            return self.sha256
        return f"{self.sha256}/{len(self.documents)}/{self.sample_seed}"

    @property
    def whole_documents(self) -> int | None:
        """How many rows the corpus of this name and revision has, where that is known and not what this one has."""
        for (name, revision), n_documents in KNOWN_DOCUMENTS.items():
            # A revision may be written in full; one that is not given is no other one.
            meant = self.name == name and (not self.revision or self.revision.startswith(revision))
            if meant and (self.sampled_from or len(self.documents)) != n_documents:
                return n_documents
        return None

    def row(self, result: str) -> str:
        """Return the row id that an outside result means, or the result itself if it is foreign.

        A result is a row id, a full name (then the first row of that name), or ``Module::Name``, perhaps with
        ``::DIGITS`` after it, as the reasoning mode of LeanSearch v2 calls rows.
        """
        if rows := self.rows_of.get(result):
            return rows[0]
        module, name = split_result(result)
        rows = self.rows_of.get(name, []) if module else []
        inside = [row for row in rows if self.documents[self.number_of[row]].module == module]
        return next(iter([*inside, *rows]), result)

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


def split_result(result: str) -> tuple[str, str]:
    """Split ``Module::Name`` or ``Module::Name::DIGITS`` into module and name; a plain name has no module."""
    head, _, last = result.rpartition("::")
    if head and last.isascii() and last.isdigit():
        result = head
    module, _, name = result.rpartition("::")
    return module, name


def load_corpus(path: Path, *, name: str = "", revision: str = "", sha256: str = "") -> Corpus:
    """Load a corpus: JSONL of documents, or the ``corpus.jsonl`` of a LeanDojo-style benchmark.

    A document has ``id``, or ``full_name`` or ``name`` (which may be a list of parts), and any of ``kind``,
    ``module`` (``module_name``), ``signature``, ``type``, ``value``, ``docstring``, ``informal_name``, ``informal``
    (``informal_description``) and ``text``. A row without an id is called by its name; where several rows without an
    id share a name, each is called ``Module::Name``, and within one module ``Module::Name::2`` from the second on.
    A LeanDojo row is a file: ``path``, ``imports`` and ``premises``.

    Args:
        path: The file.
        name: What the corpus is called; the file's name if absent.
        revision: What it was made from.
        sha256: What the file's SHA-256 must begin with (at least 8 hex digits).

    Raises:
        DataError: Lists every fault with its line; or the file is not the one that was meant.
    """
    data = read_bytes(path)
    digest = require_sha256(path, data, sha256)
    faults = Faults(path)
    found: list[tuple[int, Document]] = []
    imports: dict[str, list[str]] = {}
    for number, row in parse_jsonl(data, faults):
        if "premises" in row and "path" in row:
            file, imported, premises = read_premises(row, number, faults)
            if file in imports:
                faults.add(number, f"path {file!r} is there twice")
            imports[file] = imported
            found += [(number, premise) for premise in premises]
        elif document := _document(row, number, faults):
            found.append((number, document))
    documents = _with_ids(found, faults)
    if not documents:
        faults.add(None, "holds no documents")
    faults.raise_if_any()
    library = Library.of(imports, documents)
    return Corpus(name=name or path.stem, revision=revision, sha256=digest, documents=documents, library=library)


def require_sha256(path: Path, data: bytes, wanted: str) -> str:
    """Return the SHA-256 of a file's bytes.

    Raises:
        DataError: If it does not begin with ``wanted``, or fewer than 8 digits are given.
    """
    digest = hashlib.sha256(data).hexdigest()
    if wanted and not (len(wanted) >= 8 and digest.startswith(wanted.lower())):
        raise DataError(f"{path}: its SHA-256 is {digest}, wanted {wanted!r} (at least 8 digits); get the file anew")
    return digest


def _document(row: dict[str, Any], line: int, faults: Faults) -> Document | None:
    row = {**row}
    for name_field in ("name", "full_name", "module", "module_name"):
        if isinstance(row.get(name_field), list):  # the export and search services give names as lists of parts
            row[name_field] = ".".join(str(part) for part in row[name_field])
    name = text_field(row, "full_name", line, faults) or text_field(row, "name", line, faults)
    if isinstance(row.get("id"), int) and not isinstance(row["id"], bool):
        row["id"] = str(row["id"])
    identity = text_field(row, "id", line, faults)
    if not identity and not name:
        faults.add(line, "needs an id, a full_name or a name")
        return None

    def first(*fields: str) -> str:
        return next((value for value in (text_field(row, field, line, faults) for field in fields) if value), "")

    return Document(
        id=identity,
        name=name,
        kind=first("kind"),
        module=first("module", "module_name"),
        signature=first("signature"),
        type=first("type"),
        value=first("value"),
        docstring=first("docstring"),
        informal_name=first("informal_name"),
        informal=first("informal", "informal_description"),
        text=first("text"),
    )


def _with_ids(found: Sequence[tuple[int, Document]], faults: Faults) -> list[Document]:
    """Give every row an id, the same whenever the file is read; repeated ids are faults."""
    named = Counter(document.name for _, document in found if not document.id)
    copies: Counter[str] = Counter()
    line_of: dict[str, int] = {}
    documents = []
    for number, document in found:
        identity = document.id
        if not identity:
            identity = document.name
            if named[document.name] > 1:
                identity = f"{document.module}::{document.name}"
                copies[identity] += 1
                identity += f"::{copies[identity]}" if copies[identity] > 1 else ""
        if identity in line_of:
            faults.add(number, f"id {identity!r} is on line {line_of[identity]} too")
        line_of[identity] = number
        documents.append(replace_id(document, identity))
    # An id that is another row's name would make a gold unit or a returned name mean two things.
    for (number, _), document in zip(found, documents, strict=True):
        if document.name != document.id and document.name in line_of:
            where = line_of[document.name]
            faults.add(number, f"name {document.name!r} is the id of line {where}; give copies ids of their own")
    return documents


def replace_id(document: Document, identity: str) -> Document:
    """Return the document under another id."""
    if document.id == identity:
        return document
    return Document(**{**{name: getattr(document, name) for name in document.__struct_fields__}, "id": identity})
