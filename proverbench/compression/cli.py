"""The command ``compressionbench``."""

import json
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from proverbench.cli.common import CommandGroup, HandlesErrors
from proverbench.cli.signals import EXIT_SIGINT, ending_tidily, first_interrupt
from proverbench.cli.streams import echo, echo_json, say
from proverbench.errors import DataError

if TYPE_CHECKING:
    from proverbench.compression.checking import Check
    from proverbench.compression.kernel import LeanKernel

EXIT_VALID = 0
EXIT_INVALID = 1
EXIT_STOPPED = 3
_NEW_S = 3_600
"""Limit on building a new task's sources, which are the author's own."""

_FOLDER = click.Path(path_type=Path)


class _Command(HandlesErrors):
    """A command with this program's exit codes: 0 valid, 1 invalid or refused, 2 bad command line, 3 stopped."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; bad input is a refusal here, not a bad command line."""
        from proverbench.compression.kernel import StoppedError

        try:
            with ending_tidily():
                return super().invoke(ctx)
        except StoppedError as exc:
            say(f"stopped: {exc}")
            ctx.exit(EXIT_STOPPED)
        except DataError as exc:
            say("\n".join(f"refused: {line}" for line in str(exc).split("\n")))
            ctx.exit(EXIT_INVALID)


class _Group(CommandGroup):
    """The group; its commands are all of the class above."""

    command_class = _Command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="proverbench")
def main() -> None:
    """The same theorems with fewer kernel nodes.

    \b
    Make a task:    compressionbench new nat-add mytask
    Work on it:     edit mytask/work/*.lean, then  compressionbench check mytask
    Hand it in:     compressionbench submit mytask --agent NAME
    Re-check it:    compressionbench verify submissions/submission-….tar.gz --key key.pem
    Compare:        compressionbench rank submissions/

    The scoring rule: docs/compression-metrics.md. Exit codes: 0 valid, 1 invalid or refused, 2 bad command line,
    3 stopped by a limit on time or memory, without a verdict.
    """


@main.command()
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
@click.option("--work", type=_FOLDER, help="Folder with your files. [default: TASK/work]")
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def check(task_folder: Path, work: Path | None, verbose: bool, as_json: bool) -> None:
    """Check your version of a task and count its nodes."""
    from proverbench.compression.presenting import render_check

    result = _checked(task_folder, work)
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_check(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "valid" else EXIT_INVALID)


