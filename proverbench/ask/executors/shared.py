"""Where the runs of a study make their calls: all in this process, or all on one Ray cluster."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from proverbench.ask.executors.base import Executor, Meter
from proverbench.ask.executors.cluster import Cluster, Watched
from proverbench.ask.executors.foreman import Foreman
from proverbench.ask.executors.local import LocalExecutor
from proverbench.ask.executors.spread import ClusterPipeline, refuse_open_batches
from proverbench.ask.reserve import Share
from proverbench.ask.sharing import Sharing, leave, share
from proverbench.endpoints.base import EndpointState
from proverbench.endpoints.batch_clients import BatchClients
from proverbench.endpoints.factory import close_callers, open_callers
from proverbench.inputs.config import Config
from proverbench.records import Role
from proverbench.run.session import Draft, Session


class Member(Protocol):
    """A run of a study, as far as those who make its calls need to know it."""

    @property
    def name(self) -> str:
        """Of the run."""
        ...

    @property
    def group(self) -> str:
        """Runs of one group share what a policy writes."""
        ...

    @property
    def roles(self) -> Mapping[Role, str]:
        """Role that calls go to → what the study calls it."""
        ...

    def afford(self) -> Share | None:
        """Its part of what is set aside under a cap."""
        ...


class Place(Protocol):
    """Where calls are made."""

    @property
    def states(self) -> Iterable[EndpointState]:
        """Of each endpoint, once open."""
        ...

    async def open(self, config: Config, names: Sequence[str], answered_before: Mapping[str, int], rows: int) -> None:
        """Open the endpoints; nothing is asked yet.

        Args:
            config: All roles of the study.
            names: Those that calls go to.
            answered_before: What the study calls a role → answers that there are.
            rows: So many are asked about, in all runs.

        Raises:
            ConfigError: If one cannot be opened as configured.
        """
        ...

    def executor(self, member: Member) -> Executor[Any]:
        """Makes the calls of one run."""
        ...

    def expect(self, members: Collection[Member]) -> None:
        """These will ask, all of them at once."""
        ...

    async def leave(self, member: Member) -> None:
        """A run asks nothing any more."""
        ...

    async def aclose(self) -> None:
        """Close what was opened."""
        ...


class Here:
    """Calls are made by this process."""

    def __init__(self) -> None:
        self._callers: dict[str, Any] = {}
        self._sharing = Sharing({}, {})
        self._executors: dict[str, _LocalMember] = {}

    @property
    def states(self) -> list[EndpointState]:
        """Of each endpoint."""
        return [caller.state for caller in {id(caller): caller for caller in self._callers.values()}.values()]

    async def open(self, config: Config, names: Sequence[str], answered_before: Mapping[str, int], rows: int) -> None:
        """Open the endpoints, one limit for each over all runs."""
        self._callers = await open_callers(config, names, answered_before=answered_before)
        ahead = {name: config.roles[name].endpoint.concurrency for name in names}
        self._sharing = Sharing(share(self._callers), ahead)

    def executor(self, member: Member) -> "LocalExecutor":
        """Makes the calls of one run."""
        made = _LocalMember(lambda: self._sharing.callers_of(member.name, member.roles, member.afford))
        self._executors[member.name] = made
        return made

    def expect(self, members: Collection[Member]) -> None:
        """Their callers know each other already."""

    async def leave(self, member: Member) -> None:
        """A run asks nothing any more."""
        await leave(self._executors[member.name].endpoints)

    async def aclose(self) -> None:
        """Give up what is still asked, and close the endpoints."""
        await self._sharing.aclose()
        await close_callers(self._callers)


class _LocalMember(LocalExecutor):
    """Calls endpoints that others have opened."""

    def __init__(self, made: Callable[[], Mapping[Role, Any]]) -> None:
        super().__init__({})
        self._made = made

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        self._callers = dict(self._made())


class OnRay:
    """Calls are made by the workers of a Ray cluster.

    Args:
        say: Takes messages about the cluster.
        address: Of the cluster to join, as HOST:PORT; None: as ``RAY_ADDRESS`` says, else one is started here.
    """

    def __init__(self, say: Callable[[str], object], address: str | None = None) -> None:
        self._say = say
        self._address = address
        self._cluster: Cluster | None = None
        self._foreman: Foreman | None = None
        self._executors: dict[str, _RayMember] = {}

    @property
    def states(self) -> list[EndpointState]:
        """Of each endpoint, over all workers."""
        return [] if self._cluster is None else [watched.state for watched in self._cluster.watched.values()]

    async def open(self, config: Config, names: Sequence[str], answered_before: Mapping[str, int], rows: int) -> None:
        """Join the cluster, or start one, and open the endpoints in its workers."""
        self._cluster = await Cluster.open(
            config, names, concurrency=None, rows=rows, address=self._address, say=self._say
        )

    def executor(self, member: Member) -> "_RayMember":
        """Makes the calls of one run."""
        made = self._executors[member.name] = _RayMember(self, member)
        return made

    def expect(self, members: Collection[Member]) -> None:
        """Shards of a group are handed out together, once all of its runs have made theirs."""
        assert self._cluster is not None
        groups = [member.group for member in members]
        self._foreman = Foreman(self._cluster, self._say, {group: groups.count(group) for group in groups})

    async def leave(self, member: Member) -> None:
        """A run asks nothing any more."""
        asker = self._executors[member.name].pipeline
        if self._foreman is not None and (asker is None or not asker.brought):
            self._foreman.count_off(member.group)

    async def aclose(self) -> None:
        """Leave the cluster."""
        if self._foreman is not None:
            await self._foreman.aclose()
        if self._cluster is not None:
            await self._cluster.aclose()

    def pipeline(self, session: Session, meter: Meter, member: Member) -> ClusterPipeline:
        """What asks one run's calls."""
        assert self._foreman is not None
        return ClusterPipeline(
            session, self._foreman, meter, group=member.group, run=member.name, names=dict(member.roles)
        )

    def endpoints_of(self, member: Member) -> dict[Role, Watched]:
        """Role → its endpoint, over all workers."""
        there = {} if self._cluster is None else self._cluster.endpoints
        return {role: there[name] for role, name in member.roles.items() if name in there}


class _RayMember:
    """Makes the calls of one run of a study on the cluster that all of them share."""

    def __init__(self, place: OnRay, member: Member) -> None:
        self._place = place
        self._member = member
        self.pipeline: ClusterPipeline | None = None

    @property
    def endpoints(self) -> Mapping[Role, Watched]:
        """Role → its endpoint."""
        return self._place.endpoints_of(self._member)

    async def open(self, config: Config, draft: Draft, roles: Sequence[Role], session: Session | None) -> None:
        """The cluster is there already.

        Raises:
            ConfigError: If the run has open batches.
        """
        refuse_open_batches(session)

    def asker(
        self,
        session: Session,
        meter: Meter,
        *,
        clients: BatchClients | None,
        batched: Collection[Role],
        say: Callable[[str], None],
    ) -> ClusterPipeline:
        """What asks the session's calls."""
        self.pipeline = self._place.pipeline(session, meter, self._member)
        return self.pipeline

    async def aclose(self) -> None:
        """The cluster is left by the study."""
