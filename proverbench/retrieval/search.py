"""Exact search: the k best rows by score, ties by row. No approximate index."""

import numpy as np
from numpy.typing import NDArray

from proverbench.retrieval.vectors import VectorView

Rows = NDArray[np.int64]
Scores = NDArray[np.floating]

BLOCK_BYTES = 32 << 20
"""How large the block of scores may be that is held at once: larger ones leave the cache before they are looked at."""
_MARGIN = 32
"""Candidates kept beyond k until they are scored again; see :func:`exact_top_k`."""


def top_k_of(scores: Scores, k: int) -> Rows:
    """Return the rows of the ``k`` >= 1 highest scores of one query, best first, equal scores by row.

    A partial sort: only what can be among the k best is ordered.
    """
    n = len(scores)
    if k >= n:
        return np.argsort(-scores, kind="stable")[:k]
    kth = np.partition(scores, n - k)[n - k]
    candidates = np.flatnonzero(scores >= kth)  # ascending rows, so that a stable sort breaks ties by row
    return candidates[np.argsort(-scores[candidates], kind="stable")][:k]


def exact_top_k(
    queries: Scores, documents: VectorView, k: int, *, block_bytes: int = BLOCK_BYTES
) -> tuple[Rows, Scores]:
    """Find the ``k`` documents with the highest inner product for each query.

    Documents are taken in blocks, so memory is bounded by ``block_bytes`` of scores and what has been kept, whatever
    the corpus; a memory-mapped or float16 matrix is read a block at a time.

    A matrix product rounds one and the same row differently in different places of a block. So that equal documents
    tie exactly, and neither blocks nor threads change a list, a few more than ``k`` candidates are kept and their
    products computed once more in double precision, one by one; those decide the order.

    Args:
        queries: Shape (n_queries, dim), float32.
        documents: Vectors of dimension dim, float32 or float16.
        k: How many to find.
        block_bytes: Bound on the block of scores.

    Returns:
        Rows and scores, both (n_queries, min(k, n_documents)), best first, ties by row.
    """
    n_queries, n_documents = len(queries), len(documents)
    k = min(k, n_documents)
    if n_queries == 0 or k == 0:
        return np.zeros((n_queries, k), dtype=np.int64), np.zeros((n_queries, k))
    queries32 = np.ascontiguousarray(queries, dtype=np.float32)
    block = max(1, block_bytes // (4 * n_queries))
    best = _Best(n_queries, min(k + _MARGIN, n_documents))
    buffer = np.empty((n_queries, min(block, n_documents)), dtype=np.float32)
    for start in range(0, n_documents, block):
        part = np.asarray(documents.block(start, start + block), dtype=np.float32)
        scores = (
            buffer[:, : len(part)] if len(part) == buffer.shape[1] else np.empty((n_queries, len(part)), np.float32)
        )
        np.matmul(queries32, part.T, out=scores)
        best.take(scores, start)
    return _order(queries32, documents, best.rows(), k)


class _Best:
    """The best rows of each query so far: a sorted table, and candidates that wait to be merged into it."""

    def __init__(self, n_queries: int, keep: int) -> None:
        self._keep = keep
        self._scores = np.full((n_queries, keep), -np.inf, dtype=np.float32)
        self._rows = np.full((n_queries, keep), -1, dtype=np.int64)
        self._threshold = np.full(n_queries, -np.inf, dtype=np.float32)
        self._waiting: list[tuple[Rows, Rows, Scores]] = []
        self._n_waiting = 0

    def take(self, scores: Scores, start: int) -> None:
        """Look at a block whose first column is document ``start``."""
        if not np.isfinite(self._threshold).all():
            # Nothing to compare with yet: without this the whole first block would be candidates.
            self._seed(scores, start)
            return
        # A later row of equal score loses to an earlier one, so only a strictly better score can enter.
        flat = np.flatnonzero(scores > self._threshold[:, None])
        if not len(flat):
            return
        which, columns = np.divmod(flat, scores.shape[1])
        self._waiting.append((which, columns + start, scores[which, columns]))
        self._n_waiting += len(flat)
        if self._n_waiting >= self._scores.size:
            self._merge()

    def _seed(self, scores: Scores, start: int) -> None:
        for query in range(len(scores)):
            columns = top_k_of(scores[query], self._keep)
            self._merge_one(query, scores[query, columns], columns + start)

    def _merge(self) -> None:
        if not self._n_waiting:
            return
        which = np.concatenate([part[0] for part in self._waiting])
        rows = np.concatenate([part[1] for part in self._waiting])
        scores = np.concatenate([part[2] for part in self._waiting])
        order = np.argsort(which, kind="stable")  # rows stay ascending within a query
        which, rows, scores = which[order], rows[order], scores[order]
        bounds = np.searchsorted(which, np.arange(len(self._scores) + 1))
        for query in np.flatnonzero(np.diff(bounds)):
            part = slice(bounds[query], bounds[query + 1])
            self._merge_one(int(query), scores[part], rows[part])
        self._waiting, self._n_waiting = [], 0

    def _merge_one(self, query: int, scores: Scores, rows: Rows) -> None:
        all_scores = np.concatenate([self._scores[query], scores])
        all_rows = np.concatenate([self._rows[query], rows])
        chosen = top_k_of(all_scores, self._keep)
        self._scores[query] = all_scores[chosen]
        self._rows[query] = all_rows[chosen]
        self._threshold[query] = self._scores[query, -1]

    def rows(self) -> Rows:
        """Return the candidates of each query, shape (n_queries, keep)."""
        self._merge()
        return self._rows


def _order(queries: Scores, documents: VectorView, candidates: Rows, k: int) -> tuple[Rows, Scores]:
    """Order candidates by their inner product in double precision, ties by row, and keep ``k``."""
    rows = np.empty((len(queries), k), dtype=np.int64)
    scores = np.empty((len(queries), k))
    for query, found in enumerate(candidates):
        ascending = np.sort(found)
        # einsum adds up each row by itself and in one order, which a BLAS product does not promise.
        products = np.einsum("ij,j->i", documents.take(ascending).astype(np.float64), queries[query].astype(np.float64))
        chosen = top_k_of(products, k)
        rows[query], scores[query] = ascending[chosen], products[chosen]
    return rows, scores
