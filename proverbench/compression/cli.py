"""The command ``compressionbench``: what authors and participants type. The organiser's part is in organising.py."""

import shlex
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from proverbench.cli.signals import EXIT_SIGINT, first_interrupt
from proverbench.cli.streams import echo, echo_json, say
from proverbench.compression.commands import (
    EXIT_INVALID,
    EXIT_VALID,
    FOLDER,
    JSON_OPTION,
    NEW_S,
    TASK_ARGUMENT,
    UNSAFE_OPTION,
    WORK_OPTION,
    Group,
    checked,
    lean_kernel,
    required_kernel,
)
from proverbench.compression.organising import keygen, rank_command, report, verify
from proverbench.errors import DataError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from proverbench.compression.attempt import Round
    from proverbench.compression.kernel import LeanKernel

_PROJECT_MB, _PROJECT_DISK_MB = 32_768, 2_048
"""What Mathlib's imports and terms need."""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """The same theorems with fewer kernel nodes.

    \b
    Make a task:    compressionbench new nat-add mytask
    Work on it:     edit mytask/work/*.lean, then  mytask/check
    Hand it in:     mytask/submit --agent NAME
    Re-check it:    compressionbench verify submissions/submission-….tar.gz --tasks TASKS --key key.pem
    Compare:        compressionbench rank submissions/ --tasks TASKS --trust PUBLIC_KEY

    Compiling a Lean file runs the code in it, so every command that does so needs a sandbox (bubblewrap, or user
    namespaces). The scoring rule: docs/compression-metrics.md. Exit codes: 0 valid, 1 invalid or refused, 2 bad
    command line, 3 stopped by a limit, or for want of a sandbox, without a verdict.
    """


@main.command()
@TASK_ARGUMENT
@WORK_OPTION
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@JSON_OPTION
@UNSAFE_OPTION
def check(task_folder: Path, work: Path | None, verbose: bool, as_json: bool, unsafe: bool) -> None:
    """Check your version of the task in TASK (default: this folder) and count its nodes."""
    from proverbench.compression.presenting import render_check

    result = checked(task_folder, work, unsafe=unsafe)
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_check(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "valid" else EXIT_INVALID)


