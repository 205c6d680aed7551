"""How far people agree with each other: their labels as the judgments of a panel. Pure."""

from typing import Any

from msgspec import UNSET

from proverbench.metrics.agreement import repeat_agreement
from proverbench.metrics.array_building import ArrayBuilder
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.people.labels import Labels
from proverbench.records import Judgment, ProofRecord


def panel_of(labels: Labels) -> JudgmentArrays:
    """The labels as judgments: a repeat for each annotator, an invalid one where nobody or nothing was said."""
    names = labels.annotators
    builder = ArrayBuilder(task="prover", repeats=max(len(names), 1))
    for key, opinions in labels.opinions.items():
        said = {opinion.annotator: opinion.proof for opinion in opinions if opinion.proof is not None}
        if not said:
            continue
        proof = next(iter(said.values()))
        judgments = [_judgment(at, said.get(name)) for at, name in enumerate(names)]
        builder.add(ProofRecord(problem_id=proof.problem_id, policy=key, steps=proof.steps, judgments=judgments))
    return builder.build()


def _judgment(repeat: int, proof: Any) -> Judgment:
    if proof is None:
        return Judgment(repeat=repeat, valid=False)
    if proof.first_error_step is None or proof.grade is not UNSET:  # the whole proof was judged, or graded
        return Judgment(repeat=repeat, valid=True, accepts=proof.is_correct)
    return Judgment(repeat=repeat, valid=True, first_error_step=proof.first_error_step)


def annotator_agreement(labels: Labels) -> dict[str, Any]:
    """Agreement of a file's annotators, as :func:`~proverbench.metrics.agreement.repeat_agreement` of repeats.

    Returns:
        ``annotators``, how many proofs each labelled; ``agreement``, the rows; empty where fewer than two labelled.
    """
    counts = dict.fromkeys(labels.annotators, 0)
    for opinions in labels.opinions.values():
        for opinion in opinions:
            counts[opinion.annotator] += opinion.proof is not None
    several = sum(count > 0 for count in counts.values()) > 1
    return {"annotators": counts, "agreement": repeat_agreement(panel_of(labels)) if several else []}
