"""Kernel terms as lean4export writes them: the model, the reader and the writer.

An :class:`Export` holds names, universe levels and terms as tables, bottom-up: whatever an entry refers to
stands before it, so that every measure of a term is one loop over the table and nothing ever recurses or walks a
term as a tree. A table row costs some 34 bytes, so a million terms are tens of megabytes.

The format is lean4export's NDJSON, 3.1.0 and 3.0.0. Ids may be sparse and in any order.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from proverbench.errors import DataError

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

_LAST_READABLE = 2**62
_MAX_FAULTS = 20
_PLAIN = re.compile(r"[^\W\d][\w'!?₀-₉]*|_\w*")
_PART_LIMIT = 10_000


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
        """A name as text; different names have different texts, so a part that is no plain word stands in «»."""
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


class Builder:
    """Fills an :class:`Export`, giving equal names, levels and terms one index each."""

    def __init__(self) -> None:
        self.export = Export()
        self._names: dict[tuple[int, str | int], int] = {}
        self._levels: dict[tuple[int, int, int], int] = {(ZERO, 0, 0): 0}
        self._lists: dict[tuple[int, ...], int] = {}
        self._literals: dict[tuple[bool, int | str], int] = {}
        self._terms: dict[tuple[int, int, int, int, int, int], int] = {}

    def name_of(self, parent: int, part: str | int) -> int:
        """The name ``parent.part``."""
        key = (parent, part)
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = len(self.export.names)
            self.export.names.append(key)
        return found

    def level(self, kind: int, a: int = 0, b: int = 0) -> int:
        """A universe level."""
        key = (kind, a, b)
        found = self._levels.get(key)
        if found is None:
            export = self.export
            found = self._levels[key] = len(export.level_kind)
            export.level_kind.append(kind)
            export.level_a.append(a)
            export.level_b.append(b)
        return found

    def level_list(self, levels: tuple[int, ...]) -> int:
        """The levels that a constant is used at."""
        found = self._lists.get(levels)
        if found is None:
            found = self._lists[levels] = len(self.export.level_lists)
            self.export.level_lists.append(levels)
        return found

    def literal(self, value: int | str) -> int:
        """The index of a literal's value."""
        key = (isinstance(value, int), value)
        found = self._literals.get(key)
        if found is None:
            found = self._literals[key] = len(self.export.literals)
            self.export.literals.append(value)
        return found

    def term(self, kind: int, *, a: int = 0, b: int = 0, c: int = 0, name: int = 0, info: int = 0) -> int:
        """A term, given by its columns (see the kinds)."""
        key = (kind, a, b, c, name, info)
        found = self._terms.get(key)
        if found is None:
            export = self.export
            found = self._terms[key] = len(export.kind)
            export.kind.append(kind)
            export.info.append(info)
            export.name.append(name)
            export.a.append(a)
            export.b.append(b)
            export.c.append(c)
        return found


class Importer:
    """Copies terms of an export into a builder; metadata is dropped."""

    def __init__(self, export: Export, builder: Builder) -> None:
        self._export = export
        self._builder = builder
        self._names = {0: 0}
        self._levels: list[int] = []
        self._terms: dict[int, int] = {}

    def name(self, name: int) -> int:
        """A name."""
        chain = []
        while name not in self._names:
            chain.append(name)
            name = self._export.names[name][0]
        for name in reversed(chain):
            parent, part = self._export.names[name]
            self._names[name] = self._builder.name_of(self._names[parent], part)
        return self._names[name]

    def names(self, names: Iterable[int]) -> list[int]:
        """Several names."""
        return [self.name(name) for name in names]

    def level(self, level: int) -> int:
        """A universe level."""
        export, done = self._export, self._levels
        for i in range(len(done), level + 1):  # levels stand bottom-up
            kind, a, b = export.level_kind[i], export.level_a[i], export.level_b[i]
            if kind == PARAM:
                done.append(self._builder.level(PARAM, self.name(a)))
            elif kind == ZERO:
                done.append(0)
            else:
                done.append(self._builder.level(kind, done[a], 0 if kind == SUCC else done[b]))
        return done[level]

    def term(self, root: int) -> int:
        """A term."""
        done, export = self._terms, self._export
        if root not in done:
            stack, new = [root], set[int]()
            while stack:
                term = stack.pop()
                if term not in done and term not in new:
                    new.add(term)
                    stack += export.children(term)
            for term in sorted(new):
                done[term] = self._term(term)
        return done[root]

    def _term(self, i: int) -> int:
        export, builder, done = self._export, self._builder, self._terms
        kind, a, b, c, info = export.kind[i], export.a[i], export.b[i], export.c[i], export.info[i]
        if kind == MDATA:
            return done[a]
        name = self.name(export.name[i])
        if kind == SORT:
            a = self.level(a)
        elif kind == CONST:
            a = builder.level_list(tuple(self.level(level) for level in export.level_lists[a]))
        elif kind == LIT:
            a = builder.literal(export.literals[a])
        elif kind in (APP, LAM, PI, LET):
            a, b, c = done[a], done[b], done[c] if kind == LET else 0
        elif kind == PROJ:
            b = done[b]
        return builder.term(kind, a=a, b=b, c=c, name=name, info=info)

    def declaration(self, declaration: Declaration) -> Declaration:
        """A declaration, as a copy."""
        copy = msgspec.convert(msgspec.to_builtins(declaration), type(declaration))
        for constant in constants_of(copy):
            relocate(constant, self.name, self.term)
        return copy


