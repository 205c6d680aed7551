"""What a run has used so far, by its journal."""

from proverbench.run.sources import Sources
from proverbench.spending.budget import Spent


def spent_of(sources: Sources, *, whole: bool = False) -> Spent:
    """Tokens and money of every session of a run.

    Args:
        sources: The run.
        whole: Whether calls that another run of a study asked count too.

    Raises:
        JournalError: If calls.jsonl is damaged, or the manifest's prices are none.
    """
    spent = Spent(sources.manifest, whole=whole)
    for line in sources.calls.facts():
        spent.add(line)
    return spent
