"""Runs to files that other programs open: CSV, Parquet, XLSX and LaTeX, with nothing in them that could do harm.

What is safe where (docs/exports.md):

- Parquet holds texts exactly.
- CSV and XLSX show control characters as their pictures (U+2400 …), because spreadsheets refuse or drop them.
- A text that a spreadsheet would run as a formula is kept from it: CSV puts ``'`` before it, XLSX marks it as text.
- A text longer than an XLSX cell can be is cut, and says so.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proverbench.benchmark import BENCHMARKS, benchmark_of
from proverbench.errors import UserInputError
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.shown import WILSON, shown_interval
from proverbench.records import Task
from proverbench.run.journal import replacing
from proverbench.show.frames import TABLES, LoadedRun

if TYPE_CHECKING:
    import pandas as pd

CELL_LIMIT = 32_767
"""UTF-16 units that an XLSX cell can hold."""
ROW_LIMIT = 1_048_576
"""Rows of an XLSX sheet, the header included."""

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
# C1 controls and non-characters have no pictures; XML forbids some of them.
_PICTURES |= dict.fromkeys([*range(0x80, 0xA0), 0xFFFE, 0xFFFF], 0xFFFD)
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def visible(text: str) -> str:
    """Control characters as their pictures; tabs and line ends stay."""
    return text.translate(_PICTURES)


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


def tables(runs: Mapping[str, LoadedRun], names: Sequence[str]) -> "dict[str, pd.DataFrame]":
    """The named frames of all runs, one under another, with the run's name in the first column."""
    import pandas as pd

    joined = {}
    for name in names:
        frames = []
        for run_name, run in runs.items():
            frame = TABLES[name](run)
            names_column = pd.Series(run_name, index=frame.index, dtype="string", name="run")
            frames.append(pd.concat([names_column, frame], axis=1))
        joined[name] = pd.concat(frames, ignore_index=True)
    return joined


def write_csv(frame: "pd.DataFrame", path: Path) -> None:
    """Write one table as UTF-8 CSV, safe to open in a spreadsheet.

    Raises:
        JournalError: If the disk refuses it.
    """

    def safe(value: object) -> object:
        if not isinstance(value, str):
            return "" if value is None else value
        shown = visible(value)
        return f"'{shown}" if looks_like_formula(shown) else shown

    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows([safe(value) for value in row] for row in _rows(frame))
        text.detach()


def write_parquet(frame: "pd.DataFrame", path: Path) -> None:
    """Write one table as Parquet; texts are exact.

    Raises:
        UserInputError: If pyarrow is not installed.
        JournalError: If the disk refuses it.
    """
    require("parquet")
    with replacing(path) as file:
        frame.to_parquet(file, index=False)


def write_xlsx(frames: "Mapping[str, pd.DataFrame]", path: Path) -> None:
    """Write tables as the sheets of one workbook; texts are never formulas.

    Raises:
        UserInputError: If openpyxl is not installed, or a table has more rows than a sheet.
        JournalError: If the disk refuses it.
    """
    require("xlsx")
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
        for row in _rows(frame):
            cells: list[Any] = []
            for value in row:
                if not isinstance(value, str):
                    cells.append(value)
                    continue
                text = cut(visible(value))
                cell = WriteOnlyCell(sheet, value="")
                # Set apart from the value, which openpyxl would read as a formula or a number.
                cell._value, cell.data_type = text, "s"
                cell.number_format = "@"
                cell.quotePrefix = looks_like_formula(text)
                cells.append(cell)
            sheet.append(cells)
    with replacing(path) as file:
        book.save(file)


# ---------------------------------------------------------------- LaTeX

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def latex_text(text: str) -> str:
    """A text in which nothing is a LaTeX command; line ends become spaces."""
    return "".join(_LATEX.get(char, char) for char in visible(" ".join(text.split())))


def latex_table(runs: Mapping[str, LoadedRun], *, splits: Sequence[str], metrics: Sequence[str] = ()) -> str:
    """A table in booktabs style for each task: a row a run, percentages with their 95 % intervals.

    Args:
        runs: By name; a row is named after the model, and the run where two runs have the same model.
        splits: The splits whose metrics are columns.
        metrics: The metrics; those that papers show if empty.
    """
    parts = []
    for task in BENCHMARKS:
        chosen = {name: run for name, run in runs.items() if run.manifest.identity.task == task}
        known = metrics_of(task)
        columns = [name for name in metrics or known if name in known and (metrics or known[name].in_papers)]
        if chosen and columns:
            parts.append(_latex_of_task(task, chosen, splits, columns))
    return "% needs \\usepackage{booktabs}\n" + "\n".join(parts)


