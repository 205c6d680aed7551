"""Kernel terms as lean4export writes them: the model. It is read by export_reading.py and written by export_writing.py.

An :class:`Export` holds names, universe levels and terms as tables, bottom-up: whatever an entry refers to
stands before it, so that every measure of a term is one loop over the table and nothing ever recurses or walks a
term as a tree. A table row costs some 34 bytes, so a million terms are tens of megabytes.

The format is lean4export's NDJSON, 3.1.0 and 3.0.0. Ids may be sparse and in any order.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, MutableSequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

BVAR, SORT, CONST, APP, LAM, PI, LET, LIT, MDATA, PROJ = range(10)
"""Kinds of terms. Their columns: BVAR a=index; SORT a=level; CONST name, a=level list; APP a=function, b=argument;
LAM and PI name, a=type, b=body; LET name, a=type, b=value, c=body; LIT a=literal; MDATA a=term; PROJ name=structure,
a=index, b=term."""

KIND_NAMES = ("bound variable", "sort", "constant", "application", "λ", "∀", "let", "literal", "metadata", "projection")

ZERO, SUCC, MAX, IMAX, PARAM = range(5)
"""Kinds of universe levels. Columns: SUCC a; MAX and IMAX a, b; PARAM a=name."""

BINDER_INFOS = ("default", "implicit", "strictImplicit", "instImplicit")

CHILDREN: tuple[tuple[str, ...], ...] = (
    (),
    (),
    (),
    ("a", "b"),
    ("a", "b"),
    ("a", "b"),
    ("a", "b", "c"),
    (),
    ("a",),
    ("b",),
)
"""Which columns of a kind hold terms."""

_PLAIN = re.compile(r"[^\W\d][\w'!?₀-₉]*|_\w*")


# --- declarations -----------------------------------------------------------------------------------------------


class Axiom(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Something assumed."""

    name: int
    level_params: list[int]
    type: int
    is_unsafe: bool = False


