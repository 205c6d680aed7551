"""Options -> a prepared run: corpus, queries with gold looked up, and everything that identifies them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
from msgspec import UNSET

from proverbench.errors import DataError
from proverbench.retrieval.benchmarks import TASKS, Benchmark, load_benchmark
from proverbench.retrieval.corpus import Corpus, load_corpus
from proverbench.retrieval.folder import queries_bytes, run_id_of
from proverbench.retrieval.gold import resolve_gold
from proverbench.retrieval.records import BenchmarkIdentity, CorpusIdentity, GoldQuery, Query, RunManifest
from proverbench.retrieval.render import OWN_V1, Renderer, renderer_of
from proverbench.retrieval.strings import Strings, load_strings
from proverbench.retrieval.subsets import cut_to_subset, load_subset, subset_name
from proverbench.retrieval.systems.base import System
from proverbench.version import __version__

SAMPLE_SEED = 20260711
"""Seed of a sample of queries or documents, unless another is given; it stands in the manifest."""
ACCESSIBLE, ALL = "accessible", "all"
DROPPED, ZERO = "dropped", "zero"


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Which data a run takes."""

    task: str
    corpus: Path
    queries: Path
    corpus_name: str = ""
    corpus_revision: str = ""
    corpus_sha256: str = ""
    queries_sha256: str = ""
    allow_modified: bool = False
    subset: Path | None = None
    split: str = ""
    sample_queries: int | None = None
    sample_corpus: int | None = None
    seed: int = SAMPLE_SEED
    renderer: str = OWN_V1
    strings: Path | None = None
    query_text: str = ""
    """Which text of a row is asked, where the task has several."""
    missing_gold: str = DROPPED
    """Whether queries without gold in the corpus are dropped, or score 0 as in the release."""
    pool: str = ""
    """Of LeanDojo: ``accessible`` premises (the default) or ``all``."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Data, loaded and looked up."""

    options: DataOptions
    corpus: Corpus
    renderer: Renderer
    strings: Strings
    asked: list[Query]
    """As the benchmark writes them."""
    benchmark: BenchmarkIdentity

    @cached_property
    def texts(self) -> list[str]:
        """The corpus, rendered."""
        return [self.renderer.render(document) for document in self.corpus.documents]

    @cached_property
    def queries(self) -> list[GoldQuery]:
        """The queries, their gold looked up in the corpus of the run."""
        return self._resolved(self.corpus.rows_of)

    def queries_for(self, system: System) -> list[GoldQuery]:
        """Return the queries with the gold of the corpus that ``system`` searches: the run's, or its own.

        Of a corpus of its own only names are known: those of the benchmark that it is not said to lack.

        Raises:
            DataError: If no query has gold there.
        """
        if not system.own_corpus:
            queries, where = self.queries, f"{self.options.corpus}"
        else:
            names = {member for query in self.asked for unit in query.gold for member in unit}
            lacks = system.own_missing or frozenset()
            queries, where = self._resolved({name: [name] for name in names - lacks}), system.own_corpus
        if all(query.dropped for query in queries):
            raise DataError(
                f"{self.options.queries}: none of its {len(queries)} queries has gold in {where}; "
                "is this the corpus that the benchmark was made for?"
            )
        return queries

    def _resolved(self, rows_of: Mapping[str, Sequence[str]]) -> list[GoldQuery]:
        zero, library = self.options.missing_gold == ZERO, self.corpus.library
        resolved = [resolve_gold(query, rows_of, library=library, missing_zero=zero) for query in self.asked]
        if self._accessible:
            return resolved
        return [msgspec.structs.replace(query, pool=UNSET) for query in resolved]

    @property
    def _accessible(self) -> bool:
        return self.options.task == "leandojo" and self.options.pool != ALL

    def manifest(self, system: System) -> RunManifest:
        """Return the manifest of a run of ``system`` on this data."""
        name = self.renderer.name
        missing = sorted(system.own_missing) if system.own_missing is not None else None
        manifest = RunManifest(
            task=self.options.task,
            system=system.spec,
            system_identity=system.identity(),
            external=system.external,
            own_corpus=system.own_corpus,
            licence=system.licence,
            benchmark=self.benchmark,
            corpus=CorpusIdentity(
                name=self.corpus.name,
                revision=self.corpus.revision,
                sha256=self.corpus.sha256,
                documents=len(self.corpus.documents),
                key=self.corpus.key,
                sampled_from=self.corpus.sampled_from,
                sample_seed=self.corpus.sample_seed,
                whole_documents=UNSET if self.corpus.whole_documents is None else self.corpus.whole_documents,
            ),
            renderer=UNSET if name == OWN_V1 else name,
            renderer_sha256=self.renderer.sha256,
            queries_sha256=hashlib.sha256(queries_bytes(self.queries_for(system))).hexdigest(),
            k_max=TASKS[self.options.task].k_max,
            pool=ACCESSIBLE if self._accessible else UNSET,
            own_missing=UNSET if missing is None else hashlib.sha256("\n".join(missing).encode()).hexdigest(),
            operation={"version": __version__},
        )
        return msgspec.structs.replace(manifest, run_id=run_id_of(manifest))


