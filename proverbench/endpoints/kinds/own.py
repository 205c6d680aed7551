"""Kind ``own``: an endpoint that a Python program passes to ``run_prover`` or ``run_verifier`` (docs/python.md)."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.endpoints.kinds.kind import Fault, Kind


def _faults(_: Mapping[str, Any]) -> Iterator[Fault]:
    yield "kind", "is 'own', which is for endpoints that a Python program passes (docs/python.md)"


OWN = Kind(name="own", opens="proverbench.endpoints.own:open_own", normal_stops=frozenset({"stop"}), faults=_faults)
