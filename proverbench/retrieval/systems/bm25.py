"""BM25 by the bm25s library: exact scores of every document, cut at score 0, ties by row."""

import re
from collections.abc import AsyncGenerator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from proverbench.retrieval.records import GoldQuery, Ranking
from proverbench.retrieval.search import top_k_of
from proverbench.retrieval.systems.base import Context, Outcome

if TYPE_CHECKING:
    from bm25s import BM25

K1, B = 1.5, 0.75
TOKENISER = "words, parts of names, symbols; 1"
"""Name of the rules of :func:`tokenise`, part of a run's identity; to be changed with them."""
_WORD = re.compile(r"[^\W_]+|[^\x00-\x7f\w\s]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def tokenise(text: str) -> list[str]:
    """Split a text into lower-case tokens.

    Names of declarations fall apart at dots, underscores and capitals (``Nat.succ_le``, ``IsCompact`` → ``is``,
    ``compact``), and a mathematical symbol such as ``≤`` or ``⊔`` is a token, for in a formal statement it says as
    much as a word. ASCII punctuation is none.
    """
    return [part for word in _WORD.findall(text) for part in _parts(word)]


@lru_cache(maxsize=1 << 17)
def _parts(word: str) -> tuple[str, ...]:
    # Only ASCII names have parts: "Étale" is a word, "IsÉtale" is rare enough to stay one.
    return tuple(part.lower() for part in (_PART.findall(word) if word.isascii() else (word,)))


class Bm25System:
    """BM25 over the rendered documents."""

    spec = "bm25"
    external = False
    own_corpus = ""
    own_missing: frozenset[str] | None = None
    licence = ""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._index: BM25 | None = None

    def identity(self) -> dict[str, Any]:
        """Return method, parameters and tokeniser."""
        return {"kind": "bm25", "method": "lucene", "k1": K1, "b": B, "tokeniser": TOKENISER}

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Score every document for each query."""
        index = self._built()
        for query in queries:
            if self._context.stopping():
                return
            tokens = tokenise(query.text)
            scores = index.get_scores(tokens) if tokens else np.zeros(len(self._context.texts), dtype=np.float32)
            if (allowed := self._context.allowed(query)) is not None:
                scores = np.where(allowed, scores, 0)
            rows = [row for row in top_k_of(scores, k).tolist() if scores[row] > 0]
            yield Ranking(query.id, [self._context.corpus.documents[row].id for row in rows])

    def _built(self) -> "BM25":
        if self._index is None:
            import bm25s  # heavy, and only this system needs it

            tokens = [tokenise(text) or [""] for text in self._context.texts]
            self._index = bm25s.BM25(k1=K1, b=B, method="lucene")
            self._index.index(tokens, show_progress=False)
        return self._index

    def notes(self) -> list[str]:
        """Return nothing: there is nothing to remark."""
        return []

    async def aclose(self) -> None:
        """Drop the index."""
        self._index = None
