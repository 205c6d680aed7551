"""Exact search: the k best rows by score, ties by row. No approximate index."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proverbench.retrieval.vectors import VectorView

Rows = NDArray[np.int64]
Scores = NDArray[np.floating]

BLOCK_BYTES = 32 << 20
"""How large the block of scores may be that is held at once: larger ones leave the cache before they are looked at."""
PART_BYTES = 64 << 20
"""How large the block of documents in single precision may be."""
_CARRIED = 4
"""Up to so many times k candidates are carried along before near ties are told apart in double precision: nearly always
once, at the end."""
_AT_ONCE = 64
"""Vectors that are held in double precision at once: so few stay in the cache."""
_DENSE = 1 / 8
"""From this share of a block on, candidates are taken query by query, which needs no list of all of them."""


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


def documents_at_once(n_queries: int, dim: int, *, block_bytes: int = BLOCK_BYTES) -> int:
    """Return how many documents make a block: what its scores and its vectors allow, at least one."""
    return max(1, min(block_bytes // (4 * n_queries), PART_BYTES // (4 * dim)))


def exact_top_k(
    queries: Scores, documents: VectorView, k: int, *, block_bytes: int = BLOCK_BYTES
) -> tuple[Rows, Scores]:
    """Find the ``k`` documents with the highest inner product for each query.

    Documents are taken in blocks, so memory is bounded by ``block_bytes`` of scores, ``PART_BYTES`` of vectors and what
    has been kept, whatever the corpus; a memory-mapped or float16 matrix is read a block at a time.

    A matrix product in single precision rounds one and the same row differently in different places of a block, and
    otherwise on another processor. So that equal documents tie exactly, and neither blocks, threads nor the machine
    change a list, no document is dropped that rounding alone may have put behind another: within the error bound of
    :func:`_rounding` candidates are told apart by products in double precision, summed one by one.

    Args:
        queries: L2-normalised (or zero), shape (n_queries, dim), float32.
        documents: L2-normalised (or zero) vectors of dimension dim, float32 or float16.
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
    block = documents_at_once(n_queries, queries32.shape[1], block_bytes=block_bytes)
    exact = _Exact(queries32, documents)
    best = _Best(exact, n_queries, k, slack=2 * _rounding(queries32.shape[1]))
    buffer = np.empty((n_queries, min(block, n_documents)), dtype=np.float32)
    single = np.empty((0, 0), dtype=np.float32)
    for start in range(0, n_documents, block):
        part = documents.block(start, start + block)
        if part.dtype != np.float32:
            if len(single) < len(part):
                single = np.empty(part.shape, dtype=np.float32)
            np.copyto(single[: len(part)], part)
            part = single[: len(part)]
        scores = (
            buffer[:, : len(part)] if len(part) == buffer.shape[1] else np.empty((n_queries, len(part)), np.float32)
        )
        np.matmul(queries32, part.T, out=scores)
        best.take(scores, start)
    return best.in_order()


def _rounding(dim: int) -> float:
    """Return a bound on the error of an inner product of two vectors of length 1, computed in float32 in any order.

    That is gamma_n = n u / (1 - n u) for n = ``dim`` terms and the unit roundoff u (N. J. Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., 2002, section 3.1); a hundredth more for lengths that are only about 1.
    """
    n_u = dim * float(np.finfo(np.float32).eps) / 2
    return 1.01 * n_u / (1 - n_u)


@dataclass(frozen=True, slots=True)
class _Exact:
    """Inner products in double precision, in which equal documents are equal."""

    queries: Scores
    documents: VectorView

    def products(self, query: int, rows: Rows) -> NDArray[np.float64]:
        # einsum adds up each row by itself and in one order, which a BLAS product does not promise.
        of_query = self.queries[query].astype(np.float64)
        found = np.empty(len(rows))
        for start in range(0, len(rows), _AT_ONCE):
            part = self.documents.take(rows[start : start + _AT_ONCE]).astype(np.float64)
            found[start : start + _AT_ONCE] = np.einsum("ij,j->i", part, of_query)
        return found


