"""A saved run as pandas frames: ``proverbench.load("runs/NAME")``, for notebooks and for `proverbench export`."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from msgspec import UNSET

from proverbench.metrics.array_building import meta_units, severity_of
from proverbench.metrics.arrays import META_UNITS, SEVERITIES
from proverbench.metrics.rates import Sums, exact_sums
from proverbench.metrics.registry import every_metric
from proverbench.metrics.shown import shown_interval
from proverbench.protocols.fields import decode_field
from proverbench.records import CallLine, Extent, Judgment, Manifest, Proof, ProofRecord, Row, Summary
from proverbench.run.boards import Entry
from proverbench.run.derive import UNANSWERED
from proverbench.run.folder import RunFolder
from proverbench.run.looks import Looks
from proverbench.run.provenance import COLUMNS, provenance
from proverbench.run.remarks import reasons_of
from proverbench.run.summarise import Scored
from proverbench.run.texts import storable
from proverbench.spending.usage import normalise_usage
from proverbench.unseen import unseen

NO_PROOF = "no valid proof"
"""Reason in the frame of judgments of one that was never asked, there being no proof to judge."""

SCORES: dict[str, str] = {
    "split": "string",
    "metric": "string",
    "count": "Int64",
    "value": "Float64",
    "numerator": "Int64",
    "denominator": "Int64",
    "formula": "string",
    "undefined": "string",
    "shown_low": "Float64",
    "shown_high": "Float64",
    "shown_method": "string",
    "low": "Float64",
    "high": "Float64",
    "se": "Float64",
    "n": "Int64",
    "effective_n": "Float64",
    "evidence": "Float64",
    "df": "Float64",
    "same_problems_low": "Float64",
    "same_problems_high": "Float64",
    "bound_low": "Float64",
    "bound_high": "Float64",
    **COLUMNS,
}
"""Columns of :attr:`LoadedRun.scores` and their types."""

PROOFS: dict[str, str] = {
    "key": "string",
    "problem_id": "string",
    "proof_id": "string",
    "sample": "Int64",
    "domain": "string",
    "subject": "string",
    "policy": "string",
    "complete": "boolean",
    "generation_error": "string",
    "generation_failed": "Int64",
    "steps": "Int64",
    "score": "Float64",
    "judgments": "Int64",
    "accepts": "Int64",
    "rejects": "Int64",
    "invalid": "Int64",
    "neutralised": "Int64",
    "unseen": "Int64",
    "is_correct": "boolean",
    "label": "Int64",
    "grade": "Float64",
    "max_grade": "Int64",
    "mean_judged_grade": "Float64",
    "graders": "string",
    "rubric": "string",
    "severity": "string",
    "first_fatal_error_step": "Int64",
    "recoverable_error_steps": "string",
    "reviewer_comment": "string",
    "proof": "string",
}
"""Columns of :attr:`LoadedRun.proofs` and their types."""

JUDGMENTS: dict[str, str] = {
    "key": "string",
    "problem_id": "string",
    "proof_id": "string",
    "sample": "Int64",
    "repeat": "Int64",
    "domain": "string",
    "state": "string",
    "valid": "boolean",
    "reason": "string",
    "first_error_step": "Int64",
    "grade": "Float64",
    "is_correct": "boolean",
    "label": "Int64",
    "polarity_right": "boolean",
    "step_right": "boolean",
    "valid_credit": "Float64",
    "polarity_credit": "Float64",
    "step_credit": "Float64",
    "meta_credit": "Float64",
    "meta_valid_credit": "Float64",
    "meta_valid": "boolean",
    "meta_level": "string",
    "meta_reason": "string",
    "assessment": "string",
    "errors": "string",
}
"""Columns of :attr:`LoadedRun.judgments` and their types."""

CALLS: dict[str, str] = {
    "role": "string",
    "id": "string",
    "sample": "Int64",
    "repeat": "Int64",
    "model": "string",
    "fingerprint": "string",
    "finish_reason": "string",
    "refused": "string",
    "input_tokens": "Int64",
    "cached_input_tokens": "Int64",
    "output_tokens": "Int64",
    "reasoning_tokens": "Int64",
    "latency_s": "Float64",
    "attempts": "Int64",
    "abandoned": "Int64",
    "at": "string",
    "prompt_sha256": "string",
    "text": "string",
    "reasoning": "string",
}
"""Columns of :attr:`LoadedRun.calls` and their types."""


class LoadedRun:
    """A saved run, read on demand.

    Absent values are ``<NA>``; ids are text. Texts are as they came, but for lone surrogates (shown as U+FFFD), which
    no frame can hold; :func:`proverbench.run.journal.exact_text` gives those.

    Args:
        path: The run's folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.folder = RunFolder(self.path)

    def __repr__(self) -> str:
        return f"LoadedRun({str(self.path)!r})"

    @property
    def manifest(self) -> Manifest:
        """What was asked."""
        return self.folder.manifest

    @cached_property
    def scored(self) -> Scored:
        """Scores, and the arrays that they rest on, of what is on disk now."""
        return self.folder.scored()

    @property
    def summary(self) -> Summary:
        """The scores and counts of what is on disk now."""
        return self.scored.summary

    @property
    def entry(self) -> Entry:
        """The run as one of several that stand side by side."""
        return Entry(self.manifest, self.summary, self.folder.rows(), self.scored.arrays)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row for each split and metric, with all that defends it; only complete splits have any."""
        return _frame(SCORES, _scores(self.manifest, self.scored, self.folder.looks, self.folder.seal))

    @cached_property
    def proofs(self) -> pd.DataFrame:
        """One row for each expected proof: labels, counts of its judgments, score, text."""
        return _frame(PROOFS, (_proof(record, self.folder) for record in self.folder.records()))

    @cached_property
    def judgments(self) -> pd.DataFrame:
        """One row for each requested judgment, asked or not; fields of the verdict decoded for reading."""
        extent = self.manifest.extent
        records = self.folder.records()
        return _frame(JUDGMENTS, (row for record in records for row in _judgments(record, extent)))

    @cached_property
    def calls(self) -> pd.DataFrame:
        """One row for each answered call, in order of the answers."""
        return _frame(CALLS, map(_call, self.folder.calls()))


TABLES: dict[str, Callable[[LoadedRun], pd.DataFrame]] = {
    "scores": lambda run: run.scores,
    "proofs": lambda run: run.proofs,
    "judgments": lambda run: run.judgments,
    "calls": lambda run: run.calls,
}
"""The frames of a run by name."""


def load(path: Path | str) -> LoadedRun:
    """Open a saved run.

    Args:
        path: The run's folder.

    Returns:
        An object with ``summary`` and the frames ``scores``, ``proofs``, ``judgments`` and ``calls``, each read when it
        is first used.

    Raises:
        RunMismatchError: If the folder is no run.
        JournalError: If a source is damaged; of calls.jsonl that is told by the first frame that needs it.
    """
    return LoadedRun(path)


def _frame(columns: Mapping[str, str], rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
    kept: dict[str, list[Any]] = {name: [] for name in columns}
    for row in rows:
        for name, values in kept.items():
            value = row.get(name)
            values.append(storable(value)[0] if isinstance(value, str) else value)
    return pd.DataFrame(kept, dtype=object).astype(dict(columns))


def _scores(manifest: Manifest, scored: Scored, looks: Looks, seal: str) -> Iterator[dict[str, Any]]:
    beside = provenance(manifest, scored.summary, looks=looks, seal=seal)
    for split, part in scored.summary.splits.items():
        if part.metrics is None:
            continue
        sums = exact_sums(scored.arrays.split(split), meta=manifest.extent.meta)
        known = every_metric(manifest.identity.task)
        reasons = reasons_of(part)
        for metric, value in part.metrics.items():
            if metric not in known:
                yield {"split": split, "metric": metric, "count": value, **beside}
                continue
            interval = (part.intervals or {}).get(metric, {})
            bound = (part.bounds or {}).get(metric, {})
            same = interval.get("same_problems") or {}
            yield {
                "split": split,
                "metric": metric,
                "value": value,
                **(_fraction(sums[metric]) if metric in sums else {}),
                "undefined": reasons.get(metric),
                **_shown(interval),
                **beside,
                **{name: interval.get(name) for name in ("low", "high", "se", "n", "effective_n", "evidence", "df")},
                "same_problems_low": same.get("low"),
                "same_problems_high": same.get("high"),
                "bound_low": bound.get("low"),
                "bound_high": bound.get("high"),
            }


def _fraction(sums: Sums) -> dict[str, Any]:
    """Numerator and denominator of a rate; of a metric made of several, how it is made of them."""
    if len(sums.rates) > 1:
        return {"formula": str(sums)}
    numerator, denominator = sums.rates[0]
    return {"numerator": numerator, "denominator": denominator, "formula": str(sums)}


def _shown(interval: Mapping[str, Any]) -> dict[str, Any]:
    """The interval that people are shown, and how it was made."""
    shown = shown_interval(interval)
    if shown is None:
        return {}
    made = interval.get("method")
    return {"shown_low": shown.low, "shown_high": shown.high, "shown_method": made}


def _graded_by(row: Row) -> dict[str, str]:
    """What grades rest on: the marking scheme, and each of several people's grades."""
    given = row.grades if isinstance(row, Proof) and isinstance(row.grades, list) else []
    found = {"graders": "; ".join(f"{one.grader}: {one.grade:g}" for one in given)}
    found["rubric"] = "" if row.rubric is UNSET else row.rubric
    return {name: text for name, text in found.items() if text}


