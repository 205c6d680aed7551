"""The scores of runs as a table in LaTeX."""

from collections.abc import Mapping, Sequence

from proverbench.benchmark import benchmark_of
from proverbench.metrics.registry import metrics_of
from proverbench.metrics.shown import shown_interval
from proverbench.records import Task
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
    for task in sorted({run.manifest.identity.task for run in runs.values()}):
        chosen = {name: run for name, run in runs.items() if run.manifest.identity.task == task}
        known = metrics_of(task)
        columns = [name for name in metrics or known if name in known and (metrics or known[name].in_papers)]
        if columns:
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
    factor = metrics_of(run.manifest.identity.task)[metric].factor
    shown = shown_interval((part.intervals or {}).get(metric))
    if shown is None:
        return f"{factor * value:.1f}"
    return f"{factor * value:.1f} {{\\scriptsize [{factor * shown.low:.1f}, {factor * shown.high:.1f}]}}"


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
    text = ", ".join(said) + ". Percentages with 95\\% mid-P intervals over problems (clusters)."
    if any(run.manifest.identity.own_prompts for run in runs.values()):
        text += " The prompts are proverbench's own, so the numbers are not comparable with published tables."
    return text
