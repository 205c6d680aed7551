"""XLSX: one workbook, a sheet for each table; texts are never formulas."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proverbench.errors import UserInputError
from proverbench.run.disk import replacing
from proverbench.show.exports.export import Export, Request
from proverbench.show.exports.safe import cut, looks_like_formula, rows_of, visible

if TYPE_CHECKING:
    import pandas as pd

ROW_LIMIT = 1_048_576
"""Rows of a sheet, the header included."""


def write(request: Request) -> Iterator[str]:
    """Write the tables into one workbook."""
    request.claim(request.output)
    write_xlsx(request.frames(), request.output)
    yield f"{request.output}: {', '.join(request.tables)}"


def write_xlsx(frames: "Mapping[str, pd.DataFrame]", path: Path) -> None:
    """Write tables as the sheets of one workbook; texts are never formulas.

    Raises:
        UserInputError: If a table has more rows than a sheet.
        JournalError: If the disk refuses it.
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    for name, frame in frames.items():
        if len(frame) >= ROW_LIMIT:
            raise UserInputError(f"{name} has {len(frame):,} rows, more than a sheet holds; use --to parquet or csv")
    book = Workbook(write_only=True)
    for name, frame in frames.items():
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"
        header = [WriteOnlyCell(sheet, value=column) for column in frame.columns]
        for cell in header:
            cell.font = Font(bold=True)
        sheet.append(header)
        for row in rows_of(frame):
            sheet.append([_text_cell(sheet, value) if isinstance(value, str) else value for value in row])
    with replacing(path) as file:
        book.save(file)


def _text_cell(sheet: Any, value: str) -> Any:
    from openpyxl.cell import WriteOnlyCell

    text = cut(visible(value))
    cell = WriteOnlyCell(sheet, value="")
    # Set apart from the value, which openpyxl would read as a formula or a number.
    cell._value, cell.data_type = text, "s"
    cell.number_format = "@"
    cell.quotePrefix = looks_like_formula(text)
    return cell


XLSX = Export(
    name="xlsx",
    extension="xlsx",
    help="a workbook with a sheet for each table",
    place=Path("export.xlsx"),
    write=write,
    options=frozenset({"tables"}),
    needs="openpyxl",
)