def _latex_of_task(task: Task, runs: Mapping[str, LoadedRun], splits: Sequence[str], metrics: Sequence[str]) -> str:
    lines = ["\\begin{table}", "  \\centering", f"  \\caption{{{_caption(task, runs, splits, metrics)}}}"]
    lines.append(f"  \\begin{{tabular}}{{l{'r' * (len(splits) * len(metrics))}}}")
    lines.append("    \\toprule")
    if len(splits) > 1:
        width = len(metrics)
        heads = [f"\\multicolumn{{{width}}}{{c}}{{{latex_text(split)}}}" for split in splits]
        lines.append(f"    & {' & '.join(heads)} \\\\")
        rules = [f"\\cmidrule(lr){{{2 + i * width}-{1 + (i + 1) * width}}}" for i in range(len(splits))]
        lines.append(f"    {' '.join(rules)}")
    known = metrics_of(task)
    heads = [_heading(known[metric].heading) for _ in splits for metric in metrics]
    lines.append(f"    Model & {' & '.join(heads)} \\\\")
    lines.append("    \\midrule")
    for name, run in _row_names(task, runs).items():
        cells = [_latex_cell(run, split, metric) for split in splits for metric in metrics]
        lines.append(f"    {latex_text(name)} & {' & '.join(cells)} \\\\")
    lines += ["    \\bottomrule", "  \\end{tabular}", "\\end{table}", ""]
    return "\n".join(lines)


def _heading(text: str) -> str:
    """A heading in which a full stop ends an abbreviation, not a sentence."""
    return latex_text(text).replace(". ", ".\\ ")


def _row_names(task: Task, runs: Mapping[str, LoadedRun]) -> dict[str, LoadedRun]:
    models = {name: run.manifest.identity.roles[benchmark_of(task).subject].model for name, run in runs.items()}
    repeated = {model for model in models.values() if list(models.values()).count(model) > 1}
    return {f"{models[name]} ({name})" if models[name] in repeated else models[name]: run for name, run in runs.items()}


def _latex_cell(run: LoadedRun, split: str, metric: str) -> str:
    part = run.summary.splits.get(split)
    value = None if part is None or part.metrics is None else part.metrics.get(metric)
    if part is None or value is None:
        return "--"
    shown = shown_interval((part.intervals or {}).get(metric))
    if shown is None:
        return f"{100 * value:.1f}"
    mark = "$^{*}$" if shown.mark == WILSON else ""
    return f"{100 * value:.1f}{mark} {{\\scriptsize [{100 * shown.low:.1f}, {100 * shown.high:.1f}]}}"


def _caption(task: Task, runs: Mapping[str, LoadedRun], splits: Sequence[str], metrics: Sequence[str]) -> str:
    """What a reader of the table must know: what was asked, and how the intervals were made."""
    extents = [run.manifest.extent for run in runs.values()]
    sizes = sorted({extent.rows for extent in extents})
    repeats = ", ".join(map(str, sorted({extent.verifier_repeats for extent in extents})))
    benchmark = benchmark_of(task)
    said = [f"{benchmark.name}, {' or '.join(map(str, sizes))} {benchmark.rows_are}"]
    if benchmark.samples:
        said.append(f"$S={', '.join(map(str, sorted({extent.samples for extent in extents})))}$")
    said.append(f"$R={repeats}$")
    text = ", ".join(said) + ". Percentages with 95\\% intervals over problems: percentile bootstrap"
    cells = [_latex_cell(run, split, metric) for run in runs.values() for split in splits for metric in metrics]
    if any("{*}" in cell for cell in cells):
        text += "; $^{*}$~Wilson-type (few problems, or nearly all or none succeed)"
    text += "."
    if any(run.manifest.identity.own_prompts for run in runs.values()):
        text += " The prompts are proverbench's own, so the numbers are not comparable with published tables."
    return text


# ---------------------------------------------------------------- writing


def _rows(frame: "pd.DataFrame") -> Iterable[tuple[Any, ...]]:
    """The rows with plain Python values, None where absent."""
    columns = [frame[name].astype(object).where(frame[name].notna(), None) for name in frame.columns]
    return zip(*columns, strict=True) if columns else ()


_NEEDS = {"parquet": ("pyarrow", "Parquet"), "xlsx": ("openpyxl", "XLSX")}


def require(form: str) -> None:
    """Make sure that what writes a form is installed.

    Raises:
        UserInputError: Says how to install it.
    """
    from importlib.util import find_spec

    module, what = _NEEDS.get(form, ("", ""))
    if module and find_spec(module) is None:
        raise UserInputError(f"{what} needs {module}: pip install 'proverbench[export]'")
