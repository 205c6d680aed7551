"""Small exports, written by hand."""

import json
from typing import Any

from proverbench.compression.export import Export
from proverbench.compression.export_reading import read_export_lines

META: dict[str, Any] = {
    "meta": {
        "exporter": {"name": "test", "version": "1"},
        "format": {"version": "3.1.0"},
        "lean": {"githash": "", "version": "4.35.0"},
    }
}


def ndjson(*lines: dict[str, Any], meta: dict[str, Any] | None = META) -> list[bytes]:
    """Lines of an export, `meta` first."""
    return [json.dumps(line).encode() + b"\n" for line in ([meta, *lines] if meta else lines)]


def read(*lines: dict[str, Any], meta: dict[str, Any] | None = META) -> Export:
    """The export that some lines are."""
    return read_export_lines(ndjson(*lines, meta=meta), source="test.ndjson")