def _identity(record: ProofRecord) -> dict[str, Any]:
    return {
        "key": record.key,
        "problem_id": record.problem_id,
        "proof_id": record.proof_id,
        "sample": record.sample_index,
        "domain": record.domain,
        "is_correct": record.is_correct,
        "label": record.first_error_step,
    }


def _proof(record: ProofRecord, folder: RunFolder) -> dict[str, Any]:
    valid = [judgment for judgment in record.judgments if judgment.valid]
    accepts = sum(judgment.accepting for judgment in valid)
    annotation = record.annotation
    labels: dict[str, Any] = {}
    if record.grade is not UNSET:
        labels |= {"grade": record.grade, "max_grade": record.max_grade}
    if given := [judgment.grade for judgment in valid if judgment.grade is not UNSET]:
        labels["mean_judged_grade"] = math.fsum(given) / len(given)
    if labels:
        labels |= _graded_by(folder.row(record.proof_id or record.problem_id))
    if annotation is not None:
        labels |= {
            "severity": SEVERITIES[severity_of(record)],
            "first_fatal_error_step": annotation.first_fatal_error_step,
            "recoverable_error_steps": ", ".join(map(str, annotation.recoverable_error_steps)),
            "reviewer_comment": annotation.reviewer_comment,
        }
    return {
        **_identity(record),
        "subject": record.subject,
        "policy": record.policy,
        "complete": record.complete,
        "generation_error": record.generation_error,
        "generation_failed": _generation_failed(record),
        "steps": len(record.steps),
        "score": record.score,
        "judgments": len(record.judgments),
        "accepts": accepts,
        "rejects": len(valid) - accepts,
        "invalid": len(record.judgments) - len(valid),
        "neutralised": record.neutralised,
        "unseen": sum(map(unseen, record.steps)),
        **labels,
        "proof": "\n\n".join(record.steps),
    }


