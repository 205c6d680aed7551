"""The body of `run` and `verifierbench`: from the command line to a checked run, and then its dry run or session."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proverbench.ask.forewarn import forewarnings
from proverbench.ask.parts import Options, PreparedRun
from proverbench.ask.prepare import is_repeated, prepare_new
from proverbench.ask.resume import prepare_resumed
from proverbench.benchmark import benchmark_of
from proverbench.cli.accepting import accept
from proverbench.cli.calibrating import calibration_command, command_for_run
from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.estimate import print_estimate
from proverbench.cli.streams import say
from proverbench.errors import ConfigError, ProverBenchError
from proverbench.inputs.prompt_set import PUBLISHED, prompt_set
from proverbench.records import Role, Task
from proverbench.run.going import in_flight_of, runs_going
from proverbench.run.lock import RunLock
from proverbench.run.manifest import MANIFEST
from proverbench.run.session import refuse_taken


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
    output, resume, again = given.pop("output"), given.pop("resume"), given.pop("again")
    final, dry_run, cancel = given.pop("final"), given.pop("dry_run"), given.pop("cancel_batches")
    spread, ray_address, accepts_loss = (
        given.pop("executor") == "ray",
        given.pop("ray_address"),
        given.pop("accept_loss"),
    )
    chosen = {role: path for role, path in prompts.items() if path is not None}
    named = _prompt_set(given, resume)
    asked = benchmark_of(task).asked(meta=given.get("meta", False), given=False)
    options = Options(
        prompts=prompt_set(named, [role for role in asked if role not in chosen]) | chosen,
        published_prompts=named == PUBLISHED and not chosen,
        neutralise=False if given.pop("no_neutralise") else None,
        max_cost_usd=given.pop("max_cost"),
        **given,
    )
    _refuse_contradictions(
        output, resume, final=final, accepts_loss=accepts_loss, cancel=cancel, ray=(spread, ray_address)
    )
    if output is not None:
        refuse_taken(output)
    if accepts_loss and resume is not None:
        with RunLock(resume):
            accept(resume)
    prepared = prepare_new(task, options) if resume is None else prepare_resumed(task, resume, options)
    if dry_run:
        print_estimate(prepared, resume, calibration=_calibration(prepared, resume, options))
        return EXIT_COMPLETE
    if output is None and resume is None and not again:
        _refuse_twice(prepared)
    if spread and prepared.batched:
        raise ConfigError("--batch cannot be given with --executor ray: one process is enough to ask in batches")
    for warning in forewarnings(prepared):
        say(f"warning: {warning}")
    for note in _beside_others(prepared, resume, (output or resume or Path("runs/new")).parent):
        say(f"note: {note}")
    from proverbench.cli.session import Execution  # loads what calls models, which a dry run can do without

    place = {"resume": resume, "output": output, "config": options.config}
    execution = Execution(prepared, **place, spread=spread, ray_address=ray_address)
    del prepared  # the driver gives the rows up once they are in the run's folder
    return execution.main(final=final, cancel=cancel, give_up=accepts_loss)


def _refuse_contradictions(
    output: Path | None,
    resume: Path | None,
    *,
    final: bool,
    accepts_loss: bool,
    cancel: bool,
    ray: tuple[bool, str | None],
) -> None:
    """Options that mean nothing without, or beside, others."""
    if resume is not None and output is not None:
        raise ConfigError("--output cannot be given with --resume: the run stays in its folder")
    if final and resume is None:
        raise ConfigError("--final closes a saved run, so it needs --resume DIR")
    if accepts_loss and resume is None:
        raise ConfigError("--accept-loss goes on with a saved run, so it needs --resume DIR")
    if cancel and resume is None:
        raise ConfigError("--cancel-batches stops the batches of a saved run, so it needs --resume DIR")
    if cancel and final:
        raise ConfigError("--cancel-batches and --final are two steps; cancel first")
    spread, ray_address = ray
    if ray_address is not None and not spread:
        raise ConfigError("--ray-address names a Ray cluster, so it needs --executor ray")


def _prompt_set(given: dict[str, Any], resume: Path | None) -> str:
    named: str = given.pop("prompt_set")
    if named != "own" and resume is not None:
        raise ConfigError("--prompts cannot be given with --resume: the run keeps its prompts")
    return named


def _calibration(prepared: PreparedRun, resume: Path | None, options: Options) -> str | None:
    """The command that would measure the judge of what would be run, if it is a ProverBench run."""
    draft = prepared.draft
    if not benchmark_of(draft.identity.task).samples:
        return None
    if resume is not None:
        return command_for_run(resume, draft.manifest, config=options.config)
    return calibration_command(
        draft.identity,
        draft.extent.verifier_repeats,
        prompt=options.prompts.get("verifier"),
        protocol=None if draft.protocol_text is None or options.protocol is None else Path(options.protocol),
        config=options.config,
    )


def _beside_others(prepared: PreparedRun, resume: Path | None, parent: Path) -> Iterator[str]:
    """Other runs that ask the same endpoints at this moment: limits are kept by each alone."""
    ours = in_flight_of(prepared.draft.operation)
    for folder in dict.fromkeys([Path("runs"), parent]):
        for going in runs_going(folder, but=resume):
            for address in sorted(ours.keys() & going.in_flight.keys()):
                theirs = going.in_flight[address]
                yield (
                    f"{going.folder} is going on at the same endpoint, {address}: it may have {theirs} calls in flight "
                    f"and this run {ours[address]}, {theirs + ours[address]} together; --concurrency N lowers that"
                )


def _refuse_twice(prepared: PreparedRun) -> None:
    """The same command typed twice does not pay twice unasked.

    Raises:
        ConfigError: If a complete run under runs/ is the same, of the same endpoints.
    """
    for manifest in sorted(Path("runs").glob(f"*/{MANIFEST}")):
        folder = manifest.parent
        try:
            same = is_repeated(folder, prepared.draft)
        except ProverBenchError:
            continue  # a folder that cannot be read is no reason to refuse a new run
        if same:
            raise ConfigError(
                f"{folder} is this run, and complete; look into it with: "
                f"proverbench inspect {shlex.quote(str(folder))}. To pay for it again: --again (or another --output)"
            )