def relocate(constant: Constant, name: Callable[[int], int], term: Callable[[int], int]) -> None:
    """Replace every name and term that a constant refers to."""
    constant.name = name(constant.name)
    constant.level_params = [name(given) for given in constant.level_params]
    constant.type = term(constant.type)
    if isinstance(constant, Definition | Theorem | Opaque):
        constant.value = term(constant.value)
    if isinstance(constant, Definition | Theorem | Opaque | InductiveType | Recursor):
        constant.all = [name(given) for given in constant.all]
    if isinstance(constant, InductiveType):
        constant.ctors = [name(given) for given in constant.ctors]
    if isinstance(constant, Constructor):
        constant.induct = name(constant.induct)
    if isinstance(constant, Recursor):
        for rule in constant.rules:
            rule.ctor, rule.rhs = name(rule.ctor), term(rule.rhs)


# --- reading ----------------------------------------------------------------------------------------------------


class _Str(msgspec.Struct):
    pre: int
    str: str


class _Num(msgspec.Struct):
    pre: int
    i: int


class _Const(msgspec.Struct):
    name: int
    us: list[int]


class _App(msgspec.Struct):
    fn: int
    arg: int


class _Binder(msgspec.Struct, rename="camel"):
    name: int
    type: int
    body: int
    binder_info: Literal["default", "implicit", "strictImplicit", "instImplicit"] = "default"


class _Let(msgspec.Struct):
    name: int
    type: int
    value: int
    body: int
    nondep: bool = False


class _Proj(msgspec.Struct, rename="camel"):
    type_name: int
    idx: int
    struct: int


class _Mdata(msgspec.Struct):
    expr: int
    data: Any = None


class _Inductive30(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    inductive_vals: list[InductiveType]
    constructor_vals: list[Constructor]
    recursor_vals: list[Recursor]


class _Format(msgspec.Struct):
    version: str


class _Lean(msgspec.Struct, frozen=True):
    version: str = ""


class _Meta(msgspec.Struct):
    format: _Format
    lean: _Lean = msgspec.field(default_factory=_Lean)


class _Line(
    msgspec.Struct,
    forbid_unknown_fields=True,
    rename={
        "in_": "in",
        "str_": "str",
        "forall": "forallE",
        "let": "letE",
        "nat": "natVal",
        "string": "strVal",
        "definition": "def",
    },
):
    """Any line: an id field or none, and one content field."""

    in_: int | None = None
    il: int | None = None
    ie: int | None = None
    str_: _Str | None = None
    num: _Num | None = None
    succ: int | None = None
    max: tuple[int, int] | None = None
    imax: tuple[int, int] | None = None
    param: int | None = None
    bvar: int | None = None
    sort: int | None = None
    const: _Const | None = None
    app: _App | None = None
    lam: _Binder | None = None
    forall: _Binder | None = None
    let: _Let | None = None
    proj: _Proj | None = None
    nat: str | None = None
    string: str | None = None
    mdata: _Mdata | None = None
    meta: _Meta | None = None
    axiom: Axiom | None = None
    definition: Definition | list[Definition] | None = None
    thm: Theorem | list[Theorem] | None = None
    opaque: Opaque | list[Opaque] | None = None
    quot: Quot | None = None
    inductive: dict[str, Any] | None = None


_FIELDS = len(_Line.__struct_fields__)
_INFO_CODE = {name: code for code, name in enumerate(BINDER_INFOS)}
_FORMATS = ("3.0.0", "3.1.0")
_T = TypeVar("_T")
_LINE_SHAPE = "wanted one id field (in, il, ie) and one content field, or one declaration"


def read_export(path: Path) -> Export:
    """Read a lean4export NDJSON file.

    Raises:
        DataError: If it is no readable export; the message has a line for each fault found.
    """
    try:
        with path.open("rb") as file:
            return read_export_lines(file, source=str(path))
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}") from exc


