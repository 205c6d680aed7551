"""How long the event loop is held up while the tool runs: ``python -m benchmarks.lag PROVERBENCH-ARGUMENTS…``.

Runs the command in this process beside a task that wants to wake every few milliseconds, and prints the worst delay
as the last line. What is derived from the answers when all are there is not counted: it keeps nobody waiting.
"""

import asyncio
import sys
import time
from collections.abc import Coroutine
from typing import Any

_TICK_S = 0.005


def main() -> None:
    """Run the command of ``sys.argv`` and print ``worst lag SECONDS``."""
    from proverbench.cli import main as command
    from proverbench.run import folder as runfolder

    worst = 0.0
    excused = 0.0
    run, derive = asyncio.run, runfolder.write_derived

    def derived(*arguments: Any) -> Any:
        nonlocal excused
        start = time.monotonic()
        try:
            return derive(*arguments)
        finally:
            excused += time.monotonic() - start

    async def watched(task: Coroutine[Any, Any, Any]) -> Any:
        async def watch() -> None:
            nonlocal worst
            while True:
                due, before = time.monotonic() + _TICK_S, excused
                await asyncio.sleep(_TICK_S)
                worst = max(worst, time.monotonic() - due - (excused - before))

        watching = asyncio.create_task(watch())
        try:
            return await task
        finally:
            watching.cancel()

    runfolder.write_derived = derived  # type: ignore[assignment]
    asyncio.run = lambda task, **options: run(watched(task), **options)
    try:
        command()
    finally:
        sys.stdout.write(f"\nworst lag {worst:.4f}\n")


if __name__ == "__main__":
    main()
