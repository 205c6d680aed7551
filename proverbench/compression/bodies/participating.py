"""What authors' and participants' commands do."""

from pathlib import Path

import click

from proverbench.cli.streams import echo, echo_json, say
from proverbench.compression.authoring import Order, make_project_task, make_task, read_sources, write_task
from proverbench.compression.bodies.checks import checked, lean_kernel, required_kernel
from proverbench.compression.bundle import Extras, bundle_name, pack, read_log, read_tokens, track_of, tracks_of
from proverbench.compression.commands import EXIT_INVALID, EXIT_VALID, NEW_S
from proverbench.compression.counted import count_file
from proverbench.compression.hashing import sha256_hex
from proverbench.compression.presenting import (
    render_check,
    render_counted,
    render_shared,
    render_submitted,
    render_task_made,
)
from proverbench.compression.project import fetch_project, is_project, read_project
from proverbench.compression.shared_task import share_task
from proverbench.compression.tasks import load_task, load_work, shipped_tasks
from proverbench.errors import DataError

_PROJECT_MB = 32_768
"""What Mathlib's imports and terms need."""


_PROJECT_DISK_MB = 2_048


def check_work(task_folder: Path, work: Path | None, verbose: bool, as_json: bool, unsafe: bool) -> None:
    """Check your version of the task in TASK (default: this folder) and count its nodes."""
    result = checked(task_folder, work, unsafe=unsafe)
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_check(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "valid" else EXIT_INVALID)


def new_task(
    project: Path,
    task_folder: Path,
    targets: tuple[str, ...],
    editable: tuple[str, ...],
    background: tuple[str, ...],
    freeze: tuple[str, ...],
    title: str,
    heartbeats: int,
    unsafe: bool,
) -> None:
    """Make the task package TASK from a Lean PROJECT (a folder or a .lean file), or from a task that we ship."""
    if not project.exists():
        shipped = shipped_tasks()
        if str(project) not in shipped:
            raise DataError(f"{project}: no such folder, and no task of ours ({', '.join(sorted(shipped))})")
        task = load_task(shipped[str(project)])
    elif not targets:
        raise click.UsageError("give at least one --target THEOREM")
    else:
        order = Order(task_folder.resolve().name, targets, title, editable, background, freeze, heartbeats)
        if is_project(project):
            kernel = required_kernel(heartbeats, NEW_S, _PROJECT_MB, unsafe=unsafe, disk_mb=_PROJECT_DISK_MB)
            build = task_folder / "build"
            task = make_project_task(read_project(project), order, kernel, build, time_s=NEW_S)
        else:
            task = make_task(read_sources(project), order, required_kernel(heartbeats, NEW_S, 8_192, unsafe=unsafe))
    write_task(task, task_folder)
    echo(render_task_made(task, task_folder))


def pack_submission(
    task_folder: Path,
    work: Path | None,
    agent: str,
    track: str,
    minutes: float | None,
    log: Path | None,
    tokens_json: Path | None,
    output: Path,
    as_json: bool,
    unsafe: bool,
) -> None:
    """Check your version again and pack it into a bundle that others can verify. Nothing is sent anywhere."""
    kind, named = track_of(track, minutes)
    extras = Extras(
        agent=agent,
        kind=kind,
        track=named,
        minutes=minutes,
        tokens=None if tokens_json is None else read_tokens(tokens_json),
        log=None if log is None else read_log(log),
    )
    result = checked(task_folder, work, unsafe=unsafe)
    if not as_json:
        echo(render_check(result))
    if result.verdict != "valid":
        if as_json:
            echo_json({**result.as_json(), "bundle": None})
        say(f"refused: refusing to bundle an invalid submission; this one is: {result.verdict}")
        click.get_current_context().exit(EXIT_INVALID)
    data = pack(result, extras)
    output.mkdir(parents=True, exist_ok=True)
    path = output / bundle_name(data)
    path.write_bytes(data)
    tracks = tracks_of(kind, minutes)
    if as_json:
        echo_json({**result.as_json(), "bundle": str(path), "submission": sha256_hex(data), "tracks": tracks})
    else:
        echo(render_submitted(path, sha256_hex(data), tracks))


def share_terms(task_folder: Path, work: Path | None, output: Path | None, as_json: bool, unsafe: bool) -> None:
    """A reference point: every repeated subterm of the proofs written once with `let`, by machine."""
    task = load_task(task_folder)
    sources, misplaced = load_work(work, task) if work is not None else (task.original, [])
    if misplaced:
        raise DataError.of(misplaced)
    spec = task.spec
    kernel = required_kernel(spec.heartbeats, spec.time_s, spec.memory_mb, unsafe=unsafe, disk_mb=spec.disk_mb)
    result = share_task(task, sources, kernel, build_folder=task_folder / "build")
    if output is not None:
        output.write_bytes(result.terms)
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_shared(task, result))
    click.get_current_context().exit(EXIT_INVALID if result.problems else EXIT_VALID)


def fetch_packages(task_folder: Path) -> None:
    """Fetch the packages of a Lean project's task, and build it as its organiser made it, in TASK/build."""
    task = load_task(task_folder)
    if task.spec.kind != "lake":
        raise DataError(f"{task.spec.name}: is not a Lean project; there is nothing to fetch")
    fetch_project(task.below("project"), task.original, task_folder / "build", time_s=NEW_S)
    echo(f"fetched   {task_folder / 'build'}")


def count_terms(
    file: Path, targets: tuple[str, ...], background: tuple[str, ...], verbose: bool, as_json: bool, unsafe: bool
) -> None:
    """Check and count a lean4export file (NDJSON 3.0.0 or 3.1.0), without any task."""
    result = count_file(file, targets, background, lean_kernel(200_000_000, NEW_S, 8_192, unsafe=unsafe))
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_counted(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "accepted" else EXIT_INVALID)
