"""A session from the command line: its display, its signals, what is said at its end, and its exit code."""

import asyncio
import gc
import shlex
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from functools import partial
from pathlib import Path

from proverbench.ask.drive import Driver, Listener
from proverbench.ask.executors.spread import RayExecutor
from proverbench.ask.parts import PreparedRun
from proverbench.benchmark import benchmark_of
from proverbench.cli.calibrating import command_for_run
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.progress import Display
from proverbench.cli.scores import print_scores
from proverbench.cli.signals import EXIT_OF_SIGNAL, say_stopped
from proverbench.cli.stop_signals import StopSignals
from proverbench.cli.streams import say
from proverbench.endpoints.base import STOPPED
from proverbench.errors import JournalError
from proverbench.records import GIVEN, Role, Summary
from proverbench.run.batches import open_batches
from proverbench.run.reading import open_calls
from proverbench.run.spent import spent_of

_COLLECT_EVERY = 10_000
"""Objects; Python's own default is 700, a few replies' worth."""


class Listening(Listener):
    """Shows a session on stderr."""

    def __init__(self) -> None:
        self._display: Display | None = None
        self._driver: Driver | None = None

    def say(self, message: str) -> None:
        """One line, above the live table where there is one."""
        (say if self._display is None else self._display.say)(message)

    def attach(self, driver: Driver) -> None:
        """Show this session."""
        self._driver = driver
        self._display = Display(driver.stages, driver.endpoints, driver.spent, driver.stopping)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Show its progress while calls are made."""
        assert self._display is not None
        assert self._driver is not None
        self.say(f"run folder: {self._driver.session.path}")
        with self._display as display:
            ticking = asyncio.get_running_loop().create_task(_tick(display))
            try:
                yield
            finally:
                ticking.cancel()

    def tick(self) -> None:
        """A proof is done."""
        if self._display is not None:
            self._display.tick()


async def _tick(display: Display) -> None:
    """Show life also while no answer comes, for a batch may take a day."""
    while True:
        await asyncio.sleep(1)
        display.tick()


def failure_words(role: Role, error: str, calls: int, message: str) -> str:
    """So many calls that got no answer, and what was said of one of them."""
    what = f"{calls} {'call' if calls == 1 else 'calls'} of the {role}"
    return f"{what}: {message}" if error == STOPPED else f"{what}, {error}: {message}"


class Execution:
    """One session of a run from the command line: its signals, what is said at its end, and the exit code.

    Args:
        prepared: The run, checked.
        resume: Its folder, if it is there already.
        output: The folder of a new one; None for one under ``runs/``.
        spread: Whether calls are made on a Ray cluster.
        ray_address: Of the cluster to join, where the command line names it.
        config: The config that was given; None where a resumed run keeps its own.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        *,
        resume: Path | None,
        output: Path | None,
        spread: bool,
        ray_address: str | None = None,
        config: Path | None = None,
    ) -> None:
        self._config = config
        self._listener = Listening()
        self._spread = spread
        executor = RayExecutor(say, ray_address) if spread else None
        self._driver = Driver(
            resume or output, prepared, resume=resume is not None, executor=executor, listener=self._listener
        )
        self._signals = StopSignals(self._on_first_interrupt)

    def main(self, *, final: bool, cancel: bool, give_up: bool = False) -> int:
        """Run or resume.

        Args:
            final: Whether to close what is unanswered instead of asking.
            cancel: Whether to have its batches stopped instead.
            give_up: Whether those that the provider does not know are then given up.

        Returns:
            The exit code.

        Raises:
            UserInputError: Bad input; nothing was called, nothing written.
            JournalError: The disk.
        """
        return asyncio.run(self._run(final=final, cancel=cancel, give_up=give_up))

    async def _run(self, *, final: bool, cancel: bool, give_up: bool) -> int:
        async with self._driver as driver:
            if cancel:
                return await self._cancel_batches(give_up=give_up)
            if final or not driver.lacks_anything():
                return self._without_asking(final=final)
            if self._spread:
                # Ray's start takes seconds, and it takes over SIGTERM.
                with StopSignals() as signals:
                    try:
                        await driver.begin()
                    except (asyncio.CancelledError, SystemExit) as exc:
                        by_ray = isinstance(exc, SystemExit) and exc.code == signal.SIGTERM
                        came = signals.came or (signal.SIGTERM if by_ray else None)
                        if came is None:
                            raise
                        say_stopped(came)
                        return EXIT_OF_SIGNAL[came]
            else:
                await driver.begin()
            return await self._ask(self._answers)

    async def _answers(self) -> None:
        async with aclosing(self._driver.ask()) as proofs:
            async for _ in proofs:
                pass

    def _without_asking(self, *, final: bool) -> int:
        """Close what is unanswered, or find that nothing is; no call is made."""
        keys = self._driver.close_unanswered() if final else []
        if keys:
            roles = self._driver.session.sources.manifest.identity.roles
            again = any(roles[key.role].kind != GIVEN for key in keys)
            later = "a later --resume asks them again" if again else "proofs that were not given stay zero"
            say(f"closed {len(keys)} unanswered calls as zero credit; {later}")
        else:
            say("nothing is unanswered: there is nothing to close" if final else "nothing is left to ask")
        return self._finish(self._driver.derive(anew=bool(keys)))

    async def _cancel_batches(self, *, give_up: bool) -> int:
        roles = list(open_batches(self._driver.session.sources))
        if not roles:
            say("no batch of this run is open")
            return self._finish(self._driver.derive())
        return await self._ask(partial(self._driver.cancel_batches, give_up=give_up))

    async def _ask(self, work: Callable[[], Awaitable[None]]) -> int:
        driver, signals = self._driver, self._signals
        spare_collector()
        with signals:
            try:
                await work()
            except asyncio.CancelledError:
                if signals.came is None:
                    raise
            finally:
                signals.disarm()
            if driver.fault is not None:
                say(f"error: {driver.fault}")
            try:
                summary = await driver.close(self._reason())
                assert summary is not None
            except JournalError as exc:
                if driver.fault is None:
                    say(f"error: {exc}")
                self._say_how_to_go_on()
                return EXIT_INCOMPLETE
            return self._finish(summary)

    def _reason(self) -> str:
        if self._signals.came is not None:
            return "interrupted" if self._signals.came == signal.SIGINT else "terminated"
        return self._driver.reason or "done"

    def _on_first_interrupt(self) -> None:
        driver = self._driver
        driver.stop("interrupted")
        in_flight, in_batches = driver.in_flight(), driver.in_batches()
        if self._signals.armed and (in_flight or not in_batches):
            self._listener.say(
                f"asking nothing new; {in_flight} calls in flight are saved as they come (Ctrl-C again stops at once)"
            )
        driver.leave()

    def _finish(self, summary: Summary) -> int:
        """Print the scores; the last line says how to go on."""
        session = self._driver.session
        printed = print_scores(summary, session.path)
        if not summary.complete:
            self._say_why_unanswered()
            self._say_how_to_go_on()
        elif self._driver.systematic is not None:
            say(f"error: {self._driver.systematic}. Nothing is left to ask; this score says nothing of the model")
        else:
            self._say_how_to_calibrate()
            say(f"complete; look into it with: proverbench inspect {shlex.quote(str(session.path))}")
        code = self._signals.exit_code
        if code is not None:
            return code
        sound = self._driver.systematic is None
        return EXIT_COMPLETE if summary.complete and printed and sound else EXIT_INCOMPLETE

    def _say_why_unanswered(self) -> None:
        """Which calls of this session got no answer, and what was said of them."""
        for role, count in self._driver.stages.items():
            for error, (calls, message) in count.failures.items():
                say(f"unanswered: {failure_words(role, error, calls, message)}")

    def _say_how_to_calibrate(self) -> None:
        """How to measure the judge of a ProverBench run, so that its score can be corrected."""
        session = self._driver.session
        manifest = session.sources.manifest
        if benchmark_of(manifest.identity.task).samples:
            command = command_for_run(session.path, manifest, config=self._config)
            say(f"to correct the score for the judge's own errors, measure them on annotated proofs: {command}")

    def _say_how_to_go_on(self) -> None:
        session = self._driver.session
        command = (
            f"{benchmark_of(session.sources.manifest.identity.task).command} --resume {shlex.quote(str(session.path))}"
        )
        for role, batches in open_batches(session.sources).items():
            there = [batch for batch in batches if batch.remote is not None]
            if there:
                calls, ids = sum(len(batch.numbers) for batch in there), [batch.remote for batch in there]
                say(
                    f"{calls} {role} calls are in batches, which go on at the provider ({', '.join(map(str, ids))}): "
                    f"collect them with the line below, or stop them with: {command} --cancel-batches"
                )
            for batch in batches:
                if batch.remote is None:
                    say(
                        f"whether {batch.id}, a batch of {len(batch.numbers)} {role} calls, has reached the provider "
                        "is not known yet; the line below finds out, and submits it once if it has not"
                    )
        if session.sources.manifest.identity.proofs_sha256 is not None:
            lacking = list(open_calls(session.sources))
            never_given = [key for key in lacking if key.role == "policy"]
            if never_given:
                say(
                    f"not given: {len(never_given)} of {session.sources.plan.n_proofs} proofs, the first of them "
                    f"{never_given[0].id}, sample {never_given[0].sample}; start a new run with a --proofs file that "
                    f"has them, or count them as zero with: {command} --final"
                )
                if len(lacking) == len(never_given):
                    return
        exceeded = spent_of(session.sources).budget.exceeded()
        option = "--max-cost" if "--max-cost" in (self._driver.reason or "") else ""
        option = exceeded.option if exceeded is not None else option
        more = f" {option} MORE" if option else ""
        if self._driver.systematic is not None:
            say(f"error: {self._driver.systematic}. Nothing new is asked; to go on all the same: {command}{more}")
        else:
            say(f"incomplete; go on with: {command}{more}")


def spare_collector() -> None:
    """Have the garbage collector leave alone what is there when asking begins, and come less often.

    To look through every module's objects holds the event loop up for a tenth of a second and finds nothing; what
    calls leave behind in cycles (failures with their tracebacks) is found all the same.
    """
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY, 10, 10)
