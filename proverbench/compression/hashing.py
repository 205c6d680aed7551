"""Hashes that say when two terms, statements or definitions are the same.

Terms are the same up to what the kernel ignores: binder names and infos, ``have`` or ``let``, metadata, and what a
declaration calls its level parameters. One pass bottom-up, so a term's size as a tree does not matter.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from struct import Struct

from proverbench.compression.charges import used_constants
from proverbench.compression.decimals import int_to_decimal
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
    Constant,
    Constructor,
    Declaration,
    Definition,
    Export,
    Inductive,
    InductiveType,
    Opaque,
    Recursor,
    Theorem,
    constants_of,
    terms_of,
)

_U64 = Struct("<Q").pack


def sha256_hex(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _digest(*parts: bytes) -> bytes:
    """Hash of a sequence of byte strings, each with its length, so that no two sequences hash alike."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(_U64(len(part)))
        whole.update(part)
    return whole.digest()


class TermHasher:
    """Hashes terms of one export.

    Args:
        export: The tables.
        constant_digest: What stands for a constant; None gives its name. Frozen definitions put a theorem's
            statement in its place, so that it does not matter which proof, under which name, they hold.
    """

    def __init__(self, export: Export, constant_digest: Callable[[int], bytes | None] | None = None) -> None:
        self._export = export
        self._constant_digest = constant_digest or (lambda name: None)

    def digest(self, root: int, level_params: Sequence[int]) -> bytes:
        """Hash of a term that belongs to a declaration with these level parameters (known by position)."""
        levels = self._level_digests(level_params)
        export = self._export
        kind, a, b, c, name = export.kind, export.a, export.b, export.c, export.name
        below = sorted(export.reach((root,), bytearray(len(export))))
        found: dict[int, bytes] = {}
        for i in below:
            k = kind[i]
            if k == APP:
                found[i] = _digest(b"app", found[a[i]], found[b[i]])
            elif k == LAM:
                found[i] = _digest(b"lam", found[a[i]], found[b[i]])
            elif k == PI:
                found[i] = _digest(b"pi", found[a[i]], found[b[i]])
            elif k == CONST:
                stands = self._constant_digest(name[i])
                given = export.level_lists[a[i]]
                if stands is None:
                    stands = self.name_digest(name[i])
                found[i] = _digest(b"const", stands, *(levels(level) for level in given))
            elif k == BVAR:
                found[i] = _digest(b"bvar", _U64(a[i]))
            elif k == SORT:
                found[i] = _digest(b"sort", levels(a[i]))
            elif k == LET:
                found[i] = _digest(b"let", found[a[i]], found[b[i]], found[c[i]])
            elif k == LIT:
                value = export.literals[a[i]]
                text = b"s" + value.encode("utf-8") if isinstance(value, str) else b"n" + int_to_decimal(value).encode()
                found[i] = _digest(b"lit", text)
            elif k == MDATA:
                found[i] = found[a[i]]
            else:
                assert k == PROJ
                found[i] = _digest(b"proj", self.name_digest(name[i]), _U64(a[i]), found[b[i]])
        return found[root]

    def name_digest(self, name: int) -> bytes:
        """Hash of a name."""
        return _digest(b"name", self._export.name_text(name).encode("utf-8"))

    def shown(self, name: int) -> str:
        """A name as text."""
        return self._export.name_text(name)

    def _level_digests(self, level_params: Sequence[int]) -> Callable[[int], bytes]:
        export = self._export
        positions = {name: index for index, name in enumerate(level_params)}
        known: dict[int, bytes] = {}

        def digest(level: int) -> bytes:
            stack = [level]
            while stack:
                top = stack[-1]
                k, x, y = export.level_kind[top], export.level_a[top], export.level_b[top]
                needs = {SUCC: (x,), MAX: (x, y), IMAX: (x, y)}.get(k, ())
                pending = [need for need in needs if need not in known]
                if pending:
                    stack += pending
                    continue
                stack.pop()
                if k == PARAM:
                    place = positions.get(x)
                    text = f"#{place}" if place is not None else export.name_text(x)
                    known[top] = _digest(b"param", text.encode("utf-8"))
                else:
                    known[top] = _digest(b"level", _U64(k), *(known[need] for need in needs))
            return known[level]

        return digest


def statement_hash(export: Export, constant: Constant) -> str:
    """Hash of a constant's type, and how many level parameters it has."""
    hasher = TermHasher(export)
    return _digest(
        b"statement", _U64(len(constant.level_params)), hasher.digest(constant.type, constant.level_params)
    ).hex()


def statement_constants(export: Export, targets: Iterable[int]) -> set[int]:
    """Constants that some theorems' statements name."""
    constants = export.constants()
    return used_constants(export, [constants[name][0].type for name in targets], bytearray(len(export)))


def frozen_names(export: Export, start: Iterable[int], background: set[int]) -> list[int]:
    """Declarations outside the background that some constants rest on, by name of the declaration.

    They are what statements mean: through types, and values of definitions, but not into proofs. A theorem is among
    them only if it is in ``start``: one that is left elsewhere stands where no proof is looked for.

    Args:
        export: All declarations, proofs erased (erasing.py) from those that count here.
        start: The constants, such as those that statements name.
        background: Constants that stand for themselves.
    """
    first = set(start)
    found = meaning_closure(export, first, background)
    return sorted(
        (item.name for item in found if item.name in first or not isinstance(item, Theorem)), key=export.name_text
    )


