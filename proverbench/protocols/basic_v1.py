r"""Reply text → steps, verdict or level, or the reason why it is invalid: protocol ``basic-v1``.

The rules are those of docs/metrics.md, "Validity"; a reply is never repaired. Everything here is pure and takes time
linear in the text, whatever stands in it: models write megabytes of one tag, and the obvious regular expressions
(``<a>(.*?)</a>``, ``<step\b[^>]*>``) then take hours. So each opening tag is looked for once, the search goes on where
the last match ended, and the patterns are possessive (``\s*+``): what they have passed over they never read again.

"White space", "digit", "word character" and "any case" are Python's ``\s``, ``\d``, ``\w`` and IGNORECASE on text. So
``<ſtep>`` opens a step (U+017F is an s to IGNORECASE) and ``１`` is the index 1.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import partial

from proverbench.errors import InvalidReply
from proverbench.protocols.elements import tags
from proverbench.protocols.protocol import Protocol, Slots
from proverbench.records import LEVEL_SCORES, Verdict

FIELDS = ("assessment", "errors", "first_error_step")
"""The three fields of a verdict, in the order in which their faults are reported."""

MAX_INDEX_DIGITS = 4300
"""Longest index that is read, leading zeros included; Python's own limit, which the published evaluator inherits."""

REASONS: dict[str, str] = {
    "refused:context_length": "The provider refused the request because the prompt is longer than the model's context.",
    "refused:content_policy": "The provider refused the request, or the model's answer, under its content policy.",
    "non_stop_finish": "The reply did not end with a normal stop of its endpoint kind (cut by a limit, filtered, "
    "or without a finish reason), however complete it looks.",
    "empty_final_answer": "Nothing is left of the reply after its reasoning, or the reasoning was never closed.",
    "no_proof_steps": "A proof without a non-empty <step> element; it is not judged and scores 0.",
    "missing:assessment": "The verdict has no <assessment>…</assessment>.",
    "missing:errors": "The verdict has no <errors>…</errors>; <errors/> is none either.",
    "missing:first_error_step": "The verdict has no <first_error_step>…</first_error_step>.",
    "duplicate:assessment": "The verdict has more than one <assessment>…</assessment>.",
    "duplicate:errors": "The verdict has more than one <errors>…</errors>.",
    "duplicate:first_error_step": "The verdict has more than one <first_error_step>…</first_error_step>.",
    "empty_assessment": "The verdict's assessment holds nothing but white space.",
    "bad_index": "The verdict's index is not a whole number: an optional '-' and 1 to 4,300 digits, nothing else.",
    "index_out_of_range": "The verdict's index is neither -1 nor the index of one of the proof's steps.",
    "bad_level": "The meta-verifier's reply does not hold exactly one <level>WORD</level>, WORD being one of the four.",
    "verifier_invalid": "The judgment to be graded is invalid, so the meta-verifier was not asked; it earns 0.",
    "unanswered": "No answer came, and the run was closed with --final: the call earns 0.",
}
"""Every reason code that a record or a summary can hold, and what it means."""

_FINAL_CHANNEL = "<|end|><|start|>assistant<|channel|>final<|message|>"
END_OF_REASONING = "</think>"
"""What precedes the last one in a reply is its reasoning."""
_OPEN_THINK = re.compile(r"<think\s*+>", re.IGNORECASE)
_OPEN_STEP = re.compile(r"<step\b[^>]*+>", re.IGNORECASE)
# White space and closing tags of a step (</step>, \end{step}>, \endstep>), matched on the reversed text: from its end
# there is only one way to read them, so that nothing is tried twice.
_STEP_TAIL_REVERSED = re.compile(
    r"(?:\s++|>\s*+pets/<|>\s*+\}?+\s*+pets\s*+\{?+\s*+dne\\)*+",
    re.IGNORECASE,
)
_INDEX = re.compile(rf"-?\d{{1,{MAX_INDEX_DIGITS}}}+")
_NO_TAG = r"(?:[^<]++|<[ 0-9=$(\\-])*+"
"""Text in which nothing opens or closes an element: what follows a ``<`` begins no name."""
_PLAIN_VERDICT = re.compile("".join(rf"{_NO_TAG}<{name}>({_NO_TAG})</{name}>" for name in FIELDS) + _NO_TAG)
"""Verdicts as they are asked for, with no other tag in the reply: what the rules find there takes one look."""
_LEVEL = re.compile(r"<level\s*+>\s*+(\w++)\s*+</level\s*+>", re.IGNORECASE)


def check_finish(finish_reason: str | None, normal_stops: Collection[str], accept_missing: bool = False) -> None:
    """Require a normal stop (rule 1).

    Args:
        finish_reason: As the provider sent it; None when it sent none or null.
        normal_stops: Those that are one for the endpoint's kind; of a replayed role, for the kind that was replayed.
        accept_missing: The endpoint's ``accept_missing_finish``: its server never sends a reason.

    Raises:
        InvalidReply: ``non_stop_finish``.
    """
    if finish_reason is None and accept_missing:
        return
    if finish_reason not in normal_stops:
        raise InvalidReply("non_stop_finish")


def final_text(text: str) -> str:
    """The answer proper: ``text`` without its reasoning, stripped (rule 2). Empty if the reasoning never finished."""
    text = text.rpartition(_FINAL_CHANNEL)[2]
    text = text.rpartition(END_OF_REASONING)[2]
    if _OPEN_THINK.search(text):
        return ""
    return text.strip()


def read_steps(text: str, *, strip_start: bool = True) -> list[str]:
    """The steps that can be read of a reply, also of one that is invalid; empty when there are none.

    Args:
        text: The reply.
        strip_start: As for :func:`parse_steps`.
    """
    return _steps(final_text(text), strip_start)


