"""From options to the draft that a saved run is to become; what is not said is as it was."""

import shlex
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

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
    operation_of,
    ordered,
    refuse_blind_budget,
    role_identities,
    select,
    stated_correct_from,
    templates_of,
)
from proverbench.benchmark import benchmark_of
from proverbench.errors import ConfigError, RunMismatchError
from proverbench.inputs.config import Config, RoleConfig
from proverbench.inputs.data import load_rows
from proverbench.protocols.prompts import Template
from proverbench.records import Manifest, Role, RoleIdentity, Task
from proverbench.run.manifest import MANIFEST
from proverbench.run.session import Draft
from proverbench.run.sources import Sources
from proverbench.tables import read_saved


def prepare_resumed(task: Task, path: Path, options: Options) -> PreparedRun:
    """Check everything that continuing the run at ``path`` needs; what is not said is as it was.

    Raises:
        JournalError: If ``path`` is no run.
        UserInputError: Lists every fault.
    """
    with closing(Sources(path)) as sources:
        return _resumed(sources, task, options)


class _Parts(NamedTuple):
    """What a resumed run is made of, each part without a fault."""

    config: Config
    judging: ChosenProtocol
    templates: dict[Role, Template]
    identities: dict[Role, RoleIdentity]
    chosen: Selection
    data_sha256: str
    use_reference: bool
    meta: bool
    batched: tuple[Role, ...]


def _resumed(sources: Sources, task: Task, options: Options) -> PreparedRun:
    if "imported" in sources.manifest.operation:
        raise RunMismatchError(
            f"{sources.path} was imported from the published evaluator, which keeps no prompt templates: nothing more "
            "can be asked of it, and --final cannot close it. Finish it with that evaluator and import it again, or "
            "start a new run"
        )
    parts = _parts(sources, task, options)
    return PreparedRun(_draft(sources.manifest, parts, options), parts.config, parts.batched)


def _parts(sources: Sources, task: Task, options: Options) -> _Parts:
    """Every part, or every fault.

    Raises:
        UserInputError: Lists the faults.
    """
    path, old, saved = sources.path, sources.manifest.identity, sources.manifest.operation
    faults = Faults()
    if old.task != task:
        other = benchmark_of(old.task).command
        faults.lines.append(
            f"{path} is a run of the other benchmark; resume it with: {other} --resume {shlex.quote(str(path))}"
        )
    if options.proofs is not None or options.split is not None:
        faults.lines.append("--proofs cannot be given with --resume: the run has its proofs already")
    meta = options.meta or sources.manifest.extent.meta
    roles = benchmark_of(old.task).asked(meta=meta, given=old.proofs_sha256 is not None)
    config = faults.attempt(
        lambda: config_of(options.config, roles) if options.config else _saved_config(path, sources.manifest, roles)
    )
    use_reference = default(options.use_reference_solution, old.use_reference_solution)
    if config:
        faults.attempt(lambda: refuse_blind_budget(config, roles, options))
    judging = faults.attempt(lambda: _resumed_protocol(sources, roles, options))
    templates = (
        faults.attempt(lambda: _resumed_templates(sources, roles, options.prompts, use_reference, judging))
        if judging
        else None
    )
    identities = faults.attempt(lambda: role_identities(config, roles)) if config else None
    grown = faults.attempt(lambda: _resumed_rows(sources, options))
    batched = (
        faults.attempt(lambda: batched_roles(options.batch or saved.get("batch"), roles, config)) if config else ()
    )
    faults.refuse_if_any()
    if config is None or templates is None or identities is None or grown is None or judging is None:
        raise AssertionError("every missing part is a fault")
    return _Parts(config, judging, templates, identities, *grown, use_reference, meta, batched or ())


