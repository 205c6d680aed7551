"""Both benchmarks from Python: async generators of records, over configured endpoints.

To leave one early, hold it in ``contextlib.aclosing``: that ends its calls and gives the run's folder free at once.
"""

import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from proverbench.ask.executors.shards import take_back
from proverbench.ask.pipeline import Pipeline
from proverbench.ask.prepare import DEFAULT_REPEATS, Options, Prepared, prepare_rows
from proverbench.endpoints.base import Caller
from proverbench.endpoints.batch import BatchClients
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.errors import ConfigError, ProverBenchError
from proverbench.inputs.config import Config, load_config
from proverbench.records import AttemptLine, CallLine, Manifest, Problem, Proof, ProofRecord, Role, Row, Task
from proverbench.run.derive import build_record
from proverbench.run.folder import begin_derived, update_derived, write_derived
from proverbench.run.session import Session
from proverbench.run.sources import MANIFEST, read_manifest
from proverbench.spending.budget import Spent


def run_prover(
    problems: Sequence[Problem],
    config: Config | Path | str,
    *,
    samples: int = 1,
    verifier_repeats: int = DEFAULT_REPEATS["prover"],
    use_reference_solution: bool = True,
    neutralise: bool = True,
    generation_prompt: Path | None = None,
    verifier_prompt: Path | None = None,
    folder: Path | str | None = None,
) -> AsyncGenerator[ProofRecord, None]:
    """ProverBench: sample proofs and have them judged.

    Args:
        problems: The problems, e.g. ``load_problems(path).rows``.
        config: A config, or the path of one; needs ``[policy]`` and ``[verifier]``.
        samples: S, at least 1.
        verifier_repeats: R, at least 1.
        use_reference_solution: Whether the verifier sees the reference solution.
        neutralise: Whether tags in shown texts are neutralised.
        generation_prompt: Your template instead of the project's.
        verifier_prompt: Likewise.
        folder: Where to keep the run. A run of the same problems that is there already is continued, whoever made it,
            and grown if more samples or repeats are asked now; its ``--max-cost`` and like limits hold. None keeps
            nothing.

    Yields:
        A record as soon as its calls are all done, in order of completion; those of a continued run too. A record with
        ``complete`` False has an unanswered call.

    Raises:
        UserInputError: Config, prompts or an existing run do not fit; nothing was called.
        EndpointError: A fault that every call would meet, such as a wrong key; what was answered is in the folder.
        JournalError: The folder cannot be written.
    """
    options = Options(
        samples=samples,
        repeats=verifier_repeats,
        use_reference_solution=use_reference_solution,
        neutralise=neutralise,
        prompts=_given({"policy": generation_prompt, "verifier": verifier_prompt}),
    )
    return _run("prover", problems, config, options, folder)


def run_verifier(
    proofs: Sequence[Proof],
    config: Config | Path | str,
    *,
    verifier_repeats: int = DEFAULT_REPEATS["verifier"],
    meta: bool = False,
    use_reference_solution: bool = False,
    neutralise: bool = True,
    verifier_prompt: Path | None = None,
    meta_prompt: Path | None = None,
    folder: Path | str | None = None,
) -> AsyncGenerator[ProofRecord, None]:
    """VerifierBench: judge human-annotated proofs.

    Args:
        proofs: The proofs, e.g. ``load_proofs(path).rows``.
        config: A config, or the path of one; needs ``[verifier]``, and ``[meta]`` with ``meta``.
        verifier_repeats: R, at least 1.
        meta: Whether a meta-verifier grades each valid judgment.
        use_reference_solution: Whether judges see the reference solution.
        neutralise: As in :func:`run_prover`, as are the rest.
        verifier_prompt: Your template instead of the project's.
        meta_prompt: Likewise.
        folder: As in :func:`run_prover`.

    Yields:
        As :func:`run_prover`.

    Raises:
        UserInputError, EndpointError, JournalError: As :func:`run_prover`.
    """
    options = Options(
        repeats=verifier_repeats,
        meta=meta,
        use_reference_solution=use_reference_solution,
        neutralise=neutralise,
        prompts=_given({"verifier": verifier_prompt, "meta": meta_prompt}),
    )
    return _run("verifier", proofs, config, options, folder)


def _given(prompts: Mapping[Role, Path | None]) -> dict[Role, Path]:
    return {role: path for role, path in prompts.items() if path is not None}


def _manifest_of(folder: Path | str | None) -> Manifest | None:
    """Of the run that is there already, if one is."""
    if folder is None or not Path(folder, MANIFEST).exists():
        return None
    return read_manifest(Path(folder))


async def _run(
    task: Task, rows: Sequence[Row], config: Config | Path | str, options: Options, folder: Path | str | None
) -> AsyncGenerator[ProofRecord, None]:
    for name, value in (("samples", options.samples), ("verifier_repeats", options.repeats)):
        if value is not None and value < 1:
            raise ConfigError(f"{name} is {value!r}; give an integer of at least 1")
    checked = config if isinstance(config, Config) else load_config(config)
    prepared = prepare_rows(task, rows, checked, options, continued=_manifest_of(folder))
    if folder is not None:
        async with aclosing(_records(prepared, Path(folder))) as records:
            async for record in records:
                yield record
        return
    with tempfile.TemporaryDirectory(prefix="proverbench-") as scratch:
        async with aclosing(_records(prepared, Path(scratch))) as records:
            async for record in records:
                yield record


async def _records(prepared: Prepared, path: Path) -> AsyncGenerator[ProofRecord, None]:
    roles = list(prepared.draft.identity.roles)
    session = await _resumed(path, prepared) if (path / MANIFEST).exists() else None
    clients = BatchClients(prepared.config)
    opened: dict[str, Caller] = {}
    try:
        opened = await open_callers(
            prepared.config,
            roles,
            concurrency=prepared.draft.operation.get("concurrency"),
            answered_before={role: session.sources.ledger.count(role) for role in roles if session},
        )
        if session is None:
            session = Session.create(path, prepared.draft, on_start=begin_derived)
        else:
            session.grow(prepared.draft)
        session.reopen_closed()
        spent = Spent.of(session.sources)

        def heed_budget(line: CallLine | AttemptLine | None = None) -> None:
            if line is not None:
                spent.add(line)
            exceeded = spent.budget.exceeded()
            if exceeded is not None:
                pipeline.stop(f"budget: {exceeded.words}")

        pipeline = Pipeline(session, {role: opened[role] for role in roles}, heed_budget, clients=clients)
        heed_budget()  # what earlier sessions spent may be all there is
        reason = "left"
        try:
            async with aclosing(pipeline.run()) as proofs:
                async for proof in proofs:
                    yield build_record(session.sources, proof)
            reason = "done"
            if pipeline.fault is not None:
                raise pipeline.fault
        except ProverBenchError as exc:
            reason = f"fatal: {exc}"
            raise
        finally:
            await session.stop(pipeline.reason or reason)
            (write_derived if session.started else update_derived)(session.sources)
    finally:
        try:
            await clients.aclose()
            await close_callers(opened)
        finally:
            if session is not None:
                session.release()


async def _resumed(path: Path, prepared: Prepared) -> Session:
    session = Session(path, on_start=begin_derived)
    try:
        if await take_back(session):
            write_derived(session.sources)
        session.check_growth(prepared.draft)
    except BaseException:
        session.release()
        raise
    return session
