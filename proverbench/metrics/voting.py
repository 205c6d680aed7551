"""What other voting rules, and more or fewer repeats and samples, would have given (docs/metrics.md, "Voting").

Everything is computed from one run: an average over all subsets of the repeats is a hypergeometric sum.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proverbench.benchmark import benchmark_of
from proverbench.metrics.arrays import JudgmentArrays
from proverbench.metrics.comparison import difference
from proverbench.metrics.inference import interval
from proverbench.metrics.metric import harmonic_mean
from proverbench.metrics.rates import Function, RateTable, each_itself, sums_by_problem, table_of
from proverbench.metrics.subsets import subset_probability
from proverbench.metrics.summaries import Floats
from proverbench.metrics.uncertainty import intervals, significant

FOLDS = 5
"""Folds of the threshold search."""
SEED = 20260711
"""Which problems are in which fold."""


def majority(repeats: int) -> int:
    """The k of the majority rule: more than half of r judgments, ⌊r/2⌋+1."""
    return repeats // 2 + 1


def rules_of(drawn: int, wanted: int) -> list[str]:
    """Names of the rule "at least k of r accept": ``k-of-r`` always, ``pessimistic`` (k = r), ``majority``."""
    names = ["k-of-r"]
    if wanted == drawn:
        names.append("pessimistic")
    if wanted == majority(drawn):
        names.append("majority")
    return names


def voting_curve(
    arrays: JudgmentArrays,
    *,
    cost: "Cost | None" = None,
) -> list[dict[str, Any]]:
    """The score under every rule k of r, for every r up to R.

    A vote of r judgments accepts with at least k valid acceptances, rejects with more than r-k valid rejections, and
    else decides nothing, which earns nothing on either class. So r = 1 gives the published ``rough_*``, and k = r the
    published ``pessimistic``.

    Args:
        arrays: One split.
        cost: What a proof and a judgment cost; adds ``cost`` to each row, the expected cost of the whole split.

    Returns:
        One row for each (r, k, metric), r and k ascending: ``r``, ``k``, ``rules``, ``metric`` (``acceptance`` in
        ProverBench; ``tpr``, ``tnr``, ``bal_f1``, the harmonic mean of the averaged rates, in VerifierBench),
        ``value`` in [0, 1] or None where the class is absent, ``interval``.
    """
    pairs = [(r, k) for r in range(1, arrays.repeats + 1) for k in range(1, r + 1)]
    names = ("tpr", "tnr", "bal_f1") if benchmark_of(arrays.task).labelled else ("acceptance",)
    table = _voting_table(arrays, pairs)
    point = table.point()
    found = intervals(table)
    rows = []
    for r, k in pairs:
        for name in names:
            value = point[f"{name}@{r},{k}"]
            row: dict[str, Any] = {
                "r": r,
                "k": k,
                "rules": rules_of(r, k),
                "metric": name,
                "value": None if math.isnan(value) else significant(value),
                "interval": found.get(f"{name}@{r},{k}"),
            }
            if cost is not None:
                row["cost"] = significant(cost.of(arrays, r))
            rows.append(row)
    return rows


@dataclass(frozen=True, slots=True)
class Cost:
    """Mean cost of the calls of a run, in one unit."""

    unit: str
    """``tokens``, or a currency."""
    per_proof: float
    """Mean cost of writing one proof; 0 in VerifierBench."""
    per_judgment: float
    """Mean cost of one judgment."""

    def of(self, arrays: JudgmentArrays, drawn: int) -> float:
        """Expected cost of the split with ``drawn`` judgments a proof; failed generations are not judged.

        The mean over all subsets of the repeats, as for the score: r/R of what all judgments cost.
        """
        judged = int(np.count_nonzero(arrays.generated))
        return self.per_proof * len(arrays.keys) + self.per_judgment * drawn * judged


def pass_at_k(arrays: JudgmentArrays, ks: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Unbiased pass@k, a proof passing when all R judgments accept it.

    Args:
        arrays: One ProverBench split.
        ks: Which k; every k up to S if None.

    Returns:
        One row for each k: ``k``, ``value`` in [0, 1], ``interval``; where k is not in 1..S or there are no problems,
        the value is None and ``reason`` says why. k = 1 is ``pessimistic``, k = S is ``pass_any_sample``.

    Source: Chen et al. (2021), arXiv 2107.03374: 1 - C(S-c, k) / C(S, k), averaged over problems.
    """
    samples = arrays.samples
    wanted = range(1, samples + 1) if ks is None else ks
    usable = [k for k in wanted if 1 <= k <= samples] if arrays.problems else []
    passed = sums_by_problem(arrays.accepted, arrays.problem, len(arrays.problems))[:, 0].astype(np.int64)
    possible = np.ones((len(passed), len(usable)))
    earned = [pass_probability(samples, k)[passed] for k in usable]
    table = RateTable(
        names=tuple(f"pass@{k}" for k in usable),
        earned=np.stack(earned, axis=1) if earned else possible,
        possible=possible,
        items=possible.sum(axis=0) * [samples // k for k in usable],  # draws of k that share no sample
        metrics=each_itself(f"pass@{k}" for k in usable),
    )
    point, found = table.point(), intervals(table)
    rows: list[dict[str, Any]] = []
    for k in wanted:
        if k in usable:
            rows.append({"k": k, "value": significant(point[f"pass@{k}"]), "interval": found[f"pass@{k}"]})
        else:
            reason = f"needs k from 1 to the number of samples, {samples}" if arrays.problems else "no problems"
            rows.append({"k": k, "value": None, "interval": None, "reason": reason})
    return rows


def pass_probability(samples: int, k: int) -> Floats:
    """Chance that k of S samples, drawn without replacement, hold a passing one.

    Args:
        samples: S.
        k: How many are drawn, from 1 to S.

    Returns:
        Shape (S+1,), by the number of passing samples.

    Raises:
        ValueError: If k is not in 1..S: with fewer samples than k nothing unbiased can be said.
    """
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs k from 1 to the number of samples, {samples}")
    total = math.comb(samples, k)
    return np.array([(total - math.comb(samples - passing, k)) / total for passing in range(samples + 1)])


def best_threshold(
    arrays: JudgmentArrays,
    *,
    folds: int = FOLDS,
    seed: int = SEED,
) -> dict[str, Any]:
    """The k for which "at least k of R accept" agrees best with the human labels, and what that honestly gains.

    k is chosen by ``bal_f1`` on all folds but one and then earns its credit on that one; folds are whole problems,
    shuffled by the seed. Of equally good k the largest, the strictest, is taken.

    Args:
        arrays: One VerifierBench split.
        folds: Number of folds; fewer when there are fewer problems.
        seed: Seed of the folds.

    Returns:
        ``r`` (= R), ``k`` (chosen on everything, for later use), ``chosen`` (k of each fold), ``value`` (bal_f1 on
        folds that did not choose), ``interval``, ``in_sample`` (bal_f1 of k where it was chosen: too high),
        ``majority`` and ``pessimistic`` (bal_f1 of these rules on the same proofs), ``gain`` (over majority) with
        ``gain_interval``; intervals take the choices as given. ``value`` is None, with ``reason``, where a class is
        absent or there is one problem.
    """
    repeats = arrays.repeats
    table = _voting_table(arrays, [(repeats, k) for k in range(1, repeats + 1)])
    problems = len(table.earned)
    result: dict[str, Any] = {"r": repeats, "k": None, "chosen": [], "value": None}
    if problems < 2 or not (table.possible.sum(axis=0) > 0).all():
        return result | {"reason": "needs two problems, and proofs of both classes"}

    rng = np.random.Generator(np.random.PCG64(seed))
    count = min(folds, problems)
    fold = np.empty(problems, dtype=np.int64)
    fold[rng.permutation(problems)] = np.arange(problems) % count
    chosen = [_best_k(table, repeats, fold != f) for f in range(count)]
    overall = _best_k(table, repeats, np.ones(problems, dtype=np.bool_))
    rules = _under_rules(
        table,
        {
            "honest": np.array(chosen)[fold],
            "in_sample": np.full(problems, overall),
            "majority": np.full(problems, majority(repeats)),
            "pessimistic": np.full(problems, repeats),
        },
    )
    point = rules.point()

    return result | {
        "k": overall,
        "chosen": chosen,
        "value": significant(point["honest"]),
        "interval": intervals(rules)["honest"],
        "in_sample": significant(point["in_sample"]),
        "majority": significant(point["majority"]),
        "pessimistic": significant(point["pessimistic"]),
        "gain": significant(point["honest"] - point["majority"]),
        "gain_interval": interval(*difference(rules, "honest", rules, "majority")),
        "folds": count,
        "seed": seed,
    }


def _best_k(table: RateTable, repeats: int, chosen_from: NDArray[np.bool_]) -> int:
    """The k with the largest bal_f1 on some problems; of equally good ones the largest."""
    values = table.values(table.earned[chosen_from].sum(axis=0), table.possible[chosen_from].sum(axis=0))
    scores = [float(values[f"bal_f1@{repeats},{k}"]) for k in range(1, repeats + 1)]
    best = max((score for score in scores if not math.isnan(score)), default=math.nan)
    return max((k for k, score in enumerate(scores, start=1) if score == best), default=repeats)


def _under_rules(table: RateTable, rules: Mapping[str, NDArray[np.int64]]) -> RateTable:
    """Credits under rules that take another k for each problem: name of the rule → k, shape (C,)."""
    rows = np.arange(len(table.earned))
    names, earned, possible = [], [], []
    for rule, k in rules.items():
        for part, offset in (("tpr", 0), ("tnr", 1)):
            names.append(f"{part} {rule}")
            earned.append(table.earned[rows, 2 * (k - 1) + offset])
            possible.append(table.possible[:, offset])
    return RateTable(
        names=tuple(names),
        earned=np.stack(earned, axis=1),
        possible=np.stack(possible, axis=1),
        items=np.stack(possible, axis=1).sum(axis=0),
        metrics={rule: Function((f"tpr {rule}", f"tnr {rule}"), harmonic_mean) for rule in rules},
    )


def _voting_table(arrays: JudgmentArrays, pairs: list[tuple[int, int]]) -> RateTable:
    """Credits under each rule: ``acceptance@r,k`` in ProverBench, ``tpr@``, ``tnr@`` and ``bal_f1@`` in VerifierBench.

    The two rates of a pair are neighbouring columns.
    """
    one = np.ones(len(arrays.keys))
    accepts, rejects = arrays.accepts, arrays.rejects
    columns: list[tuple[str, NDArray[Any], NDArray[Any]]] = []
    composites: Mapping[str, Function] = {}
    for r, k in pairs:
        accepting = subset_probability(arrays.repeats, r, k)[accepts]
        if not benchmark_of(arrays.task).labelled:
            columns.append((f"acceptance@{r},{k}", accepting * arrays.generated, one))
            continue
        rejecting = subset_probability(arrays.repeats, r, r - k + 1)[rejects]
        columns.append((f"tpr@{r},{k}", accepting * arrays.correct, one * arrays.correct))
        columns.append((f"tnr@{r},{k}", rejecting * arrays.incorrect, one * arrays.incorrect))
    if benchmark_of(arrays.task).labelled:
        composites = {f"bal_f1@{r},{k}": Function((f"tpr@{r},{k}", f"tnr@{r},{k}"), harmonic_mean) for r, k in pairs}
    table = table_of(columns, arrays, composites)
    # So many judgments of a proof make R // r votes that share none: single judgments at r = 1, one vote at r = R.
    votes = [arrays.repeats // r for r, _ in pairs for _ in range(len(columns) // len(pairs))]
    return replace(table, items=table.items * votes)
