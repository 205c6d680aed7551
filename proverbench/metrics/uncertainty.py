"""Intervals and bounds beside every score (docs/metrics.md, "Intervals" and "Bounds")."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from proverbench.metrics.arrays import INVALID, JudgmentArrays
from proverbench.metrics.rates import Floats, RateTable, published_rates
from proverbench.metrics.registry import metrics_of

RESAMPLES = 1000
SEED = 20260711
"""The seed of every interval, unless another is given; it stands beside the interval."""
FEW_PROBLEMS = 30
"""Below so many problems the percentile bootstrap is called unreliable (docs/metrics.md, "Coverage")."""
FEW_CASES = 10
"""Likewise below so many successes or failures, counted in effective observations."""

_CHUNK = 1 << 16
"""Draws held at once, so that memory does not grow with the number of resamples."""

Interval = dict[str, Any]
Score = float | int | None


def split_uncertainty(
    arrays: JudgmentArrays, *, meta: bool, metrics: Mapping[str, Score]
) -> tuple[dict[str, Interval], dict[str, dict[str, Any]]]:
    """What stands beside one complete split's ``metrics``.

    Args:
        arrays: The split.
        meta: Whether the meta-verifier was asked.
        metrics: The published scores of the same records.

    Returns:
        ``intervals`` and ``bounds``, each by metric name, JSON-ready: derived floats have 12 significant digits. A
        metric that is None has neither.
    """
    found = intervals(published_rates(arrays, meta=meta))
    kept = {name: found[name] for name in metrics if name in found and metrics[name] is not None}
    return kept, bounds(arrays, meta=meta, metrics=metrics)


def intervals(table: RateTable, *, resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Interval]:
    """95 % percentile-bootstrap intervals of every metric in a table.

    The unit resampled is the problem, with all its samples and judgments.

    Args:
        table: Sums over problems.
        resamples: Number of resamples, at least 2.
        seed: Seed of numpy's PCG64; the same table and seed give the same interval.

    Returns:
        For each metric that is defined: ``low``, ``high``, ``se`` (None when a single problem leaves nothing to
        resample), ``n`` (problems that count), ``left_out`` (problems that do not, having no proof of the class),
        ``method``, ``resamples``, ``seed``; ``undefined_resamples`` if there were any; and, where the bootstrap is not
        to be trusted, ``unreliable`` (why) and ``wilson`` (see :func:`wilson_interval`).

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13; resampling whole clusters as in
    Davison & Hinkley (1997), section 3.8. Defined in docs/metrics.md.
    """
    earned, possible = resampled_sums(
        np.concatenate([table.earned, table.possible], axis=1), resamples=resamples, seed=seed
    )
    resampled = table.values(earned, possible)
    found: dict[str, Interval] = {}
    for name, value in table.point().items():
        if math.isnan(value):
            continue
        counted = _counted(table, name)
        replicates = resampled[name]
        defined = replicates[~np.isnan(replicates)]
        interval: Interval = {
            **spread(defined if counted > 1 else defined[:0]),
            "n": counted,
            "left_out": len(table.possible) - counted,
            "method": "percentile bootstrap over problems",
            "resamples": resamples,
            "seed": seed,
        }
        if len(defined) < resamples:
            interval["undefined_resamples"] = resamples - len(defined)
        why = _unreliable(table, name, counted)
        if why:
            interval["unreliable"] = why
            interval["wilson"] = wilson_of(table, name)
        found[name] = interval
    return found


def spread(replicates: Floats) -> dict[str, float | None]:
    """``low``, ``high`` (2.5th and 97.5th percentile) and ``se`` of bootstrap replicates; None if there are none."""
    if not len(replicates):
        return {"low": None, "high": None, "se": None}
    low, high = np.percentile(replicates, [2.5, 97.5])
    # fsum, because numpy's own sum depends on the processor's vector width in the last digit.
    mean = math.fsum(replicates) / len(replicates)
    variance = math.fsum((replicates - mean) ** 2) / max(len(replicates) - 1, 1)
    return {"low": significant(low), "high": significant(high), "se": significant(math.sqrt(variance))}


def bootstrap_interval(
    replicates: Floats,
    problems: int,
    *,
    resamples: int,
    seed: int,
    method: str = "percentile bootstrap over problems",
    fewest: int | None = None,
) -> Interval:
    """The 95 % percentile interval of a statistic's bootstrap replicates, with what says how it was made.

    Args:
        replicates: One value for each resample; NaN where undefined.
        problems: How many problems were resampled; of a single one there is no interval.
        resamples: How often.
        seed: Seed of numpy's PCG64.
        method: In words.
        fewest: Problems of the smaller sample, where there are two.

    Returns:
        ``low``, ``high``, ``se``, ``n``, ``method``, ``resamples``, ``seed``; ``unreliable`` if they are few.
    """
    defined = replicates[~np.isnan(replicates)] if problems > 1 else replicates[:0]
    made = {"n": problems, "method": method, "resamples": resamples, "seed": seed}
    return {**spread(defined), **made, **flag_few(problems if fewest is None else fewest)}


def flag_few(problems: int) -> dict[str, str]:
    """``{"unreliable": why}`` for an interval from fewer than 30 problems, else nothing."""
    return {"unreliable": f"fewer than {FEW_PROBLEMS} problems"} if problems < FEW_PROBLEMS else {}


def resampled_sums(sums: Floats, *, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """Sums over problems drawn with replacement, as many as there are.

    Args:
        sums: Problems' sums, shape (C, 2K): credits, then what could be earned.
        resamples: B.
        seed: Seed of numpy's PCG64.

    Returns:
        Two arrays of shape (B, K). Where the sums are whole numbers or quarters, the results are exact, so they do not
        depend on the machine.
    """
    out = np.empty((resamples, sums.shape[1]))
    start = 0
    for weights in resample_weights(len(sums), resamples=resamples, seed=seed):
        out[start : start + len(weights)] = weights @ sums
        start += len(weights)
    half = sums.shape[1] // 2
    return out[:, :half], out[:, half:]


def resample_weights(problems: int, *, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each problem is drawn, in blocks of shape (b, C); the blocks add up to ``resamples`` rows."""
    rng = np.random.Generator(np.random.PCG64(seed))
    block = max(1, _CHUNK // max(problems, 1))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        if not problems:
            yield np.zeros((rows, 0))
            continue
        drawn = rng.integers(0, problems, size=(rows, problems))
        drawn += np.arange(rows)[:, None] * problems
        yield np.bincount(drawn.ravel(), minlength=rows * problems).reshape(rows, problems).astype(np.float64)


def wilson_interval(
    share: float, effective_n: float, *, level: float = 0.95, df: int | None = None
) -> tuple[float, float]:
    """Wilson's score interval of a share.

    Args:
        share: Observed share, in [0, 1].
        effective_n: Number of independent observations it is worth, above 0.
        level: Confidence, in (0, 1).
        df: Degrees of freedom of the variance behind ``effective_n``; Student's t then replaces the normal quantile.

    Returns:
        Low and high, in [0, 1].

    Source: Wilson (1927), JASA 22(158); the effective n and t as in Korn & Graubard (1998), Survey Methodology 24(2).
    """
    from scipy.special import ndtri, stdtrit  # scipy.stats would take a second to import

    tail = 0.5 + level / 2
    z = float(ndtri(tail) if df is None else stdtrit(df, tail))
    shrink = 1 + z * z / effective_n
    centre = (share + z * z / (2 * effective_n)) / shrink
    half = z * math.sqrt(share * (1 - share) / effective_n + z * z / (4 * effective_n**2)) / shrink
    return max(0.0, centre - half) if share > 0 else 0.0, min(1.0, centre + half) if share < 1 else 1.0


def design_effect(earned: Floats, possible: Floats, items: float) -> float:
    """How many times larger the variance of a rate is than that of as many independent observations.

    Args:
        earned: Credit of each problem, shape (C,).
        possible: What each could earn, shape (C,).
        items: Number of single observations.

    Returns:
        A number from 1 on (a smaller estimate is set to 1, which is the careful side). Where all or none succeeded,
        nothing can be estimated and the problems count as one observation each: items / C.
    """
    counted = possible > 0
    problems = int(np.count_nonzero(counted))
    total = float(possible.sum())
    share = float(earned.sum()) / total
    if share <= 0 or share >= 1 or problems < 2:
        return max(1.0, items / problems)
    residual = (earned - share * possible)[counted]
    variance = problems / (problems - 1) * math.fsum(residual * residual) / total**2
    return max(1.0, variance * items / (share * (1 - share)))


def wilson_of(table: RateTable, name: str) -> dict[str, float]:
    """The Wilson-type interval of one metric, for where the bootstrap is not to be trusted.

    Returns:
        ``low``, ``high`` and, for a rate, ``design_effect`` and ``effective_n``. A metric of two rates combines the
        ends of their 97.5 % intervals, which holds at 95 % or better (Bonferroni), because it grows with either.
    """
    function = table.metrics[name]
    if len(function.rates) == 1:
        low, high, effect, effective_n = _wilson_rate(table, function.rates[0], 0.95)
        return {
            "low": significant(low),
            "high": significant(high),
            "design_effect": significant(effect),
            "effective_n": significant(effective_n),
        }
    level = 1 - 0.05 / len(function.rates)
    ends = [_wilson_rate(table, part, level) for part in function.rates]
    low, high = (float(function.g(*(part[end] for part in ends))) for end in (0, 1))
    return {"low": significant(low), "high": significant(high)}


def bounds(
    arrays: JudgmentArrays, *, meta: bool = False, metrics: Mapping[str, Score] | None = None
) -> dict[str, dict[str, Any]]:
    """What the scores could have been, had the invalid judgments been valid.

    Args:
        arrays: One split.
        meta: Whether the meta-verifier was asked.
        metrics: The published scores; computed here if absent.

    Returns:
        By metric ``low`` (every invalid judgment a rejection, or disagreeing with the label: the score as it is),
        ``high`` (an acceptance, or agreeing to the step; for ``meta_*`` an exact match) and ``invalid``, the number of
        judgments this is about. An invalid generation stays 0. Validity rates and undefined metrics have none.
    """
    as_is = published_rates(arrays, meta=meta).point() if metrics is None else metrics
    best = published_rates(arrays, meta=meta, best_case=True).point()
    known = metrics_of(arrays.task, meta=meta)
    found: dict[str, dict[str, Any]] = {}
    for name, high in best.items():
        low = as_is.get(name)
        if low is None or math.isnan(low) or known[name].validity:
            continue
        concerned = np.zeros(len(arrays.keys), dtype=np.bool_)
        for rate in known[name].rates:
            concerned |= rate.possible(arrays) > 0
        replies = arrays.meta if "meta" in known[name].needs else arrays.verdict
        found[name] = {
            "low": significant(low),
            "high": significant(high),
            "invalid": int(np.count_nonzero(replies[concerned & arrays.generated] == INVALID)),
        }
    return found


def significant(value: float, digits: int = 12) -> float:
    """Round to so many significant digits, as every derived float in a file is."""
    return float(f"{value:.{digits}g}")


def _counted(table: RateTable, name: str) -> int:
    return int(np.count_nonzero(table.possible[:, table.columns(name)].sum(axis=1)))


def _unreliable(table: RateTable, name: str, counted: int) -> str | None:
    why = list(flag_few(counted).values())
    for part in table.metrics[name].rates:
        k = table.names.index(part)
        if not why and np.count_nonzero(table.possible[:, k]) < FEW_PROBLEMS:
            why.append(f"fewer than {FEW_PROBLEMS} problems in {part}")
        earned = table.earned[:, k].sum()
        if earned == 0 or earned == table.possible[:, k].sum():
            why.append(f"{part} is {'0' if earned == 0 else '1'}, so every resample says the same")
        elif _rarer(table, k) < FEW_CASES:
            why.append(f"{part} rests on fewer than {FEW_CASES} independent successes or failures")
    return "; ".join(why) or None


def _rarer(table: RateTable, k: int) -> float:
    """Successes or failures of rate ``k``, whichever are fewer, in units of independent observations."""
    earned, possible, items = table.earned[:, k], table.possible[:, k], float(table.items[k])
    share = float(earned.sum() / possible.sum())
    return min(share, 1 - share) * items / design_effect(earned, possible, items)


def _wilson_rate(table: RateTable, name: str, level: float) -> tuple[float, float, float, float]:
    k = table.names.index(name)
    earned, possible, items = table.earned[:, k], table.possible[:, k], float(table.items[k])
    effect = design_effect(earned, possible, items)
    effective_n = items / effect
    problems = int(np.count_nonzero(possible))
    share = float(earned.sum() / possible.sum())
    low, high = wilson_interval(share, effective_n, level=level, df=max(problems - 1, 1))
    return low, high, effect, effective_n
