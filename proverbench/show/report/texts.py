"""The texts of a report: problems, proofs, and every reply about them."""

from typing import Any

from msgspec import UNSET

from proverbench.errors import PromptError
from proverbench.protocols.fields import decode_field, error_items
from proverbench.records import CallKey, CallLine, Judgment, Problem, Proof, ProofRecord
from proverbench.run.folder import RunFolder
from proverbench.run.texts import exact_text
from proverbench.show.report.index import Item
from proverbench.unseen import unseen


def problem_texts(row: Problem) -> dict[str, Any]:
    """A problem as it was given."""
    return {
        "id": row.problem_id,
        "text": row.problem,
        "reference": row.reference_solution,
        "answer": row.reference_answer,
        "source_id": row.source_id,
        "rubric": None if row.rubric is UNSET else row.rubric,
    }


def annotation(record: ProofRecord, row: Problem) -> dict[str, Any]:
    """What people said of a proof that has an annotation."""
    grades = row.grades if isinstance(row, Proof) and isinstance(row.grades, list) else []
    note = record.annotation
    assert note is not None
    return {
        "fatal": note.first_fatal_error_step,
        "recoverable": [step for step in note.recoverable_error_steps if step >= 0],
        "comment": note.reviewer_comment,
        "reason": note.first_error_reason,
        "remark": note.remark,
        "correct": record.is_correct,
        "first": record.first_error_step,
        "grade": None if record.grade is UNSET else [record.grade, record.max_grade],
        "grades": [[given.grader, given.grade, given.comment] for given in grades],
    }


def judged(folder: RunFolder, number: int, item: Item, record: ProofRecord) -> dict[str, Any]:
    """What the run of that number says of a proof, with the calls behind it."""
    key = CallKey("verifier", item.id, item.sample, 0)
    shown: dict[str, Any] = {
        "run": number,
        "complete": record.complete,
        "score": record.score,
        "neutralised": record.neutralised,
        "unseen": sum(map(unseen, record.steps)),
        "prompt": _prompt(folder, key),
        "judgments": [_judgment(folder, item, judgment) for judgment in record.judgments],
    }
    if record.proof_id is None:
        key = CallKey("policy", item.id, item.sample)
        shown["policy"] = {"prompt": _prompt(folder, key), **_call(folder.call(key))}
    return shown


def _judgment(folder: RunFolder, item: Item, judgment: Judgment) -> dict[str, Any]:
    key = CallKey("verifier", item.id, item.sample, judgment.repeat)
    shown: dict[str, Any] = {
        "repeat": judgment.repeat,
        "valid": judgment.valid,
        "step": judgment.first_error_step,
        "reason": judgment.reason,
        "assessment": decode_field(judgment.assessment or ""),
        "errors": error_items(judgment.errors or ""),
        **_call(folder.call(key)),
    }
    if judgment.meta is not None:
        key = CallKey("meta", item.id, item.sample, judgment.repeat)
        line = folder.call(key) if folder.manifest.extent.meta else None
        shown["meta"] = {
            "level": judgment.meta.level,
            "reason": judgment.meta.reason,
            "prompt": _prompt(folder, key) if line else None,
            **_call(line),
        }
    return shown


def _call(line: CallLine | None) -> dict[str, Any]:
    """A reply as it came, and what is known of the call."""
    if line is None:
        return {"reply": None}
    return {
        "reply": exact_text(line),
        "reasoning": line.reasoning or None,
        "finish": line.finish_reason,
        "refused": line.refused,
        "model": line.model,
        "at": line.at,
        "seconds": round(line.latency_s, 2),
        "usage": line.usage,
        "prompt_sha256": line.prompt_sha256,
    }


def _prompt(folder: RunFolder, key: CallKey) -> str | None:
    """The exact prompt; None where the run cannot tell it (an imported run without its template, another was sent)."""
    try:
        return folder.prompt(key)
    except (KeyError, PromptError):
        return None
