"""Tokens and money of a run: what its journal says was used, and whether a limit is reached."""

from msgspec import UNSET

from proverbench.records import GIVEN, AttemptLine, CallFacts, Facts, Manifest
from proverbench.spending.forecast import LEARNT_FROM, half_width, shown
from proverbench.spending.money import Budget, Cost, Spending
from proverbench.spending.prices import Prices
from proverbench.spending.usage import normalise_usage
from proverbench.tables import read_saved


class Spent:
    """Adds up what a run's calls cost, over all its sessions.

    Args:
        manifest: Holds prices and limits; they are of the whole run.
        whole: Whether calls that another run of a study asked count too, as if this run had been alone.

    Raises:
        JournalError: If these prices are none.
    """

    def __init__(self, manifest: Manifest, *, whole: bool = False) -> None:
        self._whole = whole
        operation = manifest.operation
        prices = {
            role: read_saved(Prices, table, f"manifest.json: operation.prices.{role}")
            for role, table in (operation.get("prices") or {}).items()
        }
        self.priced = bool(prices)
        """Whether the config states any price; without one, costs are not worth showing."""
        self.budget = Budget(
            max_cost_usd=operation.get("max_cost_usd"),
            max_tokens_total=operation.get("max_tokens_total"),
            roles={
                role: Spending(prices=prices.get(role))
                for role, identity in manifest.identity.roles.items()
                if identity.kind != GIVEN
            },
        )

    def add(self, line: Facts) -> None:
        """Count one line of the journal; lines that cost nothing, or cost another run, are passed over."""
        if isinstance(line, (CallFacts, AttemptLine)) and line.role in self.budget.roles:
            if line.asked_in is not UNSET and not self._whole:
                return
            spending = self.budget.roles[line.role]
            if isinstance(line, CallFacts):
                spending.add(normalise_usage(line.usage), abandoned=line.abandoned, batch=line.batch is not None)
            else:
                spending.lost(line.abandoned)
                if line.broken_off:
                    spending.broke_off(normalise_usage(line.usage))

    def words(self, wanted: dict[str, int]) -> list[str]:
        """For the progress line, e.g. ``["120,000 tokens", "$0.42 of about $3.10"]``.

        Args:
            wanted: Role → calls that it will have answered at the end.
        """
        words = [f"{self.budget.tokens:,} tokens"]
        if self.priced:
            forecasts = [
                spending.forecast(wanted.get(role, spending.calls)) for role, spending in self.budget.roles.items()
            ]
            known = [forecast for forecast in forecasts if forecast is not None]
            cost, expected = str(self.budget.cost), Cost(sum(forecast.usd for forecast in known))
            asked = [
                (wanted.get(role, s.calls) - s.calls, s) for role, s in self.budget.roles.items() if s.calls_with_usage
            ]
            if known and all(s.calls_with_usage >= LEARNT_FROM for _, s in asked):
                widths = (half_width(s.sd_usd, max(0, more), s.calls_with_usage) for more, s in asked)
                words.append(f"{cost}, about {shown(expected, widths)} in all")
            else:
                words.append(f"{cost}, about ${expected.usd:.2f} in all" if known else cost)
        return words
