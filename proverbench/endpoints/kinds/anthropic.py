"""Kind ``anthropic``: the Messages API."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.endpoints.kinds.kind import Fault, Kind
from proverbench.redact import shown


def _faults(table: Mapping[str, Any]) -> Iterator[Fault]:
    if table.get("base_url") is None and table.get("api_key_env") is None:
        yield "api_key_env", "is missing; name the variable that holds the key: 'ANTHROPIC_API_KEY'"


def _generation_faults(generation: Mapping[str, Any]) -> Iterator[Fault]:
    most = generation.get("max_tokens")
    if "max_completion_tokens" in generation:
        yield "max_completion_tokens", "is not known to kind 'anthropic'; wanted max_tokens"
    if most is None:
        yield "max_tokens", "is missing; kind 'anthropic' needs it"
    thinking = generation.get("thinking", {})
    if not isinstance(thinking, dict):
        yield "thinking", f"is {shown(thinking)}; wanted a table, like {{type = 'enabled', budget_tokens = 8000}}"
        return
    budget = thinking.get("budget_tokens")
    if budget is None:
        return
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        yield "thinking.budget_tokens", f"is {shown(budget)}; wanted a positive integer"
    elif isinstance(most, int) and budget >= most:
        yield "thinking.budget_tokens", f"is {budget}; wanted less than max_tokens, which is {most}"


ANTHROPIC = Kind(
    name="anthropic",
    opens="proverbench.endpoints.anthropic:open_anthropic",
    batches="proverbench.endpoints.batch_anthropic:AnthropicBatches",
    normal_stops=frozenset({"end_turn", "stop_sequence"}),
    keys=frozenset({"base_url", "api_key_env", "extra_headers_env", "context"}),
    faults=_faults,
    generation_faults=_generation_faults,
    seeds=False,
)