def read_export_lines(lines: Iterable[bytes], *, source: str) -> Export:
    """Read the lines of a lean4export NDJSON file; ``source`` names it in messages.

    Raises:
        DataError: As :func:`read_export`.
    """
    return _Reader(source).read(lines)


class _Reader:
    """Collects raw rows with the file's own ids, then resolves them to table indices."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._faults: list[str] = []
        self._export = Export()
        self._meta: _Meta | None = None
        self._name_ids: dict[int, tuple[int, str | int, int]] = {}
        self._level_ids: dict[int, tuple[int, int, int, int]] = {}
        self._term_ids: dict[int, int] = {}
        self._term_lines = array("q")
        self._level_lists: dict[tuple[int, ...], int] = {}
        self._raw: list[tuple[int, Declaration]] = []

    def read(self, lines: Iterable[bytes]) -> Export:
        decoder = msgspec.json.Decoder(_Line)
        number = 0
        for number, raw in enumerate(lines, 1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
                self._refuse_old_text_format(raw)
            if not raw.strip():
                continue
            try:
                self._line(number, decoder.decode(raw))
            except (msgspec.DecodeError, UnicodeDecodeError, OverflowError, ValueError) as exc:
                self._fault(number, f"cannot be read: {exc}")
        if self._meta is None and not self._faults:
            self._fault(1, f"no `meta` line with the format's version; wanted lean4export {' or '.join(_FORMATS)}")
        self._stop_at_faults()
        self._resolve()
        return self._export

    # -- lines

    def _line(self, number: int, line: _Line) -> None:
        given = _FIELDS - msgspec.structs.astuple(line).count(None)
        if line.ie is not None and given == 2:
            self._term(number, line.ie, line)
        elif line.in_ is not None and given == 2:
            self._name(number, line.in_, line)
        elif line.il is not None and given == 2:
            self._level(number, line.il, line)
        elif given == 1 and line.meta is not None:
            self._read_meta(number, line.meta)
        elif given == 1:
            self._declaration(number, line)
        else:
            self._fault(number, _LINE_SHAPE)

    def _refuse_old_text_format(self, first: bytes) -> None:
        text = first.strip()
        if text and not text.startswith(b"{"):
            shown = text[:40].decode("utf-8", "replace")
            old = re.match(r"(?:[0-2]\.|\d+ #|#)", shown)
            found = f"the text format of lean4export 2.x or older (first line {shown!r})" if old else f"{shown!r}"
            raise DataError(
                f"{self._source}:1: found {found}; wanted lean4export NDJSON {' or '.join(_FORMATS)}: "
                "export again with a current lean4export"
            )

    def _read_meta(self, number: int, meta: _Meta) -> None:
        if self._meta is not None:
            self._fault(number, "a second `meta` line")
        if meta.format.version not in _FORMATS:
            old = " (2.x and older are refused)" if meta.format.version[:1] in "012" else ""
            self._fault(
                number, f"format version {meta.format.version!r}{old}; wanted {' or '.join(_FORMATS)} of lean4export"
            )
        self._meta = meta
        self._export.lean_version = meta.lean.version

    def _name(self, number: int, ident: int, line: _Line) -> None:
        if ident in self._name_ids or ident == 0:
            self._fault(number, f"name id {ident} is given twice")
        elif line.str_ is not None:
            self._name_ids[ident] = (line.str_.pre, line.str_.str, number)
        elif line.num is not None:
            self._name_ids[ident] = (line.num.pre, line.num.i, number)
        else:
            self._fault(number, "a name (`in`) needs `str` or `num`")

    def _level(self, number: int, ident: int, line: _Line) -> None:
        if ident in self._level_ids or ident == 0:
            self._fault(number, f"level id {ident} is given twice")
        elif line.succ is not None:
            self._level_ids[ident] = (SUCC, line.succ, 0, number)
        elif line.max is not None:
            self._level_ids[ident] = (MAX, *line.max, number)
        elif line.imax is not None:
            self._level_ids[ident] = (IMAX, *line.imax, number)
        elif line.param is not None:
            self._level_ids[ident] = (PARAM, line.param, 0, number)
        else:
            self._fault(number, "a level (`il`) needs `succ`, `max`, `imax` or `param`")

    def _term(self, number: int, ident: int, line: _Line) -> None:
        kind = info = name = a = b = c = 0
        if (app := line.app) is not None:
            kind, a, b = APP, app.fn, app.arg
        elif line.bvar is not None:
            kind, a = BVAR, line.bvar
            if not 0 <= a < _LAST_READABLE:
                self._fault(number, f"bvar is {a}; wanted an index of a binder")
                a = 0
        elif (const := line.const) is not None:
            kind, name, a = CONST, const.name, self._level_list(tuple(const.us))
        elif (binder := line.lam) is not None:
            kind, name, a, b, info = LAM, binder.name, binder.type, binder.body, _INFO_CODE[binder.binder_info]
        elif (binder := line.forall) is not None:
            kind, name, a, b, info = PI, binder.name, binder.type, binder.body, _INFO_CODE[binder.binder_info]
        elif line.sort is not None:
            kind, a = SORT, line.sort
        elif (let := line.let) is not None:
            kind, name, a, b, c, info = LET, let.name, let.type, let.value, let.body, int(let.nondep)
        elif (proj := line.proj) is not None:
            kind, name, a, b = PROJ, proj.type_name, proj.idx, proj.struct
            if not 0 <= a < _LAST_READABLE:
                self._fault(number, f"proj.idx is {a}; wanted the index of a field")
                a = 0
        elif line.mdata is not None:
            kind, a = MDATA, line.mdata.expr
        elif line.nat is not None:
            kind, a = LIT, self._nat_literal(number, line.nat)
        elif line.string is not None:
            kind, a = LIT, len(self._export.literals)
            self._export.literals.append(line.string)
        else:
            self._fault(number, "a term (`ie`) needs one of app, bvar, const, lam, forallE, sort, letE, proj, mdata, …")
        export = self._export
        if ident in self._term_ids:
            self._fault(number, f"term id {ident} is given twice")
        self._term_ids[ident] = len(export.kind)
        export.kind.append(kind)
        export.info.append(info)
        export.name.append(name)
        export.a.append(a)
        export.b.append(b)
        export.c.append(c)
        self._term_lines.append(number)

    def _level_list(self, levels: tuple[int, ...]) -> int:
        found = self._level_lists.get(levels)
        if found is None:
            found = self._level_lists[levels] = len(self._level_lists)
        return found

    def _nat_literal(self, number: int, text: str) -> int:
        if not (text.isascii() and text.isdigit()):
            self._fault(number, f"natVal is {text[:40]!r}; wanted decimal digits")
            text = "0"
        self._export.literals.append(decimal_to_int(text))
        return len(self._export.literals) - 1

    def _declaration(self, number: int, line: _Line) -> None:
        if line.inductive is not None:
            self._raw.append((number, _decode_inductive(line.inductive)))
            return
        found = line.axiom or line.definition or line.thm or line.opaque or line.quot
        if not found:
            self._fault(number, _LINE_SHAPE)
        elif isinstance(found, list):
            self._raw += [(number, item) for item in found]
        else:
            self._raw.append((number, found))

    # -- resolving

    def _resolve(self) -> None:
        names = self._resolve_names()
        levels = self._resolve_levels(names)
        self._resolve_level_lists(levels)
        self._resolve_terms(names, levels)
        self._stop_at_faults()
        self._order_terms()
        terms = self._term_ids
        for number, declaration in self._raw:
            self._resolve_declaration(number, declaration, names, terms)
            self._export.declarations.append(declaration)
        self._stop_at_faults()

    def _resolve_names(self) -> dict[int, int]:
        index: dict[int, int] = {0: 0}
        interned: dict[tuple[int, str | int], int] = {}
        order = self._bottom_up(
            self._name_ids, known=index, needs=lambda row: (row[0],), what="name", line=lambda row: row[2]
        )
        depth = {0: 0}
        for ident in order:
            parent, part, number = self._name_ids[ident]
            key = (index[parent], part)
            depth[ident] = depth[parent] + 1
            if depth[ident] > _PART_LIMIT:
                self._fault(number, f"a name of more than {_PART_LIMIT} parts")
            if key not in interned:
                interned[key] = len(self._export.names)
                self._export.names.append(key)
            index[ident] = interned[key]
        return index

    def _resolve_levels(self, names: dict[int, int]) -> dict[int, int]:
        index: dict[int, int] = {0: 0}
        export = self._export

        def needs(row: tuple[int, int, int, int]) -> tuple[int, ...]:
            return {SUCC: row[1:2], MAX: row[1:3], IMAX: row[1:3], PARAM: ()}[row[0]]

        for ident in self._bottom_up(self._level_ids, known=index, needs=needs, what="level", line=lambda row: row[3]):
            kind, a, b, number = self._level_ids[ident]
            index[ident] = len(export.level_kind)
            export.level_kind.append(kind)
            if kind == PARAM:
                a = self._known(number, names, a, "name")
            else:
                a, b = index[a], index[b]
            export.level_a.append(a)
            export.level_b.append(b)
        return index

    def _bottom_up(self, rows: dict[int, _T], *, known: dict[int, int], needs: Any, what: str, line: Any) -> list[int]:
        """Ids such that each comes after those it needs; faults for unknown ids and circles."""
        done = set(known)
        order: list[int] = []
        for start in rows:
            stack = [start]
            path: set[int] = set()
            while stack:
                ident = stack[-1]
                if ident in done:
                    path.discard(ident)
                    stack.pop()
                    continue
                row = rows[ident]
                missing = [child for child in needs(row) if child not in done]
                bad = [child for child in missing if child not in rows or child in path or child == ident]
                if bad:
                    said = "is not in the file" if bad[0] not in rows else "contains itself"
                    self._fault(line(row), f"{what} id {bad[0]} {said}")
                    self._stop_at_faults()
                if missing:
                    path.add(ident)
                    stack += missing
                    continue
                done.add(ident)
                order.append(ident)
        return order

    def _resolve_level_lists(self, levels: dict[int, int]) -> None:
        for given in self._level_lists:
            unknown = [level for level in given if level not in levels]
            if unknown:
                self._faults.append(f"{self._source}: a `const` has level id {unknown[0]}, which is not in the file")
            self._export.level_lists.append(tuple(levels.get(level, 0) for level in given))

    def _resolve_terms(self, names: dict[int, int], levels: dict[int, int]) -> None:
        export, lines, ids = self._export, self._term_lines, self._term_ids
        dense = all(ident == index for ident, index in ids.items())
        kinds, name, columns = export.kind, export.name, {"a": export.a, "b": export.b, "c": export.c}
        total = len(kinds)
        for i, kind in enumerate(kinds):
            if kind in _NAMED:
                name[i] = self._known(lines[i], names, name[i], "name")
            if kind == SORT:
                export.a[i] = self._known(lines[i], levels, export.a[i], "level")
            for key in CHILDREN[kind]:
                column = columns[key]
                child = column[i]
                if dense and 0 <= child < total:
                    continue
                column[i] = self._known(lines[i], ids, child, "term")

    def _order_terms(self) -> None:
        """Put the table bottom-up, if the file's order was not."""
        export = self._export
        if _is_bottom_up(export):
            return
        order = _topological(export)
        if order is None:
            raise DataError(f"{self._source}: a term contains itself")
        place = array("q", bytes(8 * len(order)))
        for new, old in enumerate(order):
            place[old] = new
        _permute(export, order, place)
        self._term_ids = {ident: place[old] for ident, old in self._term_ids.items()}

    def _resolve_declaration(
        self, number: int, declaration: Declaration, names: dict[int, int], terms: dict[int, int]
    ) -> None:
        def name(given: int) -> int:
            return self._known(number, names, given, "name")

        def term(given: int) -> int:
            return self._known(number, terms, given, "term")

        for constant in constants_of(declaration):
            relocate(constant, name, term)

    # -- faults

    def _known(self, number: int, index: dict[int, int], ident: int, what: str) -> int:
        found = index.get(ident)
        if found is None:
            self._fault(number, f"{what} id {ident} is not in the file")
            return 0
        return found

    def _fault(self, number: int, message: str) -> None:
        self._faults.append(f"{self._source}:{number}: {message}")
        if len(self._faults) >= _MAX_FAULTS:
            self._faults.append(f"{self._source}: stopped at {_MAX_FAULTS} faults")
            self._stop_at_faults()

    def _stop_at_faults(self) -> None:
        if self._faults:
            raise DataError.of(self._faults)


