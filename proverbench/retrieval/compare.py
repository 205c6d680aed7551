"""Paired differences between systems on the queries they share. Pure; the statistics are the shared ones."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from proverbench.metrics.comparison import judge_pairs
from proverbench.metrics.metric import itself
from proverbench.retrieval.derive import QueryTable


def compare_tables(tables: Mapping[str, QueryTable], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Compare systems pairwise, query by query; the queries of one declaration are one independent unit.

    Args:
        tables: By system name; the same queries in the same order in each.
        metrics: Columns of the tables. One that is undefined in a table (above a service's cap) is left out for it.

    Returns:
        Rows as of :func:`proverbench.metrics.comparison.judge_pairs`, for each metric and pair.
    """
    rates = {name: table.only(metrics).rates("cluster") for name, table in tables.items()}
    summaries = {name: table.summary() for name, table in rates.items()}
    rows: list[dict[str, Any]] = []
    for metric in metrics:
        points = {name: table.point().get(metric, math.nan) for name, table in rates.items()}
        defined = {name: point for name, point in points.items() if not math.isnan(point)}
        parts = {name: summaries[name].only([rates[name].names.index(metric)]) for name in defined}
        rows += judge_pairs(metric, defined, parts, itself)
    return rows