@main.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
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
def new(
    project: Path,
    task_folder: Path,
    targets: tuple[str, ...],
    editable: tuple[str, ...],
    background: tuple[str, ...],
    freeze: tuple[str, ...],
    title: str,
    heartbeats: int,
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
            kernel, build = _kernel(heartbeats, _NEW_S, 8_192), task_folder / "build"
            task = make_project_task(read_project(project), order, kernel, build, time_s=_NEW_S)
        else:
            task = make_task(read_sources(project), order, _required_kernel(heartbeats, _NEW_S, 8_192))
    write_task(task, task_folder)
    echo(render_task_made(task, task_folder))


@main.command()
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
@click.option("--work", type=_FOLDER, help="Folder with your files. [default: TASK/work]")
@click.option("--agent", default="unnamed", show_default=True, help="Who took part: the name in the ranking.")
@click.option(
    "--track",
    type=click.Choice(["open", "agent-60", "agent-120", "agent", "record"]),
    default="open",
    show_default=True,
    help="The number is the budget in minutes; `record` is open, `agent` the smallest agent track that --minutes fit.",
)
@click.option("--minutes", type=click.FloatRange(0), help="How many minutes it took.")
@click.option("--log", type=_FOLDER, help="Folder with a log, taken into the bundle.")
@click.option("--tokens-json", type=_FOLDER, help="File with a JSON object on tokens, taken into the bundle.")
@click.option("--output", type=_FOLDER, default=Path("submissions"), show_default=True, help="Folder for the bundle.")
def submit(
    task_folder: Path,
    work: Path | None,
    agent: str,
    track: str,
    minutes: float | None,
    log: Path | None,
    tokens_json: Path | None,
    output: Path,
) -> None:
    """Check your version again and pack it into a bundle that others can verify."""
    from proverbench.compression.bundle import Extras, bundle_name, pack, read_log, read_tokens
    from proverbench.compression.presenting import render_check

    extras = Extras(
        agent=agent,
        track=_track(track, minutes),
        minutes=minutes,
        tokens=None if tokens_json is None else read_tokens(tokens_json),
        log=None if log is None else read_log(log),
    )
    result = _checked(task_folder, work)
    echo(render_check(result))
    if result.verdict != "valid":
        raise DataError(f"only a valid version can be submitted; this one is: {result.verdict}")
    data = pack(result, extras)
    output.mkdir(parents=True, exist_ok=True)
    path = output / bundle_name(data)
    path.write_bytes(data)
    echo(f"bundle    {path}")


def _track(given: str, minutes: float | None) -> Any:
    if given == "record":
        return "open"
    if given == "agent":
        return "agent-60" if minutes is None or minutes <= 60 else "agent-120"
    return given


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--task", "task_folder", type=_FOLDER, help="The task as the organiser has it; the bundle's must equal it."
)
@click.option("--key", type=_FOLDER, help="Ed25519 private key (PEM) to sign the receipt with.")
@click.option("--output", type=_FOLDER, help="Folder for the receipt. [default: beside the bundle]")
@click.option("--bundle", "bundle_file", type=_FOLDER, help="With a receipt: the bundle it should be about.")
@click.option("--trust", metavar="HEX", help="With a receipt: the public key that must have signed it.")
def verify(
    file: Path,
    task_folder: Path | None,
    key: Path | None,
    output: Path | None,
    bundle_file: Path | None,
    trust: str | None,
) -> None:
    """Check a bundle again, in isolation, and write a receipt; or check a receipt (.json)."""
    if file.suffix == ".json":
        _verify_receipt(file, bundle_file, trust)
        return
    from proverbench.compression.bundle import read_bundle
    from proverbench.compression.presenting import render_verification
    from proverbench.compression.receipts import build_parts, load_key, make_receipt
    from proverbench.compression.tasks import load_task
    from proverbench.compression.verifying import verify_bundle

    private = None if key is None else load_key(key)
    bundle = read_bundle(file)
    outcome = verify_bundle(
        file.read_bytes(),
        bundle,
        trusted_task=None if task_folder is None else load_task(task_folder),
        build_folder=None if task_folder is None else task_folder / "build",
    )
    receipt = make_receipt(build_parts(bundle, outcome, outcome["verifier"]), private)
    folder = output or file.parent
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"receipt-{bundle.sha256[:16]}.json"
    path.write_text(json.dumps(receipt.as_json(), indent=1) + "\n", encoding="utf-8")
    echo(render_verification(receipt, path))
    click.get_current_context().exit(EXIT_VALID if receipt.valid else EXIT_INVALID)


def _verify_receipt(file: Path, bundle_file: Path | None, trust: str | None) -> None:
    from proverbench.compression.bundle import read_bundle
    from proverbench.compression.presenting import render_verification
    from proverbench.compression.receipts import bundle_mismatches, read_receipt, receipt_problems

    receipt = read_receipt(file)
    problems = receipt_problems(receipt, trusted=trust)
    beside = file.parent / f"submission-{receipt.parts['submission']['sha256'][:16]}.tar.gz"
    about = bundle_file or (beside if beside.is_file() else None)
    if about is not None:
        bundle = read_bundle(about)
        problems += [*bundle.problems, *bundle_mismatches(receipt, bundle)]
    if problems:
        raise DataError.of(f"{file}: {problem}" for problem in problems)
    echo(render_verification(receipt, file))
    echo(f"bundle    {about or 'not here; only the receipt was checked'}")
    click.get_current_context().exit(EXIT_VALID if receipt.valid else EXIT_INVALID)


