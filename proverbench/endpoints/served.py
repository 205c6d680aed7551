"""What a server says of itself before any call: its models, how much they take, and its clock."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from proverbench.endpoints.access import Access
from proverbench.endpoints.body import decode
from proverbench.endpoints.network import DEFAULT_URLS, address
from proverbench.endpoints.transport import Transport
from proverbench.inputs.config import EndpointConfig

_MOST_BYTES = 8 << 20
_CONTEXT_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens", "n_ctx")
"""Where servers put it: vLLM and SGLang, routers, hosted APIs, llama.cpp (in ``meta``)."""


@dataclass(frozen=True)
class ServedModel:
    """A model that a server lists."""

    name: str
    context: int | None
    """Tokens of prompt and reply together; None where it is not told."""


@dataclass(frozen=True)
class Served:
    """What a server said."""

    status: int
    models: tuple[ServedModel, ...]
    """Empty where it lists none."""
    clock_ahead_s: float | None
    """How far its clock is ahead of ours, in seconds; None where it sent no date."""

    def context_of(self, model: str) -> int | None:
        """The context of one model."""
        return next((served.context for served in self.models if served.name == model), None)


async def ask_served(endpoint: EndpointConfig, access: Access, *, timeout_s: float = 5.0) -> Served | None:
    """Ask a server for its list of models; None for a kind without an address.

    Args:
        endpoint: Which.
        access: Its key and headers.
        timeout_s: Longest wait for a connection, and longest silence after it.

    Raises:
        EndpointError: If nothing answers there.
    """
    base = endpoint.base_url or DEFAULT_URLS.get(endpoint.kind)
    if base is None:
        return None
    headers = dict(access.headers)
    if access.key:
        headers |= {"Authorization": f"Bearer {access.key}"}
    if endpoint.kind == "anthropic":
        headers = {
            **access.headers,
            "anthropic-version": "2023-06-01",
            **({"x-api-key": access.key} if access.key else {}),
        }
        base = f"{base.removesuffix('/v1')}/v1"
    transport = Transport(
        address(base, "/models"),
        headers,
        connect_timeout_s=timeout_s,
        read_timeout_s=timeout_s,
        redact=access.redact,
    )
    try:
        async with transport.get() as response:
            raw = await response.content.read(_MOST_BYTES) if response.status == 200 else b""
            return Served(response.status, _models(raw), _ahead(response.headers))
    finally:
        await transport.aclose()


def _models(raw: bytes) -> tuple[ServedModel, ...]:
    try:
        listed = decode(raw, dict[str, Any]).get("data") if raw else None
    except ValueError:
        return ()
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return tuple(ServedModel(row["id"], _context(row)) for row in rows if isinstance(row.get("id"), str))


def _context(row: Mapping[str, Any]) -> int | None:
    tables = [row, *(table for name in ("meta", "limits") if isinstance(table := row.get(name), dict))]
    for table in tables:
        for key in _CONTEXT_KEYS:
            if type(value := table.get(key)) is int and value > 0:
                return value
    return None


def _ahead(headers: Mapping[str, str]) -> float | None:
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp() - time.time()
    except (KeyError, ValueError, TypeError):
        return None
