"""Positions -> curves and summary. Pure: a new metric is a re-derivation, never a new search."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import UNSET

from proverbench.metrics.rates import RateTable, each_itself
from proverbench.metrics.uncertainty import significant
from proverbench.retrieval.metrics import SCALARS, SUMMARY_KS, Floats, Kinds, QueryScores, macro_mean, score_queries
from proverbench.retrieval.records import GoldQuery, Positions, RunManifest
from proverbench.retrieval.resampling import RESAMPLES, SEED, resample_weights

HEADLINE = ("nDCG@10", "R@10", "MRR", "MAP")
"""What breakdowns and comparisons list first."""


def service_cap(manifest: RunManifest, positions: Sequence[Positions]) -> int | None:
    """Return how many results a system from outside returns at most, or None where that is not a limit.

    Curves are undefined above it. A list of our own systems may be short too (BM25 ends at score 0), but there the
    shortness is the answer, and its curve is flat.
    """
    if not manifest.external:
        return None
    longest = max((line.n_retrieved for line in positions), default=0)
    return longest if longest < manifest.k_max else None


def scored(
    queries: Sequence[GoldQuery], positions: Mapping[str, Positions], manifest: RunManifest
) -> tuple[list[GoldQuery], QueryScores]:
    """Return the queries that count and are answered, and their scores."""
    counted = [query for query in queries if not query.dropped and query.id in positions]
    cap = service_cap(manifest, list(positions.values()))
    return counted, scores_of(counted, positions, k_max=manifest.k_max, service_cap=cap)


def scores_of(
    queries: Sequence[GoldQuery], positions: Mapping[str, Positions], *, k_max: int, service_cap: int | None
) -> QueryScores:
    """Score ``queries``, each of which is answered and has gold."""
    kinds = [_kinds_of(query) for query in queries]
    known = [found for found in kinds if found is not None]
    lists = [positions[query.id].positions for query in queries]
    told_apart = known if known and len(known) == len(kinds) else None
    return score_queries(lists, k_max=k_max, service_cap=service_cap, kinds=told_apart)


def _kinds_of(query: GoldQuery) -> Kinds | None:
    if query.kinds is UNSET:
        return None
    return Kinds(query.kinds, () if query.kinds_left_out is UNSET else query.kinds_left_out)


def derive(
    manifest: RunManifest, queries: Sequence[GoldQuery], positions: Mapping[str, Positions]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ``summary.json`` and ``curves.json`` of a run.

    Args:
        manifest: What was run.
        queries: All queries, dropped ones too.
        positions: By query id, of those that are answered.

    Returns:
        Two JSON-ready objects. ``metrics``, ``intervals`` and the curves are null until every query that counts is
        answered.
    """
    counted, scores = scored(queries, positions, manifest)
    wanted = sum(not query.dropped for query in queries)
    complete = len(counted) == wanted
    cap = service_cap(manifest, list(positions.values()))
    several = any(len(query.units) > 1 for query in queries)
    summary: dict[str, Any] = {
        "task": manifest.task,
        "run_id": manifest.run_id,
        "system": manifest.system,
        "complete": complete,
        "queries": len(queries),
        "answered": len(counted),
        "n": wanted,
        "dropped": len(queries) - wanted,
        "coverage": significant(wanted / len(queries)) if queries else None,
        "gold_units": sum(len(query.units) for query in queries),
        "units_left_out": sum(query.units_left_out for query in queries),
        "overlapping": [query.id for query in queries if query.overlapping],
        "several_units": several,
        "k_max": manifest.k_max,
        "service_cap": cap,
        "metrics": None,
        "intervals": None,
        "groups": None,
    }
    curves: dict[str, Any] = {
        "task": manifest.task,
        "run_id": manifest.run_id,
        "system": manifest.system,
        "complete": complete,
        "k": list(range(1, manifest.k_max + 1)),
        "n": wanted,
        "service_cap": cap,
        "curves": None,
        "intervals": None,
        "pr11": None,
    }
    if complete and counted:
        _put_figures(summary, curves, counted, scores)
    return summary, curves


def _put_figures(
    summary: dict[str, Any], curves: dict[str, Any], counted: Sequence[GoldQuery], scores: QueryScores
) -> None:
    """Put the figures of a complete run into its two files."""
    table = QueryTable.of(counted, scores)
    bands = {unit: table.intervals(unit) for unit in ("query", "cluster")}
    means = table.means()
    reported = [name for name in summary_names(scores.curves, summary["k_max"]) if name in means]
    summary["metrics"] = {name: means[name] for name in reported}
    summary["intervals"] = {
        name: {unit: {**bands[unit][name], **table.how(unit)} for unit in bands} for name in reported
    }
    summary["groups"] = _groups(counted, table)
    curves["curves"] = {curve: table.curve(curve, means) for curve in scores.curves}
    curves["intervals"] = {
        curve: {
            unit: {end: [bands[unit][name][end] for name in table.names_of(curve)] for end in ("low", "high")}
            for unit in bands
        }
        for curve in scores.curves
    }
    curves["pr11"] = [significant(value) for value in macro_mean(scores.pr11).tolist()]


def summary_names(curves: Iterable[str], k_max: int) -> list[str]:
    """Names of the metrics that a summary lists."""
    return [*(f"{curve}@{k}" for curve in curves for k in SUMMARY_KS if k <= k_max), *SCALARS]


