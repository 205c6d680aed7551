"""What `run` and `verifierbench` share: options, the run itself, and how it ends."""

import asyncio
import gc
import signal
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, EXIT_OF_SIGNAL, heeded_signals, say, say_stopped
from proverbench.errors import ConfigError, JournalError
from proverbench.records import GIVEN, RUN_COMMANDS, Role, Task

if TYPE_CHECKING:
    from proverbench.ask.executors.cluster import Cluster, ClusterPipeline
    from proverbench.ask.pipeline import Progress
    from proverbench.ask.prepare import Prepared
    from proverbench.endpoints.base import Caller
    from proverbench.endpoints.batch import BatchClients
    from proverbench.records import AttemptLine, CallLine, Summary
    from proverbench.run.session import Draft, Session
    from proverbench.run.sources import Sources

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
_COLLECT_EVERY = 10_000
"""Objects; Python's own default is 700, a few replies' worth."""


def shared_options(*, data: str, repeats: int, reference_shown: bool) -> Callable[[F], F]:
    """The options that both benchmarks have.

    Args:
        data: What a row of the data file is.
        repeats: Judgments of each proof unless --verifier-repeats says otherwise.
        reference_shown: Whether judges see the reference solution unless the switch says otherwise.
    """
    options = [
        click.option("--data", type=FILE, metavar="FILE", help=f"JSONL file of {data} (docs/data.md)."),
        click.option(
            "--config",
            type=FILE,
            metavar="FILE",
            help="TOML file of models and endpoints; see configs/, docs/configs.md.",
        ),
        click.option(
            "--verifier-repeats",
            "repeats",
            type=click.IntRange(min=1),
            metavar="R",
            help=f"Judgments of each proof. [default: {repeats}]",
        ),
        click.option("--output", type=FILE, metavar="DIR", help="Folder of the run. [default: runs/TASK-MODEL-DATE]"),
        click.option("--domain", metavar="NAME", help="Only rows of this domain, e.g. ugd or qe. [default: all]"),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            metavar="N",
            help="Only the first N rows (of the domain). [default: all]",
        ),
        click.option("--shard", metavar="i/n", help="Only this part of the problems (1-based); join with merge."),
        click.option(
            "--use-reference-solution/--no-use-reference-solution",
            "use_reference_solution",
            default=None,
            help=f"Show judges the reference solution. [default: {'on' if reference_shown else 'off'}]",
        ),
        click.option("--verifier-prompt", type=FILE, metavar="FILE", help="Your verifier prompt instead of ours."),
        click.option("--no-neutralise", is_flag=True, help="Show judges the tags that stand in proofs as they are."),
        click.option("--dry-run", is_flag=True, help="Check everything, print call budget and cost; call nothing."),
        click.option("--resume", type=FILE, metavar="DIR", help="Go on with this run; asks only what is unanswered."),
        click.option("--final", is_flag=True, help="With --resume: count what is unanswered as zero; calls nothing."),
        click.option(
            "--max-cost",
            type=click.FloatRange(min=0, min_open=True),
            metavar="USD",
            help="Stop at this cost, in US dollars.",
        ),
        click.option(
            "--max-tokens-total", type=click.IntRange(min=1), metavar="N", help="Stop at this many, prompts included."
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(min=1),
            metavar="N",
            help="Calls in flight at each endpoint. [default: the config's]",
        ),
        click.option(
            "--executor",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Where calls are made: in this process, or on a Ray cluster (docs/many-machines.md).",
        ),
        click.option(
            "--batch",
            is_flag=False,
            flag_value="all",
            metavar="[ROLES]",
            help="Ask in the provider's batches, at half price (docs/batch.md); of some roles: --batch policy,meta.",
        ),
        click.option(
            "--cancel-batches", is_flag=True, help="With --resume: have the providers stop open batches; asks nothing."
        ),
    ]

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def execute(task: Task, prompts: Mapping[Role, Path | None], given: dict[str, Any]) -> int:
    """Run or resume a benchmark from the command line.

    Args:
        task: Which benchmark.
        prompts: The user's own templates, where given.
        given: The command's other options, by name.

    Returns:
        The exit code.

    Raises:
        UserInputError: Bad input; nothing was called, nothing written.
        JournalError: The disk.
    """
    from proverbench.ask.prepare import Options, prepare_new, prepare_resumed
    from proverbench.run.session import refuse_taken

    output, resume = given.pop("output"), given.pop("resume")
    final, dry_run, cancel = given.pop("final"), given.pop("dry_run"), given.pop("cancel_batches")
    spread = given.pop("executor") == "ray"
    options = Options(
        prompts={role: path for role, path in prompts.items() if path is not None},
        neutralise=False if given.pop("no_neutralise") else None,
        max_cost_usd=given.pop("max_cost"),
        **given,
    )
    if resume is not None and output is not None:
        raise ConfigError("--output cannot be given with --resume: the run stays in its folder")
    if final and resume is None:
        raise ConfigError("--final closes a saved run, so it needs --resume DIR")
    if cancel and resume is None:
        raise ConfigError("--cancel-batches stops the batches of a saved run, so it needs --resume DIR")
    if cancel and final:
        raise ConfigError("--cancel-batches and --final are two steps; cancel first")
    if output is not None:
        refuse_taken(output)
    prepared = prepare_new(task, options) if resume is None else prepare_resumed(task, resume, options)
    if dry_run:
        from proverbench.cli.estimate import print_estimate

        print_estimate(prepared, resume)
        return EXIT_COMPLETE
    if spread and prepared.batched:
        raise ConfigError("--batch cannot be given with --executor ray: one process is enough to ask in batches")
    execution = _Execution(task, prepared, resume=resume, output=output, spread=spread)
    del prepared  # _Execution gives the rows up once they are in the run's folder
    return asyncio.run(execution.run(final=final, cancel=cancel))