@main.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.argument("task_folder", metavar="TASK", type=FOLDER)
@click.option("--target", "targets", multiple=True, help="A theorem to shorten; repeat for more.")
@click.option("--editable", multiple=True, help="A file that may be rewritten. [default: those with the targets]")
@click.option("--background", multiple=True, help="A constant of an editable file whose use is free; it is frozen.")
@click.option("--freeze", multiple=True, help="A further definition that must not change.")
@click.option("--title", default="", help="What the task is about.")
@click.option(
    "--heartbeats",
    type=click.IntRange(1),
    default=200_000_000,
    show_default=True,
    help="The kernel's limit for each declaration, in Lean's own small steps.",
)
@UNSAFE_OPTION
def new(
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
    from proverbench.compression.authoring import Order, make_project_task, make_task, read_sources, write_task
    from proverbench.compression.presenting import render_task_made
    from proverbench.compression.project import is_project, read_project
    from proverbench.compression.tasks import load_task, shipped_tasks

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


@main.command()
@TASK_ARGUMENT
@WORK_OPTION
@click.option("--agent", default="unnamed", show_default=True, help="Who took part: the name in the ranking.")
@click.option(
    "--track",
    type=click.Choice(["record", "agent", "open", "agent-60", "agent-120"]),
    default="record",
    show_default=True,
    help="The kind of run: `record`, by any means (counts on `open`), or `agent`, a model alone, which with --minutes "
    "counts on the timed tracks too. A track's own name demands that it fits.",
)
@click.option("--minutes", type=click.FloatRange(0), help="How many minutes it took.")
@click.option("--log", type=FOLDER, help="Folder with a log, taken into the bundle.")
@click.option("--tokens-json", type=FOLDER, help="File with a JSON object on tokens, taken into the bundle.")
@click.option("--output", type=FOLDER, default=Path("submissions"), show_default=True, help="Folder for the bundle.")
@JSON_OPTION
@UNSAFE_OPTION
def submit(
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
    from proverbench.compression.bundle import Extras, bundle_name, pack, read_log, read_tokens, track_of, tracks_of
    from proverbench.compression.hashing import sha256_hex
    from proverbench.compression.presenting import render_check, render_submitted

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


@main.command(name="share")
@TASK_ARGUMENT
@click.option("--work", type=FOLDER, help="Share the proofs in these files. [default: the task's originals]")
@click.option("--output", type=FOLDER, help="Write the shorter version's kernel terms here (lean4export NDJSON).")
@JSON_OPTION
@UNSAFE_OPTION
def share_command(task_folder: Path, work: Path | None, output: Path | None, as_json: bool, unsafe: bool) -> None:
    """A reference point: every repeated subterm of the proofs written once with `let`, by machine.

    Two counts: with everything shared that occurs twice, and with only what makes the whole smaller. Both are checked
    again by the kernel. They are terms, not sources; a participant may do better or worse.
    """
    from proverbench.compression.presenting import render_shared
    from proverbench.compression.shared_task import share_task
    from proverbench.compression.tasks import load_task, load_work

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


@main.command()
@TASK_ARGUMENT
def fetch(task_folder: Path) -> None:
    """Fetch the packages of a Lean project's task, and build it as its organiser made it, in TASK/build.

    This runs the organiser's lakefile with your own `lake`, as you, with the network. Your files are no part of it.
    """
    from proverbench.compression.project import fetch_project
    from proverbench.compression.tasks import load_task

    task = load_task(task_folder)
    if task.spec.kind != "lake":
        raise DataError(f"{task.spec.name}: is no Lean project; there is nothing to fetch")
    fetch_project(task.below("project"), task.original, task_folder / "build", time_s=NEW_S)
    echo(f"fetched   {task_folder / 'build'}")


@main.command(name="attempt")
@click.argument("task_folder", metavar="TASK", type=FOLDER)
@click.option(
    "--config", "config_file", type=FOLDER, required=True, help="Config with a [policy] table (docs/configs.md)."
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="How often to ask.")
@click.option("--output", type=FOLDER, help="Folder for the attempt (default: TASK/attempt); an old one goes on.")
@UNSAFE_OPTION
def attempt_command(task_folder: Path, config_file: Path, rounds: int, output: Path | None, unsafe: bool) -> None:
    """Let a language model shorten a task's proofs: it proposes, the check answers, the best version is kept.

    Ctrl-C once: ask nothing new, keep the answer that is awaited; twice, or SIGTERM: stop at once.

    Exit codes: 0 all rounds were answered; 1 some were not (the same command goes on), or refused; 129/130/143 stopped
    by a signal (the same command goes on).
    """
    import asyncio

    from proverbench.compression.attempt import Attempt, attempt
    from proverbench.compression.presenting import compare
    from proverbench.compression.tasks import load_task
    from proverbench.endpoints.factory import close_callers, open_callers
    from proverbench.inputs.config_file import load_config

    task = load_task(task_folder)
    spec = task.spec

    def kernel() -> "LeanKernel":
        return required_kernel(spec.heartbeats, spec.time_s, spec.memory_mb, unsafe=unsafe, disk_mb=spec.disk_mb)

    kernel().isolation  # noqa: B018 - refuse before anything is asked
    config = load_config(config_file)
    folder = output or task_folder / "attempt"

    async def go() -> Attempt:
        asyncio.get_running_loop().set_exception_handler(_complain)
        callers = await open_callers(config, ["policy"])
        try:
            return await attempt(
                task,
                callers["policy"],
                folder,
                rounds=rounds,
                make_kernel=kernel,
                build_folder=task_folder / "build",
                report=_say_round,
                stopping=stopped.is_set,
            )
        finally:
            await close_callers(callers)

    stopped = Event()

    def stop_asking() -> None:
        stopped.set()
        say("asking nothing new; the answer that is awaited is kept (Ctrl-C again stops at once)")

    with first_interrupt(stop_asking):
        result = asyncio.run(go())
    echo(f"task      {spec.name}  sha256:{task.sha256}")
    echo(f"best      {result.best_count:,} nodes, {compare(result.best_count, spec.original_count)}")
    if result.best_count < spec.original_count:
        echo(
            f"then      compressionbench submit {shlex.quote(str(task_folder))} "
            f"--work {shlex.quote(str(folder / 'best'))} --log {shlex.quote(str(folder))}"
        )
    if stopped.is_set():
        say("stopped by Ctrl-C; the same command goes on")
        click.get_current_context().exit(EXIT_SIGINT)
    click.get_current_context().exit(EXIT_VALID if result.complete else EXIT_INVALID)


def _say_round(item: "Round") -> None:
    say(f"round {item.number}: {item.outcome}" + (f", {item.count} nodes" if item.count else ""))


def _complain(loop: "AbstractEventLoop", context: dict[str, Any]) -> None:
    # A signal may end a task of aiohttp's as well as ours; that is no fault to print.
    if not isinstance(context.get("exception"), SystemExit | KeyboardInterrupt):
        loop.default_exception_handler(context)


@main.command(name="count")
@click.argument("file", type=FOLDER)
@click.option(
    "--target", "targets", multiple=True, help="A theorem to charge; repeat for more. [default: every theorem]"
)
@click.option("--background", multiple=True, help="A constant whose use is free; repeat for more.")
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@JSON_OPTION
@UNSAFE_OPTION
def count_command(
    file: Path, targets: tuple[str, ...], background: tuple[str, ...], verbose: bool, as_json: bool, unsafe: bool
) -> None:
    """Check and count a lean4export file (NDJSON 3.0.0 or 3.1.0), without any task.

    Exit codes: 0 the kernel accepts every declaration; 1 it does not, there is none here, or the file is malformed.
    """
    from proverbench.compression.counted import count_file
    from proverbench.compression.presenting import render_counted

    result = count_file(file, targets, background, lean_kernel(200_000_000, NEW_S, 8_192, unsafe=unsafe))
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_counted(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "accepted" else EXIT_INVALID)


for command in (verify, keygen, rank_command, report):
    main.add_command(command)
