"""What ``compressionbench attempt`` does."""

import asyncio
import shlex
from asyncio import AbstractEventLoop
from pathlib import Path
from threading import Event
from typing import Any

import click

from proverbench.cli.signals import EXIT_SIGINT, first_interrupt
from proverbench.cli.streams import echo, say
from proverbench.compression.attempt import Attempt, Round, attempt
from proverbench.compression.bodies.checks import required_kernel
from proverbench.compression.commands import EXIT_INVALID, EXIT_VALID
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.presenting import compare
from proverbench.compression.tasks import load_task
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.inputs.config_file import load_config


def attempt_task(task_folder: Path, config_file: Path, rounds: int, output: Path | None, unsafe: bool) -> None:
    """Let a language model shorten a task's proofs: it proposes, the check answers, the best version is kept."""
    task = load_task(task_folder)
    spec = task.spec

    def kernel() -> LeanKernel:
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


def _say_round(item: Round) -> None:
    say(f"round {item.number}: {item.outcome}" + (f", {item.count} nodes" if item.count else ""))


def _complain(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
    # A signal may end a task of aiohttp's as well as ours; that is not a fault to print.
    if not isinstance(context.get("exception"), SystemExit | KeyboardInterrupt):
        loop.default_exception_handler(context)
