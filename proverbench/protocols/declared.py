"""A judging protocol of one's own, declared in a TOML file: what is looked for in a reply, and what it means.

docs/protocols.md explains the file. A reply is read in time linear in its length, never repaired, and its faults have
stable reason codes. This module is pure: it takes the file's text.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proverbench.errors import ConfigError, InvalidReply
from proverbench.protocols.basic_v1 import BASIC_V1, answer_text
from proverbench.protocols.elements import elements, json_objects
from proverbench.protocols.grading import SHARED, plain_layout
from proverbench.protocols.protocol import Protocol, Slots, VerdictType
from proverbench.protocols.registry import known_protocol
from proverbench.records import Verdict

REASONS: dict[str, str] = {
    "missing:value": "The reply holds nothing of the declared form.",
    "duplicate:value": "The reply holds the declared form more than once.",
    "conflicting:value": "The reply holds the declared form with different values.",
    "bad_value": "What the reply says there is no value of the protocol.",
    "value_out_of_range": "The value lies outside the scale, or is no index of the proof's steps.",
    "value_not_on_scale": "The value lies between two steps of the scale.",
}
"""The reason codes of declared protocols beyond those that all share, and what they mean."""

_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d++)?+|\.\d++)")
_MOST_DIGITS = 4300
_PATH_PART = re.compile(r"([^.\[\]]+)|\[(\d{1,9})\]")
_PATH = re.compile(r"(?:[^.\[\]]+|\[\d{1,9}\])(?:\.[^.\[\]]+|\[\d{1,9}\])*")


class Reading(NamedTuple):
    """What a valid reply says; one of the three, by the protocol's verdict."""

    grade: float | None = None
    """On the protocol's scale."""
    label: Literal["accept", "reject"] | None = None
    first_error_step: int | None = None
    """Zero-based; -1: no error found."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Find(_Table):
    """Where the value stands: one of ``json``, ``regex`` and ``tag``."""

    json_path: Annotated[str | None, Field(alias="json")] = None
    """Keys and ``[i]``, from the outermost object: ``result.score``."""
    regex: str | None = None
    """In RE2's syntax, with a group ``value``."""
    tag: Annotated[str | None, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")] = None
    which: Literal["only", "first", "last", "same"] = "only"
    """Which of several counts; ``same``: all, if they agree."""


class Scale(_Table):
    """The grades there are."""

    min: Annotated[float, Field(strict=False)] = 0
    max: float
    step: Annotated[float, Field(gt=0)] | None = None
    """Distance of one grade from the next, counted from ``min``; any number between the ends if absent."""


class Accept(_Table):
    """What accepts a proof."""

    from_: Annotated[float, Field(alias="from")]
    """The least grade that does."""


class Index(_Table):
    """How steps are counted."""

    base: Literal[0, 1] = 0
    none: tuple[int, ...] = (-1,)
    """Numbers that mean that there is no error."""


class Example(_Table):
    """A reply and what must be read in it."""

    reply: str
    expect: float | str | None = None
    expect_reason: str | None = None
    n: Annotated[int, Field(ge=1)] = 1
    """Steps of the proof."""


class Declared(_Table):
    """A declared protocol."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    verdict: VerdictType
    prompt: str | None = None
    """File of the verifier's prompt, relative to the protocol's."""
    find: Find
    values: Mapping[str, Annotated[float, Field(strict=True)] | Literal["accept", "reject"]] = {}
    scale: Scale | None = None
    accept: Accept | None = None
    index: Index = Index()
    example: tuple[Example, ...] = ()

    def read(self, text: str, n_steps: int = 1) -> Reading:
        """What a reply on a proof of ``n_steps`` steps says.

        Raises:
            InvalidReply: ``empty_final_answer`` or one of :data:`REASONS`.
        """
        value = self._chosen([self._mapped(found) for found in self._found(answer_text(text))])
        if self.verdict == "label":
            if value not in ("accept", "reject"):
                raise InvalidReply("bad_value")
            return Reading(label="accept" if value == "accept" else "reject")
        if self.verdict == "grade":
            return Reading(grade=self._grade(value))
        return Reading(first_error_step=self._step(value, n_steps))

    def accepts(self, reading: Reading, accept_from: float | None = None) -> bool:
        """Whether what was read accepts the proof; ``accept_from`` replaces the declared least grade."""
        if self.verdict == "grade":
            assert reading.grade is not None
            declared = self.accept.from_ if self.accept else None
            least = declared if accept_from is None else accept_from
            assert least is not None
            return reading.grade >= least
        return reading.label == "accept" if self.verdict == "label" else reading.first_error_step == -1

    def _found(self, answer: str) -> Iterator[object]:
        find = self.find
        if find.tag is not None:
            yield from elements(answer, find.tag)
        elif find.regex is not None:
            for match in _compiled(find.regex).finditer(answer):
                yield (match.group("value") or "").strip()
        else:
            assert find.json_path is not None
            for decoded in json_objects(answer):
                try:
                    yield _at(decoded, find.json_path)
                except (KeyError, IndexError, TypeError):
                    continue

    def _mapped(self, found: object) -> object:
        """A value as the file names it, as a Fraction where it is a number, else what was found."""
        if isinstance(found, bool):
            found = "true" if found else "false"
        if isinstance(found, Decimal):
            found = format(found, "f") if abs(found.adjusted()) <= _MOST_DIGITS else "too long"
        if not isinstance(found, str):
            return None
        found = found.strip()
        named = self._names.get(found.lower())
        if named is not None:
            return named if isinstance(named, str) else Fraction(repr(named))
        return Fraction(found) if len(found) <= _MOST_DIGITS and _NUMBER.fullmatch(found) else found.lower()

    @property
    def _names(self) -> dict[str, float | str]:
        return {word.lower(): value for word, value in self.values.items()}

    def _chosen(self, candidates: list[object]) -> object:
        if not candidates:
            raise InvalidReply("missing:value")
        if self.find.which == "only" and len(candidates) > 1:
            raise InvalidReply("duplicate:value")
        if self.find.which == "same" and any(candidate != candidates[0] for candidate in candidates):
            raise InvalidReply("conflicting:value")
        return candidates[-1] if self.find.which == "last" else candidates[0]

    def _grade(self, value: object) -> float:
        if not isinstance(value, Fraction) or self.scale is None:
            raise InvalidReply("bad_value")
        least, most = (Fraction(repr(end)) for end in (self.scale.min, self.scale.max))
        if not least <= value <= most:
            raise InvalidReply("value_out_of_range")
        if self.scale.step is not None and (value - least) % Fraction(repr(self.scale.step)):
            raise InvalidReply("value_not_on_scale")
        return float(value)

    def _step(self, value: object, n_steps: int) -> int:
        if not isinstance(value, Fraction) or value.denominator != 1:
            raise InvalidReply("bad_value")
        if value in self.index.none:
            return -1
        step = value - self.index.base
        if not 0 <= step < n_steps:
            raise InvalidReply("value_out_of_range")
        return int(step)


def declare(text: str, where: str) -> Declared:
    """Read a protocol's file.

    Args:
        text: Its content.
        where: Its path, for messages.

    Raises:
        ConfigError: Lists every fault of the file.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{where}: is not TOML: {exc}") from None
    if set(content) != {"protocol"} or not isinstance(content["protocol"], dict):
        raise ConfigError(
            f"{where}: found {sorted(content)}; wanted one table, [protocol], with all the rest inside it"
        )
    try:
        declared = Declared.model_validate(content["protocol"])
    except ValidationError as exc:
        raise ConfigError.of([_said(fault, where) for fault in exc.errors()]) from None
    faults = [f"{where}: {fault}" for fault in _faults(declared)]
    if faults:
        raise ConfigError.of(faults)
    return declared


def check_examples(declared: Declared, where: str) -> None:
    """Read every example of a protocol, and compare.

    Raises:
        ConfigError: Says what was read instead of what was expected, for each, or that a valid or an invalid one lacks.
    """
    faults = example_faults(declared, where)
    if faults:
        raise ConfigError.of(faults)


def example_faults(declared: Declared, where: str) -> list[str]:
    """What is wrong with the examples of a protocol."""
    faults = []
    for number, example in enumerate(declared.example, 1):
        read, wanted = read_example(declared, example), expected(example)
        if read != wanted:
            faults.append(f"{where}: protocol.example {number}: read {read!r}, but the file expects {wanted!r}")
    if not any(example.expect_reason is None for example in declared.example):
        faults.append(f"{where}: protocol.example: give at least one reply that is valid, with `expect`")
    if not any(example.expect_reason is not None for example in declared.example):
        faults.append(f"{where}: protocol.example: give at least one reply that is invalid, with `expect_reason`")
    return faults


def expected(example: Example) -> float | str:
    """What an example expects, as :func:`read_example` says it."""
    return example.expect_reason if example.expect_reason is not None else _plain(example.expect)


def read_example(declared: Declared, example: Example) -> float | str:
    """What is read in an example: a number, ``accept`` or ``reject``, or the reason code of an invalid reply."""
    try:
        reading = declared.read(example.reply, example.n)
    except InvalidReply as exc:
        return exc.reason
    value = next(value for value in reading if value is not None)
    return _plain(value)


def _plain(value: Any) -> float | str:
    return value if isinstance(value, str) else float(value)


def _compiled(pattern: str) -> Any:
    import re2  # only declared protocols with a regular expression need it

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _at(decoded: object, path: str) -> object:
    """What stands at a path; raises KeyError, IndexError or TypeError where there is nothing."""
    for key, index in _PATH_PART.findall(path):
        if key:
            if not isinstance(decoded, dict):
                raise TypeError
            decoded = decoded[key]
        else:
            if not isinstance(decoded, list):
                raise TypeError
            decoded = decoded[int(index)]
    return decoded


def _faults(declared: Declared) -> Iterator[str]:
    """What the single fields do not show."""
    if known_protocol(declared.name) is not None:
        yield f"protocol.name: {declared.name!r} is the name of a shipped protocol; choose another"
    yield from _find_faults(declared.find)
    if declared.verdict == "grade":
        yield from _scale_faults(declared)
    elif declared.verdict == "label":
        words = set(declared.values.values())
        if not words <= {"accept", "reject"} or not words:
            yield "protocol.values: a label needs words that mean 'accept' or 'reject'"
    elif "accept" in declared.values.values() or "reject" in declared.values.values():
        yield "protocol.values: a first-error-step needs words that mean numbers"
    lowered = [word.lower() for word in declared.values]
    for word in sorted({word for word in lowered if lowered.count(word) > 1}):
        yield f"protocol.values: {word!r} is given twice; case does not count"
    for number, example in enumerate(declared.example, 1):
        if (example.expect is None) == (example.expect_reason is None):
            yield f"protocol.example {number}: give one of expect and expect_reason"


def _find_faults(find: Find) -> Iterator[str]:
    ways = [name for name, value in (("json", find.json_path), ("regex", find.regex), ("tag", find.tag)) if value]
    if len(ways) != 1:
        yield f"protocol.find: found {' and '.join(ways) or 'none'}; wanted one of json, regex and tag"
    if find.json_path is not None and not _PATH.fullmatch(find.json_path):
        yield f"protocol.find.json: found {find.json_path!r}; wanted keys and [i], such as result.scores[0]"
    if find.regex is not None:
        try:
            compiled = _compiled(find.regex)
        except ImportError:
            yield "protocol.find.regex: needs google-re2: pip install google-re2"
            return
        except Exception as exc:  # re2.error is loaded late, and its name differs between versions
            said = exc.args[0].decode(errors="replace") if isinstance(exc.args[0], bytes) else exc
            yield f"protocol.find.regex: RE2, which reads in linear time, refuses it: {said}"
            return
        if "value" not in compiled.groupindex:
            yield "protocol.find.regex: has no group 'value'; write (?P<value>…) around what is to be read"


def _scale_faults(declared: Declared) -> Iterator[str]:
    scale = declared.scale
    if scale is None:
        yield "protocol.scale: a grade needs one: min, max and, if wanted, step"
        return
    if scale.max <= scale.min:
        yield f"protocol.scale: max is {scale.max:g} and min {scale.min:g}; wanted a larger max"
    if declared.accept is None:
        yield "protocol.accept: a grade needs `from`, the least grade that accepts a proof"
    elif not scale.min <= declared.accept.from_ <= scale.max:
        yield f"protocol.accept.from: {declared.accept.from_:g} lies outside the scale"
    if "accept" in declared.values.values() or "reject" in declared.values.values():
        yield "protocol.values: a grade needs words that mean numbers"


def _said(fault: Any, where: str) -> str:
    place = ".".join(["protocol", *(str(part) for part in fault["loc"])])
    found = "" if fault["type"] == "missing" else f" (found {fault['input']!r})"
    return f"{where}: {place}: {fault['msg']}{found}"


SLOTS = ("problem", "rubric", "max_grade", "human_solution", "solution")
"""What a judge's prompt of a declared protocol may hold in braces."""


def as_protocol(declared: Declared, text: str) -> Protocol:
    """The protocol that a file declares.

    Args:
        declared: What it says.
        text: The file's text, of which the protocol's digest is made.
    """

    def read(answer: str, n_steps: int) -> Verdict:
        found = declared.read(answer, n_steps)
        return Verdict(found.first_error_step, answer_text(answer), "", grade=found.grade, label=found.label)

    scale = declared.scale
    located = declared.verdict == "first-error-step"
    return Protocol(
        name=declared.name,
        slots={
            "policy": BASIC_V1.slots["policy"],
            "verifier": Slots(names=SLOTS, required=("problem", "solution"), own=None),
        },
        verdict=declared.verdict,
        read_proof=BASIC_V1.read_proof,
        readable_steps=BASIC_V1.readable_steps,
        read_judgment=read,
        accepts=lambda said: declared.accepts(Reading(said.grade, said.label, said.first_error_step)),
        reasons=SHARED | REASONS,
        layout=BASIC_V1.layout if located else plain_layout,
        tags=() if declared.find.tag is None else (re.escape(declared.find.tag),),
        max_grade=scale.max if scale else None,
        grade_step=scale.step if scale else None,
        accept_from=declared.accept.from_ if declared.accept else None,
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )
