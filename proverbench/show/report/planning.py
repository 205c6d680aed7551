"""The page of a plan: its table, and plots of what problems, samples, judgments, labels and money buy."""

from collections.abc import Mapping
from typing import Any

from proverbench.show.report.html import page_file, render_page
from proverbench.version import SCORED_BY

DESCRIPTION = "What problems, samples and money buy in ProverBench, made by proverbench."


def plan_page(tables: Mapping[str, Any], curves: Mapping[str, Any]) -> str:
    """The page as one text.

    Args:
        tables: Of :func:`proverbench.show.plan.tables.plan_tables`.
        curves: Of :func:`proverbench.show.plan.curves.plan_curves`.
    """
    model = {"made_by": SCORED_BY, **tables, "curves": curves}
    return render_page(
        "proverbench · plan",
        model,
        page_file("plan.js"),
        style=page_file("report.css"),
        math=False,
        description=DESCRIPTION,
    )
