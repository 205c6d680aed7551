"""Checking a submission again, as a stranger would: from nothing but the bundle, and the organiser's task."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proverbench.compression.bundle import Bundle
from proverbench.compression.checking import SCORER, Check, check_export, check_sources
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.isolation import UNSAFE, Isolation
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Allowance
from proverbench.compression.tasks import Task, load_task, shipped_tasks
from proverbench.errors import DataError

GIVEN, SHIPPED, OWN = "given", "shipped", "bundle"
"""Where the task comes from that a bundle is judged by; the last is the participant's own claim."""


def verify_bundle(
    bundle: Bundle,
    *,
    trusted: Iterable[Task] = (),
    build_folder: Path | None = None,
    isolation: Isolation | None = None,
) -> dict[str, Any]:
    """Check a submission again.

    Args:
        bundle: The submission.
        trusted: Tasks as the organiser has them; none: those that we ship, else the bundle's own.
        build_folder: Where a project was fetched (project.fetch_project).
        isolation: How participants' code is kept apart; None: by what this system has.

    Returns:
        ``verdict``, ``problems``, ``count`` and ``charges`` as found, and ``verifier``, for a receipt.

    Raises:
        StoppedError: If a limit ended it without a verdict, or there is no isolation.
    """
    task, source, faults = judge_task(bundle, list(trusted))
    isolated, kernel_name = "nothing was run", None
    problems = [*bundle.problems, *faults]
    verdict, count, charges = "invalid", None, None
    if not problems:
        check = _recheck(task, bundle, build_folder, isolation)
        charges = {item.name: item.nodes for item in check.charge.items} if check.charge else None
        problems = [*check.problems, *_false_claims(bundle, check, charges)]
        verdict, count, kernel_name, isolated = check.verdict, check.count, check.kernel, check.isolation
    return {
        "verdict": "invalid" if problems else verdict,
        "problems": problems,
        "count": count,
        "charges": charges,
        "verifier": {"scorer": SCORER, "kernel": kernel_name, "isolation": isolated, "task_source": source},
        "verified_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def judge_task(bundle: Bundle, trusted: list[Task]) -> tuple[Task, str, list[str]]:
    """The task that counts, where it comes from, and a fault if the bundle has another."""
    for task in trusted:
        if task.sha256 == bundle.task.sha256:
            return task, GIVEN, []
    if trusted:
        known = ", ".join(f"{task.spec.name} {task.sha256}" for task in trusted)
        return bundle.task, GIVEN, [f"task: the bundle's is {bundle.task.sha256}, those given are {known}"]
    for folder in shipped_tasks().values():
        task = load_task(folder)
        if task.sha256 == bundle.task.sha256:
            return task, SHIPPED, []
    return bundle.task, OWN, []


def _recheck(task: Task, bundle: Bundle, build_folder: Path | None, isolation: Isolation | None) -> Check:
    spec, library = task.spec, find_library()
    if library is None:
        return _check_terms_alone(task, bundle)
    limits = Allowance(spec.heartbeats, spec.time_s, spec.memory_mb, disk_mb=spec.disk_mb)
    return check_sources(task, bundle.sources, LeanKernel(library, limits, isolation), build_folder=build_folder)


def _check_terms_alone(task: Task, bundle: Bundle) -> Check:
    """Without Lean the sources cannot be built; the terms that came with them can be read and counted."""
    try:
        export = read_export_lines(bundle.terms.splitlines(), source="terms.ndjson")
    except DataError as exc:
        return Check(task, "invalid", tuple(str(exc).split("\n")))
    return check_export(task, export, set(task.spec.provided), kernel=None)


def _false_claims(bundle: Bundle, check: Check, charges: Mapping[str, int] | None) -> list[str]:
    if check.charge is None:
        return []
    problems = []
    if check.terms != bundle.terms:
        problems.append(
            f"terms: the sources build to terms with SHA-256 {sha256_hex(check.terms)}, "
            f"terms.ndjson has {sha256_hex(bundle.terms)}"
        )
    if check.charge.count != bundle.spec.count:
        problems.append(f"count: is {check.charge.count}, submission.json claims {bundle.spec.count}")
    elif charges != bundle.spec.charges:
        wrong = sorted(
            name
            for name in {*(charges or {}), *bundle.spec.charges}
            if (charges or {}).get(name) != bundle.spec.charges.get(name)
        )
        problems.append(f"charges: submission.json claims other nodes for {', '.join(wrong)}")
    return problems


def may_sign(source: str, isolation: Isolation | None) -> str | None:
    """Why a verification may not be signed, None if it may."""
    if source == OWN:
        return "--key signs only what an organiser's task was checked against: give --task FOLDER or --tasks FOLDER"
    if isolation == UNSAFE:
        return "--key does not sign what was checked with --unsafe"
    return None
