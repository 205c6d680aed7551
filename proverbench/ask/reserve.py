"""What calls in flight may still cost, set aside, so that a cap on the cost is not overstepped by them."""

import asyncio
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from proverbench.spending.forecast import LEARNT_FROM
from proverbench.spending.money import CHARS_PER_TOKEN, DEFAULT_OUTPUT_TOKENS, cost
from proverbench.spending.prices import Prices
from proverbench.spending.usage import Usage

QUANTILE = 0.95
"""Of the costs observed: what a call in flight is taken to cost at most."""


class Afford(Protocol):
    """Says whether one more call fits under the cap."""

    async def reserve(self, role: str, prompt_chars: int, stopping: Callable[[], bool]) -> float | None:
        """Set aside what a call may cost, in US dollars, once there is room for it; None: there will be none."""
        ...

    def take(self, role: str, prompt_chars: int, *, batch: bool, always: bool = False) -> float | None:
        """The same for a call in a batch, without waiting; None where there is no room now."""
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
    limit, so a small cap is approached a few calls at a time, and one call is always let go. What goes into a batch is
    spent before any of it is known, so there the two are mixed in proportion until 20 calls have told.

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

    def join(self, role: str, prices: Prices | None, limit: int | None) -> None:
        """A role whose calls are to fit.

        Args:
            role: Its name, of this session.
            prices: Its prices; None: what it costs is unknown.
            limit: Its output limit in tokens; None: none.
        """
        self._limits[role] = limit
        if prices is not None:
            self._prices[role] = prices

    def observe(self, role: str, usage: Usage | None, *, batch: bool = False) -> None:
        """Take in what an answered call used."""
        self.recall([(role, usage, batch)])

    def recall(self, answers: Iterable[tuple[str, Usage | None, bool]]) -> None:
        """Take in what many answered calls used, each with whether a batch answered it."""
        new: dict[str, list[float]] = {}
        for role, usage, batch in answers:
            prices = self._prices.get(role)
            if prices is not None and usage is not None:
                new.setdefault(role, []).append(cost(usage, prices).usd * _share(prices, batch=batch))
        for role, costs in new.items():
            known = self._observed.setdefault(role, [])
            if len(costs) == 1:
                insort(known, costs[0])
            else:
                known += costs
                known.sort()

    def close(self) -> None:
        """Nothing new is asked: nobody waits any more."""
        self._closed = True
        self.wake()

    def wake(self) -> None:
        """Have those that wait look again."""
        self._changed.set()

    def expected_usd(self, role: str, prompt_chars: int, *, batch: bool = False) -> float:
        """What a call may cost."""
        prices = self._prices.get(role)
        if prices is None:
            return 0.0
        found = self._observed.get(role, [])
        observed = found[min(len(found) - 1, int(QUANTILE * len(found)))] if found else 0.0
        enough = LEARNT_FROM if batch else 1
        if len(found) >= enough:
            return observed
        output = self._limits.get(role) or DEFAULT_OUTPUT_TOKENS
        whole = cost(Usage(round(prompt_chars / CHARS_PER_TOKEN), 0, 0, output), prices).usd
        seen = len(found) / enough
        return seen * observed + (1 - seen) * max(observed, whole * _share(prices, batch=batch))

    def take(self, role: str, prompt_chars: int, *, batch: bool = False, always: bool = False) -> float | None:
        """Set aside what a call may cost, if there is room for it now.

        Args:
            role: Its name in the whole.
            prompt_chars: Length of its prompt.
            batch: Whether it goes in a batch.
            always: Whether it is asked already, so that it needs room in any case.
        """
        needed = self.expected_usd(role, prompt_chars, batch=batch)
        first = not self._in_flight and role not in self._observed and self._spent_usd() < self._cap_usd
        if not (always or first or self._spent_usd() + self._set_aside + needed <= self._cap_usd):
            return None
        self._in_flight += 1
        self._set_aside += needed
        return needed

    async def reserve(self, role: str, prompt_chars: int, stopping: Callable[[], bool]) -> float | None:
        """Set aside what a call may cost, once there is room; None: there will be none, or its session is stopping."""
        while not self._closed and not stopping():
            if (taken := self.take(role, prompt_chars)) is not None:
                return taken
            if not self._in_flight:
                self._full(self.expected_usd(role, prompt_chars))
                return None
            self._changed.clear()
            await self._changed.wait()
        return None

    def settle(self, reserved: float) -> None:
        """A call has ended: what it cost is spent."""
        self._in_flight -= 1
        self._set_aside = max(0.0, self._set_aside - reserved) if self._in_flight else 0.0
        self._changed.set()


def _share(prices: Prices, *, batch: bool) -> float:
    return 1.0 if not batch or prices.batch is None else prices.batch


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

    def take(self, role: str, prompt_chars: int, *, batch: bool, always: bool = False) -> float | None:
        """As :meth:`Reserve.take`."""
        return self.whole.take(self.named(role), prompt_chars, batch=batch, always=always)

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
