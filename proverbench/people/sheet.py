"""The sheet on which people label some of a run's own proofs: written by `export`, read back by `correct --labels`."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proverbench.benchmark import benchmark_of
from proverbench.errors import DataError, RunMismatchError
from proverbench.inputs.data import load_labels
from proverbench.metrics.strata import Labelled
from proverbench.records import ProofRecord
from proverbench.run.folder import RunFolder
from proverbench.run.journal import storable


def sheet(run: RunFolder, *, proofs: int | None = None, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Rows of VerifierBench data without labels: judged proofs of a ProverBench run, the judge's verdicts not shown.

    Args:
        run: The run.
        proofs: How many to choose at random; all if None. Only a random choice allows a correction.
        seed: Of the choice; the same seed and run give the same proofs.

    Raises:
        RunMismatchError: If the run is no ProverBench run, or has fewer judged proofs.
    """
    if not benchmark_of(run.manifest.identity.task).samples:
        raise RunMismatchError(f"{run.path}: a labelling sheet is made of a ProverBench run; this one is VerifierBench")
    judged = [record.key for record in run.records() if _is_judged(record)]
    if proofs is not None and proofs > len(judged):
        raise RunMismatchError(f"{run.path}: has {len(judged)} judged proofs, fewer than the {proofs} to choose")
    chosen = set(judged if proofs is None else random.Random(seed).sample(judged, proofs))
    for record in run.records():
        if record.key in chosen:
            problem = run.row(record.problem_id)
            yield {
                "proof_id": record.key,
                "problem_id": record.problem_id,
                "problem": problem.problem,
                "reference_solution": problem.reference_solution,
                "reference_answer": problem.reference_answer,
                **({} if problem.domain is None else {"domain": problem.domain}),
                "subject": problem.subject,
                "source_id": problem.source_id,
                "policy": record.policy,
                "steps": _clean(record.steps),
                "annotation": {
                    "first_fatal_error_step": None,
                    "recoverable_error_steps": None,
                    "reviewer_comment": "",
                    "first_error_reason": "",
                    "remark": "",
                },
            }


def read_labels(path: Path, run: RunFolder) -> Labelled:
    """Read a filled sheet.

    Args:
        path: The sheet; rows that are not filled in are passed over.
        run: The run that it was made of.

    Returns:
        By proof key, whether a human found the proof correct (neither fatal nor recoverable errors), and the chance
        with which it was drawn where the sheet says so.

    Raises:
        DataError: Lists every row that breaks a rule of the data, or is no judged proof of this run.
    """
    dataset = load_labels(path)
    judged = {record.key: _clean(record.steps) for record in run.records() if _is_judged(record)}
    faults = []
    for line, proof in zip(dataset.lines, dataset.rows, strict=True):
        where = f"{path}:{line}: field"
        if proof.proof_id not in judged:
            faults.append(f"{where} proof_id: found {proof.proof_id!r}; wanted a judged proof of {run.path}")
        elif proof.steps != judged[proof.proof_id]:
            faults.append(f"{where} steps: found other steps than those of {proof.proof_id!r} in {run.path}")
    if not dataset.rows:
        faults.append(f"{path}: no row is filled in; give each annotation its error steps (-1 and [-1] for none)")
    if faults:
        raise DataError.of(faults)
    return Labelled({proof.proof_id: proof.is_correct for proof in dataset.rows})


def _is_judged(record: ProofRecord) -> bool:
    return bool(record.judgments) and record.generation_error is None


def _clean(steps: list[str]) -> list[str]:
    """The steps as a data file can hold them: without lone surrogates."""
    return [storable(step)[0] for step in steps]
