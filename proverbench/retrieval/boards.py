"""Runs -> boards: rows that may be ranked together, and nothing else.

A board holds constant the benchmark file and its queries, the corpus, the document text, the depth of the lists and
the pool that is searched. Runs of different corpora stand together only on shared queries, and a sample, a subset or a
split of the queries has a shared board of its own: it never takes queries away from the others.
"""

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import UNSET

from proverbench.metrics.uncertainty import significant
from proverbench.retrieval.compare import compare_tables
from proverbench.retrieval.derive import QueryTable, scored, scores_of, service_cap
from proverbench.retrieval.metrics import macro_mean
from proverbench.retrieval.notices import Badge, badges_of, coverage_of
from proverbench.retrieval.published import PublishedRow
from proverbench.retrieval.rundata import RunData

COMPARED = ("nDCG@10", "R@10", "MRR")
COMPARED_OF_SEVERAL = ("Covered@10", "CoveredRoute@10", "CoveredOriginal@10", "P@10")
"""Compared too where queries have several gold units; of a single unit they say what R says."""
SHOWN = ("nDCG@10", "R@1", "R@5", "R@10", "R@50", "R@100", "MRR", "MAP")
"""Columns of a board."""
ONE_UNIT = "every query of this task has a single gold unit, so P@k is R@k divided by k and says nothing new"
SHARED_NOTE = (
    "Runs of different corpora stand in one ranking only here: on the queries whose gold each of them has. Scores are "
    "derived from the same positions as on the other boards; what else the corpora hold still differs."
)

_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True)
class Rows:
    """The runs of one board, in the order given."""

    runs: Sequence[RunData]
    numbers: Mapping[str, int]
    """Number of each run on the page, by label."""
    badges: Mapping[str, Sequence[Badge]]
    """Beside those that a run has everywhere, by label."""


def boards_of(
    runs: Sequence[RunData],
    *,
    published: Sequence[PublishedRow] = (),
    subset: Sequence[str] | None = None,
    subset_name: str = "",
) -> list[dict[str, Any]]:
    """Build every board that these runs allow; see :func:`proverbench.retrieval.leaderboard.build_page`."""
    numbers = {run.label: number for number, run in enumerate(runs)}
    boards = [_board(group, numbers) for group in grouped(runs, lambda run: run.board_key)]
    for group, name in _shared_groups(runs, subset, subset_name):
        shared = _shared_board(group, numbers, subset, name)
        boards += [shared] if shared is not None else []
    for board in boards:
        board["published"] = [_beside(row, board) for row in published if row.task == board["task"]]
    return _told_apart(boards)


