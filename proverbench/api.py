"""Both benchmarks from Python: async generators of records, over configured endpoints.

To leave one early, hold it in ``contextlib.aclosing``: that ends its calls and gives the run's folder free at once.
"""

import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from pathlib import Path

from pydantic import ValidationError

from proverbench.ask.drive import Driver
from proverbench.ask.executors.local import LocalExecutor
from proverbench.ask.parts import Options
from proverbench.ask.prepare import prepare_rows
from proverbench.benchmark import BENCHMARKS
from proverbench.endpoints.own import OwnEndpoint
from proverbench.errors import ConfigError, FatalEndpointError
from proverbench.inputs.config import Config, EndpointConfig, RoleConfig
from proverbench.inputs.config_file import load_config
from proverbench.records import Manifest, Problem, Proof, ProofRecord, Role, Row, Task
from proverbench.run.derive import build_record
from proverbench.run.manifest import MANIFEST, read_manifest

_OWN_SETTINGS = ("concurrency", "max_retries", "timeout_s")
"""Attributes of an endpoint of one's own that set how it is called."""


def run_prover(
    problems: Sequence[Problem],
    config: Config | Path | str | None = None,
    *,
    endpoints: Mapping[Role, OwnEndpoint] | None = None,
    samples: int = 1,
    verifier_repeats: int = BENCHMARKS["prover"].repeats,
    use_reference_solution: bool = True,
    neutralise: bool = True,
    protocol: str | None = None,
    generation_prompt: Path | None = None,
    verifier_prompt: Path | None = None,
    folder: Path | str | None = None,
) -> AsyncGenerator[ProofRecord, None]:
    """ProverBench: sample proofs and have them judged.

    Args:
        problems: The problems, e.g. ``load_problems(path).rows``.
        config: A config, or the path of one; needs ``[policy]`` and ``[verifier]``, but for roles in ``endpoints``.
        endpoints: Role → an endpoint of your own: an object with ``async ask(request) -> Reply`` (docs/python.md).
        samples: S, at least 1.
        verifier_repeats: R, at least 1.
        use_reference_solution: Whether the verifier sees the reference solution.
        neutralise: Whether tags in shown texts are neutralised.
        protocol: Name of the judging protocol; None: basic-v1, or that of the run in ``folder``.
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
        protocol=protocol,
        prompts=_given({"policy": generation_prompt, "verifier": verifier_prompt}),
    )
    return _run("prover", problems, config, options, folder, endpoints)


def run_verifier(
    proofs: Sequence[Proof],
    config: Config | Path | str | None = None,
    *,
    endpoints: Mapping[Role, OwnEndpoint] | None = None,
    verifier_repeats: int = BENCHMARKS["verifier"].repeats,
    meta: bool = False,
    use_reference_solution: bool = False,
    neutralise: bool = True,
    protocol: str | None = None,
    verifier_prompt: Path | None = None,
    meta_prompt: Path | None = None,
    folder: Path | str | None = None,
) -> AsyncGenerator[ProofRecord, None]:
    """VerifierBench: judge human-annotated proofs.

    Args:
        proofs: The proofs, e.g. ``load_proofs(path).rows``.
        config: A config, or the path of one; needs ``[verifier]``, and ``[meta]`` with ``meta``, but for roles in
            ``endpoints``.
        endpoints: As in :func:`run_prover`.
        verifier_repeats: R, at least 1.
        meta: Whether a meta-verifier grades each valid judgment.
        use_reference_solution: Whether judges see the reference solution.
        neutralise: As in :func:`run_prover`.
        protocol: Likewise, as are the rest.
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
        protocol=protocol,
        prompts=_given({"verifier": verifier_prompt, "meta": meta_prompt}),
    )
    return _run("verifier", proofs, config, options, folder, endpoints)


def _given(prompts: Mapping[Role, Path | None]) -> dict[Role, Path]:
    return {role: path for role, path in prompts.items() if path is not None}


def _whole(config: Config | Path | str | None, endpoints: Mapping[Role, OwnEndpoint]) -> Config:
    """The config with the roles that have endpoints of the user's own."""
    if config is None:
        config = Config(path=Path("endpoints"), roles={})
    elif not isinstance(config, Config):
        config = load_config(config)
    names: dict[int, str] = {}
    roles: dict[str, RoleConfig] = {}
    for role, own in endpoints.items():
        if not callable(getattr(own, "ask", None)):
            raise ConfigError(f"endpoints[{role!r}] is a {type(own).__name__} without ask(request); see docs/python.md")
        settings = {name: getattr(own, name) for name in _OWN_SETTINGS if hasattr(own, name)}
        name = names.setdefault(id(own), f"{type(own).__name__} ({role})")
        try:
            roles[role] = RoleConfig(
                model=getattr(own, "model", type(own).__name__),
                generation=dict(getattr(own, "generation", {})),
                endpoint=EndpointConfig(name=name, kind="own", **settings),
            )
        except ValidationError as exc:
            said = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in exc.errors())
            raise ConfigError(f"endpoints[{role!r}]: {said}") from exc
    return config.model_copy(update={"roles": {**config.roles, **roles}})


def _manifest_of(folder: Path | str | None) -> Manifest | None:
    """Of the run that is there already, if one is."""
    if folder is None or not Path(folder, MANIFEST).exists():
        return None
    return read_manifest(Path(folder))


async def _run(
    task: Task,
    rows: Sequence[Row],
    config: Config | Path | str | None,
    options: Options,
    folder: Path | str | None,
    endpoints: Mapping[Role, OwnEndpoint] | None,
) -> AsyncGenerator[ProofRecord, None]:
    for name, value in (("samples", options.samples), ("verifier_repeats", options.repeats)):
        if value is not None and value < 1:
            raise ConfigError(f"{name} is {value!r}; give an integer of at least 1")
    prepared = prepare_rows(task, rows, _whole(config, endpoints or {}), options, continued=_manifest_of(folder))
    with nullcontext(folder) if folder is not None else tempfile.TemporaryDirectory(prefix="proverbench-") as place:
        path = Path(place)
        async with (
            Driver(path, prepared, resume=(path / MANIFEST).exists(), executor=LocalExecutor(own=endpoints)) as driver,
            aclosing(_records(driver)) as records,
        ):
            async for record in records:
                yield record


async def _records(driver: Driver) -> AsyncGenerator[ProofRecord, None]:
    if driver.lacks_anything():
        await driver.begin()
    async with aclosing(driver.ask()) as proofs:
        async for proof in proofs:
            yield build_record(driver.session.sources, proof)
    if driver.fault is not None:
        raise driver.fault
    if driver.systematic is not None:
        raise FatalEndpointError(driver.systematic, kind="systematic")
