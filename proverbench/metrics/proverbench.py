"""The published ProverBench metrics (docs/metrics.md, "ProverBench").

Source: AdvancedMathBench (arXiv 2607.11849).
"""

from proverbench.metrics.metric import Metric, Rate
from proverbench.records import ProofRecord


def accepted(record: ProofRecord, repeats: int) -> bool:
    """Whether the proof exists and all ``repeats`` judgments are valid and report no error.

    Args:
        record: A closed record; a missing judgment is no acceptance.
        repeats: R, the judgments that were asked for.
    """
    return (
        record.generation_error is None
        and len(record.judgments) == repeats
        and all(judgment.accepting for judgment in record.judgments)
    )


METRICS: tuple[Metric, ...] = (
    Metric(
        name="pessimistic",
        benchmark="prover",
        label="Pessimistic score",
        heading="Pessimistic",
        help="Share of proofs that all R judgments accept, averaged over problems. An invalid judgment never accepts.",
        at_fewer_repeats=True,
        rates=(Rate("pessimistic", lambda a: a.acceptance, lambda a: a.each),),
        headline=1,
        in_papers=True,
    ),
    Metric(
        name="pass_any_sample",
        benchmark="prover",
        label="Any sample passes",
        heading="Pass any",
        help="Share of problems with at least one accepted proof.",
        rates=(Rate("pass_any_sample", lambda a: a.accepted, lambda a: a.each, best_proof=True),),
        grows_with_samples=True,
        headline=2,
        in_papers=True,
    ),
    Metric(
        name="generation_failure_rate",
        benchmark="prover",
        label="Generation failures",
        heading="Gen. failures",
        help="Share of replies of the policy in which there is no valid proof. They score 0.",
        rates=(Rate("generation_failure_rate", lambda a: ~a.generated, lambda a: a.each),),
        better="lower",
        validity=True,
    ),
    Metric(
        name="verifier_valid_rate",
        benchmark="prover",
        label="Valid judgments",
        heading="Valid",
        help="Share of requested judgments that could be read by the protocol.",
        rates=(Rate("verifier_valid_rate", lambda a: a.valid, lambda a: a.asked),),
        validity=True,
        in_papers=True,
    ),
)
"""In the order of summary.json; the counts of problems and proofs come before them."""
