"""Data in a few lines for people. Pure."""

from proverbench.retrieval.benchmarks import Benchmark
from proverbench.retrieval.corpus import Corpus
from proverbench.retrieval.prepare import Prepared


def describe_corpus(corpus: Corpus) -> list[str]:
    """Say what a corpus holds."""
    names = len({document.name for document in corpus.documents})
    sample = f", a sample of {corpus.sampled_from}" if corpus.sampled_from else ""
    revision = f" at {corpus.revision}" if corpus.revision else ""
    return [
        f"corpus {corpus.name}{revision}: {len(corpus.documents)} documents{sample}, {names} names",
        f"  sha256 {corpus.sha256}",
    ]


def describe_benchmark(benchmark: Benchmark) -> list[str]:
    """Say what a benchmark holds."""
    clusters = len({query.cluster for query in benchmark.queries})
    units = sum(len(query.gold) for query in benchmark.queries)
    return [
        f"task {benchmark.task}: {len(benchmark.queries)} queries of {clusters} declarations, {units} gold units",
        f"  sha256 {benchmark.sha256}",
        *_published(benchmark.published, benchmark.notes),
    ]


def describe_data(prepared: Prepared) -> list[str]:
    """Say what a run would take."""
    benchmark, queries = prepared.benchmark, prepared.queries
    dropped = sum(query.dropped for query in queries)
    overlapping = [query.id for query in queries if query.overlapping]
    lines = [
        *describe_corpus(prepared.corpus),
        f"task {prepared.options.task}: {len(queries)} queries of {len({q.cluster for q in queries})} declarations",
        f"  sha256 {benchmark.sha256}",
        *_published(benchmark.published, benchmark.notes),
        f"  {len(queries) - dropped} with gold in the corpus, {dropped} without are dropped",
        f"  {sum(len(q.units) for q in queries)} gold units; {sum(q.units_left_out for q in queries)} are left out",
    ]
    if overlapping:
        lines.append(f"  {len(overlapping)} queries list one document in two units: {', '.join(overlapping[:5])}")
    return lines


def _published(published: bool | None, notes: list[str]) -> list[str]:
    if published:
        return ["  the published file, unchanged"]
    return [f"  note: {note}" for note in notes]
