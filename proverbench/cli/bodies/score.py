"""What `proverbench score` does."""

from pathlib import Path

import click

from proverbench.cli.accepting import accept
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.matrix import show_study
from proverbench.cli.scores import print_scores
from proverbench.records import Summary
from proverbench.run.folder import write_derived
from proverbench.run.lock import RunLock
from proverbench.run.manifest import pretty, read_manifest
from proverbench.run.sources import Sources
from proverbench.run.study import cells_of, is_study


def score(run: Path, as_json: bool, accept_loss: bool) -> int:
    """Derive a saved run's files again, and print its scores."""
    if is_study(run):
        return _score_study(run, as_json=as_json, accept_loss=accept_loss)
    read_manifest(run)  # a folder that is no run gets its own message, and no lock file
    summary = _rebuilt(run, accept_loss=accept_loss)
    if as_json:
        click.echo(pretty(summary), nl=False)
    elif not print_scores(summary, run):
        return EXIT_INCOMPLETE
    return EXIT_COMPLETE if summary.complete else EXIT_INCOMPLETE


def _rebuilt(run: Path, *, accept_loss: bool) -> Summary:
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
    summaries = [_rebuilt(cell.path, accept_loss=accept_loss) for cell in cells_of(study)]
    show_study(study, as_json=as_json)
    return EXIT_COMPLETE if all(summary.complete for summary in summaries) else EXIT_INCOMPLETE
