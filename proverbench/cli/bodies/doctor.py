"""What ``proverbench doctor`` does."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from proverbench.cli.common import EXIT_BAD_INPUT, EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.streams import echo, echo_json
from proverbench.endpoints.factory import check_endpoints, read_access
from proverbench.endpoints.kinds.registry import find_kind
from proverbench.endpoints.probe import probe
from proverbench.endpoints.served import Served, ask_served
from proverbench.errors import ConfigError, EndpointError, ProverBenchError, UserInputError
from proverbench.inputs.config import Config, EndpointConfig, check_environment
from proverbench.inputs.config_file import load_config

State = Literal["ok", "warning", "fault"]


_MARKS: dict[State, str] = {"ok": "ok     ", "warning": "warning", "fault": "FAULT  "}


_LITTLE_DISK = 1 << 30


_CLOCK_OFF_S = 120.0


@dataclass(frozen=True)
class _Check:
    """One thing that was looked at."""

    check: str
    state: State
    said: str
    facts: dict[str, Any] = field(default_factory=dict)


def doctor(config: Path, offline: bool, timeout: float, as_json: bool) -> int:
    """Check config, keys, servers, disk and clock before a run."""
    checks = [*_of_config(config, offline=offline, timeout_s=timeout), _of_disk(Path.cwd())]
    if as_json:
        echo_json([{"check": c.check, "state": c.state, "said": c.said, **c.facts} for c in checks])
    else:
        for found in checks:
            echo(f"{_MARKS[found.state]}  {found.check:<10} {found.said}")
    faulty = {found.check for found in checks if found.state == "fault"}
    if faulty & {"config", "keys", "network"}:
        return EXIT_BAD_INPUT
    return EXIT_INCOMPLETE if faulty else EXIT_COMPLETE


def _of_config(path: Path, *, offline: bool, timeout_s: float) -> Iterator[_Check]:
    try:
        config = load_config(path)
    except UserInputError as exc:
        yield _Check("config", "fault", str(exc))
        return
    roles = list(config.roles)
    models = ", ".join(f"{role} {settings.model or '(as replayed)'}" for role, settings in config.roles.items())
    yield _Check("config", "ok", f"{config.path}: {models}")
    try:
        check_environment(config, roles)
    except ConfigError as exc:
        yield _Check("keys", "fault", str(exc))
        return
    named = sorted({e.api_key_env for e in config.endpoints(roles) if e.api_key_env})
    yield _Check("keys", "ok", f"{', '.join(named)} set" if named else "none is needed")
    try:
        check_endpoints(config, roles)
    except UserInputError as exc:
        yield _Check("network", "fault", str(exc))
        return
    if not offline:
        yield from asyncio.run(_of_servers(config, timeout_s))


async def _of_servers(config: Config, timeout_s: float) -> list[_Check]:
    """Every endpoint and every role at once, so that all takes as long as the slowest."""
    endpoints = config.endpoints(config.roles)
    served = dict(
        zip(
            (endpoint.name for endpoint in endpoints),
            await asyncio.gather(*(_served(endpoint, timeout_s / 3) for endpoint in endpoints)),
            strict=True,
        )
    )
    probes = [_of_role(role, config, served, timeout_s * 2 / 3) for role in config.roles]
    roles = await asyncio.gather(*probes)
    return [*roles, *_of_clock([found for found in served.values() if found is not None])]


async def _served(endpoint: EndpointConfig, timeout_s: float) -> Served | None:
    try:
        async with asyncio.timeout(timeout_s):
            return await ask_served(endpoint, read_access(endpoint), timeout_s=timeout_s)
    except (EndpointError, TimeoutError):
        return None  # the role's own call says why


async def _of_role(role: str, config: Config, served: dict[str, Served | None], timeout_s: float) -> _Check:
    settings = config.roles[role]
    if not find_kind(settings.endpoint.kind).live:
        return _Check(role, "ok", f"replays {settings.endpoint.run}; nothing is asked")
    try:
        async with asyncio.timeout(timeout_s):
            probed = await probe(role, settings)
    except TimeoutError:
        return _Check(
            role, "fault", f"no answer within {timeout_s:.0f} s; is the server busy? (--timeout waits longer)"
        )
    except ProverBenchError as exc:
        return _Check(role, "fault", str(exc))
    found = served.get(settings.endpoint.name)
    context = found.context_of(settings.model) if found else None
    facts = probed.facts() | {"context": context or settings.endpoint.context}
    warnings = [*_doubts(settings.model, facts, found), *filter(None, [probed.remark])]
    said = _said(facts)
    return _Check(role, "warning" if warnings else "ok", "; ".join([said, *warnings]), facts)


def _said(facts: dict[str, Any]) -> str:
    usage = facts["usage"]
    told = f"usage {usage['input']}+{usage['output']} tokens" if usage else "no usage"
    parts = [
        f"model {facts['model'] or '(not told)'}",
        f"context {facts['context']:,}" if facts["context"] else "context not told",
        f"finish reason {facts['finish_reason'] or '(none)'}",
        told + (", cached ones told" if facts["cached_tokens_told"] else ", cached ones not told"),
        "streams" if facts["streaming"] else "does not stream",
        f"reasoning {facts['reasoning'] or 'none seen'}",
        f"{facts['latency_s']:.1f} s",
    ]
    return ", ".join(parts)


def _doubts(model: str, facts: dict[str, Any], served: Served | None) -> Iterator[str]:
    if facts["model"] and facts["model"] != model:
        yield f"the config says model {model!r}"
    elif not facts["model"] and served and served.models and model not in {m.name for m in served.models}:
        listed = ", ".join(m.name for m in served.models[:5])
        yield f"the server does not list {model!r}; it has {listed}"
    if facts["finish_reason"] is None:
        yield "no finish reason: every reply would be invalid, unless the endpoint says accept_missing_finish = true"
    if facts["usage"] is None:
        yield "no token counts: cost and --max-tokens-total cannot be kept"


def _of_clock(served: list[Served]) -> Iterator[_Check]:
    ahead = [found.clock_ahead_s for found in served if found.clock_ahead_s is not None]
    if not ahead:
        yield _Check("clock", "ok", "no server told its time")
        return
    worst = max(ahead, key=abs)
    facts = {"server_ahead_s": round(worst, 1)}
    if abs(worst) > _CLOCK_OFF_S:
        side = "ahead of" if worst > 0 else "behind"
        yield _Check("clock", "warning", f"a server's clock is {abs(worst):.0f} s {side} this one's: set yours", facts)
    else:
        yield _Check("clock", "ok", f"within {max(abs(worst), 1):.0f} s of the servers'", facts)


def _of_disk(folder: Path) -> _Check:
    free = shutil.disk_usage(folder).free
    facts = {"free_bytes": free}
    if not os.access(folder, os.W_OK):
        return _Check("disk", "fault", f"{folder} cannot be written", facts)
    said = f"{free / 1e9:.1f} GB free in {folder}"
    return _Check("disk", "ok" if free > _LITTLE_DISK else "warning", said, facts)
