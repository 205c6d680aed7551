"""Runs -> the page model: boards, banners, breakdowns, methodology, and where each system put the answer.

Pure and plain: what :func:`build_page` returns is JSON-ready, and a page only draws it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from proverbench.retrieval.boards import boards_of
from proverbench.retrieval.methodology import methodology_of
from proverbench.retrieval.notices import banners_of, licence_notices
from proverbench.retrieval.published import PublishedRow
from proverbench.retrieval.rundata import RunData

TOP = 10
"""Results of each list that the page shows."""


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
        ``banners``, ``licences`` (standing notices), ``runs`` (identity, summary and breakdowns of each), ``boards``
        (ranked rows with curves), ``published``, ``queries``, ``methodology``, ``changelog``.
    """
    return {
        "banners": banners_of(runs),
        "licences": licence_notices(runs),
        "runs": [_run_entry(run) for run in runs],
        "boards": boards_of(runs, published=published, subset=subset, subset_name=subset_name),
        "published": [msgspec.to_builtins(row) for row in published],
        "queries": _queries(runs),
        "methodology": methodology_of(runs),
        "changelog": _changelog(runs),
    }


def _run_entry(run: RunData) -> dict[str, Any]:
    summary, curves = run.derived
    return {
        "label": run.label,
        "system": run.manifest.system,
        "task": run.manifest.task,
        "run_id": run.manifest.run_id,
        "corpus": run.corpus_title,
        "benchmark": {"file": run.manifest.benchmark.file, "sha256": run.manifest.benchmark.sha256},
        "renderer": run.renderer[0],
        "mathlib": run.manifest.task in ("mathlibqr", "mathlibmpr") or "mathlib" in run.manifest.corpus.name.lower(),
        "identity": run.manifest.system_identity,
        "complete": run.complete,
        "summary": summary,
        "pr11": curves["pr11"],
        "service_cap": summary["service_cap"],
        "several_units": summary["several_units"],
    }


def _changelog(runs: Sequence[RunData]) -> list[dict[str, Any]]:
    """Return the runs, newest first; those of unknown date last."""
    entries = [
        {
            "label": run.label,
            "run_id": run.manifest.run_id,
            "at": run.saved_at,
            "version": run.manifest.operation.get("version", ""),
            "task": run.manifest.task,
            "corpus": run.corpus_title,
            "complete": run.complete,
        }
        for run in runs
    ]
    return sorted(entries, key=lambda entry: entry["at"], reverse=True)


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
