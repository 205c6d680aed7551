"""The check of a submission: is it the same task, is it proved, and what does it cost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from proverbench.compression.building import Compiled, compile_files, source_problems
from proverbench.compression.charges import Charge, Item, Part, charge
from proverbench.compression.export import Export
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.export_writing import write_export
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.kernel import LeanKernel, shown
from proverbench.compression.limits import StoppedError
from proverbench.compression.project import build_project, check_with_own_kernel, fetched_for, import_problems
from proverbench.compression.rules import (
    axiom_problems,
    background_problems,
    frozen_problems,
    reserved_names,
    statement_problems,
)
from proverbench.compression.structure import check_structure
from proverbench.compression.tasks import Task, TaskFile, module_name
from proverbench.errors import DataError
from proverbench.version import __version__

NO_LEAN = "no Lean here: pip install 'proverbench[lean]' (Linux x86-64)"
RULES = 2
"""Version of the scoring rule in docs/compression-metrics.md."""
SCORER = f"compressionbench {__version__}, rules {RULES}"

Verdict = Literal["valid", "invalid", "structure checked, not kernel-checked"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say of kernel terms."""

    verdict: Verdict
    problems: tuple[str, ...]
    charge: Charge | None
    """None when they cannot be counted."""


@dataclass(frozen=True)
class Check:
    """What a check found."""

    task: Task
    verdict: Verdict
    problems: tuple[str, ...] = ()
    """One line each; empty unless invalid."""
    kernel: str | None = None
    """The kernel that accepted or rejected, None when none was there."""
    isolation: str = "nothing was run"
    """How participants' code was kept apart."""
    charge: Charge | None = None
    """None when the sources could not be counted."""
    terms: bytes = b""
    """The kernel terms as lean4export NDJSON; empty when nothing could be built."""
    sources: Mapping[str, bytes] = field(default_factory=dict)
    provided: frozenset[str] = frozenset()
    """Constants that come from pinned files."""
    log: tuple[str, ...] = ()
    """The end of Lean's log, when a file did not compile."""

    @cached_property
    def export(self) -> Export:
        """The kernel terms, read; a charge's parts are terms of it."""
        return read_export_lines(self.terms.splitlines(keepends=True), source="terms")

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
            "isolation": self.isolation,
            "verdict": self.verdict,
            "problems": list(self.problems),
            "log": list(self.log),
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
    """Build and check a participant's files, in the stages of docs/compression.md.

    Args:
        task: The task.
        sources: The editable files, by path.
        kernel: Compiles ``prelude`` files and replays all terms.
        build_folder: Where a task with a lakefile was fetched (project.fetch_project).

    Raises:
        DataError: If there is no Lean to build with.
        StoppedError: If a limit on time or memory ended it without a verdict, or there is no isolation.
    """
    if task.spec.kind == "lake":
        return _check_project(task, sources, kernel, build_folder)
    allowed = [module_name(path) for path in [*task.below("background"), *sources]]
    problems = source_problems(sources, allowed, prelude=True)
    if problems:
        return Check(task, "invalid", tuple(problems), kernel.name if kernel else None, sources=sources)
    if kernel is None:
        raise DataError(NO_LEAN)
    background = compile_background(task, kernel)
    own = compile_files(sources, kernel, background.oleans)
    if own.problems:
        return Check(task, "invalid", own.problems, kernel.name, kernel.isolation.said, sources=sources, log=own.log)
    answer, terms = kernel.judge(
        {"op": "check", "background": list(background.oleans), "own": list(own.oleans)},
        [task.toml, *background.oleans.values(), *own.oleans.values()],
    )
    return read_ruling(task, answer, terms, kernel, sources)


