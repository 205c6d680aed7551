"""From a run's records and calls to its summary, and the arrays that every statistic rests on. Pure but for reading."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict

from proverbench.metrics.array_building import ArrayBuilder
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.scores import scores, undefined
from proverbench.metrics.uncertainty import split_uncertainty
from proverbench.protocols.basic_v1 import END_OF_REASONING
from proverbench.records import (
    GIVEN,
    CallLine,
    ProofRecord,
    Role,
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
class _Calls:
    """What was seen of the answered calls of one role."""

    compares: bool
    """Whether replies to one prompt are compared: there are several, and they are more than a word."""
    calls: int = 0
    of_unknown_usage: int = 0
    missing_finish: int = 0
    usage: Usage = NO_USAGE
    models: set[tuple[str | None, str | None]] = field(default_factory=set)
    """Names and fingerprints by which the server went."""
    alike: _Alike = field(default_factory=_Alike)

    def see(self, line: CallLine) -> None:
        """Count a call's usage and what the server said of itself."""
        self.calls += 1
        usage = normalise_usage(line.usage)
        if usage is not None:
            self.usage += usage
        if usage is None or not usage.known:
            self.of_unknown_usage += 1
        self.models.add((line.model, line.fingerprint))
        if line.refused is not None:
            return  # like an empty reply, it says nothing of whether replies are the same
        if line.finish_reason is None:
            self.missing_finish += 1
        if self.compares and line.text and not line.text.isspace():
            prompt = line.id if line.role == "policy" else f"{line.id}/{line.sample}"
            # Short verdicts may well be the same after thoughts that were not: thoughts, or else their length, tell.
            self.alike.see(prompt, hash((line.text, line.reasoning, None if usage is None else usage.output)))

    def tokens(self) -> dict[str, int | None]:
        """As a summary says it."""
        usage = asdict(self.usage)
        del usage["known"]
        return {"calls": self.calls, "calls_of_unknown_usage": self.of_unknown_usage, **usage}


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
            places=protocol.verdict == "first-error-step",
        )
        self._splits = {name: _Split() for name in splits(sources.rows)}
        self._invalid: dict[Role, Counter[str]] = {role: Counter() for role in ROLES}
        several = {"policy": plan.samples > 1, "verifier": plan.repeats > 1}
        self._calls = {
            role: _Calls(compares=several.get(role, False))
            for role in ROLES
            if role in (roles := sources.manifest.identity.roles) and roles[role].kind != GIVEN
        }
        """Of the roles that were asked; proofs that were given are no calls."""
        self._quoting: list[tuple[Role, int]] = []
        """Of the record that comes next: replies that quote the end of a reasoning which came apart; role, repeat."""
        self._quoting_invalid: Counter[Role] = Counter()
        self._unseen: Counter[str] = Counter()
        self._neutralised = 0

    def see_call(self, line: CallLine) -> None:
        """Count a call's usage and what the server said of itself."""
        if (calls := self._calls.get(line.role)) is not None:
            calls.see(line)
        if line.reasoning and END_OF_REASONING in line.text:
            self._quoting.append((line.role, line.repeat))

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
        if self._quoting:
            self._see_quoting(record)
        for judgment in record.judgments:
            if judgment.reason is not None:
                self._invalid["verifier"][judgment.reason] += 1
            if judgment.meta is not None and judgment.meta.reason is not None:
                self._invalid["meta"][judgment.meta.reason] += 1

    def _see_quoting(self, record: ProofRecord) -> None:
        """Count the replies of a record that are invalid and quote the end of their reasoning."""
        invalid: set[tuple[Role, int]] = {("policy", 0)} if record.generation_error is not None else set()
        for judgment in record.judgments:
            if not judgment.valid:
                invalid.add(("verifier", judgment.repeat))
            elif judgment.meta is not None and not judgment.meta.valid:
                invalid.add(("meta", judgment.repeat))
        self._quoting_invalid.update(role for role, repeat in self._quoting if (role, repeat) in invalid)
        self._quoting.clear()

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
            usage={role: calls.tokens() for role, calls in self._calls.items() if calls.calls},
            closed_unanswered=self._closed(),
            warnings=list(self._warnings()),
        )
        return Scored(summary, arrays)

    def _closed(self) -> int:
        return sum(self._sources.ledger.count_closed(role) for role in ROLES)

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
            split.undefined = undefined(split.metrics, places=chosen.places) or UNSET
            split.intervals, split.bounds = split_uncertainty(chosen, meta=plan.meta, metrics=split.metrics)
        return split

    def _warnings(self) -> Iterator[str]:
        identity = self._sources.manifest.identity
        if identity.own_prompts:
            yield (
                f"proverbench's own prompts were used ({', '.join(identity.own_prompts)}): "
                "not comparable with published tables"
            )
        if said := beside_published(self._sources.manifest, closed=self._closed(), neutralised=self._neutralised):
            yield said
        for role, calls in self._calls.items():
            names = sorted({str(model) for model, _ in calls.models})
            if len(names) > 1:
                yield f"the {role}'s server answered under {len(names)} model names: {', '.join(names)}"
            marks = {mark for _, mark in calls.models}
            if len(marks) > 1:
                yield f"the {role}'s server reported {len(marks)} different fingerprints: it changed during the run"
        for role, unit, what in (("policy", "problems", "samples"), ("verifier", "proofs", "judgments")):
            if role not in self._calls:
                continue
            found = self._calls[role].alike
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
        for role, calls in self._calls.items():
            if calls.missing_finish and not identity.roles[role].accept_missing_finish:
                yield (
                    f"{calls.missing_finish} replies of the {role} came without a finish reason and are invalid; if "
                    "the server never sends one, set accept_missing_finish = true for its role in a new run"
                )
        for role, number in self._quoting_invalid.items():
            replies = "reply" if number == 1 else "replies"
            yield (
                f"{number} invalid {replies} of the {role} with {END_OF_REASONING} in the text although its reasoning "
                "came apart: as in the published evaluator, what precedes it is not read"
            )
