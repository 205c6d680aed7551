"""Figures that others published: shown in a table of their own, never ranked with runs."""

import json
from pathlib import Path
from typing import Literal

import msgspec

from proverbench.errors import DataError
from proverbench.retrieval.reading import Faults, parse_jsonl, read_bytes


class PublishedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A system's figures from one source; a paper's and a hosted service's differ, and are rows of their own."""

    system: str
    source: Literal["paper", "hosted API", "leaderboard"]
    reference: str
    """Where the figures stand."""
    task: str
    corpus: str
    n: int | None = None
    metrics: dict[str, float]
    """Such as ``nDCG@10``, ``R@10``, ``MRR``: in [0, 1]."""


def load_published(path: Path) -> list[PublishedRow]:
    """Load published rows from JSONL.

    Raises:
        DataError: Lists every fault with its line.
    """
    faults = Faults(path)
    rows = []
    for line, value in parse_jsonl(read_bytes(path), faults):
        try:
            row = msgspec.json.decode(json.dumps(value), type=PublishedRow)
        except msgspec.DecodeError as exc:
            faults.add(line, str(exc))
            continue
        for name, figure in row.metrics.items():
            if not 0 <= figure <= 1:
                faults.add(line, f"metrics.{name} is {figure!r}; wanted a share in [0, 1], not a percentage")
        rows.append(row)
    faults.raise_if_any()
    if not rows:
        raise DataError(f"{path}: holds no rows")
    return rows
