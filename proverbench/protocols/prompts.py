r"""Templates and data → the text that a model is asked; pure but for reading a template's file.

A template is plain text with placeholders. Its role's placeholders are replaced in one pass and every other brace
stays, so that ``\frac{a}{b}`` needs no escaping; nothing is substituted inside substituted text. What models and
datasets wrote is neutralised on its way to a judge (:func:`neutralise`). Who sees what: the policy sees the problem
alone; the verifier sees problem, proof and, with the switch on, the reference solution; the meta-verifier sees the
human's findings too. docs/metrics.md, "Prompts", is the user's page.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import UNSET

from proverbench.errors import PromptError
from proverbench.protocols.basic_v1 import BASIC_V1
from proverbench.protocols.protocol import Protocol, Slots
from proverbench.records import Annotation, Problem, Proof, Role, Row, Verdict
from proverbench.shipped import shipped

NO_REFERENCE = "None"
"""What stands for a reference solution that is absent, empty or switched off."""


class Rendered(NamedTuple):
    """A prompt, ready to send."""

    text: str
    neutralised: int
    """Replacements made in what models and datasets wrote; 0 when neutralising is off."""
    cacheable_chars: int
    """Length of the leading part of ``text`` that is the same in every call with this template."""


def prompt_sha256(prompt: str) -> str:
    """The hash by which calls.jsonl says to which prompt a reply was the answer."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Template:
    """A prompt template of one role.

    Attributes:
        role: Whose template it is.
        text: Its text with LF line ends and without a byte order mark.
        source: ``own``, or the path it was read from, for messages.
        own: Whether it is this project's own text, from wherever it was read; scores are then not comparable with
            published tables.
        protocol: Whose slots it has.
    """

    role: Role
    text: str
    source: str
    own: bool
    protocol: Protocol = BASIC_V1

    @classmethod
    def load(cls, role: Role, path: Path | None = None, protocol: Protocol = BASIC_V1) -> "Template":
        """Read the template at ``path``, or this project's own.

        Raises:
            PromptError: If the file cannot be read or is not UTF-8, or there is no own one.
        """
        name = protocol.slots[role].own
        own = None if name is None else _own_text(name)
        if path is None:
            if own is None:
                raise PromptError(f"protocol {protocol.name} has no {role} prompt of its own; give yours")
            return cls(role, own, "own", True, protocol)
        try:
            text = _normalised(path.read_bytes())
        except OSError as exc:
            raise PromptError(f"{path}: cannot read this {role} prompt ({exc.strerror}); give a text file") from exc
        except UnicodeDecodeError as exc:
            raise PromptError(f"{path}: byte {exc.start} is not UTF-8; save this {role} prompt as UTF-8") from exc
        return cls(role, text, str(path), text == own, protocol)

    @property
    def slots(self) -> Slots:
        """What it may hold in braces."""
        return self.protocol.slots[self.role]

    @property
    def sha256(self) -> str:
        """SHA-256 of the text with LF line ends, hex; what a manifest records."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def cacheable_chars(self) -> int:
        """Length of what stands before the first placeholder: the same in every prompt, so servers can cache it."""
        return len(_parts(self.slots, self.text)[0][0])

    def faults(self, use_reference_solution: bool) -> list[str]:
        """A line for the placeholders that this template lacks, none if it has all; see :meth:`check`."""
        required = set(self.slots.required)
        if use_reference_solution and "human_solution" in self.slots.names:
            required.add("human_solution")
        present = {name for _, name in _parts(self.slots, self.text)}
        missing = [name for name in self.slots.names if name in required - present]
        if not missing:
            return []
        listed = " and ".join("{" + name + "}" for name in missing)
        line = f"{self.source}: the {self.role} prompt lacks {listed}; add {'it' if len(missing) == 1 else 'them'}"
        if missing == ["human_solution"]:
            line += ", or pass --no-use-reference-solution"
        doubled = [name for name in missing if "{{" + name + "}}" in self.text]
        if doubled and self.slots.doubled_braces:
            line += " (doubled braces, {{" + doubled[0] + "}}, stand for literal ones)"
        return [line]

    def check(self, use_reference_solution: bool) -> None:
        """Require the placeholders of the role; with the reference switch on, ``{human_solution}`` of judges too.

        Raises:
            PromptError: Names the file and every missing placeholder.
        """
        faults = self.faults(use_reference_solution)
        if faults:
            raise PromptError.of(faults)


def render_policy(template: Template, row: Row) -> str:
    """The prompt that asks for a proof of ``row``'s problem: the problem as it is, and nothing else of the row."""
    return _fill(template, {"problem": (row.problem, 0)}).text


def render_verifier(
    template: Template, row: Row, steps: Sequence[str], *, use_reference: bool, neutralise: bool
) -> Rendered:
    """The prompt that asks for a judgment of the proof ``steps``; holds nothing of the human's findings."""
    return _fill(template, _judge_values(template, row, steps, use_reference, neutralise))


