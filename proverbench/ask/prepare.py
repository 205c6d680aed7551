"""From options to a run's draft: everything is read and checked here, all faults at once, before any call."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from proverbench.ask.parts import (
    ChosenProtocol,
    Faults,
    Options,
    PreparedRun,
    Selection,
    batched_roles,
    choose_protocol,
    config_of,
    default,
    format_version_of,
    operation_of,
    ordered,
    refuse_blind_budget,
    role_identities,
    select,
    stated_correct_from,
    templates_of,
)
from proverbench.benchmark import benchmark_of
from proverbench.errors import UserInputError
from proverbench.inputs.config import Config
from proverbench.inputs.data import Dataset, load_problems, load_rows
from proverbench.inputs.given import GivenProofs, load_given_proofs
from proverbench.protocols.prompts import Template
from proverbench.records import (
    GIVEN,
    PROTOCOL,
    CallLine,
    Extent,
    Identity,
    Manifest,
    Problem,
    Proof,
    Role,
    RoleIdentity,
    Row,
    Task,
)
from proverbench.run.inputs import encode_rows
from proverbench.run.journal import now
from proverbench.run.manifest import read_manifest
from proverbench.run.regular import read_regular
from proverbench.run.session import Draft
from proverbench.run.sources import SUMMARY
from proverbench.selection import parse_shard, shard_of

Rows = Dataset[Problem] | Dataset[Proof]
"""A data file of either benchmark, read."""


def prepare_new(
    task: Task, options: Options, *, config: Config | None = None, dataset: Rows | None = None
) -> PreparedRun:
    """Check everything that a new run needs.

    Args:
        task: Which benchmark.
        options: What the user asked for.
        config: Where it was read already; otherwise ``options`` say where it is.
        dataset: Likewise.

    Raises:
        UserInputError: Lists every fault of options, config, data and prompts.
    """
    faults = Faults()
    for option, there in (("--data", dataset or options.data), ("--config", config or options.config)):
        if there is None:
            faults.lines.append(f"{option} FILE is missing; a new run needs --data and --config (or --resume DIR)")
    if options.split is not None and options.proofs is None:
        faults.lines.append("--split says how the texts of --proofs become steps, so it needs --proofs")
    given = faults.attempt(lambda: _given(options))
    roles = benchmark_of(task).asked(meta=options.meta, given=options.proofs is not None)
    config_path, data_path = options.config, options.data
    if config is None and config_path:
        config = faults.attempt(lambda: config_of(config_path, roles))
    if dataset is None and data_path:
        dataset = faults.attempt(lambda: load_rows(benchmark_of(task), data_path, correct_from=options.correct_from))
    use_reference = default(options.use_reference_solution, benchmark_of(task).reference_shown)
    if config:
        faults.attempt(lambda: refuse_blind_budget(config, roles, options))
    judging = faults.attempt(lambda: choose_protocol(options.protocol or PROTOCOL, roles, options.accept_from))
    templates = (
        faults.attempt(lambda: templates_of(roles, options.prompts, use_reference, judging)) if judging else None
    )
    if judging and dataset:
        faults.attempt(lambda: judging.check_rows(dataset.rows))
    identities = faults.attempt(lambda: role_identities(config, roles)) if config else None
    chosen = faults.attempt(lambda: select(dataset, options.domain, options.limit, options.shard)) if dataset else None
    batched = faults.attempt(lambda: batched_roles(options.batch, roles, config)) if config else None
    faults.refuse_if_any()
    if config is None or dataset is None or chosen is None or templates is None or identities is None or not judging:
        raise AssertionError("every missing part is a fault")
    draft = build_draft(task, options, config, dataset.sha256, chosen, templates, identities, judging, given)
    return PreparedRun(draft, config, batched or ())


def is_repeated(folder: Path, draft: Draft) -> bool:
    """Whether a saved run is what ``draft`` would be, of the same endpoints, and complete.

    Raises:
        JournalError: If its manifest or summary cannot be read.
        RunMismatchError: If it was made by a version that this one does not know.
    """
    manifest = read_manifest(folder)
    if manifest.run_id != draft.manifest.run_id or _addresses(manifest.operation) != _addresses(draft.operation):
        return False
    try:
        summary = json.loads(read_regular(folder / SUMMARY))
    except (OSError, ValueError):
        return False
    return isinstance(summary, dict) and summary.get("complete") is True


def _addresses(operation: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Role → where its calls went: the address, or the run that was replayed."""
    roles = operation.get("roles")
    found = {}
    for role, settings in roles.items() if isinstance(roles, dict) else ():
        endpoint = settings.get("endpoint") if isinstance(settings, dict) else None
        if isinstance(endpoint, dict):
            found[role] = (endpoint.get("base_url"), endpoint.get("run"))
    return found


