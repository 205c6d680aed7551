"""Several runs of a report side by side: which may stand in one table, as JSON-ready data."""

from collections.abc import Mapping
from typing import Any

from proverbench.metrics.shown import shown_interval
from proverbench.run.boards import Common, Entry, boards_of


def boards_head(runs: Mapping[str, Entry]) -> dict[str, Any]:
    """What a report's head says of runs beside one another.

    Args:
        runs: By name.

    Returns:
        ``boards``: ``task``, ``runs``, ``what`` (all of them are), ``notes`` (what differs nevertheless). ``apart``: by
        task, why there are several. ``common``: by task, for runs that differ in R alone, ``repeats`` and ``scores``.
    """
    found = boards_of(runs)
    return {
        "boards": [
            {"task": board.task, "runs": list(board.runs), "what": board.what, "notes": list(board.notes)}
            for board in found.boards
        ],
        "apart": {task: list(sentences) for task, sentences in found.apart.items()},
        "common": {task: [_common(offer) for offer in offers] for task, offers in found.common.items()},
    }


def _common(offer: Common) -> dict[str, Any]:
    scores = []
    for name, score in offer.scores.items():
        shown = shown_interval(score["interval"])
        ends = None if shown is None else {"low": shown.low, "high": shown.high, "n": None, "evidence": None}
        scores.append({"run": name, "value": score["value"], "interval": ends})
    return {"repeats": offer.repeats, "scores": scores}
