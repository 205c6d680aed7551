"""`proverbench score`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, HandlesErrors

if TYPE_CHECKING:
    from proverbench.records import Summary


@click.command(cls=HandlesErrors, name="score", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of a table.")
@click.option("--accept-loss", is_flag=True, help="Write down what calls.jsonl has lost, and go on without it.")
def command(run: Path, as_json: bool, accept_loss: bool) -> int:
    """Rebuild records, summary and timing of a saved RUN, or of all runs of a study; calls nothing.

    The derived files come out byte for byte the same on any machine, also when the data file and the prompts that
    the run was made from are gone. A new version of proverbench may add to them; the sources never change. What is
    damaged or missing in calls.jsonl is named and nothing is written, unless --accept-loss says to go on without it.

    Exit codes: 0 the run is complete; 1 it is not.
    """
    from proverbench.cli.scores import print_scores
    from proverbench.run.sources import pretty, read_manifest
    from proverbench.run.study import is_study

    if is_study(run):
        return _score_study(run, as_json=as_json, accept_loss=accept_loss)
    read_manifest(run)  # a folder that is no run gets its own message, and no lock file
    summary = _rebuilt(run, accept_loss=accept_loss)
    if as_json:
        click.echo(pretty(summary), nl=False)
    elif not print_scores(summary, run):
        return EXIT_INCOMPLETE
    return EXIT_COMPLETE if summary.complete else EXIT_INCOMPLETE


def _rebuilt(run: Path, *, accept_loss: bool) -> "Summary":
    from proverbench.cli.accepting import accept
    from proverbench.run.folder import write_derived
    from proverbench.run.journal import RunLock
    from proverbench.run.sources import Sources

    lock = RunLock(run)
    try:
        if accept_loss:
            accept(run)
        sources = Sources(run)
        summary = write_derived(sources)
        sources.close()
    finally:
        lock.release()
    return summary


def _score_study(study: Path, *, as_json: bool, accept_loss: bool) -> int:
    from proverbench.cli.matrix import show_study
    from proverbench.run.study import cells_of

    summaries = [_rebuilt(cell.path, accept_loss=accept_loss) for cell in cells_of(study)]
    show_study(study, as_json=as_json)
    return EXIT_COMPLETE if all(summary.complete for summary in summaries) else EXIT_INCOMPLETE
