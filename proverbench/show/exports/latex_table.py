"""The scores of runs as a table in LaTeX."""

from collections.abc import Mapping, Sequence

from proverbench.benchmark import benchmark_of
from proverbench.metrics.registry import every_metric, metrics_of, unit_note
from proverbench.metrics.shown import shown_interval
from proverbench.records import Task
from proverbench.run.boards import Board, Boards
from proverbench.run.provenance import provenance
from proverbench.run.remarks import shown_metrics
from proverbench.show.exports.safe import visible
from proverbench.show.frames import LoadedRun

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


_ASKED = (("Judge", "judge"), ("$n$", "rows"), ("$S$", "samples"), ("$R$", "repeats"))
"""Columns that say what was asked: heading, and the name in :mod:`proverbench.run.provenance`."""
_ASKED_OF_JUDGES = (("$n$", "rows"), ("$R$", "repeats"))
"""The same where the model of a row is the judge."""


def latex_text(text: str) -> str:
    """A text in which nothing is a LaTeX command; line ends become spaces."""
    return "".join(_LATEX.get(char, char) for char in visible(" ".join(text.split())))


def latex_table(
    runs: Mapping[str, LoadedRun], boards: Boards, *, splits: Sequence[str], metrics: Sequence[str] = ()
) -> str:
    """A table in booktabs style for each board: a row a run, percentages with their 95 % intervals.

    Args:
        runs: By name; a row is named after the model, and the run where two runs have the same model.
        boards: Which of them may stand in one table.
        splits: The splits whose metrics are columns.
        metrics: The metrics; those that papers show if empty, and those of the meta-verifier where one was asked.
    """
    parts = []
    for board in sorted(boards.boards, key=lambda board: board.task):
        chosen = {name: runs[name] for name in board.runs}
        meta = any(run.manifest.extent.meta for run in chosen.values())
        known = metrics_of(board.task, meta=meta)
        parts_of = [part for run in chosen.values() for part in run.summary.splits.values() if part.metrics]
        scored = {name for part in parts_of for name in part.metrics or ()}
        silent = scored.difference(*(shown_metrics(part) or () for part in parts_of))
        known |= {name: metric for name, metric in every_metric(board.task).items() if name in scored}
        columns = [name for name in metrics if name in known] or [
            name
            for name, metric in known.items()
            if name not in silent and (metric.in_papers or "meta" in metric.needs) and not metrics
        ]
        if columns:
            parts.append(_latex_of_board(board, boards.sentences(board.task), chosen, splits, columns))
    return "% needs \\usepackage{booktabs}\n" + "\n".join(parts)


def _latex_of_board(
    board: Board, apart: Sequence[str], runs: Mapping[str, LoadedRun], splits: Sequence[str], metrics: Sequence[str]
) -> str:
    task = board.task
    asked = _ASKED if benchmark_of(task).samples else _ASKED_OF_JUDGES
    lead, numbers = 1 + len(asked), sum(heading.startswith("$") for heading, _ in asked)
    layout = "l" * (lead - numbers) + "r" * (numbers + len(splits) * len(metrics))
    lines = ["\\begin{table}", "  \\centering", f"  \\caption{{{_caption(board, apart, runs, splits, metrics)}}}"]
    lines.append(f"  \\begin{{tabular}}{{{layout}}}")
    lines.append("    \\toprule")
    if len(splits) > 1:
        width = len(metrics)
        heads = [f"\\multicolumn{{{width}}}{{c}}{{{latex_text(split)}}}" for split in splits]
        lines.append(f"    {'& ' * lead}{' & '.join(heads)} \\\\")
        first = lead + 1
        rules = [f"\\cmidrule(lr){{{first + i * width}-{first - 1 + (i + 1) * width}}}" for i in range(len(splits))]
        lines.append(f"    {' '.join(rules)}")
    known = every_metric(task)
    heads = [
        *(heading for heading, _ in asked),
        *(_heading(known[metric].heading) for _ in splits for metric in metrics),
    ]
    lines.append(f"    Model & {' & '.join(heads)} \\\\")
    lines.append("    \\midrule")
    for name, run in _row_names(task, runs).items():
        beside = provenance(run.manifest, run.summary, seal=run.folder.seal, looks=run.folder.looks)
        cells = [latex_text(str(beside[column])) for _, column in asked]
        cells += [_latex_cell(run, split, metric) for split in splits for metric in metrics]
        lines.append(f"    {latex_text(name)} & {' & '.join(cells)} \\\\")
        lines.append(f"    % {' '.join(visible(name).split())}: {_fractions(run, splits, metrics)}")
        lines.append(f"    % {beside['quote']}")
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
    short = every_metric(run.manifest.identity.task)[metric].short
    shown = shown_interval((part.intervals or {}).get(metric))
    if shown is None:
        return _minus(short(value))
    return f"{_minus(short(value))} {{\\scriptsize [{_minus(short(shown.low))}, {_minus(short(shown.high))}]}}"


def _minus(number: str) -> str:
    """A number whose minus sign is no hyphen."""
    return number.replace("-", "$-$")


def _fractions(run: LoadedRun, splits: Sequence[str], metrics: Sequence[str]) -> str:
    """The exact fractions behind a row's figures, for a comment."""
    formulas = run.scores.set_index(["split", "metric"])["formula"].to_dict()
    found = [(split, metric, formulas.get((split, metric))) for split in splits for metric in metrics]
    return "; ".join(f"{split} {metric} = {formula}" for split, metric, formula in found if isinstance(formula, str))


def _caption(
    board: Board, apart: Sequence[str], runs: Mapping[str, LoadedRun], splits: Sequence[str], metrics: Sequence[str]
) -> str:
    """What a reader of the table must know: what was asked, how the intervals were made, what differs."""
    benchmark = benchmark_of(board.task)
    text = f"{benchmark.name}: {_sentence(board.what)} "
    problems = len({row.problem_id for run in runs.values() for row in run.entry.rows})
    clusters = "problems" if benchmark.samples else f"the {problems} problems that the proofs are of"
    known = every_metric(board.task)
    method = "mid-P or jackknife" if any(known[name].statistic for name in metrics) else "mid-P"
    text += f"Percentages with 95\\% {method} intervals over {clusters}."
    if units := unit_note(metrics):
        text += f" Not percentages: {latex_text(units)}."
    text += " $n$: " + ("problems" if benchmark.samples else "annotated proofs") + "; $R$: judgments of each proof."
    shown = {run.manifest.identity.use_reference_solution for run in runs.values()}
    if len(shown) == 1:
        text += f" The judge {'saw' if shown.pop() else 'did not see'} a reference solution."
    if any(run.manifest.identity.neutralise for run in runs.values()):
        text += " Markup in problems and proofs was neutralised."
    if any(run.manifest.identity.own_prompts for run in runs.values()):
        text += " The prompts are proverbench's own, so the numbers are not comparable with published tables."
    notes = [*board.notes, *(f"Not to be read beside the other tables: {sentence}" for sentence in apart)]
    return " ".join([text, *map(_sentence, notes)])


def _sentence(text: str) -> str:
    escaped = latex_text(text)
    return escaped if escaped.endswith(".") else f"{escaped}."
