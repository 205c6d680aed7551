r"""Reply text → grade or index: protocols ``grade-0-7``, ``score-3`` and ``process-v1``.

The rules are those of docs/metrics.md, "Protocols". As in ``basic-v1`` the finish reason and the final text come first,
a reply is never repaired, and everything is linear in the text.
"""

import re
import unicodedata
from decimal import Decimal

from proverbench.errors import InvalidReply
from proverbench.protocols.basic_v1 import MAX_INDEX_DIGITS, answer_text
from proverbench.protocols.elements import elements, last_box, last_plain_box

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