class Definition(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A definition; the kernel unfolds it."""

    name: int
    level_params: list[int]
    type: int
    value: int
    hints: Literal["opaque", "abbrev"] | dict[str, int] = "opaque"
    safety: Literal["safe", "unsafe", "partial"] = "safe"
    all: list[int] = []

    @property
    def is_unsafe(self) -> bool:
        """Whether safe declarations may not use it."""
        return self.safety != "safe"


class Theorem(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A statement and its proof."""

    name: int
    level_params: list[int]
    type: int
    value: int
    all: list[int] = []

    @property
    def is_unsafe(self) -> bool:
        """Theorems are always safe."""
        return False


class Opaque(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A definition that the kernel never unfolds."""

    name: int
    level_params: list[int]
    type: int
    value: int
    is_unsafe: bool = False
    all: list[int] = []


class Quot(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One of the four constants of quotients, which come with the kernel."""

    name: int
    level_params: list[int]
    type: int
    kind: Literal["type", "ctor", "lift", "ind"]

    @property
    def is_unsafe(self) -> bool:
        """Quotients are always safe."""
        return False


class InductiveType(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One type of an inductive block."""

    name: int
    level_params: list[int]
    type: int
    all: list[int]
    ctors: list[int]
    num_params: int
    num_indices: int
    num_nested: int = 0
    is_rec: bool = False
    is_reflexive: bool = False
    is_unsafe: bool = False


class Constructor(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One constructor of an inductive type."""

    name: int
    level_params: list[int]
    type: int
    induct: int
    cidx: int
    num_params: int
    num_fields: int
    is_unsafe: bool = False


class Rule(msgspec.Struct, rename={"n_fields": "nfields"}, forbid_unknown_fields=True):
    """How a recursor computes on one constructor."""

    ctor: int
    n_fields: int
    rhs: int


class Recursor(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A recursor that the kernel makes for an inductive block."""

    name: int
    level_params: list[int]
    type: int
    all: list[int]
    num_params: int
    num_indices: int
    num_motives: int
    num_minors: int
    rules: list[Rule]
    k: bool = False
    is_unsafe: bool = False


class Inductive(msgspec.Struct, forbid_unknown_fields=True):
    """A block: one type, or several that are mutual or nested, with all that the kernel makes for them."""

    types: list[InductiveType]
    ctors: list[Constructor]
    recs: list[Recursor]

    @property
    def name(self) -> int:
        """Name of the first type."""
        return self.types[0].name

    @property
    def is_unsafe(self) -> bool:
        """Whether safe declarations may not use it."""
        return self.types[0].is_unsafe


Declaration = Axiom | Definition | Theorem | Opaque | Quot | Inductive
Constant = Axiom | Definition | Theorem | Opaque | Quot | InductiveType | Constructor | Recursor


def constants_of(declaration: Declaration) -> list[Constant]:
    """The constants that a declaration puts into the environment."""
    if isinstance(declaration, Inductive):
        return [*declaration.types, *declaration.ctors, *declaration.recs]
    return [declaration]


def terms_of(declaration: Declaration) -> list[tuple[Constant, str, int]]:
    """Every term of a declaration: (its constant, ``type``, ``value`` or ``rule N``, the term)."""
    found: list[tuple[Constant, str, int]] = []
    for constant in constants_of(declaration):
        found.append((constant, "type", constant.type))
        if isinstance(constant, Definition | Theorem | Opaque):
            found.append((constant, "value", constant.value))
        elif isinstance(constant, Recursor):
            found += [(constant, f"rule {i}", rule.rhs) for i, rule in enumerate(constant.rules)]
    return found


# --- the tables -------------------------------------------------------------------------------------------------


def _column() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class Export:
    """Declarations and the tables that their terms live in. Level 0 is zero, name 0 the anonymous name."""

    names: list[tuple[int, str | int]] = field(default_factory=lambda: [(0, "")])
    """(parent, last part) of each name; equal names have one index."""
    level_kind: bytearray = field(default_factory=lambda: bytearray([ZERO]))
    level_a: list[int] = field(default_factory=lambda: [0])
    level_b: list[int] = field(default_factory=lambda: [0])
    level_lists: list[tuple[int, ...]] = field(default_factory=list)
    literals: list[int | str] = field(default_factory=list)
    kind: bytearray = field(default_factory=bytearray)
    info: bytearray = field(default_factory=bytearray)
    """Binder info of LAM and PI, 1 for a LET that is a ``have``."""
    name: "array[int]" = field(default_factory=_column)
    a: "array[int]" = field(default_factory=_column)
    b: "array[int]" = field(default_factory=_column)
    c: "array[int]" = field(default_factory=_column)
    declarations: list[Declaration] = field(default_factory=list)
    lean_version: str = ""
    _shown: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kind)

    def name_text(self, index: int) -> str:
        """A name as text; different names have different texts, so a part that is not a plain word stands in «»."""
        shown = self._shown.get(index)
        if shown is None:
            shown = self._shown[index] = ".".join(_part_text(part) for part in self.name_parts(index)) or "[anonymous]"
        return shown

    def name_parts(self, index: int) -> list[str | int]:
        """The parts of a name, first to last."""
        parts: list[str | int] = []
        while index:
            index, part = self.names[index]
            parts.append(part)
        return parts[::-1]

    def constants(self) -> dict[int, tuple[Constant, Declaration]]:
        """Every declared constant by name, with the declaration it belongs to; of doubled names the first."""
        found: dict[int, tuple[Constant, Declaration]] = {}
        for declaration in self.declarations:
            for constant in constants_of(declaration):
                found.setdefault(constant.name, (constant, declaration))
        return found

    def children(self, term: int) -> tuple[int, ...]:
        """The direct subterms."""
        kind = self.kind[term]
        if kind in (APP, LAM, PI):
            return (self.a[term], self.b[term])
        if kind == LET:
            return (self.a[term], self.b[term], self.c[term])
        if kind == MDATA:
            return (self.a[term],)
        if kind == PROJ:
            return (self.b[term],)
        return ()

    def reach(self, roots: Iterable[int], seen: MutableSequence[int], mark: int = 1) -> Iterator[int]:
        """Each term below ``roots`` that does not yet bear ``mark`` in ``seen``, once; marks it there.

        Time is linear in what is new, however large the terms would be as trees.
        """
        stack = [root for root in roots if seen[root] != mark]
        kind, a, b, c = self.kind, self.a, self.b, self.c
        while stack:
            term = stack.pop()
            if seen[term] == mark:
                continue
            seen[term] = mark
            yield term
            k = kind[term]
            if k in (APP, LAM, PI):
                stack.append(a[term])
                stack.append(b[term])
            elif k == LET:
                stack += (a[term], b[term], c[term])
            elif k == MDATA:
                stack.append(a[term])
            elif k == PROJ:
                stack.append(b[term])


def _part_text(part: str | int) -> str:
    if isinstance(part, int):
        return str(part)
    if _PLAIN.fullmatch(part):
        return part
    shown = part.replace("\\", "\\\\").replace("»", "\\u00bb")
    # A name may hold control characters, which must not reach a terminal.
    return "«" + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in shown) + "»"


# --- building ---------------------------------------------------------------------------------------------------
