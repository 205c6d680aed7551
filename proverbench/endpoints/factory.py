"""From a config to callers: one for each endpoint, shared by the roles that use it."""

import os
import resource
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from proverbench.config import Config, EndpointConfig, RoleConfig, check_environment
from proverbench.endpoints.caller import EndpointCaller
from proverbench.endpoints.http import Access
from proverbench.errors import ConfigError

if TYPE_CHECKING:
    from proverbench.endpoints.base import Caller, Endpoint
    from proverbench.endpoints.limits import Quota

_DESCRIPTORS_KEPT = 64
"""File descriptors left for everything but connections: files of the run, libraries, the terminal."""


async def open_callers(config: Config, roles: Sequence[str], *, concurrency: int | None = None) -> "dict[str, Caller]":
    """Open the endpoints of ``roles``; nothing is asked yet.

    Args:
        config: The config file as read.
        roles: The roles that will call.
        concurrency: Overrides the concurrency of each endpoint.

    Returns:
        Role → caller. Roles that share an endpoint get the same caller; close each caller once (``close_callers``).

    Raises:
        ConfigError: A role or an environment variable is missing, or an endpoint cannot be opened as configured.
    """
    config.require(roles)
    check_environment(config, roles)
    endpoints = config.endpoints(roles)
    wanted = {endpoint.name: concurrency or endpoint.concurrency for endpoint in endpoints}
    allowed, note = _within_descriptors(wanted)
    callers: dict[str, Caller] = {}
    try:
        for endpoint in endpoints:
            users = {role: config.roles[role] for role in roles if config.roles[role].endpoint.name == endpoint.name}
            caller = await _open(endpoint, users, allowed[endpoint.name])
            if note:
                caller.state.notes.append(note)
            callers |= dict.fromkeys(users, caller)
    except BaseException:
        await close_callers(callers)
        raise
    return callers


async def close_callers(callers: "Mapping[str, Caller]") -> None:
    """Close every caller once."""
    for caller in {id(caller): caller for caller in callers.values()}.values():
        await caller.aclose()


def read_access(endpoint: EndpointConfig, environ: Mapping[str, str] = os.environ) -> Access:
    """The key and headers of an endpoint, from the variables that its config names."""
    key = environ.get(endpoint.api_key_env, "").strip() if endpoint.api_key_env else ""
    headers = {header: environ.get(name, "").strip() for header, name in endpoint.extra_headers_env.items()}
    unsendable = [
        variable
        for variable, value in [
            (endpoint.api_key_env, key),
            *((endpoint.extra_headers_env[h], v) for h, v in headers.items()),
        ]
        if any(not 32 <= ord(c) < 127 for c in value)
    ]
    if unsendable:
        raise ConfigError.of(
            f"the environment variable {name} holds characters that no HTTP header may hold; copy its value again"
            for name in unsendable
        )
    return Access(key=key or None, headers=headers)


async def _open(endpoint: EndpointConfig, roles: Mapping[str, RoleConfig], concurrency: int) -> EndpointCaller:
    # The kinds import what they need here, where it is first needed.
    caller: EndpointCaller

    def observe(quota: "Quota") -> None:
        caller.limiter.observe(quota)

    made: Endpoint
    if endpoint.kind == "openai":
        from proverbench.endpoints.openai import OpenAIEndpoint

        made = OpenAIEndpoint(endpoint, roles, access=read_access(endpoint), on_quota=observe)
    elif endpoint.kind == "embedded":
        from proverbench.endpoints.embedded import EmbeddedEndpoint

        made = await EmbeddedEndpoint.start(endpoint, roles, concurrency=concurrency)
    else:
        raise ConfigError(f"endpoint {endpoint.name!r}: kind {endpoint.kind!r} cannot be opened")
    caller = EndpointCaller(
        made,
        name=endpoint.name,
        concurrency=concurrency,
        max_retries=endpoint.max_retries,
        timeout_s=endpoint.timeout_s,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
        missing_finish_accepted=endpoint.accept_missing_finish,
    )
    return caller


def _within_descriptors(wanted: Mapping[str, int]) -> tuple[dict[str, int], str | None]:
    """Lower concurrencies to what the process may open; returns them and a note when that was needed."""
    needed = sum(wanted.values()) + _DESCRIPTORS_KEPT
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft != unlimited and soft < needed:
        raised = needed if hard == unlimited else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
        except (ValueError, OSError):
            pass  # some systems allow less than the hard limit says
    if soft == unlimited or soft >= needed:
        return dict(wanted), None
    share = max(1, soft - _DESCRIPTORS_KEPT) / sum(wanted.values())
    lowered = {name: max(1, int(n * share)) for name, n in wanted.items()}
    return lowered, (
        f"the system allows {soft} open files (ulimit -n), so at most {sum(lowered.values())} calls are in flight "
        f"instead of {sum(wanted.values())}; raise it for more: ulimit -n {needed}"
    )
