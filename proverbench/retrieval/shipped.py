"""The small corpus and queries of our own that come with the program, so that everything runs offline."""

from pathlib import Path

_HERE = Path(__file__).parents[1]


def shipped_data() -> Path:
    """Return the folder with ``corpus.jsonl`` and ``queries.jsonl``: in the install, or in a checkout."""
    installed = _HERE / "_data" / "retrieval"
    return installed if installed.is_dir() else _HERE.parent / "data" / "retrieval"
