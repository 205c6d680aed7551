"""What the driver needs of whatever makes a session's calls: this process (local.py) or a cluster (spread.py)."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from proverbench.ask.progress import Progress
from proverbench.ask.reserve import Afford
from proverbench.endpoints.base import EndpointState
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.errors import ProverBenchError
from proverbench.inputs.config import Config
from proverbench.records import AttemptLine, CallLine, Role
from proverbench.run.session import Draft, Session
from proverbench.spending.budget import Spent


class HasState(Protocol):
    """An endpoint, as far as it is shown."""

    state: EndpointState


class Meter(Protocol):
    """Adds up what answers cost and stops the session when its budget is used up."""

    spent: Spent

    @property
    def afford(self) -> Afford | None:
        """Sets aside what calls may cost; None where there is no cap on the cost."""
        ...

    def count(self, line: CallLine | AttemptLine) -> None:
        """Add up an answer, or a reply that was broken off, that was saved."""
        ...

    def check_budget(self) -> None:
        """``spent`` was changed otherwise."""
        ...


class Asker(Protocol):
    """Asks what a session's run lacks."""

    progress: Progress
    reason: str | None
    """Why nothing new is asked, None while the run goes."""
    systematic: str | None
    """Why nothing new is asked, where every reply of a role was bad for one reason."""
    fault: ProverBenchError | None
    """What ended the run, if a fault did."""

    def run(self) -> AsyncGenerator[int, None]:
        """Ask until everything is answered, or :meth:`stop` was called; yields whenever a proof is done."""
        ...

    def stop(self, reason: str) -> None:
        """Ask nothing new; what is in flight is saved as it comes."""
        ...

    def leave(self) -> None:
        """Wait for no batch any more."""
        ...


A = TypeVar("A", bound=Asker, covariant=True)


class Executor(Protocol[A]):
    """Makes calls."""

    @property
    def endpoints(self) -> Mapping[Role, HasState]:
        """Role → its endpoint, once open."""
        ...

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        """Open the endpoints of ``roles``; nothing is asked yet.

        Args:
            config: Where they are.
            draft: What the run is to become.
            roles: Those that calls go to.
            session: The run, where it is there already.

        Raises:
            ConfigError: If one cannot be opened as configured.
        """
        ...

    def asker(
        self,
        session: Session,
        meter: Meter,
        *,
        clients: BatchClients | None,
        batched: Collection[Role],
        say: Callable[[str], None],
    ) -> A:
        """What asks the session's calls here."""
        ...

    async def aclose(self) -> None:
        """Close what :meth:`open` opened."""
        ...
