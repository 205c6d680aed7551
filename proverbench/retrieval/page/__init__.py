"""The page of retrievalbench: its model, drawn by the project's page shell."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from proverbench.show.report.html import render_page

_HERE = files("proverbench.retrieval.page")
_QUERIES_A_CHUNK = 100
_SEEN_IN_DETAIL = ("units", "units_left_out", "top")
"""What is unpacked only when one query is looked at."""


def render_report(model: Mapping[str, Any], *, title: str = "retrievalbench") -> str:
    """Return the page of a model made by :func:`~proverbench.retrieval.leaderboard.build_page`: one file, offline."""
    queries = model["queries"]
    chunks = [
        [{run: {name: seen[name] for name in _SEEN_IN_DETAIL} for run, seen in query["runs"].items()} for query in part]
        for part in (queries[i : i + _QUERIES_A_CHUNK] for i in range(0, len(queries), _QUERIES_A_CHUNK))
    ]
    listed = [
        {
            **query,
            "runs": {
                run: {name: value for name, value in seen.items() if name not in _SEEN_IN_DETAIL}
                for run, seen in query["runs"].items()
            },
        }
        for query in queries
    ]
    return render_page(
        title,
        {**model, "queries": listed, "queries_per_chunk": _QUERIES_A_CHUNK},
        (_HERE / "page.js").read_text(encoding="utf-8"),
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        chunks=chunks,
        description="How well search engines find the theorem, or all the premises, that a proof needs.",
    )
