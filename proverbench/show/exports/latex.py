"""LaTeX: a table for each benchmark, in booktabs style."""

from collections.abc import Iterator

from proverbench.errors import UserInputError
from proverbench.run.disk import write_whole
from proverbench.show.exports.export import SCREEN, Export, Request


def write(request: Request) -> Iterator[str]:
    """Write the tables into a file, or yield them for the screen.

    Raises:
        UserInputError: If no run has such a split, or no benchmark such a metric.
        JournalError: If the disk refuses it.
    """
    from proverbench.metrics.registry import known_metric
    from proverbench.run.boards import boards_of
    from proverbench.show.exports.latex_matrix import latex_matrix
    from proverbench.show.exports.latex_table import latex_table
    from proverbench.show.study import study_tables

    there = list(dict.fromkeys(split for run in request.loaded.values() for split in run.summary.splits))
    for split in request.splits:
        if split not in there:
            raise UserInputError(f"--split {split}: no run has it; there are {', '.join(there)}")
    for metric in request.metrics:
        known_metric(metric)
    made = "" if request.study is None else latex_matrix(study_tables(request.study)) + "\n"
    boards = boards_of({name: run.entry for name, run in request.loaded.items()}, brief=True)
    made += latex_table(request.loaded, boards, splits=request.splits, metrics=request.metrics)
    if request.output == SCREEN:
        yield made.removesuffix("\n")
        return
    request.claim(request.output)
    write_whole(request.output, made.encode())
    count = len(request.loaded)
    yield f"{request.output}: {count} {'run' if count == 1 else 'runs'}"


LATEX = Export(
    name="latex",
    extension="tex",
    help="a booktabs table for the runs that may stand in one, percentages with 95 % intervals",
    place=SCREEN,
    write=write,
    options=frozenset({"splits", "metrics"}),
)
