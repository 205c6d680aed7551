"""What calls cost: from token counts and the config's prices, known, "at least", or estimated beforehand. Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from proverbench.spending.prices import Prices
from proverbench.spending.usage import NO_USAGE, Usage

CHARS_PER_TOKEN = 3.5
"""Assumed of prompts before any call: between English prose (about 4) and dense LaTeX (about 3)."""
DEFAULT_OUTPUT_TOKENS = 4000
"""Assumed of an answer where the config sets no limit."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars, and whether it may have been more."""

    usd: float
    at_least: bool = False
    """True when a call's usage, or the price of something it used, is unknown."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.usd + other.usd, self.at_least or other.at_least)

    def __str__(self) -> str:
        amount = f"${self.usd:.2f}" if self.usd >= 1 else f"${self.usd:.4f}"
        return f"at least {amount}" if self.at_least else amount


def cost(usage: Usage | None, prices: Prices | None) -> Cost:
    """What a call, or a sum of calls, cost.

    Tokens read from the cache and written to it are priced as ``input`` where the config has no price of their own.

    Args:
        usage: Token counts; None when unknown.
        prices: US dollars per million tokens; None when the config states none.
    """
    if usage is None or prices is None:
        return Cost(0.0, at_least=True)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    write_price = prices.input if prices.cache_write is None else prices.cache_write
    fresh = max(0, usage.input - usage.cached_input - usage.cache_write)
    parts = (
        (fresh, prices.input),
        (usage.cached_input, cached_price),
        (usage.cache_write, write_price),
        (usage.output, prices.output),
    )
    usd = sum(tokens * price for tokens, price in parts if price is not None) / 1e6
    return Cost(usd, at_least=any(tokens and price is None for tokens, price in parts))


def cache_saving_usd(usage: Usage, prices: Prices) -> float | None:
    """What the provider's prompt cache saved: negative if writing to it cost more; None without prices for it."""
    if prices.input is None:
        return None
    read = 0.0 if prices.cached_input is None else usage.cached_input * (prices.input - prices.cached_input)
    written = 0.0 if prices.cache_write is None else usage.cache_write * (prices.input - prices.cache_write)
    return (read + written) / 1e6


def used(usage: Mapping[str, Mapping[str, Any]], roles: Mapping[str, Mapping[str, Any]]) -> str:
    """What a run used, in a line, such as ``2,345 tokens, $0.0354 (policy $0.0123, verifier $0.0231)``.

    Args:
        usage: Role → token counts, as in summary.json.
        roles: Role → what timing.json says of its calls.

    Returns:
        Without dollars where the config states no prices; empty where nothing is known.
    """
    counts = [count for of_role in usage.values() for count in (of_role.get("input"), of_role.get("output")) if count]
    tokens = f"{sum(counts):,} tokens" if counts else ""
    untold = any(of_role["calls_of_unknown_usage"] for of_role in usage.values())
    if tokens and (untold or any(said.get("abandoned") for said in roles.values())):
        tokens = f"at least {tokens}"
    costs = {
        role: Cost(said["cost_usd"], said["cost_is_at_least"]) for role, said in roles.items() if "cost_usd" in said
    }
    if not costs:
        return tokens
    whole = sum(costs.values(), Cost(0.0, at_least=len(costs) < len(roles)))
    of_each = ", ".join(f"{role} {cost}" for role, cost in costs.items())
    return ", ".join(filter(None, [tokens, f"{whole} ({of_each})" if len(costs) > 1 else str(whole)]))


@dataclass(slots=True)
class Spending:
    """Tokens and money of one role so far."""

    prices: Prices | None = None
    calls: int = 0
    """Answered calls."""
    calls_without_usage: int = 0
    """Of these, calls whose usage the provider did not tell."""
    doubtful: int = 0
    """Calls and broken replies whose usage is at least what was told, or was not told for what came."""
    abandoned: int = 0
    """Attempts that were given up after sending, of any call; the provider may bill them."""
    usage: Usage = NO_USAGE
    in_batches: Usage = NO_USAGE
    """Of this, what calls in batches used."""
    broken: Usage = NO_USAGE
    """What replies that were broken off used, beside ``usage``."""
    squares: float = 0.0
    """Sum over answered calls of the square of their cost, in US dollars²."""

    def add(self, usage: Usage | None, *, abandoned: int = 0, batch: bool = False) -> None:
        """Count an answered call.

        Args:
            usage: Its token counts, None when unknown.
            abandoned: Attempts of it that were given up.
            batch: Whether a batch answered it, which may cost less (``Prices.batch``).
        """
        self.calls += 1
        self.abandoned += abandoned
        self.calls_without_usage += usage is None
        if usage is not None:
            self.doubtful += not usage.known
            self.usage += usage
            if self.prices is not None:
                self.squares += cost(usage, self.prices).usd ** 2
            if batch:
                self.in_batches += usage

    def lost(self, abandoned: int) -> None:
        """Count the attempts of an unanswered call that were given up after sending."""
        self.abandoned += abandoned

    def broke_off(self, usage: Usage | None) -> None:
        """Count a reply that was broken off: no answer, but paid for.

        Args:
            usage: Its token counts, None when unknown.
        """
        self.doubtful += usage is None or not usage.known
        if usage is not None:
            self.broken += usage

    def __add__(self, other: "Spending") -> "Spending":
        """What both were together, at the prices of the first."""
        return Spending(
            self.prices,
            self.calls + other.calls,
            self.calls_without_usage + other.calls_without_usage,
            self.doubtful + other.doubtful,
            self.abandoned + other.abandoned,
            self.usage + other.usage,
            self.in_batches + other.in_batches,
            self.broken + other.broken,
            self.squares + other.squares,
        )

    @property
    def uncertain(self) -> bool:
        """Whether more may have been used than is known."""
        return self.calls_without_usage > 0 or self.doubtful > 0 or self.abandoned > 0

    @property
    def cost(self) -> Cost:
        """What was spent."""
        if self.calls == 0 and not self.uncertain and not self.broken.total:
            return Cost(0.0)
        return self.known + Cost(0.0, at_least=self.uncertain)

    @property
    def calls_with_usage(self) -> int:
        """Answered calls whose usage is known."""
        return self.calls - self.calls_without_usage

    @property
    def known(self) -> Cost:
        """The cost of all calls whose usage is known, and of the replies that were broken off."""
        whole = cost(self.usage + self.broken, self.prices)
        if self.prices is None or self.prices.batch is None:
            return whole
        return Cost(whole.usd - (1 - self.prices.batch) * cost(self.in_batches, self.prices).usd, whole.at_least)

    @property
    def sd_usd(self) -> float:
        """Standard deviation of what a call cost, in US dollars; 0 of fewer than two."""
        if self.calls_with_usage < 2:
            return 0.0
        total = cost(self.usage, self.prices).usd
        return math.sqrt(max(0.0, self.squares - total * total / self.calls_with_usage) / (self.calls_with_usage - 1))

    def forecast(self, calls_wanted: int) -> Cost | None:
        """The cost when ``calls_wanted`` calls are answered, if the rest cost as much on average; None before any."""
        if not self.calls_with_usage:
            return None
        return Cost(self.known.usd / self.calls_with_usage * max(calls_wanted, self.calls), at_least=self.cost.at_least)


