"""Finding one's way in a run: which proofs, how far their judges disagree, how a call was read. Prints nothing."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET

from proverbench.errors import InvalidReply, PromptError, RunMismatchError
from proverbench.metrics.proverbench import accepted
from proverbench.records import AttemptLine, CallKey, CallLine, Judgment, ProofRecord, Role, Row, Summary
from proverbench.run.derive import UNANSWERED, VERIFIER_INVALID
from proverbench.run.extent import ROLES
from proverbench.run.folder import RunFolder
from proverbench.run.reading import open_calls, proof_steps
from proverbench.run.texts import exact_text
from proverbench.unseen import unseen

DisagreeKind = Literal["any", "judges", "human"]


class Disagreement(NamedTuple):
    """How far the valid judgments of one proof differ."""

    polarity: float
    """Share of those in the minority on accept or reject: 0, all alike, to 0.5, half and half."""
    human: float | None
    """Share of those that differ with the human label on accept or reject; None where there is no label."""
    places: int
    """How many different first wrong steps they name, none counting as one; 0 without valid judgments."""

    def rank(self, kind: DisagreeKind = "any") -> tuple[float, float, int]:
        """Larger is more: judges among themselves come first, or the human does where only that is asked for."""
        judges, human = self.polarity, self.human or 0.0
        return (human, judges, self.places) if kind == "human" else (judges, human, self.places)

    def is_any(self, kind: DisagreeKind) -> bool:
        """Whether there is any: between judgments, with the human, or either."""
        between, with_human = self.places > 1, bool(self.human)
        return {"any": between or with_human, "judges": between, "human": with_human}[kind]


def disagreement(record: ProofRecord) -> Disagreement:
    """How far the judges of a proof disagree."""
    steps = [(j.first_error_step, j.accepting) for j in record.judgments if j.valid]
    if not steps:
        return Disagreement(0.0, None if record.is_correct is None else 0.0, 0)
    accepting = sum(accepts for _, accepts in steps)
    polarity = min(accepting, len(steps) - accepting) / len(steps)
    human = None
    if record.is_correct is not None:
        human = (len(steps) - accepting if record.is_correct else accepting) / len(steps)
    return Disagreement(polarity, human, len(set(steps)))


@dataclass(frozen=True, slots=True)
class Entry:
    """A proof in a table."""

    number: int
    """Its place in the run, from 0; what a user may name it by."""
    record: ProofRecord
    disagreement: Disagreement
    accepted: bool
    """All R judgments are valid and find no error; in VerifierBench too."""

    @classmethod
    def of(cls, number: int, record: ProofRecord, repeats: int) -> "Entry":
        """The entry of a record."""
        return cls(number, record, disagreement(record), record.complete and accepted(record, repeats))

    def reasons(self) -> Iterator[str]:
        """Reason codes of everything about it that is invalid."""
        if self.record.generation_error is not None:
            yield self.record.generation_error
        for judgment in self.record.judgments:
            if judgment.reason is not None:
                yield judgment.reason
            if judgment.meta is not None and judgment.meta.reason not in (None, VERIFIER_INVALID):
                yield judgment.meta.reason or ""

    def as_json(self) -> dict[str, Any]:
        """For scripts: the record, its number and name, and the disagreement."""
        built: dict[str, Any] = msgspec.to_builtins(self.record)
        return {
            "number": self.number,
            "key": self.record.key,
            "accepted": self.accepted,
            "disagreement": self.disagreement._asdict(),
            **built,
        }


@dataclass(frozen=True)
class Filters:
    """Which proofs are wanted; None and False leave all."""

    invalid: str | None = None
    """A reason code or its beginning; empty for any reason."""
    accepted: bool = False
    rejected: bool = False
    incomplete: bool = False
    disagree: DisagreeKind | None = None
    domain: str | None = None
    subject: str | None = None
    problem: str | None = None

    def __bool__(self) -> bool:
        return self != Filters()

    def _tests(self) -> Iterator[Callable[[Entry], bool]]:
        if self.invalid is not None:
            wanted = self.invalid
            yield lambda entry: any(reason.startswith(wanted) for reason in entry.reasons())
        if self.accepted:
            yield lambda entry: entry.accepted
        if self.rejected:
            yield lambda entry: entry.record.complete and not entry.accepted
        if self.incomplete:
            yield lambda entry: not entry.record.complete
        if self.disagree is not None:
            kind = self.disagree
            yield lambda entry: entry.disagreement.is_any(kind)
        for name, value in (("domain", self.domain), ("subject", self.subject), ("problem_id", self.problem)):
            if value is not None:
                yield lambda entry, name=name, value=value: getattr(entry.record, name) == value  # type: ignore[misc]

    def select(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that pass every filter; with ``disagree`` those that disagree most come first."""
        tests = list(self._tests())
        chosen = [entry for entry in entries if all(test(entry) for test in tests)]
        kind = self.disagree
        if kind is not None:
            chosen.sort(key=lambda entry: entry.disagreement.rank(kind), reverse=True)
        return chosen

    def refuse_unknown(self, entries: Iterable[Entry]) -> None:
        """Make sure that the names in the filters occur in the run.

        Raises:
            RunMismatchError: Says which names there are.
        """
        entries = list(entries)
        reasons = {reason for entry in entries for reason in entry.reasons()}
        if self.invalid and not any(reason.startswith(self.invalid) for reason in reasons):
            raise RunMismatchError(f"nothing is invalid for {self.invalid!r}; there is: {_listed(reasons)}")
        for name, what, value in (
            ("domain", "domain", self.domain),
            ("subject", "subject", self.subject),
            ("problem_id", "problem", self.problem),
        ):
            there = {getattr(entry.record, name) or "" for entry in entries}
            if value is not None and value not in there:
                near = difflib.get_close_matches(value, there, n=1)
                names = f"did you mean {near[0]!r}?" if near else f"there is: {_listed(there)}"
                raise RunMismatchError(f"no proof has the {what} {value!r}; {names}")


