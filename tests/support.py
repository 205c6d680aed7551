"""What tests share: where things are, a command in a process of its own, waiting for a state, small inputs."""

import asyncio
import gc
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil

from proverbench.records import Manifest
from proverbench.run.disk import CALLS
from proverbench.run.journal import write_seal
from proverbench.run.manifest import run_id
from proverbench.run.seal import START, sealed

ROOT = Path(__file__).parents[1]
_Item = TypeVar("_Item")
SHARED = ROOT.parent / "shared"
"""Real data and vectors, where they are at hand; tests that need them skip where they are not."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


HUNG_S = 600.0
"""After so long a process is taken to hang; long, for a busy machine is slow, and no test passes by it."""


def run_process(
    *arguments: str | Path, cwd: Path, env: dict[str, str] | None = None, timeout_s: float = HUNG_S
) -> Ended:
    """Run ``proverbench ARGUMENTS`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "proverbench", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def wait_for(
    what: Callable[[], object],
    process: subprocess.Popen[Any] | None = None,
    *,
    timeout_s: float = HUNG_S,
    why: Callable[[], str] = lambda: "",
) -> None:
    """Wait until something is so; that it takes too long, or that ``process`` ends before, fails the test."""
    deadline = time.monotonic() + timeout_s
    while not what():
        assert process is None or process.poll() is None or what(), f"it ended with {process.returncode}; {why()}"
        assert time.monotonic() < deadline, why()
        time.sleep(0.002)


async def until(what: Callable[[], object], *, timeout_s: float = HUNG_S) -> None:
    """The same, in the loop of what is waited for."""
    deadline = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.001)


def is_gone(pid: int) -> bool:
    """Whether a process has ended and what it held is closed; perhaps nobody has asked for its exit code yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for_words(process: subprocess.Popen[str], words: str, *, timeout_s: float = HUNG_S) -> None:
    """Read a command's stderr up to the line with these words, where it then waits; its end fails the test."""
    alarm = threading.Timer(timeout_s, process.kill)
    alarm.start()
    assert process.stderr is not None
    said = ""
    try:
        while words not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
    finally:
        alarm.cancel()


class Gate:
    """A script of the rehearsal endpoint by which replies are held back until the test lets them go.

    Args:
        after: How many requests are answered as usual before.
        n: How many are held.
    """

    def __init__(self, after: int = 0, n: int = 10**9) -> None:
        self.is_open = False
        self._held = range(after, after + n)
        self._seen = itertools.count()

    async def __call__(self, received: object) -> None:
        held = next(self._seen) in self._held
        while held and not self.is_open:  # noqa: ASYNC110 - the test has another loop, or none
            await asyncio.sleep(0.002)

    def open(self) -> None:
        self.is_open = True


def every(those: Iterable[_Item]) -> list[_Item]:
    """All of them, to be looked at in turn; that there are none fails the test, which would have shown nothing."""
    found = list(those)
    assert found, "there is nothing to look at"
    return found


def grows_too_fast(once: Callable[[], object], twice: Callable[[], object]) -> bool:
    """Whether twice the work takes more than three times the CPU time; a quadratic step takes four times.

    Give it enough for a quadratic step to cost far more than the hundredth of a second that is allowed. A suspicion is
    looked into again, with more repetitions: the machine may have been busy.
    """
    return all(_cpu_s(twice, best_of) > 3 * _cpu_s(once, best_of) + 0.01 for best_of in (1, 3, 10))


def _cpu_s(work: Callable[[], object], best_of: int) -> float:
    times = []
    gc.collect()
    gc.disable()  # what it costs depends on what other tests have left behind
    try:
        for _ in range(best_of):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(times)


def write_config(path: Path, base_url: str, *, concurrency: int = 16, more: str = "", model: str = "m") -> Path:
    """A config of all three roles at one OpenAI-compatible endpoint."""
    roles = "".join(
        f'[{role}]\nendpoint = "here"\nmodel = "{model}-{role}"\ngeneration = {{ max_tokens = 500, seed = 7 }}\n'
        for role in ("policy", "verifier", "meta")
    )
    path.write_text(
        f'[endpoint.here]\nbase_url = "{base_url}"\nconcurrency = {concurrency}\n{more}\n{roles}', encoding="utf-8"
    )
    return path


def write_rows(path: Path, rows: list[dict[str, object]]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def change_manifest(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Edit a saved run's manifest as if it had been made so: its id is that of what it says then."""
    path = run / "manifest.json"
    manifest = json.loads(path.read_bytes())
    change(manifest)
    changed = msgspec.convert(manifest, Manifest)
    path.write_text(json.dumps(manifest | {"run_id": run_id(changed.identity, changed.extent)}), encoding="utf-8")


def write_calls(run: Path, lines: Iterable[bytes | dict[str, Any]]) -> None:
    """Give a run another calls.jsonl, as if those lines, JSON or decoded, were all that was ever written."""
    place, raws = START, []
    for line in lines:
        decoded = line if isinstance(line, dict) else json.loads(line)
        plain = {name: value for name, value in decoded.items() if name != "seal"}
        body = json.dumps(plain, separators=(",", ":")).encode()
        raw, place = sealed(body, place)
        raws.append(raw + b"\n")
    (run / CALLS).write_bytes(b"".join(raws))
    write_seal(run, place)


def problem_rows(n: int) -> list[dict[str, object]]:
    """Problems p0, p1, … of both published domains in turn."""
    return [
        {
            "problem_id": f"p{i}",
            "problem": f"Prove statement number {i}.",
            "reference_solution": f"Reference {i}.",
            "domain": "ugd" if i % 2 == 0 else "qe",
            "subject": "Algebra",
        }
        for i in range(n)
    ]


def proof_rows(n: int) -> list[dict[str, object]]:
    """Annotated proofs v0, v1, …, every second one with a fatal error in step 1."""
    return [
        {
            **problem_rows(n)[i],
            "proof_id": f"v{i}",
            "steps": ["First.", "Second.", "Third."],
            "annotation": {
                "first_fatal_error_step": 1 if i % 2 else -1,
                "recoverable_error_steps": [-1],
                "reviewer_comment": f"Comment {i}.",
            },
        }
        for i in range(n)
    ]
