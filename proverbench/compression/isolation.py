"""Stages: processes apart from the rest of the system, thrown away after, of which only bytes remain.

Which means of isolation a system has is found by trying: the probe looks from inside whether files, processes and the
network are really out of reach. Where there is none nothing is run, unless the user wrote ``--unsafe``.
"""

import json
import os
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from proverbench.compression.limits import Allowance, StoppedError
from proverbench.compression.sandbox import CANNOT
from proverbench.compression.seccomp import refusing_filter

_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_NOBODY = 65534
_PROBE_S = 30
_STDERR_BYTES = 64 * 2**10
_CHUNK = 1 << 16
_LEAST_ADDRESS_SPACE = 6_144
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp", "TMPDIR": "/tmp"}
"""All that a stage's processes find in their environment."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the processes of a stage are kept apart."""

    means: str | None
    """One of ``MEANS``; None: not at all."""
    inside: bool = False
    """Whether this process itself is in a stage, so that nothing more is needed."""

    @property
    def said(self) -> str:
        """For people and receipts."""
        return self.means or "none"


@dataclass(frozen=True, slots=True)
class Finished:
    """What a stage left."""

    status: int
    """Exit status; negative: the signal that ended it."""
    output: bytes
    errors: str
    """The end of standard error, for messages."""


MEANS = ("bubblewrap", "namespaces", "bubblewrap as root")
"""Tried in this order; limits on the number of processes do not bind the last."""
UNSAFE = Isolation(None)
"""Nothing is kept apart: for sources that one trusts (--unsafe)."""
INSIDE = Isolation(None, inside=True)


@cache
def require_isolation() -> Isolation:
    """The first means that this system allows, found by trying.

    Raises:
        StoppedError: If there is none; says what was tried and what helps.
    """
    tried = []
    for means in MEANS:
        if means == "bubblewrap as root" and os.getuid() != 0:
            continue
        why = _probe(means)
        if why is None:
            return Isolation(means)
        tried.append(f"{means}: {why}")
    raise StoppedError(
        "nothing was run: compiling a Lean file runs the code in it, and this system offers no sandbox for that "
        f"({'; '.join(tried)}). Install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap) or allow user "
        "namespaces; for files that you trust, write --unsafe"
    )


_PROBE = """
import os, socket, sys
hidden, host = sys.argv[1:3]
if os.path.exists(hidden): sys.exit("files of the user are visible")
try: socket.socket()
except PermissionError: pass
else: sys.exit("the network is not out of reach")
seen = [name for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []
if host in seen and int(host) > 99: sys.exit("other processes are visible")
open("/tmp/probe", "w").close()
print("apart")
"""


def _probe(means: str) -> str | None:
    """Why a means does not do, None if it does."""
    if sys.platform != "linux":
        return f"{sys.platform} has none"
    with tempfile.NamedTemporaryFile(prefix="compressionbench-probe-") as secret:
        command = [python(), "-I", "-S", "-c", _PROBE, secret.name, str(os.getpid())]
        try:
            done = run_stage(Isolation(means), command, b"", Allowance(time_s=_PROBE_S), output_limit=1024)
        except (OSError, StoppedError) as exc:
            return str(exc)
    if done.status == 0 and done.output == b"apart\n":
        return None
    return done.errors[-160:] or f"exit status {done.status}"


def python() -> str:
    """The interpreter for stages: without the virtual environment around it, which they do not see."""
    return os.path.realpath(sys.executable)


