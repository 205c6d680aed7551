"""One run in a report: what was asked, what it came to, its curves. Computes no metric of its own."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proverbench.benchmark import benchmark_of
from proverbench.metrics.agreement import human_agreement, repeat_agreement, step_confusion
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.breakdown import breakdown
from proverbench.metrics.grade_curves import against_people, calibration, distribution
from proverbench.metrics.rates import exact_sums
from proverbench.metrics.registry import every_metric, headlines, headlines_first
from proverbench.metrics.shown import shown_interval
from proverbench.metrics.voting import Cost, best_threshold, pass_at_k, voting_curve
from proverbench.protocols.protocol import Protocol
from proverbench.records import Manifest, ProofRecord, Summary, Task
from proverbench.run.boards import Entry
from proverbench.run.folder import RunFolder
from proverbench.run.looks import looks_in
from proverbench.run.provenance import quote
from proverbench.run.remarks import reasons_of, remarks, shown_metrics
from proverbench.run.timing import timing
from proverbench.run.verify import accepted_losses
from proverbench.selection import splits
from proverbench.show.plan.curves import run_curve


@dataclass(slots=True)
class ShownRun:
    """A run of the report, read through once."""

    name: str
    folder: RunFolder
    summary: Summary
    arrays: JudgmentArrays
    missing: dict[str, int]
    answered: dict[str, int]
    cost: Cost | None

    @property
    def protocol(self) -> Protocol:
        """How its judges' replies were read."""
        return self.folder.sources.reader.protocol

    @property
    def entry(self) -> Entry:
        """The run as one of several that stand side by side."""
        return Entry(self.folder.manifest, self.summary, self.folder.rows(), self.arrays)


def missing_calls(record: ProofRecord, manifest: Manifest) -> Counter[str]:
    """Calls of this proof that are not answered (nor closed), by role, as far as one can tell."""
    if record.complete:
        return Counter()
    if record.proof_id is None and not record.steps:
        return Counter({"policy": 1, "verifier": manifest.extent.verifier_repeats})
    ungraded = sum(1 for j in record.judgments if j.valid and j.meta is None) if manifest.extent.meta else 0
    lacking = manifest.extent.verifier_repeats - len(record.judgments)
    return Counter({"verifier": lacking, "meta": ungraded + (lacking if manifest.extent.meta else 0)})


def answered_calls(record: ProofRecord, manifest: Manifest) -> Counter[str]:
    """Replies that are there (or closed by ``--final``), by role: what the counts of invalid ones are a share of."""
    answered = Counter({"verifier": len(record.judgments)})
    if benchmark_of(manifest.identity.task).samples:
        answered["policy"] = int(record.generation_error is not None or bool(record.steps))
    if manifest.extent.meta:
        answered["meta"] = sum(judgment.meta is not None for judgment in record.judgments)
    return answered


def overview(run: ShownRun) -> dict[str, Any]:
    """All that the page says of a run but for its proofs."""
    manifest, summary = run.folder.manifest, run.summary
    identity, extent = manifest.identity, manifest.extent
    times = timing(run.folder.sources)
    return {
        "name": run.name,
        "task": identity.task,
        "complete": summary.complete,
        "run_id": summary.run_id,
        "quote": quote(summary, run.folder.seal),
        "losses": accepted_losses(run.folder.sources),
        "protocol": summary.protocol,
        "verdict": run.protocol.verdict,
        "scored_by": summary.scored_by,
        "tool": manifest.operation.get("tool"),
        "imported": _imported(manifest),
        "roles": [
            {
                "role": role,
                "model": settings.model,
                "kind": settings.kind,
                "generation": settings.generation,
                "prompt_sha256": identity.prompt_sha256.get(role),
                "own_prompt": role in identity.own_prompts,
            }
            for role, settings in identity.roles.items()
        ],
        "data_sha256": identity.data_sha256,
        "proofs_sha256": identity.proofs_sha256,
        "use_reference_solution": identity.use_reference_solution,
        "neutralise": identity.neutralise,
        "rows": extent.rows,
        "samples": extent.samples,
        "repeats": extent.verifier_repeats,
        "meta": extent.meta,
        "domain": extent.domain,
        "limit": extent.limit,
        "shard": extent.shard,
        "sessions": times["sessions"],
        "seconds": times["seconds"],
        "calls": times["roles"],
        "usage": summary.usage,
        "invalid": summary.invalid,
        "answered": run.answered,
        "missing": {role: count for role, count in run.missing.items() if count},
        "closed_unanswered": summary.closed_unanswered,
        "warnings": remarks(manifest, summary, looks_in(times)),
        "splits": {name: _split(run, name) for name in splits(run.folder.rows())},
    }