@main.command(name="share")
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
@click.option("--work", type=_FOLDER, help="Share the proofs in these files. [default: the task's originals]")
@click.option("--output", type=_FOLDER, help="Write the shorter version's kernel terms here (lean4export NDJSON).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def share_command(task_folder: Path, work: Path | None, output: Path | None, as_json: bool) -> None:
    """A reference point: every repeated subterm of the proofs written once with `let`, by machine.

    Two counts: with everything shared that occurs twice, and with only what makes the whole smaller. Both are checked
    again by the kernel. They are terms, not sources; a participant may do better or worse.
    """
    from proverbench.compression.export import write_export
    from proverbench.compression.presenting import render_shared
    from proverbench.compression.sharing import share_task
    from proverbench.compression.tasks import load_task, load_work

    task = load_task(task_folder)
    sources, misplaced = load_work(work, task) if work is not None else (task.original, [])
    if misplaced:
        raise DataError.of(misplaced)
    result = share_task(task, sources, _required_kernel(task.spec.heartbeats, task.spec.time_s, task.spec.memory_mb))
    if output is not None:
        output.write_bytes(write_export(result.paying.export))
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_shared(task, result))
    click.get_current_context().exit(EXIT_INVALID if result.problems else EXIT_VALID)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--output", "-o", type=_FOLDER, default=Path("compression.html"), show_default=True, help="The page.")
@click.option("--trust", metavar="HEX", multiple=True, help="Count only receipts signed by this public key.")
def report(paths: tuple[Path, ...], output: Path, trust: tuple[str, ...]) -> None:
    """One page with the ranking and a viewer that shows, node by node, where a count goes.

    PATHS are receipts, folders with receipts and bundles, or task folders, whose versions are checked now.
    """
    from proverbench.compression.collecting import collect_runs
    from proverbench.compression.ranking import rank
    from proverbench.compression.reporting import best_views, render_report, view_check

    tasks = [path for path in paths if (path / "task.toml").is_file()]
    others = [path for path in paths if path not in tasks]
    runs, problems = collect_runs(others, trusted=set(trust))
    views, missing = best_views(runs, others)
    views += [view_check(_checked(path, None), f"{path.name} as it is in {path}") for path in tasks]
    for problem in problems:
        say(f"not counted: {problem}")
    for problem in missing:
        say(f"not shown: {problem}")
    if not runs and not views:
        raise DataError("nothing to report: wanted receipts or task folders")
    output.write_text(render_report(rank(runs) if runs else None, views), encoding="utf-8")
    echo(f"page      {output}")