@dataclass(slots=True)
class Budget:
    """What may be spent over all roles, and what was.

    Limits are on what is known to be spent: calls that are in flight when a limit is reached are still kept and paid.
    """

    max_cost_usd: float | None = None
    max_tokens_total: int | None = None
    roles: dict[str, Spending] = field(default_factory=dict)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.max_cost_usd is not None or self.max_tokens_total is not None

    @property
    def cost(self) -> Cost:
        """The sum over roles."""
        return sum((spending.cost for spending in self.roles.values()), Cost(0.0))

    @property
    def tokens(self) -> int:
        """Input and output tokens over all roles, as far as known."""
        return sum(spending.usage.total + spending.broken.total for spending in self.roles.values())

    def exceeded(self) -> "Exceeded | None":
        """Why to stop asking, or None. A cost that is "at least" the limit has reached it."""
        if self.max_cost_usd is not None and self.cost.usd >= self.max_cost_usd:
            return Exceeded("--max-cost", f"--max-cost {self.max_cost_usd:g} reached: {self.cost} spent")
        if self.max_tokens_total is not None and self.tokens >= self.max_tokens_total:
            words = f"--max-tokens-total {self.max_tokens_total} reached: {self.tokens} tokens used"
            return Exceeded("--max-tokens-total", words)
        return None


class Exceeded(NamedTuple):
    """A limit that is reached."""

    option: str
    """What sets it."""
    words: str


def output_limit(generation: Mapping[str, Any]) -> int | None:
    """The most tokens that an answer may have, as far as ``generation`` says."""
    extra = generation.get("extra_body")
    tables = [generation, extra] if isinstance(extra, dict) else [generation]
    found = [table[name] for table in tables for name in _LIMITS if isinstance(table.get(name), int)]
    return max(found, default=None)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a role would cost, before any call."""

    calls: int
    usage: Usage
    cost: Cost
    output_tokens_per_call: int
    """Assumed."""
    limited: bool = True
    """Whether the config sets a limit, so that no answer is longer."""


def estimate(
    prompt_chars: Iterable[int], *, prices: Prices | None, output_limit: int | None, output_guess: int | None = None
) -> Estimate:
    """What calls with prompts of these lengths would cost, on stated assumptions.

    Assumes ``CHARS_PER_TOKEN`` characters a token, no cached input, and answers as long as ``output_guess``, else as
    the config's limit (so an upper bound), else ``DEFAULT_OUTPUT_TOKENS``.

    Args:
        prompt_chars: Length of each prompt in characters, one for each call.
        prices: Of the role; None: the cost is unknown ("at least" 0).
        output_limit: Most tokens of an answer that the config allows; None: no limit.
        output_guess: Expected length of an answer in tokens, when there is reason to expect one.
    """
    lengths = list(prompt_chars)
    per_call = output_guess or output_limit or DEFAULT_OUTPUT_TOKENS
    usage = Usage(
        input=round(sum(lengths) / CHARS_PER_TOKEN), cached_input=0, cache_write=0, output=per_call * len(lengths)
    )
    limited = output_limit is not None
    return Estimate(len(lengths), usage, cost(usage, prices) if lengths else Cost(0.0), per_call, limited)


def assumptions(estimates: Mapping[str, Estimate]) -> str:
    """One sentence on what the estimates assume."""
    lengths = {
        limited: ", ".join(
            f"{role} {e.output_tokens_per_call}" for role, e in estimates.items() if e.limited == limited
        )
        for limited in (True, False)
    }
    said = [f"assumes {CHARS_PER_TOKEN:g} characters a token, no cached input"]
    if lengths[True]:
        said.append(f"answers of as many tokens as the limits allow ({lengths[True]})")
    if lengths[False]:
        said.append(
            f"where the config sets no limit, answers of so many ({lengths[False]}): it may be several times that"
        )
    return ", and ".join([", ".join(said[:-1]), said[-1]])
