"""A saved run, read: the one way for every command to look into a run's folder (docs/run-format.md)."""

from collections.abc import Iterator
from pathlib import Path

from proverbench.records import CallKey, CallLine, Manifest, ProofRecord, Row, Summary


class RunFolder:
    """A run, finished or still going, always derived from its four sources.

    Args:
        path: The run's folder.

    Raises:
        JournalError: If the folder is no run, or is damaged; names the file and line.
    """

    path: Path
    manifest: Manifest

    def __init__(self, path: Path) -> None:
        raise NotImplementedError

    def rows(self) -> list[Row]:
        """The selected rows, in data order."""
        raise NotImplementedError

    def records(self) -> Iterator[ProofRecord]:
        """Every expected record, in data order then sample; read lazily."""
        raise NotImplementedError

    def summary(self) -> Summary:
        """The summary of what is on disk now."""
        raise NotImplementedError

    def call(self, key: CallKey) -> CallLine | None:
        """The answered call of that key, with its exact text, or None."""
        raise NotImplementedError

    def prompt(self, key: CallKey) -> str:
        """The exact prompt of that call, rendered again from the sources."""
        raise NotImplementedError
