"""How often the 95 % intervals of docs/metrics.md contain the truth, by simulation.

    python -m benchmarks.coverage            prints the table of docs/coverage.md (about a minute)

Every scenario draws whole made-up runs whose true value is known, 2,000 to 8,000 for each number of problems, and takes
their intervals with the same resamples, estimators and percentiles as the package. All simulations of a scenario share
the resampled problems, which makes them one matrix product; it does not bias the share of intervals that hold.
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from proverbench.metrics.correction import rogan_gladen, tuned_power
from proverbench.metrics.metric import harmonic_mean
from proverbench.metrics.rates import Floats, RateTable, each_itself
from proverbench.metrics.uncertainty import RESAMPLES, resampled_sums, wilson_of

SIMULATIONS = {12: 8000, 45: 8000, 245: 4000, 888: 2000}
"""Numbers of problems, and how many runs are simulated of each: the standard error of a share is 0.2 to 0.5 %."""
SEED = 11
LABELLED = ("unlabelled", "rule", "human")

Generator = np.random.Generator


def resampled_rates(earned: Floats, possible: Floats, seed: int) -> Floats:
    """Bootstrap replicates (B, M) of M simulated rates with sums (C, M)."""
    sums, totals = resampled_sums(np.concatenate([earned, possible], axis=1), resamples=RESAMPLES, seed=seed)
    return np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0)


def held(replicates: Floats, truth: float) -> float:
    """Share of the columns whose percentile interval contains the truth; a column without a defined one is no run."""
    defined = replicates[:, ~np.isnan(replicates).all(axis=0)]
    percentile = np.nanpercentile if np.isnan(defined).any() else np.percentile  # the first is slow
    low, high = percentile(defined, [2.5, 97.5], axis=0)
    return float(np.mean((low <= truth) & (truth <= high)))


def wilson_held(earned: Floats, possible: Floats, truth: float) -> float:
    """The same of the Wilson-type interval."""
    names = tuple(f"run{k}" for k in range(earned.shape[1]))
    table = RateTable(names, earned, possible, possible.sum(axis=0), each_itself(names))
    ends = [wilson_of(table, name) for name in names]
    return float(np.mean([end["low"] <= truth <= end["high"] for end in ends]))


def ease(rng: Generator, shape: tuple[int, ...], share: float, strength: float = 1.4) -> Floats:
    """Chances of success that differ between problems, with mean ``share``."""
    return rng.beta(strength * share, strength * (1 - share), shape)


def pessimistic(rng: Generator, n: int, m: int) -> dict[str, float]:
    """ProverBench, S = 4: four samples of a problem are alike."""
    earned = rng.binomial(4, ease(rng, (n, m), 0.4)).astype(float)
    possible = np.full((n, m), 4.0)
    return {
        "pessimistic 0.4, bootstrap": held(resampled_rates(earned, possible, SEED), 0.4),
        "pessimistic 0.4, Wilson": wilson_held(earned, possible, 0.4),
    }


def rare(rng: Generator, n: int, m: int) -> dict[str, float]:
    """A score near 0, where the bootstrap is flagged at small n."""
    earned = rng.binomial(4, ease(rng, (n, m), 0.05, 4.0)).astype(float)
    possible = np.full((n, m), 4.0)
    return {
        "pessimistic 0.05, bootstrap (flagged)": held(resampled_rates(earned, possible, SEED), 0.05),
        "pessimistic 0.05, Wilson": wilson_held(earned, possible, 0.05),
    }


def judge(rng: Generator, counts: NDArray[np.int64], share: float, repeats: int) -> tuple[Floats, Floats]:
    """Credits and what could be earned, of proofs that are alike within a problem."""
    earned = rng.binomial(counts * repeats, ease(rng, counts.shape, share, 6.0))
    return earned.astype(float), (counts * repeats).astype(float)


def verifier(rng: Generator, n: int, m: int) -> dict[str, float]:
    """VerifierBench, R = 2, 0 to 3 correct and 1 to 3 incorrect proofs a problem."""
    tpr = resampled_rates(*judge(rng, rng.integers(0, 4, (n, m)), 0.75, 2), SEED)
    tnr = resampled_rates(*judge(rng, rng.integers(1, 4, (n, m)), 0.6, 2), SEED)
    return {
        "rough_tpr, bootstrap": held(tpr, 0.75),
        "rough_tnr, bootstrap": held(tnr, 0.6),
        "rough_bal_f1, bootstrap": held(harmonic_mean(tpr, tnr), 2 * 0.75 * 0.6 / 1.35),
    }


def difference(rng: Generator, n: int, m: int) -> dict[str, float]:
    """Two policies on the same problems: what is easy for one is easy for the other."""
    first = ease(rng, (n, m), 0.4)
    second = 0.8 * first + 0.05
    earned: Floats = rng.binomial(4, first).astype(np.float64) - rng.binomial(4, second).astype(np.float64)
    return {"difference of pessimistic": held(resampled_rates(earned, np.full((n, m), 4.0), SEED), 0.4 - 0.37)}


def bal_f1_difference(rng: Generator, n: int, m: int) -> dict[str, float]:
    """Two judges of the same proofs, R = 1."""
    correct, incorrect = rng.integers(0, 4, (n, m)), rng.integers(1, 4, (n, m))
    scores = []
    for tpr, tnr in ((0.8, 0.6), (0.7, 0.65)):
        rates = [
            resampled_rates(*judge(rng, counts, share, 1), SEED) for counts, share in ((correct, tpr), (incorrect, tnr))
        ]
        scores.append((harmonic_mean(*rates), 2 * tpr * tnr / (tpr + tnr)))
    truth = scores[0][1] - scores[1][1]
    return {"difference of rough_bal_f1": held(scores[0][0] - scores[1][0], truth)}


def judged(rng: Generator, n: int, m: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Truth and the rule's verdict on 4 proofs of each problem, shape (4, n, m); 45 % are correct."""
    correct = rng.random((4, n, m)) < ease(rng, (n, m), 0.45)
    accepted = np.where(correct, rng.random((4, n, m)) < 0.8, rng.random((4, n, m)) < 0.1)
    return correct, accepted


