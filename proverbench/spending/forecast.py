"""What calls to come will cost, learnt from calls that were answered. Pure."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from proverbench.spending.money import CHARS_PER_TOKEN, Cost, cost
from proverbench.spending.prices import Prices
from proverbench.spending.usage import NO_USAGE, Usage

LEARNT_FROM = 20
"""So many answers say more of the calls to come than the config's limits do."""
_LEAST_READ = 0.8
"""Of what an ideal order would read from the cache (docs/performance.md has what was measured)."""
_Z = 1.959963984540054
"""Of the normal distribution, for 95 %."""


class Forecast(NamedTuple):
    """What a number of calls of one role will use."""

    answers: int
    """That it is learnt from."""
    usage: Usage
    """Tokens, expected."""
    cost: Cost
    """Expected."""
    half_width_usd: float
    """The cost lies within this of the expected one in 95 % of cases, were calls independent."""

    def scaled(self, share: float) -> "Forecast":
        """At a share of the price."""
        cheaper = Cost(self.cost.usd * share, self.cost.at_least)
        return self._replace(cost=cheaper, half_width_usd=self.half_width_usd * share)


def learn(observed: Sequence[Usage], calls: int, prices: Prices | None) -> Forecast | None:
    """What ``calls`` further calls will use, if they are like those observed; None where these are too few.

    The range is that of a sum of ``calls`` draws from what was observed, its mean known only from as many answers:
    1.96 · sd · sqrt(calls + calls² / n).

    Args:
        observed: What each answered call used.
        calls: Calls to come.
        prices: Of the role; None: the cost is unknown ("at least" 0).
    """
    n = len(observed)
    if n < LEARNT_FROM:
        return None
    whole = sum(observed, NO_USAGE)
    share = calls / n
    usage = Usage(
        input=round(whole.input * share),
        cached_input=round(whole.cached_input * share),
        cache_write=round(whole.cache_write * share),
        output=round(whole.output * share),
    )
    each = [cost(one, prices) for one in observed]
    mean = math.fsum(one.usd for one in each) / n
    variance = math.fsum((one.usd - mean) ** 2 for one in each) / (n - 1)
    expected = Cost(mean * calls, at_least=calls > 0 and any(one.at_least for one in each))
    return Forecast(n, usage, expected, half_width(math.sqrt(variance), calls, n))


class CacheSaving(NamedTuple):
    """What a server's prompt cache may save where each prompt is asked several times, the first time alone."""

    low_usd: float
    """With 80 % of what can be read from the cache being read."""
    high_usd: float
    """With all of it."""


def cache_saving(prompt_chars: Iterable[int], repeats: int, prices: Prices) -> CacheSaving | None:
    """What the cache may save; None where the prices say that it saves nothing.

    Args:
        prompt_chars: Length of each prompt that is kept, one for each call.
        repeats: Calls with the same prompt: all but the first may read it.
        prices: Of the role. A price of writing to the cache is paid by the first.
    """
    if prices.input is None or prices.cached_input is None:
        return None
    each = sum(prompt_chars) / CHARS_PER_TOKEN / repeats / 1e6
    written = 0.0 if prices.cache_write is None else each * (prices.cache_write - prices.input)
    read = each * (repeats - 1) * (prices.input - prices.cached_input)
    return CacheSaving(_LEAST_READ * read - written, read - written) if read > written else None


def half_width(sd_usd: float, calls: int, answers: int) -> float:
    """Half the 95 % range of what ``calls`` calls to come cost, in US dollars."""
    return _Z * sd_usd * math.sqrt(calls + calls * calls / answers)


def shown(expected: Cost, half_widths: Iterable[float]) -> str:
    """A cost with its range, such as ``$0.52 ($0.47 to $0.58)``; half-widths of roles are added as errors are."""
    width = math.sqrt(math.fsum(one * one for one in half_widths))
    low, high = Cost(max(0.0, expected.usd - width)), Cost(expected.usd + width)
    return f"{expected} ({low} to {high})"
