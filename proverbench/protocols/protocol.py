"""What a protocol of judging is: one value says how judges are asked, how their replies are read, what they mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from proverbench.records import Role, Verdict

VerdictType = Literal["first-error-step", "grade", "label"]
"""What a valid judgment says: where the first error is, how many points the proof earns, or accept or reject."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """What the prompts of one role may hold in braces, and which of this project's own is its default."""

    names: tuple[str, ...]
    required: tuple[str, ...]
    """Of these, what every prompt must have."""
    own: str | None
    """File name of this project's prompt; None where there is none, so that the user's is needed."""
    doubled_braces: bool = True
    """Whether ``{{`` and ``}}`` stand for single braces."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A protocol of judging.

    To add one, write a value of this class and list it in registry.py; nothing else names it. Its functions take the
    text of a reply that ended as it should, and raise InvalidReply with one of ``reasons``.
    """

    name: str
    """What a run's identity says."""
    slots: Mapping[Role, Slots]
    """Role → its prompts; a role that is not in it is never asked, so there is a meta-verifier only if it is."""
    verdict: VerdictType
    read_proof: Callable[[str, bool], list[str]]
    """Text of a generation → its steps; the switch is whether white space at a step's start goes too."""
    readable_steps: Callable[[str, bool], list[str]]
    """The same for one that is invalid: whatever can be read."""
    read_judgment: Callable[[str, int], Verdict]
    """Text of a judgment, number of steps of the proof → what it says."""
    read_level: Callable[[str], str] | None = None
    """Text of the meta-verifier's reply → its level."""
    accepts: Callable[[Verdict], bool]
    """Whether a valid judgment accepts the proof."""
    reasons: Mapping[str, str]
    """Reason codes of invalid replies, each with what it means."""
    layout: Callable[[Sequence[str]], str]
    """The steps of a proof as judges are shown it."""
    tags: tuple[str, ...] = ()
    """Patterns of names of elements that are neutralised beside those of ``basic-v1``: its own."""
    max_grade: float | None = None
    """Of a grade: the best there is."""
    grade_step: float | None = None
    """Of a grade: distance from one to the next; None for any number."""
    accept_from: float | None = None
    """Of a grade: the least that accepts."""
    digest: str | None = None
    """Of a protocol declared in a file: SHA-256 of what it says."""

    def shown(self, verdict: Verdict) -> str:
        """A valid judgment's verdict in words."""
        if self.verdict == "grade":
            return f"grade {verdict.grade:g} of {self.max_grade:g}"
        if self.verdict == "label":
            return f"label {verdict.label}"
        return "no error" if verdict.first_error_step == -1 else f"first error at step {verdict.first_error_step}"
