"""A report to files: one page, or a folder of pages with an index where one would be too large."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from proverbench.run.disk import fitting_name
from proverbench.show.report.build import Report
from proverbench.show.report.html import pack, page_file, page_parts

LARGEST_PAGE = 40_000_000
"""Bytes of packed texts in one page. Chromium opens much more, but mail and archives do not take it gladly."""

DESCRIPTION = "Scores with intervals, plots, and every proof and judgment, made by proverbench."


def report_page(
    report: Report, model: str, chunks: Iterable[tuple[int, str]] = (), *, connect: bool = False
) -> Iterator[str]:
    """The page of a report, in pieces.

    Args:
        report: What to show.
        model: Its head, packed.
        chunks: Numbers and packed texts of the chunks that this page carries.
        connect: Whether the page fetches what it does not carry from where it came (``proverbench view``).
    """
    names = ", ".join(run["name"] for run in report.head["runs"])
    return page_parts(
        f"proverbench · {names}",
        model,
        page_file("report.js"),
        style=page_file("report.css"),
        chunks=chunks,
        description=DESCRIPTION,
        connect=connect,
    )


def write_report(report: Report, target: Path, *, largest: int = LARGEST_PAGE) -> Path:
    """Write the page; where its texts are larger than ``largest`` bytes, a folder with an index.

    Args:
        report: What to show.
        target: The file to write; of a folder, its name without the suffix is taken.
        largest: Bytes of packed texts that one page may hold.

    Returns:
        What to open: the file, or the folder's ``index.html``.

    Raises:
        OSError: If it cannot be written. What stood there before is then untouched, but for a folder's files.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{fitting_name(target.name)}."
    with _named(target), tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as scratch:
        sizes = _pack_chunks(report, Path(scratch))
        parts = list(_parts(sizes, largest))
        if len(parts) <= 1:
            _write_page(report, target, Path(scratch), range(len(sizes)), pack(report.head))
            return target
        folder = target.with_suffix("")
        folder.mkdir(exist_ok=True)
        files = [(f"part-{number + 1:03d}.html", part.start, part.stop) for number, part in enumerate(parts)]
        model = pack(report.head | {"files": files})
        for old in folder.glob("part-*.html"):
            old.unlink()
        for (name, *_), part in zip(files, parts, strict=True):
            _write_page(report, folder / name, Path(scratch), part, model)
        _write_page(report, folder / "index.html", Path(scratch), range(0), model)
        return folder / "index.html"


@contextmanager
def _named(target: Path) -> Iterator[None]:
    """A disk that is full does not say of which file."""
    try:
        yield
    except OSError as exc:
        if exc.errno is not None and exc.filename is None:
            exc.filename = str(target)
        raise


def _pack_chunks(report: Report, scratch: Path) -> list[int]:
    """Pack every chunk into a file of its own, so that only one is held at a time; returns their sizes."""
    sizes = []
    for number, chunk in enumerate(report.chunks()):
        packed = pack(chunk)
        (scratch / str(number)).write_text(packed, encoding="ascii")
        sizes.append(len(packed))
    return sizes


def _parts(sizes: list[int], largest: int) -> Iterator[range]:
    start = total = 0
    for number, size in enumerate(sizes):
        if number > start and total + size > largest:
            yield range(start, number)
            start, total = number, 0
        total += size
    yield range(start, len(sizes))


def _write_page(report: Report, target: Path, scratch: Path, chunks: range, model: str) -> None:
    """Write one page and put it in place in one step. The chunks keep their numbers in every part."""
    temporary = scratch / "page.html"
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        _write(file, report, scratch, chunks, model)
    shutil.move(temporary, target)


def _write(file: IO[str], report: Report, scratch: Path, chunks: range, model: str) -> None:
    packed = ((number, (scratch / str(number)).read_text(encoding="ascii")) for number in chunks)
    for piece in report_page(report, model, packed):
        file.write(piece)