class QueryTable:
    """Every metric of every query as one table: a row a query, a column a metric such as ``R@10`` or ``MRR``.

    Args:
        names: The columns.
        values: Shape (n, columns); nan where a metric is undefined, for all queries alike.
        clusters: Which cluster each row belongs to, in 0..C-1.
    """

    def __init__(self, names: list[str], values: Floats, clusters: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        self.names = names
        self.values = values
        self.clusters = clusters

    @classmethod
    def of(cls, queries: Sequence[GoldQuery], scores: QueryScores) -> "QueryTable":
        """Put the scores of ``queries`` side by side."""
        k_max = next(iter(scores.curves.values())).shape[1]
        names = [f"{curve}@{k}" for curve in scores.curves for k in range(1, k_max + 1)] + list(SCALARS)
        columns = list(scores.curves.values()) + [scores.scalars[name][:, None] for name in SCALARS]
        numbers: dict[str, int] = {}
        clusters = np.array([numbers.setdefault(query.cluster, len(numbers)) for query in queries], dtype=np.int64)
        return cls(names, np.concatenate(columns, axis=1), clusters)

    @property
    def curves(self) -> list[str]:
        """Names of the metrics with a value at every k."""
        return list(dict.fromkeys(name.partition("@")[0] for name in self.names if "@" in name))

    def names_of(self, curve: str) -> list[str]:
        """Return the columns of a curve, k ascending."""
        return [name for name in self.names if name.startswith(f"{curve}@")]

    def means(self) -> dict[str, float | None]:
        """Return the macro average of every metric; None where it is undefined."""
        return {
            name: None if math.isnan(mean) else significant(mean)
            for name, mean in zip(self.names, macro_mean(self.values).tolist(), strict=True)
        }

    def curve(self, curve: str, means: Mapping[str, float | None]) -> list[float | None]:
        """Return a curve's averages at k = 1..k_max."""
        return [means[name] for name in self.names_of(curve)]

    def rates(self, unit: str) -> RateTable:
        """Return sums over the resampled units, the form that the shared intervals and tests compute from.

        Args:
            unit: ``query`` or ``cluster``.
        """
        of = np.arange(len(self.values)) if unit == "query" else self.clusters
        size = int(of.max()) + 1
        earned = np.zeros((size, len(self.names)))
        np.add.at(earned, of, np.nan_to_num(self.values))
        counts = np.bincount(of, minlength=size).astype(np.float64)
        defined = ~np.isnan(self.values).any(axis=0)
        possible = counts[:, None] * defined
        return RateTable(tuple(self.names), earned, possible, possible.sum(axis=0), each_itself(self.names))

    def intervals(self, unit: str) -> dict[str, dict[str, float | None]]:
        """Return the 95 % percentile-bootstrap interval of every metric, resampling ``unit``.

        None at both ends where the metric is undefined or a single unit leaves nothing to resample.
        """
        rates = self.rates(unit)
        nothing: dict[str, float | None] = {"low": None, "high": None}
        if len(rates.earned) < 2:
            return {name: dict(nothing) for name in self.names}
        sizes = rates.possible.max(axis=1)  # of an undefined metric the sizes are 0, of all others the same
        replicates = np.concatenate(
            [
                (weights @ rates.earned) / (weights @ sizes)[:, None]
                for weights in resample_weights(len(sizes), resamples=RESAMPLES, seed=SEED)
            ]
        )
        low, high = np.percentile(replicates, [2.5, 97.5], axis=0)
        return {
            name: {"low": significant(low[i]), "high": significant(high[i])} if rates.possible[0, i] else dict(nothing)
            for i, name in enumerate(self.names)
        }

    def how(self, unit: str) -> dict[str, Any]:
        """Say how an interval was made."""
        n = len(self.values) if unit == "query" else int(self.clusters.max()) + 1
        over = "queries" if unit == "query" else "declarations"
        return {"n": n, "method": f"percentile bootstrap over {over}", "resamples": RESAMPLES, "seed": SEED}

    def only(self, names: Sequence[str]) -> "QueryTable":
        """Return the table of some columns; unknown names are passed over."""
        known = [name for name in names if name in self.names]
        places = [self.names.index(name) for name in known]
        return QueryTable(known, self.values[:, places], self.clusters)

    def select(self, rows: Sequence[int]) -> "QueryTable":
        """Return the table of some rows; clusters are numbered anew."""
        chosen = np.array(rows, dtype=np.int64)
        _, clusters = np.unique(self.clusters[chosen], return_inverse=True)
        return QueryTable(self.names, self.values[chosen], clusters)


def _groups(queries: Sequence[GoldQuery], table: QueryTable) -> dict[str, dict[str, dict[str, Any]]]:
    """Break the headline metrics down by every label, such as the query style."""
    rows: dict[str, dict[str, list[int]]] = {}
    for row, query in enumerate(queries):
        for label, value in query.labels.items():
            rows.setdefault(label, {}).setdefault(value, []).append(row)
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for label, values in rows.items():
        groups[label] = {}
        for value, members in values.items():
            means = table.select(members).means()
            groups[label][value] = {"n": len(members), **{name: means[name] for name in HEADLINE if name in means}}
    return groups