def count_neutralised(template: Template, row: Problem, steps: Sequence[str], *, use_reference: bool) -> int:
    """How many replacements :func:`render_verifier` makes where it neutralises; no prompt is made for it."""
    values = _judge_values(template, row, steps, use_reference, True)
    return sum(values[name][1] for name in _placeholders(template.slots, template.text))


def render_meta(
    template: Template, row: Proof, steps: Sequence[str], verdict: Verdict, *, use_reference: bool, neutralise: bool
) -> Rendered:
    """The prompt that asks how well ``verdict`` agrees with the human's findings, ``row.annotation``."""
    values = _judge_values(template, row, steps, use_reference, neutralise)
    values["solution_verification"] = _judgment_text(verdict, neutralise)
    values["human_ground_truth"] = _ground_truth_text(row.annotation, neutralise)
    return _fill(template, values)


def render_prompt(
    role: Role,
    row: Row,
    *,
    steps: Sequence[str] | None = None,
    verdict: Verdict | None = None,
    template: Template | Path | None = None,
    use_reference_solution: bool | None = None,
    neutralise: bool = True,
) -> str:
    """The exact prompt of one call, for notebooks.

    Args:
        role: ``policy``, ``verifier`` or ``meta``.
        row: A problem or, always for ``meta``, an annotated proof.
        steps: The proof to judge; left out, the row's own.
        verdict: The verdict to grade; ``meta`` only.
        template: A template or its file; left out, this project's own.
        use_reference_solution: Whether judges see the reference; left out, as the benchmarks do: yes for a problem, no
            for an annotated proof.
        neutralise: Whether judges see markup in what others wrote neutralised.

    Raises:
        ValueError: If ``steps``, ``verdict`` or an annotated proof is needed and not there, or the role is unknown.
        PromptError: If the template cannot be read or lacks a placeholder.
    """
    if role not in BASIC_V1.slots:
        raise ValueError(f"role is {role!r}; give 'policy', 'verifier' or 'meta'")
    if not isinstance(template, Template):
        template = Template.load(role, template)
    if template.role != role:
        raise ValueError(f"the template is one for {template.role}, the role is {role}; give a template for {role}")
    use_reference = not isinstance(row, Proof) if use_reference_solution is None else use_reference_solution
    template.check(use_reference)
    if role == "policy":
        return render_policy(template, row)
    if steps is None:
        if not isinstance(row, Proof):
            raise ValueError(f"a {role} prompt needs a proof; pass steps=[…]")
        steps = row.steps
    if role == "verifier":
        return render_verifier(template, row, steps, use_reference=use_reference, neutralise=neutralise).text
    if not isinstance(row, Proof) or verdict is None:
        raise ValueError("a meta prompt needs an annotated proof and a verdict; pass a Proof row and verdict=…")
    return render_meta(template, row, steps, verdict, use_reference=use_reference, neutralise=neutralise).text


_FIXED_NAMES = (
    "assessment",
    "errors",
    "first_error_step",
    "level",
    "reviewer_comment",
    "first_fatal_error_step",
    "recoverable_error_steps",
)
_JUDGE_NAMES = (r"step\d*+", "think", *_FIXED_NAMES)
_MAX_ATTRIBUTE_CHARS = 200


def _markup(names: Sequence[str]) -> re.Pattern[str]:
    # Group 1 is all that stands between the name and the next '<' or '>'; _is_tag_rest looks into it. Possessive
    # throughout: what one '<' passes over, no other '<' reads again.
    return re.compile(rf"<(?:\s*+/?+\s*+(?:{'|'.join(names)})([^<>]*+)>|\|[^<>|]{{1,64}}+\|>)", re.IGNORECASE)


@lru_cache
def _markup_of(where: str, tags: tuple[str, ...]) -> re.Pattern[str]:
    return _markup((*(_JUDGE_NAMES if where == "judge" else _FIXED_NAMES), *tags))


def neutralise(text: str, where: Literal["judge", "meta"] = "judge", *, tags: tuple[str, ...] = ()) -> tuple[str, int]:
    """Show the ``<`` of this protocol's tags and of chat tokens as ``&lt;``.

    So a proof cannot close its own element, answer in the judge's place or end the judge's turn. A text without such
    markup comes back as it is. What a replacement turns into markup (``<|<step |>`` into ``<|&lt;step |>``) is replaced
    too, until nothing is left; since markup is short, that takes a bounded number of passes.

    Args:
        text: A problem, reference, step or reviewer's comment (``judge``), or a verifier's text that the meta prompt
            shows (``meta``: there ``step…`` and ``think`` are left alone).
        where: Which of the two.
        tags: Patterns of further names whose elements are shown so.

    Returns:
        The text as shown, and the number of replacements.
    """
    if "<" not in text:
        return text, 0
    count = 0

    def escape(match: re.Match[str]) -> str:
        nonlocal count
        if match[1] is not None and not _is_tag_rest(match[1]):
            return match[0]
        count += 1
        return "&lt;" + match[0][1:]

    shown, before = text, -1
    while before < count:
        before = count
        shown = _markup_of(where, tags).sub(escape, shown)
    return shown, count


