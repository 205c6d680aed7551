"""Document vectors made elsewhere: an ``.npy`` file with a row a document, such as a release's ``embeddings.npy``.

Only plain arrays are opened, never pickles: a release's ``metadata.pkl`` and ``texts.pkl`` stay closed.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.errors import ConfigError, DataError, FatalEndpointError
from proverbench.retrieval.records import GoldQuery
from proverbench.retrieval.settings import VectorSettings
from proverbench.retrieval.subsets import load_subset
from proverbench.retrieval.systems.base import Context, Outcome
from proverbench.retrieval.systems.dense import search_vectors
from proverbench.retrieval.vectors import Embedder, StoppedError, Vectors, VectorView, embed_all

_AT_ONCE = 1 << 14
"""Rows whose lengths are computed at once."""


class ImportedVectors:
    """The document vectors of one file, brought to length 1 as they are read.

    Args:
        settings: Where they are, and what their makers say of them.
        context: The corpus that they are of.

    Raises:
        DataError: If the file is not a matrix of numbers, a row not a vector, or the rows are not the documents.
        ConfigError: If they were made of other texts than the run's.
    """

    def __init__(self, settings: VectorSettings, context: Context) -> None:
        self.settings = settings
        self.context = context
        if settings.renderer and settings.renderer != context.renderer.name:
            raise ConfigError(
                f"[vectors.{settings.name}] was made of {settings.renderer} texts; run with --renderer "
                f"{settings.renderer}, not {context.renderer.name}"
            )
        self._path = Path(settings.path)
        mapped = open_matrix(self._path)
        self.view = VectorView(mapped, self._rows(len(mapped)), scale_of(self._path, mapped))
        self.of_queries = None if settings.queries is None else self._open_queries()

    def _rows(self, n_rows: int) -> NDArray[np.int64]:
        """Return the row of each document."""
        corpus = self.context.corpus
        n_documents = len(corpus.documents)
        if n_rows != n_documents:
            raise DataError(f"{self._path}: has {n_rows} rows, the corpus {n_documents} documents; a row is a document")
        if self.settings.ids is None:
            return np.arange(n_rows)
        ids = load_subset(Path(self.settings.ids))
        rows = {corpus.row(name): row for row, name in enumerate(ids)}
        if missing := [document.id for document in corpus.documents if document.id not in rows]:
            raise DataError(f"{self.settings.ids}: {len(missing)} documents have no row; the first is {missing[0]!r}")
        return np.array([rows[document.id] for document in corpus.documents])

    def identity(self) -> dict[str, Any]:
        """Return the files' hashes and what their makers say."""
        files = {"documents": self.settings.path, "ids": self.settings.ids, "queries": self.settings.queries}
        return {
            "files": {name: _sha256(Path(path)) for name, path in files.items() if path is not None},
            **({"label": self.settings.label} if self.settings.label else {}),
            **({"renderer": self.settings.renderer} if self.settings.renderer else {}),
        }

    def queries(self, queries: Sequence[GoldQuery]) -> VectorView:
        """Return the vectors of ``queries`` from their file."""
        assert self.of_queries is not None
        view, row_of = self.of_queries
        return VectorView(view.mapped, np.array([row_of[query.id] for query in queries]), view.scale)

    def _open_queries(self) -> tuple[VectorView, dict[str, int]]:
        assert self.settings.queries is not None
        assert self.settings.query_ids is not None
        path = Path(self.settings.queries)
        mapped = open_matrix(path)
        row_of = {query_id: row for row, query_id in enumerate(load_subset(Path(self.settings.query_ids)))}
        if len(row_of) != len(mapped):
            raise DataError(f"{path}: has {len(mapped)} rows, {self.settings.query_ids} {len(row_of)} ids")
        if missing := [query_id for query_id in self.context.query_ids if query_id not in row_of]:
            raise DataError(f"{path}: {len(missing)} queries have no vector; the first is {missing[0]!r}")
        if mapped.shape[1] != self.view.mapped.shape[1]:
            raise DataError(f"{path}: {_unlike(mapped.shape[1], self.view.mapped.shape[1])}")
        return VectorView(mapped, np.arange(len(mapped)), scale_of(path, mapped)), row_of


class ImportedSystem:
    """Exact search among vectors made elsewhere.

    Args:
        spec: How the command line names it.
        vectors: Of the documents.
        embedder: The model that embeds the queries; None where they come from a file.
    """

    external = False
    own_corpus = ""
    own_missing: frozenset[str] | None = None

    def __init__(self, spec: str, vectors: ImportedVectors, embedder: Embedder | None) -> None:
        self.spec = spec
        licences = (vectors.settings.licence, embedder.licence if embedder else "")
        self.licence = ", ".join(dict.fromkeys(licence for licence in licences if licence))
        self._vectors = vectors
        self._embedder = embedder

    def identity(self) -> dict[str, Any]:
        """Return the vectors' identity and the query model's."""
        identity = {"kind": "vectors", **self._vectors.identity()}
        if self._embedder is not None:
            identity["query_model"] = self._embedder.identity()
            identity["query_template"] = self._embedder.template.query
        return identity

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Get the queries' vectors, then search.

        Raises:
            FatalEndpointError: If the model's are of another dimension than the documents'.
        """
        context = self._vectors.context
        try:
            vectors = await self._query_vectors(queries)
        except StoppedError:
            return
        dims = vectors.mapped.shape[1], self._vectors.view.mapped.shape[1]
        if dims[0] != dims[1]:
            raise FatalEndpointError(_unlike(*dims), kind="dimensions")
        async for outcome in search_vectors(context, queries, vectors, self._vectors.view, k):
            yield outcome

    async def _query_vectors(self, queries: Sequence[GoldQuery]) -> VectorView:
        if self._embedder is None:
            return await asyncio.to_thread(self._vectors.queries, queries)
        context = self._vectors.context
        texts = [query.text for query in queries]
        return await embed_all(self._embedder, texts, cache=context.cache, stopping=context.stopping)

    def notes(self) -> list[str]:
        """Return the query model's notes."""
        return self._embedder.notes() if self._embedder else []

    async def aclose(self) -> None:
        """Release the query model."""
        if self._embedder is not None:
            await self._embedder.aclose()


def _unlike(queries: int, documents: int) -> str:
    return f"queries have {queries} dimensions, documents {documents}; they are not of the same model"


def open_matrix(path: Path) -> Vectors:
    """Map an ``.npy`` file of shape (rows, dimensions) and floats.

    Raises:
        DataError: If it is something else.
    """
    try:
        mapped: Vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as exc:
        raise DataError(f"{path}: is not an .npy file of numbers: {exc}") from exc
    if mapped.ndim != 2 or mapped.dtype.kind != "f" or not mapped.shape[1]:
        raise DataError(f"{path}: must hold rows of floats, found shape {mapped.shape} of {mapped.dtype}")
    return mapped


def scale_of(path: Path, mapped: Vectors) -> NDArray[np.float32]:
    """Return 1 / length of each row.

    Raises:
        DataError: If a row is zero or holds a number that is not finite.
    """
    lengths = np.empty(len(mapped))
    for start in range(0, len(mapped), _AT_ONCE):
        part = np.asarray(mapped[start : start + _AT_ONCE], dtype=np.float64)
        lengths[start : start + _AT_ONCE] = np.sqrt(np.einsum("ij,ij->i", part, part))
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(bad):
        raise DataError(f"{path}: {len(bad)} rows are zero or not finite; the first is row {bad[0]}")
    return (1.0 / lengths).astype(np.float32)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