def meaning_closure(export: Export, start: Iterable[int], background: set[int]) -> list[Declaration]:
    """Declarations outside the background that some constants rest on, themselves included, but not into proofs."""
    constants = export.constants()
    seen = bytearray(len(export))
    found: dict[int, Declaration] = {}
    pending = sorted(start)
    while pending:
        name = pending.pop()
        if name not in constants or name in background:
            continue
        declaration = constants[name][1]
        if id(declaration) in found:
            continue
        found[id(declaration)] = declaration
        pending += sorted(used_constants(export, _meaning_terms(declaration), seen))
    return list(found.values())


def _meaning_terms(declaration: Declaration) -> list[int]:
    """A declaration's terms, but for a theorem's proof, and recursors, which the kernel makes."""
    return [
        term
        for constant, part, term in terms_of(declaration)
        if not (isinstance(constant, Recursor) or (isinstance(constant, Theorem) and part == "value"))
    ]


def definition_hash(export: Export, name: int, background: set[int]) -> str:
    """Hash of what a constant means: its declaration and all that this rests on outside the background.

    Args:
        export: All declarations, proofs erased (erasing.py) from those that count here.
        name: The constant.
        background: Constants that stand for themselves.
    """
    constants = export.constants()
    closure = meaning_closure(export, {name}, background)
    statements: dict[int, bytes] = {}
    for declaration in closure:
        if isinstance(declaration, Theorem):
            plain = TermHasher(export)
            statements[declaration.name] = _digest(b"theorem", plain.digest(declaration.type, declaration.level_params))
    hasher = TermHasher(export, statements.get)
    pieces = sorted(_meaning_digest(hasher, declaration) for declaration in closure)
    return _digest(b"definition", hasher.name_digest(constants[name][0].name), *pieces).hex()


def constant_hashes(export: Export, declaration: Declaration) -> dict[str, str]:
    """Name → hash of a constant as it is declared, type and value, for every constant of a declaration."""
    hasher = TermHasher(export)
    found = {}
    for constant in constants_of(declaration):
        parts = [type(constant).__name__.encode(), _U64(len(constant.level_params))]
        parts.append(hasher.digest(constant.type, constant.level_params))
        if isinstance(constant, Definition | Opaque | Theorem):
            parts.append(hasher.digest(constant.value, constant.level_params))
        found[export.name_text(constant.name)] = _digest(b"constant", hasher.name_digest(constant.name), *parts).hex()
    return found


def _meaning_digest(hasher: TermHasher, declaration: Declaration) -> bytes:
    if isinstance(declaration, Theorem):
        return _digest(b"theorem", hasher.digest(declaration.type, declaration.level_params))
    parts: list[bytes] = [type(declaration).__name__.encode()]
    for constant in constants_of(declaration):
        if isinstance(constant, Recursor):
            continue  # the kernel makes it, of the types and constructors
        parts += [hasher.name_digest(constant.name), _U64(len(constant.level_params))]
        parts.append(hasher.digest(constant.type, constant.level_params))
        if isinstance(constant, Definition | Opaque):
            parts.append(hasher.digest(constant.value, constant.level_params))
    if isinstance(declaration, Inductive):
        parts += [_U64(declaration.types[0].num_params)]
    return _digest(*parts)


def inductive_facts(hasher: TermHasher, declaration: Inductive) -> dict[str, object]:
    """Everything an inductive block claims, comparable between two exports: the kernel's and a file's."""
    facts: dict[str, object] = {}

    def name(index: int) -> bytes:
        return hasher.name_digest(index)

    for constant in constants_of(declaration):
        where = hasher.shown(constant.name)
        facts[f"{where}: type"] = (len(constant.level_params), hasher.digest(constant.type, constant.level_params))
        if isinstance(constant, InductiveType):
            facts[f"{where}: parameters"] = constant.num_params
            facts[f"{where}: indices"] = constant.num_indices
            facts[f"{where}: nested"] = constant.num_nested
            facts[f"{where}: constructors"] = [name(ctor) for ctor in constant.ctors]
            facts[f"{where}: all"] = [name(other) for other in constant.all]
            facts[f"{where}: flags"] = (constant.is_rec, constant.is_reflexive, constant.is_unsafe)
        elif isinstance(constant, Constructor):
            facts[f"{where}: type it belongs to"] = name(constant.induct)
            facts[f"{where}: numbers"] = (constant.cidx, constant.num_params, constant.num_fields)
        elif isinstance(constant, Recursor):
            facts[f"{where}: k"] = constant.k
            facts[f"{where}: all"] = [name(other) for other in constant.all]
            facts[f"{where}: numbers"] = (
                constant.num_params,
                constant.num_indices,
                constant.num_motives,
                constant.num_minors,
            )
            facts[f"{where}: rules"] = [(name(rule.ctor), rule.n_fields) for rule in constant.rules]
            for rule in constant.rules:
                facts[f"{where}: rule for {hasher.shown(rule.ctor)}"] = hasher.digest(rule.rhs, constant.level_params)
    return facts
