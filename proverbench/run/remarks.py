"""What people should know of a run's scores wherever these are shown: terminal, page, tables, comparisons."""

from collections.abc import Mapping
from typing import Any

from msgspec import UnsetType

from proverbench.benchmark import benchmark_of
from proverbench.metrics.scores import NAMES_NO_STEP
from proverbench.records import Manifest, SplitSummary, Summary
from proverbench.run.looks import Looks

AGREES = 1e-12
"""An imported run's scores may differ by so much from the published evaluator's: the last digit of a sum."""


def remarks(manifest: Manifest, summary: Summary, looks: Looks) -> list[str]:
    """Sentences on a run.

    A further look at it, its summary's warnings, metrics without a value, an older format, an import whose scores are
    not what they were.
    """
    older = older_format(manifest)
    differing = import_differences(manifest, summary)
    return [
        *([looks.remark] if looks.remark is not None else []),
        *summary.warnings,
        *_undefined(summary),
        *([older] if older is not None else []),
        *(f"the import did not keep the published evaluator's scores: {difference}" for difference in differing),
    ]


def _undefined(summary: Summary) -> list[str]:
    """Which metrics have no value, and why."""
    by_split: dict[tuple[str, str], list[str]] = {}
    for name, split in summary.splits.items():
        for metric, why in reasons_of(split).items():
            if why != NAMES_NO_STEP:
                by_split.setdefault((name, why), []).append(metric)
    found: dict[tuple[str, str], list[str]] = {}
    for (name, why), metrics in by_split.items():
        found.setdefault((", ".join(metrics), why), []).append(name)
    return [
        f"undefined in split{'s' if len(names) > 1 else ''} {', '.join(names)}, {metrics}: {why}"
        for (metrics, why), names in found.items()
    ]


def reasons_of(split: SplitSummary) -> dict[str, str]:
    """Why metrics of a split have no value, by name."""
    return {} if isinstance(split.undefined, UnsetType) else split.undefined


def shown_metrics(split: SplitSummary) -> dict[str, float | int | None] | None:
    """The metrics of a split but for those that its protocol's judges cannot have; None while it is incomplete."""
    reasons = reasons_of(split)
    if split.metrics is None:
        return None
    return {name: value for name, value in split.metrics.items() if reasons.get(name) != NAMES_NO_STEP}


def older_format(manifest: Manifest) -> str | None:
    """What people should know of a run whose proofs are read by an older version's rule; None of all others."""
    if not benchmark_of(manifest.identity.task).samples or manifest.strips_steps:
        return None
    words = f"format version {manifest.format_version}: white space at the start of a step is kept"
    if "imported" in manifest.operation:
        return f"{words}, which the published evaluator strips; import the run again (docs/run-format.md)"
    return f"{words}, as the judges were shown it; the published evaluator strips it (docs/run-format.md)"


def import_differences(manifest: Manifest, summary: Summary) -> list[str]:
    """Scores of an imported run that are not what the published evaluator made them, in words; none of other runs."""
    found = []
    for name, metrics in _imported_scores(manifest).items():
        ours = summary.splits[name].metrics if name in summary.splits else None
        if (metrics is None) != (ours is None):
            found.append(f"{name}: it {'has no scores' if metrics is None else 'has scores'}, here it is not so")
        for metric, was in (metrics or {}).items():
            value = (ours or {}).get(metric)
            same = was == value or (was is not None and value is not None and abs(was - value) <= AGREES)
            if ours is not None and not same:
                found.append(f"{name}: {metric} was {was}, is {value}")
    return found


def _imported_scores(manifest: Manifest) -> Mapping[str, Mapping[str, Any] | None]:
    origin = manifest.operation.get("imported") or {}
    scores: Mapping[str, Mapping[str, Any] | None] = origin.get("scores") or {}
    return scores