def _told_apart(boards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to titles that are alike what each board alone holds constant."""
    alike: dict[str, list[dict[str, Any]]] = {}
    for board in boards:
        alike.setdefault(board["title"], []).append(board)
    for group in alike.values():
        common = set.intersection(*(set(board["held"]) for board in group))
        for board in group if len(group) > 1 else ():
            board["title"] = "; ".join([board["title"], *(line for line in board["held"] if line not in common)])
    return boards


def grouped(runs: Iterable[RunData], key: Callable[[RunData], _K]) -> list[list[RunData]]:
    """Put runs of equal keys together, in order."""
    groups: dict[_K, list[RunData]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _shared_groups(
    runs: Sequence[RunData], subset: Sequence[str] | None, subset_name: str
) -> list[tuple[list[RunData], str]]:
    """Return the groups that may share queries, and what each group's part of the queries is called."""
    found: list[tuple[list[RunData], str]] = []
    # A sample of a corpus is comparable with nothing but itself, and LeanDojo's protocol with no other pool.
    eligible = [run for run in runs if not run.is_slice and run.manifest.pool is UNSET and run.complete]
    for group in grouped(eligible, lambda run: run.shared_key):
        for of_text in _by_document_text(group):
            whole = [run for run in of_text if not run.part]
            parts = grouped((run for run in of_text if run.part), lambda run: run.part)
            if len({run.corpus_key for run in whole}) > 1 or (whole and subset is not None):
                found.append((whole, subset_name or "shared queries"))
            for part in parts:
                together = [*whole, *part]
                if len({run.board_key for run in together}) > 1:
                    found.append((together, f"the queries of {part[0].part}"))
    return found


def _by_document_text(group: Sequence[RunData]) -> list[list[RunData]]:
    """Divide runs by the text of their documents; engines, whose text is their own, join each."""
    engines = [run for run in group if run.manifest.own_corpus]
    own = grouped((run for run in group if not run.manifest.own_corpus), lambda run: run.renderer)
    return [[run for run in group if run in of_text or run in engines] for of_text in own] or [engines]


def _board(group: Sequence[RunData], numbers: Mapping[str, int]) -> dict[str, Any]:
    """Rank runs that hold everything but the system constant."""
    first = group[0]
    tables: dict[str, QueryTable] = {}
    rows = []
    for run in group:
        if run.complete:
            tables[run.label] = QueryTable.of(*scored(run.queries, run.positions, run.manifest))
        row = _row(run, numbers, n=sum(not q.dropped for q in run.queries))
        rows.append({**row, **_whole_figures(run)})
    return {
        **_frame(group, tables, several=any(len(query.units) > 1 for query in first.queries)),
        "title": f"{first.benchmark_title} on {first.corpus_title}",
        "shared": False,
        "note": "",
        "corpus": first.manifest.own_corpus or first.manifest.corpus.name,
        "rows": sort_rows(rows),
    }


def _shared_board(
    group: Sequence[RunData], numbers: Mapping[str, int], subset: Sequence[str] | None, name: str
) -> dict[str, Any] | None:
    """Rank runs of different corpora on the queries that each of them has gold for, derived from their positions."""
    kept = _shared_queries(group, subset)
    if not kept:
        return None
    tables: dict[str, QueryTable] = {}
    pr11: dict[str, list[float]] = {}
    rows = []
    for run in group:
        by_id = {query.id: query for query in run.queries}
        queries = [by_id[query_id] for query_id in kept]
        cap = service_cap(run.manifest, list(run.positions.values()))
        scores = scores_of(queries, run.positions, k_max=run.manifest.k_max, service_cap=cap)
        tables[run.label] = QueryTable.of(queries, scores)
        pr11[run.label] = [significant(value) for value in macro_mean(scores.pr11).tolist()]
        rows.append(_row(run, numbers, n=len(kept), extra=[Badge(run.short_corpus, run.corpus_title)]))
    for row in rows:
        row.update(_figures(tables[row["label"]]), pr11=pr11[row["label"]])
    kept_ids = set(kept)
    clusters = len({query.cluster for query in group[0].queries if query.id in kept_ids})
    several = any(len(group[0].positions[query_id].positions) > 1 for query_id in kept)
    return {
        **_frame(group, tables, several=several),
        "title": f"{group[0].benchmark_title}: {name}, {len(kept)} queries of {clusters} declarations",
        "shared": True,
        "note": SHARED_NOTE,
        "corpus": "",
        "rows": sort_rows(rows),
    }


def _frame(group: Sequence[RunData], tables: Mapping[str, QueryTable], *, several: bool) -> dict[str, Any]:
    metrics = [*COMPARED, *(COMPARED_OF_SEVERAL if several else ())]
    first = next((run for run in group if run.kind == "own"), group[0])
    return {
        "task": first.manifest.task,
        "held": first.held_constant(shared=len({run.corpus_key for run in group}) > 1),
        "loose": [f"{run.label}: {why}" for run in group if (why := run.not_known)],
        "precision": {"offered": several, "why": "" if several else ONE_UNIT},
        "pairs": compare_tables(tables, metrics) if len(tables) > 1 else [],
    }


def _row(run: RunData, numbers: Mapping[str, int], *, n: int, extra: Sequence[Badge] = ()) -> dict[str, Any]:
    return {
        "run": numbers[run.label],
        "label": run.label,
        "kind": run.kind,
        "complete": run.complete,
        "metrics": None,
        "n": n,
        "dropped": sum(query.dropped for query in run.queries),
        "coverage": coverage_of(run),
        "corpus": run.short_corpus,
        "latency_p95_s": run.latency_p95_s,
        "badges": [badge._asdict() for badge in [*badges_of(run), *extra]],
    }


def _whole_figures(run: RunData) -> dict[str, Any]:
    """Return figures and curves of a run as a whole; nothing while it is not complete."""
    summary, curves = run.derived
    if summary["metrics"] is None:
        return dict.fromkeys(("metrics", "intervals", "sparkline", "curves", "bands", "pr11"))
    reported = [name for name in (*SHOWN, *COMPARED_OF_SEVERAL) if name in summary["metrics"]]
    return {
        "metrics": {name: summary["metrics"][name] for name in reported},
        "intervals": {name: summary["intervals"][name] for name in reported},
        "sparkline": curves["curves"]["R"],
        "curves": curves["curves"],
        "bands": curves["intervals"],
        "pr11": curves["pr11"],
    }


def _figures(table: QueryTable) -> dict[str, Any]:
    """Return figures and curves over the queries of a table."""
    means = table.means()
    bands = {unit: table.intervals(unit) for unit in ("query", "cluster")}
    reported = [name for name in (*SHOWN, *COMPARED_OF_SEVERAL) if name in means]
    curves = {curve: table.curve(curve, means) for curve in table.curves}
    return {
        "metrics": {name: means[name] for name in reported},
        "intervals": {name: {unit: {**bands[unit][name], **table.how(unit)} for unit in bands} for name in reported},
        "sparkline": curves["R"],
        "curves": curves,
        "bands": {
            curve: {
                unit: {end: [bands[unit][name][end] for name in table.names_of(curve)] for end in ("low", "high")}
                for unit in bands
            }
            for curve in curves
        },
    }


def sort_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort by nDCG@10, best first; rows without a value come last, in their order."""
    return sorted(rows, key=lambda row: -_value(row, "nDCG@10"))


def _value(row: Mapping[str, Any], metric: str) -> float:
    value = (row["metrics"] or {}).get(metric)
    return float("-inf") if value is None else float(value)


def _shared_queries(runs: Sequence[RunData], subset: Sequence[str] | None) -> list[str]:
    """Return the ids of queries that count in every run, with equally many units, in the first run's order."""
    wanted = None if subset is None else set(subset)
    counted = [{query.id: len(query.units) for query in run.queries if not query.dropped} for run in runs]
    kept = []
    for query in runs[0].queries:
        everywhere = all(of.get(query.id) == counted[0].get(query.id) is not None for of in counted)
        chosen = wanted is None or wanted & query.called
        if everywhere and chosen:
            kept.append(query.id)
    return kept


def _beside(row: PublishedRow, board: Mapping[str, Any]) -> dict[str, Any]:
    """Say how a published row stands to a board: drawn only where both are of as many queries and of one corpus."""
    n = "unknown" if row.n is None else f"{row.n:,}"
    counts = {other["n"] for other in board["rows"]}
    same_n, same_corpus = counts == {row.n}, board["shared"] or row.corpus == board["corpus"]
    reasons = [] if same_n else [f"its n is {n}, this board's {', '.join(map(str, sorted(counts)))}"]
    reasons += [] if same_corpus else [f"its corpus is {row.corpus!r}, this board's {board['corpus']!r}"]
    return {
        "label": f"{row.system} ({row.source}, n {n}, {row.corpus})",
        "reference": row.reference,
        "metrics": row.metrics,
        "drawn": not reasons,
        "why": "; ".join(reasons),
    }


def pairs_of(boards: Iterable[Mapping[str, Any]]) -> set[frozenset[str]]:
    """Return every two labels that stand on one board."""
    return {
        frozenset(pair)
        for board in boards
        for pair in itertools.combinations([row["label"] for row in board["rows"]], 2)
    }
