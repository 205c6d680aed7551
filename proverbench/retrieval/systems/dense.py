"""Exact dense search: every document's inner product with the query, no approximate index."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from proverbench.retrieval.records import GoldQuery, Ranking
from proverbench.retrieval.render import RENDERER_SHA256
from proverbench.retrieval.search import exact_top_k
from proverbench.retrieval.systems.base import Context, Outcome
from proverbench.retrieval.vectors import Embedder, Precision, StoppedError, VectorView, embed_all

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
            "renderer_sha256": RENDERER_SHA256,
            "precision": self._precision,
        }

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Embed what the cache lacks, then search."""
        texts = [query.text for query in queries]
        try:
            documents = await self._embedded("documents", self._context.texts, precision=self._precision)
            vectors = await self._embedded("queries", texts, is_query=True)
        except StoppedError:
            return
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            part = vectors.block(start, start + QUERIES_AT_ONCE)
            if self._context.stopping():
                return
            # In a thread, so that Ctrl-C and other systems' calls are heard meanwhile.
            rows, _ = await asyncio.to_thread(exact_top_k, part, documents, k)
            for query, found in zip(queries[start : start + QUERIES_AT_ONCE], rows.tolist(), strict=True):
                yield Ranking(query.id, [self._context.corpus.documents[row].id for row in found])

    async def _embedded(
        self, what: str, texts: Sequence[str], *, is_query: bool = False, precision: Precision = "float32"
    ) -> VectorView:
        return await embed_all(
            self._embedder,
            texts,
            cache=self._context.cache,
            is_query=is_query,
            precision=precision,
            on_progress=lambda done, total: self._context.on_progress(f"{self.spec}: {what}", done, total),
            stopping=self._context.stopping,
        )

    def notes(self) -> list[str]:
        """Return nothing: there is nothing to remark."""
        return []

    async def aclose(self) -> None:
        """Release the model."""
        await self._embedder.aclose()
