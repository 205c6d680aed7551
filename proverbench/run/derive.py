"""From a run's sources to its records. Pure but for reading; the same on any machine.

What is derived never moves unless a source does: `proverbench score` rebuilds these files byte for byte.
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET

from proverbench.errors import InvalidReply
from proverbench.protocols.prompts import count_neutralised
from proverbench.records import (
    CallLine,
    Generation,
    Judgment,
    MetaJudgment,
    Proof,
    ProofRecord,
    Row,
)
from proverbench.run.sources import Sources

UNANSWERED = "unanswered"
VERIFIER_INVALID = "verifier_invalid"


def build_record(sources: Sources, proof: int, observe: Callable[[CallLine], None] | None = None) -> ProofRecord:
    """One line of records.jsonl.

    Args:
        sources: The run.
        proof: The proof's number in the plan.
        observe: Sees every call line that was read.
    """
    manifest, plan, ledger = sources.manifest, sources.plan, sources.ledger
    row = plan.row(proof)
    see = observe or (lambda line: None)
    common: dict[str, Any] = {
        "problem_id": row.problem_id,
        "domain": row.domain,
        "subject": row.subject,
        "sample_index": plan.sample(proof),
    }
    if isinstance(row, Proof):
        common |= {
            "proof_id": row.proof_id,
            "policy": row.policy,
            "steps": row.steps,
            "annotation": row.annotation,
            "is_correct": row.is_correct,
            "first_error_step": row.first_error_step,
            "grade": row.grade,
            "max_grade": row.max_grade,
        }
        generation = Generation(row.steps, None)
    else:
        policy = manifest.identity.roles["policy"]
        common["policy"] = policy.model
        offset = ledger.offset("policy", proof)
        if offset is None:
            if ledger.is_closed("policy", proof):
                return ProofRecord(**common, generation_error=UNANSWERED, score=0.0)
            return ProofRecord(**common, complete=False)
        line = sources.calls.call_at(offset)
        see(line)
        generation = sources.reader.generation(line)
        common["steps"] = generation.steps
        if generation.error is not None:
            return ProofRecord(**common, generation_error=generation.error, score=0.0)
    judgments, complete = _judgments(sources, proof, len(generation.steps), see)
    score = None
    if complete:
        right = row.is_correct if isinstance(row, Proof) else True
        score = _score(judgments, plan.repeats, right, mean=isinstance(row, Proof))
    return ProofRecord(
        **common,
        complete=complete,
        neutralised=_neutralised(sources, row, generation.steps),
        judgments=judgments,
        score=score,
    )


def _score(judgments: list[Judgment], repeats: int, accept: bool, *, mean: bool) -> float:
    right = sum(1 for j in judgments if j.valid and j.accepting == accept)
    return right / repeats if mean else float(right == repeats)


def _neutralised(sources: Sources, row: Row, steps: list[str]) -> int:
    identity = sources.manifest.identity
    template = sources.templates.get("verifier")
    if template is None or not identity.neutralise:
        return 0
    return count_neutralised(template, row, steps, use_reference=identity.use_reference_solution)


def _judgments(
    sources: Sources, proof: int, n_steps: int, see: Callable[[CallLine], None]
) -> tuple[list[Judgment], bool]:
    """The answered or closed judgments of a proof, and whether that is all of them."""
    reader, ledger, plan, call_at = sources.reader, sources.ledger, sources.plan, sources.calls.call_at
    accepts = None if reader.protocol.verdict == "first-error-step" else reader.protocol.accepts
    judgments: list[Judgment] = []
    complete = True
    for repeat, number in enumerate(plan.judgments(proof)):
        offset = ledger.offset("verifier", number)
        if offset is None:
            if ledger.is_closed("verifier", number):
                meta = MetaJudgment(False, reason=VERIFIER_INVALID) if plan.meta else None
                judgments.append(Judgment(repeat=repeat, valid=False, reason=UNANSWERED, meta=meta))
            else:
                complete = False
            continue
        line = call_at(offset)
        see(line)
        try:
            verdict = reader.judgment(line, n_steps)
        except InvalidReply as exc:
            meta = MetaJudgment(False, reason=VERIFIER_INVALID) if plan.meta else None
            judgments.append(Judgment(repeat=repeat, valid=False, reason=exc.reason, meta=meta))
            continue
        meta = None
        if plan.meta:
            meta = _meta(sources, number, see)
            complete = complete and meta is not None
        judgments.append(
            Judgment(
                repeat=repeat,
                valid=True,
                first_error_step=verdict.first_error_step,
                assessment=verdict.assessment,
                errors=verdict.errors,
                meta=meta,
                grade=UNSET if verdict.grade is None else verdict.grade,
                accepts=UNSET if accepts is None else accepts(verdict),
            )
        )
    return judgments, complete


def _meta(sources: Sources, number: int, see: Callable[[CallLine], None]) -> MetaJudgment | None:
    offset = sources.ledger.offset("meta", number)
    if offset is None:
        return MetaJudgment(False, reason=UNANSWERED) if sources.ledger.is_closed("meta", number) else None
    line = sources.calls.call_at(offset)
    see(line)
    return sources.reader.level(line)


def build_records(sources: Sources, observe: Callable[[CallLine], None] | None = None) -> Iterator[ProofRecord]:
    """Every expected record, in data order then sample."""
    for proof in range(sources.plan.n_proofs):
        yield build_record(sources, proof, observe)
