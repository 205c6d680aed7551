"""What `proverbench merge` does."""

import shlex
from pathlib import Path

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.scores import print_scores
from proverbench.cli.streams import say
from proverbench.errors import RunMismatchError
from proverbench.run.folder import write_derived
from proverbench.run.merge import Shards
from proverbench.run.session import Session, refuse_taken


def merge(runs: tuple[Path, ...], output: Path) -> int:
    """Join shards."""
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