@main.command(name="attempt")
@click.argument("task_folder", metavar="TASK", type=_FOLDER)
@click.option(
    "--config", "config_file", type=_FOLDER, required=True, help="Config with a [policy] table (docs/configs.md)."
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="How often to ask.")
@click.option("--output", type=_FOLDER, help="Folder for the attempt (default: TASK/attempt); an old one goes on.")
def attempt_command(task_folder: Path, config_file: Path, rounds: int, output: Path | None) -> None:
    """Let a language model shorten a task's proofs: it proposes, the check answers, the best version is kept.

    Ctrl-C once: ask nothing new, keep the answer that is awaited; twice, or SIGTERM: stop at once.

    Exit codes: 0 all rounds were answered; 1 some were not (the same command goes on), or refused; 129/130/143 stopped
    by a signal (the same command goes on).
    """
    import asyncio

    from proverbench.compression.attempt import Attempt, Round, attempt
    from proverbench.compression.presenting import compare
    from proverbench.compression.tasks import load_task
    from proverbench.endpoints.factory import close_callers, open_callers
    from proverbench.inputs.config_file import load_config

    task = load_task(task_folder)
    spec = task.spec
    _required_kernel(spec.heartbeats, spec.time_s, spec.memory_mb)  # refuse before anything is asked
    config = load_config(config_file)
    folder = output or task_folder / "attempt"

    def report(item: Round) -> None:
        say(f"round {item.number}: {item.outcome}" + (f", {item.count} nodes" if item.count else ""))

    def complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # A signal may end a task of aiohttp's as well as ours; that is no fault to print.
        if not isinstance(context.get("exception"), SystemExit | KeyboardInterrupt):
            loop.default_exception_handler(context)

    async def go() -> Attempt:
        asyncio.get_running_loop().set_exception_handler(complain)
        callers = await open_callers(config, ["policy"])
        try:
            return await attempt(
                task,
                callers["policy"],
                folder,
                rounds=rounds,
                make_kernel=lambda: _required_kernel(spec.heartbeats, spec.time_s, spec.memory_mb),
                report=report,
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
        echo(f"then      compressionbench submit {task_folder} --work {folder / 'best'} --log {folder}")
    if stopped.is_set():
        say("stopped by Ctrl-C; the same command goes on")
        click.get_current_context().exit(EXIT_SIGINT)
    click.get_current_context().exit(EXIT_VALID if result.complete else EXIT_INVALID)


@main.command(name="count")
@click.argument("file", type=_FOLDER)
@click.option(
    "--target", "targets", multiple=True, help="A theorem to charge; repeat for more. [default: every theorem]"
)
@click.option("--background", multiple=True, help="A constant whose use is free; repeat for more.")
@click.option("--verbose", is_flag=True, help="Also what each declaration pays.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
def count_command(
    file: Path, targets: tuple[str, ...], background: tuple[str, ...], verbose: bool, as_json: bool
) -> None:
    """Check and count a lean4export file (NDJSON 3.0.0 or 3.1.0), without any task.

    Exit codes: 0 the kernel accepts every declaration; 1 it does not, there is none here, or the file is malformed.
    """
    from proverbench.compression.counted import count_file
    from proverbench.compression.presenting import render_counted

    result = count_file(file, targets, background, _kernel(200_000_000, _NEW_S, 8_192))
    if as_json:
        echo_json(result.as_json())
    else:
        echo(render_counted(result, verbose=verbose))
    click.get_current_context().exit(EXIT_VALID if result.verdict == "accepted" else EXIT_INVALID)


@main.command()
@click.argument("file", type=_FOLDER)
def keygen(file: Path) -> None:
    """Make an Ed25519 key to sign receipts with."""
    from proverbench.compression.receipts import make_key

    echo(f"public key {make_key(file)}")


@main.command(name="rank")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--trust", metavar="HEX", multiple=True, help="Count only receipts signed by this public key; repeat for more."
)
@click.option(
    "--task",
    "task_folders",
    multiple=True,
    type=_FOLDER,
    help="A task that counts. [default: those with a verified run]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table.")
def rank_command(
    paths: tuple[Path, ...], trust: tuple[str, ...], task_folders: tuple[Path, ...], as_json: bool
) -> None:
    """Rank agents by the receipts in PATHS (files, or folders with receipt-*.json)."""
    from dataclasses import asdict

    from proverbench.compression.collecting import collect_runs
    from proverbench.compression.presenting import render_ranking
    from proverbench.compression.ranking import rank
    from proverbench.compression.tasks import load_task

    runs, problems = collect_runs(paths, trusted=set(trust))
    for problem in problems:
        say(f"not counted: {problem}")
    if not runs:
        raise DataError("no receipt to rank by; make some with: compressionbench verify BUNDLE")
    tasks = {task.sha256: task.spec.name for task in map(load_task, task_folders)}
    ranking = rank(runs, tasks or None)
    if as_json:
        echo_json(asdict(ranking))
    else:
        echo(render_ranking(ranking))


def _checked(task_folder: Path, work: Path | None) -> "Check":
    """A participant's version of a task, checked."""
    from proverbench.compression.checking import check_sources
    from proverbench.compression.tasks import load_task, load_work

    task = load_task(task_folder)
    sources, misplaced = load_work(work or task_folder / "work", task)
    if misplaced:
        raise DataError.of(misplaced)
    # A project is built inside its task's folder, where fetched packages can stay.
    build = task_folder / "build" if task.spec.kind == "lake" else None
    kernel = _kernel(task.spec.heartbeats, task.spec.time_s, task.spec.memory_mb)
    return check_sources(task, sources, kernel, build_folder=build)


def _kernel(heartbeats: int, time_s: int, memory_mb: int) -> "LeanKernel | None":
    """Lean's kernel with some limits; None where it is not installed."""
    from proverbench.compression.kernel import LeanKernel, Limits, find_library

    library = find_library()
    return None if library is None else LeanKernel(library, Limits(heartbeats, time_s, memory_mb))


def _required_kernel(heartbeats: int, time_s: int, memory_mb: int) -> "LeanKernel":
    from proverbench.compression.checking import NO_LEAN

    kernel = _kernel(heartbeats, time_s, memory_mb)
    if kernel is None:
        raise DataError(NO_LEAN)
    return kernel
