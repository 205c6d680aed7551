"""ProverBench's first stage: which policy calls to make, as an async generator of proofs."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Protocol

from proverbench.concurrency import Ready, bounded_map
from proverbench.endpoints.base import Request
from proverbench.journal import Ledger
from proverbench.plan import Plan


@dataclass(frozen=True, slots=True)
class Job:
    """One call to make."""

    number: int
    """Of the call within its role (plan.py)."""
    request: Request
    prompt_sha256: str


class Stage(Protocol):
    """How a role's calls are made."""

    polite: bool
    """True when others on the same endpoint go first."""

    def stopping(self) -> bool:
        """True once nothing new should be asked."""
        ...

    async def acquire(self) -> bool:
        """Wait for a slot; False when nothing new should be asked."""
        ...

    async def ask(self, job: Job) -> None:
        """Make the call and keep its outcome."""
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

    async def write(job: Job) -> int:
        await stage.ask(job)
        return job.number

    return bounded_map(wanted(), write, acquire=stage.acquire, polite=stage.polite)