def _decode_inductive(raw: dict[str, Any]) -> Inductive:
    """A block in the spelling of 3.1.0 or of 3.0.0."""
    if "inductiveVals" not in raw:
        block = msgspec.convert(raw, Inductive)
    else:
        old = msgspec.convert(raw, _Inductive30)
        block = Inductive(old.inductive_vals, old.constructor_vals, old.recursor_vals)
    if not block.types:
        raise ValueError("an inductive block without types")
    return block


_NAMED = frozenset({CONST, LAM, PI, LET, PROJ})


def _is_bottom_up(export: Export) -> bool:
    kind, a, b, c = export.kind, export.a, export.b, export.c
    for i, k in enumerate(kind):
        if k in (APP, LAM, PI):
            if a[i] >= i or b[i] >= i:
                return False
        elif k == LET:
            if a[i] >= i or b[i] >= i or c[i] >= i:
                return False
        elif (k == MDATA and a[i] >= i) or (k == PROJ and b[i] >= i):
            return False
    return True


def _topological(export: Export) -> list[int] | None:
    """Terms such that each comes after its children; None if there is a circle."""
    order: list[int] = []
    state = bytearray(len(export))  # 0 new, 1 on the path, 2 done
    for start in range(len(export)):
        stack = [start]
        while stack:
            term = stack[-1]
            if state[term] == 2:
                stack.pop()
                continue
            pending = [child for child in export.children(term) if state[child] != 2]
            if not pending:
                state[term] = 2
                order.append(term)
                stack.pop()
                continue
            if any(state[child] == 1 for child in pending) or term in pending:
                return None
            state[term] = 1
            stack += pending
    return order


