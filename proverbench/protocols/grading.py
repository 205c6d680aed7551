r"""Reply text → grade or index: protocols ``grade-0-7``, ``score-3`` and ``process-v1``.

The rules are those of docs/metrics.md, "Protocols". As in ``basic-v1`` the finish reason and the final text come first,
a reply is never repaired, and everything is linear in the text.
"""

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from proverbench.errors import InvalidReply
from proverbench.protocols.basic_v1 import BASIC_V1, MAX_INDEX_DIGITS, answer_text
from proverbench.protocols.basic_v1 import REASONS as SHARED_REASONS
from proverbench.protocols.elements import elements, last_box, last_plain_box
from proverbench.protocols.protocol import Protocol, Slots
from proverbench.records import Verdict

_POINTS = re.compile(r"(\d++)(?:\s*+(?:out\s++of|/)\s*+7)?+", re.IGNORECASE)
_SCORE = re.compile(r"\d++(?:\.\d++)?+|\.\d++")
_SIGNED = re.compile(rf"[+-]?\d{{1,{MAX_INDEX_DIGITS}}}+")
SCORES = (Decimal(0), Decimal("0.5"), Decimal(1))
"""The grades of ``score-3``."""

REASONS: dict[str, str] = {
    "missing:points": "The reply has no <points>…</points>.",
    "bad_grade": "No <points> element holds a whole number, alone or with 'out of 7' or '/7'.",
    "grade_out_of_range": "A grade lies above 7.",
    "conflicting:points": "The <points> elements hold different grades.",
    "missing:boxed": r"The reply has no \boxed{…} that closes.",
    "bad_score": r"The last \boxed{…} holds no plain number.",
    "score_not_allowed": "The score is none of 0, 0.5 and 1.",
    "bad_index": r"The last \boxed{…} holds no whole number.",
    "index_out_of_range": "The index is neither -1 nor the index of one of the proof's paragraphs.",
}
"""The reason codes of these protocols beyond those that all share, and what they mean."""


def parse_points(text: str) -> int:
    """A grade of ``grade-0-7``: a whole number of points from 0 to 7.

    Raises:
        InvalidReply: ``empty_final_answer``, ``missing:points``, ``bad_grade``, ``grade_out_of_range`` or
            ``conflicting:points``; the first that applies.
    """
    contents = list(elements(answer_text(text), "points"))
    if not contents:
        raise InvalidReply("missing:points")
    matches = [match for content in contents if (match := _POINTS.fullmatch(content))]
    grades = {whole_number(match[1], 7) for match in matches}
    if not grades:
        raise InvalidReply("bad_grade")
    if None in grades:
        raise InvalidReply("grade_out_of_range")
    if len(grades) > 1:
        raise InvalidReply("conflicting:points")
    (grade,) = grades
    assert grade is not None
    return grade


def parse_score(text: str) -> float:
    """A grade of ``score-3``: 0, 0.5 or 1.

    Raises:
        InvalidReply: ``empty_final_answer``, ``missing:boxed``, ``bad_score`` or ``score_not_allowed``.
    """
    content = last_box(answer_text(text))
    if content is None:
        raise InvalidReply("missing:boxed")
    if not _SCORE.fullmatch(content):
        raise InvalidReply("bad_score")
    score = Decimal(content)
    if score not in SCORES:
        raise InvalidReply("score_not_allowed")
    return float(score)


def parse_paragraph(text: str, n_steps: int) -> int:
    """An index of ``process-v1``: the first wrong paragraph of a proof of ``n_steps`` paragraphs, -1 for none.

    Raises:
        InvalidReply: ``empty_final_answer``, ``missing:boxed``, ``bad_index`` or ``index_out_of_range``.
    """
    content = last_plain_box(answer_text(text))
    if content is None:
        raise InvalidReply("missing:boxed")
    if not _SIGNED.fullmatch(content):
        raise InvalidReply("bad_index")
    value = whole_number(content.lstrip("+-"), max(n_steps, 1))
    if value is not None:
        index = -value if content.startswith("-") else value
        if -1 <= index < n_steps:
            return index
    raise InvalidReply("index_out_of_range")