_neutralise = neutralise  # where a parameter of that name is the switch


def _is_tag_rest(rest: str) -> bool:
    """Whether a tag may go on so after its name: (white space, up to 200 characters)? ws* ``/``?."""
    core = rest.removesuffix("/").rstrip()
    return not core or (core[0].isspace() and len(core.lstrip()) <= _MAX_ATTRIBUTE_CHARS)


_Value = tuple[str, int]  # a text as shown, and the replacements made in it


def _shown(text: str, switch: bool, where: Literal["judge", "meta"] = "judge", *, tags: tuple[str, ...] = ()) -> _Value:
    return _neutralise(text, where, tags=tags) if switch else (text, 0)


def _elements(parts: Sequence[tuple[str, _Value]]) -> _Value:
    """``<name>``, blank line, text, blank line, ``</name>`` for each part, with a blank line between parts."""
    text = "\n\n".join(f"<{name}>\n\n{shown}\n\n</{name}>" for name, (shown, _) in parts)
    return text, sum(count for _, (_, count) in parts)


def _judge_values(
    template: Template, row: Problem, steps: Sequence[str], use_reference: bool, switch: bool
) -> dict[str, _Value]:
    protocol = template.protocol
    reference = row.reference_solution if use_reference else ""
    shown = [_shown(step, switch, tags=protocol.tags) for step in steps]
    rubric = "" if row.rubric is UNSET else row.rubric
    return {
        "rubric": _shown(rubric, switch, tags=protocol.tags) if rubric else (NO_REFERENCE, 0),
        "max_grade": (_most_points(row, protocol), 0),
        "problem": _shown(row.problem, switch, tags=protocol.tags),
        "human_solution": _shown(reference, switch, tags=protocol.tags) if reference else (NO_REFERENCE, 0),
        "solution": (protocol.layout([step for step, _ in shown]), sum(count for _, count in shown)),
    }


def _most_points(row: Problem, protocol: Protocol) -> str:
    """The scale that the row was graded on, else the protocol's."""
    if isinstance(row, Proof) and row.max_grade is not UNSET:
        return str(row.max_grade)
    return NO_REFERENCE if protocol.max_grade is None else f"{protocol.max_grade:g}"


def _judgment_text(verdict: Verdict, switch: bool) -> _Value:
    # The index is not shown: graded is the explanation.
    return _elements(
        [
            ("assessment", _shown(verdict.assessment, switch, "meta")),
            ("errors", _shown(verdict.errors, switch, "meta")),
        ]
    )


NOT_LOCATED = "not located: the reviewer judged the proof as a whole"
"""What the meta-verifier is shown for the place of an error that the label does not name."""


def _ground_truth_text(annotation: Annotation, switch: bool) -> _Value:
    fatal, recoverable = str(annotation.first_fatal_error_step), str(list(annotation.recoverable_error_steps))
    if annotation.first_fatal_error_step is None:
        fatal, recoverable = ("-1", "[-1]") if annotation.verdict == "correct" else (NOT_LOCATED, NOT_LOCATED)
    return _elements(
        [
            ("reviewer_comment", _shown(annotation.reviewer_comment, switch)),
            ("first_fatal_error_step", (fatal, 0)),
            ("recoverable_error_steps", (recoverable, 0)),
        ]
    )


@lru_cache(maxsize=64)
def _parts(slots: Slots, text: str) -> tuple[tuple[str, str | None], ...]:
    """The template as (literal text, name of the placeholder that follows it or None); the last has None."""
    # One alternative for each thing that is replaced.
    tokens = re.compile((r"\{\{|\}\}|" if slots.doubled_braces else "") + r"\{(" + "|".join(slots.names) + r")\}")
    parts: list[tuple[str, str | None]] = []
    literal: list[str] = []
    position = 0
    for token in tokens.finditer(text):
        literal.append(text[position : token.start()])
        position = token.end()
        if token[1] is None:
            literal.append(token[0][0])  # {{ or }}
        else:
            parts.append(("".join(literal), token[1]))
            literal = []
    return (*parts, ("".join(literal) + text[position:], None))


@lru_cache(maxsize=64)
def _placeholders(slots: Slots, text: str) -> frozenset[str]:
    """Those that the template holds."""
    return frozenset(name for _, name in _parts(slots, text) if name)


def _fill(template: Template, values: Mapping[str, _Value]) -> Rendered:
    parts = _parts(template.slots, template.text)
    text = "".join(literal + (values[name][0] if name else "") for literal, name in parts)
    used = _placeholders(template.slots, template.text)
    return Rendered(text, sum(values[name][1] for name in used), template.cacheable_chars)


def _normalised(raw: bytes) -> str:
    return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


@lru_cache
def _own_text(name: str) -> str:
    return _normalised(shipped(f"prompts/{name}").read_bytes())
