"""From options to a run's draft: everything is read and checked here, all faults at once, before any call."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.errors import ConfigError, ProverBenchError, RunMismatchError, UserInputError
from proverbench.inputs.config import Config, RoleConfig
from proverbench.inputs.config_file import load_config
from proverbench.inputs.data import (
    EVERYTHING,
    Dataset,
    GivenProofs,
    load_given_proofs,
    load_problems,
    load_rows,
    parse_shard,
    shard_of,
)
from proverbench.protocols.prompts import Template
from proverbench.protocols.protocol import Protocol
from proverbench.protocols.registry import find_protocol
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
    ShardPlace,
    Task,
)
from proverbench.run.journal import now
from proverbench.run.session import Draft
from proverbench.run.sources import FORMAT_VERSION, MANIFEST, SUMMARY, Sources, encode_rows, read_manifest
from proverbench.tables import read_saved
from proverbench.version import __version__

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What the user asked for; None where nothing was said."""

    data: Path | None = None
    config: Path | None = None
    samples: int | None = None
    repeats: int | None = None
    meta: bool = False
    domain: str | None = None
    limit: int | None = None
    shard: str | None = None
    use_reference_solution: bool | None = None
    neutralise: bool | None = None
    prompts: Mapping[Role, Path] = field(default_factory=dict)
    proofs: Path | None = None
    concurrency: int | None = None
    max_cost_usd: float | None = None
    max_tokens_total: int | None = None
    protocol: str | None = None
    """Name of the judging protocol; None: basic-v1, or that of the run."""
    batch: str | None = None
    """Roles whose calls go in batches, e.g. ``policy,verifier``; also :data:`EVERY_ROLE` and :data:`NO_ROLE`."""


EVERY_ROLE = "all"
NO_ROLE = "none"


@dataclass(frozen=True)
class Prepared:
    """A draft and the configuration that it will be run with."""

    draft: Draft
    config: Config
    batched: tuple[Role, ...] = ()
    """Roles whose calls go in batches."""


