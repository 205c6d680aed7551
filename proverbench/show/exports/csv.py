"""CSV: a file for each table, UTF-8, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from proverbench.run.disk import replacing
from proverbench.show.exports.export import Export, Request
from proverbench.show.exports.safe import looks_like_formula, rows_of, visible

if TYPE_CHECKING:
    import pandas as pd


def write(request: Request) -> Iterator[str]:
    """Write the tables into a folder."""
    targets = {name: request.output / f"{name}.csv" for name in request.tables}
    request.claim(*targets.values())
    for name, frame in request.frames().items():
        write_csv(frame, targets[name], request.separator)
        yield f"{targets[name]}: {len(frame):,} rows"


def write_csv(frame: "pd.DataFrame", path: Path, separator: str = ",") -> None:
    """Write one table as UTF-8 CSV, safe to open in a spreadsheet.

    Args:
        frame: The table.
        path: Where it goes.
        separator: Between cells; with ``;`` numbers have a decimal comma.

    Raises:
        JournalError: If the disk refuses it.
    """

    def safe(value: object) -> object:
        if separator == ";" and isinstance(value, float):
            return str(value).replace(".", ",")
        if not isinstance(value, str):
            return "" if value is None else value
        shown = visible(value)
        return f"'{shown}" if looks_like_formula(shown) else shown

    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows([safe(value) for value in row] for row in rows_of(frame))
        text.detach()


CSV = Export(
    name="csv",
    extension="csv",
    help="a file for each table",
    place=Path("export"),
    write=write,
    options=frozenset({"tables", "separator"}),
)
