"""Runs -> the page model: boards of comparable rows, badges, banners, curves, and where each system put the answer.

Pure and plain: what :func:`build_page` returns is JSON-ready, and a page only draws it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from proverbench.metrics.uncertainty import significant
from proverbench.retrieval.compare import compare_tables
from proverbench.retrieval.derive import QueryTable, derive, scored, scores_of
from proverbench.retrieval.published import PublishedRow
from proverbench.retrieval.records import GoldQuery, Positions, RunManifest

COMPARED = ("nDCG@10", "R@10", "MRR")
COMPARED_OF_SEVERAL = ("Covered@10", "P@10")
"""Compared too where queries have several gold units; of a single unit they say what R says."""
TOP = 10
"""Results of each list that the page shows."""
ONE_UNIT = "every query of this task has a single gold unit, so P@k is R@k divided by k and says nothing new"


@dataclass(frozen=True)
class RunData:
    """One saved run, loaded."""

    label: str
    """How the page calls it; unique."""
    manifest: RunManifest
    queries: list[GoldQuery]
    positions: Mapping[str, Positions]
    ranked: Mapping[str, list[str]]

    @property
    def corpus_title(self) -> str:
        """The corpus that was searched, for people."""
        corpus = self.manifest.corpus
        if self.manifest.own_corpus:
            return self.manifest.own_corpus
        revision = f" at {corpus.revision}" if corpus.revision else ""
        sample = f", a sample of {corpus.sampled_from:,}" if corpus.sampled_from else ""
        return f"{corpus.name}{revision} ({corpus.documents:,} documents{sample}; {corpus.sha256[:12]})"

    @property
    def benchmark_title(self) -> str:
        """The queries that were asked, for people."""
        return f"{self.manifest.task} ({self.manifest.benchmark.file})"

    @property
    def corpus_key(self) -> str:
        """Equal for runs that searched the same documents."""
        return self.manifest.own_corpus or self.manifest.corpus.key

    @property
    def task_key(self) -> tuple[str, str]:
        """Equal for runs of the same benchmark file."""
        return self.manifest.task, self.manifest.benchmark.sha256

    @property
    def board_key(self) -> tuple[str, ...]:
        """Equal for runs that may be ranked together: same file, same queries, same corpus."""
        return (*self.task_key, self.corpus_key, self.manifest.queries_sha256)

    @property
    def complete(self) -> bool:
        """Whether every query that counts is answered."""
        return all(query.dropped or query.id in self.positions for query in self.queries)


def build_page(
    runs: Sequence[RunData],
    *,
    published: Sequence[PublishedRow] = (),
    subset: Sequence[str] | None = None,
    subset_name: str = "",
) -> dict[str, Any]:
    """Build the page model.

    Args:
        runs: The runs to show.
        published: Figures from papers and hosted services; shown apart, never ranked with rows.
        subset: Query ids, declaration ids or names on which runs of different corpora are ranked; absent, all queries
            that each of them has.
        subset_name: What the subset is called.

    Returns:
        ``banners``, ``runs`` (curves and identity of each), ``boards`` (ranked rows), ``published``, ``queries``.
    """
    details = [_run_entry(run) for run in runs]
    boards = [_board(group, runs, details) for group in _grouped(runs, lambda run: run.board_key)]
    # A sample of a corpus is comparable with nothing but itself, on shared queries no more than on all.
    whole = [run for run in runs if not run.manifest.corpus.sampled_from]
    for group in _grouped(whole, lambda run: run.task_key):
        if len({run.corpus_key for run in group}) > 1 or subset is not None:
            shared = _shared_board(group, runs, details, subset, subset_name)
            boards += [shared] if shared is not None else []
    return {
        "banners": _banners(runs),
        "runs": details,
        "boards": boards,
        "published": [msgspec.to_builtins(row) for row in published],
        "queries": _queries(runs),
    }


def _grouped(runs: Sequence[RunData], key: Any) -> list[list[RunData]]:
    groups: dict[Any, list[RunData]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _banners(runs: Sequence[RunData]) -> list[str]:
    banners = []
    sampled = {run.corpus_title for run in runs if run.manifest.corpus.sampled_from}
    if sampled:
        banners.append(
            "Subsampled corpus: "
            + "; ".join(sorted(sampled))
            + ". A smaller corpus is easier to search: these figures are higher than on the whole one, and comparable "
            "with nothing but runs on the same sample."
        )
    incomplete = [run.label for run in runs if not run.complete]
    if incomplete:
        banners.append(f"Incomplete, without scores: {', '.join(incomplete)}. Resume with retrievalbench run --resume.")
    return banners


def _run_entry(run: RunData) -> dict[str, Any]:
    summary, curves = derive(run.manifest, run.queries, run.positions)
    return {
        "label": run.label,
        "system": run.manifest.system,
        "task": run.manifest.task,
        "run_id": run.manifest.run_id,
        "corpus": run.corpus_title,
        "benchmark": {"file": run.manifest.benchmark.file, "sha256": run.manifest.benchmark.sha256},
        "identity": run.manifest.system_identity,
        "complete": run.complete,
        "summary": summary,
        "curves": curves["curves"],
        "intervals": curves["intervals"],
        "pr11": curves["pr11"],
        "service_cap": summary["service_cap"],
        "several_units": summary["several_units"],
    }


def _badges(run: RunData, entry: Mapping[str, Any]) -> list[dict[str, str]]:
    benchmark, corpus = run.manifest.benchmark, run.manifest.corpus
    badges = []
    slices = [part for part in (benchmark.split, benchmark.subset) if part]
    if any("dev" in part.lower() for part in slices):
        badges.append(_badge("development slice", f"only {', '.join(slices)}: systems may have been tuned on it"))
    elif slices:
        badges.append(_badge(" · ".join(slices), "only these queries of the benchmark"))
    if benchmark.sampled_n is not None:
        why = f"{benchmark.sampled_n} of {benchmark.sampled_from} queries, drawn with seed {benchmark.sample_seed}"
        badges.append(_badge(f"sampled n = {benchmark.sampled_n}", why))
    if entry["service_cap"] is not None:
        cap = entry["service_cap"]
        badges.append(_badge(f"cap k ≤ {cap}", f"returns at most {cap} results; its curves have no value above"))
    if corpus.sampled_from:
        badges.append(_badge("subsampled corpus", f"{corpus.documents:,} of {corpus.sampled_from:,} documents"))
    if run.manifest.own_corpus:
        badges.append(_badge("different corpus", f"searches {run.manifest.own_corpus}, not the one the others search"))
    if run.manifest.licence:
        badges.append(_badge(run.manifest.licence, "licence of the model, as its makers state it"))
    if benchmark.published is False:
        badges.append(_badge("modified benchmark", "; ".join(benchmark.notes)))
    return badges


def _badge(label: str, why: str) -> dict[str, str]:
    return {"label": label, "why": why}


def _board(group: Sequence[RunData], runs: Sequence[RunData], details: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rank runs that hold everything but the system constant."""
    rows = []
    tables: dict[str, QueryTable] = {}
    for run in group:
        entry = details[runs.index(run)]
        summary = entry["summary"]
        rows.append(
            {
                "run": runs.index(run),
                "label": run.label,
                "complete": run.complete,
                "metrics": summary["metrics"],
                "intervals": summary["intervals"],
                "sparkline": entry["curves"]["R"] if entry["curves"] else None,
                "n": summary["n"],
                "dropped": summary["dropped"],
                "coverage": summary["coverage"],
                "badges": _badges(run, entry),
            }
        )
        if run.complete:
            tables[run.label] = QueryTable.of(*scored(run.queries, run.positions, run.manifest))
    first = group[0]
    several = any(len(query.units) > 1 for query in first.queries)
    return {
        "title": f"{first.benchmark_title} on {first.corpus_title}",
        "task": first.manifest.task,
        "shared": False,
        "note": "",
        "rows": sort_rows(rows),
        "precision": {"offered": several, "why": "" if several else ONE_UNIT},
        "pairs": compare_tables(tables, _metrics(several)) if len(tables) > 1 else [],
    }


