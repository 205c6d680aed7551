"""Options -> a prepared run: corpus, queries with gold looked up, and everything that identifies them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from proverbench.errors import DataError
from proverbench.retrieval.benchmarks import Benchmark, cut_to_subset, load_benchmark, load_subset
from proverbench.retrieval.corpus import Corpus, load_corpus
from proverbench.retrieval.folder import queries_bytes, run_id_of
from proverbench.retrieval.gold import resolve_gold
from proverbench.retrieval.records import BenchmarkIdentity, CorpusIdentity, GoldQuery, Query, RunManifest
from proverbench.retrieval.render import RENDERER_SHA256, render_document
from proverbench.retrieval.systems.base import System
from proverbench.version import __version__

SAMPLE_SEED = 20260711
"""Seed of a sample of queries or documents, unless another is given; it stands in the manifest."""


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Which data a run takes."""

    task: str
    corpus: Path
    queries: Path
    corpus_name: str = ""
    corpus_revision: str = ""
    queries_sha256: str = ""
    allow_modified: bool = False
    subset: Path | None = None
    split: str = ""
    sample_queries: int | None = None
    sample_corpus: int | None = None
    seed: int = SAMPLE_SEED


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Data, loaded and looked up."""

    options: DataOptions
    corpus: Corpus
    texts: list[str]
    """The corpus, rendered."""
    queries: list[GoldQuery]
    benchmark: BenchmarkIdentity

    def manifest(self, system: System) -> RunManifest:
        """Return the manifest of a run of ``system`` on this data."""
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
            ),
            renderer_sha256=RENDERER_SHA256,
            queries_sha256=hashlib.sha256(queries_bytes(self.queries)).hexdigest(),
            operation={"version": __version__},
        )
        return msgspec.structs.replace(manifest, run_id=run_id_of(manifest))


def prepare(options: DataOptions) -> Prepared:
    """Load what a run needs.

    Raises:
        DataError: If a file breaks a rule, or no query is left.
    """
    corpus = load_corpus(options.corpus, name=options.corpus_name, revision=options.corpus_revision)
    whole = load_benchmark(
        options.queries, options.task, sha256=options.queries_sha256, allow_modified=options.allow_modified
    )
    benchmark = _cut(whole, options)
    queries, sampled_from = _drawn(benchmark.queries, options)
    gold = [resolve_gold(query, corpus.rows_of) for query in queries]
    if all(query.dropped for query in gold):
        raise DataError(
            f"{options.queries}: none of its {len(gold)} queries has gold in {options.corpus}; "
            "is this the corpus that the benchmark was made for?"
        )
    if options.sample_corpus is not None:
        keep = [row for query in gold for unit in query.units for row in unit]
        corpus = corpus.sampled(options.sample_corpus, keep=keep, seed=options.seed)
    return Prepared(
        options=options,
        corpus=corpus,
        texts=[render_document(document) for document in corpus.documents],
        queries=gold,
        benchmark=BenchmarkIdentity(
            file=options.queries.name,
            sha256=benchmark.sha256,
            published=benchmark.published,
            notes=benchmark.notes,
            subset=benchmark.subset,
            split=options.split,
            sampled_n=len(queries) if sampled_from else None,
            sampled_from=sampled_from,
            sample_seed=options.seed if sampled_from else None,
        ),
    )


def _cut(benchmark: Benchmark, options: DataOptions) -> Benchmark:
    if options.subset is not None:
        benchmark = cut_to_subset(benchmark, load_subset(options.subset), options.subset.stem)
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
