"""Token counts, whatever shape the provider sends them in. Pure."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, or a sum over calls."""

    input: int
    """Prompt tokens in all, those from and into the provider's cache included."""
    cached_input: int
    """Of these, read from the cache."""
    cache_write: int
    """Of these, written to the cache."""
    output: int
    """Generated tokens, reasoning included."""
    reasoning: int | None = None
    """Of these, reasoning; None where the provider does not say."""

    def __add__(self, other: "Usage") -> "Usage":
        reasoning = None
        if self.reasoning is not None or other.reasoning is not None:
            reasoning = (self.reasoning or 0) + (other.reasoning or 0)
        return Usage(
            self.input + other.input,
            self.cached_input + other.cached_input,
            self.cache_write + other.cache_write,
            self.output + other.output,
            reasoning,
        )

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output


NO_USAGE = Usage(0, 0, 0, 0)
"""Where sums start."""


def normalise_usage(raw: dict[str, Any] | None) -> Usage | None:
    """The counts of a ``usage`` object, or None when they are unknown.

    Chat completions say ``prompt_tokens`` and ``completion_tokens``, the Responses API and Anthropic
    ``input_tokens`` and ``output_tokens``. OpenAI's input includes cached tokens; Anthropic's leaves out those read
    from and written to its cache, which are added here.

    Args:
        raw: As the provider sent it.
    """
    if not isinstance(raw, dict):
        return None
    chat_input, chat_output = _count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens"))
    if chat_input is not None or chat_output is not None:
        return _openai(chat_input, chat_output, raw, "prompt_tokens_details", "completion_tokens_details")
    given_input, given_output = _count(raw.get("input_tokens")), _count(raw.get("output_tokens"))
    if given_input is None and given_output is None:
        return None
    if "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw:
        return _anthropic(given_input or 0, given_output or 0, raw)
    return _openai(given_input, given_output, raw, "input_tokens_details", "output_tokens_details")


def _openai(given_input: int | None, output: int | None, raw: dict[str, Any], of_input: str, of_output: str) -> Usage:
    input_details, output_details = _table(raw.get(of_input)), _table(raw.get(of_output))
    cached = _count(input_details.get("cached_tokens"))
    if cached is None:
        cached = _count(raw.get("prompt_cache_hit_tokens")) or 0
    return Usage(
        input=given_input or 0,
        cached_input=min(cached, given_input or 0),
        cache_write=0,
        output=output or 0,
        reasoning=_count(output_details.get("reasoning_tokens")),
    )


def _anthropic(uncached: int, output: int, raw: dict[str, Any]) -> Usage:
    read = _count(raw.get("cache_read_input_tokens")) or 0
    written = _count(raw.get("cache_creation_input_tokens")) or 0
    return Usage(input=uncached + read + written, cached_input=read, cache_write=written, output=output)


def _count(value: Any) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 1e15):  # nearly always
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return int(value)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
