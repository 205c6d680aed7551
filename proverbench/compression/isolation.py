"""Running a command apart from the rest of the system, where the system has the means."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proverbench.compression.kernel import StoppedError
from proverbench.compression.sandbox import CANNOT

_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_PROCESSES = 256
_PROBE_S = 30


@dataclass(frozen=True, slots=True)
class Isolation:
    """How commands are run."""

    means: str | None
    """``user namespaces`` or ``bubblewrap``; None: not isolated."""
    why_not: str = ""

    @property
    def said(self) -> str:
        """For people and receipts."""
        if self.means is None:
            return f"not isolated ({self.why_not})"
        # Limits on processes do not bind root, and bubblewrap cannot make another user of it.
        bound = "memory and time" if self.means == "bubblewrap" and os.getuid() == 0 else "memory, time and processes"
        return f"isolated ({self.means}: no network, files read-only, limited {bound})"


def find_isolation(*, memory_mb: int, seconds: int) -> Isolation:
    """What this system allows, found by trying."""
    if sys.platform != "linux":
        return Isolation(None, f"{sys.platform} has no namespaces")
    tried = []
    for means in ("user namespaces", "bubblewrap"):
        probe = [sys.executable, "-c", "import proverbench.compression.kernel"]
        try:
            done = _run(means, probe, b"", memory_mb=memory_mb, seconds=seconds, timeout_s=_PROBE_S)
        except (OSError, subprocess.TimeoutExpired) as exc:
            tried.append(f"{means}: {exc}")
            continue
        if done.returncode == 0:
            return Isolation(means)
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        tried.append(f"{means}: {said[-120:] or f'exit status {done.returncode}'}")
    return Isolation(None, "; ".join(tried))


def run_apart(isolation: Isolation, command: Sequence[str], stdin: bytes, *, memory_mb: int, seconds: int) -> bytes:
    """Run a Python command under an isolation, or plainly where there is none; returns its output.

    Raises:
        StoppedError: If it took too long or ended without success.
    """
    try:
        done = _run(isolation.means, command, stdin, memory_mb=memory_mb, seconds=seconds, timeout_s=seconds)
    except subprocess.TimeoutExpired as exc:
        raise StoppedError(f"the check took more than {seconds} s; no verdict") from exc
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
        raise StoppedError(f"the check ended with status {done.returncode}; no verdict: {said}")
    return done.stdout


def _run(
    means: str | None, command: Sequence[str], stdin: bytes, *, memory_mb: int, seconds: int, timeout_s: int
) -> "subprocess.CompletedProcess[bytes]":
    package_root = str(Path(__file__).resolve().parents[2])
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp", "PYTHONPATH": package_root, "TMPDIR": "/tmp"}
    if means is None:
        env = {**os.environ, "PYTHONPATH": package_root}
        return subprocess.run(command, input=stdin, capture_output=True, env=env, timeout=timeout_s, check=False)
    with tempfile.TemporaryDirectory(prefix="compressionbench-root-") as scratch:
        if means == "bubblewrap":
            full = _bubblewrap(command, memory_mb=memory_mb, seconds=seconds)
        else:
            spec = {
                "scratch": scratch,
                "readonly": _visible_paths(),
                "memory_mb": memory_mb,
                "processes": _PROCESSES,
                "seconds": seconds,
            }
            script = str(Path(__file__).with_name("sandbox.py"))
            full = [sys.executable, "-I", script, json.dumps(spec), *command]
        done = subprocess.run(full, input=stdin, capture_output=True, env=env, timeout=timeout_s, check=False)
    if done.returncode == CANNOT and means == "user namespaces":
        raise OSError(" ".join(done.stderr.decode("utf-8", "replace").split())[-200:])
    return done


_LIMITED = """
import os, resource, sys
memory, seconds, processes = map(int, sys.argv[1:4])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
os.execv(sys.argv[4], sys.argv[4:])
"""


def _bubblewrap(command: Sequence[str], *, memory_mb: int, seconds: int) -> list[str]:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise OSError("bwrap is not installed")
    binds = [part for path in _visible_paths() for part in ("--ro-bind", path, path)]
    base = [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
    ]
    limits = [str(memory_mb * 2**20), str(seconds), str(_PROCESSES)]
    return [bwrap, *base, *binds, "--", sys.executable, "-I", "-c", _LIMITED, *limits, *command]


def _visible_paths() -> list[str]:
    """What the command needs to see: the system's libraries, this Python, this package."""
    package = str(Path(__file__).resolve().parents[1])
    wanted = [*_SYSTEM, sys.base_prefix, sys.prefix, str(Path(sys.executable).resolve().parent), package]
    wanted += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    found: list[str] = []
    for path in wanted:
        inside = any(Path(path).is_relative_to(other) for other in found if not Path(other).is_symlink())
        if Path(path).exists() and not inside:
            found.append(path)
    return found