class _Faults:
    """Collects what is wrong, so that the user hears all of it at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def attempt(self, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except UserInputError as exc:
            self.lines += [line for line in str(exc).split("\n") if line not in self.lines]
            return None

    def refuse_if_any(self) -> None:
        if self.lines:
            raise UserInputError.of(self.lines)


def batched_roles(wanted: str | None, roles: tuple[Role, ...], config: Config) -> tuple[Role, ...]:
    """The roles that ``--batch`` names.

    Args:
        wanted: As :attr:`Options.batch`; None: no role.
        roles: Those that calls go to.
        config: Says where.

    Raises:
        ConfigError: If a role is none of these, or its endpoint has no batches.
    """
    if wanted is None or wanted == NO_ROLE:
        return ()
    named = roles if wanted == EVERY_ROLE else tuple(name.strip() for name in wanted.split(",") if name.strip())
    unknown = [name for name in named if name not in roles]
    if unknown or not named:
        raise ConfigError(
            f"--batch {wanted}: this run asks {', '.join(roles)}; name some of them, or {EVERY_ROLE} or {NO_ROLE}"
        )
    config.require_batches(named)
    return tuple(role for role in roles if role in named)


def prepare_new(task: Task, options: Options) -> Prepared:
    """Check everything that a new run needs.

    Raises:
        UserInputError: Lists every fault of options, config, data and prompts.
    """
    faults = _Faults()
    for option, path in (("--data", options.data), ("--config", options.config)):
        if path is None:
            faults.lines.append(f"{option} FILE is missing; a new run needs --data and --config (or --resume DIR)")
    given = faults.attempt(lambda: _given(options))
    roles = benchmark_of(task).asked(meta=options.meta, given=options.proofs is not None)
    config_path, data_path = options.config, options.data
    config = faults.attempt(lambda: _config(config_path, roles)) if config_path else None
    dataset = faults.attempt(lambda: load_rows(benchmark_of(task), data_path)) if data_path else None
    use_reference = _default(options.use_reference_solution, benchmark_of(task).reference_shown)
    if config:
        faults.attempt(lambda: _refuse_blind_budget(config, roles, options))
    protocol = faults.attempt(lambda: _protocol(options.protocol or PROTOCOL, roles))
    templates = (
        faults.attempt(lambda: _templates(roles, options.prompts, use_reference, protocol)) if protocol else None
    )
    identities = faults.attempt(lambda: _role_identities(config, roles)) if config else None
    chosen = faults.attempt(lambda: _select(dataset, options.domain, options.limit, options.shard)) if dataset else None
    batched = faults.attempt(lambda: batched_roles(options.batch, roles, config)) if config else None
    faults.refuse_if_any()
    if config is None or dataset is None or chosen is None or templates is None or identities is None:
        raise AssertionError("every missing part is a fault")
    draft = build_draft(task, options, config, dataset.sha256, chosen, templates, identities, given)
    return Prepared(draft, config, batched or ())


class Selection(NamedTuple):
    """The rows that a run asks about, and how they were chosen, in the one form that run ids are made of."""

    rows: Sequence[Row]
    domain: str | None = None
    """None for every row."""
    limit: int | None = None
    """None when it left nothing out."""
    shard: str | None = None
    place: ShardPlace | None = None


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
        summary = json.loads((folder / SUMMARY).read_bytes())
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
    given: GivenProofs | None = None,
    before: Mapping[str, Any] | None = None,
) -> Draft:
    """The draft of a run, from parts that were checked; ``before`` is how one that is continued was carried out."""
    if given is not None:
        identities = {"policy": RoleIdentity(model=GIVEN, kind=GIVEN), **identities}
    return Draft(
        identity=Identity(
            task=task,
            protocol=options.protocol or PROTOCOL,
            roles=_ordered(identities),
            prompt_sha256={role: template.sha256 for role, template in templates.items()},
            own_prompts=[role for role, template in templates.items() if template.own],
            use_reference_solution=_default(options.use_reference_solution, benchmark_of(task).reference_shown),
            neutralise=_default(options.neutralise, True),
            data_sha256=data_sha256,
            proofs_sha256=given.sha256 if given else None,
        ),
        extent=Extent(
            rows=len(selection.rows),
            samples=_samples(task, options.samples, given),
            verifier_repeats=_default(options.repeats, benchmark_of(task).repeats),
            meta=options.meta,
            domain=selection.domain,
            limit=selection.limit,
            shard=selection.shard,
        ),
        operation=_operation(config, options, before or {}),
        rows=selection.rows,
        templates=templates,
        lines=_given_lines(given, options.shard) if given else (),
        shard_place=selection.place,
        format_version=_format_version(config, identities),
    )


def prepare_rows(
    task: Task, rows: Sequence[Row], config: Config, options: Options, *, continued: Manifest | None = None
) -> Prepared:
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
    faults = _Faults()
    roles = benchmark_of(task).asked(meta=options.meta, given=False)
    faults.attempt(lambda: config.require(roles))
    faults.refuse_if_any()
    use_reference = _default(options.use_reference_solution, benchmark_of(task).reference_shown)
    protocol = faults.attempt(lambda: _protocol(options.protocol or PROTOCOL, roles))
    templates = (
        faults.attempt(lambda: _templates(roles, options.prompts, use_reference, protocol)) if protocol else None
    )
    identities = faults.attempt(lambda: _role_identities(config, roles))
    faults.refuse_if_any()
    if templates is None or identities is None:
        raise AssertionError("every missing part is a fault")
    digest = hashlib.sha256(encode_rows(rows)).hexdigest()
    selection = Selection(rows)
    if continued is not None and continued.inputs_sha256 == digest:
        extent, digest = continued.extent, continued.identity.data_sha256
        selection = Selection(rows, extent.domain, extent.limit, extent.shard, continued.shard_place)
    before = None if continued is None else continued.operation
    draft = build_draft(task, options, config, digest, selection, templates, identities, before=before)
    if continued is not None:
        draft = replace(draft, format_version=continued.format_version)
    return Prepared(draft, config)


def prepare_resumed(task: Task, path: Path, options: Options) -> Prepared:
    """Check everything that continuing the run at ``path`` needs; what is not said is as it was.

    Raises:
        JournalError: If ``path`` is no run.
        UserInputError: Lists every fault.
    """
    with closing(Sources(path)) as sources:
        return _resumed(sources, task, options)


def _resumed(sources: Sources, task: Task, options: Options) -> Prepared:
    path, manifest = sources.path, sources.manifest
    old, extent = manifest.identity, manifest.extent
    if "imported" in manifest.operation:
        raise RunMismatchError(
            f"{path} was imported from the published evaluator, which keeps no prompt templates: nothing more can be "
            "asked of it, and --final cannot close it. Finish it with that evaluator and import it again, or start a "
            "new run"
        )
    faults = _Faults()
    if old.task != task:
        other = benchmark_of(old.task).command
        faults.lines.append(f"{path} is a run of the other benchmark; resume it with: {other} --resume {path}")
    if options.proofs is not None:
        faults.lines.append("--proofs cannot be given with --resume: the run has its proofs already")
    meta = options.meta or extent.meta
    given = old.proofs_sha256 is not None
    roles = benchmark_of(old.task).asked(meta=meta, given=given)
    config = faults.attempt(
        lambda: _config(options.config, roles) if options.config else _saved_config(path, manifest, roles)
    )
    use_reference = _default(options.use_reference_solution, old.use_reference_solution)
    if config:
        faults.attempt(lambda: _refuse_blind_budget(config, roles, options))
    protocol = faults.attempt(lambda: _protocol(options.protocol or old.protocol, roles))
    templates = (
        faults.attempt(lambda: _resumed_templates(sources, roles, options.prompts, use_reference, protocol))
        if protocol
        else None
    )
    identities = faults.attempt(lambda: _role_identities(config, roles)) if config else None
    grown = faults.attempt(lambda: _resumed_rows(sources, options))
    saved = manifest.operation
    batched = (
        faults.attempt(lambda: batched_roles(options.batch or saved.get("batch"), roles, config)) if config else ()
    )
    faults.refuse_if_any()
    if config is None or templates is None or identities is None or grown is None:
        raise AssertionError("every missing part is a fault")
    chosen, data_sha256 = grown
    if given:
        identities["policy"] = old.roles["policy"]
    operation = _operation(config, options, saved) if _operates(options) else saved
    return Prepared(
        Draft(
            identity=msgspec.structs.replace(
                old,
                protocol=options.protocol or old.protocol,
                roles=_ordered(identities),
                prompt_sha256={role: template.sha256 for role, template in templates.items()},
                own_prompts=[role for role, template in templates.items() if template.own],
                use_reference_solution=use_reference,
                neutralise=_default(options.neutralise, old.neutralise),
                data_sha256=data_sha256,
            ),
            extent=msgspec.structs.replace(
                extent,
                rows=len(chosen.rows),
                samples=_default(options.samples, extent.samples),
                verifier_repeats=_default(options.repeats, extent.verifier_repeats),
                meta=meta,
                domain=chosen.domain,
                limit=chosen.limit,
                shard=chosen.shard,
            ),
            operation=operation,
            rows=chosen.rows,
            templates=templates,
            shard_place=chosen.place,
            format_version=manifest.format_version,
        ),
        config,
        batched or (),
    )


def _default(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _ordered(identities: Mapping[Role, RoleIdentity]) -> dict[Role, RoleIdentity]:
    order: tuple[Role, ...] = ("policy", "verifier", "meta")
    return {role: identities[role] for role in order if role in identities}


def _config(path: Path, roles: tuple[Role, ...]) -> Config:
    config = load_config(path)
    config.require(roles)
    return config


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


def _select(
    dataset: Dataset[Problem] | Dataset[Proof], domain: str | None, limit: int | None, shard: str | None
) -> Selection:
    domain = None if domain == EVERYTHING else domain
    chosen: list[Row] = list(dataset.select(domain=domain))
    limit = None if limit is None or limit >= len(chosen) else limit
    chosen = chosen[:limit]
    if shard is None:
        return Selection(chosen, domain, limit)
    index, count = parse_shard(shard)
    positions = [i for i, row in enumerate(chosen) if shard_of(row.problem_id, count) == index]
    place = ShardPlace(of=len(chosen), positions=positions)
    return Selection([chosen[i] for i in positions], domain, limit, f"{index}/{count}", place)


def _protocol(name: str, roles: Sequence[Role]) -> Protocol:
    """The protocol of that name, which must know every role that is asked."""
    protocol = find_protocol(name)
    unknown = [role for role in roles if role not in protocol.slots]
    if unknown:
        raise ConfigError(f"protocol {name!r} has no {', '.join(unknown)}; leave out --meta, or use another protocol")
    return protocol


def _templates(
    roles: tuple[Role, ...], paths: Mapping[Role, Path], use_reference: bool, protocol: Protocol
) -> dict[Role, Template]:
    faults = _Faults()
    templates: dict[Role, Template] = {}
    for role in roles:
        template = faults.attempt(lambda role=role: Template.load(role, paths.get(role), protocol))  # type: ignore[misc]
        if template is not None:
            templates[role] = template
            faults.lines += template.faults(use_reference)
    faults.refuse_if_any()
    return templates


def _resumed_templates(
    sources: Sources, roles: tuple[Role, ...], paths: Mapping[Role, Path], use_reference: bool, protocol: Protocol
) -> dict[Role, Template]:
    """As in the run, unless a path is given (the session refuses one that differs)."""
    missing = [role for role in sources.manifest.identity.prompt_sha256 if role not in sources.templates]
    if missing:
        raise ConfigError(
            f"{sources.path} has no prompts of its own ({', '.join(missing)}), so nothing more can be asked"
        )
    new = tuple(role for role in roles if role not in sources.templates or role in paths)
    templates = dict(sources.templates) | _templates(new, paths, use_reference, protocol)
    return {role: templates[role] for role in ("policy", "verifier", "meta") if role in templates}


def _role_identities(config: Config, roles: tuple[Role, ...]) -> dict[Role, RoleIdentity]:
    found: dict[Role, RoleIdentity] = {}
    for role in roles:
        settings = config.roles[role]
        replayed = None
        if settings.endpoint.run is not None:
            try:
                manifest = read_manifest(settings.endpoint.run)
            except ProverBenchError as exc:
                raise ConfigError(f"{config.path}: {role}.run: {exc}") from exc
            if (
                benchmark_of(manifest.identity.task).samples
                and not manifest.strips_steps
                and "imported" in manifest.operation
            ):
                raise ConfigError(
                    f"{config.path}: {role}.run: {settings.endpoint.run} was imported by an older version, which kept "
                    "white space at the start of steps that the published evaluator strips; import it again: "
                    "proverbench data import --format published"
                )
            saved = manifest.identity.roles
            if role not in saved:
                raise ConfigError(f"{config.path}: {role}.run: {settings.endpoint.run} has no {role} calls to replay")
            replayed = saved[role]
            if replayed.kind == GIVEN:
                raise ConfigError(
                    f"{config.path}: {role}.run: the proofs of {settings.endpoint.run} were given to it, there is no "
                    "call to replay; judge them again with --proofs FILE"
                )
        found[role] = settings.identity(replayed)
    return found


def _format_version(config: Config, roles: Iterable[Role]) -> int:
    """The present one; of a run that replays an older one, that one's: its proofs stay as their judges saw them.

    Where judges are replayed, their run decides, since their prompts must come out as they were.
    """
    for role in ("verifier", "meta", "policy"):
        settings = config.roles.get(role) if role in roles else None
        if settings is not None and settings.endpoint.run is not None:
            return read_manifest(settings.endpoint.run).format_version
    return FORMAT_VERSION


def _resumed_rows(sources: Sources, options: Options) -> tuple[Selection, str]:
    manifest = sources.manifest
    extent = manifest.extent
    as_before = Selection(list(sources.rows), extent.domain, extent.limit, extent.shard, manifest.shard_place)
    selection = (options.domain, options.limit, options.shard)
    if options.data is None:
        if any(value is not None for value in selection):
            raise ConfigError("--domain, --limit or --shard with --resume need the data file again: --data FILE")
        return as_before, manifest.identity.data_sha256
    dataset = load_rows(benchmark_of(manifest.identity.task), options.data)
    if all(value is None for value in selection):
        return as_before, dataset.sha256
    chosen = _select(
        dataset,
        _default(options.domain, extent.domain),
        _default(options.limit, extent.limit),
        _default(options.shard, extent.shard),
    )
    return chosen, dataset.sha256


def _refuse_blind_budget(config: Config, roles: Sequence[Role], options: Options) -> None:
    """A limit on the cost needs prices of every role that costs something."""
    limit = options.max_cost_usd
    if limit is None:
        return
    if not math.isfinite(limit):
        raise ConfigError(f"--max-cost is {limit}; give a number of US dollars")
    unpriced = [
        role
        for role in roles
        if find_kind(config.roles[role].endpoint.kind).costs and config.roles[role].effective_prices is None
    ]
    if unpriced:
        raise ConfigError(
            f"--max-cost needs prices, and {config.path} states none for {', '.join(unpriced)}; add them "
            "(docs/configs.md), or limit tokens with --max-tokens-total"
        )


def _operates(options: Options) -> bool:
    return any(
        value is not None
        for value in (
            options.config,
            options.concurrency,
            options.max_cost_usd,
            options.max_tokens_total,
            options.batch,
        )
    )


def _operation(config: Config, options: Options, before: Mapping[str, Any]) -> dict[str, Any]:
    """How a run is carried out; what is not said is as it was ``before``."""
    operation: dict[str, Any] = {
        "tool": f"proverbench {__version__}",
        "sdks": {name: version(name) for name in ("openai", "anthropic")},
        "roles": {role: settings.model_dump(mode="json") for role, settings in config.roles.items()},
        "prices": {
            role: settings.effective_prices.model_dump(mode="json")
            for role, settings in config.roles.items()
            if settings.effective_prices is not None
        },
        "concurrency": _default(options.concurrency, before.get("concurrency")),
        "max_cost_usd": _default(options.max_cost_usd, before.get("max_cost_usd")),
        "max_tokens_total": _default(options.max_tokens_total, before.get("max_tokens_total")),
        "batch": _default(options.batch, before.get("batch")),
    }
    # What goes into a manifest is read back from it, so that an unchanged one compares equal.
    return msgspec.json.decode(msgspec.json.encode(operation), type=dict[str, Any])


def _given(options: Options) -> GivenProofs | None:
    if options.proofs is None or options.data is None:
        return None
    try:
        problems = load_problems(options.data).rows
    except UserInputError:
        return None  # told when the data file itself is read
    return load_given_proofs(options.proofs, problems)


def _samples(task: Task, asked: int | None, given: GivenProofs | None) -> int:
    if not benchmark_of(task).samples:
        return 1
    return _default(asked, given.samples if given else 1)


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
            steps=proof.steps if proof.text is None else None,
            at=at,
        )
        for proof in given.proofs.values()
        if shard_of(proof.problem_id, count) == index
    ]
