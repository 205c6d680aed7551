"""Kind ``openai``: chat completions or the Responses API, of any compatible server."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.endpoints.kinds.kind import Fault, Kind


def _faults(table: Mapping[str, Any]) -> Iterator[Fault]:
    if table.get("base_url") is None:
        yield "base_url", "is missing; give the server's address, like 'http://127.0.0.1:8000/v1'"


OPENAI = Kind(
    name="openai",
    opens="proverbench.endpoints.responses:open_openai",
    batches="proverbench.endpoints.batch_openai:OpenAIBatches",
    normal_stops=frozenset({"stop"}),
    keys=frozenset({"base_url", "api_key_env", "extra_headers_env", "api", "context"}),
    faults=_faults,
)
