"""The rules of a check, on kernel terms: statements, definitions, background, axioms, names.

They are docs/compression-metrics.md's.
"""

from collections.abc import Collection, Iterable

from proverbench.compression.charges import used_constants
from proverbench.compression.erasing import Erasure
from proverbench.compression.export import Axiom, Export, Quot, Theorem, constants_of, terms_of
from proverbench.compression.export_writing import write_export
from proverbench.compression.hashing import constant_hashes, definition_hash, meaning_closure, statement_hash
from proverbench.compression.kernel import LeanKernel, Problem
from proverbench.compression.limits import StoppedError
from proverbench.compression.tasks import ALLOWED_AXIOMS, TaskFile


def statement_problems(spec: TaskFile, export: Export) -> list[str]:
    """Targets that do not state what the task asks."""
    constants = export.constants()
    by_text = {export.name_text(name): constant for name, (constant, _) in constants.items()}
    problems = []
    for target in spec.targets:
        constant = by_text.get(target)
        if constant is None:
            problems.append(f"target {target} is not declared")
        elif not isinstance(constant, Theorem):
            problems.append(f"target {target} is not a theorem")
        elif statement_hash(export, constant) != spec.statements[target]:
            problems.append(f"statement changed: {target} does not state what the task asks")
    return problems


def frozen_problems(spec: TaskFile, export: Export, provided: Collection[str], kernel: LeanKernel) -> list[str]:
    """Frozen definitions that mean something else, after a replay that says what in them is a proof.

    Returns:
        One line each; what the kernel rejects, if it does, instead.

    Raises:
        StoppedError: If a limit ended it, or the kernel ended without an answer.
    """
    by_text = {export.name_text(name): name for name in export.constants()}
    problems = [f"frozen definition changed: {name} is gone" for name in spec.frozen if name not in by_text]
    present = [name for name in spec.frozen if name in by_text]
    erased, rejected = erase_proofs(export, {by_text[name] for name in present}, provided, kernel)
    if erased is None:
        return [*problems, *rejected]
    pinned = names_of(erased, provided)
    erased_names = {erased.name_text(name): name for name in erased.constants()}
    return problems + [
        f"frozen definition changed: {name}, or something that it rests on"
        for name in present
        if definition_hash(erased, erased_names[name], pinned) != spec.frozen[name]
    ]


def erase_proofs(
    export: Export, start: Iterable[int], provided: Collection[str], kernel: LeanKernel
) -> tuple[Export | None, list[str]]:
    """Replay an export, and erase the proofs from what some constants rest on.

    Returns:
        The export without these proofs (None if the kernel rejects something) and one line for each rejection.

    Raises:
        StoppedError: If a limit ended it, or the kernel ended without an answer.
    """
    erasure = Erasure(export, meaning_closure(export, start, names_of(export, provided)))
    question = erasure.question()
    if not question.startswith(write_export(export)):
        raise StoppedError("the terms that the kernel is asked about are not those that are counted; no verdict")
    replayed = kernel.replay(question, proofs=True)
    if replayed.problems:
        return None, kernel_problems(export, replayed.problems)
    return erasure.erased(replayed.proofs), []


def names_of(export: Export, shown: Collection[str]) -> set[int]:
    """The constants of an export with some names."""
    wanted = set(shown)
    return {name for name in export.constants() if export.name_text(name) in wanted}


def background_problems(spec: TaskFile, export: Export, provided: Collection[str]) -> list[str]:
    """Background constants that are not those that the task pins (``prelude`` tasks)."""
    if spec.kind != "prelude":
        return []
    found: dict[str, str] = {}
    pinned = names_of(export, provided)
    for declaration in export.declarations:
        if declaration.name in pinned:
            found |= constant_hashes(export, declaration)
    problems = [f"background changed: {name} is gone" for name in spec.provided if name not in found]
    return problems + [
        f"background changed: {name}" for name, digest in found.items() if spec.provided.get(name) != digest
    ]


def axioms_of(export: Export, targets: list[str]) -> list[str]:
    """The axioms that theorems rest on, through everything: statements, proofs, background."""
    constants = export.constants()
    pending = [name for name in constants if export.name_text(name) in set(targets)]
    seen_terms = bytearray(len(export))
    seen: set[int] = set()
    axioms: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in constants or id(constants[name][1]) in seen:
            continue
        declaration = constants[name][1]
        seen.add(id(declaration))
        if isinstance(declaration, Axiom):
            axioms.add(export.name_text(name))
        pending += used_constants(export, [term for _, _, term in terms_of(declaration)], seen_terms)
    return sorted(axioms)


_TRUSTED = frozenset(
    {
        *("Nat", "Nat.zero", "Nat.succ", "Nat.add", "Nat.sub", "Nat.mul", "Nat.div", "Nat.mod", "Nat.gcd", "Nat.pow"),
        *("Nat.beq", "Nat.ble", "Nat.land", "Nat.lor", "Nat.xor", "Nat.shiftLeft", "Nat.shiftRight", "Nat.log2"),
        *("Bool", "Bool.true", "Bool.false", "String", "String.mk", "String.ofList", "Char", "Char.ofNat"),
        *("List", "List.nil", "List.cons", "Lean.reduceBool", "Lean.reduceNat", "eagerReduce"),
    }
)
_TRUSTED_ROOTS = frozenset({"Nat", "Bool", "String", "Char", "List", "Lean", "Quot"})


def reserved_names(export: Export, provided: Collection[str], *, prelude: bool) -> list[str]:
    """Constants outside the pinned files under names that mean something to Lean's kernel.

    The kernel gives a string literal the type ``String`` and computes ``Nat.add`` on literals by machine arithmetic,
    whatever was declared under these names: it trusts Lean's own Prelude to have declared them as it should. Where
    there is no Prelude, ``def String : Prop := False`` makes every string a proof of False. So a participant may not
    declare them. In ``prelude`` files all but theorems is refused below their namespaces too, lest a name is
    forgotten here; in projects the real Prelude has taken the names.
    """
    found = []
    for name, (constant, _) in export.constants().items():
        shown = export.name_text(name)
        if shown in provided or isinstance(constant, Quot):
            continue
        below = prelude and not isinstance(constant, Theorem) and export.name_parts(name)[0] in _TRUSTED_ROOTS
        if shown in _TRUSTED or below:
            found.append(shown)
    return sorted(found)


def axiom_problems(spec: TaskFile, export: Export, provided: Collection[str]) -> list[str]:
    """Axioms that the targets rest on, but may not."""
    problems = []
    for name in axioms_of(export, spec.targets):
        if name not in ALLOWED_AXIOMS:
            problems.append(f"axiom not allowed: {name} (allowed: {', '.join(sorted(ALLOWED_AXIOMS))})")
        elif name not in provided and name not in spec.frozen:
            # Under a permitted name anything could be assumed, so it has to be the task's own.
            problems.append(f"axiom not allowed: {name} is declared in an editable file, not in the background")
    return problems


def kernel_problems(export: Export, problems: tuple[Problem, ...]) -> list[str]:
    """One line a rejected declaration; those that only lack a rejected one are left out."""
    rejected = {problem.declaration for problem in problems}
    lacking = {
        f"unknownConstant {export.name_text(constant.name)}"
        for declaration in export.declarations
        if export.name_text(declaration.name) in rejected
        for constant in constants_of(declaration)
    }
    return [f"kernel: {x.declaration}: {x.message}" for x in problems if x.message not in lacking]
