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
    The shards stay as they are; those of studies are joined run by run. What does not belong together is refused with
    the reason.

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
    from proverbench.run.study import is_study

    studies = [run for run in runs if is_study(run)]
    if studies and len(studies) < len(runs):
        other = next(run for run in runs if run not in studies)
        raise RunMismatchError(f"{other} is no study, and {studies[0]} is one; join either runs or studies")
    if studies:
        return _merge_studies(studies, output)
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


def _merge_studies(studies: list[Path], output: Path) -> int:
    """Join the parts of a study, run by run.

    Raises:
        RunMismatchError: If they are not the parts of one study; nothing was written.
    """
    from contextlib import closing

    from proverbench.cli.matrix import show_study
    from proverbench.errors import RunMismatchError
    from proverbench.run.folder import write_derived
    from proverbench.run.journal import disk, write_whole
    from proverbench.run.merge import Shards
    from proverbench.run.session import Session
    from proverbench.run.study import STUDY_FILE, cells_of

    if output.exists():
        raise RunMismatchError(f"{output} exists; give another --output")
    parts = [{cell.path.relative_to(study): cell.path for cell in cells_of(study)} for study in studies]
    faults = [
        f"{study} has no {name}, and another part has"
        for name in dict.fromkeys(name for part in parts for name in part)
        for study, part in zip(studies, parts, strict=True)
        if name not in part
    ]
    if faults:
        raise RunMismatchError.of(["these are not the parts of one study:", *faults])
    for name in parts[0]:  # all are looked at before anything is written
        with closing(Shards([part[name] for part in parts])):
            pass
    complete = True
    for name in parts[0]:
        with closing(Shards([part[name] for part in parts])) as shards:
            session = Session.create(output / name, shards.draft)
        try:
            complete = write_derived(session.sources).complete and complete
        finally:
            session.release()
    with disk(output):
        file = (studies[0] / STUDY_FILE).read_bytes()
    write_whole(output / STUDY_FILE, file)
    show_study(output)
    say(f"{'complete' if complete else 'incomplete'}; the study is in {output}")
    return EXIT_COMPLETE if complete else EXIT_INCOMPLETE
