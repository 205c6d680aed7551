"""Lean's objects as they lie in memory and in .olean files, read into our tables.

The layouts are those of Lean 4.35 (format version 2). Nothing here calls Lean; the kernel's process uses the same
reader on live memory that the build uses on files.
"""

import struct
from typing import Literal, NamedTuple, Protocol

from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
    IMAX,
    LAM,
    LET,
    LIT,
    MAX,
    PARAM,
    PI,
    PROJ,
    SORT,
    SUCC,
    Axiom,
    Constant,
    Constructor,
    Declaration,
    Definition,
    Inductive,
    InductiveType,
    Opaque,
    Quot,
    Recursor,
    Rule,
    Theorem,
)
from proverbench.compression.export_building import Builder
from proverbench.errors import DataError

_TAG_ARRAY, _TAG_STRING, _TAG_BIGNUM = 246, 249, 250
_HEADER = struct.Struct("<iHBB")
_CIRCLE = "an object contains itself"
_QUOT_KINDS: tuple[Literal["type", "ctor", "lift", "ind"], ...] = ("type", "ctor", "lift", "ind")
_SAFETIES: tuple[Literal["safe", "unsafe", "partial"], ...] = ("unsafe", "safe", "partial")


class Memory(Protocol):
    """Where objects lie."""

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address."""
        ...


class Node(NamedTuple):
    """A constructor object: its number, where its fields start, and how many objects it has."""

    tag: int
    at: int
    objects: int


class ObjectReader:
    """Reads plain objects: numbers, strings, lists, arrays, constructors."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def word(self, address: int) -> int:
        """Eight bytes."""
        return int.from_bytes(self._memory.read(address, 8), "little")

    def byte(self, address: int) -> int:
        """One byte."""
        return self._memory.read(address, 1)[0]

    def node(self, pointer: int) -> Node:
        """A constructor object; one without fields is boxed."""
        if pointer & 1:
            return Node(pointer >> 1, 0, 0)
        _, _, objects, tag = _HEADER.unpack(self._memory.read(pointer, 8))
        return Node(tag, pointer + 8, objects)

    def field(self, node: Node, index: int) -> int:
        """The pointer in an object field."""
        if index >= node.objects:
            raise DataError(f"an object with tag {node.tag} has {node.objects} fields; field {index} was wanted")
        return self.word(node.at + 8 * index)

    def scalar(self, node: Node, offset: int = 0) -> int:
        """A byte among the scalars, which follow the object fields."""
        return self.byte(node.at + 8 * node.objects + offset)

    def nat(self, pointer: int) -> int:
        """A natural number."""
        if pointer & 1:
            return pointer >> 1
        node = self.node(pointer)
        if node.tag != _TAG_BIGNUM:
            raise DataError(f"an object with tag {node.tag} where a number was wanted")
        _, limbs = struct.unpack("<ii", self._memory.read(pointer + 8, 8))
        if limbs < 0:
            raise DataError("a negative number")
        return int.from_bytes(self._memory.read(self.word(pointer + 16), 8 * limbs), "little")

    def string(self, pointer: int) -> str:
        """A string."""
        if self.node(pointer).tag != _TAG_STRING:
            raise DataError("an object where a string was wanted")
        size = self.word(pointer + 8)
        if size == 0:
            raise DataError("a string without its end")
        return self._memory.read(pointer + 32, size - 1).decode("utf-8")

    def array(self, pointer: int) -> list[int]:
        """The pointers in an array."""
        if self.node(pointer).tag != _TAG_ARRAY:
            raise DataError("an object where an array was wanted")
        return [self.word(pointer + 24 + 8 * i) for i in range(self.word(pointer + 8))]

    def list(self, pointer: int) -> list[int]:
        """The pointers in a list."""
        found: list[int] = []
        seen: set[int] = set()
        node = self.node(pointer)
        while node.tag == 1:
            if node.at in seen:
                raise DataError(_CIRCLE)
            seen.add(node.at)
            found.append(self.field(node, 0))
            node = self.node(self.field(node, 1))
        return found


