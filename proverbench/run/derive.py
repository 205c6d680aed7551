"""From a run's sources to its records and summary. Pure but for reading; the same on any machine.

What is derived never moves unless a source does: `proverbench score` rebuilds these files byte for byte.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from msgspec import UNSET

from proverbench.errors import InvalidReply
from proverbench.metrics.arrays import ArrayBuilder, JudgmentArrays
from proverbench.metrics.scores import scores, undefined
from proverbench.metrics.uncertainty import split_uncertainty
from proverbench.protocols.prompts import render_verifier
from proverbench.records import (
    GIVEN,
    CallLine,
    Generation,
    Judgment,
    MetaJudgment,
    Proof,
    ProofRecord,
    Role,
    Row,
    SplitSummary,
    Summary,
)
from proverbench.run.extent import ROLES
from proverbench.run.published_tables import beside_published
from proverbench.run.sources import Sources
from proverbench.selection import EVERYTHING, splits
from proverbench.spending.usage import NO_USAGE, Usage, normalise_usage
from proverbench.unseen import unseen
from proverbench.version import SCORED_BY

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
    return render_verifier(
        template, row, steps, use_reference=identity.use_reference_solution, neutralise=True
    ).neutralised


def _judgments(
    sources: Sources, proof: int, n_steps: int, see: Callable[[CallLine], None]
) -> tuple[list[Judgment], bool]:
    """The answered or closed judgments of a proof, and whether that is all of them."""
    reader, ledger, plan = sources.reader, sources.ledger, sources.plan
    located = reader.protocol.verdict == "first-error-step"
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
        line = sources.calls.call_at(offset)
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
                accepts=UNSET if located else reader.protocol.accepts(verdict),
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


@dataclass(slots=True)
class _Alike:
    """How many replies of a role are the same as another one to the same prompt.

    Replies come prompt by prompt, so only those to the present one are kept, as hash → how many.
    """

    groups: int = 0
    """Prompts with several replies."""
    groups_alike: int = 0
    """Of these, with two or more that are the same."""
    replies: int = 0
    """To these prompts."""
    replies_alike: int = 0
    """Of these, the same as another one."""
    _prompt: str = ""
    _seen: Counter[int] = field(default_factory=Counter)

    def see(self, prompt: str, reply: int) -> None:
        """Take in the hash of the next reply."""
        if prompt != self._prompt:
            self.close()
            self._prompt = prompt
        self._seen[reply] += 1

    def close(self) -> None:
        """Count the replies to the present prompt: there are no more."""
        total = self._seen.total()
        if total > 1:
            alike = sum(count for count in self._seen.values() if count > 1)
            self.groups += 1
            self.groups_alike += alike > 0
            self.replies += total
            self.replies_alike += alike
        self._seen.clear()


@dataclass(slots=True)
class _Split:
    """What was seen of one split."""

    expected: int = 0
    completed: int = 0

    def see(self, record: ProofRecord) -> None:
        self.expected += 1
        self.completed += record.complete


class Scored(NamedTuple):
    """What a run came to."""

    summary: Summary
    arrays: JudgmentArrays
    """Of every record, also of those that are not complete."""


class Summariser:
    """Builds summary.json from records and calls, one at a time.

    Args:
        sources: The run.
    """

    def __init__(self, sources: Sources) -> None:
        plan = sources.plan
        self._sources = sources
        protocol = sources.reader.protocol
        self._arrays = ArrayBuilder(
            task=sources.manifest.identity.task,
            samples=plan.samples,
            repeats=plan.repeats,
            best_grade=protocol.max_grade if protocol.verdict == "grade" else None,
            paragraphs=protocol.name == "process-v1",
        )
        self._splits = {name: _Split() for name in splits(sources.rows)}
        self._invalid: dict[Role, Counter[str]] = {role: Counter() for role in ROLES}
        self._calls: Counter[Role] = Counter()
        self._calls_of_unknown_usage: Counter[Role] = Counter()
        self._usage: dict[Role, Usage] = {}
        self._models: dict[Role, Counter[tuple[str | None, str | None]]] = defaultdict(Counter)
        self._alike: dict[Role, _Alike] = defaultdict(_Alike)
        self._missing_finish: Counter[Role] = Counter()
        self._unseen: Counter[str] = Counter()
        self._neutralised = 0

    def see_call(self, line: CallLine) -> None:
        """Count a call's usage and what the server said of itself."""
        if self._sources.manifest.identity.roles[line.role].kind == GIVEN:
            return
        self._calls[line.role] += 1
        usage = normalise_usage(line.usage)
        if usage is None or not usage.known:
            self._calls_of_unknown_usage[line.role] += 1
        if usage is not None:
            self._usage[line.role] = self._usage.get(line.role, NO_USAGE) + usage
        self._models[line.role][(line.model, line.fingerprint)] += 1
        if line.finish_reason is None and line.refused is None:
            self._missing_finish[line.role] += 1
        if line.role != "meta" and line.refused is None and line.text.strip():
            self._compare(line, usage)

    def _compare(self, line: CallLine, usage: Usage | None) -> None:
        """Look for replies to one prompt that are the same; empty and refused ones say nothing and are left out."""
        role, policy = line.role, line.role == "policy"
        if (self._sources.plan.samples if policy else self._sources.plan.repeats) == 1:
            return
        prompt = line.id if policy else f"{line.id}/{line.sample}"
        # Short verdicts may well be the same after thoughts that were not: thoughts, or else their length, tell.
        reply = hash((line.text, line.reasoning, None if usage is None else usage.output))
        self._alike[role].see(prompt, reply)

    def see_record(self, record: ProofRecord) -> None:
        """Count a record; what the intervals need of it are a few bytes for each judgment."""
        self._arrays.add(record)
        self._neutralised += record.neutralised > 0
        if characters := sum(map(unseen, record.steps)):
            self._unseen["proofs"] += 1
            self._unseen["characters"] += characters
        for name in (EVERYTHING, record.domain):
            if name in self._splits:
                self._splits[name].see(record)
        if record.generation_error is not None:
            self._invalid["policy"][record.generation_error] += 1
        for judgment in record.judgments:
            if judgment.reason is not None:
                self._invalid["verifier"][judgment.reason] += 1
            if judgment.meta is not None and judgment.meta.reason is not None:
                self._invalid["meta"][judgment.meta.reason] += 1

    def scored(self) -> Scored:
        """The summary of all that was seen, and the arrays it rests on; nothing more can be seen then."""
        manifest = self._sources.manifest
        arrays = self._arrays.build()
        parts = {name: self._split(name, arrays) for name in self._splits}
        roles = manifest.identity.roles
        summary = Summary(
            task=manifest.identity.task,
            complete=parts["all"].complete,
            run_id=manifest.run_id,
            protocol=manifest.identity.protocol,
            scored_by=SCORED_BY,
            splits=parts,
            invalid={role: dict(sorted(found.items())) for role, found in self._invalid.items() if role in roles},
            usage={role: self._tokens(role) for role in ROLES if self._calls[role]},
            closed_unanswered=self._closed(),
            warnings=list(self._warnings()),
        )
        return Scored(summary, arrays)

    def _closed(self) -> int:
        plan, ledger = self._sources.plan, self._sources.ledger
        return sum(1 for role in ROLES for number in range(plan.size(role)) if ledger.is_closed(role, number))

    def _split(self, name: str, arrays: JudgmentArrays) -> SplitSummary:
        plan, seen = self._sources.plan, self._splits[name]
        split = SplitSummary(
            selected_rows=seen.expected // plan.samples,
            expected_records=seen.expected,
            completed_records=seen.completed,
            complete=seen.completed == seen.expected,
        )
        if split.complete and seen.expected:
            chosen = arrays.split(name)
            split.metrics = scores(chosen, meta=plan.meta)
            split.undefined = undefined(split.metrics) or UNSET
            split.intervals, split.bounds = split_uncertainty(chosen, meta=plan.meta, metrics=split.metrics)
        return split

    def _tokens(self, role: Role) -> dict[str, int | None]:
        return {
            "calls": self._calls[role],
            "calls_of_unknown_usage": self._calls_of_unknown_usage[role],
            **{name: count for name, count in asdict(self._usage.get(role, NO_USAGE)).items() if name != "known"},
        }

    def _warnings(self) -> Iterator[str]:
        identity = self._sources.manifest.identity
        if identity.own_prompts:
            yield (
                f"proverbench's own prompts were used ({', '.join(identity.own_prompts)}): "
                "not comparable with published tables"
            )
        if said := beside_published(self._sources.manifest, closed=self._closed(), neutralised=self._neutralised):
            yield said
        for role, models in self._models.items():
            names = sorted({str(model) for model, _ in models})
            if len(names) > 1:
                yield f"the {role}'s server answered under {len(names)} model names: {', '.join(names)}"
            marks = {mark for _, mark in models}
            if len(marks) > 1:
                yield f"the {role}'s server reported {len(marks)} different fingerprints: it changed during the run"
        for role, unit, what in (("policy", "problems", "samples"), ("verifier", "proofs", "judgments")):
            found = self._alike[role]
            found.close()
            if found.replies_alike:
                share = f"{found.replies_alike} of {found.replies} {what}, {found.replies_alike / found.replies:.0%}"
                yield (
                    f"{found.groups_alike} of {found.groups} {unit} got byte-identical {what} ({share}): these are not "
                    "independent (temperature ignored, a cache, or one seed)"
                )
        if self._unseen:
            proofs, characters = self._unseen["proofs"], self._unseen["characters"]
            yield (
                f"{characters} {'character' if characters == 1 else 'characters'} in {proofs} "
                f"{'proof' if proofs == 1 else 'proofs'} can be read by a judge and not seen by a person; "
                "`inspect` and the page spell them out"
            )
        for role, count in self._missing_finish.items():
            if not identity.roles[role].accept_missing_finish:
                yield (
                    f"{count} replies of the {role} came without a finish reason and are invalid; if the server never "
                    "sends one, set accept_missing_finish = true for its role in a new run"
                )