def _permute(export: Export, order: list[int], place: "array[int]") -> None:
    columns = {"a": export.a, "b": export.b, "c": export.c}
    for term, kind in enumerate(export.kind):
        for key in CHILDREN[kind]:
            columns[key][term] = place[columns[key][term]]
    export.kind = bytearray(export.kind[old] for old in order)
    export.info = bytearray(export.info[old] for old in order)
    export.name = array("q", (export.name[old] for old in order))
    export.a = array("q", (export.a[old] for old in order))
    export.b = array("q", (export.b[old] for old in order))
    export.c = array("q", (export.c[old] for old in order))


def decimal_to_int(text: str) -> int:
    """The number that decimal digits write; any length, where ``int`` stops at some thousand digits."""
    if len(text) <= 4_000:
        return int(text)
    low = len(text) // 2
    shift: int = 10**low
    return decimal_to_int(text[:-low]) * shift + decimal_to_int(text[-low:])


def int_to_decimal(number: int) -> str:
    """Decimal digits of a nonnegative number; any length, where ``str`` stops at some thousand digits."""
    if number.bit_length() <= 13_000:
        return str(number)
    low = int(number.bit_length() * 0.30103) // 2
    high, rest = divmod(number, 10**low)
    return int_to_decimal(high) + int_to_decimal(rest).zfill(low)


