"""From a config to callers: one for each endpoint, shared by the roles that use it."""

import os
import resource
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from proverbench.endpoints.access import Access
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.kinds.kind import Opening
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.endpoints.network import unreachable
from proverbench.errors import ConfigError
from proverbench.inputs.config import Config, EndpointConfig, RoleConfig, check_environment

if TYPE_CHECKING:
    from proverbench.endpoints.base import Caller
    from proverbench.endpoints.limits import Quota

_DESCRIPTORS_KEPT = 64
"""File descriptors left for everything but connections: files of the run, libraries, the terminal."""
_DESCRIPTORS_SPARE = 14
"""As many at least beyond those that are open, where the system allows few."""


async def open_callers(
    config: Config,
    roles: Sequence[str],
    *,
    concurrency: int | None = None,
    answered_before: Mapping[str, int] | None = None,
    own: Mapping[Any, object] | None = None,
) -> "dict[str, Caller]":
    """Open the endpoints of ``roles``; nothing is asked yet.

    Args:
        config: The config file as read.
        roles: The roles that will call.
        concurrency: Overrides the concurrency of each endpoint.
        answered_before: Role → answers that earlier sessions of the run have. An endpoint of such a role is known to
            work, so a call that it refuses does not stop the run.
        own: Role → an endpoint that is there already, for roles of kind ``own``.

    Returns:
        Role → caller. Roles that share an endpoint get the same caller; close each caller once (``close_callers``).

    Raises:
        ConfigError: A role or an environment variable is missing, or an endpoint cannot be opened as configured.
    """
    config.require(roles)
    check_environment(config, roles)
    check_endpoints(config, roles)
    endpoints = config.endpoints(roles)
    wanted = {endpoint.name: concurrency or endpoint.concurrency for endpoint in endpoints}
    allowed, note = _within_descriptors(wanted)
    callers: dict[str, Caller] = {}
    try:
        for endpoint in endpoints:
            users = {role: config.roles[role] for role in roles if config.roles[role].endpoint.name == endpoint.name}
            before = sum((answered_before or {}).get(role, 0) for role in users)
            given = next((own[role] for role in users if role in own), None) if own else None
            caller = await _open(endpoint, users, allowed[endpoint.name], before, given)
            if note:
                caller.state.notes.append(note)
            callers |= dict.fromkeys(users, caller)
    except BaseException:
        await close_callers(callers)
        raise
    return callers


async def close_callers(callers: "Mapping[Any, Caller]") -> None:
    """Close every caller once."""
    for caller in {id(caller): caller for caller in callers.values()}.values():
        await caller.aclose()


def check_endpoints(config: Config, roles: Sequence[str]) -> None:
    """Find what would keep an endpoint from opening, without opening it: call this before a run is written.

    Raises:
        ConfigError: Names everything.
    """
    faults = [*unreachable(config, roles)]
    for role in roles:
        settings = config.roles[role]
        kind = find_kind(settings.endpoint.kind)
        if not kind.seeds and "seed" in settings.generation:
            faults.append(f"{config.path}: {role}.generation.seed: kind {kind.name!r} knows no seeds; delete it")
    for endpoint in config.endpoints(roles):
        faults += [f"{config.path}: endpoint {endpoint.name!r}: {fault}" for fault in _unsendable(endpoint)]
        find_kind(endpoint.kind).require()
    if faults:
        raise ConfigError.of(faults)


def read_access(endpoint: EndpointConfig) -> Access:
    """The key and headers of an endpoint, from the variables that its config names."""
    key = os.environ.get(endpoint.api_key_env, "").strip() if endpoint.api_key_env else ""
    headers = {header: os.environ.get(name, "").strip() for header, name in endpoint.extra_headers_env.items()}
    return Access(key=key or None, headers=headers)


def _unsendable(endpoint: EndpointConfig) -> list[str]:
    """Variables whose values no header can carry: a line end inside, a curly quote from a web page."""
    names = [*filter(None, [endpoint.api_key_env]), *endpoint.extra_headers_env.values()]
    return [
        f"the environment variable {name} holds characters that no HTTP header may hold; copy its value again"
        for name in names
        if not all(" " <= c <= "~" for c in os.environ.get(name, "").strip())
    ]


async def _open(
    endpoint: EndpointConfig, roles: Mapping[str, RoleConfig], concurrency: int, answered_before: int, given: object
) -> EndpointCaller:
    def observe(quota: "Quota") -> None:
        caller.limiter.observe(quota)

    kind = find_kind(endpoint.kind)
    made = await kind.open(Opening(endpoint, roles, concurrency, read_access(endpoint), observe, given))
    caller = EndpointCaller(
        made,
        name=endpoint.name,
        concurrency=concurrency,
        max_retries=endpoint.max_retries,
        timeout_s=endpoint.timeout_s,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
        normal_stops=kind.normal_stops if kind.live else None,
        missing_finish_accepted=endpoint.accept_missing_finish,
        answered_before=answered_before,
        cache_first=kind.caches_prompts if endpoint.cache_first is None else endpoint.cache_first,
    )
    return caller


def _within_descriptors(wanted: Mapping[str, int]) -> tuple[dict[str, int], str | None]:
    """Lower concurrencies to what the process may open; returns them and a note when that was needed."""
    needed = sum(wanted.values()) + _DESCRIPTORS_KEPT
    allowed = _allowed_descriptors(needed)
    if allowed >= needed:
        return dict(wanted), None
    kept = _DESCRIPTORS_KEPT
    if allowed < 2 * kept:  # too few for a round number
        kept = min(kept, len(os.listdir("/dev/fd")) + _DESCRIPTORS_SPARE)
    share = max(1, allowed - kept) / sum(wanted.values())
    lowered = {name: max(1, int(n * share)) for name, n in wanted.items()}
    calls = "1 call is" if sum(lowered.values()) == 1 else f"{sum(lowered.values())} calls are"
    return lowered, (
        f"the system allows {allowed} open files (ulimit -n), so at most {calls} in flight "
        f"instead of {sum(wanted.values())}; raise it for more: ulimit -n {needed}"
    )


def _allowed_descriptors(needed: int) -> float:
    """How many files this process may open, after raising its soft limit as far as is needed and allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return needed
    target = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    except (ValueError, OSError):
        return soft  # some systems allow less than their hard limit says
    return target
