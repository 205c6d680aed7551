"""The flow of a run: ask the system for what is open, save each answer as it comes, derive."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from proverbench.errors import FatalEndpointError
from proverbench.retrieval.folder import PositionsWriter, RetrievalRun
from proverbench.retrieval.gold import find_positions
from proverbench.retrieval.records import Unanswered
from proverbench.retrieval.systems.base import System
from proverbench.run.lock import RunLock


@dataclass(slots=True)
class Result:
    """How a run went."""

    complete: bool
    answered: int
    """Queries answered now."""
    unanswered: list[Unanswered] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What the system remarks."""
    fatal: str | None = None
    """Why the system can answer nothing at all, if so."""


async def run_system(
    path: Path, system: System, *, on_answer: Callable[[int, int], None] = lambda done, total: None
) -> Result:
    """Search for every query of a run that is not answered yet.

    Args:
        path: The run's folder.
        system: What to ask.
        on_answer: Told of each answer: how many of how many.

    Raises:
        JournalError: If another process writes this run, or the disk refuses.
    """
    lock = RunLock(path)
    try:
        run = RetrievalRun(path)
        wanted = run.open_queries
        result = Result(complete=not wanted, answered=0)
        if wanted:
            try:
                await _search(run, system, result, on_answer)
            finally:
                run = RetrievalRun(path)
                run.rebuild()
            result.complete = not run.open_queries
            result.notes = system.notes()
        elif not run.has_derived:
            run.rebuild()
        return result
    finally:
        lock.release()


async def _search(run: RetrievalRun, system: System, result: Result, on_answer: Callable[[int, int], None]) -> None:
    wanted = {query.id: query for query in run.open_queries}
    writer = PositionsWriter(run.path)
    try:
        async with aclosing(system.search(list(wanted.values()), run.manifest.k_max)) as outcomes:
            async for outcome in outcomes:
                if isinstance(outcome, Unanswered):
                    result.unanswered.append(outcome)
                    continue
                units = wanted[outcome.query_id].units
                positions = find_positions(outcome.query_id, outcome.doc_ids, units, run.manifest.k_max)
                positions = msgspec.structs.replace(positions, seconds=outcome.seconds)
                writer.append(outcome, positions)
                result.answered += 1
                on_answer(result.answered, len(wanted))
    except FatalEndpointError as exc:
        result.fatal = str(exc)
    finally:
        await writer.aclose()
