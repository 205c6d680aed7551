"""How an endpoint's limits are divided among workers. Pure.

Divided rather than held by one actor: no call waits for a message, and nothing stands still when a process dies. What
one worker does not need goes to the others within a round of messages, so hardly anything is left idle.
"""

from collections.abc import Sequence


def divide(total: int, demands: Sequence[int]) -> list[int]:
    """Slots for each worker: equal parts, but nobody more than its demand while another wants more.

    Args:
        total: Slots there are; at least one for each worker.
        demands: How many slots each could use, at least 1.

    Returns:
        At least 1 for each; the sum is ``total``: what nobody demands is spread evenly.
    """
    parts = [0] * len(demands)
    left, wanting = total, list(range(len(demands)))
    while left and wanting:
        each, extra = divmod(left, len(wanting))
        for place, worker in enumerate(wanting):
            more = min(each + (place < extra), demands[worker] - parts[worker])
            parts[worker] += more
            left -= more
        wanting = [worker for worker in wanting if parts[worker] < demands[worker]]
    spare, extra = divmod(left, len(parts)) if parts else (0, 0)
    return [part + spare + (worker < extra) for worker, part in enumerate(parts)]


def portions(total: int, busy: Sequence[bool]) -> list[int]:
    """Requests (or tokens) a minute for each worker, in equal parts but for those that are not busy.

    Args:
        total: Of all workers; at least one for each.
        busy: Whether each has had calls waiting lately; when none has, all are taken for busy.

    Returns:
        For one that is not busy a quarter of an equal part, at least 1; the sum is ``total``.
    """
    if not any(busy):
        busy = [True] * len(busy)
    least = max(1, total // (4 * len(busy)))
    each, extra = divmod(total - least * len(busy), sum(busy))
    parts = []
    for is_busy in busy:
        parts.append(least + (each + (extra > 0) if is_busy else 0))
        extra -= is_busy
    return parts


class Allotment:
    """What workers were given of one limit; never more in all than there is.

    A worker that is given less may hold more for a while (its calls in flight), so what it gives back is counted only
    once it says so.

    Args:
        total: The limit.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._held: dict[int, int] = {}

    def offer(self, worker: int, wanted: int) -> int:
        """What the worker is told that it has: ``wanted``, or as much of it as others do not hold."""
        free = self.total - sum(self._held.values())
        held = self._held.get(worker, 0)
        part = min(wanted, held + free)
        self._held[worker] = max(held, part)
        return part

    def settle(self, worker: int, held: int) -> None:
        """The worker says that it holds no more than this now."""
        self._held[worker] = held

    def drop(self, worker: int) -> None:
        """The worker is gone."""
        self._held.pop(worker, None)