def parse_steps(text: str, *, strip_start: bool = True) -> list[str]:
    """The steps of a proof, at least one, none of them empty (rules 2 and 3), without white space at either end.

    Args:
        text: The reply.
        strip_start: False keeps the white space after an opening tag, as runs of format version 1 did. How many
            steps there are never depends on it.

    Raises:
        InvalidReply: ``empty_final_answer`` or ``no_proof_steps``.
    """
    steps = _steps(answer_text(text), strip_start)
    if not steps:
        raise InvalidReply("no_proof_steps")
    return steps


def parse_verdict(text: str, n_steps: int) -> Verdict:
    """A verifier's verdict on a proof of ``n_steps`` steps (rules 2 and 4).

    Raises:
        InvalidReply: ``empty_final_answer``, ``missing:NAME``, ``duplicate:NAME``, ``empty_assessment``, ``bad_index``
            or ``index_out_of_range``; the first that applies, fields in the order of :data:`FIELDS`.
    """
    plain = _PLAIN_VERDICT.fullmatch(text)  # then it has no reasoning either, which would need a tag
    if plain is not None:
        assessment, errors, index = map(str.strip, plain.groups())
    else:
        answer = answer_text(text)
        assessment, errors, index = (_only_field(answer, name) for name in FIELDS)
    if not assessment:
        raise InvalidReply("empty_assessment")
    return Verdict(first_error_step=_index(index, n_steps), assessment=assessment, errors=errors)


def parse_level(text: str) -> str:
    """A meta-verifier's level in capitals, a key of ``records.LEVEL_SCORES`` (rules 2 and 5).

    Raises:
        InvalidReply: ``empty_final_answer`` or ``bad_level``.
    """
    matches = _LEVEL.finditer(answer_text(text))
    match = next(matches, None)
    if match is not None and next(matches, None) is None:
        # Capitals, and not IGNORECASE: to that, "İ" (U+0130) is an I; to the published evaluator it is none.
        level = match[1].upper()
        if level in LEVEL_SCORES:
            return level
    raise InvalidReply("bad_level")


def answer_text(text: str) -> str:
    """As :func:`final_text`, which must not be empty.

    Raises:
        InvalidReply: ``empty_final_answer``.
    """
    answer = final_text(text)
    if not answer:
        raise InvalidReply("empty_final_answer")
    return answer


def _steps(answer: str, strip_start: bool) -> list[str]:
    # Without a '>' ahead no tag can match; ending the search at the last one keeps '<step<step<step…' linear.
    opens = list(_OPEN_STEP.finditer(answer, 0, answer.rfind(">") + 1))
    ends = [match.start() for match in opens[1:]] + [len(answer)]
    pieces = (_without_tail(answer[match.end() : end]) for match, end in zip(opens, ends, strict=False))
    return [piece.lstrip() if strip_start else piece for piece in pieces if piece]


def _without_tail(piece: str) -> str:
    match = _STEP_TAIL_REVERSED.match(piece[::-1])
    assert match is not None  # the pattern matches the empty text
    return piece[: len(piece) - match.end()]


def _only_field(answer: str, name: str) -> str:
    """The stripped content of the one ``<name>`` element in ``answer``."""
    opening, closing = tags(name)
    start = opening.search(answer)
    end = None if start is None else closing.search(answer, start.end())
    if start is None or end is None:
        raise InvalidReply(f"missing:{name}")
    again = opening.search(answer, end.end())
    if again is not None and closing.search(answer, again.end()) is not None:
        raise InvalidReply(f"duplicate:{name}")
    return answer[start.end() : end.start()].strip()


def _index(field: str, n_steps: int) -> int:
    if not _INDEX.fullmatch(field):
        raise InvalidReply("bad_index")
    if len(field) < 5 and field.isascii():
        value = int(field)
        if -1 <= value < n_steps:
            return value
        raise InvalidReply("index_out_of_range")
    negative = field.startswith("-")
    # Digits of any script. int() of the whole could be refused: its limit is a setting of the interpreter.
    digits = "".join(str(unicodedata.decimal(digit)) for digit in field.removeprefix("-")).lstrip("0") or "0"
    if len(digits) <= len(str(n_steps)):
        value = -int(digits) if negative else int(digits)
        if -1 <= value < n_steps:
            return value
    raise InvalidReply("index_out_of_range")


def lay_out(name: str, steps: Sequence[str]) -> str:
    """``<name0>``, blank line, text, blank line, ``</name0>`` for each step, with a blank line between steps."""
    return "\n\n".join(f"<{name}{i}>\n\n{step}\n\n</{name}{i}>" for i, step in enumerate(steps))


BASIC_V1 = Protocol(
    name="basic-v1",
    slots={
        "policy": Slots(names=("problem",), required=("problem",), own="generation.txt"),
        "verifier": Slots(
            names=("problem", "human_solution", "solution"), required=("problem", "solution"), own="verifier.txt"
        ),
        "meta": Slots(
            names=("problem", "human_solution", "solution", "solution_verification", "human_ground_truth"),
            required=("solution", "solution_verification", "human_ground_truth"),
            own="meta.txt",
            doubled_braces=False,  # the published template leaves them alone
        ),
    },
    verdict="first-error-step",
    read_proof=lambda text, strip_start: parse_steps(text, strip_start=strip_start),
    readable_steps=lambda text, strip_start: read_steps(text, strip_start=strip_start),
    read_judgment=parse_verdict,
    read_level=parse_level,
    accepts=lambda verdict: verdict.first_error_step == -1,
    reasons=REASONS,
    layout=partial(lay_out, "step"),
)
"""The published evaluator's protocol."""
