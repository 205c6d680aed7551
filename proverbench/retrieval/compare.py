"""Paired differences between systems on the queries they share. Pure; the statistics are the shared ones."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from proverbench.metrics.comparison import ALPHA, difference_interval, holm, sign_flip_p
from proverbench.metrics.uncertainty import significant
from proverbench.retrieval.derive import QueryTable


def compare_tables(tables: Mapping[str, QueryTable], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Compare systems pairwise, query by query; declarations are resampled and exchanged as wholes.

    Args:
        tables: By system name; the same queries in the same order in each.
        metrics: Columns of the tables. One that is undefined in a table (above a service's cap) is left out for it.

    Returns:
        One row for each metric and pair: ``metric``, ``first``, ``second``, ``first_value``, ``second_value``,
        ``difference`` (first minus second), ``interval`` (95 %), ``p``, ``p_holm`` (over the pairs of that metric),
        ``shown`` (p_holm < 0.05) and ``verdict``.
    """
    rates = {name: table.only(metrics).rates("cluster") for name, table in tables.items()}
    rows: list[dict[str, Any]] = []
    for metric in metrics:
        points = {name: table.point().get(metric, math.nan) for name, table in rates.items()}
        defined = [name for name, point in points.items() if not math.isnan(point)]
        of_metric: list[dict[str, Any]] = []
        for first, second in itertools.combinations(defined, 2):
            of_metric.append(
                {
                    "metric": metric,
                    "first": first,
                    "second": second,
                    "first_value": significant(points[first]),
                    "second_value": significant(points[second]),
                    "difference": significant(points[first] - points[second]),
                    "interval": difference_interval(rates[first], metric, rates[second], metric),
                    "p": sign_flip_p(rates[first], rates[second], metric),
                }
            )
        for row, adjusted in zip(of_metric, holm([row["p"] for row in of_metric]), strict=True):
            row["p_holm"], row["p"] = significant(adjusted), significant(row["p"])
            row["shown"] = adjusted < ALPHA
            higher = row["first"] if row["difference"] > 0 else row["second"]
            row["verdict"] = f"{higher} is higher" if row["shown"] else "no difference shown"
        rows += of_metric
    return rows
