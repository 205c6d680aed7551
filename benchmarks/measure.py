"""Child processes, measured from outside: wall time, CPU time, peak memory; and the table of results."""

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process took, start-up and end included."""

    seconds: float
    cpu_s: float
    """User and system time."""
    peak_mb: float
    """Most resident memory; nan where it is less than this process's own, which the system counts in."""
    exit_code: int
    output: str
    """Both streams, where they were kept."""


def run(command: Sequence[str], *, core: int | None = None, env: Mapping[str, str] | None = None) -> Usage:
    """Run a command to its end.

    Args:
        command: Program and arguments.
        core: The core it must stay on, where the system can do that; None: any.
        env: Added to the environment.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        [*_pinned(core), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(env or {})},
    )
    assert process.stdout is not None
    output = process.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    own, peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, usage.ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(
        seconds=time.perf_counter() - start,
        cpu_s=usage.ru_utime + usage.ru_stime,
        # Until it becomes another program, a child shares its parent's memory, and Linux counts that as its peak.
        peak_mb=peak * unit / 1e6 if peak > own else float("nan"),
        exit_code=process.returncode,
        output=output,
    )


def python(*arguments: str) -> list[str]:
    """This interpreter, with arguments."""
    return [sys.executable, *arguments]


def _pinned(core: int | None) -> list[str]:
    if core is None or not hasattr(os, "sched_setaffinity"):
        return []
    code = "import os,sys; os.sched_setaffinity(0,{int(sys.argv[1])}); os.execvp(sys.argv[2],sys.argv[2:])"
    return [sys.executable, "-S", "-c", code, str(core)]


@dataclass(frozen=True, slots=True)
class Mock:
    """A running mock endpoint (mock.py)."""

    origin: str

    def stats(self) -> dict[str, Any]:
        """What it counted."""
        with urllib.request.urlopen(f"{self.origin}/stats", timeout=30) as response:
            counts: dict[str, Any] = msgspec.json.decode(response.read())
            return counts


@contextmanager
def mock(*options: str, core: int | None = None) -> Iterator[Mock]:
    """The mock endpoint in a process of its own."""
    command = [*_pinned(core), *python("-m", "benchmarks.mock", *options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Mock(f"http://127.0.0.1:{int(process.stdout.readline())}")
        finally:
            process.terminate()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed when the block ends."""
    with tempfile.TemporaryDirectory(prefix="proverbench-bench-") as folder:
        yield Path(folder)


def cores() -> tuple[int | None, int | None]:
    """One core for the mock and one for the client; None where there are not two to choose from."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    mine = sorted(os.sched_getaffinity(0))
    return (mine[0], mine[1]) if len(mine) > 1 else (None, None)


@dataclass(frozen=True, slots=True)
class Result:
    """One measured quantity."""

    suite: str
    what: str
    values: tuple[float, ...]
    """One a round."""
    unit: str
    note: str = ""

    @property
    def median(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.values)


class Results:
    """Everything that a run of the benchmarks measured; prints each as it comes.

    Args:
        targets: Whether to print the targets beside the values.
    """

    def __init__(self, *, targets: bool = True) -> None:
        self.all: list[Result] = []
        self._targets = targets

    def add(self, suite: str, what: str, values: Iterable[float], unit: str, note: str = "") -> Result:
        """Keep one quantity."""
        result = Result(suite, what, tuple(values), unit, note)
        self.all.append(result)
        sys.stdout.write(_line(result, targets=self._targets) + "\n")
        sys.stdout.flush()
        return result

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode([asdict(result) for result in self.all])))


def _line(result: Result, *, targets: bool) -> str:
    spread = f" [{_short(min(result.values))}..{_short(max(result.values))}]" if len(result.values) > 1 else ""
    note = f"  ({result.note})" if result.note and targets else ""
    return f"{result.suite:10} {result.what:58} {_short(result.median):>9} {result.unit}{spread}{note}"


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def require(usage: Usage, *, exit_code: int = 0) -> Usage:
    """The same, if the process ended as it should.

    Raises:
        SystemExit: If not; shows the end of its output.
    """
    if usage.exit_code != exit_code:
        raise SystemExit(f"a measured process ended with {usage.exit_code}:\n{usage.output[-3000:]}")
    return usage


def machine() -> str:
    """One line on what this was measured on, and how busy it was."""
    cpu = "unknown CPU"
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*:\s*(.+)", info.read_text())):
        cpu = found[1]
    load = os.getloadavg()[0]
    version = ".".join(map(str, sys.version_info[:3]))
    return f"Python {version}, {os.cpu_count()} cores ({cpu}), load average before the start {load:.1f}"
