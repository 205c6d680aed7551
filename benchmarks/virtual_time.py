"""An event loop whose clock jumps: what waits for hours is over as soon as everything else has been done."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing; adds up what it was to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now."""
        if timeout is None:
            raise RuntimeError("everything waits, and nothing is on its way")
        self.now += max(0.0, timeout)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """As :func:`asyncio.run`, in virtual time; for work that waits for timers alone, not for files or sockets."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
