"""The sheet on which people label some of a run's own proofs: VerifierBench rows without labels, and their draw."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET

from proverbench.benchmark import benchmark_of
from proverbench.errors import RunMismatchError, UserInputError
from proverbench.people.draw import Drawn, draw
from proverbench.run.folder import RunFolder
from proverbench.run.texts import storable

OPEN: dict[str, Any] = {
    "first_fatal_error_step": None,
    "recoverable_error_steps": None,
    "reviewer_comment": "",
    "first_error_reason": "",
    "remark": "",
}
"""The annotation of a proof that nobody has labelled."""


OPEN_GRADED: dict[str, Any] = {name: OPEN[name] for name in ("reviewer_comment", "first_error_reason", "remark")}
"""The same where people grade: their label is ``grade``, beside it."""


class Scale(NamedTuple):
    """What people grade by: the scale of the run's judges."""

    max: int
    """The most points; the least are 0."""
    step: float | None
    """From one grade to the next; None for any number."""
    accept_from: float
    """The points from which a proof counts as correct."""


def scale_of(run: RunFolder) -> Scale | None:
    """The scale of a run whose judges grade, in whole points at its end; None of other runs."""
    protocol = run.sources.reader.protocol
    most, least = protocol.max_grade, protocol.accept_from
    if protocol.verdict != "grade" or most is None or least is None or most != int(most):
        return None
    return Scale(int(most), protocol.grade_step, least)


def drawn_of(
    run: RunFolder, *, choose: int | None = None, simple: bool = False, equal: bool = False, seed: int = 0
) -> list[Drawn]:
    """The proofs of a run to label; see :func:`~proverbench.people.draw.draw`.

    Raises:
        RunMismatchError: If the run is no ProverBench run, or has fewer judged proofs.
        UserInputError: If a draw is wanted that is both simple and of equal parts, or parts without a number.
    """
    if equal and (simple or choose is None):
        raise UserInputError(
            "--equal takes as many proofs of each stratum, so it needs --choose N and cannot be given with --simple"
        )
    if not benchmark_of(run.manifest.identity.task).samples:
        raise RunMismatchError(f"{run.path}: a labelling sheet is made of a ProverBench run; this one is VerifierBench")
    try:
        return draw(run.records(), run.manifest.extent.verifier_repeats, choose, simple=simple, equal=equal, seed=seed)
    except ValueError as exc:
        raise RunMismatchError(f"{run.path}: has {exc}") from exc


def rows(
    run: RunFolder, drawn: Sequence[Drawn], *, annotator: str = "", serves: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """The rows of drawn proofs, in that order, the judge's verdicts not shown.

    Args:
        run: Whose proofs they are.
        drawn: Which.
        annotator: Who labels.
        serves: Ids of other runs that judged the same proofs, as of a study's other judges.
    """
    records = {record.key: record for record in run.records()}
    scale = scale_of(run)
    for key, stratum, size, probability in drawn:
        record = records[key]
        problem = run.row(record.problem_id)
        yield {
            "proof_id": key,
            "problem_id": record.problem_id,
            "problem": problem.problem,
            "reference_solution": problem.reference_solution,
            "reference_answer": problem.reference_answer,
            **({} if problem.domain is None else {"domain": problem.domain}),
            "subject": problem.subject,
            "source_id": problem.source_id,
            "policy": record.policy,
            **({} if problem.rubric is UNSET else {"rubric": problem.rubric}),
            "steps": clean(record.steps),
            **(
                {"annotation": dict(OPEN)}
                if scale is None
                else {"grade": None, "max_grade": scale.max, "annotation": dict(OPEN_GRADED)}
            ),
            "run_id": run.manifest.run_id,
            **({"serves": list(serves)} if serves else {}),
            "annotator": annotator,
            "stratum": stratum,
            "stratum_size": size,
            "probability": probability,
        }


def labelling(path: Path, choose: int, *, seed: int = 0) -> dict[str, Any]:
    """A draw for the page of a run that somebody is sent; the page keeps the labels and offers them as a file.

    Raises:
        RunMismatchError: If the run is no ProverBench run, or has fewer judged proofs.
    """
    run = RunFolder(path)
    try:
        return labelling_of(run.manifest.run_id, drawn_of(run, choose=choose, seed=seed), scale=scale_of(run))
    finally:
        run.close()


def labelling_of(
    run_id: str, drawn: Sequence[Drawn], *, annotator: str | None = None, scale: Scale | None = None
) -> dict[str, Any]:
    """What the page's model says of a draw of its first run.

    Args:
        run_id: Of the run whose proofs they are.
        drawn: The proofs, in the order of the draw.
        annotator: Who labels; None where the page keeps the labels and asks.
        scale: What people grade by; None where they say which step is wrong.
    """
    return {
        "run": 0,
        "run_id": run_id,
        "annotator": annotator,
        "served": annotator is not None,
        "scale": None if scale is None else scale._asdict(),
        "drawn": [list(proof) for proof in drawn],
    }


def clean(steps: Sequence[str]) -> list[str]:
    """The steps as a data file can hold them: without lone surrogates."""
    return [storable(step)[0] for step in steps]
