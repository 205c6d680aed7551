"""Exact dense search: every document's inner product with the query, no approximate index."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from proverbench.retrieval.records import GoldQuery, Ranking
from proverbench.retrieval.search import exact_top_k
from proverbench.retrieval.systems.base import Context, Outcome
from proverbench.retrieval.vectors import (
    Embedder,
    MissingTexts,
    Precision,
    StoppedError,
    VectorView,
    embed_all,
    missing_texts,
)

QUERIES_AT_ONCE = 1024
"""Queries that share one pass over the documents."""


class DenseSystem:
    """Cosine similarity of an embedding model's vectors.

    Args:
        spec: How the command line names it.
        embedder: The model.
        context: Corpus and cache.
        precision: Of the stored document vectors.
    """

    external = False
    own_corpus = ""
    own_missing: frozenset[str] | None = None

    def __init__(self, spec: str, embedder: Embedder, context: Context, *, precision: Precision = "float32") -> None:
        self.spec = spec
        self.licence = embedder.licence
        self._embedder = embedder
        self._context = context
        self._precision = precision

    def identity(self) -> dict[str, Any]:
        """Return model, template, renderer and precision."""
        template = self._embedder.template
        return {
            "kind": "dense",
            "model": self._embedder.identity(),
            "query_template": template.query,
            "document_template": template.document,
            "template_sha256": template.sha256(),
            "renderer_sha256": self._context.renderer.sha256,
            "precision": self._precision,
        }

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Embed what the cache lacks, then search."""
        texts = [query.text for query in queries]
        try:
            documents = await self._documents()
            vectors = await self._embedded("queries", texts)
        except StoppedError:
            return
        async for outcome in search_vectors(self._context, queries, vectors, documents, k):
            yield outcome

    async def _documents(self) -> VectorView:
        sha256, texts = self._context.renderer.sha256, self._context.texts
        return await self._embedded("documents", texts, renderer_sha256=sha256, precision=self._precision)

    async def _embedded(
        self, what: str, texts: Sequence[str], *, renderer_sha256: str = "", precision: Precision = "float32"
    ) -> VectorView:
        return await embed_all(
            self._embedder,
            texts,
            cache=self._context.cache,
            renderer_sha256=renderer_sha256,
            precision=precision,
            on_progress=lambda done, total: self._context.on_progress(f"{self.spec}: {what} embedded", done, total),
            stopping=self._context.stopping,
        )

    def forecast(self, queries: Sequence[GoldQuery]) -> list[str]:
        """Return what the model has yet to embed, and what that will take."""
        cache, sha256 = self._context.cache, self._context.renderer.sha256
        missing = [
            missing_texts(
                self._embedder, self._context.texts, cache=cache, renderer_sha256=sha256, precision=self._precision
            ),
            missing_texts(self._embedder, [query.text for query in queries], cache=cache, renderer_sha256=""),
        ]
        n_texts, n_characters = (sum(column) for column in zip(*missing, strict=True))
        return [f"{self.spec}: {self._embedder.forecast(MissingTexts(n_texts, n_characters))}"]

    def notes(self) -> list[str]:
        """Return the model's notes, such as tokens and cost."""
        return self._embedder.notes()

    async def aclose(self) -> None:
        """Release the model."""
        await self._embedder.aclose()


async def search_vectors(
    context: Context, queries: Sequence[GoldQuery], vectors: VectorView, documents: VectorView, k: int
) -> AsyncGenerator[Outcome, None]:
    """Rank documents for each query by inner product, among those that it may find."""
    ids = [document.id for document in context.corpus.documents]
    for part in _parts(context, queries):
        if context.stopping():
            return
        numbers = np.array(part.numbers)
        # In a thread, so that Ctrl-C and other systems' calls are heard meanwhile.
        rows = await asyncio.to_thread(_search_part, part, vectors.take(numbers), documents, k)
        for number, found in zip(part.numbers, rows, strict=True):
            yield Ranking(queries[number].id, [ids[row] for row in found])


class _Part(NamedTuple):
    """Queries that share one pass over the same documents."""

    numbers: list[int]
    pool: NDArray[np.int64] | None
    """Rows of which every query of the part may find some; None: all."""
    allowed: list[NDArray[np.bool_]]
    """What each query may find."""


def _parts(context: Context, queries: Sequence[GoldQuery]) -> Iterator[_Part]:
    by_path: dict[str, list[int]] = {}
    for number, query in enumerate(queries):
        by_path.setdefault("" if query.pool is UNSET else query.pool.path, []).append(number)
    for path, numbers in by_path.items():
        for start in range(0, len(numbers), QUERIES_AT_ONCE):
            part = numbers[start : start + QUERIES_AT_ONCE]
            if not path:
                yield _Part(part, None, [])
                continue
            allowed = [found for n in part if (found := context.allowed(queries[n])) is not None]
            yield _Part(part, np.flatnonzero(np.logical_or.reduce(allowed)), allowed)


def _search_part(part: _Part, queries: NDArray[np.floating], documents: VectorView, k: int) -> list[list[int]]:
    """Search the part's pool; of theorems of one file it differs by few rows, which are asked for too and left out."""
    if part.pool is None:
        rows, _ = exact_top_k(queries, documents, k)
        found: list[list[int]] = rows.tolist()
        return found
    extra = max(len(part.pool) - int(allowed.sum()) for allowed in part.allowed)
    rows, _ = exact_top_k(queries, documents.only(part.pool), k + extra)
    ranked = part.pool[rows]
    return [list_[allowed[list_]][:k].tolist() for list_, allowed in zip(ranked, part.allowed, strict=True)]