class TermReader:
    """Reads names, levels, terms and constants into a builder; shared objects are read once."""

    def __init__(self, memory: Memory, builder: Builder) -> None:
        self.objects = ObjectReader(memory)
        self._builder = builder
        self._names: dict[int, int] = {1: 0}
        self._levels: dict[int, int] = {1: 0}
        self._terms: dict[int, int] = {}
        self.fvars: dict[int, int] = {}
        """Terms that stand for free variables, by the name of the variable."""

    def name(self, pointer: int) -> int:
        """A name."""
        objects = self.objects
        chain: list[int] = []
        seen: set[int] = set()
        while pointer not in self._names:
            if pointer in seen:
                raise DataError(_CIRCLE)
            seen.add(pointer)
            chain.append(pointer)
            pointer = objects.field(objects.node(pointer), 0)
        for pointer in reversed(chain):
            node = objects.node(pointer)
            parent, last = self._names[objects.field(node, 0)], objects.field(node, 1)
            part = objects.string(last) if node.tag == 1 else objects.nat(last)
            self._names[pointer] = self._builder.name_of(parent, part)
        return self._names[pointer]

    def names(self, pointer: int) -> list[int]:
        """A list of names."""
        return [self.name(item) for item in self.objects.list(pointer)]

    def level(self, pointer: int) -> int:
        """A universe level."""
        objects, known = self.objects, self._levels
        opened: set[int] = set()
        stack = [pointer]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            node = objects.node(top)
            kind = {1: SUCC, 2: MAX, 3: IMAX, 4: PARAM}.get(node.tag)
            if kind is None:
                raise DataError(f"a universe level with tag {node.tag} (a metavariable?)")
            if kind == PARAM:
                known[top] = self._builder.level(PARAM, self.name(objects.field(node, 0)))
                continue
            needs = [objects.field(node, i) for i in range(1 if kind == SUCC else 2)]
            pending = [need for need in needs if need not in known]
            if pending:
                _open(top, pending, opened)
                stack += pending
                continue
            known[top] = self._builder.level(kind, *(known[need] for need in needs))
        return known[pointer]

    def term(self, pointer: int) -> int:
        """A term; metadata is dropped."""
        objects, known = self.objects, self._terms
        opened: set[int] = set()
        stack = [pointer]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            node = objects.node(top)
            needs = [objects.field(node, i) for i in _TERM_FIELDS.get(node.tag, ())]
            pending = [need for need in needs if need not in known]
            if pending:
                _open(top, pending, opened)
                stack += reversed(pending)
                continue
            known[top] = self._term(node, [known[need] for need in needs])
        return known[pointer]

    def _term(self, node: Node, children: list[int]) -> int:
        objects, term = self.objects, self._builder.term
        match node.tag:
            case 0:
                return term(BVAR, a=objects.nat(objects.field(node, 0)))
            case 1:
                variable = self.name(objects.field(node, 0))
                if variable not in self.fvars:
                    raise DataError("a term holds a free variable")
                return self.fvars[variable]
            case 3:
                return term(SORT, a=self.level(objects.field(node, 0)))
            case 4:
                levels = tuple(self.level(item) for item in objects.list(objects.field(node, 1)))
                return term(CONST, name=self.name(objects.field(node, 0)), a=self._builder.level_list(levels))
            case 5:
                return term(APP, a=children[0], b=children[1])
            case 6 | 7:
                name, info = self.name(objects.field(node, 0)), objects.scalar(node, 8)
                return term(LAM if node.tag == 6 else PI, name=name, a=children[0], b=children[1], info=info)
            case 8:
                name, info = self.name(objects.field(node, 0)), objects.scalar(node, 8)
                return term(LET, name=name, a=children[0], b=children[1], c=children[2], info=info)
            case 9:
                literal = objects.node(objects.field(node, 0))
                held = objects.field(literal, 0)
                value = objects.nat(held) if literal.tag == 0 else objects.string(held)
                return term(LIT, a=self._builder.literal(value))
            case 10:
                return children[0]
            case 11:
                name, index = self.name(objects.field(node, 0)), objects.nat(objects.field(node, 1))
                return term(PROJ, name=name, a=index, b=children[0])
        raise DataError(f"a term with tag {node.tag} (a metavariable?)")

    def constant(self, pointer: int) -> Constant:
        """A ConstantInfo."""
        objects = self.objects
        info = objects.node(pointer)
        val = objects.node(objects.field(info, 0))
        head = objects.node(objects.field(val, 0))
        name = self.name(objects.field(head, 0))
        params = self.names(objects.field(head, 1))
        type_ = self.term(objects.field(head, 2))

        def nat(index: int) -> int:
            return objects.nat(objects.field(val, index))

        def term(index: int) -> int:
            return self.term(objects.field(val, index))

        def names(index: int) -> list[int]:
            return self.names(objects.field(val, index))

        def flag(index: int) -> bool:
            return bool(objects.scalar(val, index))

        match info.tag:
            case 0:
                return Axiom(name, params, type_, flag(0))
            case 1:
                hints, safety = self._hints(objects.field(val, 2)), _SAFETIES[objects.scalar(val)]
                return Definition(name, params, type_, term(1), hints, safety, names(3))
            case 2:
                return Theorem(name, params, type_, term(1), names(2))
            case 3:
                return Opaque(name, params, type_, term(1), flag(0), names(2))
            case 4:
                return Quot(name, params, type_, _QUOT_KINDS[objects.scalar(val)])
            case 5:
                return InductiveType(
                    name, params, type_, names(3), names(4), nat(1), nat(2), nat(5), flag(0), flag(2), flag(1)
                )
            case 6:
                return Constructor(
                    name, params, type_, self.name(objects.field(val, 1)), nat(2), nat(3), nat(4), flag(0)
                )
            case 7:
                rules = [self._rule(item) for item in objects.list(objects.field(val, 6))]
                return Recursor(name, params, type_, names(1), nat(2), nat(3), nat(4), nat(5), rules, flag(0), flag(1))
        raise DataError(f"a constant with tag {info.tag}")

    def _hints(self, pointer: int) -> Literal["opaque", "abbrev"] | dict[str, int]:
        node = self.objects.node(pointer)
        if node.tag == 2:
            return {"regular": int.from_bytes(bytes(self.objects.scalar(node, i) for i in range(4)), "little")}
        return "abbrev" if node.tag == 1 else "opaque"

    def _rule(self, pointer: int) -> Rule:
        objects = self.objects
        node = objects.node(pointer)
        return Rule(
            self.name(objects.field(node, 0)), objects.nat(objects.field(node, 1)), self.term(objects.field(node, 2))
        )


