"""A VerifierBench sheet on which people label a run's own proofs."""

import json
import shlex
from collections.abc import Iterator
from functools import partial
from io import StringIO
from pathlib import Path

from proverbench.run.disk import write_whole
from proverbench.show.exports.export import Export, Request


def write(request: Request) -> Iterator[str]:
    """Write the sheet, one proof a line.

    Raises:
        RunMismatchError: If the run is no ProverBench run, or has fewer judged proofs than are to be chosen.
        JournalError: If the disk refuses it.
    """
    import jsonlines

    from proverbench.people.sheet import drawn_of, rows, scale_of

    (run,) = request.loaded.values()
    how = {"simple": request.simple, "equal": request.equal}
    drawn = drawn_of(run.folder, choose=request.choose, seed=request.seed, **how)
    lines = list(rows(run.folder, drawn))
    request.claim(request.output)
    sheet = StringIO()
    with jsonlines.Writer(sheet, dumps=partial(json.dumps, ensure_ascii=False)) as writer:
        writer.write_all(lines)
    write_whole(request.output, sheet.getvalue().encode())
    scale = scale_of(run.folder)
    label = (
        "annotation its first_fatal_error_step (-1: none) and recoverable_error_steps ([-1]: none)"
        if scale is None
        else f"proof its grade (0 to {scale.max})"
    )
    yield (
        f"{request.output}: {len(lines)} proofs. Give each {label}, then: proverbench correct "
        f"{shlex.quote(str(run.path))} --labels {shlex.quote(str(request.output))}"
    )


VERIFIERBENCH = Export(
    name="verifierbench",
    extension="jsonl",
    help="a sheet on which people label this run's own proofs",
    place=Path("sheet.jsonl"),
    write=write,
    options=frozenset({"choose", "seed", "simple", "equal"}),
    single=True,
)
