"""A session of a study from the command line: its display, its signals, what is said at its end, its exit code."""

import asyncio
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from proverbench.ask.executors.shared import OnRay
from proverbench.ask.study import DrivenRun, Study, StudyListener
from proverbench.ask.study_plan import StudyPlan
from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.matrix import print_matrix
from proverbench.cli.progress import TimeLeft
from proverbench.cli.session import failure_words, spare_collector
from proverbench.cli.signals import EXIT_OF_SIGNAL, say_stopped
from proverbench.cli.stop_signals import StopSignals
from proverbench.cli.streams import say
from proverbench.cli.tables import PlainConsole
from proverbench.metrics.registry import headlines
from proverbench.run.batches import open_batches
from proverbench.run.sources import Sources
from proverbench.spending.money import Cost

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_QUIET_EVERY_S = 60.0
_CALIBRATION = "(calibration)"


class StudyDisplay(StudyListener):
    """Shows a study on stderr: a live matrix on a terminal, a line now and then elsewhere."""

    def __init__(self) -> None:
        self._study: Study | None = None
        self._live: Live | None = None
        self._time_left = TimeLeft()
        self._notes: set[str] = set()

    def say(self, message: str) -> None:
        """One line, above the live matrix where there is one."""
        if self._live is not None:
            self._live.console.print(message)
        else:
            say(message)

    @contextmanager
    def asking(self, study: Study) -> Iterator[None]:
        """Show its progress while calls are made."""
        self._study, self._time_left = study, TimeLeft()
        self.say(f"study folder: {study.plan.folder}")
        if sys.stderr.isatty():
            self._live = Live(
                console=PlainConsole(stderr=True), get_renderable=self._matrix, refresh_per_second=2, transient=True
            )
            self._live.start()
        ticking = asyncio.get_running_loop().create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            self._say_notes()
            if self._live is not None:
                self._live.stop()
                self._live = None

    def finished(self, run: DrivenRun) -> None:
        """Its score, where it is complete."""
        self.say(f"{run.cell.name}: {_score(run) or 'stopped, incomplete'}")

    async def _tick(self) -> None:
        quiet_until = time.monotonic() + _QUIET_EVERY_S
        while True:
            await asyncio.sleep(1)
            self._say_notes()
            if self._live is None and time.monotonic() >= quiet_until:
                quiet_until = time.monotonic() + _QUIET_EVERY_S
                self.say(self._line())

    def _say_notes(self) -> None:
        states = self._study.place.states if self._study is not None else ()
        for note in [note for state in states for note in state.notes]:
            if note not in self._notes:
                self._notes.add(note)
                self.say(note)

    def _line(self) -> str:
        assert self._study is not None
        runs = self._study.runs
        stages = [count for run in runs for role, count in run.driver.stages.items() if role != "policy"]
        done, wanted = sum(count.answered for count in stages), sum(count.wanted for count in stages)
        got = sum(count.got for count in stages)
        parts = [f"{done:,} of {wanted:,} judgments", f"{self._study.in_flight} in flight"]
        if self._study.in_batches:
            parts.append(f"{self._study.in_batches:,} in batches")
        parts.append(f"{sum(run.complete for run in runs)} of {len(runs)} runs complete")
        spent = [run.driver.spent for run in runs if run.asks and run.driver.stages]
        if any(one.priced for one in spent):
            parts.append(str(sum((one.budget.cost for one in spent), Cost(0.0))))
        if wanted > done:
            parts.append(self._time_left.words(got, wanted - done, self._study.judging))
        return ", ".join(parts)

    def _matrix(self) -> "RenderableType":
        assert self._study is not None
        runs = self._study.runs
        judges = list(dict.fromkeys(run.cell.judge for run in runs))
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        for judge in judges:
            table.add_column(judge, justify="right")
        cells = {(run.cell.policy, run.cell.judge): _cell(run) for run in runs}
        for policy in dict.fromkeys(run.cell.policy for run in runs):
            name = _CALIBRATION if policy is None else policy
            table.add_row(name, *(cells.get((policy, judge), "") for judge in judges))
        return Group(table, Text(self._line()))


def _score(run: DrivenRun) -> str | None:
    """The headline of a complete run, in words."""
    part = run.summary.splits["all"] if run.summary is not None and run.summary.complete else None
    if part is None or part.metrics is None:
        return None
    name = next(name for name in headlines(run.planned.task) if part.metrics.get(name) is not None)
    return f"{name} {part.metrics[name]:.3f}"


