"""`proverbench merge`."""

import shlex
from pathlib import Path

import click

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE, HandlesErrors
from proverbench.cli.streams import say


@click.command(cls=HandlesErrors, name="merge", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Folder of the whole run."
)
def command(runs: tuple[Path, ...], output: Path) -> int:
    """Join the shards of one run into the run that was split; calls nothing.

    The result equals, in its records and summary, a run that was never split, and can be resumed and grown like one.
    The shards stay as they are. What does not belong together is refused with the reason.

    \b
    proverbench run … --shard 1/2 --output part1        (on one machine)
    proverbench run … --shard 2/2 --output part2        (on another)
    proverbench merge part1 part2 --output whole

    Exit codes: 0 the run is complete; 1 it is not; 2 these are not the shards of one run, or one of them has a batch
    that is not collected; nothing was written.
    """
    from proverbench.cli.scores import print_scores
    from proverbench.errors import RunMismatchError
    from proverbench.run.folder import write_derived
    from proverbench.run.merge import Shards
    from proverbench.run.session import Session, refuse_taken

    refuse_taken(output)
    inside = [run for run in runs if run.resolve() in output.resolve().parents]
    if inside:
        raise RunMismatchError(f"{output} lies inside {inside[0]}, which is one of its shards; give another --output")
    shards = Shards(runs)
    try:
        session = Session.create(output, shards.draft)
    finally:
        shards.close()
    try:
        summary = write_derived(session.sources)
    finally:
        session.release()
    print_scores(summary, output)
    if summary.complete:
        say(f"complete; look into it with: proverbench inspect {shlex.quote(str(output))}")
        return EXIT_COMPLETE
    say(f"incomplete; go on with: {benchmark_of(summary.task).command} --resume {shlex.quote(str(output))}")
    return EXIT_INCOMPLETE
