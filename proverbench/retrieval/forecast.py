"""What asking an endpoint will take, as far as can be said beforehand."""

from proverbench.inputs.config import EndpointConfig

CHARACTERS_A_TOKEN = 4
"""Of English and formal statements, about; servers tell how many there were."""


def cost_usd(settings: EndpointConfig, tokens: int) -> float | None:
    """Return what so many tokens of input cost at the config's price; None without one."""
    prices = settings.prices
    return None if prices is None or prices.input is None else tokens * prices.input / 1e6


def effort(settings: EndpointConfig, *, tokens: int, requests: int) -> str:
    """Say what so many tokens of input cost, and how long the endpoint's limits make it at least."""
    said = [] if (cost := cost_usd(settings, tokens)) is None else [f"about ${cost:,.2f}"]
    limits = ((requests, settings.requests_per_minute), (tokens, settings.tokens_per_minute))
    hours = max((count / limit / 60 for count, limit in limits if limit), default=0.0)
    said.append(f"at least {hours:.1f} h at its limits" if hours else f"{requests:,} requests")
    return ", ".join(said)
