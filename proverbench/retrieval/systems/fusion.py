"""Reciprocal rank fusion of other systems' lists."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from proverbench.retrieval.corpus import Corpus
from proverbench.retrieval.records import GoldQuery, Ranking, Unanswered
from proverbench.retrieval.systems.base import Outcome, System, forecast_of

RRF_K = 60
"""The constant of Cormack, Clarke and Büttcher (2009)."""


def fuse(lists: Sequence[Sequence[str]], k: int, order: dict[str, int]) -> list[str]:
    """Fuse ranked lists: a row earns 1 / (60 + rank) from each list that has it, at its first place there.

    Args:
        lists: Ranked row ids, best first.
        k: Length of the fused list.
        order: Row number of each id, which breaks ties; ids outside the corpus come after.

    Returns:
        At most ``k`` ids, best first.
    """
    earned: dict[str, float] = {}
    for ranked in lists:
        for rank, row in enumerate(dict.fromkeys(ranked), start=1):
            earned[row] = earned.get(row, 0.0) + 1.0 / (RRF_K + rank)
    last = len(order)
    return sorted(earned, key=lambda row: (-earned[row], order.get(row, last), row))[:k]


class FusionSystem:
    """The fusion of two systems or more.

    Args:
        spec: How the command line names it.
        members: The systems.
        corpus: What the run searches.
    """

    def __init__(self, spec: str, members: Sequence[System], corpus: Corpus) -> None:
        self.spec = spec
        self._members = list(members)
        self._corpus = corpus
        self._order = corpus.number_of
        # A list is cut short by a service only where no member reaches deeper.
        self.external = all(member.external for member in members)
        self.own_corpus = ", ".join(dict.fromkeys(member.own_corpus for member in members if member.own_corpus))
        # What one member lacks another may have, and of the run's corpus nobody has said what it lacks.
        self.own_missing: frozenset[str] | None = None
        if self.own_corpus:
            self._order = {}
            for number, document in enumerate(corpus.documents):
                self._order.setdefault(document.name or document.id, number)
        self.licence = ", ".join(dict.fromkeys(member.licence for member in members if member.licence))

    def identity(self) -> dict[str, Any]:
        """Return the method and the members' identities."""
        members = {member.spec: member.identity() for member in self._members}
        return {"kind": "fusion", "method": "reciprocal rank", "k": RRF_K, "members": members}

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Outcome, None]:
        """Ask every member, then fuse; a query that one of them cannot answer is unanswered."""
        lists: dict[str, list[list[str]]] = {query.id: [] for query in queries}
        failed: dict[str, Unanswered] = {}
        for member in self._members:
            async with aclosing(member.search(queries, k)) as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome, Unanswered):
                        failed[outcome.query_id] = outcome
                    else:
                        lists[outcome.query_id].append(self._in_common(member, outcome.doc_ids))
        for query in queries:
            if query.id in failed:
                yield failed[query.id]
            elif len(lists[query.id]) == len(self._members):  # fewer when a member was stopped
                yield Ranking(query.id, fuse(lists[query.id], k, self._order))

    def _in_common(self, member: System, found: list[str]) -> list[str]:
        """Return a member's list in what all members share: row ids, or names where one has a corpus of its own."""
        if member.own_corpus or not self.own_corpus:
            return found
        rows = (self._corpus.documents[self._corpus.number_of[row]] for row in found if row in self._corpus.number_of)
        return [document.name or document.id for document in rows]

    def forecast(self, queries: Sequence[GoldQuery]) -> list[str]:
        """Return the members' forecasts."""
        return [line for member in self._members for line in forecast_of(member, queries)]

    def notes(self) -> list[str]:
        """Return the members' notes."""
        return [f"{member.spec}: {note}" for member in self._members for note in member.notes()]

    async def aclose(self) -> None:
        """Nothing of its own to release: who made the members closes them."""
