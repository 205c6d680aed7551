"""What a plan's components say, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any


def spoken(found: Mapping[str, Any]) -> Iterator[str]:
    """A sentence a line, of what :func:`proverbench.show.plan.tables.plan_tables` gave."""
    for name, what in (
        ("components", "a proof's score"),
        ("difference_components", "the difference of two runs' proofs"),
    ):
        parts = found[name]
        if parts is None:
            continue
        total = parts["between"] + parts["within"]
        alike = parts["between"] / total if total else 0.0
        yield f"Problems make {alike:.0%} of the variance of {what}; more samples cannot reduce that part."
        if parts["best_samples"] is not None:
            yield f"At these costs {samples(parts['best_samples'])} of each problem buy most for it."
    if found["components"]["best_samples"] is None:
        yield "New problems cost nothing here: ask all there are once before you ask any twice."
    single = found["judgment_components"]
    total = sum(single[part] for part in ("problem", "sample", "judgment")) if single else 0.0
    if single and total > 0:
        shares = ", ".join(f"{part}s {single[part] / total:.0%}" for part in ("problem", "sample", "judgment"))
        best = f"; S {single['best_samples']}, R {single['best_repeats']} buy most" if "best_samples" in single else ""
        yield f"Variance of a single judgment's acceptance: {shares}{best}."
    if found["score_by_repeats"] and len(found["score_by_repeats"]) > 1:
        scores = ", ".join(f"{row['repeats']}: {row['score']:.3f}" for row in found["score_by_repeats"])
        yield f"Score to expect by R: {scores}."
    if found["labels"] is not None:
        yield from _labels(found["labels"], found["designs"][-1])


def samples(count: int) -> str:
    """So many samples, in words."""
    return "1 sample" if count == 1 else f"{count} samples"


def _labels(labels: Mapping[str, Any], widest: Mapping[str, Any]) -> Iterator[str]:
    if labels["known"]:
        strata = [part for part in labels["strata"] if part["labelled"]]
        said = ", ".join(f"{part['correct']} of {part['labelled']} where {part['stratum']}" for part in strata)
        score = f"{labels['score']:.3f}"
        yield f"The pilot's labels find correct {said} of the judgments accept: a score of {score} by labels."
    drawn = ", ".join(f"{part['labels']} where {part['stratum']}" for part in labels["strata"] if part["share"])
    reach = "" if labels["known"] else "at the widest "
    yield (
        f"{labels['count']} labelled proofs ({drawn} of the judgments accept) and {widest['problems']} problems × "
        f"{samples(widest['samples'])} give {reach}{widest['labelled_low']:.3f} to {widest['labelled_high']:.3f}."
    )
