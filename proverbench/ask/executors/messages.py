"""What the driver and its workers tell each other.

Every message states how things are, not what changed: one that is lost or comes twice does no harm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proverbench.ask.progress import StageCount
from proverbench.errors import FatalEndpointError, ProverBenchError
from proverbench.inputs.config import Config
from proverbench.records import Role
from proverbench.spending.money import Spending

FENCE_S = 60.0
"""A worker that hears nothing for so long ends itself: its driver may have given its shards to another."""


@dataclass(frozen=True)
class Greeting:
    """Who a worker is."""

    host: str
    pid: int
    version: str
    missing: Sequence[str]
    """Of the environment variables that the config reads, those that are not set where the worker runs."""


@dataclass(frozen=True)
class Setup:
    """What a worker opens its endpoints with."""

    config: Config
    roles: Sequence[str]
    concurrency: int | None
    folder: Path
    """Working folder of the driver; relative paths of the config mean it."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the worker lacks. They go from process to process and are kept in memory only."""


@dataclass(frozen=True)
class Share:
    """One worker's part of an endpoint's limits."""

    slots: int
    requests_per_minute: int | None
    tokens_per_minute: int | None


@dataclass(frozen=True)
class Part:
    """A shard, as a worker needs to know it."""

    path: Path
    run: str | None = None
    """The run of a study that it is of; None of a run that is alone."""
    roles: Mapping[Role, str] = field(default_factory=dict)
    """Role → what the study calls it; empty of a run that is alone."""


@dataclass(frozen=True)
class Stop:
    """Why nothing new of a shard is asked."""

    reason: str
    gives_up: bool
    """Whether calls in flight are given up too."""


@dataclass(frozen=True)
class Order:
    """What a worker should be doing."""

    bundles: Sequence[Sequence[Part]]
    """Its shards; it starts those that it does not have yet and forgets those that are not named any more. Those of a
    bundle share what a policy writes."""
    shares: Mapping[str, Share]
    """Endpoint → this worker's part."""
    proven: Sequence[str] = ()
    """Endpoints that have answered somebody: a refusal there is no fault of the whole run."""
    stops: Mapping[Path, Stop] = field(default_factory=dict)
    """Shards that are stopped."""
    ends: bool = False
    """Whether nobody asks anything new any more."""


@dataclass(frozen=True)
class Fault:
    """An error, in a form that any process can read."""

    message: str
    kind: str | None = None
    """Of an endpoint's fault."""
    status: int | None = None

    @classmethod
    def of(cls, exc: BaseException) -> "Fault":
        """What to tell of an error."""
        if isinstance(exc, FatalEndpointError):
            return cls(str(exc), exc.kind, exc.status)
        return cls(str(exc) if isinstance(exc, ProverBenchError) else f"{type(exc).__name__}: {exc}")

    def error(self) -> ProverBenchError:
        """The error again."""
        if self.kind is not None:
            return FatalEndpointError(self.message, kind=self.kind, status=self.status)
        return ProverBenchError(self.message)


@dataclass(frozen=True)
class ShardReport:
    """How far one shard is."""

    stages: Mapping[Role, StageCount]
    """Empty until it is open."""
    spent: Mapping[str, Spending]
    """What it cost so far, by whichever worker; without the answers that it was made with."""
    waits: bool
    """Whether its folder cannot be opened yet, for another process has it."""
    done: bool
    """Whether the worker has closed its folder."""
    fault: Fault | None


@dataclass(frozen=True)
class EndpointReport:
    """What one worker does at an endpoint."""

    in_flight: int
    awaiting: Mapping[str, int]
    """Role → attempts that wait for their answer."""
    waiting: int
    slots: int
    """Its part as the worker knows it."""
    concurrency: int
    """Its present limit, after lowering for overload."""
    answered: bool
    pause_left_s: float
    """How long the server still asks to be left alone; 0 when it does not."""

    @property
    def held(self) -> int:
        """The most slots that the worker may be using before it hears anything else."""
        return max(self.slots, self.in_flight)


@dataclass(frozen=True)
class Report:
    """What a worker is doing."""

    shards: Mapping[Path, ShardReport]
    endpoints: Mapping[str, EndpointReport]
    notes: Sequence[str]
    """Remarks of its endpoints, all so far."""
