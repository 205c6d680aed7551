"""The interface of a system, and what systems share."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from proverbench.retrieval.corpus import Corpus
from proverbench.retrieval.records import GoldQuery, Ranking, Unanswered
from proverbench.retrieval.render import OWN_V1, Renderer, renderer_of
from proverbench.retrieval.strings import NO_STRINGS, Strings

Outcome = Ranking | Unanswered


class System(Protocol):
    """Something that ranks documents for a query. Implement this to add a kind (docs/retrieval.md)."""

    spec: str
    """How the command line names it."""
    external: bool
    """Whether its lists come from outside: it may return fewer than asked, and then has no value above its cap."""
    own_corpus: str
    """Name of the corpus that it searches where that is not the run's own; else empty. Its lists then hold full names
    as it returned them, and its gold is looked up among names."""
    own_missing: frozenset[str] | None
    """Names that its own corpus is known to lack; None where its coverage is unknown."""
    licence: str
    """Licence of the model or service, as its makers state it; empty if unknown."""

    def identity(self) -> dict[str, Any]:
        """Everything that decides its lists, for the manifest. No secrets."""
        ...

    def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Rank ``k`` documents for each query; outcomes in any order, one a query.

        Raises:
            FatalEndpointError: If no query will be answered.
        """
        ...

    def notes(self) -> list[str]:
        """Return what people should know of the search so far, such as replies that could not be read."""
        ...

    async def aclose(self) -> None:
        """Release what it holds. Called once."""
        ...


@runtime_checkable
class Forecasting(Protocol):
    """A system that can say beforehand what a search will take."""

    def forecast(self, queries: Sequence[GoldQuery]) -> list[str]:
        """Return what it would ask for, and about how much and how long that is; asks and writes nothing."""
        ...


def forecast_of(system: object, queries: Sequence[GoldQuery]) -> list[str]:
    """Return a system's forecast, if it has one."""
    return system.forecast(queries) if isinstance(system, Forecasting) else []


@dataclass(frozen=True, slots=True)
class Context:
    """What a system is made with."""

    corpus: Corpus
    texts: list[str]
    """The corpus, rendered, row by row."""
    cache: Path
    renderer: Renderer = field(default_factory=lambda: renderer_of(OWN_V1))
    strings: Strings = NO_STRINGS
    query_ids: Sequence[str] = ()
    """Of all that the run asks."""
    on_progress: Callable[[str, int, int], None] = field(default=lambda what, done, total: None)
    """Told of long preparations: what, done, total."""
    stopping: Callable[[], bool] = field(default=lambda: False)
    """Whether the user asked to stop: nothing new should be begun, what is in flight is still saved."""

    def allowed(self, query: GoldQuery) -> NDArray[np.bool_] | None:
        """Return which rows a query may find, shape (documents,); None where that is all of them."""
        return None if query.pool is UNSET else self.corpus.library.accessible(query.pool)


class Remembered:
    """A system whose lists are kept in memory while several use it, so that a fusion does not search again.

    Args:
        system: The system.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._lists: dict[tuple[str, int], list[str]] = {}
        self.users = 0
        """How many were given it; the lists of one user alone are not kept."""
        self.spec = system.spec
        self.external = system.external
        self.own_corpus = system.own_corpus
        self.own_missing = system.own_missing
        self.licence = system.licence

    def identity(self) -> dict[str, Any]:
        """Return the system's own."""
        return self._system.identity()

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Yield what is remembered, then search for the rest."""
        rest = []
        for query in queries:
            known = self._lists.get((query.id, k))
            if known is None:
                rest.append(query)
            else:
                yield Ranking(query.id, known)
        if rest:
            async for outcome in self._system.search(rest, k):
                if isinstance(outcome, Ranking) and self.users > 1:
                    self._lists[outcome.query_id, k] = outcome.doc_ids
                yield outcome

    def notes(self) -> list[str]:
        """Return the system's own."""
        return self._system.notes()

    def forecast(self, queries: Sequence[GoldQuery]) -> list[str]:
        """Return the system's own."""
        return forecast_of(self._system, queries)

    async def aclose(self) -> None:
        """Release the system."""
        await self._system.aclose()
