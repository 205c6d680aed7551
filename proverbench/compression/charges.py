"""What a task's targets are charged for: the rule is docs/compression-metrics.md."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from proverbench.compression.counting import count_terms
from proverbench.compression.export import (
    CONST,
    PROJ,
    Axiom,
    Declaration,
    Definition,
    Export,
    Inductive,
    Opaque,
    Quot,
    Theorem,
    constants_of,
    terms_of,
)
from proverbench.errors import DataError

_LONGEST_BITS = 12_955
"""Counts beyond have more digits than JSON readers accept (Python's stop at 4,300)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One term that is charged."""

    label: str
    """``proof``, ``type``, ``value``, or for an inductive block ``type of NAME``, ``rule of REC for CTOR``."""
    group: str
    """``proof``, ``type``, ``value``, ``types``, ``ctors``, ``rec_types`` or ``rules``."""
    term: int
    nodes: int


@dataclass(frozen=True, slots=True)
class Item:
    """One declaration that is charged, once."""

    name: str
    kind: str
    """``target``, ``theorem``, ``definition``, ``opaque``, ``axiom`` or ``inductive``."""
    parts: tuple[Part, ...]

    @property
    def nodes(self) -> int:
        """Sum over the parts."""
        return sum(part.nodes for part in self.parts)

    def pays(self) -> dict[str, Any]:
        """The parts' nodes by group: a number for a lone part, a list for those of an inductive block."""
        found: dict[str, Any] = {}
        for part in self.parts:
            if self.kind == "inductive":
                found.setdefault(part.group, []).append(part.nodes)
            else:
                found[part.group] = part.nodes
        return found


@dataclass(frozen=True, slots=True)
class Charge:
    """The score of an export: ``count`` is N, the sum over ``items``; lower is better."""

    items: tuple[Item, ...]
    """Targets first, in the task's order, then the rest by name."""

    @property
    def count(self) -> int:
        """N."""
        return sum(item.nodes for item in self.items)


def charge(export: Export, targets: Sequence[str], background: Iterable[str]) -> Charge:
    """Charge the targets, and once each every declaration outside the background that they reach.

    Args:
        export: Where all of them are declared.
        targets: Names of theorems.
        background: Names of constants whose use costs only its node and levels. A name of a block brings the
            whole block. Quotients are background always.

    Raises:
        DataError: If a target is not there or no theorem, or something reached is not declared or is unsafe.
    """
    constants = export.constants()
    by_text = {export.name_text(name): name for name in constants}
    faults = [f"target {name} is not declared" for name in targets if name not in by_text]
    goals = [by_text[name] for name in targets if name in by_text]
    faults += [
        f"target {export.name_text(name)} is not a theorem"
        for name in goals
        if not isinstance(constants[name][1], Theorem)
    ]
    if faults:
        raise DataError.of(faults)
    free = background_names(export, background)
    reached = _reached(export, constants, goals, free)
    return _charge(export, goals, reached)


def used_constants(export: Export, terms: Iterable[int], seen: bytearray) -> set[int]:
    """Names of the constants, and of the structures of projections, in what is new below ``terms``."""
    kind, name = export.kind, export.name
    return {name[term] for term in export.reach(terms, seen) if kind[term] in (CONST, PROJ)}


def background_names(export: Export, background: Iterable[str]) -> set[int]:
    """Names of the constants whose use is free: those listed, the rest of their inductive blocks, and quotients."""
    listed = set(background)
    return {
        constant.name
        for declaration in export.declarations
        for group in (constants_of(declaration),)
        if isinstance(declaration, Quot) or any(export.name_text(constant.name) in listed for constant in group)
        for constant in group
    }


def _reached(
    export: Export, constants: dict[int, tuple[Any, Declaration]], goals: list[int], free: set[int]
) -> list[Declaration]:
    """The declarations that goals reach through types, values and rules, goals included, background left out."""
    seen_terms = bytearray(len(export))
    found: dict[int, Declaration] = {}
    pending = [constants[name][1] for name in goals]
    faults: set[str] = set()
    while pending:
        declaration = pending.pop()
        if id(declaration) in found:
            continue
        found[id(declaration)] = declaration
        for name in used_constants(export, (term for _, _, term in terms_of(declaration)), seen_terms):
            if name not in constants:
                faults.add(f"{export.name_text(name)} is used but not declared")
                continue
            used = constants[name][1]
            if used.__class__ is not Quot and used.is_unsafe:
                faults.add(f"{export.name_text(name)} is unsafe, but something charged uses it")
            if name not in free:
                pending.append(used)
    if faults:
        raise DataError.of(sorted(faults))
    return list(found.values())


def _charge(export: Export, goals: list[int], reached: list[Declaration]) -> Charge:
    paid = {
        id(declaration): _paid_terms(export, declaration, target=declaration.name in goals) for declaration in reached
    }
    counts = count_terms(export, (term for parts in paid.values() for _, _, term in parts))
    if any(count.bit_length() > _LONGEST_BITS for count in counts.values()):
        raise DataError("a count of more than 3,900 digits; such proofs are not scored")
    items = {
        declaration.name: Item(
            name=export.name_text(declaration.name),
            kind="target" if declaration.name in goals else _KINDS[type(declaration)],
            parts=tuple(Part(label, group, term, counts[term]) for label, group, term in paid[id(declaration)]),
        )
        for declaration in reached
    }
    rest = sorted((item for name, item in items.items() if name not in goals), key=lambda item: item.name)
    return Charge((*(items[name] for name in dict.fromkeys(goals)), *rest))


def _paid_terms(export: Export, declaration: Declaration, *, target: bool) -> list[tuple[str, str, int]]:
    """(label, group, term) of what a declaration pays."""
    if isinstance(declaration, Inductive):
        parts = [(f"type of {export.name_text(x.name)}", "types", x.type) for x in declaration.types]
        parts += [(f"type of {export.name_text(x.name)}", "ctors", x.type) for x in declaration.ctors]
        parts += [(f"type of {export.name_text(x.name)}", "rec_types", x.type) for x in declaration.recs]
        parts += [
            (f"rule of {export.name_text(x.name)} for {export.name_text(rule.ctor)}", "rules", rule.rhs)
            for x in declaration.recs
            for rule in x.rules
        ]
        return parts
    if target and isinstance(declaration, Theorem):
        return [("proof", "proof", declaration.value)]
    parts = [("type", "type", declaration.type)]
    if isinstance(declaration, Definition | Theorem | Opaque):
        parts.append(("value", "value", declaration.value))
    return parts


_KINDS = {
    Axiom: "axiom",
    Definition: "definition",
    Inductive: "inductive",
    Opaque: "opaque",
    Quot: "quotient",
    Theorem: "theorem",
}
