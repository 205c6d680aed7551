"""`proverbench score`."""

from pathlib import Path

import click

from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, HandlesErrors


@click.command(cls=HandlesErrors, name="score", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print summary.json instead of a table.")
@click.option("--accept-loss", is_flag=True, help="Write down what calls.jsonl has lost, and go on without it.")
def command(run: Path, as_json: bool, accept_loss: bool) -> int:
    """Rebuild records, summary and timing of a saved RUN from its sources; calls nothing.

    The derived files come out byte for byte the same on any machine, also when the data file and the prompts that
    the run was made from are gone. A new version of proverbench may add to them; the sources never change. What is
    damaged or missing in calls.jsonl is named and nothing is written, unless --accept-loss says to go on without it.

    Exit codes: 0 the run is complete; 1 it is not.
    """
    from proverbench.cli.accepting import accept
    from proverbench.cli.scores import print_scores
    from proverbench.run.folder import write_derived
    from proverbench.run.journal import RunLock
    from proverbench.run.sources import Sources, pretty, read_manifest

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