def _listed(names: Iterable[str]) -> str:
    known = sorted(filter(None, names))
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return (", ".join(known[:12]) or "none") + more


@dataclass(frozen=True)
class Missing:
    """What a run lacks."""

    by_role: dict[str, int]
    """Calls that could be asked now."""
    proofs: int
    """Proofs that are not complete."""
    errors: dict[str, int]
    """Why those calls have no answer, as far as they were asked: kind of the last failure → count."""


@dataclass(frozen=True)
class Overview:
    """Everything about a run that its first page shows."""

    summary: Summary
    entries: list[Entry]
    missing: Missing


def overview(run: RunFolder, *, texts: bool = False) -> Overview:
    """Read a whole run once.

    Args:
        run: The run.
        texts: Whether the entries keep proofs and judgments' texts.
    """
    entries: list[Entry] = []

    def see(record: ProofRecord) -> None:
        entries.append(Entry.of(len(entries), record if texts else _light(record), run.sources.plan.repeats))

    summary = run.scored(see).summary
    return Overview(summary, entries, _missing(run, entries))


def _light(record: ProofRecord) -> ProofRecord:
    judgments = [msgspec.structs.replace(judgment, assessment=None, errors=None) for judgment in record.judgments]
    return msgspec.structs.replace(record, steps=[], judgments=judgments)


def _missing(run: RunFolder, entries: list[Entry]) -> Missing:
    incomplete = sum(not entry.record.complete for entry in entries)
    if not incomplete:
        return Missing({}, 0, {})
    lacking = set(open_calls(run.sources))
    last: dict[CallKey, str] = {}
    for line in run.sources.calls.facts():
        if isinstance(line, AttemptLine):
            last[CallKey(line.role, line.id, line.sample, line.repeat)] = line.error
    roles = Counter(key.role for key in lacking)
    errors = Counter(error for key, error in last.items() if key in lacking)
    return Missing({role: roles[role] for role in ROLES if roles[role]}, incomplete, dict(errors.most_common()))


