"""What a kind of endpoint is: one value says all that the rest of the program asks of it (docs/endpoints.md)."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from proverbench.endpoints.access import Access
    from proverbench.endpoints.base import Endpoint
    from proverbench.endpoints.batch import BatchClient
    from proverbench.endpoints.limits import Quota
    from proverbench.inputs.config import EndpointConfig, RoleConfig

FinishClass = Literal["normal", "model-ended", "server-ended"]
"""What a finish reason says: a normal stop; an end by the model, or an unknown word, so that the answer is invalid as
published; an end by the server, which is no answer."""

SERVER_ENDED = frozenset(
    [
        "abort",
        "aborted",
        "error",
        "network_error",
        "insufficient_system_resource",
        "timeout",
        "time_limit",
        "cancelled",
        "canceled",
        "upstream_error",
        "server_error",
    ]
)
"""Finish reasons, stripped and in lower case, by which a server of any kind says that it broke the reply off."""


@dataclass(frozen=True)
class Opening:
    """What an endpoint is opened with."""

    config: "EndpointConfig"
    roles: "Mapping[str, RoleConfig]"
    """The roles that use it."""
    concurrency: int
    """Most calls in flight."""
    access: "Access"
    """Its key and headers."""
    on_quota: "Callable[[Quota], None]"
    """Takes what its server says of its limits."""
    given: Any = None
    """An endpoint that is there already (kind ``own``)."""


Opener = Callable[[Opening], "Awaitable[Endpoint]"]
BatchOpener = Callable[["EndpointConfig", "Mapping[str, RoleConfig]", "Access"], "BatchClient"]
KeyCheck = Callable[[object], str | None]
"""Looks at a value of a config; returns what was wanted instead, or None if it will do."""
Fault = tuple[str, str]
"""A key of a table, and what is wrong with it."""


def _no_faults(*_: object) -> Iterable[Fault]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of endpoint.

    To add one, write a value of this class and list it in registry.py; nothing else names it.
    """

    name: str
    """``kind = "NAME"`` in a config."""
    opens: str | Opener
    """What opens it; as ``module:function`` it is loaded when it is first needed."""
    normal_stops: frozenset[str]
    """The finish reasons that are a normal stop, exactly so written."""
    server_ended: frozenset[str] = SERVER_ENDED
    """Those that say that the server broke the reply off, stripped and in lower case."""
    keys: frozenset[str] = frozenset()
    """Of the keys that mean something to some kinds only (config.SOME_KINDS), those that do to this one."""
    own_keys: Mapping[str, KeyCheck] = field(default_factory=dict)
    """Keys that no other kind has, each with its check; their values are in ``EndpointConfig.options``."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of keys that are not given, where they are not those of other kinds."""
    faults: Callable[[Mapping[str, Any]], Iterable[Fault]] = _no_faults
    """What is wrong with an endpoint's table, beyond what single keys show."""
    generation_faults: Callable[[Mapping[str, Any]], Iterable[Fault]] = _no_faults
    """What is wrong with a role's ``generation``."""
    needs: str | Callable[[], object] | None = None
    """Makes sure that what it needs is installed, or raises ConfigError; named like ``opens``."""
    seeds: bool = True
    """Whether it takes a seed for each call."""
    needs_model: bool = True
    """Whether a role must name its model."""
    costs: bool = True
    """Whether calls may cost money."""
    live: bool = True
    """Whether a model answers now; otherwise answers are an earlier run's, and stay what they were there."""
    caches_prompts: bool = True
    """Whether its servers may keep prompts, so that ``cache_first`` is on unless a config says otherwise."""
    batches: str | BatchOpener | None = None
    """What opens its batches; None: it has none."""

    def finish_class(self, finish_reason: str | None) -> FinishClass:
        """What a finish reason says of the reply; an absent one is no normal stop."""
        if finish_reason in self.normal_stops:
            return "normal"
        if finish_reason is not None and finish_reason.strip().lower() in self.server_ended:
            return "server-ended"
        return "model-ended"

    def require(self) -> None:
        """Make sure that what it needs is installed.

        Raises:
            ConfigError: If it is not; says how to install it.
        """
        if self.needs is not None:
            _loaded(self.needs)()

    async def open(self, opening: Opening) -> "Endpoint":
        """Open an endpoint of this kind; nothing is asked yet.

        Raises:
            ConfigError: If it cannot be opened as configured.
        """
        opener: Opener = _loaded(self.opens)
        return await opener(opening)

    def open_batches(
        self, config: "EndpointConfig", roles: "Mapping[str, RoleConfig]", access: "Access"
    ) -> "BatchClient":
        """The client of an endpoint's batches."""
        assert self.batches is not None, "Config.require_batches has refused it"
        opener: BatchOpener = _loaded(self.batches)
        return opener(config, roles, access)


def _loaded(what: Any) -> Any:
    if not isinstance(what, str):
        return what
    module, _, name = what.partition(":")
    return getattr(import_module(module), name)
