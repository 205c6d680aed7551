"""The tool itself as its users start it: ``proverbench run`` in a process of its own, on made-up work."""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.measure import Mock, Usage, python, require, run

COMMAND = "from proverbench.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Work:
    """How much is asked: N problems, S proofs of each, R judgments of each proof."""

    problems: int
    samples: int = 2
    repeats: int = 8

    @property
    def calls(self) -> int:
        """Calls when every reply is valid."""
        return self.problems * self.samples * (1 + self.repeats)

    @classmethod
    def of(cls, calls: int, *, samples: int = 2, repeats: int = 8) -> "Work":
        """The least work of at least so many calls."""
        return cls(-(-calls // (samples * (1 + repeats))), samples, repeats)


def write_problems(path: Path, work: Work) -> None:
    """A data file of made-up problems of ordinary length."""
    with path.open("w", encoding="utf-8") as lines:
        for n in range(work.problems):
            row = {
                "problem_id": f"p{n:06d}",
                "problem": f"Let $f_{{{n}}}$ be continuous on $[0, 1]$ with $f(0) = {n}$. " * 4
                + "Prove that $f$ is bounded.",
                "reference_solution": "A continuous function on a compact interval attains its maximum. " * 6,
                "domain": "ugd" if n % 5 else "qe",
            }
            lines.write(json.dumps(row) + "\n")


def write_config(path: Path, origin: str, *, concurrency: int, kind: str = "openai", more: str = "") -> None:
    """A config whose roles all ask the endpoint at ``origin``."""
    base_url = f"{origin}/v1" if kind == "openai" else origin
    roles = "\n".join(
        f'[{role}]\nmodel = "mock"\nendpoint = "mock"\ngeneration = {{ max_tokens = 2048 }}\n'
        for role in ("policy", "verifier", "meta")
    )
    path.write_text(
        f'[endpoint.mock]\nkind = "{kind}"\nbase_url = "{base_url}"\nconcurrency = {concurrency}\n'
        f"stream = false\n{more}\n\n{roles}"
    )


def prepare(
    folder: Path, origin: str, work: Work, *, concurrency: int, kind: str = "openai", more: str = ""
) -> list[str]:
    """Write data and config into ``folder``; the command that runs them, its output going to ``folder/run``."""
    write_problems(folder / "data.jsonl", work)
    write_config(folder / "config.toml", origin, concurrency=concurrency, kind=kind, more=more)
    return python(
        *("-c", COMMAND, "run", "--data", str(folder / "data.jsonl"), "--config", str(folder / "config.toml")),
        *("--samples", str(work.samples), "--verifier-repeats", str(work.repeats), "--output", str(folder / "run")),
    )


def measure(
    folder: Path,
    origin: str,
    work: Work,
    *,
    concurrency: int,
    kind: str = "openai",
    core: int | None = None,
    more: str = "",
    exit_code: int = 0,
) -> Usage:
    """Run the tool once, in a folder that does not exist yet."""
    folder.mkdir(parents=True)
    command = prepare(folder, origin, work, concurrency=concurrency, kind=kind, more=more)
    return require(run(command, core=core), exit_code=exit_code)


def kill_a_worker(command: list[str], run_folder: Path, after: int, server: Mock) -> int:
    """Run on Ray, killing one worker once so many requests have come; returns how many calls of all were in flight.

    What the dead worker had in flight, about its part of these, must be asked again.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    while process.poll() is None and server.stats()["requests"] < after:
        time.sleep(0.1)
    owners = [int(msgspec.json.decode(lock.read_bytes())["pid"]) for lock in run_folder.glob("shards/*/.lock")]
    if not owners:
        raise SystemExit(f"no worker was at work:\n{process.stdout.read().decode()[-3000:]}")
    before = server.stats()["in_flight"]
    os.kill(owners[0], signal.SIGKILL)
    output = process.stdout.read().decode()
    if process.wait():
        raise SystemExit(f"the run on Ray ended with {process.returncode}:\n{output[-3000:]}")
    return int(before)
