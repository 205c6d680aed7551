"""The rows of a described file: a table's own, or what is nested in them, with what other sheets say of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proverbench.errors import DataError
from proverbench.inputs.mapping import FileMapping, Sheet
from proverbench.inputs.tables import SUFFIXES, TableRow, read_rows, table_files

_PATH_PART = re.compile(r"(\^)\.|([^.\[\]^]+)|(\[\])|\[(\d+)\]")


class FaultyError(Exception):
    """A row breaks its description; the argument is the sentence for it."""


def source_rows(mapping: FileMapping, source: Path) -> Iterator["Nested"]:
    """The rows that a description means, of all its files."""
    if source.is_dir():
        pattern = mapping.files
        if pattern is None and mapping.format is None:
            files = table_files(source)
        else:
            endings = SUFFIXES[mapping.format] if mapping.format else ()
            files = sorted(
                file for file in (source.glob(pattern) if pattern else source.rglob("*"))
                if file.is_file() and (pattern or file.suffix in endings)
            )  # fmt: skip
        if not files:
            wanted = pattern or " or ".join("*" + suffix for suffix in endings)
            raise DataError(f"{source}: holds no file {wanted}")
    else:
        files = [source]
    sheet = _read_sheet(mapping.sheet, source if source.is_dir() else source.parent) if mapping.sheet else None
    for file in files:
        for row in read_rows(file, mapping.format, delimiter=mapping.delimiter):
            if sheet is not None:
                for cells in sheet.of(file):
                    yield Nested(row._replace(data={**row.data, **cells}), ())
            elif mapping.rows is None:
                yield Nested(row, ())
            else:
                yield from _inner_rows(row, mapping.rows)


@dataclass(frozen=True)
class _SheetRows:
    """A sheet's rows by the name of the text that they are about."""

    by_name: Mapping[str, list[Mapping[str, Any]]]
    blank: Mapping[str, Any]

    def of(self, file: Path) -> list[Mapping[str, Any]]:
        """Those about a text; one of empty cells where there are none."""
        return [*self.by_name.get(file.name, ()), *self.by_name.get(file.stem, ())] or [self.blank]


def _read_sheet(sheet: Sheet, folder: Path) -> _SheetRows:
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    blank: dict[str, Any] = {}
    for row in read_rows(folder / sheet.file, "csv", delimiter=sheet.delimiter):
        if sheet.on not in row.data:
            raise DataError(f"{row.path}: has no column {sheet.on!r}; columns are {', '.join(map(repr, row.data))}")
        cells = {name: cell for name, cell in row.data.items() if name != sheet.on}
        by_name.setdefault(row.data[sheet.on], []).append(cells)
        blank = dict.fromkeys(cells, "")
    return _SheetRows(by_name, blank)


@dataclass(frozen=True)
class Nested:
    """A row, and the objects around it, the nearest first."""

    row: TableRow
    parents: tuple[Mapping[str, Any], ...]

    def look(self, path: str) -> Any:
        """What a path names; ``[]`` gives a list. KeyError where there is no such key in an object."""
        found: list[Any] = [self.row.data]
        if path in self.row.data:  # a column's name may hold dots and brackets
            return self.row.data[path]
        level, many = 0, False
        for parent, key, every, index in _PATH_PART.findall(path):
            if parent:
                if level >= len(self.parents):
                    raise KeyError(path)
                found, level = [self.parents[level]], level + 1
            elif every:
                many = True
                found = [item for items in found if items is not None for item in items]
            elif index:
                found = [items[int(index)] for items in found]
            else:
                found = [None if item is None else item[key] for item in found]
        return found if many else found[0]


def _inner_rows(row: TableRow, path: str) -> Iterator[Nested]:
    def walk(data: Any, parts: list[tuple[str, str]], parents: tuple[Any, ...], place: str) -> Iterator[Nested]:
        if not parts:
            yield Nested(row._replace(place=place, data=data), parents)
            return
        (key, every), rest = parts[0], parts[1:]
        if not isinstance(data, dict) or key not in data:
            raise DataError(f"{row.where}: has no {key!r}; `rows` is {path!r}")
        if not every:
            yield from walk(data[key], rest, parents, place)
            return
        for number, item in enumerate(data[key] or (), 1):
            yield from walk(item, rest, (data, *parents), f"{place} {key} {number}".strip())

    parts = re.findall(r"([^.\[\]]+)(\[\])?", path)
    return walk(row.data, parts, (), row.place)