def _check_project(
    task: Task, sources: Mapping[str, bytes], kernel: LeanKernel | None, build_folder: Path | None
) -> Check:
    spec = task.spec
    problems = import_problems(sources, task.original, task.below("project"))
    if problems:
        return Check(task, "invalid", tuple(problems), kernel.name if kernel else None, sources=sources)
    if kernel is None:
        raise DataError(NO_LEAN)
    if build_folder is None or not fetched_for(build_folder, task.below("project"), task.original):
        where = "its build folder" if build_folder is None else str(build_folder)
        raise DataError(
            f"this task is a Lean project, and {where} does not hold it as its organiser made it: run "
            "`compressionbench fetch TASK`, which runs the organiser's lakefile"
        )
    said = kernel.isolation.said
    built = build_project(sources, [*spec.targets, *spec.frozen, *spec.background], build_folder, kernel)
    if built.problems:
        return Check(task, "invalid", built.problems, kernel.name, said, sources=sources, log=built.log)
    rejected: list[str] = []
    own_kernel = spec.lean != kernel.version
    if own_kernel:
        rejected = check_with_own_kernel(built.oleans, build_folder, kernel)
    answer, terms = kernel.judge(
        {"op": "check", "exported": True, "own": list(built.oleans)},
        [task.toml, built.terms, *built.oleans.values()],
    )
    disagreed = [problem for problem in answer["problems"] if problem.startswith("kernel: ")]
    if own_kernel and disagreed and not rejected:
        raise StoppedError(f"Lean {spec.lean} accepts it, {kernel.name} does not ({disagreed[0]}); no verdict")
    if rejected:
        answer = {**answer, "verdict": "invalid", "problems": [*rejected, *answer["problems"]]}
    return read_ruling(task, answer, terms, kernel, sources)


_backgrounds: dict[str, Compiled] = {}


def compile_background(task: Task, kernel: LeanKernel) -> Compiled:
    """Stage 1: the organiser's files, with no participant's in sight; once for each task in a process.

    Raises:
        DataError: If they do not compile.
        StoppedError: If a limit ended it, or there is no isolation.
    """
    if task.sha256 not in _backgrounds:
        done = compile_files(task.below("background"), kernel)
        if done.problems:
            raise DataError.of(f"background: {problem}" for problem in done.problems)
        _backgrounds[task.sha256] = done
    return _backgrounds[task.sha256]


def read_ruling(
    task: Task, answer: Mapping[str, Any], terms: bytes, kernel: LeanKernel, sources: Mapping[str, bytes]
) -> Check:
    """What the stage that judges answered.

    Raises:
        StoppedError: If the answer does not speak of the terms that came with it.
    """
    if answer["terms_sha256"] != sha256_hex(terms):
        raise StoppedError("the terms that were judged are not those that came with the verdict; no verdict")
    charged = None if answer["charge"] is None else Charge(tuple(_item(item) for item in answer["charge"]))
    return Check(
        task,
        answer["verdict"],
        tuple(shown(problem) for problem in answer["problems"]),
        kernel.name,
        kernel.isolation.said,
        charged,
        terms,
        sources,
        frozenset(answer["provided"]),
    )


def _item(found: Mapping[str, Any]) -> Item:
    return Item(found["name"], found["kind"], tuple(Part(**part) for part in found["parts"]))


def check_export(
    task: Task,
    export: Export,
    provided: Collection[str],
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
    ruling = apply_rules(task.spec, export, provided, kernel)
    name = kernel.name if kernel else None
    return Check(
        task,
        ruling.verdict,
        ruling.problems,
        name,
        charge=ruling.charge,
        terms=terms,
        sources=sources or {},
        provided=frozenset(provided),
    )


def apply_rules(spec: TaskFile, export: Export, provided: Collection[str], kernel: LeanKernel | None) -> Ruling:
    """All rules, in order: structure, statements, axioms, reserved names, charges, then what needs the kernel.

    Raises:
        StoppedError: If a limit on time or memory ended it without a verdict.
    """
    faults = check_structure(export)
    if faults:
        return Ruling("invalid", tuple(faults), None)
    problems = [*background_problems(spec, export, provided), *statement_problems(spec, export)]
    problems += axiom_problems(spec, export, provided)
    problems += [
        f"reserved name: {name} is one that the kernel trusts without looking; only pinned files may declare it"
        for name in reserved_names(export, provided, prelude=spec.kind == "prelude")
        if name not in spec.frozen
    ]
    charged: Charge | None = None
    try:
        charged = charge(export, spec.targets, [*provided, *spec.background])
    except DataError as exc:
        problems += [line for line in str(exc).split("\n") if line not in problems]
    if kernel is not None:
        problems += frozen_problems(spec, export, provided, kernel)
    verdict: Verdict = "invalid" if problems else "valid" if kernel else "structure checked, not kernel-checked"
    return Ruling(verdict, tuple(problems), charged)
