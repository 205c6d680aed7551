"""Data in a few lines for people. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

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


def describe_board(board: Mapping[str, Any]) -> list[str]:
    """Say how the rows of a board rank, and which differences are shown; percentages."""
    lines = [board["title"], *([board["note"]] if board["note"] else [])]
    header = ["system", "nDCG@10", "R@10", "MRR", "n", "dropped", ""]
    rows = [
        [
            row["label"],
            *(_percent((row["metrics"] or {}).get(name)) for name in ("nDCG@10", "R@10", "MRR")),
            str(row["n"]),
            str(row["dropped"]),
            ", ".join([*([] if row["complete"] else ["incomplete"]), *(badge["label"] for badge in row["badges"])]),
        ]
        for row in board["rows"]
    ]
    lines += _aligned([header, *rows], left={0, 6})
    if board["pairs"]:
        header = ["metric", "first", "second", "difference", "95 % interval", "p (Holm)", ""]
        pairs = [
            [
                pair["metric"],
                pair["first"],
                pair["second"],
                _points(pair["difference"]),
                f"{_points(pair['interval']['low'])} to {_points(pair['interval']['high'])}",
                f"{pair['p_holm']:.4f}",
                pair["verdict"],
            ]
            for pair in board["pairs"]
        ]
        lines += ["", *_aligned([header, *pairs], left={0, 1, 2, 6})]
    return lines


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _points(difference: float | None) -> str:
    if difference is None:
        return "–"
    shown = f"{100 * difference:+.1f}"
    return "0.0" if shown in ("+0.0", "-0.0") else shown


def _aligned(rows: Sequence[Sequence[str]], *, left: set[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
