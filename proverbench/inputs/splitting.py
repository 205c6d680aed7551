"""How a proof's text becomes steps: for imports, and for ``--proofs`` that are plain texts."""

import json
import re
from typing import Literal

from proverbench.errors import InvalidReply
from proverbench.protocols.basic_v1 import parse_steps

Split = Literal["whole", "paragraphs", "lines", "tags", "json"]

SPLITS: dict[Split, str] = {
    "whole": "The whole proof is one step.",
    "paragraphs": "A step is a paragraph of the proof: what stands between empty lines.",
    "lines": "A step is a line of the proof that is not empty.",
    "tags": "A step is a <step> element of the proof.",
    "json": "A step is an item of the JSON list that holds the proof.",
}
"""Name → what it does."""


class Unsplittable(Exception):  # noqa: N818 - always turned into a fault of its row
    """A text that cannot be split so; the argument says what was wanted."""


def split_proof(text: str, split: Split) -> list[str]:
    """The steps of a proof, at least one, none of them empty.

    Args:
        text: The proof.
        split: A key of :data:`SPLITS`.

    Raises:
        Unsplittable: If nothing is left, or the text has not the form that ``split`` needs.
    """
    if split == "tags":
        try:
            return parse_steps(text)
        except InvalidReply as exc:
            raise Unsplittable("<step>...</step> elements (or another split)") from exc
    if split == "json":
        return _json_steps(text)
    if split == "whole":
        pieces = [text]
    else:
        pieces = re.split(r"\n[^\S\n]*\n" if split == "paragraphs" else r"\n", text.replace("\r\n", "\n"))
    steps = [piece.strip() for piece in pieces if piece.strip()]
    if not steps:
        raise Unsplittable("a proof that is not empty")
    return steps


def _json_steps(text: str) -> list[str]:
    try:
        steps = json.loads(text)
    except (ValueError, RecursionError):
        steps = None
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) and step.strip() for step in steps):
        raise Unsplittable("a JSON list of texts that are not empty (or another split)")
    return steps