def _cell(run: DrivenRun) -> str:
    """How far a run is."""
    if (score := _score(run)) is not None:
        return score
    count = run.driver.stages.get("verifier")
    if run.trouble is not None:
        return "failed"
    if count is None:
        return ""
    valid = f", {count.valid / count.got:.0%} valid" if count.got else ""
    cost = f", {run.driver.spent.budget.cost}" if run.driver.spent.priced else ""
    return f"{count.answered}/{count.wanted}{valid}{cost}"


class StudyExecution:
    """One session of a study from the command line.

    Args:
        plan: The study, checked.
        spread: Whether calls are made on a Ray cluster.
        ray_address: Of the cluster to join, where the command line names it.
    """

    def __init__(self, plan: StudyPlan, *, spread: bool = False, ray_address: str | None = None) -> None:
        self._display = StudyDisplay()
        self._spread = " --executor ray" if spread else ""
        place = OnRay(self._display.say, ray_address) if spread else None
        self._study = Study(plan, listener=self._display, place=place)
        self._signals = StopSignals(self._on_first_interrupt)

    def main(self) -> int:
        """Ask whatever is lacking; returns the exit code.

        Raises:
            UserInputError: Bad input; nothing was called, nothing written.
            JournalError: The disk, or another process.
        """
        return asyncio.run(self._run())

    async def _run(self) -> int:
        async with AsyncExitStack() as stack:
            with StopSignals() as opening:
                try:
                    await stack.enter_async_context(self._study)
                except (asyncio.CancelledError, SystemExit) as exc:
                    by_ray = isinstance(exc, SystemExit) and exc.code == signal.SIGTERM  # it takes SIGTERM over
                    came = opening.came or (signal.SIGTERM if by_ray else None)
                    if came is None:
                        raise
                    say_stopped(came)
                    return EXIT_OF_SIGNAL[came]
            spare_collector()
            with self._signals as signals:
                await self._study.ask(self._why_at_once)
                signals.disarm()
                await stack.aclose()
                return self._finish()

    def _why_at_once(self) -> str | None:
        came = self._signals.came
        return None if came is None else "interrupted" if came == signal.SIGINT else "terminated"

    def _on_first_interrupt(self) -> None:
        self._study.stop("interrupted")
        if self._signals.armed and (self._study.in_flight or not self._study.in_batches):
            self._display.say(
                f"asking nothing new; {self._study.in_flight} calls in flight are saved as they come (Ctrl-C again "
                "stops at once)"
            )
        self._study.leave()

    def _finish(self) -> int:
        """Print the matrix and what went wrong; the last line says how to go on."""
        study = self._study
        if not any(run.asks for run in study.runs):
            say("nothing is left to ask")
        printed = print_matrix(study.plan.folder)
        for run in study.runs:
            for role, count in run.driver.stages.items():
                for error, (calls, message) in count.failures.items():
                    say(f"{run.cell.name}: unanswered: {failure_words(role, error, calls, message)}")
            if run.summary is not None and not run.complete:
                _say_batches(run)
            if run.trouble is not None:
                say(f"error: {run.cell.name}: {run.trouble}")
        whole = all(run.complete for run in study.runs)
        sound = not any(run.trouble for run in study.runs)
        command = f"proverbench study {_command_path(study.plan)}{self._spread}"
        if whole:
            say(f"complete; look into it with: proverbench report {shlex.quote(str(study.plan.folder))}")
        else:
            say(f"incomplete; go on with: {command}")
        code = self._signals.exit_code
        if code is not None:
            return code
        return EXIT_COMPLETE if whole and sound and printed else EXIT_INCOMPLETE


def _say_batches(run: DrivenRun) -> None:
    """Which of its calls are in batches that go on."""
    with closing(Sources(run.cell.path)) as sources:
        left = open_batches(sources)
    command = benchmark_of(run.planned.task).command
    for role, batches in left.items():
        calls = sum(len(batch.numbers) for batch in batches)
        say(
            f"{run.cell.name}: {calls} {role} calls are in batches, which go on at the provider: the line below "
            f"collects them; to stop them: {command} --resume {shlex.quote(str(run.cell.path))} --cancel-batches"
        )


def _command_path(plan: StudyPlan) -> str:
    default = Path("studies") / plan.file.path.stem
    there = plan.folder in (default, plan.file.path.parent)
    return str(plan.file.path) if there else f"{plan.file.path} --output {plan.folder}"
