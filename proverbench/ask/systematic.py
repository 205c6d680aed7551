"""When every reply of a role is bad for one reason, that is a fault of the configuration, not a score.

A context that no prompt fits into, a judge's prompt that does not ask for our tags, a server whose normal stop is
another word: each would be paid for to the last call and then look like a model that scores 0. :class:`RoleWatch` looks
at what a role's first calls come to, over all sessions, and says when to stop. Pure but for :func:`watch`,
which reads a run.

One good answer ever disarms it, and so does a resume after it has fired: then the user knows.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, field

from proverbench.ask.first_look import FIRST_LOOK
from proverbench.endpoints.context import Room, clash
from proverbench.records import CallLine, Role, SessionLine
from proverbench.run.reading import proof_steps
from proverbench.run.sources import Sources
from proverbench.spending.money import output_limit
from proverbench.spending.usage import normalise_usage

FIRST_REFUSED = 8
"""So many first calls that were all refused, or all failed, are enough; of a role with fewer, all of them."""
FEWEST = 3
FIRST_INVALID = 20
"""So many first answers of a judge that are all invalid for one reason are enough; of a judge with fewer, all."""
FEWEST_INVALID = 8
PREFIX = "systematic: "
"""What the stop reason of such a session begins with."""


@dataclass(slots=True)
class RoleWatch:
    """What the first calls of one role came to.

    Args:
        role: Whose.
        calls: That it has in all.
        limit: Output tokens that its config allows; None: no limit.
        armed: False once there was a good answer, or the user was told in an earlier session.
        declared: Of a judge: the name of a protocol that the user declared. Then few first answers are enough, whatever
            their reasons.
    """

    role: Role
    calls: int
    limit: int | None = None
    armed: bool = True
    declared: str | None = None
    refused: int = 0
    failed: int = 0
    invalid: Counter[str] = field(default_factory=Counter)
    """Reason code → invalid answers, refusals included."""
    _rooms: list[Room] = field(default_factory=list)
    _words: Counter[str] = field(default_factory=Counter)
    _outputs: list[int] = field(default_factory=list)
    _failure: str = ""
    _told: bool = False

    def answered(self, line: CallLine, reason: str | None, room: Room | None = None) -> str | None:
        """Count an answer.

        Args:
            line: The call.
            reason: Why it is invalid; None when it is valid.
            room: What a refusal told of the context.

        Returns:
            Why to stop, or None.
        """
        self.recall(line, reason)
        if room is not None:
            self._rooms.append(room)
        return self._verdict() if self.armed else None

    def recall(self, line: CallLine, reason: str | None) -> None:
        """Count an answer of an earlier session."""
        if reason is None:
            self.armed = False
        if not self.armed or reason is None:
            return
        self.refused += line.refused is not None
        self.invalid[reason] += 1
        self._words[str(line.finish_reason)] += 1
        if (usage := normalise_usage(line.usage)) is not None:
            self._outputs.append(usage.output)

    def no_answer(self, message: str) -> str | None:
        """Count a call that cannot be answered; returns why to stop, or None."""
        if not self.armed:
            return None
        self.failed += 1
        self._failure = self._failure or message
        return self._verdict()

    def finding(self) -> str | None:
        """What to tell, once, of a policy whose first proofs are all invalid for one reason; the run goes on."""
        if self._told or not self.armed or self.role != "policy" or not self._all_invalid(FIRST_INVALID):
            return None
        self._told = True
        return f"note: the first {self._seen} answers of the policy are all invalid: {self._why_invalid()}"

    @property
    def _seen(self) -> int:
        return self.failed + self.invalid.total()

    @property
    def looks(self) -> bool:
        """Whether the first answers are still looked at one by one, before more are asked."""
        return self.armed and self.declared is not None and self.invalid.total() < FIRST_LOOK

    def _verdict(self) -> str | None:
        seen = self._seen
        if self.declared is not None and self.invalid.total() >= min(FIRST_LOOK, self.calls):
            self.armed = False
            reasons = ", ".join(f"{n} {reason}" for reason, n in self.invalid.most_common())
            return (
                f"none of the first {self.invalid.total()} judgments is valid under protocol {self.declared!r} "
                f"({reasons}); look at the replies with `proverbench inspect`, mend the protocol's file or its "
                "prompt, try it with `proverbench protocol check FILE --run DIR`, and start a new run"
            )
        if seen >= max(FEWEST, min(FIRST_REFUSED, self.calls)):
            if self.refused == seen:
                why = clash(self._rooms) or f"for {', '.join(self.invalid)}"
                return self._fired(f"were all refused ({', '.join(self.invalid)}): {why}")
            if self.failed == seen:
                return self._fired(f"all failed: {self._failure}")
        if self.role != "policy" and self._all_invalid(max(FEWEST_INVALID, min(FIRST_INVALID, self.calls))):
            return self._fired(f"are all invalid: {self._why_invalid()}")
        return None

    def _fired(self, what: str) -> str:
        self.armed = False
        return f"the first {self._seen} calls of the {self.role} {what}"

    def _all_invalid(self, n: int) -> bool:
        return not self.failed and len(self.invalid) == 1 and self.invalid.total() >= n

    def _why_invalid(self) -> str:
        (reason,) = self.invalid
        n = self.invalid.total()
        if reason != "non_stop_finish":
            remedy = {
                "missing": "; look at a reply, and at what the role's prompt asks for",
                "empty_final_answer": "; often the server's context or the output limit is too small",
            }.get(reason.partition(":")[0], "")
            return f"{n} of {n} are {reason}{remedy}"
        word, of_word = self._words.most_common(1)[0]
        said = f"{of_word} of {n} ended with {'no finish reason' if word == 'None' else repr(word)} ({reason})"
        if word in ("length", "max_tokens") and self._outputs:
            limit = "no limit is set" if self.limit is None else f"max_tokens is {self.limit:,}"
            return f"{said}; {limit}, the median output {statistics.median(self._outputs):,.0f} tokens: raise the limit"
        if word == "None":
            return f"{said}; if this server never sends one, set accept_missing_finish = true in a new run"
        return f"{said}, which is no normal stop here"


def watch(sources: Sources, role: Role) -> RoleWatch:
    """The watch of a role, with what earlier sessions of the run had."""
    identity = sources.manifest.identity.roles[role]
    protocol = sources.reader.protocol
    found = RoleWatch(role, sources.plan.size(role), output_limit(identity.generation))
    if role == "verifier" and protocol.digest is not None:
        found.declared = protocol.name
    if not sources.ledger.count(role):
        return found
    for number in range(sources.plan.size(role)):
        offset = sources.ledger.offset(role, number)
        if offset is not None:
            line = sources.calls.call_at(offset)
            found.recall(line, _reason(sources, line, number))
        if not found.armed:
            return found
    said = f"{PREFIX}{role}: "
    stops = (line.reason or "" for line in sources.calls.facts() if isinstance(line, SessionLine))
    found.armed = not any(reason.startswith(said) for reason in stops)
    return found


def _reason(sources: Sources, line: CallLine, number: int) -> str | None:
    n_steps = 0
    if line.role == "verifier":
        generation = proof_steps(sources, number // sources.plan.repeats)
        n_steps = len(generation.steps) if generation else 0
    return sources.reader.invalid_reason(line, n_steps)
