"""A role's request parameters: passed through as they are, but for what no request can carry."""

import math
from collections.abc import Iterator
from typing import Any

from proverbench.endpoints.kinds.registry import known_kind
from proverbench.redact import shown

_OWNED_BY_THE_CALL = ("model", "messages", "stream", "n", "tools")
_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
GENERATION_HINTS = (
    *_TOKEN_LIMITS,
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "seed",
    "stop",
    "extra_body",
    "service_tier",
)
"""Parameters people use; only to guess what an unknown key was meant to be. Others pass just as well."""


def without_unset(generation: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are set: one that is null is not sent, at the top and in ``extra_body``."""
    kept = {key: value for key, value in generation.items() if value is not None}
    if isinstance(kept.get("extra_body"), dict):
        kept["extra_body"] = {key: value for key, value in kept["extra_body"].items() if value is not None}
    return kept


def generation_faults(role: str, generation: dict[str, Any], kind: object) -> Iterator[str]:
    """What is wrong with the parameters of a role, a line each, beginning with the key."""
    where = f"{role}.generation"
    extra = generation.get("extra_body", {})
    if not isinstance(extra, dict):
        yield f"{where}.extra_body is {shown(extra)}; wanted a table"
        extra = {}
    for place, table in ((where, generation), (f"{where}.extra_body", extra)):
        for key in _OWNED_BY_THE_CALL:
            if key in table:
                yield f"{place}.{key} is set by each call itself; {_instead_of(key, role)}"
    limits = {key: value for key, value in (extra | generation).items() if key in _TOKEN_LIMITS}
    for key, value in limits.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield f"{where}.{key} is {shown(value)}; wanted a positive integer"
    if "max_tokens" in limits and "max_completion_tokens" in limits:
        yield f"{where} has both max_tokens and max_completion_tokens; keep the one that the server knows"
    yield from _sampling_faults(where, generation)
    found = known_kind(kind)
    for key, fault in found.generation_faults(generation) if found else ():
        yield f"{where}.{key} {fault}"
    yield from _unsendable(generation, where)


def _instead_of(key: str, role: str) -> str:
    if key == "model":
        return f"give it as {role}.model"
    if key == "stream":
        return f"give stream = true or false as {role}.stream"
    return "delete it"


def _sampling_faults(where: str, generation: dict[str, Any]) -> Iterator[str]:
    for key, most in (("temperature", math.inf), ("top_p", 1.0)):
        value = generation.get(key)
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= most:
            wanted = "a number of at least 0" if most == math.inf else f"a number from 0 to {most:g}"
            yield f"{where}.{key} is {shown(value)}; wanted {wanted}"
    seed = generation.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        yield f"{where}.seed is {shown(seed)}; wanted an integer, from which each call gets its own seed"


def _unsendable(value: object, where: str) -> Iterator[str]:
    """Faults of values that JSON cannot carry: not-a-number, infinity, and TOML's dates and times."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value}; wanted a finite number"
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        yield f"{where} is an integer of more than 64 bits, which JSON writers refuse"
    elif isinstance(value, str | int | float | bool | None):
        return
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unsendable(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unsendable(item, f"{where}.{key}")
    else:
        yield f"{where} is a TOML {type(value).__name__}; wanted a string"
