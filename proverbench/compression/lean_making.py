"""Lean's objects made behind ctypes: names, levels and terms of an export, by the library's own functions.

Nothing made here is ever freed: every object gets the reference count 0, which to Lean means "never count, never
free", so memory only grows; right for a process that answers once.
"""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from proverbench.compression.decimals import int_to_decimal
from proverbench.compression.export import (
    APP,
    BVAR,
    CONST,
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
    Export,
)
from proverbench.compression.lean_objects import ObjectReader

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


class ObjectMaker:
    """Makes objects in the library's memory.

    Args:
        library: Path of the library.
        export: Where names, levels and terms come from; each table row is made once.
    """

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
        self._objects = ObjectReader(LiveMemory())

    def _declare(self, name: str, pointers: int, last: Any) -> None:
        function = getattr(self._lib, name)
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * pointers + [last]

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


def boxed(number: int) -> int:
    """A small number as Lean's pointer."""
    return number << 1 | 1