def _metrics(several: bool) -> list[str]:
    return [*COMPARED, *(COMPARED_OF_SEVERAL if several else ())]


def sort_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort by nDCG@10, best first; rows without a value come last, in their order."""
    return sorted(rows, key=lambda row: -_value(row, "nDCG@10"))


def _value(row: Mapping[str, Any], metric: str) -> float:
    value = (row["metrics"] or {}).get(metric)
    return float("-inf") if value is None else float(value)


def _shared_board(
    group: Sequence[RunData],
    runs: Sequence[RunData],
    details: Sequence[Mapping[str, Any]],
    subset: Sequence[str] | None,
    subset_name: str,
) -> dict[str, Any] | None:
    """Rank runs of different corpora on the queries that each of them has gold for, derived from their positions."""
    finished = [run for run in group if run.complete]
    kept = _shared_queries(finished, subset) if finished else []
    if not kept:
        return None
    several = any(len(finished[0].positions[query_id].positions) > 1 for query_id in kept)
    rows: list[dict[str, Any]] = []
    tables: dict[str, QueryTable] = {}
    for run in finished:
        entry = details[runs.index(run)]
        table = tables[run.label] = _table_of(run, kept, entry["service_cap"])
        reported = table.only([*_metrics(several), "MAP"])
        bands = {unit: reported.intervals(unit) for unit in ("query", "cluster")}
        rows.append(
            {
                "run": runs.index(run),
                "label": run.label,
                "complete": True,
                "metrics": reported.means(),
                "intervals": {
                    name: {unit: {**bands[unit][name], **table.how(unit)} for unit in bands} for name in reported.names
                },
                "sparkline": table.curve("R", table.means()),
                "n": len(kept),
                "dropped": 0,
                "coverage": significant(len(kept) / len(run.queries)),
                "badges": [*_badges(run, entry), _badge(_short_corpus(run), run.corpus_title)],
            }
        )
    kept_ids = set(kept)
    clusters = len({query.cluster for query in finished[0].queries if query.id in kept_ids})
    return {
        "title": f"{finished[0].benchmark_title}: {subset_name or 'shared queries'}, "
        f"{len(kept)} queries of {clusters} declarations",
        "task": finished[0].manifest.task,
        "shared": True,
        "note": "The only place where runs of different corpora stand in one ranking: on queries whose gold all of "
        "them have. Scores are derived from the same positions as above; documents beside the gold still differ.",
        "rows": sort_rows(rows),
        "precision": {"offered": several, "why": "" if several else ONE_UNIT},
        "pairs": compare_tables(tables, _metrics(several)) if len(tables) > 1 else [],
    }


def _table_of(run: RunData, query_ids: Sequence[str], service_cap: int | None) -> QueryTable:
    by_id = {query.id: query for query in run.queries}
    queries = [by_id[query_id] for query_id in query_ids]
    scores = scores_of(queries, run.positions, k_max=run.manifest.k_max, service_cap=service_cap)
    return QueryTable.of(queries, scores)


def _short_corpus(run: RunData) -> str:
    return run.manifest.own_corpus or f"corpus {run.manifest.corpus.name}"


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


def _queries(runs: Sequence[RunData]) -> list[dict[str, Any]]:
    """Say, per query, where each run put each unit and what it listed first."""
    entries: dict[tuple[tuple[str, str], str], dict[str, Any]] = {}
    for number, run in enumerate(runs):
        for query in run.queries:
            entry = entries.setdefault(
                (run.task_key, query.id),
                {
                    "id": query.id,
                    "task": run.manifest.task,
                    "text": query.text,
                    "cluster": query.cluster,
                    "labels": query.labels,
                    "runs": {},
                },
            )
            found = run.positions.get(query.id)
            entry["runs"][number] = {
                "units": query.units,
                "units_left_out": query.units_left_out,
                "dropped": query.dropped,
                "overlapping": query.overlapping,
                "positions": None if found is None else found.positions,
                "n_retrieved": None if found is None else found.n_retrieved,
                "top": list(run.ranked.get(query.id, ()))[:TOP],
            }
    return list(entries.values())
