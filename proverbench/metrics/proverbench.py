"""The published ProverBench metrics (docs/metrics.md, "ProverBench")."""

from collections.abc import Iterable

from proverbench.metrics.checks import check_extent, check_judgments
from proverbench.records import ProofRecord

PROVER_METRICS: tuple[str, ...] = (
    "pessimistic",
    "pass_any_sample",
    "generation_failure_rate",
    "verifier_valid_rate",
)
"""Names of the rates; the counts ``problems`` and ``proofs`` stand beside them."""


def accepted(record: ProofRecord, repeats: int) -> bool:
    """Whether the proof exists and all ``repeats`` judgments are valid and report no error.

    Args:
        record: A closed record; a missing judgment is no acceptance.
        repeats: R, the judgments that were asked for.
    """
    return (
        record.generation_error is None
        and len(record.judgments) == repeats
        and all(judgment.valid and judgment.first_error_step == -1 for judgment in record.judgments)
    )


def score_prover(records: Iterable[ProofRecord], *, samples: int, repeats: int) -> dict[str, float | int | None]:
    """Score one split's closed records.

    Args:
        records: One record for each sample of each problem of the split, in any order. An invalid generation and a
            missing or invalid judgment are worth 0 and stay in the denominators.
        samples: S, the proofs asked for of each problem.
        repeats: R, the judgments asked for of each proof.

    Returns:
        ``problems`` and ``proofs`` (counts) and, each in [0, 1], ``pessimistic``, ``pass_any_sample``,
        ``generation_failure_rate`` and ``verifier_valid_rate``; the rates are None when there are no records.

    Raises:
        ValueError: If S or R is below 1, if a problem has not exactly the samples 0..S-1, or if a proof has more
            than R judgments.

    Source: AdvancedMathBench (arXiv 2607.11849), ProverBench. Defined in docs/metrics.md.
    """
    check_extent(samples=samples, repeats=repeats)
    seen: dict[str, set[int]] = {}
    solved: set[str] = set()
    n_accepted = n_failed = n_valid = 0
    for record in records:
        check_judgments(record, repeats)
        mine = seen.setdefault(record.problem_id, set())
        if record.sample_index in mine:
            raise ValueError(f"record {record.key}: the sample occurs twice")
        mine.add(record.sample_index)
        if record.generation_error is not None:
            n_failed += 1
            continue
        n_valid += sum(judgment.valid for judgment in record.judgments)
        if accepted(record, repeats):
            n_accepted += 1
            solved.add(record.problem_id)
    wanted = set(range(samples))
    for problem_id, mine in seen.items():
        if mine != wanted:
            raise ValueError(f"problem {problem_id}: samples {sorted(mine)}, wanted 0..{samples - 1}")

    problems = len(seen)
    proofs = problems * samples
    # Python divides integers exactly and rounds once, so these are the sums of design, rounded once.
    return {
        "problems": problems,
        "proofs": proofs,
        "pessimistic": n_accepted / proofs if proofs else None,
        "pass_any_sample": len(solved) / problems if proofs else None,
        "generation_failure_rate": n_failed / proofs if proofs else None,
        "verifier_valid_rate": n_valid / (proofs * repeats) if proofs else None,
    }
