"""Checking a submission again, as a stranger would: apart from the system, from nothing but the bundle."""

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proverbench.compression.bundle import Bundle, unpack
from proverbench.compression.checking import SCORER, Check, check_export, check_sources
from proverbench.compression.export import read_export_lines
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.isolation import Isolation, find_isolation, run_apart
from proverbench.compression.kernel import LeanKernel, Limits, find_library
from proverbench.compression.tasks import Task, load_task, shipped_tasks
from proverbench.errors import DataError

_GRACE_S = 30


def verify_bundle(
    data: bytes, bundle: Bundle, *, trusted_task: Task | None, build_folder: Path | None = None
) -> dict[str, Any]:
    """Check a submission again.

    Args:
        data: The .tar.gz.
        bundle: The same, as read.
        trusted_task: The task as the organiser has it; None: the one we ship under that hash, else the bundle's own.
        build_folder: Where a project is built (default: a folder that is then deleted).

    Returns:
        ``verdict``, ``problems``, ``count`` and ``charges`` as found, and ``verifier``, for a receipt.

    Raises:
        StoppedError: If a limit ended it without a verdict.
    """
    spec = bundle.task.spec
    task_source, faults = _judge_task(bundle, trusted_task)
    isolated = "nothing was run"
    outcome: dict[str, Any] = {"verdict": "invalid", "problems": [], "count": None, "charges": None, "kernel": None}
    if not bundle.problems and not faults:
        seconds = spec.time_s + _GRACE_S
        if spec.kind == "lake":
            isolation = Isolation(None, "a project is built with this user's Lean")
        else:
            isolation = find_isolation(memory_mb=spec.memory_mb, seconds=seconds)
        command = [sys.executable, "-m", "proverbench.compression.verifying"]
        if build_folder is not None and spec.kind == "lake":
            command.append(str(build_folder.resolve()))
        isolated = isolation.said
        outcome = json.loads(run_apart(isolation, command, data, memory_mb=spec.memory_mb, seconds=seconds))
    problems = [*bundle.problems, *faults, *outcome["problems"]]
    return {
        "verdict": "invalid" if problems else outcome["verdict"],
        "problems": problems,
        "count": outcome["count"],
        "charges": outcome["charges"],
        "verifier": {
            "scorer": SCORER,
            "kernel": outcome["kernel"],
            "isolation": isolated,
            "task_source": task_source,
            "verified_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }


def _judge_task(bundle: Bundle, trusted: Task | None) -> tuple[str, list[str]]:
    """Where the task that counts comes from, and a fault if the bundle has another."""
    if trusted is not None:
        if trusted.sha256 == bundle.task.sha256:
            return "given", []
        return "given", [f"task: the bundle's is {bundle.task.sha256}, the one given is {trusted.sha256}"]
    for folder in shipped_tasks().values():
        if load_task(folder).sha256 == bundle.task.sha256:
            return "shipped", []
    return "bundle", []


def recheck(data: bytes, build_folder: Path | None = None) -> dict[str, Any]:
    """Build, replay and count what a bundle holds, and compare it with what it claims.

    Raises:
        StoppedError: If a limit ended it without a verdict.
    """
    bundle = unpack(data, source="bundle")
    task, spec = bundle.task, bundle.task.spec
    library = find_library()
    kernel = None if library is None else LeanKernel(library, Limits(spec.heartbeats, spec.time_s, spec.memory_mb))
    if kernel is None and spec.kind == "prelude":
        check = _check_terms_alone(bundle)
    else:
        check = check_sources(task, bundle.sources, kernel, build_folder=build_folder)
    charges = {item.name: item.nodes for item in check.charge.items} if check.charge else None
    return {
        "verdict": check.verdict,
        "problems": [*check.problems, *_false_claims(bundle, check, charges)],
        "count": check.count,
        "charges": charges,
        "kernel": check.kernel,
    }


def _check_terms_alone(bundle: Bundle) -> Check:
    """Without Lean the sources cannot be built; the terms that came with them can be read and counted."""
    try:
        export = read_export_lines(bundle.terms.splitlines(), source="terms.ndjson")
    except DataError as exc:
        return Check(bundle.task, "invalid", tuple(str(exc).split("\n")), None, None, None, b"")
    return check_export(bundle.task, export, set(bundle.task.spec.provided), kernel=None)


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


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(json.dumps(recheck(sys.stdin.buffer.read(), folder)))
