"""What a run has used so far, by its journal."""

from proverbench.run.sources import Sources
from proverbench.spending.budget import Spent


def spent_of(sources: Sources) -> Spent:
    """Tokens and money of every session of a run.

    Raises:
        JournalError: If calls.jsonl is damaged, or the manifest's prices are none.
    """
    spent = Spent(sources.manifest)
    for line in sources.calls.facts():
        spent.add(line)
    return spent