# --- writing ----------------------------------------------------------------------------------------------------


def write_export(export: Export) -> bytes:
    """The export as lean4export NDJSON 3.1.0; the same declarations in the same order give the same bytes.

    Names, levels and terms are numbered in the order of first use; metadata is left out, as it has no meaning for
    the kernel.
    """
    return _Writer(export).write()


class _Writer:
    def __init__(self, export: Export) -> None:
        self._export = export
        self._lines: list[bytes] = []
        self._encode = msgspec.json.Encoder(order="sorted").encode
        self._names = {0: 0}
        self._levels = {0: 0}
        self._terms: dict[int, int] = {}
        self._same: dict[bytes, int] = {}

    def write(self) -> bytes:
        self._emit(
            {
                "meta": {
                    "exporter": {"name": "compressionbench", "version": "1"},
                    "format": {"version": "3.1.0"},
                    "lean": {"githash": "", "version": self._export.lean_version},
                }
            }
        )
        for declaration in self._export.declarations:
            self._declaration(declaration)
        return b"".join(self._lines)

    def _emit(self, line: Any) -> None:
        self._lines.append(self._encode(line) + b"\n")

    def _name(self, name: int) -> int:
        chain = []
        while name not in self._names:
            chain.append(name)
            name = self._export.names[name][0]
        for name in reversed(chain):
            parent, part = self._export.names[name]
            ident = self._names[name] = len(self._names)
            if isinstance(part, str):
                self._emit({"in": ident, "str": {"pre": self._names[parent], "str": part}})
            else:
                self._emit({"in": ident, "num": {"pre": self._names[parent], "i": part}})
        return self._names[name]

    def _level(self, level: int) -> int:
        export = self._export
        stack = [level]
        while stack:
            top = stack[-1]
            kind, a, b = export.level_kind[top], export.level_a[top], export.level_b[top]
            needs = {SUCC: (a,), MAX: (a, b), IMAX: (a, b)}.get(kind, ())
            pending = [need for need in needs if need not in self._levels]
            if pending:
                stack += pending
                continue
            stack.pop()
            if top in self._levels:
                continue
            if kind == PARAM:
                content: dict[str, Any] = {"param": self._name(a)}
            elif kind == SUCC:
                content = {"succ": self._levels[a]}
            else:
                content = {"max" if kind == MAX else "imax": [self._levels[a], self._levels[b]]}
            ident = self._levels[top] = len(self._levels)
            self._emit({"il": ident, **content})
        return self._levels[level]

    def _term(self, root: int) -> int:
        export, done = self._export, self._terms
        stack = [root]
        while stack:
            term = stack[-1]
            if term in done:
                stack.pop()
                continue
            pending = [child for child in export.children(term) if child not in done]
            if pending:
                stack += reversed(pending)
                continue
            stack.pop()
            if export.kind[term] == MDATA:
                done[term] = done[export.a[term]]
                continue
            content = self._content(term)
            # Terms that differ only in metadata inside them are one term once it is left out.
            key = self._encode(content)
            ident = self._same.get(key)
            if ident is None:
                ident = self._same[key] = len(self._same)
                self._emit({"ie": ident, **content})
            done[term] = ident
        return done[root]

    def _content(self, term: int) -> dict[str, Any]:
        export, ids = self._export, self._terms
        kind, a, b, c = export.kind[term], export.a[term], export.b[term], export.c[term]
        if kind == BVAR:
            return {"bvar": a}
        if kind == SORT:
            return {"sort": self._level(a)}
        if kind == CONST:
            levels = [self._level(level) for level in export.level_lists[a]]
            return {"const": {"name": self._name(export.name[term]), "us": levels}}
        if kind == APP:
            return {"app": {"fn": ids[a], "arg": ids[b]}}
        if kind == LIT:
            value = export.literals[a]
            return {"strVal": value} if isinstance(value, str) else {"natVal": int_to_decimal(value)}
        name = self._name(export.name[term])
        if kind == PROJ:
            return {"proj": {"idx": a, "struct": ids[b], "typeName": name}}
        if kind == LET:
            nondep = bool(export.info[term])
            return {"letE": {"name": name, "type": ids[a], "value": ids[b], "body": ids[c], "nondep": nondep}}
        binder = {"name": name, "type": ids[a], "body": ids[b], "binderInfo": BINDER_INFOS[export.info[term]]}
        return {"lam": binder} if kind == LAM else {"forallE": binder}

    def _declaration(self, declaration: Declaration) -> None:
        if isinstance(declaration, Inductive):
            content = {
                "types": [self._constant(item) for item in declaration.types],
                "ctors": [self._constant(item) for item in declaration.ctors],
                "recs": [self._constant(item) for item in declaration.recs],
            }
            self._emit({"inductive": content})
            return
        self._emit({_DECLARATION_KEYS[type(declaration)]: self._constant(declaration)})

    def _constant(self, constant: Constant) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(constant)
        for key in ("name", "induct"):
            if key in fields:
                fields[key] = self._name(fields[key])
        for key in ("levelParams", "all", "ctors"):
            if key in fields:
                fields[key] = [self._name(name) for name in fields[key]]
        for key in ("type", "value"):
            if key in fields:
                fields[key] = self._term(fields[key])
        for rule in fields.get("rules", ()):
            rule["ctor"], rule["rhs"] = self._name(rule["ctor"]), self._term(rule["rhs"])
        return fields


_DECLARATION_KEYS = {Axiom: "axiom", Definition: "def", Theorem: "thm", Opaque: "opaque", Quot: "quot"}
