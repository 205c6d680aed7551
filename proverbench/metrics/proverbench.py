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
    score = ProverScore(samples=samples, repeats=repeats)
    for record in records:
        score.add(record)
    return score.metrics()


class ProverScore:
    """Scores one split as its records come; keeps none of them. See :func:`score_prover`.

    Args:
        samples: S.
        repeats: R.

    Raises:
        ValueError: If S or R is below 1.
    """

    def __init__(self, *, samples: int, repeats: int) -> None:
        check_extent(samples=samples, repeats=repeats)
        self._samples = samples
        self._repeats = repeats
        self._seen: dict[str, int] = {}
        """Problem → a bit for each sample that came."""
        self._solved: set[str] = set()
        self._accepted = self._failed = self._valid = 0

    def add(self, record: ProofRecord) -> None:
        """Take one record.

        Raises:
            ValueError: If its sample came before, or it has more than R judgments.
        """
        check_judgments(record, self._repeats)
        seen, sample = self._seen.get(record.problem_id, 0), 1 << record.sample_index
        if seen & sample:
            raise ValueError(f"record {record.key}: the sample occurs twice")
        self._seen[record.problem_id] = seen | sample
        if record.generation_error is not None:
            self._failed += 1
            return
        self._valid += sum(judgment.valid for judgment in record.judgments)
        if accepted(record, self._repeats):
            self._accepted += 1
            self._solved.add(record.problem_id)

    def metrics(self) -> dict[str, float | int | None]:
        """What :func:`score_prover` returns.

        Raises:
            ValueError: If a problem has not exactly the samples 0..S-1.
        """
        every = (1 << self._samples) - 1
        for problem_id, seen in self._seen.items():
            if seen != every:
                came = [sample for sample in range(seen.bit_length()) if seen >> sample & 1]
                raise ValueError(f"problem {problem_id}: samples {came}, wanted 0..{self._samples - 1}")
        problems = len(self._seen)
        proofs = problems * self._samples
        # Python divides integers exactly and rounds once, so these are the sums of design, rounded once.
        return {
            "problems": problems,
            "proofs": proofs,
            "pessimistic": self._accepted / proofs if proofs else None,
            "pass_any_sample": len(self._solved) / problems if proofs else None,
            "generation_failure_rate": self._failed / proofs if proofs else None,
            "verifier_valid_rate": self._valid / (proofs * self._repeats) if proofs else None,
        }
