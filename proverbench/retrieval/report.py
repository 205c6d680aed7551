"""Saved runs -> what the page and the comparison are made of."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proverbench.retrieval.execute import find_runs, slug
from proverbench.retrieval.folder import RetrievalRun
from proverbench.retrieval.leaderboard import build_page
from proverbench.retrieval.published import load_published
from proverbench.retrieval.rundata import RunData
from proverbench.retrieval.subsets import load_subset, require_known, subset_name


def load_page(
    paths: Sequence[Path], *, published: Path | None = None, subset: Path | None = None, details: bool = True
) -> dict[str, Any]:
    """Load runs and build the page model.

    Args:
        paths: Runs, or folders of runs.
        published: Published rows to show beside them.
        subset: Queries on which runs of different corpora are ranked.
        details: Whether to load the lists too, for the query-by-query view.

    Raises:
        RunMismatchError: If a path holds no run.
        JournalError: If a run is damaged.
        DataError: If ``published`` or ``subset`` is.
    """
    folders = find_runs(paths)
    saved = [RetrievalRun(folder) for folder in folders]
    specs = Counter(_called(run) for run in saved)
    runs = [
        RunData(
            label=_label(run, folders, unique=specs[_called(run)] == 1),
            manifest=run.manifest,
            queries=run.queries,
            positions=run.positions,
            ranked=run.ranked() if details else {},
            saved_at=run.saved_at,
        )
        for run in saved
    ]
    members = load_subset(subset) if subset else None
    if members is not None and subset is not None:
        called = (query.called for run in runs for query in run.queries)
        require_known(members, set().union(*called), subset_name(subset))
    return build_page(
        runs,
        published=load_published(published) if published else (),
        subset=members,
        subset_name=subset_name(subset) if subset else "",
    )


def _called(run: RetrievalRun) -> str:
    """Return the label that its makers gave it, or the system's spec."""
    return str(run.manifest.system_identity.get("label") or run.manifest.system)


def _label(run: RetrievalRun, folders: Sequence[Path], *, unique: bool) -> str:
    """Return the system's spec, with as much of the folder's path as tells runs of one system apart."""
    if unique:
        return _called(run)
    parts = run.path.resolve().parts
    others = [folder.resolve().parts for folder in folders if folder != run.path]
    # A folder that is only called after its system says nothing; what it stands in does.
    shortest = 2 if run.path.name == slug(run.manifest.system) else 1
    for length in range(shortest, len(parts) + 1):
        if all(other[-length:] != parts[-length:] for other in others):
            return f"{_called(run)} ({'/'.join(parts[-length:])})"
    return f"{_called(run)} ({run.path})"
