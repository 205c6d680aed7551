"""ProverBench's first stage: which policy calls to make, as an async generator of proofs."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from proverbench.concurrency import Ready
from proverbench.endpoints.base import Request
from proverbench.run.calls import Ledger
from proverbench.run.extent import Plan

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Job:
    """One call to make."""

    number: int
    """Of the call within its role (plan.py)."""
    request: Request
    prompt_sha256: str
    n_steps: int = 0
    """Steps of the proof that it shows; only of a judgment."""


class Stage(Protocol):
    """How a role's calls are made: one at a time, or in batches."""

    def stopping(self) -> bool:
        """True once nothing new should be asked."""
        ...

    def ask_all(
        self, source: AsyncGenerator[Job | Ready[E], None], result: Callable[[int], E]
    ) -> AsyncGenerator[E, None]:
        """Make the calls of ``source`` and keep their outcomes.

        Args:
            source: The calls, and what needs none; closed at the end. It ends soon once :meth:`stopping` is true.
            result: From a call's number to what is yielded when it has ended.

        Yields:
            What is ready, and the result of each call that has ended, answered or not.
        """
        ...


def sample_proofs(
    plan: Plan, ledger: Ledger, make_job: Callable[[int], Job], stage: Stage
) -> AsyncGenerator[int, None]:
    """Ask the policy for every proof that has no answer yet.

    Args:
        plan: The calls of the run.
        ledger: Which of them are answered.
        make_job: Proof number to the call that writes it.
        stage: The policy's endpoint.

    Yields:
        Numbers of the proofs: first those answered before, then each as its call ends, answered or not.
    """

    async def wanted() -> AsyncGenerator[Job | Ready[int], None]:
        waiting = [proof for proof in range(plan.n_proofs) if ledger.is_open("policy", proof)]
        for proof in range(plan.n_proofs):
            if not ledger.is_open("policy", proof):
                yield Ready(proof)
        for proof in waiting:
            if stage.stopping():
                return
            yield make_job(proof)

    return stage.ask_all(wanted(), lambda number: number)
