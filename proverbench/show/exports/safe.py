"""Texts that do no harm where they are opened.

- Parquet holds texts exactly.
- CSV, XLSX and LaTeX spell out what a reader cannot see (``⟨U+202E⟩``); spreadsheets refuse or drop some of it.
- A text that a spreadsheet would run as a formula is kept from it: CSV puts ``'`` before it, XLSX marks it as text.
- A text longer than an XLSX cell can be is cut, and says so.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from proverbench import unseen

if TYPE_CHECKING:
    import pandas as pd

CELL_LIMIT = 32_767
"""UTF-16 units that an XLSX cell can hold."""

_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def visible(text: str) -> str:
    """The text with what a reader cannot see spelled out (:mod:`proverbench.unseen`); tabs and line ends stay."""
    return unseen.visible(text.replace("\r\n", "\n")).replace("\r", "␍")


def looks_like_formula(text: str) -> bool:
    """Whether a spreadsheet might run the text; a plain number is none."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def cut(text: str, limit: int = CELL_LIMIT) -> str:
    """The text, or its beginning and a remark of how much is missing, within ``limit`` UTF-16 units."""
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    if units <= limit:
        return text
    mark = " … [cut: {} of {} characters are missing]"
    room = limit - len(mark) - 20
    kept = text.encode("utf-16-le", "surrogatepass")[: 2 * room].decode("utf-16-le", "ignore")
    return kept + mark.format(len(text) - len(kept), len(text))


def rows_of(frame: "pd.DataFrame") -> Iterable[tuple[Any, ...]]:
    """The rows with plain Python values, None where absent."""
    columns = [frame[name].astype(object).where(frame[name].notna(), None) for name in frame.columns]
    return zip(*columns, strict=True) if columns else ()
