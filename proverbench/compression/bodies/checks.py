"""What the commands' bodies share: a version checked, and the kernel with its limits."""

from pathlib import Path

from proverbench.compression.checking import NO_LEAN, Check, check_sources
from proverbench.compression.isolation import UNSAFE, Isolation
from proverbench.compression.kernel import LeanKernel, find_library
from proverbench.compression.limits import Allowance
from proverbench.compression.tasks import load_task, load_work
from proverbench.errors import DataError


def lean_kernel(heartbeats: int, time_s: int, memory_mb: int, *, unsafe: bool, disk_mb: int = 64) -> LeanKernel | None:
    """Lean's kernel with some limits; None where it is not installed."""
    library = find_library()
    limits = Allowance(heartbeats, time_s, memory_mb, disk_mb=disk_mb)
    return None if library is None else LeanKernel(library, limits, isolation_of(unsafe))


def isolation_of(unsafe: bool) -> Isolation | None:
    """What ``--unsafe`` says: no isolation, or (None) the one that this system has."""
    return UNSAFE if unsafe else None


def required_kernel(heartbeats: int, time_s: int, memory_mb: int, *, unsafe: bool, disk_mb: int = 64) -> LeanKernel:
    """The same.

    Raises:
        DataError: Where it is not installed.
    """
    kernel = lean_kernel(heartbeats, time_s, memory_mb, unsafe=unsafe, disk_mb=disk_mb)
    if kernel is None:
        raise DataError(NO_LEAN)
    return kernel


def checked(task_folder: Path, work: Path | None, *, unsafe: bool) -> Check:
    """A participant's version of a task, checked."""
    task = load_task(task_folder)
    sources, misplaced = load_work(work or task_folder / "work", task)
    if misplaced:
        raise DataError.of(misplaced)
    spec = task.spec
    kernel = lean_kernel(spec.heartbeats, spec.time_s, spec.memory_mb, unsafe=unsafe, disk_mb=spec.disk_mb)
    return check_sources(task, sources, kernel, build_folder=task_folder / "build")
