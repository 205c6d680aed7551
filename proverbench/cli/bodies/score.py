"""What `proverbench score` does."""

from pathlib import Path

import click

from proverbench.cli.accepting import accept
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.scores import print_scores
from proverbench.run.folder import write_derived
from proverbench.run.journal import RunLock
from proverbench.run.sources import Sources, pretty, read_manifest


def score(run: Path, as_json: bool, accept_loss: bool) -> int:
    """Derive a saved run's files again, and print its scores."""
    read_manifest(run)  # a folder that is no run gets its own message, and no lock file
    lock = RunLock(run)
    try:
        if accept_loss:
            accept(run)
        sources = Sources(run)
        summary = write_derived(sources)
        sources.close()
    finally:
        lock.release()
    if as_json:
        click.echo(pretty(summary), nl=False)
    elif not print_scores(summary, run):
        return EXIT_INCOMPLETE
    return EXIT_COMPLETE if summary.complete else EXIT_INCOMPLETE
