"""Kind ``replay``: answers from a saved run, for nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.endpoints.kinds.kind import Fault, Kind


def _faults(table: Mapping[str, Any]) -> Iterator[Fault]:
    if table.get("run") is None:
        yield "run", "is missing; give the folder of the saved run that answers"


REPLAY = Kind(
    name="replay",
    opens="proverbench.ask.replay:open_replay",
    normal_stops=frozenset(),  # a replayed role's identity has the kind that answered first
    caches_prompts=False,
    keys=frozenset({"run"}),
    faults=_faults,
    needs_model=False,
    costs=False,
    live=False,
)