def _generation_failed(record: ProofRecord) -> int | None:
    """1 or 0: what its mean is the rate of; None while the proof is not there, and in VerifierBench."""
    if record.proof_id is not None or (record.generation_error is None and not record.steps):
        return None
    return int(record.generation_error is not None)


def _judgments(record: ProofRecord, extent: Extent) -> Iterator[dict[str, Any]]:
    """One row for each of the R judgments that were requested of the proof."""
    made = {judgment.repeat: judgment for judgment in record.judgments}
    for repeat in range(extent.verifier_repeats):
        judgment = made.get(repeat)
        row: dict[str, Any] = {**_identity(record), "repeat": repeat}
        if judgment is not None:
            row |= {"state": "closed" if judgment.reason == UNANSWERED else "answered"}
            row |= _verdict(record, judgment) | _credits(record, judgment, extent)
        elif record.generation_error is not None:
            row |= {"state": "not asked", "valid": False, "reason": NO_PROOF} | _credits(record, None, extent)
        else:
            row |= {"state": "open"}
        yield row


def _verdict(record: ProofRecord, judgment: Judgment) -> dict[str, Any]:
    row: dict[str, Any] = {
        "valid": judgment.valid,
        "reason": judgment.reason,
        "first_error_step": judgment.first_error_step,
        "grade": None if judgment.grade is UNSET else judgment.grade,
        "assessment": None if judgment.assessment is None else decode_field(judgment.assessment),
        "errors": None if judgment.errors is None else decode_field(judgment.errors),
    }
    if judgment.valid and record.is_correct is not None:
        row["polarity_right"] = judgment.accepting == record.is_correct
        row["step_right"] = judgment.first_error_step == record.first_error_step if record.located else None
    if judgment.meta is not None:
        row |= {
            "meta_valid": judgment.meta.valid,
            "meta_level": judgment.meta.level,
            "meta_reason": judgment.meta.reason,
        }
    return row


def _credits(record: ProofRecord, judgment: Judgment | None, extent: Extent) -> dict[str, Any]:
    """What a judgment earned for each rate, 0 where it earned nothing: plain means of these are the published rates."""
    valid = judgment is not None and judgment.valid
    step = judgment.first_error_step if judgment is not None and valid else None
    earned: dict[str, Any] = {"valid_credit": float(valid)}
    if record.is_correct is not None:
        accepting = judgment is not None and judgment.accepting
        earned["polarity_credit"] = float(valid and accepting == record.is_correct)
        if record.located:
            earned["step_credit"] = float(valid and step == record.first_error_step)
        if extent.meta and (judgment is None or not judgment.valid or judgment.meta is not None):
            units = None if judgment is None else meta_units(judgment)
            earned |= {"meta_credit": (units or 0) / META_UNITS, "meta_valid_credit": float(units is not None)}
    return earned


def _call(line: CallLine) -> dict[str, Any]:
    usage = normalise_usage(line.usage)
    tokens = {}
    if usage is not None:
        tokens = {
            "input_tokens": usage.input,
            "cached_input_tokens": usage.cached_input,
            "output_tokens": usage.output,
            "reasoning_tokens": usage.reasoning,
        }
    return {name: getattr(line, name, None) for name in CALLS} | tokens