def find_proof(run: RunFolder, wanted: str) -> list[int]:
    """Numbers of the proofs that a user means: a key, an id, or a place in the table.

    Raises:
        RunMismatchError: If there is none; names the nearest.
    """
    plan = run.sources.plan
    for number in range(plan.n_proofs):
        row = plan.row(number)
        if wanted in (f"{row.problem_id}/{plan.sample(number)}", getattr(row, "proof_id", None)):
            return [number]
    of_problem = [number for number in range(plan.n_proofs) if plan.row(number).problem_id == wanted]
    if of_problem:
        return of_problem
    if wanted.removeprefix("#").isdecimal() and int(wanted.removeprefix("#")) < plan.n_proofs:
        return [int(wanted.removeprefix("#"))]
    near = difflib.get_close_matches(wanted, plan.ids, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    raise RunMismatchError(
        f"{run.path} has no proof {wanted!r}: no such id, and numbers are 0 to {plan.n_proofs - 1}{guess}"
    )


@dataclass(frozen=True)
class Call:
    """One call, with all that is known of it."""

    key: CallKey
    prompt: str | None
    """None where it cannot be known: the reply that it would be made from is not there, or what would be rendered now
    is not what was sent (its hash is another)."""
    line: CallLine | None
    """None while it is unanswered."""
    attempts: list[AttemptLine]
    """Its failures, in order."""
    reading: str | None
    """How the reply was read, in words."""
    prompt_unknown: str | None = None
    """Why there is no prompt, in words."""

    def as_json(self) -> dict[str, Any]:
        """For scripts: the exact prompt and reply, lone surrogates included, and the line as it is saved."""
        return {
            "key": self.key.text,
            "prompt": self.prompt,
            "prompt_unknown": self.prompt_unknown,
            "reply": None if self.line is None else exact_text(self.line),
            "reading": self.reading,
            "line": None if self.line is None else msgspec.to_builtins(self.line),
            "attempts": [msgspec.to_builtins(line) for line in self.attempts],
        }


def find_call(run: RunFolder, text: str) -> Call:
    """The call that a key as text names.

    Raises:
        RunMismatchError: If it is no key, or no call of the run.
    """
    try:
        key = CallKey.parse(text)
    except ValueError:
        raise RunMismatchError(
            f"{text!r} is no call; a call is ROLE/ID/SAMPLE/REPEAT, such as {_example(run)}"
        ) from None
    if not run.sources.plan.size(key.role) or run.sources.plan.number(key) is None:
        raise RunMismatchError(f"{run.path} has no call {text!r}; a call of it is {_example(run)}")
    line = run.call(key)
    attempts = [
        other
        for other in run.sources.calls.facts()
        if isinstance(other, AttemptLine) and CallKey(other.role, other.id, other.sample, other.repeat) == key
    ]
    prompt = unknown = None
    try:
        prompt = run.prompt(key)
    except PromptError as exc:
        unknown = str(exc)
    except (KeyError, InvalidReply):
        unknown = "it cannot be known here"
    return Call(key, prompt, line, attempts, None if line is None else reading(run, line), unknown)


def _example(run: RunFolder) -> str:
    plan = run.sources.plan
    role: Role = "verifier" if plan.judged_only else "policy"
    return plan.key(role, 0).text if plan.n_proofs else "verifier/ID/0/0"


def reading(run: RunFolder, line: CallLine) -> str:
    """How a reply was read, in a few words."""
    plan = run.sources.plan
    number = plan.number(line.key)
    if number is None:
        return "not asked by this run"
    if line.role == "policy":
        generation = run.sources.reader.generation(line)
        return f"{len(generation.steps)} steps" if generation.error is None else f"invalid: {generation.error}"
    if line.role == "meta":
        level = run.sources.reader.level(line)
        return level.level or f"invalid: {level.reason}"
    proof = proof_steps(run.sources, number // plan.repeats)
    try:
        verdict = run.sources.reader.judgment(line, len(proof.steps) if proof else 0)
    except InvalidReply as exc:
        return f"invalid: {exc.reason}"
    return verdict_words(verdict.first_error_step, run.sources.reader.protocol.accepts(verdict), verdict.grade)


def verdict_words(first_error_step: int | None, accepts: bool, grade: float | None) -> str:
    """``accepts``, ``first wrong step 2``, ``rejects``; of a grade also which."""
    said = "accepts" if accepts else "rejects" if first_error_step is None else f"first wrong step {first_error_step}"
    return said if grade is None else f"{said}, grade {grade:g}"


def judgment_words(judgment: Judgment) -> str:
    """A judgment in a few words."""
    if judgment.valid:
        grade = None if judgment.grade is UNSET else judgment.grade
        return verdict_words(judgment.first_error_step, judgment.accepting, grade)
    return UNANSWERED if judgment.reason == UNANSWERED else f"invalid: {judgment.reason}"


def hidden_texts(record: ProofRecord, row: Row) -> Iterator[tuple[str, int]]:
    """Which texts hold characters that a reader cannot see, and how many."""
    texts = {
        "": record.steps,
        " of the problem": [row.problem],
        " of the reference solution": [row.reference_solution],
        " of the marking scheme": [] if row.rubric is UNSET else [row.rubric],
    }
    yield from ((of, count) for of, parts in texts.items() if (count := sum(map(unseen, parts))))
