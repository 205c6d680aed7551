"""Where a prompt and its output limit do not fit into a model's context: the numbers that a refusal tells. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_N = r"(\d[\d,]{0,14})"
_CONTEXT = (
    rf"maximum context length (?:is|of) {_N}",
    rf"exceed context limit: [\d,]+ \+ [\d,]+ > {_N}",
    rf"prompt is too long: [\d,]+ tokens > {_N}",
    rf"must be <= {_N}",
    rf"n_ctx \({_N}\)",
    rf"token limit: {_N}",
    rf"context (?:length|window|size|limit)\D{{0,30}}{_N}",
    rf"max_model_len\D{{0,30}}{_N}",
)
_PROMPT = (
    rf"{_N} in the (?:messages|prompt|input)",
    rf"{_N} tokens from the input",
    rf"{_N} input tokens",
    rf"input \({_N} tokens\)",
    rf"exceed context limit: {_N} \+",
    rf"prompt is too long: {_N} tokens",
    rf"must be <= [\d,]+\D+{_N}\D+[\d,]+",
    rf"(?:messages|prompt) (?:resulted in|has|contains) {_N}",
    rf"keep the first {_N}",
    rf"n_keep \({_N}\)",
)
_LIMIT = (
    rf"{_N} in the completion",
    rf"{_N} tokens for the completion",
    rf"exceed context limit: [\d,]+ \+ {_N}",
    rf"must be <= [\d,]+\D+[\d,]+\D+{_N}",
    rf"is too large: {_N}",
)
_SUM = (rf"requested:? (?:a total of |about )?{_N}",)
_LIMIT_BLAMED = re.compile(r"completion|max_\w*tokens|output")


@dataclass(frozen=True, slots=True)
class Room:
    """What a refusal tells of a context, in tokens; None where it does not say."""

    context: int | None = None
    """What the model, or the server that runs it, takes in all."""
    prompt: int | None = None
    limit: int | None = None
    """The output limit that was asked for."""
    limit_blamed: bool = False
    """Whether the message speaks of the output limit."""

    @property
    def limit_alone(self) -> bool:
        """Whether the output limit by itself is no less than the context, so that no prompt can pass."""
        if self.context is None or self.limit is None or not self.limit_blamed:
            return False
        return self.limit >= self.context and not (self.prompt is not None and self.prompt >= self.context)

    @property
    def largest_limit(self) -> int | None:
        """The largest output limit with which this prompt would fit; None when none would, or it is not known."""
        if self.context is None or self.prompt is None or self.prompt >= self.context:
            return None
        return self.context - self.prompt

    def why_no_room(self) -> str | None:
        """What clashes and what would fit, where it is the output limit that leaves no room; else None."""
        if self.context is None or self.limit is None or self.prompt is None or self.prompt >= self.context:
            return None
        return f"{self.words()}; this prompt would fit with max_tokens = {self.largest_limit:,} or less"

    def words(self) -> str:
        """The numbers, as far as they are told."""
        parts = [] if self.context is None else [f"the context is {self.context:,} tokens"]
        fits = self.context is not None and self.prompt is not None and self.prompt >= self.context
        if self.prompt is not None and self.limit is not None and not fits:
            parts.append(
                f"asked were a prompt of {self.prompt:,} and max_tokens {self.limit:,}: {self.prompt + self.limit:,}"
            )
        elif self.prompt is not None:
            parts.append(f"the prompt alone has {self.prompt:,}")
        elif self.limit is not None:
            parts.append(f"max_tokens is {self.limit:,}")
        return ", ".join(parts)


def read_room(message: str, *, n_ctx: int | None = None, n_prompt: int | None = None, limit: int | None = None) -> Room:
    """The numbers of a message that names a context.

    Args:
        message: In any of the forms that servers use (docs/endpoints.md, "Context").
        n_ctx: The context, where the error has a field for it.
        n_prompt: The prompt's tokens, likewise.
        limit: The request's own output limit.
    """
    context = n_ctx or _number(_CONTEXT, message)
    prompt = n_prompt or _number(_PROMPT, message)
    told_limit = limit or _number(_LIMIT, message)
    whole = _number(_SUM, message)
    if whole is not None and prompt is None and told_limit is not None and whole > told_limit:
        prompt = whole - told_limit
    if whole is not None and told_limit is None and prompt is not None and whole > prompt:
        told_limit = whole - prompt
    return Room(context, prompt, told_limit, _LIMIT_BLAMED.search(message) is not None)


def clash(rooms: Iterable[Room]) -> str | None:
    """What refused many calls, in a sentence; None when nothing is known.

    Names the two numbers that clash, and the largest limit with which every one of these prompts would fit.
    """
    known = [room for room in rooms if room.context is not None]
    if not known:
        return None
    worst = max(known, key=lambda room: room.prompt or 0)
    fitting = [limit for room in known if (limit := room.largest_limit) is not None]
    largest = min(fitting, default=None)
    if worst.prompt is not None and worst.context is not None and worst.prompt >= worst.context:
        remedy = "; raise the server's context, for no max_tokens makes such a prompt fit"
        if largest is not None:
            remedy += f" ({len(fitting):,} of {len(known):,} prompts would fit with max_tokens = {largest:,})"
    elif largest is not None:
        remedy = (
            f"; lower max_tokens to {largest:,}, with which {len(fitting):,} of {len(known):,} prompts fit, "
            "or raise the context"
        )
    else:
        remedy = "; lower max_tokens or raise the server's context"
    return worst.words() + remedy


def _number(patterns: tuple[str, ...], message: str) -> int | None:
    for pattern in patterns:
        found = re.search(pattern, message, re.IGNORECASE)
        if found:
            return int(found[1].replace(",", ""))
    return None
