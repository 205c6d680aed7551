"""One budget over the sessions that share it: what is spent is watched, and all of them stop when it is used up."""

from collections.abc import Callable, Mapping
from typing import Protocol

from proverbench.ask.reserve import Reserve, Share
from proverbench.records import CallFacts
from proverbench.run.session import Session
from proverbench.spending.budget import Spent
from proverbench.spending.money import Budget, Exceeded, Spending, output_limit
from proverbench.spending.usage import normalise_usage


class Hears(Protocol):
    """Takes what the user should know."""

    def say(self, message: str) -> None:
        """A line."""
        ...


class Spender(Protocol):
    """A session as a budget sees it: what it spends, and how it is stopped (:class:`~proverbench.ask.drive.Driver`)."""

    spent: Spent

    @property
    def session(self) -> Session:
        """The run."""
        ...

    @property
    def listener(self) -> Hears:
        """Who hears of it."""
        ...

    def stopping(self) -> bool:
        """True once nothing new is asked."""
        ...

    def stop(self, reason: str) -> None:
        """Ask nothing new."""
        ...

    def in_flight(self) -> int:
        """Calls that wait for their answer."""
        ...

    def in_batches(self) -> int:
        """Calls in batches that are waited for."""
        ...


class BudgetWatch:
    """Stops every session that shares a budget once it is used up.

    Args:
        max_cost_usd: Limit on the known cost of all of them, in US dollars; None for no limit.
        max_tokens_total: Likewise on tokens, prompts included.
        others: What runs that are not asked now have spent of it, by any name.
        say: Takes messages; by default every session's listener does.
        in_flight: How many calls wait for their answer; by default those of every session, added up.
        share: What each session gets of what is set aside.
    """

    def __init__(
        self,
        max_cost_usd: float | None = None,
        max_tokens_total: int | None = None,
        *,
        others: Mapping[str, Spending] | None = None,
        say: Callable[[str], None] | None = None,
        in_flight: Callable[[], int] | None = None,
        share: type[Share] = Share,
    ) -> None:
        self._in_flight = in_flight
        self._share = share
        self._others = others or {}
        self._tell = say
        self._limits = (max_cost_usd, max_tokens_total)
        self._members: list[Spender] = []
        self._noted_unknown = False
        self._reserve: Reserve | None = None
        if max_cost_usd is not None:
            self._reserve = Reserve(max_cost_usd, spent_usd=lambda: self._budget().cost.usd, full=self._is_full)

    def join(self, driver: Spender) -> Share | None:
        """Count what this session's run spends, and has spent; gives its share of what is set aside under a cap."""
        self._members.append(driver)
        if self._reserve is None:
            return None
        share = self._share(self._reserve, len(self._members))
        roles = driver.session.sources.manifest.identity.roles
        for role, spending in driver.spent.budget.roles.items():
            limit = output_limit(roles[role].generation) if role in roles else None
            self._reserve.join(share.named(role), spending.prices, limit)
        self._reserve.recall(
            (share.named(line.role), normalise_usage(line.usage), line.batch is not None)
            for line in driver.session.sources.calls.facts()
            if isinstance(line, CallFacts)
        )
        return share

    def exceeded(self) -> Exceeded | None:
        """The limit that is reached, if one is."""
        return self._budget().exceeded()

    def check(self) -> None:
        """Stop all of them if a limit is reached."""
        if self._limits == (None, None):
            return
        budget = self._budget()
        if not self._noted_unknown and any(spending.uncertain for spending in budget.roles.values()):
            self._noted_unknown = True
            self._say("note: the server does not tell what some calls used, so the limit may be overstepped")
        exceeded = budget.exceeded()
        if exceeded is not None:
            self._stop(exceeded.words)

    def _is_full(self, needed_usd: float) -> None:
        """Another call may overstep the cap."""
        cap, spent = self._limits[0], self._budget().cost
        self._stop(f"--max-cost {cap:g} reached: {spent} spent, and another call may cost ${needed_usd:.4f}")

    def _stop(self, words: str) -> None:
        if self._reserve is not None:
            self._reserve.close()
        going = [member for member in self._members if not member.stopping()]
        if not going:
            return
        for member in going:
            member.stop(f"budget: {words}")
        in_flight = (
            self._in_flight()
            if self._in_flight is not None
            else sum(member.in_flight() + member.in_batches() for member in self._members)
        )
        self._say(f"{words}: asking nothing new; {in_flight} calls are in flight")

    def _budget(self) -> Budget:
        if len(self._members) == 1 and not self._others:
            roles = self._members[0].spent.budget.roles
        else:
            roles = dict(self._others) | {
                f"{number}:{role}": spending
                for number, member in enumerate(self._members)
                for role, spending in member.spent.budget.roles.items()
            }
        return Budget(*self._limits, roles=roles)

    def _say(self, message: str) -> None:
        if self._tell is not None:
            self._tell(message)
            return
        for listener in dict.fromkeys(member.listener for member in self._members):
            listener.say(message)
