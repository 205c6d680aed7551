"""What can be said of an export without a kernel: that it is closed, declared and ordered, not that it is right.

The kernel ends its process on some malformed terms (a bound variable with a huge index), so this check comes first.
"""

from array import array
from collections.abc import Callable, Iterable

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
    Declaration,
    Export,
    Inductive,
    InductiveType,
    constants_of,
    terms_of,
)

_MAX_FAULTS = 50


def check_structure(export: Export) -> list[str]:
    """Faults of an export, a sentence each, at most 50; empty when it is well formed.

    Checked of every safe declaration: no name is declared twice; no loose bound variables; level parameters declared,
    once; constants declared and given as many levels as they take; projections of inductive types; constructors and
    recursors of a block belong to it; no declaration rests on itself.
    """
    faults = _doubled_names(export)
    declarations = [declaration for declaration in export.declarations if not declaration.is_unsafe]
    faults += _block_faults(export, declarations)
    faults += _loose_variables(export, declarations)
    faults += _level_parameters(export, declarations)
    faults += _constant_uses(export, declarations)
    if not faults:
        faults += in_dependency_order(export, declarations)[1]
    return faults[:_MAX_FAULTS]


def in_dependency_order(export: Export, declarations: Iterable[Declaration]) -> tuple[list[Declaration], list[str]]:
    """The declarations, each after those that it uses (the given order where that allows), and faults for circles."""
    pending = list(declarations)
    owner = {constant.name: declaration for declaration in pending for constant in constants_of(declaration)}
    uses = _direct_uses(export)
    state: dict[int, int] = {}  # id → 1 on the path, 2 done
    order: list[Declaration] = []
    faults: list[str] = []
    for start in pending:
        stack = [start]
        while stack:
            top = stack[-1]
            if state.get(id(top)) == 2:
                stack.pop()
                continue
            needs = _needs(top, owner, uses, state)
            if not needs or state.get(id(top)) == 1:
                # On the second visit whatever is still needed is below it on the path: a circle.
                if needs:
                    faults.append(f"{export.name_text(top.name)} rests on itself")
                state[id(top)] = 2
                order.append(top)
                stack.pop()
                continue
            state[id(top)] = 1
            stack += reversed(needs)
    return order, faults


def _needs(
    declaration: Declaration,
    owner: dict[int, Declaration],
    uses: Callable[[Declaration], list[int]],
    state: dict[int, int],
) -> list[Declaration]:
    found = {id(owner[name]): owner[name] for name in uses(declaration) if name in owner}
    own = id(declaration) if isinstance(declaration, Inductive) else None
    return [other for key, other in found.items() if key != own and state.get(key) != 2]


def _direct_uses(export: Export) -> Callable[[Declaration], list[int]]:
    """A function that tells the names a declaration uses, in order; it remembers its answers."""
    stamps = array("q", bytes(8 * len(export)))
    known: dict[int, list[int]] = {}
    kind, name = export.kind, export.name
    literals = _literal_constants(export)

    def uses(declaration: Declaration) -> list[int]:
        found = known.get(id(declaration))
        if found is None:
            below = export.reach((term for _, _, term in terms_of(declaration)), stamps, len(known) + 1)
            used: set[int] = set()
            for term in below:
                if kind[term] in (CONST, PROJ):
                    used.add(name[term])
                elif kind[term] == LIT:
                    used |= literals[isinstance(export.literals[export.a[term]], str)]
            found = known[id(declaration)] = sorted(used)
        return found

    return uses


def _literal_constants(export: Export) -> tuple[set[int], set[int]]:
    """What the kernel wants declared before it meets a number, and before it meets a string."""
    wanted = ("Nat", "String", "String.mk", "String.ofList", "Char", "Char.ofNat", "List")
    found = {export.name_text(name): name for name in export.constants() if export.names[name][1] in _LITERAL_PARTS}
    numbers = {found["Nat"]} if "Nat" in found else set()
    return numbers, numbers | {found[text] for text in wanted if text in found}


_LITERAL_PARTS = frozenset({"Nat", "String", "mk", "ofList", "Char", "ofNat", "List"})


# --- the checks -------------------------------------------------------------------------------------------------


def _doubled_names(export: Export) -> list[str]:
    seen: set[int] = set()
    faults = []
    for declaration in export.declarations:
        for constant in constants_of(declaration):
            if constant.name in seen:
                faults.append(f"{export.name_text(constant.name)} is declared twice")
            seen.add(constant.name)
    return faults


def _block_faults(export: Export, declarations: list[Declaration]) -> list[str]:
    faults = []
    for block in declarations:
        if not isinstance(block, Inductive):
            continue
        listed = [(name, kind.name) for kind in block.types for name in kind.ctors]
        given = [(ctor.name, ctor.induct) for ctor in block.ctors]
        if sorted(listed) != sorted(given):
            faults.append(f"{export.name_text(block.name)}: the constructors listed and those given differ")
        parts: list[Constant] = [*block.types, *block.ctors]
        if len({tuple(part.level_params) for part in parts}) > 1:
            faults.append(f"{export.name_text(block.name)}: types and constructors have different level parameters")
    return faults


