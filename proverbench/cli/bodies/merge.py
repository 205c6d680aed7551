"""What `proverbench merge` does."""

import shlex
from contextlib import closing
from pathlib import Path

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, EXIT_INCOMPLETE
from proverbench.cli.matrix import show_study
from proverbench.cli.scores import print_scores
from proverbench.cli.streams import say
from proverbench.errors import RunMismatchError
from proverbench.run.disk import disk, write_whole
from proverbench.run.folder import write_derived
from proverbench.run.merge import Shards
from proverbench.run.session import Session, refuse_taken
from proverbench.run.study import STUDY_FILE, cells_of, is_study


def merge(runs: tuple[Path, ...], output: Path) -> int:
    """Join shards."""
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