def run_stage(
    isolation: Isolation,
    command: Sequence[str],
    stdin: bytes,
    limits: Allowance,
    *,
    output_limit: int,
    visible: Iterable[Path] = (),
    cwd: str = "/tmp",
    time_s: float | None = None,
) -> Finished:
    """Run a command as a stage; when this returns, all its processes are gone.

    Args:
        isolation: How it is kept apart.
        command: Its argument vector.
        stdin: All that it is given.
        limits: What it may use.
        output_limit: Most bytes that it may write to standard output.
        visible: Files and folders that it may read, besides the system's libraries and this Python.
        cwd: Where it starts, as seen from inside.
        time_s: Wall-clock seconds, if not those of ``limits``.

    Raises:
        StoppedError: If it took too long or wrote too much.
        OSError: If the means of isolation cannot be had.
    """
    seconds = limits.time_s if time_s is None else time_s
    with ExitStack() as stack:
        started = _Started(isolation, command, limits, _visible(visible), cwd, stack)
        deadline = time.monotonic() + max(seconds, 0.01)
        try:
            output, errors = _exchange(started.process, stdin, output_limit, deadline)
            status = started.process.wait(max(deadline - time.monotonic(), 0.01))
        except (TimeoutError, subprocess.TimeoutExpired) as exc:
            raise StoppedError(f"the check took more than {limits.time_s} s; no verdict") from exc
        finally:
            started.end()
    said = " ".join(errors.decode("utf-8", "replace").split())[-300:]
    if status == CANNOT and isolation.means == "namespaces":
        raise OSError(said)
    return Finished(status, output, said)


@dataclass
class _Started:
    """A stage's process, and how all that belongs to it is ended."""

    isolation: Isolation
    command: Sequence[str]
    limits: Allowance
    visible: Sequence[str]
    cwd: str
    stack: ExitStack
    process: "subprocess.Popen[bytes]" = field(init=False)
    _info: int | None = None

    def __post_init__(self) -> None:
        means = self.isolation.means
        fds: tuple[int, ...] = ()
        if means is None:
            full, user = list(self.command), None
        elif means == "namespaces":
            full, user = self._namespaces(), None
        else:
            full, fds = self._bubblewrap()
            user = _NOBODY if means == "bubblewrap" and os.getuid() == 0 else None
        self.process = subprocess.Popen(
            full,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.cwd if means is None else "/",
            env=ENVIRONMENT,
            pass_fds=fds,
            start_new_session=means is None and not self.isolation.inside,
            preexec_fn=(lambda: _limit(self.limits)) if means is None else None,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        self.stack.enter_context(self.process)

    def _namespaces(self) -> list[str]:
        rules = refusing_filter()
        if rules is None:
            raise OSError("no filter for the system calls of this processor")
        spec = {
            "scratch": self.stack.enter_context(tempfile.TemporaryDirectory(prefix="compressionbench-root-")),
            "readonly": self.visible,
            "memory_mb": self.limits.memory_mb,
            "processes": self.limits.processes,
            "seconds": self.limits.time_s,
            "file_mb": self.limits.file_mb,
            "disk_mb": self.limits.disk_mb,
            "stack_mb": self.limits.stack_mb,
            "filter": rules.hex(),
            "cwd": self.cwd,
        }
        return [python(), "-I", "-S", str(Path(__file__).with_name("sandbox.py")), json.dumps(spec), *self.command]

    def _bubblewrap(self) -> tuple[list[str], tuple[int, ...]]:
        bwrap = shutil.which("bwrap")
        rules = refusing_filter()
        if bwrap is None or rules is None:
            raise OSError("bwrap is not installed" if bwrap is None else "no filter for this processor")
        seccomp = os.memfd_create("filter")
        self.stack.callback(os.close, seccomp)
        os.write(seccomp, rules)
        os.lseek(seccomp, 0, os.SEEK_SET)
        self._info, written = os.pipe()
        self.stack.callback(os.close, self._info)
        self.stack.callback(os.close, written)
        binds: list[str] = []
        for path in self.visible:
            link = ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
            binds += link
        full = [bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
        full += ["--clearenv", "--cap-drop", "ALL", "--info-fd", str(written), "--seccomp", str(seccomp)]
        full += [part for name, value in ENVIRONMENT.items() for part in ("--setenv", name, value)]
        full += ["--size", str(self.limits.disk_mb * 2**20), "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc"]
        full += [*binds, "--chdir", self.cwd, "--", python(), "-I", "-S", "-c", _LIMITED]
        full += [json.dumps(_resource_limits(self.limits)), *self.command]
        return full, (seccomp, written)

    def end(self) -> None:
        """End every process of the stage, and wait until it is gone."""
        first = self._first_process()
        if self.isolation.means is None and not self.isolation.inside:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if first is not None:
            # The first process of a process namespace ends after all others in it are gone.
            with selectors.DefaultSelector() as waiting:
                waiting.register(first, selectors.EVENT_READ)
                waiting.select()

    def _first_process(self) -> int | None:
        """A descriptor of bubblewrap's process 1, None if it is gone already."""
        if self._info is None:
            return None
        os.set_blocking(self._info, False)
        with suppress(BlockingIOError, ValueError, KeyError, ProcessLookupError):
            descriptor = os.pidfd_open(json.loads(os.read(self._info, 4096))["child-pid"])
            self.stack.callback(os.close, descriptor)
            return descriptor
        return None


_LIMITED = """
import json, os, resource, sys
for name, value in json.loads(sys.argv[1]):
    hard = resource.getrlimit(name)[1]
    value = value if hard < 0 else min(value, hard)
    resource.setrlimit(name, (value, hard if name == resource.RLIMIT_STACK else value))
os.execv(sys.argv[2], sys.argv[2:])
"""


def _resource_limits(limits: Allowance) -> list[tuple[int, int]]:
    memory = max(limits.memory_mb, _LEAST_ADDRESS_SPACE) * 2**20
    return [
        (resource.RLIMIT_STACK, limits.stack_mb * 2**20),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, limits.time_s),
        (resource.RLIMIT_FSIZE, limits.file_mb * 2**20),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
    ]


def _limit(limits: Allowance) -> None:
    """Limit this process, about to become a stage's, where nothing else does."""
    for name, value in _resource_limits(limits):
        if name == resource.RLIMIT_NPROC or (name == resource.RLIMIT_AS and sys.platform != "linux"):
            continue  # the user's own processes count for the first
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, hard if name == resource.RLIMIT_STACK else value))