def whole_number(digits: str, most: int) -> int | None:
    """The value of decimal digits of any script, or None above ``most``; linear in their number."""
    plain = "".join(str(unicodedata.decimal(digit)) for digit in digits).lstrip("0") or "0"
    if len(plain) > len(str(most)) or int(plain) > most:
        return None
    return int(plain)


_OTHERS = ("empty_assessment", "bad_index", "index_out_of_range", "bad_level", "verifier_invalid")
SHARED: dict[str, str] = {
    code: meaning
    for code, meaning in SHARED_REASONS.items()
    if code not in _OTHERS and not code.startswith(("missing:", "duplicate:"))
}
"""The reason codes that every protocol has: those of any reply, and of a proof."""


def _reasons(*own: str) -> dict[str, str]:
    return SHARED | {code: REASONS[code] for code in own}


def plain_layout(steps: Sequence[str]) -> str:
    """The steps with an empty line between them, and no mark of where one ends."""
    return "\n\n".join(steps)


def _paragraphs(steps: Sequence[str]) -> str:
    return "\n\n".join(f"<paragraph_{i}>\n{step}\n</paragraph_{i}>" for i, step in enumerate(steps))


def _points(text: str, n_steps: int) -> Verdict:
    return Verdict(None, answer_text(text), "", grade=parse_points(text))


def _score(text: str, n_steps: int) -> Verdict:
    return Verdict(None, answer_text(text), "", grade=parse_score(text))


def _paragraph(text: str, n_steps: int) -> Verdict:
    return Verdict(parse_paragraph(text, n_steps), answer_text(text), "")


GRADE_0_7 = Protocol(
    name="grade-0-7",
    slots={
        "policy": BASIC_V1.slots["policy"],
        "verifier": Slots(
            names=("problem", "rubric", "max_grade", "human_solution", "solution"),
            required=("problem", "solution"),
            own="grade-0-7.txt",
        ),
    },
    verdict="grade",
    read_proof=BASIC_V1.read_proof,
    readable_steps=BASIC_V1.readable_steps,
    read_judgment=_points,
    accepts=lambda verdict: verdict.grade is not None and verdict.grade >= 6,
    reasons=_reasons("missing:points", "bad_grade", "grade_out_of_range", "conflicting:points"),
    layout=plain_layout,
    tags=("points",),
    max_grade=7,
    grade_step=1,
    accept_from=6,
)
"""Whole points from 0 to 7, as at olympiads; a proof is accepted from 6."""

SCORE_3 = Protocol(
    name="score-3",
    slots={
        "policy": BASIC_V1.slots["policy"],
        "verifier": Slots(
            names=("problem", "human_solution", "solution"), required=("problem", "solution"), own="score-3.txt"
        ),
    },
    verdict="grade",
    read_proof=BASIC_V1.read_proof,
    readable_steps=BASIC_V1.readable_steps,
    read_judgment=_score,
    accepts=lambda verdict: verdict.grade is not None and verdict.grade >= 1,
    reasons=_reasons("missing:boxed", "bad_score", "score_not_allowed"),
    layout=plain_layout,
    max_grade=1,
    grade_step=0.5,
    accept_from=1,
)
"""0, 0.5 or 1, as DeepSeekMath-V2's verifier (arXiv 2511.22570) gives; a proof is accepted at 1."""

PROCESS_V1 = Protocol(
    name="process-v1",
    slots={
        "policy": BASIC_V1.slots["policy"],
        "verifier": Slots(names=("problem", "solution"), required=("problem", "solution"), own="process-v1.txt"),
    },
    verdict="first-error-step",
    read_proof=BASIC_V1.read_proof,
    readable_steps=BASIC_V1.readable_steps,
    read_judgment=_paragraph,
    accepts=lambda verdict: verdict.first_error_step == -1,
    reasons=_reasons("missing:boxed", "bad_index", "index_out_of_range"),
    layout=_paragraphs,
    tags=(r"paragraph_\d++",),
)
"""The first wrong paragraph, as ProcessBench asks for it."""
