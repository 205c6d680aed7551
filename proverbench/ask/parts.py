"""Parts of a run's draft, each read and checked on its own: options, config, prompts, selection, operation."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from proverbench.benchmark import benchmark_of
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.errors import ConfigError, ProverBenchError, UserInputError
from proverbench.inputs.config import Config
from proverbench.inputs.config_file import load_config
from proverbench.inputs.data import Dataset
from proverbench.protocols.prompts import Template
from proverbench.protocols.protocol import Protocol
from proverbench.protocols.registry import find_protocol
from proverbench.records import (
    GIVEN,
    Problem,
    Proof,
    Role,
    RoleIdentity,
    Row,
    ShardPlace,
)
from proverbench.run.session import Draft
from proverbench.run.sources import FORMAT_VERSION, read_manifest
from proverbench.selection import EVERYTHING, parse_shard, shard_of
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
class PreparedRun:
    """A draft and the configuration that it will be run with."""

    draft: Draft
    config: Config
    batched: tuple[Role, ...] = ()
    """Roles whose calls go in batches."""


class Faults:
    """Collects what is wrong, so that the user hears all of it at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def attempt(self, work: Callable[[], T]) -> T | None:
        """What ``work`` returns; None where it finds faults, which are kept."""
        try:
            return work()
        except UserInputError as exc:
            self.lines += [line for line in str(exc).split("\n") if line not in self.lines]
            return None

    def refuse_if_any(self) -> None:
        """Raise all that was found, if anything was."""
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


class Selection(NamedTuple):
    """The rows that a run asks about, and how they were chosen, in the one form that run ids are made of."""

    rows: Sequence[Row]
    domain: str | None = None
    """None for every row."""
    limit: int | None = None
    """None when it left nothing out."""
    shard: str | None = None
    place: ShardPlace | None = None


def default(value: T | None, otherwise: T) -> T:
    """``value``, unless nothing was said."""
    return otherwise if value is None else value


def ordered(identities: Mapping[Role, RoleIdentity]) -> dict[Role, RoleIdentity]:
    """The same in the order of the stages, in which run ids are made of them."""
    order: tuple[Role, ...] = ("policy", "verifier", "meta")
    return {role: identities[role] for role in order if role in identities}


def config_of(path: Path, roles: tuple[Role, ...]) -> Config:
    """The config at ``path``, which must have these roles."""
    config = load_config(path)
    config.require(roles)
    return config


def select(
    dataset: Dataset[Problem] | Dataset[Proof], domain: str | None, limit: int | None, shard: str | None
) -> Selection:
    """The rows that the options choose."""
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


def protocol_of(name: str, roles: Sequence[Role]) -> Protocol:
    """The protocol of that name, which must know every role that is asked."""
    protocol = find_protocol(name)
    unknown = [role for role in roles if role not in protocol.slots]
    if unknown:
        raise ConfigError(f"protocol {name!r} has no {', '.join(unknown)}; leave out --meta, or use another protocol")
    return protocol


def templates_of(
    roles: tuple[Role, ...], paths: Mapping[Role, Path], use_reference: bool, protocol: Protocol
) -> dict[Role, Template]:
    """The prompts of these roles: those at ``paths``, else this project's own."""
    faults = Faults()
    templates: dict[Role, Template] = {}
    for role in roles:
        template = faults.attempt(lambda role=role: Template.load(role, paths.get(role), protocol))  # type: ignore[misc]
        if template is not None:
            templates[role] = template
            faults.lines += template.faults(use_reference)
    faults.refuse_if_any()
    return templates


def role_identities(config: Config, roles: tuple[Role, ...]) -> dict[Role, RoleIdentity]:
    """What must not change of these roles when the run is resumed."""
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


def format_version_of(config: Config, roles: Iterable[Role]) -> int:
    """The present one; of a run that replays an older one, that one's: its proofs stay as their judges saw them.

    Where judges are replayed, their run decides, since their prompts must come out as they were.
    """
    for role in ("verifier", "meta", "policy"):
        settings = config.roles.get(role) if role in roles else None
        if settings is not None and settings.endpoint.run is not None:
            return read_manifest(settings.endpoint.run).format_version
    return FORMAT_VERSION


def refuse_blind_budget(config: Config, roles: Sequence[str], options: Options) -> None:
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


def operation_of(config: Config, options: Options, before: Mapping[str, Any]) -> dict[str, Any]:
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
        "concurrency": default(options.concurrency, before.get("concurrency")),
        "max_cost_usd": default(options.max_cost_usd, before.get("max_cost_usd")),
        "max_tokens_total": default(options.max_tokens_total, before.get("max_tokens_total")),
        "batch": default(options.batch, before.get("batch")),
    }
    # What goes into a manifest is read back from it, so that an unchanged one compares equal.
    return msgspec.json.decode(msgspec.json.encode(operation), type=dict[str, Any])