def _exchange(process: "subprocess.Popen[bytes]", stdin: bytes, limit: int, deadline: float) -> tuple[bytes, bytes]:
    """Feed a process and read what it writes, within limits on size and time."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors, left = bytearray(), bytearray(), memoryview(stdin)
    with selectors.DefaultSelector() as ready:
        for stream, what in ((process.stdout, "out"), (process.stderr, "err"), (process.stdin, "in")):
            os.set_blocking(stream.fileno(), False)
            ready.register(stream, selectors.EVENT_WRITE if what == "in" else selectors.EVENT_READ, what)
        while ready.get_map():
            events = ready.select(deadline - time.monotonic())
            if not events and time.monotonic() >= deadline:
                raise TimeoutError
            for key, _ in events:
                if key.data == "in":
                    with suppress(BlockingIOError):
                        try:
                            left = left[os.write(key.fd, left[:_CHUNK]) :] if left else left
                        except BrokenPipeError:
                            left = left[:0]
                    if not left:
                        ready.unregister(process.stdin)
                        process.stdin.close()
                    continue
                piece = os.read(key.fd, _CHUNK)
                if not piece:
                    ready.unregister(key.fileobj)
                elif key.data == "out":
                    output += piece
                    if len(output) > limit:
                        raise StoppedError(f"a stage of the check wrote more than {limit:,} bytes; no verdict")
                else:
                    errors = (errors + piece)[-_STDERR_BYTES:]
    return bytes(output), bytes(errors)


def _visible(more: Iterable[Path]) -> list[str]:
    """What a stage gets to see: the system's libraries and this Python's own, and what it needs besides."""
    found: list[str] = []
    wanted = [*_SYSTEM, os.path.realpath(sys.base_prefix), str(Path(python()).parent), *map(str, more)]
    for path in wanted:
        inside = any(Path(path).is_relative_to(other) for other in found if not Path(other).is_symlink())
        if os.path.exists(path) and not inside:
            found.append(path)
    return found
