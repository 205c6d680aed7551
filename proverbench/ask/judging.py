"""The stages after a proof exists: judgments, then meta levels, as async generators."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import NamedTuple

from proverbench.ask.sampling import Job, Stage
from proverbench.concurrency import Ready
from proverbench.run.calls import Ledger
from proverbench.run.extent import Plan


class Event(NamedTuple):
    """Something of a proof is done."""

    proof: int
    judgment: int | None
    """Number of the judgment that it is about; None when the proof gets none (its generation is invalid or missing)."""


class ToJudge(NamedTuple):
    """A proof on its way to the verifier."""

    proof: int
    jobs: Iterable[Job]
    """Calls for its judgments that have no answer yet, made as they are taken; the others are known."""
    judged: bool
    """False when the proof gets no judgment."""


def judge_proofs(
    proofs: AsyncGenerator[ToJudge, None], plan: Plan, ledger: Ledger, stage: Stage
) -> AsyncGenerator[Event, None]:
    """Ask the verifier for every judgment that has no answer yet, from the moment its proof exists.

    Args:
        proofs: The proofs, closed at the end.
        plan: The calls of the run.
        ledger: Which of them are answered.
        stage: The verifier's endpoint.

    Yields:
        An event for each judgment, known before or as its call ends, and one for each proof that gets none.
    """

    async def wanted() -> AsyncGenerator[Job | Ready[Event], None]:
        async with aclosing(proofs):
            async for item in proofs:
                if stage.stopping():
                    continue
                if not item.judged:
                    yield Ready(Event(item.proof, None))
                    continue
                for number in plan.judgments(item.proof):
                    if not ledger.is_open("verifier", number):
                        yield Ready(Event(item.proof, number))
                for job in item.jobs:
                    yield job

    return stage.ask_all(wanted(), lambda number: Event(number // plan.repeats, number))


def grade_judgments(
    judged: AsyncGenerator[Event, None], make_job: Callable[[int], Job | None], plan: Plan, stage: Stage
) -> AsyncGenerator[Event, None]:
    """Ask the meta-verifier for the level of every valid judgment that has none yet.

    Args:
        judged: Events of the judging stage, closed at the end.
        make_job: Judgment number to the call that grades it, or None when there is nothing to ask.
        plan: The calls of the run.
        stage: The meta-verifier's endpoint.

    Yields:
        The same events, each once its level is there or known not to be needed.
    """

    async def wanted() -> AsyncGenerator[Job | Ready[Event], None]:
        async with aclosing(judged):
            async for event in judged:
                if stage.stopping():
                    continue
                job = None if event.judgment is None else make_job(event.judgment)
                yield Ready(event) if job is None else job

    return stage.ask_all(wanted(), lambda number: Event(number // plan.repeats, number))
