"""Parquet: a file for each table; texts are exact."""

from collections.abc import Iterator
from pathlib import Path

from proverbench.run.disk import replacing
from proverbench.show.exports.export import Export, Request


def write(request: Request) -> Iterator[str]:
    """Write the tables into a folder.

    Raises:
        JournalError: If the disk refuses it.
    """
    targets = {name: request.output / f"{name}.parquet" for name in request.tables}
    request.claim(*targets.values())
    for name, frame in request.frames().items():
        with replacing(targets[name]) as file:
            frame.to_parquet(file, index=False)
        yield f"{targets[name]}: {len(frame):,} rows"


PARQUET = Export(
    name="parquet",
    extension="parquet",
    help="a file for each table",
    place=Path("export"),
    write=write,
    options=frozenset({"tables"}),
    needs="pyarrow",
)
