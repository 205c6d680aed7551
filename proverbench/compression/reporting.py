"""The report: the ranking, and for each task a term viewer. One page that works offline (report/html.py)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from proverbench.compression.bundle import Bundle, Track, read_bundle
from proverbench.compression.charges import charge
from proverbench.compression.checking import Check
from proverbench.compression.collecting import Apart, receipt_files
from proverbench.compression.export import Export
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.presenting import task_labels
from proverbench.compression.ranking import Ranking, Run, best_runs
from proverbench.compression.rules_page import example, rules_sections
from proverbench.compression.viewing import view_charge
from proverbench.errors import DataError
from proverbench.show.report.html import render_page


@dataclass(frozen=True, slots=True)
class View:
    """One version of a task, to look into."""

    title: str
    task: str
    original_count: int
    content: Mapping[str, Any]
    """As viewing.view_charge makes it."""


def report_model(tables: Mapping[Track, Ranking], apart: Sequence[Apart], views: Sequence[View]) -> dict[str, Any]:
    """What the page's script draws; the views' contents are chunks beside it."""
    return {
        "rules": [asdict(section) for section in rules_sections()],
        "rankings": [{"track": track, **_ranking_model(table)} for track, table in tables.items()],
        "apart": [asdict(item) for item in apart],
        "views": [
            {"title": view.title, "task": view.task, "original": view.original_count, "count": view.content["count"]}
            for view in views
        ],
    }


def _ranking_model(ranking: Ranking) -> dict[str, Any]:
    labels = task_labels(ranking)
    return {
        "tasks": [
            {
                "label": labels[task.sha256],
                "sha256": task.sha256,
                "original": task.original_count,
                "sharing": task.sharing_count,
            }
            for task in ranking.tasks
        ],
        "agents": [
            {
                "agent": line.agent,
                "average": line.average_rank,
                "no_score": line.no_score,
                "counts": [line.counts[task.sha256] for task in ranking.tasks],
                "places": [line.places[task.sha256] for task in ranking.tasks],
            }
            for line in ranking.standings
        ],
    }


def render_report(tables: Mapping[Track, Ranking], apart: Sequence[Apart], views: Sequence[View]) -> str:
    """The page."""
    here = files("proverbench.compression") / "page"
    shown = [*views, view_example()]
    return render_page(
        "compressionbench",
        report_model(tables, apart, shown),
        (here / "report.js").read_text(encoding="utf-8"),
        style=(here / "report.css").read_text(encoding="utf-8"),
        chunks=[view.content for view in shown],
        math=False,
        plots=False,
        description="Formal proofs by the number of kernel nodes they need.",
    )


def view_example() -> View:
    """The example of the rules, node by node."""
    export, charged, _ = example()
    return View("The example of the rules", "example", charged.count, view_charge(export, charged))


def view_check(check: Check, title: str) -> View:
    """A view of a local version.

    Raises:
        DataError: If it could not be counted.
    """
    if check.charge is None:
        raise DataError.of(check.problems)
    spec = check.task.spec
    return View(title, spec.name, spec.original_count, view_charge(check.export, check.charge))


def view_bundle(bundle: Bundle) -> View:
    """A view of what was submitted, from the kernel terms in the bundle.

    Raises:
        DataError: If they are not a readable export.
    """
    export: Export = read_export_lines(bundle.terms.splitlines(), source=f"{bundle.sha256[:16]}: terms.ndjson")
    spec = bundle.task.spec
    charged = charge(export, spec.targets, [*spec.provided, *spec.background])
    return View(f"{spec.name} by {bundle.spec.agent}", spec.name, spec.original_count, view_charge(export, charged))


def best_views(runs: Iterable[Run], paths: Sequence[Path], names: Mapping[str, str]) -> tuple[list[View], list[str]]:
    """A view of each task's best verified run whose bundle is beside the receipts, and which are not there.

    Args:
        runs: Runs that count.
        paths: Receipts, or folders with receipts and bundles.
        names: Task's SHA-256 → its name.
    """
    bundles = {
        path.name: path for receipt in receipt_files(paths) for path in receipt.parent.glob("submission-*.tar.gz")
    }
    views, missing = [], []
    for run in best_runs(runs).values():
        path = bundles.get(f"submission-{run.submission[:16]}.tar.gz")
        if path is None:
            missing.append(f"{names[run.task]}: the bundle of the best run, submission-{run.submission[:16]}.tar.gz")
            continue
        bundle = read_bundle(path)
        if bundle.problems or bundle.sha256 != run.submission:
            missing.append(f"{names[run.task]}: {path} is not the bundle that was verified")
            continue
        views.append(view_bundle(bundle))
    return views, missing
