"""What tokens cost, as a config states it."""

from typing import Annotated

from pydantic import Field

from proverbench.tables import Table

Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Prices(Table):
    """US dollars per million tokens; what is None makes the cost "at least"."""

    input: Price | None = None
    cached_input: Price | None = None
    """Input tokens read from the provider's cache; None: as ``input``."""
    cache_write: Price | None = None
    """Input tokens written to the cache; None: as ``input``."""
    output: Price | None = None
    """Output tokens, reasoning included."""
    batch: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """What a call in a batch (``--batch``) costs, as a share of these prices, e.g. 0.5; None: as much as any other."""
