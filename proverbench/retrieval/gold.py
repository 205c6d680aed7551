"""Gold units against a corpus, and a ranked list against gold units. Pure."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import UNSET, UnsetType

from proverbench.retrieval.leandojo import Library
from proverbench.retrieval.records import K_MAX, GoldQuery, Positions, Query


def resolve_gold(
    query: Query,
    rows_of: Mapping[str, Sequence[str]],
    *,
    library: Library | None = None,
    missing_zero: bool = False,
) -> GoldQuery:
    """Look the gold units of ``query`` up in a corpus.

    Args:
        query: The query as written.
        rows_of: Row ids for every name and id that the corpus has.
        library: The files of a LeanDojo corpus, whose gold is given by its place.
        missing_zero: Keep units that the corpus lacks, as the release does: nothing finds them. Else they are left
            out and counted, and a query left without units is ``dropped``.

    Returns:
        The query with its units as row ids. Units that share rows are kept as written and the query is flagged.
    """
    gold = query.gold
    looked_up = [list(dict.fromkeys(row for member in unit for row in rows_of.get(member, ()))) for unit in gold]
    if query.places and library is not None and library.imports:
        premises = [premise.id for place in query.places if (premise := library.premise_at(place)) is not None]
        looked_up = [[row] for row in dict.fromkeys(premises)]
    if missing_zero:
        looked_up = [found or list(unit) for found, unit in zip(looked_up, gold, strict=True)]
    units = [unit for unit in looked_up if unit]
    rows = [row for unit in units for row in unit]
    names = list(dict.fromkeys(member for unit in gold for member in unit))
    return GoldQuery(
        id=query.id,
        text=query.text,
        cluster=query.cluster,
        units=units,
        units_left_out=max(len(gold), len(looked_up)) - len(units),
        overlapping=len(set(rows)) < len(rows),
        labels=query.labels,
        names=UNSET if set(names) <= set(rows) else names,
        kinds=_kinds(query, looked_up, kept=True),
        kinds_left_out=_kinds(query, looked_up, kept=False),
        pool=UNSET if query.pool is None else query.pool,
    )


def _kinds(query: Query, looked_up: Sequence[Collection[str]], *, kept: bool) -> list[str] | UnsetType:
    if not query.kinds:
        return UNSET
    kinds = [kind for kind, unit in zip(query.kinds, looked_up, strict=True) if bool(unit) == kept]
    return kinds if kinds or kept else UNSET


def find_positions(
    query_id: str, ranked: Sequence[str], units: Sequence[Sequence[str]], k_max: int = K_MAX
) -> Positions:
    """Say where each unit stands in a ranked list.

    Args:
        query_id: Whose list it is.
        ranked: Row ids, best first, as returned. A repeated row counts at its first place only, and later ranks do
            not move up.
        units: Row ids of each unit.
        k_max: Ranks beyond it do not count.

    Returns:
        The 1-based rank of each unit's earliest member, None beyond ``k_max``, and the length as returned.
    """
    first: dict[str, int] = {}
    for rank, row in enumerate(ranked[:k_max], start=1):
        first.setdefault(row, rank)
    positions = [min((first[row] for row in unit if row in first), default=None) for unit in units]
    return Positions(query_id=query_id, positions=positions, n_retrieved=len(ranked))
