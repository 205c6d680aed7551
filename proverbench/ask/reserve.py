"""What calls in flight may still cost, set aside, so that a cap on the cost is not overstepped by them."""

import asyncio
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from proverbench.spending.money import CHARS_PER_TOKEN, DEFAULT_OUTPUT_TOKENS, Spending, cost
from proverbench.spending.prices import Prices
from proverbench.spending.usage import Usage

QUANTILE = 0.95
"""Of the costs observed: what a call in flight is taken to cost at most."""


class Afford(Protocol):
    """Says whether one more call fits under the cap."""

    async def reserve(self, role: str, prompt_chars: int, stopping: Callable[[], bool]) -> float | None:
        """Set aside what a call may cost, in US dollars, once there is room for it; None: there will be none."""
        ...

    def settle(self, reserved: float) -> None:
        """The call has ended: what it cost is known."""
        ...

    def wake(self) -> None:
        """Have those that wait look whether they should stop."""
        ...


class Reserve:
    """Sets money aside under one cap, for all sessions that share it.

    A call is taken to cost as much as 95 % of those before it did. Before any has, it is taken to fill its output
    limit, so a small cap is approached a few calls at a time, and one call is always let go.

    Args:
        cap_usd: The cap.
        spent_usd: What is spent by now.
        full: Told that nothing more fits, and what another call may cost.
    """

    def __init__(self, cap_usd: float, *, spent_usd: Callable[[], float], full: Callable[[float], None]) -> None:
        self._cap_usd = cap_usd
        self._spent_usd = spent_usd
        self._full = full
        self._prices: dict[str, Prices] = {}
        self._limits: dict[str, int | None] = {}
        self._observed: dict[str, list[float]] = {}
        self._in_flight = 0
        self._set_aside = 0.0
        self._changed = asyncio.Event()
        self._closed = False

    def join(self, role: str, spending: Spending, limit: int | None) -> None:
        """A role whose calls are to fit.

        Args:
            role: Its name, of this session.
            spending: Its prices, and what earlier sessions spent.
            limit: Its output limit in tokens; None: none.
        """
        self._limits[role] = limit
        if spending.prices is not None:
            self._prices[role] = spending.prices
            if spending.calls_with_usage:
                self._observed[role] = [spending.known.usd / spending.calls_with_usage]

    def observe(self, role: str, usage: Usage | None) -> None:
        """Take in what an answered call used."""
        prices = self._prices.get(role)
        if prices is not None and usage is not None:
            insort(self._observed.setdefault(role, []), cost(usage, prices).usd)

    def close(self) -> None:
        """Nothing new is asked: nobody waits any more."""
        self._closed = True
        self.wake()

    def wake(self) -> None:
        """Have those that wait look again."""
        self._changed.set()

    def expected_usd(self, role: str, prompt_chars: int) -> float:
        """What a call may cost."""
        prices = self._prices.get(role)
        if prices is None:
            return 0.0
        if found := self._observed.get(role):
            return found[min(len(found) - 1, int(QUANTILE * len(found)))]
        output = self._limits.get(role) or DEFAULT_OUTPUT_TOKENS
        return cost(Usage(round(prompt_chars / CHARS_PER_TOKEN), 0, 0, output), prices).usd

    async def reserve(self, role: str, prompt_chars: int, stopping: Callable[[], bool]) -> float | None:
        """Set aside what a call may cost, once there is room; None: there will be none, or its session is stopping."""
        while not self._closed and not stopping():
            needed = self.expected_usd(role, prompt_chars)
            first = not self._in_flight and role not in self._observed and self._spent_usd() < self._cap_usd
            if first or self._spent_usd() + self._set_aside + needed <= self._cap_usd:
                self._in_flight += 1
                self._set_aside += needed
                return needed
            if not self._in_flight:
                self._full(needed)
                return None
            self._changed.clear()
            await self._changed.wait()
        return None

    def settle(self, reserved: float) -> None:
        """A call has ended: what it cost is spent."""
        self._in_flight -= 1
        self._set_aside = max(0.0, self._set_aside - reserved) if self._in_flight else 0.0
        self._changed.set()


@dataclass(frozen=True, slots=True)
class Share:
    """One session's part of a reserve: its roles bear its number."""

    whole: Reserve
    number: int

    def named(self, role: str) -> str:
        """The role's name in the whole."""
        return f"{self.number}:{role}"

    async def reserve(self, role: str, prompt_chars: int, stopping: Callable[[], bool]) -> float | None:
        """As :meth:`Reserve.reserve`."""
        return await self.whole.reserve(self.named(role), prompt_chars, stopping)

    def wake(self) -> None:
        """Have those that wait look whether their session is stopping."""
        self.whole.wake()

    def settle(self, reserved: float) -> None:
        """As :meth:`Reserve.settle`."""
        self.whole.settle(reserved)


_ELSEWHERE = -1.0
"""Nothing was set aside here."""


class JudgingShare(Share):
    """Of a session whose policy's calls are asked for several: who asks them sets aside what they cost."""

    __slots__ = ()

    async def reserve(self, role: str, prompt_chars: int, stopping: Callable[[], bool]) -> float | None:
        """As :meth:`Reserve.reserve`; at once for the policy."""
        return _ELSEWHERE if role == "policy" else await Share.reserve(self, role, prompt_chars, stopping)

    def settle(self, reserved: float) -> None:
        """As :meth:`Reserve.settle`."""
        if reserved != _ELSEWHERE:
            Share.settle(self, reserved)
