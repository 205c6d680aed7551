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
from proverbench.errors import ConfigError, DataError, ProverBenchError, UserInputError
from proverbench.inputs.config import Config
from proverbench.inputs.config_file import load_config
from proverbench.inputs.data import Dataset
from proverbench.inputs.graded import correct_from_or_default
from proverbench.inputs.splitting import Split
from proverbench.protocols.declared import Declared, as_protocol, check_examples, declare
from proverbench.protocols.grading import GRADE_0_7
from proverbench.protocols.prompts import Template
from proverbench.protocols.protocol import Protocol
from proverbench.protocols.registry import accepting_from, find_protocol
from proverbench.records import (
    GIVEN,
    Problem,
    Proof,
    Role,
    RoleIdentity,
    Row,
    ShardPlace,
)
from proverbench.run.manifest import FORMAT_VERSION, read_manifest
from proverbench.run.published_tables import PUBLISHED_PROMPTS
from proverbench.run.session import Draft
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
    published_prompts: bool = False
    """Whether these are the published ones, as fetched."""
    proofs: Path | None = None
    split: Split | None = None
    """How the texts of ``proofs`` become steps; None: by their ``<step>`` elements."""
    concurrency: int | None = None
    max_cost_usd: float | None = None
    max_tokens_total: int | None = None
    protocol: str | None = None
    """Name of the judging protocol, or the file that declares one; None: basic-v1, or that of the run."""
    accept_from: float | None = None
    """Under a grading protocol the least grade that accepts a proof; None: the protocol's own, or that of the run."""
    correct_from: float | None = None
    """The points from which a proof that people graded counts as correct; None: 6 of 7, else all, or as in the run."""
    looks: int | None = None
    """How often the run will be looked at, grown in between; said before the second look."""
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


class ChosenProtocol(NamedTuple):
    """The protocol of a run, and where it came from."""

    protocol: Protocol
    text: str | None = None
    """Of one that the user declared: the file's text, which the run keeps."""
    prompt: Path | None = None
    """Of one that the user declared: the judge's prompt that it names."""

    accept_from: float | None = None
    """The least grade that accepts, where it is not the protocol's own."""

    def identity(self) -> dict[str, Any]:
        """What a run's identity says of it."""
        return {
            "protocol": self.protocol.name,
            "protocol_sha256": msgspec.UNSET if self.protocol.digest is None else self.protocol.digest,
            "accept_from": msgspec.UNSET if self.accept_from is None else self.accept_from,
        }

    def check_rows(self, rows: Sequence[Row]) -> None:
        """Make sure that the judge's scale is the one that people graded on, where it has one.

        Raises:
            DataError: Otherwise.
        """
        if self.protocol.name != GRADE_0_7.name:
            return
        scales = sorted({row.max_grade for row in rows if isinstance(row, Proof) and isinstance(row.max_grade, int)})
        if scales not in ([], [7]):
            found = ", ".join(map(str, scales))
            raise DataError(
                f"the data has grades of {found} points; protocol 'grade-0-7' judges proofs graded from 0 to 7"
            )


def choose_protocol(name: str, roles: Sequence[Role], accept_from: float | None = None) -> ChosenProtocol:
    """The protocol of that name, or the one that a file declares; it must know every role that is asked.

    Args:
        name: A name, or the path of a TOML file.
        roles: Those that are asked.
        accept_from: The least grade that accepts, if not the protocol's own.

    Raises:
        ConfigError: If there is none, the file is faulty, or the grade is none of the protocol's.
    """
    chosen = _declared(Path(name)) if name.endswith(".toml") else ChosenProtocol(find_protocol(name))
    protocol = chosen.protocol
    unknown = [role for role in roles if role not in protocol.slots]
    if unknown:
        raise ConfigError(f"protocol {name!r} has no {', '.join(unknown)}; leave out --meta, or use another protocol")
    if accept_from is None:
        return chosen
    if protocol.verdict != "grade" or protocol.max_grade is None:
        raise ConfigError(f"--accept-from {accept_from:g}: protocol {protocol.name!r} has no grades")
    if accept_from > protocol.max_grade:
        raise ConfigError(
            f"--accept-from is {accept_from:g}; the best grade of {protocol.name!r} is {protocol.max_grade:g}"
        )
    if accept_from == protocol.accept_from:
        return chosen
    return chosen._replace(protocol=accepting_from(protocol, accept_from), accept_from=accept_from)


def stated_correct_from(
    options: Options, rows: Sequence[Row], before: float | msgspec.UnsetType = msgspec.UNSET
) -> float | msgspec.UnsetType:
    """The points from which a graded proof is correct, where that is not the usual; ``before``: as the run has it."""
    stated = options.correct_from
    if stated is None:
        return before
    scales = {row.max_grade for row in rows if isinstance(row, Proof) and isinstance(row.max_grade, int)}
    usual = {correct_from_or_default(None, scale) for scale in scales}
    return msgspec.UNSET if usual == {stated} else stated


def read_declared(path: Path) -> tuple[Declared, str]:
    """The protocol that a file declares, and the file's text; its examples are not checked yet.

    Raises:
        ConfigError: Lists every fault of the file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(
            f"{path}: this protocol cannot be read ({exc}); give a TOML file, or a protocol's name"
        ) from exc
    return declare(text, str(path)), text


def _declared(path: Path) -> ChosenProtocol:
    declared, text = read_declared(path)
    check_examples(declared, str(path))
    return ChosenProtocol(as_protocol(declared, text), text, path.parent / declared.prompt if declared.prompt else None)


def templates_of(
    roles: tuple[Role, ...], paths: Mapping[Role, Path], use_reference: bool, judging: ChosenProtocol
) -> dict[Role, Template]:
    """The prompts of these roles: those at ``paths``, else this project's own."""
    faults = Faults()
    protocol = judging.protocol
    if judging.prompt is not None:
        paths = {"verifier": judging.prompt, **paths}
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
    if (looks := default(options.looks, before.get("looks"))) is not None:
        operation["looks"] = looks
    if options.published_prompts or before.get("prompts"):
        operation["prompts"] = before.get("prompts", PUBLISHED_PROMPTS)
    # What goes into a manifest is read back from it, so that an unchanged one compares equal.
    return msgspec.json.decode(msgspec.json.encode(operation), type=dict[str, Any])
