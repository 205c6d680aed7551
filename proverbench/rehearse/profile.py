"""How the rehearsal server behaves on the whole: latencies, faults at stated rates, quotas, batches.

Everything random is drawn from the seed and the request (its prompt, its seed, its count of arrivals), never from a
clock or from the order in which different requests come.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from proverbench.errors import ConfigError
from proverbench.rehearse import plays
from proverbench.rehearse.dialects import Dialect
from proverbench.rehearse.plays import Play
from proverbench.rehearse.prefix_cache import PrefixCache
from proverbench.rehearse.wire import Ask, digest

FAULTS: Final[Mapping[str, str]] = {
    "reset": "the connection is reset before any byte",
    "cut": "the connection closes in the middle of the body",
    "hang": "no byte ever comes",
    "stall": "half of the body, then silence",
    "html": "status 200 with a web page",
    "empty": "status 200 with an empty body",
    "error200": "status 200 whose body is an error",
}
"""Faults by name; beside them any HTTP status from 400 to 599."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long a reply takes.

    Args:
        kind: ``fixed`` or ``lognormal``.
        median_s: The median, in seconds; 0 or more.
        sigma: Standard deviation of the logarithm, 0 or more; ignored for ``fixed``. Reasoning models show 0.6 to 1.2.
    """

    kind: Literal["fixed", "lognormal"] = "fixed"
    median_s: float = 0.0
    sigma: float = 0.0

    @classmethod
    def parse(cls, text: str) -> "Latency":
        """Read ``fixed:SECONDS`` or ``lognormal:MEDIAN,SIGMA``.

        Raises:
            ConfigError: If it is neither.
        """
        kind, _, numbers = text.partition(":")
        wanted = {"fixed": 1, "lognormal": 2}.get(kind)
        try:
            values = [float(number) for number in numbers.split(",")]
        except ValueError:
            values = []
        if len(values) != wanted or not all(math.isfinite(value) and value >= 0 for value in values):
            raise ConfigError(
                f"latency {text!r}: give fixed:SECONDS or lognormal:MEDIAN,SIGMA, such as lognormal:2,0.6"
            )
        return cls("fixed", values[0]) if kind == "fixed" else cls("lognormal", values[0], values[1])

    def draw(self, rng: random.Random) -> float:
        """One latency, in seconds."""
        if self.kind == "fixed" or self.median_s == 0:
            return self.median_s
        return rng.lognormvariate(math.log(self.median_s), self.sigma)


def parse_faults(text: str) -> dict[str, float]:
    """Read ``429=0.05,reset=0.01``: faults and their rates.

    Raises:
        ConfigError: All that is wrong with it, a line each.
    """
    rates: dict[str, float] = {}
    wrong: list[str] = []
    for item in filter(None, text.replace(" ", "").split(",")):
        name, _, number = item.partition("=")
        try:
            rate = float(number)
        except ValueError:
            rate = math.nan
        if name not in FAULTS and not (name.isdecimal() and 400 <= int(name) <= 599):
            wrong.append(f"fault {name!r}: give an HTTP status from 400 to 599 or one of {', '.join(FAULTS)}")
        if not 0 <= rate <= 1:
            wrong.append(f"fault {item!r}: the rate must be a number from 0 to 1")
        rates[name] = rate
    if not wrong and sum(rates.values()) > 1:
        wrong.append(f"faults {text!r}: the rates add up to {sum(rates.values()):g}; at most 1 is possible")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return rates


@dataclass(frozen=True, kw_only=True)
class BatchProfile:
    """How batches go. Shares are of the items of one batch, rounded to whole items; no item meets a fault twice."""

    duration_s: float = 0.0
    """Time until a batch has ended; its items are done one after the other within it."""
    shuffle: bool = True
    """Results come in another order than the items."""
    missing: float = 0.0
    """Share of items that no result file mentions."""
    errored: float = 0.0
    """Share of items that end with an error of the server."""
    duplicate: float = 0.0
    """Share of items whose result stands there twice."""
    expire_at: float | None = None
    """Share of the items after which a batch expires, its other items undone; None: it does not."""
    expire_times: int = 1
    """How many batches expire before one is allowed to end."""
    reject: str | None = None
    """A reason for which the batch fails its validation, or None."""
    unknown_looks: int = 0
    """Looks at a new batch, after its creation, that find none yet (404)."""
    unlisted: int = 0
    """Lists in which a new batch is still missing."""
    late_results: int = 0
    """Looks at which a batch has ended but its results are not there yet."""
    short_results: int = 0
    """Downloads of a file of results that end in the middle, as if that were all."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """How the server behaves while no script says otherwise."""

    seed: int = 0
    latency: Latency = field(default_factory=Latency)
    faults: Mapping[str, float] = field(default_factory=dict)
    """Fault name (:data:`FAULTS`, or a status) → share of requests, adding up to at most 1."""
    retry_after: str | None = "1"
    """What rehearsed 429s and 503s say in Retry-After; None: nothing."""
    max_in_flight: int | None = None
    """More requests than these at once are refused with 429."""
    requests_per_minute: int | None = None
    """A quota, kept second by second and told in ``x-ratelimit-*`` headers; more are refused with 429."""
    context_tokens: int | None = None
    """Longer prompts are refused."""
    models: frozenset[str] | None = None
    """The models that exist; None: all."""
    true_cache: bool = False
    """Whether cached tokens tell the truth (none on the first ask of a prompt, most after it). By default half of
    every prompt is reported as cached, so that the token counts of two runs of the same replies are the same."""
    prefix_cache: PrefixCache | None = None
    """A model of the provider's prompt cache, which then says what is read and written; None: as ``true_cache``."""
    dialect: Dialect | None = None
    """In whose shape every reply goes out; None: in the shape of the protocol's own documents."""
    batch: BatchProfile = field(default_factory=BatchProfile)

    def play(self, ask: Ask, arrivals_before: int) -> Play:
        """What to do with ``ask``, the same prompt and seed having arrived ``arrivals_before`` times."""
        rng = random.Random(f"{self.seed}/{arrivals_before}/{digest(ask.prompt, ask.seed)}")
        delay_s = self.latency.draw(rng)
        draw = rng.random()
        for name, rate in self.faults.items():
            draw -= rate
            if draw < 0:
                return self._fault(name, delay_s)
        if ask.stream:
            return Play(delay_s=delay_s / 4, body_s=delay_s * 3 / 4)
        return Play(delay_s=delay_s)

    def _fault(self, name: str, delay_s: float) -> Play:
        if name.isdecimal():
            status = int(name)
            waits = status in (429, 503, 529) and self.retry_after is not None
            headers = {"Retry-After": self.retry_after or ""} if waits else {}
            return Play(status=status, headers=headers, body=plays.error_body(status, f"rehearsed fault {status}"))
        if name == "html":
            return plays.web_page()
        if name == "empty":
            return plays.empty_body()
        if name == "error200":
            return plays.error_in_200(502)
        if name == "reset":
            return Play(delay_s=delay_s, ending="reset")
        return Play(delay_s=delay_s, ending={"cut": "cut", "hang": "hang", "stall": "stall"}[name])  # type: ignore[arg-type]
