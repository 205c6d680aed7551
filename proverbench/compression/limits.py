"""What a check may use, and how it ends when that is not enough."""

from dataclasses import dataclass

from proverbench.errors import ProverBenchError


class StoppedError(ProverBenchError):
    """A limit, or a missing sandbox, ended a check; there is no verdict (exit 3)."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a check may use. Only ``heartbeats`` can make a submission invalid; the rest stops without a verdict."""

    heartbeats: int = 200_000_000
    """Kernel steps for each declaration."""
    time_s: int = 600
    """Wall-clock seconds for the whole check; each process may also use so much processor time."""
    memory_mb: int = 8_192
    """Address space of each process; it gets 6,144 at least, as Lean reserves more than it uses."""
    processes: int = 64
    """Processes and threads in a stage."""
    file_mb: int = 512
    """Largest file that a process may write."""
    disk_mb: int = 64
    """All files of a stage together; they are kept in memory."""
    stack_mb: int = 256
    """Stack of a process, and address space that each of its threads takes; the kernel recurses over terms."""
