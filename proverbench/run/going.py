"""Runs that are going on now in a folder of runs, and where they ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.errors import ProverBenchError
from proverbench.run.disk import LOCK
from proverbench.run.lock import writer
from proverbench.run.manifest import MANIFEST, read_manifest


@dataclass(frozen=True)
class Going:
    """A run that another process is writing."""

    folder: Path
    in_flight: Mapping[str, int]
    """Address of an endpoint → calls that it may have in flight there."""


def runs_going(parent: Path, *, but: Path | None = None) -> list[Going]:
    """The runs below ``parent`` whose owner lives, as far as this host can tell.

    Args:
        parent: A folder of runs.
        but: A run to leave out.
    """
    found = []
    for lock in sorted(parent.glob(f"*/{LOCK}")):
        folder = lock.parent
        own = but is not None and folder.resolve() == but.resolve()
        if own or writer(folder) is None or not (folder / MANIFEST).is_file():
            continue
        try:
            found.append(Going(folder, in_flight_of(read_manifest(folder).operation)))
        except ProverBenchError:
            continue  # what cannot be read is no reason to refuse, nor to warn
    return found


def in_flight_of(operation: Mapping[str, Any]) -> dict[str, int]:
    """Address → calls that a run may have in flight there."""
    found: dict[str, int] = {}
    roles = operation.get("roles")
    for settings in roles.values() if isinstance(roles, dict) else ():
        endpoint = settings.get("endpoint") if isinstance(settings, dict) else None
        if isinstance(endpoint, dict) and isinstance(endpoint.get("base_url"), str):
            allowed = operation.get("concurrency") or endpoint.get("concurrency")
            if isinstance(allowed, int):
                found[endpoint["base_url"]] = max(allowed, found.get(endpoint["base_url"], 0))
    return found
