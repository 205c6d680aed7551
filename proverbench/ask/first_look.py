"""A declared protocol asks a few judgments first, so that a prompt and a parser that do not fit cost little.

Further judgments wait until these are answered. What was read of each is shown; whether the run goes on is the
watch's to say (systematic.py).
"""

import asyncio

from proverbench.errors import InvalidReply
from proverbench.records import CallLine
from proverbench.run.replies import ReplyReader

FIRST_LOOK = 5
"""Judgments that are asked first."""


class FirstLook:
    """Lets so many judgments through, and the others when these are answered.

    Args:
        answered: Those that earlier sessions got.
    """

    def __init__(self, answered: int = 0) -> None:
        self.answered = answered
        self._asking = 0
        self._changed = asyncio.Event()
        self._over = answered >= FIRST_LOOK

    async def enter(self) -> None:
        """Wait until a judgment may be asked."""
        while not self._over and self.answered + self._asking >= FIRST_LOOK:
            self._changed.clear()
            await self._changed.wait()
        self._asking += 1

    def leave(self) -> None:
        """A judgment that entered has ended, or is not asked after all."""
        self._asking -= 1
        self._changed.set()

    def count(self) -> int | None:
        """Count an answer; returns which of the first it is, from 1, or None once there were enough."""
        if self._over:
            return None
        self.answered += 1
        if self.answered >= FIRST_LOOK:
            self.open()
        return self.answered

    def open(self) -> None:
        """Nobody waits any more."""
        self._over = True
        self._changed.set()


def shown_reading(reader: ReplyReader, line: CallLine, n_steps: int) -> str:
    """What was read in a judgment, in words."""
    try:
        verdict = reader.judgment(line, n_steps)
    except InvalidReply as exc:
        meaning = reader.protocol.reasons.get(exc.reason, "")
        return f"invalid, {exc.reason}" + (f": {meaning[0].lower()}{meaning[1:].rstrip('.')}" if meaning else "")
    return f"{reader.protocol.shown(verdict)}: {'accepts' if reader.protocol.accepts(verdict) else 'rejects'}"