def _loose_variables(export: Export, declarations: list[Declaration]) -> list[str]:
    loose = loose_ranges(export)
    return [
        f"{_place(export, constant, part)} has a loose bound variable"
        for declaration in declarations
        for constant, part, term in terms_of(declaration)
        if loose[term]
    ]


def loose_ranges(export: Export) -> "array[int]":
    """Of each term the smallest number of binders around it that would close it; 0 for a closed term."""
    loose = array("q")
    kind, a, b, c = export.kind, export.a, export.b, export.c
    for i, k in enumerate(kind):
        if k == APP:
            reach = max(loose[a[i]], loose[b[i]])
        elif k in (LAM, PI):
            reach = max(loose[a[i]], loose[b[i]] - 1)
        elif k == BVAR:
            reach = a[i] + 1
        elif k == LET:
            reach = max(loose[a[i]], loose[b[i]], loose[c[i]] - 1)
        elif k == MDATA:
            reach = loose[a[i]]
        elif k == PROJ:
            reach = loose[b[i]]
        else:
            reach = 0
        loose.append(reach)
    return loose


class _ParameterSets:
    """Sets of level parameters under small numbers, so that a million terms share a few sets."""

    def __init__(self) -> None:
        self.sets: list[frozenset[int]] = [frozenset()]
        self._index: dict[frozenset[int], int] = {frozenset(): 0}
        self._unions: dict[tuple[int, int], int] = {}

    def index(self, members: frozenset[int]) -> int:
        found = self._index.get(members)
        if found is None:
            found = self._index[members] = len(self.sets)
            self.sets.append(members)
        return found

    def union(self, first: int, second: int) -> int:
        if first == second or not second:
            return first
        if not first:
            return second
        key = (first, second)
        found = self._unions.get(key)
        if found is None:
            found = self._unions[key] = self.index(self.sets[first] | self.sets[second])
        return found


def _level_parameters(export: Export, declarations: list[Declaration]) -> list[str]:
    sets = _ParameterSets()
    used = _parameters_of_terms(export, sets)
    faults = []
    for declaration in declarations:
        faults += [
            f"{export.name_text(constant.name)} declares a level parameter twice"
            for constant in constants_of(declaration)
            if len(set(constant.level_params)) < len(constant.level_params)
        ]
        for constant, part, term in terms_of(declaration):
            undeclared = sets.sets[used[term]].difference(constant.level_params)
            if undeclared:
                shown = ", ".join(sorted(export.name_text(name) for name in undeclared))
                faults.append(f"{_place(export, constant, part)} uses the undeclared level parameter {shown}")
    return faults


def _parameters_of_terms(export: Export, sets: _ParameterSets) -> "array[int]":
    levels: list[int] = []
    for k, x, y in zip(export.level_kind, export.level_a, export.level_b, strict=True):
        if k == PARAM:
            levels.append(sets.index(frozenset((x,))))
        elif k == SUCC:
            levels.append(levels[x])
        elif k in (MAX, IMAX):
            levels.append(sets.union(levels[x], levels[y]))
        else:
            levels.append(0)
    lists = [
        sets.index(frozenset().union(*(sets.sets[levels[level]] for level in given))) for given in export.level_lists
    ]
    used = array("q")
    kind, a, b, c = export.kind, export.a, export.b, export.c
    union = sets.union
    for i, k in enumerate(kind):
        if k in (APP, LAM, PI):
            used.append(union(used[a[i]], used[b[i]]))
        elif k == CONST:
            used.append(lists[a[i]])
        elif k == SORT:
            used.append(levels[a[i]])
        elif k == LET:
            used.append(union(union(used[a[i]], used[b[i]]), used[c[i]]))
        elif k == MDATA:
            used.append(used[a[i]])
        elif k == PROJ:
            used.append(used[b[i]])
        else:
            used.append(0)
    return used


def _constant_uses(export: Export, declarations: list[Declaration]) -> list[str]:
    arity = {name: len(constant.level_params) for name, (constant, _) in export.constants().items()}
    types = {item.name for d in export.declarations if isinstance(d, Inductive) for item in d.types}
    seen = bytearray(len(export))
    kind, name, a = export.kind, export.name, export.a
    faults: dict[str, None] = {}
    for declaration in declarations:
        for constant, part, root in terms_of(declaration):
            for term in export.reach((root,), seen):
                k = kind[term]
                if k == CONST:
                    wanted, given = arity.get(name[term]), len(export.level_lists[a[term]])
                    if wanted is None:
                        faults[
                            f"{_place(export, constant, part)} uses {export.name_text(name[term])}, not declared"
                        ] = None
                    elif wanted != given:
                        faults[
                            f"{_place(export, constant, part)} gives {export.name_text(name[term])} {given} universe "
                            f"levels; it takes {wanted}"
                        ] = None
                elif k == PROJ and name[term] not in types:
                    faults[
                        f"{_place(export, constant, part)} projects from {export.name_text(name[term])}, "
                        "which is not a declared inductive type"
                    ] = None
    return list(faults)


def _place(export: Export, constant: Constant, part: str) -> str:
    kind = "inductive type " if isinstance(constant, InductiveType) else ""
    return f"{kind}{export.name_text(constant.name)}: its {part}"
