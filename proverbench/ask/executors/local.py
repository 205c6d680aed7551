"""Calls made by this process."""

from collections.abc import Callable, Collection, Mapping, Sequence

from proverbench.ask.executors.base import Meter
from proverbench.ask.pipeline import Pipeline
from proverbench.endpoints.base import Caller
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.endpoints.own import OwnEndpoint
from proverbench.inputs.config import Config
from proverbench.records import Role
from proverbench.run.session import Draft, Session


class LocalExecutor:
    """Makes calls in this process.

    Args:
        callers: Role → its endpoint, where others opened them and will close them: sessions that run side by side
            share callers, and so their limits. By default those of the config are opened.
        own: Role → its endpoint, where the caller brings one instead of a config's.
    """

    def __init__(
        self, callers: Mapping[Role, Caller] | None = None, *, own: Mapping[Role, OwnEndpoint] | None = None
    ) -> None:
        self._own = own
        self._shared = callers is not None
        self._callers: dict[Role, Caller] = dict(callers or {})

    @property
    def endpoints(self) -> Mapping[Role, Caller]:
        """Role → its caller."""
        return self._callers

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        """Open the endpoints, unless they are open.

        Raises:
            ConfigError: If one cannot be opened as configured.
        """
        if self._shared:
            return
        opened = await open_callers(
            config,
            roles,
            concurrency=draft.operation.get("concurrency"),
            answered_before={role: session.sources.ledger.count(role) for role in roles if session},
            own=self._own,
        )
        self._callers = {role: opened[role] for role in roles}

    def asker(
        self,
        session: Session,
        meter: Meter,
        *,
        clients: BatchClients | None,
        batched: Collection[Role],
        say: Callable[[str], None],
    ) -> Pipeline:
        """What asks the session's calls."""
        return Pipeline(
            session, self._callers, meter.count, clients=clients, batched=batched, tell=say, afford=meter.afford
        )

    async def aclose(self) -> None:
        """Close the callers that :meth:`open` opened."""
        if not self._shared:
            await close_callers(self._callers)