class _Execution:
    """One session of a run: callers, pipeline, display, signals, and the derived files at the end."""

    def __init__(
        self, task: Task, prepared: "Prepared", *, resume: Path | None, output: Path | None, spread: bool
    ) -> None:
        self._task: Task = task
        self._draft: Draft | None = prepared.draft
        self._config = prepared.config
        self._batched = prepared.batched
        self._resume = resume
        self._output = output
        self._spread = spread
        self._cluster: Cluster | None = None
        self._signal: int | None = None
        self._asking = True
        self._progress: Progress | None = None
        self._told_unknown = False

    async def run(self, *, final: bool, cancel: bool) -> int:
        from proverbench.endpoints.batch import BatchClients
        from proverbench.endpoints.factory import close_callers, open_callers
        from proverbench.run.session import Session, new_run_path

        draft, config = self._draft, self._config
        assert draft is not None
        roles = [role for role, identity in draft.identity.roles.items() if identity.kind != GIVEN]
        clients = BatchClients(config)
        session = None if self._resume is None else Session(self._resume, on_start=_begin_derived)
        try:
            if session is not None:
                await _take_back(session)
                session.check_growth(draft)
                if cancel:
                    return await self._cancel_batches(session, clients)
                if final or not session.lacks_anything(draft):
                    return self._without_asking(session, draft, final=final)
            # Endpoints before anything is written: when one cannot be opened as configured, nothing is left behind.
            opened: dict[str, Caller] = {}
            if self._spread:
                await self._open_cluster(session, draft, roles)
            else:
                opened = await open_callers(
                    config,
                    roles,
                    concurrency=draft.operation.get("concurrency"),
                    answered_before={role: session.sources.ledger.count(role) for role in roles if session},
                )
            callers = {role: opened[role] for role in roles if role in opened}
            try:
                for role in self._batched:
                    clients.of(role)  # an SDK takes seconds to load
                if session is None:
                    model = draft.identity.roles["policy" if self._task == "prover" else "verifier"].model
                    path = self._output or new_run_path(Path("runs"), self._task, model)
                    session = Session.create(path, draft, on_start=_begin_derived)
                else:
                    session.grow(draft)
                self._draft = draft = None
                return await self._ask(session, callers, clients)
            finally:
                await close_callers(opened)
                if self._cluster is not None:
                    await self._cluster.aclose()
        finally:
            await clients.aclose()
            if session is not None:
                session.release()

    async def _open_cluster(self, session: "Session | None", draft: "Draft", roles: "list[Role]") -> None:
        from proverbench.ask.batching import open_batches
        from proverbench.ask.executors.cluster import Cluster

        if session is not None and open_batches(session.sources):
            raise ConfigError(f"{session.path} has open batches; collect them first, without --executor ray")
        main, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert main is not None
        came: list[signal.Signals] = []

        def stop(number: signal.Signals) -> None:
            came.append(number)
            main.cancel()

        for number in heeded_signals():
            loop.add_signal_handler(number, stop, number)
        try:
            self._cluster = await Cluster.open(
                self._config,
                roles,
                concurrency=draft.operation.get("concurrency"),
                rows=len(draft.rows),
                say=say,
            )
        except (asyncio.CancelledError, SystemExit) as exc:
            if isinstance(exc, SystemExit) and exc.code == signal.SIGTERM:  # so Ray does while it starts
                came.append(signal.SIGTERM)
            if not came:
                raise
            say_stopped(came[0])
            raise click.exceptions.Exit(EXIT_OF_SIGNAL[came[0]]) from None

    def _without_asking(self, session: "Session", draft: "Draft", *, final: bool) -> int:
        """Close what is unanswered, or find that nothing is; no call is made."""
        from proverbench.run.folder import update_derived, write_derived
        from proverbench.run.reading import open_calls

        if final and draft.manifest.run_id != session.sources.manifest.run_id:
            raise ConfigError("--final closes the run as it is; ask for more in a step of its own, without --final")
        keys = list(open_calls(session.sources)) if final else []
        if not keys:
            say("nothing is unanswered: there is nothing to close" if final else "nothing is left to ask")
            return self._finish(session, update_derived(session.sources))
        session.close_unanswered(keys)
        roles = session.sources.manifest.identity.roles
        again = any(roles[key.role].kind != GIVEN for key in keys)
        later = "a later --resume asks them again" if again else "proofs that were not given stay zero"
        say(f"closed {len(keys)} unanswered calls as zero credit; {later}")
        return self._finish(session, write_derived(session.sources))

    async def _cancel_batches(self, session: "Session", clients: "BatchClients") -> int:
        from proverbench.ask.batching import open_batches
        from proverbench.inputs.config import check_environment
        from proverbench.run.folder import update_derived

        roles = list(open_batches(session.sources))
        if not roles:
            say("no batch of this run is open")
            return self._finish(session, update_derived(session.sources))
        check_environment(self._config, roles)
        return await self._ask(session, {}, clients, cancel=True)

    async def _ask(
        self,
        session: "Session",
        callers: "Mapping[Role, Caller]",
        clients: "BatchClients",
        *,
        cancel: bool = False,
    ) -> int:
        from proverbench.ask.pipeline import Pipeline
        from proverbench.cli.progress import Display
        from proverbench.run.folder import update_derived, write_derived
        from proverbench.spending.budget import Spent

        self._spent = Spent.of(session.sources)
        if not cancel:
            session.reopen_closed()

        def tell(message: str) -> None:
            self._display.say(message)

        pipeline: Pipeline | ClusterPipeline
        if self._cluster is not None:
            pipeline = self._cluster.pipeline(session, self._spent, self._heed_budget, tell)
        else:
            pipeline = Pipeline(session, callers, self._on_answer, clients=clients, batched=self._batched, tell=tell)
        endpoints = callers if self._cluster is None else self._cluster.endpoints
        self._display = display = Display(pipeline.progress, endpoints, self._spent, pipeline.stopping)
        self._pipeline = pipeline
        self._progress = pipeline.progress
        self._heed_budget()  # what earlier sessions spent may be all there is
        main = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in heeded_signals():
            loop.add_signal_handler(number, self._on_signal, number, main)
        display.say(f"run folder: {session.path}")
        _spare_collector()
        with display:
            ticking = loop.create_task(self._tick())
            try:
                if cancel and isinstance(pipeline, Pipeline):
                    await pipeline.cancel_batches()
                else:
                    async with aclosing(pipeline.run()) as proofs:
                        async for _ in proofs:
                            display.tick()
            except asyncio.CancelledError:
                if self._signal is None:
                    raise
            finally:
                self._asking = False
                ticking.cancel()
        if pipeline.fault is not None:
            say(f"error: {pipeline.fault}")
        try:
            await session.stop(self._reason())
            summary = (write_derived if session.started else update_derived)(session.sources)
        except JournalError as exc:
            if pipeline.fault is None:
                say(f"error: {exc}")
            self._say_how_to_go_on(session)
            return EXIT_INCOMPLETE
        return self._finish(session, summary)

    async def _tick(self) -> None:
        """Show life also while no answer comes, for a batch may take a day."""
        while True:
            await asyncio.sleep(1)
            self._display.tick()

    def _reason(self) -> str:
        if self._signal is not None:
            return "interrupted" if self._signal == signal.SIGINT else "terminated"
        return self._pipeline.reason or "done"

    def _on_answer(self, line: "CallLine | AttemptLine") -> None:
        self._spent.add(line)
        self._heed_budget()

    def _heed_budget(self) -> None:
        budget = self._spent.budget
        if budget.limited and not self._told_unknown and any(s.uncertain for s in budget.roles.values()):
            self._told_unknown = True
            self._display.say("note: the server does not tell what some calls used, so the limit may be overstepped")
        exceeded = budget.exceeded()
        if exceeded is not None and not self._pipeline.stopping():
            self._pipeline.stop(f"budget: {exceeded.words}")
            in_flight = self._display.in_flight() + self._display.in_batches()
            self._display.say(f"{exceeded.words}: asking nothing new; {in_flight} calls are in flight")

    def _on_signal(self, number: int, main: "asyncio.Task[object] | None") -> None:
        first = self._signal is None
        self._signal = number
        if number == signal.SIGINT and first:
            self._pipeline.stop("interrupted")
            in_flight, in_batches = self._display.in_flight(), self._display.in_batches()
            if self._asking and (in_flight or not in_batches):
                self._display.say(
                    f"asking nothing new; {in_flight} calls in flight are saved as they come "
                    "(Ctrl-C again stops at once)"
                )
            self._pipeline.leave()
        elif main is not None and self._asking:
            self._asking = False  # once: what ends a run tidily must not itself be cancelled by an impatient user
            main.cancel()

    def _finish(self, session: "Session", summary: "Summary") -> int:
        """Print the scores; the last line says how to go on."""
        from proverbench.cli.scores import print_scores

        printed = print_scores(summary, session.path)
        if not summary.complete:
            self._say_why_unanswered()
            self._say_how_to_go_on(session)
        else:
            say(f"complete; look into it with: proverbench inspect {session.path}")
        if self._signal is not None:
            return EXIT_OF_SIGNAL[self._signal]
        return EXIT_COMPLETE if summary.complete and printed else EXIT_INCOMPLETE

    def _say_why_unanswered(self) -> None:
        """Which calls of this session got no answer, and what was said of them."""
        if self._progress is None:
            return
        for role, count in self._progress.stages.items():
            for error, (calls, message) in count.failures.items():
                say(f"unanswered: {calls} calls of the {role}, {error}: {message}")

    def _say_how_to_go_on(self, session: "Session") -> None:
        from proverbench.ask.batching import open_batches
        from proverbench.run.reading import open_calls
        from proverbench.spending.budget import Spent

        command = f"{RUN_COMMANDS[self._task]} --resume {session.path}"
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
        exceeded = Spent.of(session.sources).budget.exceeded()
        say(f"incomplete; go on with: {command}" + (f" {exceeded.option} MORE" if exceeded is not None else ""))


def _spare_collector() -> None:
    """Have the garbage collector leave alone what is there when asking begins, and come less often.

    To look through every module's objects holds the event loop up for a tenth of a second and finds nothing; what
    calls leave behind in cycles (failures with their tracebacks) is found all the same.
    """
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY, 10, 10)


async def _take_back(session: "Session") -> None:
    """Take into the run what a session on several machines, cut short, left in shards."""
    from proverbench.ask.executors.shards import take_back
    from proverbench.run.folder import write_derived

    if await take_back(session, say):
        write_derived(session.sources)


def _begin_derived(sources: "Sources") -> None:
    from proverbench.run.folder import begin_derived

    begin_derived(sources)
