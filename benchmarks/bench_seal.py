"""What the seals of calls.jsonl cost, and what reading a large run costs beside decoding its lines once."""

import time
from pathlib import Path

import msgspec

from benchmarks import tool
from benchmarks.measure import mock, python, require, run, scratch
from benchmarks.tool import COMMAND, Work
from proverbench.records import CallLine, Line
from proverbench.run.disk import CALLS
from proverbench.run.seal import START, sealed

REPLY_BYTES = 2000
_decode = msgspec.json.Decoder(Line).decode
_encode = msgspec.json.Encoder().encode


def writing(calls: int) -> float:
    """CPU time of the seals of a run's calls, as a share of what the whole process took."""
    with scratch() as folder, mock() as server:
        usage = tool.measure(folder / "work", server.origin, Work.of(calls), concurrency=64)
        lines = map(_decode, (folder / "work" / "run" / CALLS).read_bytes().splitlines())
        bodies = [_encode(line) for line in lines if isinstance(line, CallLine)]
        start = time.process_time()
        place = START
        for body in bodies:
            _, place = sealed(body, place)
        return (time.process_time() - start) / usage.cpu_s


def reading(judgments: int, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """CPU time of reading a sealed run, round by round.

    Returns:
        `verify-run` to `score`, whole processes; `score` to decoding every line of calls.jsonl once; its seconds.
    """
    verifies, scores, seconds = [], [], []
    with scratch() as folder:
        sizes = (str(-(-judgments // 16)), "--reply-bytes", str(REPLY_BYTES))
        require(run(python("-m", "benchmarks.saved", str(folder / "work"), *sizes)))
        path = folder / "work" / "run"
        for _ in range(rounds):
            once = _decoding(path / CALLS)
            score = require(run(python("-c", COMMAND, "score", str(path)))).cpu_s
            verify = require(run(python("-c", COMMAND, "verify-run", str(path)))).cpu_s
            verifies.append(verify / score)
            scores.append(score / once)
            seconds.append(score)
    return verifies, scores, seconds


def _decoding(path: Path) -> float:
    start = time.process_time()
    with path.open("rb") as lines:
        for line in lines:
            _decode(line)
    return time.process_time() - start