def prepare(options: DataOptions) -> Prepared:
    """Load what a run needs.

    Raises:
        DataError: If a file breaks a rule, or no query is left.
        ConfigError: If the renderer is unknown or lacks its sentences.
    """
    strings = load_strings(options.strings)
    renderer = renderer_of(options.renderer, strings)
    corpus = load_corpus(
        options.corpus, name=options.corpus_name, revision=options.corpus_revision, sha256=options.corpus_sha256
    )
    whole = load_benchmark(
        options.queries,
        options.task,
        sha256=options.queries_sha256,
        allow_modified=options.allow_modified,
        query_text=options.query_text,
    )
    benchmark = _cut(whole, options)
    queries, sampled_from = _drawn(benchmark.queries, options)
    _require_pool(options, corpus, queries)
    prepared = Prepared(
        options=options,
        corpus=corpus,
        renderer=renderer,
        strings=strings,
        asked=queries,
        benchmark=_identity(options, benchmark, n=len(queries), sampled_from=sampled_from),
    )
    if options.sample_corpus is None:
        return prepared
    if corpus.library.imports:
        raise DataError("--sample-corpus: a LeanDojo corpus is searched as its files import one another; take it whole")
    keep = [row for query in prepared.queries for unit in query.units for row in unit if row in corpus.number_of]
    return replace(prepared, corpus=corpus.sampled(options.sample_corpus, keep=keep, seed=options.seed))


def _identity(options: DataOptions, benchmark: Benchmark, *, n: int, sampled_from: int | None) -> BenchmarkIdentity:
    default = TASKS[options.task].query_texts[0]
    return BenchmarkIdentity(
        file=options.queries.name,
        sha256=benchmark.sha256,
        published=benchmark.published,
        notes=benchmark.notes,
        subset=benchmark.subset,
        split=options.split,
        sampled_n=n if sampled_from else None,
        sampled_from=sampled_from,
        sample_seed=options.seed if sampled_from else None,
        query_text=UNSET if options.query_text in ("", default) else options.query_text,
        missing_gold=UNSET if options.missing_gold == DROPPED else options.missing_gold,
    )


def _require_pool(options: DataOptions, corpus: Corpus, queries: Sequence[Query]) -> None:
    """Refuse data on which what is accessible cannot be known."""
    if options.pool and options.task != "leandojo":
        raise DataError(f"--pool is for the task leandojo, not {options.task}")
    if options.task != "leandojo" or options.pool == ALL:
        return
    if not corpus.library.imports or any(query.pool is None for query in queries):
        raise DataError(
            "task leandojo searches the premises that a theorem can use, which takes a corpus.jsonl with path and "
            "imports, and theorems with file_path and start; --pool all searches every premise"
        )
    for path in dict.fromkeys(query.pool.path for query in queries if query.pool is not None):
        corpus.library.accessible_from(path)


def _cut(benchmark: Benchmark, options: DataOptions) -> Benchmark:
    if options.subset is not None:
        benchmark = cut_to_subset(benchmark, load_subset(options.subset), subset_name(options.subset))
    if options.split:
        kept = [query for query in benchmark.queries if query.split == options.split]
        if not kept:
            known = sorted({query.split for query in benchmark.queries} - {""})
            raise DataError(f"{options.queries}: no query of split {options.split!r}; it has {known or 'no splits'}")
        benchmark = replace(benchmark, queries=kept)
    return benchmark


def _drawn(queries: Sequence[Query], options: DataOptions) -> tuple[list[Query], int | None]:
    """Draw a sample of queries, kept in their order; returns how many it was drawn from, or None if all are asked."""
    n = options.sample_queries
    if n is None or n >= len(queries):
        return list(queries), None
    rng = np.random.Generator(np.random.PCG64(options.seed))
    chosen = np.sort(rng.choice(len(queries), size=n, replace=False)).tolist()
    return [queries[i] for i in chosen], len(queries)
