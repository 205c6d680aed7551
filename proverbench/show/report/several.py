"""Several runs in a report: paired differences, and the published results. Computes no metric of its own."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from proverbench.benchmark import BENCHMARKS, benchmark_of
from proverbench.metrics.comparison import compare_runs
from proverbench.records import Manifest
from proverbench.run.comparability import (
    ASPECTS,
    Side,
    common_headlines,
    comparable,
    differences,
    doubts,
    of_weight,
)
from proverbench.run.looks import looked_at
from proverbench.show.report.overview import ShownRun, shown_ends


def comparisons(runs: Sequence[ShownRun]) -> Iterator[dict[str, Any]]:
    """For each task and split that at least two runs have completed: the paired differences, or why there are none."""
    for task in BENCHMARKS:
        chosen = [run for run in runs if run.folder.manifest.identity.task == task]
        refused = False
        for split in dict.fromkeys(name for run in chosen for name in run.summary.splits):
            ready = [run for run in chosen if split in run.summary.splits and run.summary.splits[split].metrics]
            if len(ready) < 2:
                continue
            groups = _comparable(ready)
            if len(groups) > 1 and not refused:
                refused = True  # once a task: it is the same for every split
                found = differences({run.name: run.folder.manifest for run in ready})
                why = "; ".join(map(str, of_weight(found, "refuses")))
                yield {"task": task, "split": split, "runs": [run.name for run in ready], "reason": why}
            for group in groups:
                if len(group) > 1:
                    yield {"task": task, "split": split, "runs": [run.name for run in group], **_compare(group, split)}


def _comparable(runs: Sequence[ShownRun]) -> list[list[ShownRun]]:
    """Runs that differ in nothing that refuses a comparison, together."""
    groups: dict[tuple[str, ...], list[ShownRun]] = {}
    for run in runs:
        manifest = run.folder.manifest
        task = manifest.identity.task
        key = tuple(str(aspect.read(manifest)) for aspect in ASPECTS if aspect.weight(task) == "refuses")
        groups.setdefault(key, []).append(run)
    return list(groups.values())


def _compare(runs: Sequence[ShownRun], split: str) -> dict[str, Any]:
    manifests = {run.name: run.folder.manifest for run in runs}
    meta = all(manifest.extent.meta for manifest in manifests.values())
    found = differences(manifests)
    metrics = comparable(common_headlines(manifests), found, runs[0].folder.manifest.identity.task)
    looks = {run.name: run.folder.looks for run in runs}
    alpha = min(look.level for look in looks.values())
    arrays = {run.name: run.arrays.split(split) for run in runs}
    try:
        result = compare_runs(arrays, metrics=metrics, meta=meta, alpha=alpha)
    except ValueError as exc:
        return {"reason": str(exc)}
    sides = {run.name: Side(run.folder.manifest, run.summary, run.folder.rows()) for run in runs}
    return {
        "reason": None,
        "warnings": [*looked_at(looks), *doubts(sides, found, split)],
        "problems": result["problems"],
        "left_out": result["left_out"],
        "pairs": [_pair(row) for row in result["pairs"]],
        "ranks": result["ranks"],
    }


def published_table() -> list[dict[str, Any]]:
    """The published Table 1, scores as shares (0 to 1); source in published/README.md."""
    text = (files("proverbench.show.report") / "published" / "table1.csv").read_text(encoding="utf-8")
    return [
        {name: value if name in ("model", "group") else float(value) / 100 for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


def published_results(runs: Sequence[ShownRun]) -> dict[str, Any]:
    """The published table, and what keeps each run from being comparable with it."""
    return {
        "source": "arXiv 2607.11849, Table 1",
        "rows": published_table(),
        "differences": {run.name: list(_differences(run.folder.manifest)) for run in runs},
    }


def _differences(manifest: Manifest) -> Iterator[str]:
    """What certainly keeps a run from being comparable with the published table."""
    identity, extent = manifest.identity, manifest.extent
    if identity.own_prompts:
        yield f"proverbench's own prompts ({', '.join(identity.own_prompts)})"
    published = benchmark_of(identity.task)
    if extent.verifier_repeats != published.repeats:
        yield f"{extent.verifier_repeats} judgments a proof, published {published.repeats}"
    if identity.use_reference_solution != published.reference_shown:
        yield "reference solution " + ("shown" if identity.use_reference_solution else "not shown") + " to the judge"
    if extent.rows != published.published_rows:
        yield f"{extent.rows} rows, published {published.published_rows}"


def _pair(row: Mapping[str, Any]) -> dict[str, Any]:
    """A pair of runs as it is shown: with the interval that agrees with its verdict."""
    left = {name: value for name, value in row.items() if name not in ("same_problems", "step_interval")}
    return left | {"interval": shown_ends(row["step_interval"])}
