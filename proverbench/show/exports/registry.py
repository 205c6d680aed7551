"""Every export format. Nothing else lists them."""

from proverbench.show.exports.csv import CSV
from proverbench.show.exports.export import Export, Option
from proverbench.show.exports.inspect import INSPECT
from proverbench.show.exports.latex import LATEX
from proverbench.show.exports.parquet import PARQUET
from proverbench.show.exports.verifierbench import VERIFIERBENCH
from proverbench.show.exports.xlsx import XLSX

EXPORTS: tuple[Export, ...] = (CSV, PARQUET, XLSX, LATEX, INSPECT, VERIFIERBENCH)
"""In the order that people are shown them."""


def export_names() -> list[str]:
    """What ``--to`` takes."""
    return [export.name for export in EXPORTS]


def find_export(name: str) -> Export:
    """The format of that name.

    Raises:
        KeyError: If there is none.
    """
    return {export.name: export for export in EXPORTS}[name]


def that_take(option: Option) -> str:
    """Names of the formats to which an option means something, for its help."""
    return ", ".join(export.name for export in EXPORTS if option in export.options)
