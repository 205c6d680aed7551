"""Panels of judges: the score when any, most or all of several judges must accept a proof. Pure."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.agreement import same_proofs
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.rates import table_of
from proverbench.metrics.uncertainty import intervals, significant

RULES = ("any", "majority", "all")
"""``majority`` is more than half of the judges."""


def panel_chances(chances: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The chance that a panel accepts each proof, by rule, from independent chances of its judges.

    Args:
        chances: Of each judge and proof, shape (J, P), in [0, 1].

    Returns:
        Rule → shape (P,): of ``k`` judges that accept, k ≥ 1, k > J / 2 and k = J (a Poisson binomial).
    """
    judges, proofs = chances.shape
    exactly = np.zeros((judges + 1, proofs))
    exactly[0] = 1.0
    for chance in chances:
        exactly[1:] = exactly[1:] * (1 - chance) + exactly[:-1] * chance
        exactly[0] *= 1 - chance
    return {"any": 1 - exactly[0], "majority": exactly[judges // 2 + 1 :].sum(axis=0), "all": exactly[judges]}


def panel_scores(judges: Mapping[str, JudgmentArrays]) -> dict[str, Any]:
    """The score of one policy under each panel rule, for every number of judgments that all judges have.

    A judge accepts a proof when all of r judgments do. For r below R that is averaged exactly over all subsets of r of
    each judge's own R judgments, which are drawn independently of the other judges'; at r = R nothing is random.

    Args:
        judges: At least two ProverBench splits of the same proofs, by judge.

    Returns:
        ``judges``; ``repeats``, the least R; ``curve``: rows of ``rule``, ``repeats`` (r) and ``value``; ``rules``:
        rule → ``value`` and ``interval`` at the least R.

    Raises:
        ValueError: If the judges did not judge the same proofs.
    """
    first = next(iter(judges.values()))
    for name, arrays in judges.items():
        same = arrays.keys == first.keys and np.array_equal(arrays.digest, first.digest)
        if not same or not np.array_equal(arrays.generated, first.generated):
            raise ValueError(f"{name} did not judge the same proofs as {next(iter(judges))}")
    repeats = min(arrays.repeats for arrays in judges.values())
    curve: list[dict[str, Any]] = []
    rules: dict[str, dict[str, Any]] = {}
    for r in range(1, repeats + 1):
        chances = panel_chances(np.stack([arrays.at_repeats(r).acceptance for arrays in judges.values()]))
        table = table_of([(rule, chances[rule], first.each) for rule in RULES], first)
        point = table.point()
        curve += [{"rule": rule, "repeats": r, "value": significant(point[rule])} for rule in RULES]
        if r == repeats:
            found = intervals(table)
            rules = {rule: {"value": significant(point[rule]), "interval": found[rule]} for rule in RULES}
    return {"judges": list(judges), "repeats": repeats, "rules": rules, "curve": curve}


def crossed(judges: Mapping[str, JudgmentArrays]) -> list[dict[str, Any]]:
    """For each ordered pair of judges: how many proofs the first accepts by its rule and the second does not.

    Args:
        judges: Splits of the same proofs, by judge.

    Returns:
        Rows of ``accepts``, ``rejects``, ``proofs`` (how many), ``keys`` (their names), ``of`` (proofs in common).

    Raises:
        ValueError: If they have no proof in common.
    """
    joined, _ = same_proofs(judges)
    rows = []
    for one, ours in joined.items():
        for other, theirs in joined.items():
            if one != other:
                places = np.flatnonzero(ours.accepted & ~theirs.accepted)
                keys = [ours.keys[place] for place in places]
                rows.append({"accepts": one, "rejects": other, "proofs": len(keys), "keys": keys, "of": len(ours.keys)})
    return rows