def metric_words(task: Task) -> list[dict[str, Any]]:
    """What the page says of each metric of a benchmark, headlines first."""
    known = every_metric(task)
    return [
        {
            "name": name,
            "label": known[name].label,
            "heading": known[name].heading,
            "help": known[name].help,
            "unit": known[name].unit,
            "range": [end if math.isfinite(end) else None for end in known[name].range],
            "better": known[name].better,
            "headline": known[name].headline,
        }
        for name in dict.fromkeys([*headlines_first(task), *known])
    ]


def _imported(manifest: Manifest) -> dict[str, Any] | None:
    """What the published evaluator said of a run that it made; None for a run of our own."""
    origin = manifest.operation.get("imported")
    if origin is None:
        return None
    return {name: origin.get(name) for name in ("evaluator_version", "run_id", "code_sha256")}


def _split(run: ShownRun, name: str) -> dict[str, Any]:
    split = run.summary.splits[name]
    shown: dict[str, Any] = {
        "selected_rows": split.selected_rows,
        "expected_records": split.expected_records,
        "completed_records": split.completed_records,
        "complete": split.complete,
        "metrics": shown_metrics(split),
        "intervals": {metric: shown_ends(interval) for metric, interval in (split.intervals or {}).items()},
        "bounds": split.bounds,
        "fractions": {} if split.metrics is None else _fractions(run, name),
        "undefined": reasons_of(split),
    }
    if split.metrics is not None:
        shown["plots"] = _plots(run, run.arrays.split(name))
    return shown


def _fractions(run: ShownRun, split: str) -> dict[str, str]:
    """The exact fraction behind each metric; of one made of several rates, how it is made of them."""
    found = exact_sums(run.arrays.split(split), meta=run.folder.manifest.extent.meta)
    return {metric: str(sums) for metric, sums in found.items()}


def _plots(run: ShownRun, arrays: JudgmentArrays) -> dict[str, Any]:
    manifest = run.folder.manifest
    task, meta = manifest.identity.task, manifest.extent.meta
    places = run.protocol.verdict == "first-error-step"
    cost = run.cost
    plots: dict[str, Any] = {
        "voting": [light(row) for row in voting_curve(arrays, cost=cost)],
        "cost_unit": cost.unit if cost else None,
        "breakdown": {
            by: [light(row) for row in breakdown(arrays, by, meta=meta) if row["metric"] in headlines(task)]
            for by in benchmark_of(task).factors
        },
    }
    if arrays.grades is not None:
        plots["grades"] = _grades(run, arrays)
    if arrays.repeats > 1:
        plots["agreement"] = [light(row) for row in repeat_agreement(arrays) if places or row["on"] == "accept"]
    if benchmark_of(task).samples:
        plots["pass_at_k"] = [light(row) for row in pass_at_k(arrays)]
        if (curve := run_curve(arrays, cost)) is not None:
            plots["plan"] = curve
    else:
        if (confusion := step_confusion(arrays)) is not None:
            plots["confusion"] = confusion
        with_people = [row for row in human_agreement(arrays) if places or row["on"] == "accept"]
        plots["human_agreement"] = [light(row) for row in with_people]
        if arrays.repeats > 1:
            plots["threshold"] = best_threshold(arrays)
    return plots


def _grades(run: ShownRun, arrays: JudgmentArrays) -> dict[str, Any]:
    """How a judge's grades are spread, and how they agree with people's; each a share of its scale."""
    assert arrays.grades is not None  # asked of runs whose judges give grades
    return {
        "judge_max": run.protocol.max_grade,
        "accept_from": run.protocol.accept_from,
        "people_max": arrays.grades.points,
        "distribution": distribution(arrays.grades),
        "against_people": against_people(arrays.grades),
        "calibration": [light(row) for row in calibration(arrays)],
    }


def light(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose interval is kept as far as it is shown."""
    return row | {"interval": shown_ends(row["interval"])} if "interval" in row else row


def shown_ends(interval: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The interval that people are shown: its ends, the number of problems, and how many carry the rarer outcome."""
    shown = shown_interval(interval)
    if interval is None or shown is None:
        return None
    return {**shown._asdict(), "n": interval.get("n"), "evidence": interval.get("evidence")}