def calibrated(rng: Generator, n: int, m: int) -> dict[str, float]:
    """Rogan-Gladen: n problems of 4 proofs, n annotated proofs, sensitivity 0.8, specificity 0.9."""
    _, accepted = judged(rng, n, m)
    label = rng.random((n, m)) < 0.5
    hit = label & (rng.random((n, m)) < 0.8)
    rejected = ~label & (rng.random((n, m)) < 0.9)
    corrected = rogan_gladen(
        resampled_rates(accepted.sum(axis=0).astype(float), np.full((n, m), 4.0), SEED),
        resampled_rates(hit.astype(float), label.astype(float), SEED + 1),
        resampled_rates(rejected.astype(float), (~label).astype(float), SEED + 1),
    )
    return {"Rogan-Gladen": held(corrected, 0.45)}


def labelled(rng: Generator, n: int, m: int) -> dict[str, float]:
    """Prediction-powered: n problems of 4 proofs, one of each labelled."""
    correct, accepted = judged(rng, n, m)
    chosen = np.arange(4)[:, None, None] == rng.integers(0, 4, (n, m))
    earned = [np.sum(x, axis=0, dtype=float) for x in (accepted & ~chosen, accepted & chosen, correct & chosen)]
    possible = [np.full((n, m), 3.0), np.ones((n, m)), np.ones((n, m))]
    power = np.array(
        [
            tuned_power(
                RateTable(
                    LABELLED,
                    np.stack([x[:, k] for x in earned], axis=1),
                    np.stack([x[:, k] for x in possible], axis=1),
                    np.ones(3),
                    each_itself(LABELLED),
                )
            )
            for k in range(m)
        ]
    )
    unlabelled, rule, human = (resampled_rates(e, p, SEED) for e, p in zip(earned, possible, strict=True))
    return {
        "prediction-powered": held(power * unlabelled + human - power * rule, 0.45),
        "labels only": held(human, 0.45),
    }


SCENARIOS: dict[str, Callable[[Generator, int, int], dict[str, float]]] = {
    scenario.__name__: scenario
    for scenario in (pessimistic, rare, verifier, difference, bal_f1_difference, calibrated, labelled)
}


def simulate(scenario: str, n: int, simulations: int | None = None) -> dict[str, float]:
    """Coverage of each interval of a scenario with n problems."""
    # The name's bytes and n make the draws of one cell independent of which others are computed.
    rng = np.random.default_rng([SEED, n, *scenario.encode()])
    return SCENARIOS[scenario](rng, n, simulations or SIMULATIONS[n])


def table() -> str:
    """The Markdown table of docs/coverage.md."""
    lines = ["| interval | " + " | ".join(f"n = {n}" for n in SIMULATIONS) + " |"]
    lines.append("| --- |" + " ---: |" * len(SIMULATIONS))
    for scenario in SCENARIOS:
        cells = [simulate(scenario, n) for n in SIMULATIONS]
        lines += [f"| {name} | " + " | ".join(f"{cell[name]:.1%}" for cell in cells) + " |" for name in cells[0]]
    return "\n".join(lines)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(table())
