"""Files of rows in the formats people keep theirs in: CSV, JSONL, JSON, Parquet and folders of texts."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from proverbench.errors import DataError

DELIMITERS = (",", ";", "\t", "|")
"""Separators that are recognised in a CSV's header line."""

SUFFIXES: dict[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "json": (".json",),
    "parquet": (".parquet",),
    "tex": (".tex",),
    "md": (".md",),
    "txt": (".txt",),
}
"""Format → the file names it goes by."""

TABLES = ("csv", "jsonl", "json", "parquet")
"""Formats that hold many rows in a file; a file of another ending is read as JSON."""

_ABOUT = ("dataset_info.json", "dataset_infos.json")
"""Files of a Hub folder that hold no rows."""
_COMMENT = re.compile(r"(?<!\\)%.*")
_BODY = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.DOTALL)
_ENVIRONMENT = re.compile(
    r"\s*\\begin\{(proof|problem|solution|theorem|exercise)\}(?:\[[^\]]*\])?(.*)\\end\{\1\}\s*", re.DOTALL
)


class TableRow(NamedTuple):
    """One row of a file, and where it is."""

    path: Path
    place: str
    """``line 3``, ``row 3`` or nothing, 1-based."""
    data: Mapping[str, Any]

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.path}: {self.place}" if self.place else str(self.path)


def table_files(source: Path) -> list[Path]:
    """The file, or the tables of a folder and the folders in it, by name.

    Raises:
        DataError: If a folder holds none.
    """
    if not source.is_dir():
        return [source]
    endings = [ending for form in TABLES for ending in SUFFIXES[form]]
    files = sorted(file for file in source.rglob("*") if file.suffix in endings and file.is_file())
    files = [file for file in files if file.name not in _ABOUT]
    if not files:
        raise DataError(f"{source}: holds no {', '.join(endings[:-1])} or {endings[-1]} file")
    return files


def format_of(path: Path) -> str:
    """The format of a table, by its name's ending; JSON if that says nothing."""
    return next((form for form in TABLES if path.suffix in SUFFIXES[form]), "json")


def read_rows(path: Path, form: str | None = None, *, delimiter: str | None = None) -> Iterator[TableRow]:
    """The rows of one file.

    Args:
        path: The file.
        form: A key of :data:`SUFFIXES`; None: by the file's ending. A text is one row: ``file``, ``name`` (without its
            ending) and ``text``.
        delimiter: Of a CSV; found from the header line if None.

    Raises:
        DataError: If it cannot be read as that; names the line. Also of OpenCompass's VerifierBench.
    """
    form = form or format_of(path)
    if form == "csv":
        rows = _csv_rows(path, delimiter)
    elif form == "parquet":
        rows = _parquet_rows(path)
    else:
        readers: dict[str, Callable[[Path, str], Iterator[TableRow]]] = {"jsonl": _json_lines, "json": _json_document}
        rows = readers.get(form, _text_row)(path, read_text(path))
    for row in rows:
        if "gold_answer" in row.data and "llm_response" in row.data:
            raise DataError(
                f"{row.where}: has gold_answer and llm_response: this is OpenCompass's VerifierBench "
                "(CompassVerifier), which compares final answers and has no proofs to judge; it shares only the name "
                "with ours"
            )
        yield row


def read_text(path: Path) -> str:
    """A text file's content, without a byte order mark and with ``\\n`` alone at the ends of lines.

    Raises:
        DataError: If there is none, or it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except OSError as exc:
        raise DataError(f"{path}: cannot be read: {exc.strerror}; give the path of the file to import") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{path}: byte {exc.start + 1} is not UTF-8; wanted UTF-8 text") from exc


def plain_tex(text: str) -> str:
    r"""What a ``.tex`` file says: its body without comments, and without one environment around it all."""
    body = _BODY.search(text)
    text = body[1] if body else text
    lines = [(line, _COMMENT.sub("", line)) for line in text.split("\n")]
    text = "\n".join(bare for line, bare in lines if bare.strip() or not line.strip())
    inside = _ENVIRONMENT.fullmatch(text)
    return (inside[2] if inside else text).strip()


def _csv_rows(path: Path, delimiter: str | None) -> Iterator[TableRow]:
    text = read_text(path)
    csv.field_size_limit(1 << 30)  # a proof may be longer than the 128 KB that csv allows by default
    mark = delimiter or _delimiter(text)
    records = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    try:
        header = [name.strip() for name in next(records, [])]
        repeated = sorted({name for name in header if header.count(name) > 1})
        if not header or repeated:
            what = f"names the column {repeated[0]!r} twice" if repeated else "is missing"
            raise DataError(f"{path}: the header line {what}")
        for number, cells in enumerate(records, 1):
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{path}: row {number}: found {len(cells)} cells; wanted {len(header)}, as the header has with "
                    f"{mark!r} between them (or give another delimiter)"
                )
            yield TableRow(path, f"row {number}", dict(zip(header, cells, strict=True)))
    except csv.Error as exc:
        raise DataError(f"{path}: not CSV that can be read: {exc}") from exc


def _delimiter(text: str) -> str:
    """The separator that the header line has most of; a quoted name may hold the others."""
    header = re.sub(r'"[^"]*"', "", text.split("\n", 1)[0])
    return max(DELIMITERS, key=header.count)


def _json_lines(path: Path, text: str) -> Iterator[TableRow]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield TableRow(path, f"line {number}", _object(path, f"line {number}", _decoded(path, line, number)))


def _json_document(path: Path, text: str) -> Iterator[TableRow]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as exc:
        if exc.msg == "Extra data" and text.lstrip().startswith("{"):  # one object a line, whatever it is called
            yield from _json_lines(path, text)
            return
        raise DataError(f"{path}:{exc.lineno}:{exc.colno}: not JSON: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{path}: not JSON that can be read: {exc}") from exc
    if isinstance(document, list):
        for number, item in enumerate(document, 1):
            yield TableRow(path, f"row {number}", _object(path, f"row {number}", item))
    else:
        yield TableRow(path, "", _object(path, "the whole file", document))


def _decoded(path: Path, line: str, number: int) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise DataError(f"{path}:{number}: not JSON: {exc}; wanted one object a line") from exc


def _object(path: Path, place: str, item: object) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise DataError(f"{path}: {place}: found {type(item).__name__}; wanted an object")
    return item


def _parquet_rows(path: Path) -> Iterator[TableRow]:
    try:
        from pyarrow import ArrowException, parquet  # type: ignore[import-untyped]  # heavy, and an extra
    except ImportError as exc:
        raise DataError(f"{path}: Parquet needs pyarrow: pip install 'proverbench[export]'") from exc
    try:
        table = parquet.ParquetFile(path)
        number = 0
        for batch in table.iter_batches(batch_size=1000):
            for item in batch.to_pylist():
                number += 1
                yield TableRow(path, f"row {number}", item)
    except (ArrowException, OSError) as exc:
        raise DataError(f"{path}: not Parquet that can be read: {exc}") from exc


def _text_row(path: Path, text: str) -> Iterator[TableRow]:
    shown = plain_tex(text) if path.suffix == ".tex" else text.strip()
    yield TableRow(path, "", {"file": path.name, "name": path.stem, "text": shown, "source": text})