def _draft(manifest: Manifest, parts: _Parts, options: Options) -> Draft:
    old, extent, chosen = manifest.identity, manifest.extent, parts.chosen
    given: dict[Role, RoleIdentity] = {} if old.proofs_sha256 is None else {"policy": old.roles["policy"]}
    return Draft(
        identity=msgspec.structs.replace(
            old,
            **parts.judging.identity(),
            correct_from=stated_correct_from(options, chosen.rows, old.correct_from),
            roles=ordered({**parts.identities, **given}),
            prompt_sha256={role: template.sha256 for role, template in parts.templates.items()},
            own_prompts=[role for role, template in parts.templates.items() if template.own],
            use_reference_solution=parts.use_reference,
            neutralise=default(options.neutralise, old.neutralise),
            data_sha256=parts.data_sha256,
        ),
        extent=msgspec.structs.replace(
            extent,
            rows=len(chosen.rows),
            samples=default(options.samples, extent.samples),
            verifier_repeats=default(options.repeats, extent.verifier_repeats),
            meta=parts.meta,
            domain=chosen.domain,
            limit=chosen.limit,
            shard=chosen.shard,
        ),
        operation=(
            operation_of(parts.config, options, manifest.operation) if _operates(options) else manifest.operation
        ),
        rows=chosen.rows,
        templates=parts.templates,
        shard_place=chosen.place,
        format_version=manifest.format_version,
        protocol_text=parts.judging.text,
    )


def _saved_config(path: Path, manifest: Manifest, roles: tuple[Role, ...]) -> Config:
    saved = manifest.operation.get("roles") or {}
    config = Config(
        path=path / MANIFEST,
        roles={
            role: read_saved(RoleConfig, table, f"{path / MANIFEST}: operation.roles.{role}")
            for role, table in saved.items()
        },
    )
    missing = [role for role in roles if role not in config.roles]
    if missing:
        raise ConfigError(f"{path} was made without [{', '.join(missing)}]; give the config that has it: --config FILE")
    return config


def _resumed_protocol(sources: Sources, roles: tuple[Role, ...], options: Options) -> ChosenProtocol:
    """As in the run, unless another is given (the session refuses one that differs)."""
    old = sources.manifest.identity
    least = old.accept_from if options.accept_from is None and old.accept_from is not msgspec.UNSET else None
    if options.protocol is not None:
        return choose_protocol(options.protocol, roles, options.accept_from or least)
    if sources.protocol_text is None:
        return choose_protocol(old.protocol, roles, options.accept_from or least)
    declared = ChosenProtocol(sources.reader.protocol, sources.protocol_text)
    return declared if least is None else declared._replace(accept_from=least)


def _resumed_templates(
    sources: Sources, roles: tuple[Role, ...], paths: Mapping[Role, Path], use_reference: bool, judging: ChosenProtocol
) -> dict[Role, Template]:
    """As in the run, unless a path is given (the session refuses one that differs)."""
    missing = [role for role in sources.manifest.identity.prompt_sha256 if role not in sources.templates]
    if missing:
        raise ConfigError(
            f"{sources.path} has no prompts of its own ({', '.join(missing)}), so nothing more can be asked"
        )
    new = tuple(role for role in roles if role not in sources.templates or role in paths)
    templates = dict(sources.templates) | templates_of(new, paths, use_reference, judging)
    return {role: templates[role] for role in ("policy", "verifier", "meta") if role in templates}


def _resumed_rows(sources: Sources, options: Options) -> tuple[Selection, str]:
    manifest = sources.manifest
    extent = manifest.extent
    as_before = Selection(list(sources.rows), extent.domain, extent.limit, extent.shard, manifest.shard_place)
    selection = (options.domain, options.limit, options.shard)
    if options.data is None:
        if any(value is not None for value in selection):
            raise ConfigError("--domain, --limit or --shard with --resume need the data file again: --data FILE")
        return as_before, manifest.identity.data_sha256
    correct_from = manifest.identity.correct_from
    stated = options.correct_from if correct_from is msgspec.UNSET else correct_from
    dataset = load_rows(benchmark_of(manifest.identity.task), options.data, correct_from=stated)
    if all(value is None for value in selection):
        return as_before, dataset.sha256
    chosen = select(
        dataset,
        default(options.domain, extent.domain),
        default(options.limit, extent.limit),
        default(options.shard, extent.shard),
    )
    return chosen, dataset.sha256


def _operates(options: Options) -> bool:
    return any(
        value is not None
        for value in (
            options.config,
            options.concurrency,
            options.max_cost_usd,
            options.max_tokens_total,
            options.batch,
            options.looks,
        )
    )
