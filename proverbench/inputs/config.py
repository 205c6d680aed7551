"""What a run may set: roles, their endpoints and limits (docs/configs.md); config_file.py reads it from a file."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from proverbench.endpoints.kinds.registry import find_kind, known_kind, no_such_kind
from proverbench.errors import ConfigError
from proverbench.inputs.config_fields import BaseUrl, Count, Header, Seconds, Variable, unset_variable
from proverbench.records import RoleIdentity
from proverbench.redact import shown
from proverbench.spending.prices import Prices
from proverbench.tables import Table


class EndpointConfig(Table):
    """Where calls go, and how many may go there at once. Roles that share one share its limits."""

    name: str
    """``NAME`` of ``[endpoint.NAME]``; of an inline endpoint, the first role that uses it."""
    kind: str = "openai"
    """Name of a :class:`~proverbench.endpoints.kinds.kind.Kind`."""
    base_url: BaseUrl | None = None
    """Normalised: no trailing ``/`` or ``/chat/completions``. None for anthropic: its own address."""
    api_key_env: Variable | None = None
    """Name of the variable that holds the key; None: no key is sent."""
    extra_headers_env: dict[Header, Variable] = Field(default_factory=dict)
    """Header → name of the variable that holds its value."""
    connect_timeout_s: Seconds = 10.0
    read_timeout_s: Seconds | None = None
    """Longest silence between two pieces of a reply; None: as ``timeout_s`` (a reasoning model may think unheard)."""
    timeout_s: Seconds = 1800.0
    """Longest time for one attempt as a whole."""
    max_retries: int = Field(default=6, ge=0, le=100)
    """Attempts after the first; 2 in the published JSON form."""
    concurrency: Count = 16
    """Calls in flight at once, over all roles and stages; 2 for kind ``embedded``."""
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    prices: Prices | None = None
    """For roles that state none of their own; read :attr:`RoleConfig.effective_prices`."""
    stream: Literal["auto"] | bool = "auto"
    """``auto``: where a long reply would leave the connection idle."""
    api: Literal["chat", "responses"] = "chat"
    """Kind ``openai`` only: chat completions, or the Responses API."""
    accept_missing_finish: bool = False
    """Take an absent finish reason for a normal stop; for servers that never send one."""
    cache_first: bool | None = None
    """Ask the first judgment of a proof alone, so that the others are read from the server's prompt cache. None: on
    where the kind's servers may have one."""
    run: Annotated[Path, Field(strict=False)] | None = None
    """Kind ``replay`` only: the saved run that answers."""
    threads: Count | None = None
    """Kind ``embedded`` only: CPU threads; None: one core is left free."""
    context: Count | None = None
    """Tokens of context. Kind ``embedded``: for each call in flight; None: its default. Of a server: what its model
    takes in all, so that a dry run can tell which prompts would not fit; nothing is sent."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Values of the keys that its kind alone has."""

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if known_kind(kind) is None:
            raise PydanticCustomError("kind", "is {kind}; {known}", {"kind": shown(kind), "known": no_such_kind(kind)})
        return kind


class RoleConfig(Table):
    """One role: which model, with what request parameters, where."""

    model: str
    """Model name as the server knows it. Empty for kind ``replay`` where the saved run's is taken."""
    generation: dict[str, Any] = Field(default_factory=dict)
    """Request parameters, passed through as they are; unset ones are not in it. ``seed`` is a base seed."""
    endpoint: EndpointConfig
    prices: Prices | None = None
    """This role's own, for roles that share an endpoint but not a model."""

    @property
    def effective_prices(self) -> Prices | None:
        """The role's own prices, else its endpoint's; None when the config states none."""
        return self.prices if self.prices is not None else self.endpoint.prices

    def identity(self, replayed: RoleIdentity | None = None) -> RoleIdentity:
        """What must not change of this role when a run is resumed.

        Args:
            replayed: Of kind ``replay``, the identity of this role in the saved run: a replayed call is that
                model's, so the role's identity is too.

        Raises:
            ConfigError: If this role states a model or generation that the saved run was not made with.
        """
        if replayed is not None:
            self._require_same(replayed)
            return replayed
        return RoleIdentity(
            model=self.model,
            kind=self.endpoint.kind,
            generation=self.generation,
            accept_missing_finish=self.endpoint.accept_missing_finish,
            api=self.endpoint.api if "api" in find_kind(self.endpoint.kind).keys else None,
        )

    def _require_same(self, replayed: RoleIdentity) -> None:
        faults = []
        if self.model not in ("", replayed.model):
            faults.append(f"model is {self.model!r}, but {self.endpoint.run} was made with {replayed.model!r}")
        if self.generation not in ({}, replayed.generation):
            faults.append(
                f"generation is {self.generation!r}, but {self.endpoint.run} was made with {replayed.generation!r}"
            )
        if faults:
            raise ConfigError("; ".join(faults) + "; leave them out for kind replay")


class Config(Table):
    """A config file, read and checked."""

    path: Annotated[Path, Field(strict=False)]
    roles: dict[str, RoleConfig]

    def require(self, roles: Iterable[str]) -> None:
        """Make sure that ``roles`` are there.

        Raises:
            ConfigError: Names every missing one.
        """
        missing = [role for role in roles if role not in self.roles]
        if missing:
            raise ConfigError.of(
                f"{self.path}: the table [{role}] is missing; this run needs it (docs/configs.md)" for role in missing
            )

    def require_batches(self, roles: Iterable[str]) -> None:
        """Make sure that the endpoints of ``roles`` may have batches.

        Raises:
            ConfigError: Names every role whose endpoint cannot.
        """
        faults = [
            f"{self.path}: {role}: endpoints of kind {self.roles[role].endpoint.kind!r} have no batches; "
            f"leave {role} out of --batch (--batch none: every role is asked directly)"
            for role in roles
            if role in self.roles and find_kind(self.roles[role].endpoint.kind).batches is None
        ]
        if faults:
            raise ConfigError.of(faults)

    def endpoints(self, roles: Iterable[str]) -> list[EndpointConfig]:
        """The distinct endpoints of ``roles``, in order of first use."""
        found: dict[str, EndpointConfig] = {}
        for role in roles:
            endpoint = self.roles[role].endpoint
            found.setdefault(endpoint.name, endpoint)
        return list(found.values())


def check_environment(config: Config, roles: Iterable[str], environ: Mapping[str, str] = os.environ) -> None:
    """Make sure that the variables which hold keys and header values are set. A dry run does not ask.

    Raises:
        ConfigError: Names every variable that is unset or empty, and how to set it.
    """
    faults = []
    for endpoint in config.endpoints(roles):
        wanted = {"api_key_env": endpoint.api_key_env} if endpoint.api_key_env else {}
        wanted |= {f"extra_headers_env.{header}": name for header, name in endpoint.extra_headers_env.items()}
        for key, variable in wanted.items():
            value = environ.get(variable)
            if not (value or "").strip():
                state = "not set" if value is None else "empty"
                faults.append(
                    f"{config.path}: endpoint {endpoint.name!r} reads {key} from the environment variable "
                    + unset_variable(variable, state)
                )
    if faults:
        raise ConfigError.of(dict.fromkeys(faults))


SOME_KINDS = ("base_url", "api_key_env", "extra_headers_env", "api", "run", "threads", "context")
"""Keys of an endpoint that mean something to some kinds only (``Kind.keys``)."""
