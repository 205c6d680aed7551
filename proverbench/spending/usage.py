"""Token counts, whatever shape the provider sends them in, reconciled where they contradict each other. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec

UNCOUNTED = "text_without_tokens"
"""A key that the audit adds to a ``usage``: a text came, but its tokens were told as 0."""


class Usage(msgspec.Struct, frozen=True):
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
    known: bool = True
    """False where a side was not told or the counts contradict each other: what was used is at least this."""

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
            self.known and other.known,
        )

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output


NO_USAGE = Usage(0, 0, 0, 0)
"""Where sums start."""

_CACHED = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens", "cache_read_input_tokens")
"""Where servers put the tokens read from the cache, beside the details of the input."""
_INPUT_DETAILS = ("prompt_tokens_details", "prompt_token_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")


_CHAT_KEYS = frozenset(
    ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"]
)
"""All that a chat completion tells of its tokens, as its first maker has it."""


def merge_usage(found: Iterable[Any]) -> dict[str, Any] | None:
    """The usage objects of one reply as one: field by field, the larger number wins.

    Counts are cumulative, so a later null, zero or text erases nothing.

    Args:
        found: What stood where a usage object may stand; what is none is passed over.

    Returns:
        None when there was none. A single object is given back as it is.
    """
    merged: dict[str, Any] | None = None
    for usage in found:
        if isinstance(usage, dict):
            merged = usage if merged is None else _larger(merged, usage)
    return merged


def _larger(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for name, value in other.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _larger(before, value)
        elif before is None or (_count(value) or 0) > (_count(before) or 0):
            merged[name] = value
    return merged


def normalise_usage(raw: dict[str, Any] | None) -> Usage | None:
    """The counts of a ``usage`` object, reconciled, or None when they are unknown.

    Chat completions say ``prompt_tokens`` and ``completion_tokens``, the Responses API and Anthropic
    ``input_tokens`` and ``output_tokens``. OpenAI's input includes cached tokens; Anthropic's leaves out those read
    from and written to its cache, which are added here. Where a total says more than the parts, the output is the rest
    of it: some servers count reasoning beside the completion. docs/endpoints.md, "Money", has the rules.

    Args:
        raw: As the provider sent it.
    """
    if not isinstance(raw, dict):
        return None
    if raw.keys() <= _CHAT_KEYS and (plain := _plain(raw)) is not None:
        return plain
    prompt, output = _count(raw.get("prompt_tokens")), _count(raw.get("completion_tokens"))
    total = _count(raw.get("total_tokens"))
    written = 0
    if prompt is None and output is None:
        prompt, output = _count(raw.get("input_tokens")), _count(raw.get("output_tokens"))
        if "cache_read_input_tokens" in raw or "cache_creation_input_tokens" in raw:
            written = _count(raw.get("cache_creation_input_tokens")) or 0
            if prompt is not None or written or raw.get("cache_read_input_tokens"):
                prompt = (prompt or 0) + (_count(raw.get("cache_read_input_tokens")) or 0) + written
    if prompt is None and output is None and total is None:
        return None
    return _reconciled(raw, prompt, output, total, written)


def _plain(raw: dict[str, Any]) -> Usage | None:
    """The counts of a chat completion that agree with each other; None of any that must be reconciled."""
    prompt, output, total = raw.get("prompt_tokens"), raw.get("completion_tokens"), raw.get("total_tokens")
    if not (type(prompt) is type(output) is type(total) is int and prompt > 0 <= output):
        return None
    if not total == prompt + output < 1e15:
        return None
    cached, reasoning = 0, None
    if details := raw.get("prompt_tokens_details"):
        cached = details.get("cached_tokens") or 0 if type(details) is dict else 0
        if type(cached) is not int or not 0 <= cached <= prompt:
            return None
    if details := raw.get("completion_tokens_details"):
        reasoning = details.get("reasoning_tokens") if type(details) is dict else None
        if reasoning is not None and (type(reasoning) is not int or not 0 <= reasoning <= output):
            return None
    return Usage(prompt, cached, 0, output, reasoning)


def _reconciled(
    raw: dict[str, Any], told_input: int | None, told_output: int | None, total: int | None, written: int
) -> Usage:
    """The counts made to agree; whatever they cannot say for certain makes them ``known=False``."""
    input_ = told_input or 0
    known = not raw.get(UNCOUNTED)
    if not input_:
        known = False
        if total is not None and told_output is not None:
            input_ = max(0, total - told_output)
    output = told_output or 0
    if total is not None:
        known = known and total >= input_ + output
        output = max(output, total - input_)
    elif told_output is None:
        known = False
    reasoning = _first(raw, _OUTPUT_DETAILS, "reasoning_tokens")
    if reasoning is not None and reasoning > output:
        output = reasoning if total is not None else output + reasoning
        known = False
    cached = _cached(raw)
    if cached > input_:
        cached, known = input_, False
    return Usage(input_, cached, min(written, input_ - cached), output, reasoning, known)


def _first(raw: dict[str, Any], tables: tuple[str, ...], name: str) -> int | None:
    for table in tables:
        details = raw.get(table)
        if isinstance(details, dict) and (count := _count(details.get(name))) is not None:
            return count
    return None


def _cached(raw: dict[str, Any]) -> int:
    """Tokens read from the cache: the first place that says more than 0."""
    for table in _INPUT_DETAILS:
        details = raw.get(table)
        if isinstance(details, dict) and (count := _count(details.get("cached_tokens"))):
            return count
    return next((count for name in _CACHED if (count := _count(raw.get(name)))), 0)


def _count(value: Any) -> int | None:
    if value is None or (type(value) is int and 0 <= value < 1e15):  # nearly always
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return None
    return int(value)