def build_draft(
    task: Task,
    options: Options,
    config: Config,
    data_sha256: str,
    selection: Selection,
    templates: Mapping[Role, Template],
    identities: Mapping[Role, RoleIdentity],
    judging: ChosenProtocol,
    given: GivenProofs | None = None,
    before: Mapping[str, Any] | None = None,
) -> Draft:
    """The draft of a run, from parts that were checked; ``before`` is how one that is continued was carried out."""
    if given is not None:
        identities = {"policy": RoleIdentity(model=GIVEN, kind=GIVEN), **identities}
    return Draft(
        identity=Identity(
            task=task,
            **judging.identity(),
            correct_from=stated_correct_from(options, selection.rows),
            roles=ordered(identities),
            prompt_sha256={role: template.sha256 for role, template in templates.items()},
            own_prompts=[role for role, template in templates.items() if template.own],
            use_reference_solution=default(options.use_reference_solution, benchmark_of(task).reference_shown),
            neutralise=default(options.neutralise, True),
            data_sha256=data_sha256,
            proofs_sha256=given.sha256 if given else None,
            proofs_split=msgspec.UNSET if given is None or options.split in (None, "tags") else options.split,
        ),
        extent=Extent(
            rows=len(selection.rows),
            samples=_samples(task, options.samples, given),
            verifier_repeats=default(options.repeats, benchmark_of(task).repeats),
            meta=options.meta,
            domain=selection.domain,
            limit=selection.limit,
            shard=selection.shard,
        ),
        operation=operation_of(config, options, before or {}),
        rows=selection.rows,
        templates=templates,
        lines=_given_lines(given, options.shard) if given else (),
        shard_place=selection.place,
        format_version=format_version_of(config, identities),
        protocol_text=judging.text,
    )


def prepare_rows(
    task: Task, rows: Sequence[Row], config: Config, options: Options, *, continued: Manifest | None = None
) -> PreparedRun:
    """As :func:`prepare_new`, for rows that are in memory; their hash stands for the data file's.

    Args:
        task: Which benchmark.
        rows: Problems or annotated proofs.
        config: Of the run.
        options: Likewise.
        continued: Of the run that is there already: with the same rows it may have been made from a file, and with
            limits that still hold.

    Raises:
        UserInputError: Lists every fault of config and prompts.
    """
    faults = Faults()
    roles = benchmark_of(task).asked(meta=options.meta, given=False)
    faults.attempt(lambda: config.require(roles))
    faults.refuse_if_any()
    use_reference = default(options.use_reference_solution, benchmark_of(task).reference_shown)
    judging = faults.attempt(lambda: choose_protocol(options.protocol or PROTOCOL, roles, options.accept_from))
    templates = (
        faults.attempt(lambda: templates_of(roles, options.prompts, use_reference, judging)) if judging else None
    )
    identities = faults.attempt(lambda: role_identities(config, roles))
    faults.refuse_if_any()
    if templates is None or identities is None or judging is None:
        raise AssertionError("every missing part is a fault")
    digest = hashlib.sha256(encode_rows(rows)).hexdigest()
    selection = Selection(rows)
    if continued is not None and continued.inputs_sha256 == digest:
        extent, digest = continued.extent, continued.identity.data_sha256
        selection = Selection(rows, extent.domain, extent.limit, extent.shard, continued.shard_place)
    before = None if continued is None else continued.operation
    draft = build_draft(task, options, config, digest, selection, templates, identities, judging, before=before)
    if continued is not None:
        draft = replace(draft, format_version=continued.format_version)
    return PreparedRun(draft, config)


def _given(options: Options) -> GivenProofs | None:
    if options.proofs is None or options.data is None:
        return None
    try:
        problems = load_problems(options.data).rows
    except UserInputError:
        return None  # told when the data file itself is read
    return load_given_proofs(options.proofs, problems, split=options.split)


def _samples(task: Task, asked: int | None, given: GivenProofs | None) -> int:
    if not benchmark_of(task).samples:
        return 1
    return default(asked, given.samples if given else 1)


def _given_lines(given: GivenProofs, shard: str | None) -> list[CallLine]:
    """The given proofs as answered policy calls; all of the shard's, so that the run can grow."""
    at = now()
    index, count = parse_shard(shard) if shard is not None else (1, 1)
    return [
        CallLine(
            role="policy",
            id=proof.problem_id,
            sample=proof.sample,
            text=proof.text or "",
            steps=None if proof.as_reply else proof.steps,
            at=at,
        )
        for proof in given.proofs.values()
        if shard_of(proof.problem_id, count) == index
    ]
