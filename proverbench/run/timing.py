"""timing.json: what a run's calls took and cost, from calls.jsonl alone."""

from datetime import datetime
from typing import Any

from proverbench.errors import JournalError
from proverbench.metrics.uncertainty import significant
from proverbench.records import AttemptLine, CallFacts, Facts, Manifest, SessionLine
from proverbench.run.disk import CALLS
from proverbench.run.looks import LookCounter
from proverbench.run.sources import Sources
from proverbench.spending.budget import Spent
from proverbench.spending.money import cache_saving_usd


def timing(sources: Sources) -> dict[str, Any]:
    """Content of timing.json: durations, attempts, abandoned calls and cost, from calls.jsonl.

    Seconds are wall-clock seconds; a session's duration runs from its start to its last line.

    Raises:
        JournalError: If calls.jsonl is damaged.
    """
    found = _Timing(sources.manifest)
    sources.read_through(found.see)
    return found.content()


class _Timing:
    """Takes in lines of calls.jsonl, in order."""

    def __init__(self, manifest: Manifest) -> None:
        self._spent = Spent(manifest)
        self._roles: dict[str, dict[str, Any]] = {}
        self._sessions: list[dict[str, Any]] = []
        self._looks = LookCounter(manifest)

    def see(self, line: Facts) -> None:
        """Count a line."""
        self._spent.add(line)
        if isinstance(line, SessionLine):
            self._see_session(line)
        elif isinstance(line, (CallFacts, AttemptLine)) and line.role in self._spent.budget.roles:
            self._see_call(line)  # proofs that were given are no calls

    def _see_session(self, line: SessionLine) -> None:
        self._looks.see(line)
        if line.event == "start":
            self._sessions.append({"start": line.at, "end": line.at, "stop": None, "calls": 0, "unanswered": 0})
        elif self._sessions:
            self._sessions[-1] |= {"end": line.at, "stop": line.reason}

    def _see_call(self, line: CallFacts | AttemptLine) -> None:
        role = self._roles.get(line.role)
        if role is None:
            role = {"calls": 0, "unanswered": 0, "attempts": 0, "abandoned": 0, "latency_s": 0.0, "latency_max_s": 0.0}
            self._roles[line.role] = role
        role["attempts"] += line.attempts
        role["abandoned"] += line.abandoned
        session: dict[str, Any] = self._sessions[-1] if self._sessions else {"unanswered": 0, "calls": 0}
        session["end"] = line.at
        if isinstance(line, CallFacts):
            role["calls"] += 1
            role["latency_s"] += line.latency_s
            role["latency_max_s"] = max(role["latency_max_s"], line.latency_s)
            session["calls"] += 1
        elif line.attempts:  # else one attempt of a call that went on
            role["unanswered"] += 1
            session["unanswered"] += 1

    def content(self) -> dict[str, Any]:
        """What timing.json says."""
        for name, totals in self._roles.items():
            totals["latency_s"] = round(totals["latency_s"], 3)
            spending = self._spent.budget.roles.get(name)
            if spending is not None and spending.prices is not None:
                saving = cache_saving_usd(spending.usage, spending.prices)
                totals["cost_usd"] = significant(spending.cost.usd)
                totals["cost_is_at_least"] = spending.cost.at_least
                totals["cache_saving_usd"] = None if saving is None else significant(saving)
        for session in self._sessions:
            session["seconds"] = seconds_between(session["start"], session["end"])
        seconds = round(sum(session["seconds"] for session in self._sessions), 3)
        looks = self._looks.looks()
        return {
            "seconds": seconds,
            "roles": self._roles,
            "sessions": self._sessions,
            **({} if looks.single else {"looks": looks._asdict()}),
        }


def seconds_between(start: str, end: str) -> float:
    """How long a session took; 0 where the clock was set back meanwhile.

    Raises:
        JournalError: These are not two UTC times.
    """
    try:
        between = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError) as exc:  # TypeError: only one of them has a time zone
        raise JournalError(f"{CALLS}: a session from {start!r} to {end!r}: these are not two UTC times") from exc
    return max(0.0, round(between.total_seconds(), 3))
