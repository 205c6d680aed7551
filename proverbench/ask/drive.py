"""The one driver of a session: open a run, ask what it lacks, keep to its budget, close it, derive its scores.

Commands, Python's generators, workers on a cluster and studies all use it. They differ in who listens
(:class:`Listener`), where calls are made (:class:`~proverbench.ask.executors.base.Executor`) and whose budget it is
(:class:`~proverbench.ask.budget.BudgetWatch`).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from proverbench.ask.budget import BudgetWatch
from proverbench.ask.executors.base import Asker, Executor, HasState
from proverbench.ask.executors.local import LocalExecutor
from proverbench.ask.executors.shards import take_back
from proverbench.ask.parts import PreparedRun
from proverbench.ask.progress import StageCount
from proverbench.ask.reserve import Share
from proverbench.benchmark import benchmark_of
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.errors import ConfigError, ProverBenchError
from proverbench.inputs.config import check_environment
from proverbench.records import GIVEN, AttemptLine, CallKey, CallLine, Role, Summary
from proverbench.run.batches import open_batches
from proverbench.run.folder import begin_derived, update_derived, write_derived
from proverbench.run.naming import new_run_path
from proverbench.run.reading import open_calls
from proverbench.run.session import Session
from proverbench.run.sources import Sources
from proverbench.run.spent import spent_of
from proverbench.spending.budget import Spent
from proverbench.spending.usage import normalise_usage

A = TypeVar("A", bound=Asker)


class Listener:
    """Hears what a session has to say and shows how far it is; this one is silent."""

    def say(self, message: str) -> None:
        """One message to the user."""

    def attach(self, driver: "Driver") -> None:
        """The session is about to ask: its counts and endpoints can be read from now on."""

    def asking(self) -> AbstractContextManager[object]:
        """Lasts while calls are made."""
        return nullcontext()

    def tick(self) -> None:
        """Called whenever a proof is done."""


class Driver:
    """Drives one session of a run.

    Use it with ``async with``: entering opens a run that is there already, leaving closes everything. In between,
    :meth:`begin` and then :meth:`ask`; or :meth:`close_unanswered`; or :meth:`cancel_batches`; then, if the caller
    wants the summary or a stop reason of its own, :meth:`close`.

    Args:
        path: The run's folder. None for a new one under ``runs/``.
        prepared: What the run is to become. None: it stays as it is.
        resume: Whether the run is there already.
        executor: Where calls are made; by default in this process, at endpoints that this driver opens.
        listener: Who hears and shows.
        budget: A budget that other sessions share; by default the limits of the run's own manifest.
        derives: Whether records, summary and timing are written; a cluster's shard has none.
        spent: Says what of a run counts as spent.

    Attributes:
        spent: What the run has spent; there once asking begins.
        afford: Its share of what is set aside under a cap on the cost; None without one.
    """

    def __init__(
        self,
        path: Path | None,
        prepared: PreparedRun | None = None,
        *,
        resume: bool,
        executor: Executor[Any] | None = None,
        listener: Listener | None = None,
        budget: BudgetWatch | None = None,
        derives: bool = True,
        spent: Callable[[Sources], Spent] = spent_of,
    ) -> None:
        self._path = path
        self._resume = resume
        self._prepared = prepared
        self._batched = () if prepared is None else prepared.batched
        self._executor: Executor[Any] = executor or LocalExecutor()
        self._clients = None if prepared is None else BatchClients(prepared.config)
        self.listener = listener or Listener()
        self._budget = budget
        self._derives = derives
        self._spent_so_far = spent
        self._session: Session | None = None
        self._asker: Asker | None = None
        self._begun = prepared is None
        self._closed = False
        self._stop_reason: str | None = None
        self.spent: Spent
        self.afford: Share | None = None

    async def __aenter__(self) -> Self:
        """Open a run that is there already, and make sure that it may become what is wanted.

        Raises:
            RunMismatchError: If it may not.
            JournalError: If another process writes it, or it is damaged.
        """
        try:
            if self._resume:
                assert self._path is not None
                self._session = session = Session(self._path, on_start=self._on_start())
                if await take_back(session, self.listener.say) and self._derives:
                    write_derived(session.sources)
                if self._prepared is not None:
                    session.check_growth(self._prepared.draft)
        except BaseException:
            await self._release()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._asker is not None and not self._closed:
                left = "done" if exc is None else f"fatal: {exc}" if isinstance(exc, ProverBenchError) else "left"
                await self.close(self.reason or left)
        finally:
            await self._release()

    async def _release(self) -> None:
        try:
            try:
                if self._clients is not None:
                    await self._clients.aclose()
            finally:
                await self._executor.aclose()
        finally:
            if self._session is not None:
                self._session.release()

    def _on_start(self) -> Callable[[Sources], object] | None:
        return begin_derived if self._derives else None

    @property
    def session(self) -> Session:
        """The run, open for writing; that of a new run once :meth:`begin` has made it."""
        assert self._session is not None, "a new run is made by begin()"
        return self._session

    @property
    def reason(self) -> str | None:
        """Why nothing new is asked; None while the run goes, or when all was asked."""
        return self._stop_reason if self._asker is None else self._asker.reason

    @property
    def fault(self) -> ProverBenchError | None:
        """What ended the session, if a fault did."""
        return None if self._asker is None else self._asker.fault

    @property
    def systematic(self) -> str | None:
        """Why nothing new is asked, where every reply of a role was bad for one reason."""
        return None if self._asker is None else self._asker.systematic

    def lacks_anything(self) -> bool:
        """Whether there may be something to ask; otherwise no endpoint need be opened."""
        if self._session is None or self._prepared is None:
            return True
        return self._session.lacks_anything(self._prepared.draft)

    async def begin(self) -> None:
        """Open the endpoints, then make or grow the run: when one cannot be opened, nothing is left behind.

        Raises:
            ConfigError: If an endpoint cannot be opened as configured.
            RunMismatchError: If the folder of a new run is taken.
            JournalError: If the disk refuses it.
        """
        prepared = self._prepared
        assert prepared is not None
        assert self._clients is not None
        draft = prepared.draft
        roles: list[Role] = [role for role, identity in draft.identity.roles.items() if identity.kind != GIVEN]
        await self._executor.open(prepared.config, draft, roles, self._session)
        for role in self._batched:
            self._clients.of(role)  # an SDK takes seconds to load
        if self._session is not None:
            self._session.grow(draft)
        else:
            benchmark = benchmark_of(draft.identity.task)
            model = draft.identity.roles[benchmark.subject].model
            judge = draft.identity.roles["verifier"].model if _is_judged_again(prepared) else None
            path = self._path or new_run_path(Path("runs"), benchmark.task, model, judge)
            self._session = Session.create(path, draft, on_start=self._on_start())
        self._begun = True
        self._prepared = None  # the rows are in the run's folder now

    async def ask(self) -> AsyncGenerator[int, None]:
        """Ask until everything is answered or the session is stopped; a run that was not begun asks nothing.

        Yields:
            Numbers of proofs whose calls are all done, answered or not, in order of completion.
        """
        if not self._begun:
            for proof in range(self.session.sources.plan.n_proofs):
                yield proof
            self.derive()
            return
        self.session.reopen_closed()
        asker = self._begin_asking(self._executor)
        with self.listener.asking():
            async with aclosing(asker.run()) as proofs:
                async for proof in proofs:
                    self.listener.tick()
                    yield proof

    async def cancel_batches(self, *, give_up: bool = False) -> None:
        """Have the providers stop the batches that earlier sessions left, and keep what they had done.

        Args:
            give_up: Whether batches that a provider does not know are given up.

        Raises:
            ConfigError: If an environment variable is missing.
        """
        if self._prepared is not None:
            check_environment(self._prepared.config, list(open_batches(self.session.sources)))
        asker = self._begin_asking(LocalExecutor({}))
        with self.listener.asking():
            await asker.cancel_batches(give_up=give_up)

    def _begin_asking(self, executor: Executor[A]) -> A:
        session = self.session
        self.spent = self._spent_so_far(session.sources)
        if self._budget is None:
            own = self.spent.budget
            self._budget = BudgetWatch(own.max_cost_usd, own.max_tokens_total)
        self.afford = self._budget.join(self)
        asker = executor.asker(session, self, clients=self._clients, batched=self._batched, say=self.listener.say)
        self._asker = asker
        self.listener.attach(self)
        if self._stop_reason is not None:
            asker.stop(self._stop_reason)
        self.check_budget()  # what earlier sessions spent may be all there is
        return asker

    def count(self, line: CallLine | AttemptLine) -> None:
        """Add up an answer, or a reply that was broken off, that was saved; stop if the budget is used up."""
        self.spent.add(line)
        if self.afford is not None and isinstance(line, CallLine):
            usage, batch = normalise_usage(line.usage), line.batch is not None
            self.afford.whole.observe(self.afford.named(line.role), usage, batch=batch)
        self.check_budget()

    def check_budget(self) -> None:
        """Stop if the budget is used up."""
        if self._budget is not None:
            self._budget.check()

    @property
    def endpoints(self) -> Mapping[Role, HasState]:
        """Role → its endpoint, for what it does at the moment."""
        return self._executor.endpoints

    @property
    def stages(self) -> Mapping[Role, StageCount]:
        """Role → how far it is; empty until asking begins."""
        return {} if self._asker is None else self._asker.progress.stages

    def in_flight(self) -> int:
        """Calls that wait for their answer at this moment."""
        return sum(self.endpoints[role].state.awaiting[role] for role in self.stages if role in self.endpoints)

    def in_batches(self) -> int:
        """Calls in batches that are waited for."""
        return sum(count.in_batches for count in self.stages.values())

    def stopping(self) -> bool:
        """True once nothing new is asked."""
        return self.reason is not None

    def stop(self, reason: str) -> None:
        """Ask nothing new; what is in flight is saved as it comes."""
        self._stop_reason = self._stop_reason or reason
        if self._asker is not None:
            self._asker.stop(reason)

    def leave(self) -> None:
        """Wait for no batch any more; they go on at the provider, and a later session collects them."""
        if self._asker is not None:
            self._asker.leave()

    def close_unanswered(self) -> list[CallKey]:
        """Count what is unanswered as zero credit (``--final``); returns those calls.

        Raises:
            ConfigError: If the run was to grow at the same time.
            JournalError: If the disk refuses it.
        """
        session = self.session
        if self._prepared is not None and self._prepared.draft.manifest.run_id != session.sources.manifest.run_id:
            raise ConfigError("--final closes the run as it is; ask for more in a step of its own, without --final")
        keys = list(open_calls(session.sources))
        if keys:
            session.close_unanswered(keys)
        return keys

    async def close(self, reason: str, *, aside: bool = False) -> Summary | None:
        """Say in the journal why the session stopped, if it asked anything, and bring what is derived up to date.

        Args:
            reason: Why.
            aside: Whether that is done in a thread, because other sessions of this process go on.

        Returns:
            The summary; None of a shard.

        Raises:
            JournalError: If the disk refuses it.
        """
        self._closed = True
        await self.session.stop(reason)
        if not self._derives:
            return None
        return await asyncio.to_thread(self.derive) if aside else self.derive()

    def derive(self, *, anew: bool = False) -> Summary:
        """Bring records, summary and timing up to date.

        Args:
            anew: Whether the run has certainly changed; a session that asked has changed it.

        Raises:
            JournalError: If the disk refuses it.
        """
        session = self.session
        return (write_derived if anew or session.started else update_derived)(session.sources)


def _is_judged_again(prepared: PreparedRun) -> bool:
    """Whether the proofs were there already: given, or those of a saved run."""
    policy = prepared.draft.identity.roles.get("policy")
    if policy is None:
        return False
    settings = prepared.config.roles.get("policy")
    return policy.kind == GIVEN or (settings is not None and settings.endpoint.run is not None)
