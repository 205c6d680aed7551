"""Drives all runs of a study in one process: each proof written once, one limit an endpoint, one budget.

The runs are ordinary ones, each with a driver of its own (drive.py); here is what they share.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, closing, nullcontext, suppress
from pathlib import Path
from typing import Self

from proverbench.ask.budget import BudgetWatch
from proverbench.ask.drive import Driver, Listener
from proverbench.ask.executors.shared import Here, Place
from proverbench.ask.reserve import JudgingShare, Share
from proverbench.ask.study_plan import PlannedRun, StudyPlan
from proverbench.ask.study_proofs import OpenSources, copy_proofs, has_proofs
from proverbench.errors import ProverBenchError
from proverbench.inputs.study import role_name
from proverbench.records import Role, Summary
from proverbench.run.disk import disk, write_whole
from proverbench.run.lock import RunLock
from proverbench.run.sources import Sources
from proverbench.run.spent import spent_of
from proverbench.run.study import STUDY_FILE, Cell
from proverbench.spending.money import Spending


class StudyListener:
    """Hears what a study has to say and shows how far it is; this one is silent."""

    def say(self, message: str) -> None:
        """One message to the user."""

    def asking(self, study: "Study") -> AbstractContextManager[object]:
        """Lasts while calls are made."""
        return nullcontext()

    def finished(self, run: "DrivenRun") -> None:
        """A run has ended."""


class DrivenRun:
    """A run of a study while the study goes.

    Attributes:
        planned: What it is to become.
        driver: Drives it.
        summary: Once it has ended.
        fault: What kept it from going on, if a fault did.
        asks: Whether there may be something to ask.
    """

    def __init__(self, planned: PlannedRun, study: "Study") -> None:
        self.planned = planned
        self.summary: Summary | None = None
        self.fault: ProverBenchError | None = None
        self.asks = False
        self.driver = Driver(
            planned.cell.path,
            planned.prepared,
            resume=planned.cell.exists,
            executor=study.place.executor(self),
            listener=_RunListener(planned.cell.name, study.listener),
            budget=study.budget,
        )

    @property
    def cell(self) -> Cell:
        """Its place in the study."""
        return self.planned.cell

    @property
    def name(self) -> str:
        """What the study calls it."""
        return self.cell.name

    @property
    def group(self) -> str:
        """Runs of one policy; a calibration is one for itself."""
        return self.cell.policy or self.cell.name

    @property
    def roles(self) -> Mapping[Role, str]:
        """Role that calls go to → what the study calls it."""
        return self.planned.roles

    def afford(self) -> Share | None:
        """Its part of what is set aside under a cap on the cost."""
        return self.driver.afford

    @property
    def complete(self) -> bool:
        """Whether everything is answered, or closed."""
        return self.summary is not None and self.summary.complete

    @property
    def trouble(self) -> str | None:
        """Why it stopped, where it did so for itself."""
        fault = self.fault or self.driver.fault
        return self.driver.systematic if fault is None else str(fault)


class Study:
    """One session of a study.

    Args:
        plan: The study, checked.
        listener: Who hears and shows.
        place: Where calls are made; by default in this process.

    Attributes:
        runs: Those that the file wants.
    """

    def __init__(self, plan: StudyPlan, *, listener: StudyListener | None = None, place: Place | None = None) -> None:
        self.plan = plan
        self.place: Place = place or Here()
        self.listener = listener or StudyListener()
        self._others: dict[str, Spending] = {}
        settings = plan.file.settings
        self.budget = BudgetWatch(
            settings.max_cost,
            settings.max_tokens_total,
            others=self._others,
            say=self.listener.say,
            in_flight=lambda: self.in_flight + self.in_batches,
            share=JudgingShare,
        )
        self.runs = [DrivenRun(run, self) for run in plan.runs]
        self._asking: list[DrivenRun] = []
        self._stack = AsyncExitStack()
        self._reason: str | None = None

    async def __aenter__(self) -> Self:
        """Open the runs and whatever endpoints they need, make and grow runs; nothing is asked yet.

        Raises:
            ConfigError: If an endpoint cannot be opened as configured.
            JournalError: If another process drives the study.
        """
        folder = self.plan.folder
        with disk(folder):
            folder.mkdir(parents=True, exist_ok=True)
        async with AsyncExitStack() as stack:
            stack.callback(_remove_if_empty, folder)
            stack.enter_context(RunLock(folder))
            await self._open(stack)
            asking = [run for run in self.runs if run.asks]
            if asking:
                stack.push_async_callback(self.place.aclose)
                await self._begin(asking)
                for run in asking:
                    if run.fault is not None:
                        await self.place.leave(run)
                self._asking = [run for run in asking if run.fault is None]
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ask(self, reason: Callable[[], str | None] = lambda: None) -> None:
        """Ask whatever the runs lack.

        Args:
            reason: Why everything was stopped at once, when the task is cancelled.
        """
        if self._asking:
            self.place.expect(self._asking)
            await self._ask(self._asking, reason)
        for run in self.runs:
            if run.summary is None and run.fault is None:
                run.summary = run.driver.derive()

    async def _open(self, stack: AsyncExitStack) -> None:
        """Open the runs that are there, and see which lack something."""
        for run in self.runs:
            try:
                await stack.enter_async_context(run.driver)
                run.asks = run.driver.lacks_anything()
            except ProverBenchError as exc:
                run.fault = exc
                continue
            if not run.asks:
                self._count(run.cell, run.driver.session.sources)
        for cell in self.plan.others:
            with closing(Sources(cell.path)) as sources:
                self._count(cell, sources)

    def _count(self, cell: Cell, sources: Sources) -> None:
        """Take what a run that is not asked has spent for part of the budget."""
        if self.plan.file.settings.max_cost is not None or self.plan.file.settings.max_tokens_total is not None:
            spent = spent_of(sources).budget.roles
            self._others |= {f"{cell.name}:{role}": spending for role, spending in spent.items()}

    async def _begin(self, asking: list[DrivenRun]) -> None:
        """Open the endpoints, then make or grow the runs, then give each the proofs that another one has."""
        whole = self.plan.file.whole_config()
        written = {role_name("policy", name) for name in self.plan.file.policies if self._is_written(name, asking)}
        wanted = {name for run in asking for name in run.planned.roles.values()} - written
        before = dict.fromkeys(wanted, 0)
        for run in asking:
            if run.cell.exists:
                ledger = run.driver.session.sources.ledger
                for role, name in run.planned.roles.items():
                    if name in before:
                        before[name] += ledger.count(role)
        names = [name for name in whole.roles if name in wanted]
        rows = sum(len(run.planned.prepared.draft.rows) for run in asking)
        await self.place.open(whole, names, before, rows)
        file, kept = self.plan.file.path.read_bytes(), self.plan.folder / STUDY_FILE
        if not kept.exists() or kept.read_bytes() != file:
            write_whole(kept, file)
        for run in asking:
            try:
                await run.driver.begin()
            except ProverBenchError as exc:
                run.fault = exc
        for policy in self.plan.file.policies:
            self._copy_proofs(policy, [run for run in asking if run.cell.policy == policy and run.fault is None])

    def _is_written(self, policy: str, asking: list[DrivenRun]) -> bool:
        """Whether the runs have every proof of a policy, one or the other, so that it need not be asked."""
        wanting = [run for run in asking if run.cell.policy == policy]
        if not wanting:
            return True
        with OpenSources() as there:
            sources = self._sources_of(policy, [run for run in wanting if run.cell.exists], there)
            return all(has_proofs(run.planned.prepared.draft, [*sources.values()]) for run in wanting)

    def _sources_of(self, policy: str, asking: list[DrivenRun], there: OpenSources) -> dict[str, Sources]:
        """Run → its sources, of all runs of a policy: those that are asked, that have everything, that are kept."""
        sources = {run.cell.name: run.driver.session.sources for run in asking}
        done = [run.cell for run in self.runs if run.cell.policy == policy and not run.asks and run.fault is None]
        for cell in [*done, *(cell for cell in self.plan.others if cell.policy == policy)]:
            sources[cell.name] = there.open(cell.path)
        return sources

    def _copy_proofs(self, policy: str, asking: list[DrivenRun]) -> None:
        """Give each run of a policy the proofs that another one has: each is asked and paid once."""
        if self.plan.file.policies[policy].role is None or not asking:
            return
        with OpenSources() as there:
            sources = self._sources_of(policy, asking, there)
            for run in asking:
                try:
                    copy_proofs(run.driver.session, run.cell.name, sources)
                except ProverBenchError as exc:
                    run.fault = exc

    async def _ask(self, asking: list[DrivenRun], reason: Callable[[], str | None]) -> None:
        with self.listener.asking(self):
            tasks = [asyncio.ensure_future(self._drive(run)) for run in asking]
            try:
                await asyncio.gather(*tasks)
            except asyncio.CancelledError:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                for run in asking:
                    if run.summary is None and run.fault is None:
                        await self._end(run, reason() or "left")
                if reason() is None:
                    raise

    async def _drive(self, run: DrivenRun) -> None:
        try:
            async with aclosing(run.driver.ask()) as proofs:
                async for _ in proofs:
                    pass
        except ProverBenchError as exc:
            run.fault = exc
        finally:
            await self.place.leave(run)
        await self._end(run, self._reason or run.driver.reason or "done")

    async def _end(self, run: DrivenRun, reason: str) -> None:
        try:
            run.summary = await run.driver.close(reason, aside=True)
        except ProverBenchError as exc:
            run.fault = run.fault or exc
        self.listener.finished(run)

    def stop(self, reason: str) -> None:
        """Ask nothing new; what is in flight is saved as it comes."""
        self._reason = reason
        for run in self.runs:
            if run.asks:
                run.driver.stop(reason)

    def leave(self) -> None:
        """Wait for no batch any more; they go on at the provider, and a later session collects them."""
        for run in self.runs:
            if run.asks:
                run.driver.leave()

    @property
    def in_batches(self) -> int:
        """Calls in batches that are waited for."""
        return sum(run.driver.in_batches() for run in self.runs if run.asks)

    @property
    def in_flight(self) -> int:
        """Calls that wait for their answer at this moment."""
        return sum(sum(state.awaiting.values()) for state in self.place.states)

    @property
    def judging(self) -> int:
        """Of these, those to judges."""
        awaiting = [(name, calls) for state in self.place.states for name, calls in state.awaiting.items()]
        return sum(calls for name, calls in awaiting if not name.startswith(role_name("policy", "")))


def _remove_if_empty(folder: Path) -> None:
    """Nothing was asked, so nothing is left behind."""
    with suppress(OSError):
        folder.rmdir()


class _RunListener(Listener):
    """Passes on what one run has to say, with its name."""

    def __init__(self, name: str, listener: StudyListener) -> None:
        self._name = name
        self._listener = listener

    def say(self, message: str) -> None:
        self._listener.say(f"{self._name}: {message}")
