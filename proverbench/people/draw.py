"""Which of a run's proofs people label: a random draw, stratified by what the judge said (docs/labels.md). Pure."""

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from proverbench.metrics.strata import NAMES, allocate, strata_of
from proverbench.records import ProofRecord

SIMPLE = "simple"
"""The stratum of every proof of a simple random draw."""


class Drawn(NamedTuple):
    """A proof to label, and how it was drawn."""

    key: str
    stratum: str
    """How many of its judgments accept it (:data:`~proverbench.metrics.strata.NAMES`), or SIMPLE."""
    stratum_size: int
    """Judged proofs of this stratum."""
    probability: float
    """With which each of them was drawn."""


def is_judged(record: ProofRecord) -> bool:
    """Whether a proof has judgments that a label can be compared with."""
    return bool(record.judgments) and record.generation_error is None


def draw(
    records: Iterable[ProofRecord],
    repeats: int,
    choose: int | None = None,
    *,
    simple: bool = False,
    equal: bool = False,
    seed: int = 0,
) -> list[Drawn]:
    """Draw judged proofs, in random order: whoever stops early has labelled a smaller draw of the same kind.

    Args:
        records: Of a ProverBench run.
        repeats: R.
        choose: How many; all, in their own order, if None.
        simple: One simple random draw instead of a stratified one.
        equal: As many of each stratum, to count a judge's false acceptances.
        seed: The same seed and run give the same proofs in the same order.

    Raises:
        ValueError: If there are fewer judged proofs.
    """
    strata = _strata(records, repeats, simple=simple)
    total = sum(map(len, strata.values()))
    if choose is not None and choose > total:
        raise ValueError(f"{total} judged {'proof' if total == 1 else 'proofs'}, fewer than the {choose} to choose")
    sizes = [len(keys) for keys in strata.values()]
    wanted: Sequence[int] = sizes if choose is None else allocate(sizes, choose, equal=equal)
    rng = random.Random(seed)
    drawn = [
        Drawn(key, name, len(keys), count / len(keys))
        for (name, keys), count in zip(strata.items(), wanted, strict=True)
        for key in (keys if choose is None else rng.sample(keys, count))
    ]
    if choose is not None:
        rng.shuffle(drawn)
    return drawn


def _strata(records: Iterable[ProofRecord], repeats: int, *, simple: bool) -> dict[str, list[str]]:
    judged = [record for record in records if is_judged(record)]
    if simple:
        return {SIMPLE: [record.key for record in judged]} if judged else {}
    accepts = np.array([sum(j.accepting for j in r.judgments) for r in judged], dtype=np.int64)
    found: dict[str, list[str]] = {}
    for record, stratum in zip(judged, strata_of(accepts, repeats), strict=True):
        found.setdefault(NAMES[int(stratum)], []).append(record.key)
    return {name: found[name] for name in NAMES if name in found}
