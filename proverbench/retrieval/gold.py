"""Gold units against a corpus, and a ranked list against gold units. Pure."""

from collections.abc import Mapping, Sequence

from proverbench.retrieval.records import K_MAX, GoldQuery, Positions, Query


def resolve_gold(query: Query, rows_of: Mapping[str, Sequence[str]]) -> GoldQuery:
    """Look the gold units of ``query`` up in a corpus.

    Args:
        query: The query as written.
        rows_of: Row ids for every name and id that the corpus has.

    Returns:
        The query with its units as row ids. A unit without a member in the corpus is left out and counted; a query
        left without units is ``dropped``. Units that share rows are kept as written and the query is flagged.
    """
    looked_up = [list(dict.fromkeys(row for member in unit for row in rows_of.get(member, ()))) for unit in query.gold]
    units = [unit for unit in looked_up if unit]
    rows = [row for unit in units for row in unit]
    return GoldQuery(
        id=query.id,
        text=query.text,
        cluster=query.cluster,
        units=units,
        units_left_out=len(looked_up) - len(units),
        overlapping=len(set(rows)) < len(rows),
        labels=query.labels,
    )


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
