"""Scheduling: a run's makespan against that of an ideal scheduler that does not know durations beforehand.

The ideal fills a slot the moment it is free, asks judgments before new proofs, and takes no time itself. Both get the
same latencies, dealt in order of asking. What the ideal cannot avoid (one very long call at the end) the run may have
too.
"""

import heapq
from collections.abc import Iterator

from benchmarks.tool import Work


def ideal_makespan(work: Work, durations: Iterator[float], *, in_flight: int) -> float:
    """Seconds from the first call to the last answer."""
    now = 0.0
    policy_left, judgments_left = work.problems * work.samples, 0
    running: list[tuple[float, bool]] = []
    while running or policy_left or judgments_left:
        while len(running) < in_flight and (policy_left or judgments_left):
            is_policy = not judgments_left
            if is_policy:
                policy_left -= 1
            else:
                judgments_left -= 1
            heapq.heappush(running, (now + next(durations), is_policy))
        now, is_policy = heapq.heappop(running)
        if is_policy:
            judgments_left += work.repeats
    return now
