"""The check of a submission: is it the same task, is it proved, and what does it cost."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from proverbench.compression.building import Built, build_prelude, source_problems
from proverbench.compression.charges import Charge, charge, used_constants
from proverbench.compression.export import Axiom, Export, Quot, Theorem, constants_of, terms_of, write_export
from proverbench.compression.hashing import definition_hash, sha256_hex, statement_hash
from proverbench.compression.kernel import LeanKernel, Problem
from proverbench.compression.project import build_lake_task, import_problems
from proverbench.compression.structure import check_structure
from proverbench.compression.tasks import ALLOWED_AXIOMS, Task, module_name
from proverbench.errors import DataError
from proverbench.version import __version__

NO_LEAN = "no Lean here: pip install 'proverbench[lean]' (Linux x86-64)"
RULES = 1
"""Version of the scoring rule in docs/compression-metrics.md."""
SCORER = f"compressionbench {__version__}, rules {RULES}"

Verdict = Literal["valid", "invalid", "structure checked, not kernel-checked"]


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found."""

    task: Task
    verdict: Verdict
    problems: tuple[str, ...]
    """One line each; empty unless invalid."""
    kernel: str | None
    """The kernel that accepted or rejected, None when none was there."""
    charge: Charge | None
    """None when the sources could not be counted."""
    export: Export | None
    terms: bytes
    """The kernel terms as lean4export NDJSON; empty when nothing could be built."""
    sources: Mapping[str, bytes] = field(default_factory=dict)
    provided: frozenset[str] = frozenset()
    """Constants that come from pinned files."""

    @property
    def count(self) -> int | None:
        """N, whatever the verdict; None when it could not be counted."""
        return self.charge.count if self.charge else None

    def as_json(self) -> dict[str, Any]:
        """The result for machines."""
        return {
            "task": self.task.spec.name,
            "task_sha256": self.task.sha256,
            "scorer": SCORER,
            "kernel": self.kernel,
            "verdict": self.verdict,
            "problems": list(self.problems),
            "count": self.count,
            "original_count": self.task.spec.original_count,
            "terms_sha256": sha256_hex(self.terms) if self.terms else None,
            "charges": {
                item.name: {"kind": item.kind, "nodes": item.nodes, **item.pays()} for item in self.charge.items
            }
            if self.charge
            else None,
        }


def check_sources(
    task: Task, sources: Mapping[str, bytes], kernel: LeanKernel | None, *, build_folder: Path | None = None
) -> Check:
    """Build and check a participant's files.

    Args:
        task: The task.
        sources: The editable files, by path.
        kernel: Builds ``prelude`` files and replays all terms; a project can be built without it.
        build_folder: Where a project is built (default: a folder that is then deleted).

    Raises:
        DataError: If there is no Lean to build with.
        StoppedError: If a limit on time or memory ended it without a verdict.
    """
    name = kernel.name if kernel else None
    problems = _source_problems(task, sources)
    if problems:
        return Check(task, "invalid", tuple(problems), name, None, None, b"", sources)
    built = _build(task, sources, kernel, build_folder)
    if built.export is None:
        return Check(task, "invalid", built.problems, name, None, None, b"", sources)
    return check_export(task, built.export, provided_names(task, built), kernel=kernel, sources=sources)


def _source_problems(task: Task, sources: Mapping[str, bytes]) -> list[str]:
    if task.spec.kind == "lake":
        return import_problems(sources, task.original, task.below("project"))
    allowed = [module_name(path) for path in [*task.below("background"), *sources]]
    return source_problems(sources, allowed, prelude=True)


def _build(task: Task, sources: Mapping[str, bytes], kernel: LeanKernel | None, build_folder: Path | None) -> Built:
    if task.spec.kind == "lake":
        if build_folder is not None:
            return build_lake_task(task, sources, build_folder)
        with tempfile.TemporaryDirectory(prefix="compressionbench-") as scratch:
            return build_lake_task(task, sources, Path(scratch))
    if kernel is None:
        raise DataError(NO_LEAN)
    return build_prelude({**task.below("background"), **sources}, kernel)


def provided_names(task: Task, built: Built) -> set[str]:
    """Names of the constants that come from pinned files: whatever no editable file declares."""
    assert built.export is not None
    own = {name for path in task.spec.editable for name in built.modules.get(path, ())}
    return {built.export.name_text(name) for name in built.export.constants()} - own


def check_export(
    task: Task,
    export: Export,
    provided: set[str],
    *,
    kernel: LeanKernel | None,
    sources: Mapping[str, bytes] | None = None,
) -> Check:
    """Check kernel terms against a task.

    Args:
        task: The task.
        export: All terms, the background's included.
        provided: Constants that come from pinned files.
        kernel: Replays the terms; None: the verdict can only say that the structure was checked.
        sources: The files that the terms were built from, for the record.

    Raises:
        StoppedError: If a limit on time or memory ended it without a verdict.
    """
    terms = write_export(export)
    name = kernel.name if kernel else None
    faults = check_structure(export)
    if faults:
        return Check(task, "invalid", tuple(faults), name, None, export, terms, sources or {})
    problems = [*_statement_problems(task, export), *_frozen_problems(task, export, provided)]
    problems += _axiom_problems(task, export, provided)
    problems += [
        f"reserved name: {name} is one that the kernel trusts without looking; only pinned files may declare it"
        for name in reserved_names(export, provided, prelude=task.spec.kind == "prelude")
        if name not in task.spec.frozen
    ]
    charged: Charge | None = None
    try:
        charged = charge(export, task.spec.targets, [*provided, *task.spec.background])
    except DataError as exc:
        problems += [line for line in str(exc).split("\n") if line not in problems]
    if kernel is not None:
        problems += kernel_problems(export, kernel.replay(terms).problems)
    verdict: Verdict = "invalid" if problems else "valid" if kernel else "structure checked, not kernel-checked"
    return Check(task, verdict, tuple(problems), name, charged, export, terms, sources or {}, frozenset(provided))


def _statement_problems(task: Task, export: Export) -> list[str]:
    constants = export.constants()
    by_text = {export.name_text(name): constant for name, (constant, _) in constants.items()}
    problems = []
    for target in task.spec.targets:
        constant = by_text.get(target)
        if constant is None:
            problems.append(f"target {target} is not declared")
        elif not isinstance(constant, Theorem):
            problems.append(f"target {target} is not a theorem")
        elif statement_hash(export, constant) != task.spec.statements[target]:
            problems.append(f"statement changed: {target} does not state what the task asks")
    return problems


def _frozen_problems(task: Task, export: Export, provided: set[str]) -> list[str]:
    by_text = {export.name_text(name): name for name in export.constants()}
    pinned = {by_text[name] for name in provided if name in by_text}
    problems = []
    for name, wanted in task.spec.frozen.items():
        if name not in by_text:
            problems.append(f"frozen definition changed: {name} is gone")
        elif definition_hash(export, by_text[name], pinned) != wanted:
            problems.append(f"frozen definition changed: {name}, or something that it rests on")
    return problems


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


def reserved_names(export: Export, provided: set[str], *, prelude: bool) -> list[str]:
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


def _axiom_problems(task: Task, export: Export, provided: set[str]) -> list[str]:
    problems = []
    for name in axioms_of(export, task.spec.targets):
        if name not in ALLOWED_AXIOMS:
            problems.append(f"axiom not allowed: {name} (allowed: {', '.join(sorted(ALLOWED_AXIOMS))})")
        elif name not in provided and name not in task.spec.frozen:
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