class _Best:
    """For each query all rows seen so far that may be among its ``k`` best, and candidates that wait to be compared."""

    def __init__(self, exact: _Exact, n_queries: int, k: int, *, slack: float) -> None:
        self._exact = exact
        self._k = k
        self._slack = np.float32(slack)
        self._rows = [np.empty(0, dtype=np.int64) for _ in range(n_queries)]
        self._scores = [np.empty(0, dtype=np.float32) for _ in range(n_queries)]
        self._floor = np.full(n_queries, -np.inf, dtype=np.float32)
        """A score below this is certainly not among the k best."""
        self._waiting: list[tuple[Rows, Rows, Scores]] = []
        self._n_waiting = 0

    def take(self, scores: Scores, start: int) -> None:
        """Look at a block whose first column is document ``start``."""
        may_enter = scores >= self._floor[:, None]
        n_entering = int(np.count_nonzero(may_enter))
        if n_entering > _DENSE * scores.size:  # the first block, or one of near ties
            self._merge()
            for query, of_query in enumerate(scores):
                columns = np.flatnonzero(of_query >= max(self._floor[query], self._floor_of(of_query)))
                self._merge_one(query, of_query[columns], columns + start)
        elif n_entering:
            which, columns = np.divmod(np.flatnonzero(may_enter), scores.shape[1])
            self._waiting.append((which, columns + start, scores[which, columns]))
            self._n_waiting += n_entering
            if self._n_waiting >= len(self._rows) * self._k:
                self._merge()

    def in_order(self) -> tuple[Rows, Scores]:
        """Return the ``k`` best rows of each query, best first, ties by row, and their scores; both (n_queries, k)."""
        self._merge()
        found = [self._cut(query, rows) for query, rows in enumerate(self._rows)]
        return np.array([rows for rows, _ in found]), np.array([products for _, products in found])

    def _floor_of(self, scores: Scores) -> np.float32:
        """Return below what none of these scores can be one of the k best, as far as these tell."""
        if len(scores) < self._k:
            return np.float32(-np.inf)
        kth: np.float32 = np.partition(scores, len(scores) - self._k)[len(scores) - self._k]
        floor: np.float32 = np.nextafter(kth - self._slack, np.float32(-np.inf))
        return floor

    def _merge(self) -> None:
        if not self._n_waiting:
            return
        which = np.concatenate([part[0] for part in self._waiting])
        rows = np.concatenate([part[1] for part in self._waiting])
        scores = np.concatenate([part[2] for part in self._waiting])
        order = np.argsort(which, kind="stable")
        which, rows, scores = which[order], rows[order], scores[order]
        bounds = np.searchsorted(which, np.arange(len(self._rows) + 1))
        for query in np.flatnonzero(np.diff(bounds)):
            part = slice(bounds[query], bounds[query + 1])
            self._merge_one(int(query), scores[part], rows[part])
        self._waiting, self._n_waiting = [], 0

    def _merge_one(self, query: int, scores: Scores, rows: Rows) -> None:
        scores = np.concatenate([self._scores[query], scores])
        rows = np.concatenate([self._rows[query], rows])
        self._floor[query] = self._floor_of(scores)
        kept = scores >= self._floor[query]
        scores, rows = scores[kept], rows[kept]
        if len(rows) > _CARRIED * self._k:
            kept = np.isin(rows, self._cut(query, rows)[0])
            scores, rows = scores[kept], rows[kept]
        self._scores[query], self._rows[query] = scores, rows

    def _cut(self, query: int, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """Return the ``k`` best of these rows, best first, and their products in double precision."""
        products = self._exact.products(query, rows)
        chosen = top_k_of(products, self._k)
        return rows[chosen], products[chosen]