def _open(top: int, pending: list[int], opened: set[int]) -> None:
    """Note that an object waits for others; one that waits already and is not yet known contains itself.

    Raises:
        DataError: If it does.
    """
    opened.add(top)
    if not opened.isdisjoint(pending):
        raise DataError(_CIRCLE)


# Which object fields of an Expr are terms.
_TERM_FIELDS: dict[int, tuple[int, ...]] = {5: (0, 1), 6: (1, 2), 7: (1, 2), 8: (1, 2, 3), 10: (1,), 11: (2,)}


def declarations_of(constants: list[Constant]) -> list[Declaration]:
    """Constants gathered into declarations: a type's constructors and recursors join its block.

    Raises:
        DataError: If a constructor or recursor has no type.
    """
    blocks: dict[tuple[int, ...], Inductive] = {}
    owner: dict[int, Inductive] = {}
    found: list[Declaration] = []
    by_name = {constant.name: constant for constant in constants}
    for constant in constants:
        if isinstance(constant, InductiveType) and constant.name not in owner:
            types = [item for name in constant.all if isinstance(item := by_name.get(name), InductiveType)]
            block = blocks[tuple(constant.all)] = Inductive(types, [], [])
            owner.update((item.name, block) for item in types)
            found.append(block)
        elif not isinstance(constant, InductiveType | Constructor | Recursor):
            found.append(constant)
    for block in blocks.values():
        ctors = (by_name.get(name) for item in block.types for name in item.ctors)
        block.ctors = [ctor for ctor in ctors if isinstance(ctor, Constructor)]
    for constant in constants:
        if isinstance(constant, Recursor):
            if not constant.all or constant.all[0] not in owner:
                raise DataError("a recursor without its inductive type")
            owner[constant.all[0]].recs.append(constant)
    return found
