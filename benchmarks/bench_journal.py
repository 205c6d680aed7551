"""The journal of a large run: cost of a call from the first to the last, opening to resume, and score.

    python -m benchmarks.bench_journal [--calls N] [--chars N]

Everything runs in a scratch folder. Opening and score are whole processes, start-up included; memory is their peak.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import python, require, run
from benchmarks.saved import write_run
from benchmarks.tool import COMMAND, Work
from proverbench.records import CallLine, Extent, Problem
from proverbench.run.calls import Ledger
from proverbench.run.disk import CALLS
from proverbench.run.extent import Plan
from proverbench.run.journal import Journal

_PARTS = 10
_OPEN = (
    "import sys; from pathlib import Path; from proverbench.run.reading import open_calls; "
    "from proverbench.run.sources import Sources; print(sum(1 for _ in open_calls(Sources(Path(sys.argv[1])))))"
)


def measure_appends(folder: Path, *, calls: int, chars: int) -> tuple[float, float]:
    """Seconds a call of the first and of the last tenth, syncs included; the key's note in memory too."""
    plan = Plan([Problem(problem_id="p", problem="P")], Extent(rows=1, samples=calls), judged_only=False)
    text = "Let $x < y$. " * (chars // 13)

    async def append() -> list[float]:
        journal, ledger, times = Journal(folder), Ledger(plan), []
        for part in range(_PARTS):
            start = time.perf_counter()
            for sample in range(part * calls // _PARTS, (part + 1) * calls // _PARTS):
                line = CallLine(role="policy", id="p", sample=sample, text=text, finish_reason="stop")
                ledger.answer(line.key, journal.append(line))
                if sample % 64 == 0:
                    await asyncio.sleep(0)  # as between replies: the sync of what came before may run
            times.append((time.perf_counter() - start) / (calls // _PARTS))
        await journal.aclose()
        return times

    times = asyncio.run(append())
    return times[0], times[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--chars", type=int, default=8_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proverbench-bench-") as scratch:
        appended = Path(scratch, "appended")
        appended.mkdir()
        first, last = measure_appends(appended, calls=given.calls, chars=given.chars)
        size_mb = (appended / CALLS).stat().st_size / 1e6
        sys.stdout.write(
            f"append, {given.calls:,} calls, {size_mb:,.0f} MB: {first * 1e6:.0f} µs a call in the first tenth, "
        )
        sys.stdout.write(f"{last * 1e6:.0f} in the last ({last / first:.2f} times)\n")
        (appended / CALLS).unlink()

        path = write_run(Path(scratch, "saved"), Work.of(given.calls), reply_bytes=given.chars)
        size_mb = (path / CALLS).stat().st_size / 1e6
        for what, command in (("open to resume", ("-c", _OPEN)), ("score", ("-c", COMMAND, "score"))):
            usage = run(python(*command, str(path)))
            if usage.exit_code not in (0, 1):
                require(usage)
            sys.stdout.write(f"{what}, {size_mb:,.0f} MB: {usage.seconds:.1f} s ({usage.cpu_s:.1f} s of CPU), ")
            sys.stdout.write(f"peak {usage.peak_mb:,.0f} MB, {usage.peak_mb / size_mb:.2f} of the file\n")


if __name__ == "__main__":
    main()
