"""Making kernel terms: equal ones once, and from one export's tables into another's."""

from collections.abc import Callable, Iterable

import msgspec

from proverbench.compression.export import (
    APP,
    CONST,
    LAM,
    LET,
    LIT,
    MDATA,
    PARAM,
    PI,
    PROJ,
    SORT,
    SUCC,
    ZERO,
    Constant,
    Constructor,
    Declaration,
    Definition,
    Export,
    InductiveType,
    Opaque,
    Recursor,
    Theorem,
    constants_of,
)


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
