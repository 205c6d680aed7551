"""Scheduling: a run's makespan against that of an ideal scheduler that does not know durations beforehand.

The ideal fills a slot the moment it is free, asks judgments before new proofs, and takes no time itself. In both every
call has the same latency (mock.py), so that luck is not taken for skill. What the ideal cannot avoid (one very long
call at the end) the run may have too.
"""

import heapq
from collections import Counter, deque

from benchmarks.mock import Latencies
from benchmarks.tool import Work


def ideal_makespan(work: Work, latencies: Latencies, *, in_flight: int) -> float:
    """Seconds from the first call to the last answer."""
    now = 0.0
    to_write = iter(divmod(proof, work.samples) for proof in range(work.problems * work.samples))
    to_judge: deque[int] = deque()
    judged: Counter[int] = Counter()
    running: list[tuple[float, int, bool]] = []
    while True:
        while len(running) < in_flight:
            if to_judge:
                problem = to_judge.popleft()
                nth = judged[problem]
                judged[problem] += 1
                heapq.heappush(running, (now + latencies("verifier", problem, nth), problem, False))
                continue
            proof = next(to_write, None)
            if proof is None:
                break
            heapq.heappush(running, (now + latencies("policy", *proof), proof[0], True))
        if not running:
            return now
        now, problem, is_proof = heapq.heappop(running)
        if is_proof:
            to_judge += [problem] * work.repeats
