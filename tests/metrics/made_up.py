"""Records made up by a seeded generator, and hypothesis strategies for them."""

import numpy as np
from hypothesis import settings
from numpy.typing import NDArray

from proverbench.metrics.array_building import arrays_of
from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.records import LEVEL_SCORES, Annotation, Judgment, MetaJudgment, ProofRecord

few_examples = settings(max_examples=25)
"""For properties of whole runs, which take a while each; no deadline, because the machine may be busy."""

LEVELS = sorted(LEVEL_SCORES)


def judgment(step: int, level: str | None = None) -> Judgment:
    """A judgment by verdict code."""
    if step == INVALID:
        return Judgment(valid=False, reason="bad_index")
    meta = None if level is None else MetaJudgment(valid=level in LEVEL_SCORES, level=level)
    return Judgment(valid=True, first_error_step=step, meta=meta)


def prover_record(problem: str, sample: int, verdicts: list[int] | None, **more: object) -> ProofRecord:
    """A ProverBench record; no verdicts: the generation failed."""
    return ProofRecord(
        problem_id=problem,
        sample_index=sample,
        generation_error="no_proof_steps" if verdicts is None else None,
        steps=[] if verdicts is None else ["one", "two", "three"],
        judgments=[judgment(step) for step in verdicts or []],
        **more,  # type: ignore[arg-type]
    )


def verifier_record(problem: str, proof: str, label: int, verdicts: list[int], **more: object) -> ProofRecord:
    """A VerifierBench record."""
    return ProofRecord(
        problem_id=problem,
        proof_id=proof,
        is_correct=label == -1,
        first_error_step=label,
        annotation=Annotation(label, [-1]),
        steps=["one", "two", "three", proof],
        judgments=[judgment(step) for step in verdicts],
        **more,  # type: ignore[arg-type]
    )


def random_prover(seed: int, problems: int = 20, samples: int = 3, repeats: int = 4) -> list[ProofRecord]:
    """A run with invalid generations and judgments."""
    rng = np.random.default_rng(seed)
    records = []
    for i in range(problems):
        ease = rng.random()
        for sample in range(samples):
            if rng.random() < 0.1:
                records.append(prover_record(f"p{i:03}", sample, None))
            else:
                records.append(prover_record(f"p{i:03}", sample, _verdicts(rng, ease, repeats)))
    return records


def random_verifier(
    seed: int, problems: int = 20, most: int = 3, repeats: int = 4, *, meta: bool = False, judge: int | None = None
) -> list[ProofRecord]:
    """A run over proofs that depend on ``seed`` alone, judged by ``judge``."""
    rng = np.random.default_rng(seed)
    judging = np.random.default_rng(seed if judge is None else judge)
    records = []
    for i in range(problems):
        for j in range(int(rng.integers(1, most + 1))):
            label = int(rng.integers(-1, 3))
            verdicts = _verdicts(judging, 0.8 if label == -1 else 0.3, repeats)
            judgments = [judgment(v, str(judging.choice([*LEVELS, "bad"])) if meta else None) for v in verdicts]
            record = verifier_record(f"p{i:03}", f"v{i:03}-{j}", label, [])
            records.append(
                ProofRecord(
                    problem_id=record.problem_id,
                    proof_id=record.proof_id,
                    domain="ugd" if i % 3 else "qe",
                    is_correct=record.is_correct,
                    first_error_step=label,
                    annotation=record.annotation,
                    steps=record.steps,
                    judgments=judgments,
                )
            )
    return records


def _verdicts(rng: np.random.Generator, ease: float, repeats: int) -> list[int]:
    return [
        INVALID if rng.random() < 0.1 else (-1 if rng.random() < ease else int(rng.integers(0, 3)))
        for _ in range(repeats)
    ]


def prover_arrays(seed: int, problems: int = 20, samples: int = 3, repeats: int = 4) -> JudgmentArrays:
    """Arrays of :func:`random_prover`."""
    return arrays_of(random_prover(seed, problems, samples, repeats), task="prover", samples=samples, repeats=repeats)


def verifier_arrays(
    seed: int, problems: int = 20, most: int = 3, repeats: int = 4, *, meta: bool = False, judge: int | None = None
) -> JudgmentArrays:
    """Arrays of :func:`random_verifier`."""
    records = random_verifier(seed, problems, most, repeats, meta=meta, judge=judge)
    return arrays_of(records, task="verifier", repeats=repeats)


def drawn_problems(problems: int, resamples: int, seed: int) -> list[NDArray[np.int64]]:
    """The problems of each bootstrap resample, drawn one number after another, as a slow loop would."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return [rng.integers(0, problems, size=problems) for _ in range(resamples)]
