"""How often the 95 % intervals of docs/metrics.md contain the truth, and how wide they are, by simulation.

    python -m benchmarks coverage [--quick]   computes the grid, fails outside its bounds

Every cell draws whole made-up runs whose true value is known and takes their intervals with the package's own
functions. The table that it prints is docs/coverage.md's.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from proverbench.metrics.agreement import human_agreement
from proverbench.metrics.arrays import JudgmentArrays, Labels
from proverbench.metrics.correction import (
    UncorrectableError,
    correct_by_calibration,
    correct_by_labels,
    rogan_gladen,
)
from proverbench.metrics.inference import Summary, again, interval, join, p_value, summarise, theta
from proverbench.metrics.metric import harmonic_mean
from proverbench.metrics.strata import Labelled, allocate, strata_of

SEED = 11
LEAST = 0.93
"""No cell covers less, but for a hundredth of the single rates."""
MOST = 0.98
"""Cells that cover more are conservative, and the page says why."""

Generator = np.random.Generator
Floats = NDArray[np.float64]
Ends = tuple[float, float]


@dataclass(frozen=True)
class Cell:
    """One row of the grid."""

    estimate: str
    name: str
    truth: float
    draw: Callable[[Generator], Ends | None]
    """One made-up run's interval; None where the estimate is refused."""
    rare: float
    """Expected events of the rarer outcome, in problems; below 4.5 discreteness makes intervals conservative."""
    many: Callable[[Generator, int], Floats] | None = None
    """The same of so many runs at once, shape (runs, 2), where that is faster."""


@dataclass(frozen=True)
class Result:
    """What a cell gave."""

    cell: Cell
    runs: int
    """Runs with an interval."""
    refused: float
    """Share of runs that had none."""
    cover: float
    width: float
    zero: float
    """Share of intervals without width."""

    @property
    def name(self) -> str:
        """Which cell it is."""
        return f"{self.cell.estimate}, {self.cell.name}"

    @property
    def error(self) -> float:
        """Standard error of the coverage if it were 95 %."""
        return float(np.sqrt(0.95 * 0.05 / max(self.runs, 1)))


# ---------------------------------------------------------------- made-up runs


def counts(rng: Generator, n: int | tuple[int, int], samples: int, share: float, icc: float) -> Floats:
    """Successes of each of n problems in S samples; problems differ as the intraclass correlation says."""
    if icc <= 0:
        return rng.binomial(samples, share, n).astype(float)
    strength = (1 - icc) / icc
    ease = rng.beta(strength * share, strength * (1 - share), n)
    return rng.binomial(samples, ease).astype(float)


def arrays(verdict: NDArray[np.int_], problem: NDArray[np.int_], *, label: NDArray[np.int_] | None = None,
           task: str = "prover", samples: int = 1, prefix: str = "p") -> JudgmentArrays:  # fmt: skip
    """A split as arrays, without making records of it."""
    proofs = len(verdict)
    text = Labels(np.zeros(proofs, dtype=np.int32), ("",))
    order = np.zeros(proofs, dtype=np.int32)
    for start in range(samples):
        order[start::samples] = start
    names = tuple(f"{prefix}{i:05}" for i in range(int(problem.max()) + 1))
    return JudgmentArrays(
        task=task,  # type: ignore[arg-type]
        samples=samples,
        repeats=verdict.shape[1],
        problems=names,
        keys=tuple(f"{prefix}{i}" for i in range(proofs)),
        problem=problem.astype(np.int32),
        sample=order,
        verdict=verdict.astype(np.int32),
        generated=np.ones(proofs, dtype=np.bool_),
        label=(np.full(proofs, -2) if label is None else label).astype(np.int32),
        located=np.full(proofs, label is not None),
        meta=np.full(verdict.shape, -2, dtype=np.int8),
        steps=np.ones(proofs, dtype=np.int32),
        digest=np.zeros(proofs, dtype=np.uint64),
        severity=np.zeros(proofs, dtype=np.int8),
        domain=text,
        subject=text,
        policy=text,
    )


def judged(rng: Generator, correct: NDArray[np.bool_], sens: float, spec: float, repeats: int = 1) -> NDArray[np.int_]:
    """Verdicts of proofs, shape (P, R): -1 accepts, 0 rejects; all repeats of a proof are alike."""
    accepts = np.where(correct, rng.random(len(correct)) < sens, rng.random(len(correct)) >= spec)
    return np.repeat(np.where(accepts, -1, 0)[:, None], repeats, axis=1)


def calibration(rng: Generator, correct: int, incorrect: int, sens: float, spec: float) -> JudgmentArrays:
    """One annotated proof a problem."""
    right = np.arange(correct + incorrect) < correct
    return arrays(
        judged(rng, right, sens, spec),
        np.arange(len(right)),
        label=np.where(right, -1, 0),
        task="verifier",
        prefix="c",
    )


def run(rng: Generator, n: int, samples: int, share: float, sens: float, spec: float,
        icc: float = 0.3) -> tuple[JudgmentArrays, NDArray[np.bool_]]:  # fmt: skip
    """A ProverBench run, and which of its proofs are correct."""
    solved = counts(rng, n, samples, share, icc)
    correct = (np.arange(samples)[None, :] < solved[:, None]).ravel()
    problem = np.repeat(np.arange(n), samples)
    return arrays(judged(rng, correct, sens, spec), problem, samples=samples), correct


def of_columns(earned: Floats, possible: Floats) -> Floats:
    """The 95 % intervals of many runs' rates, a column each, shape (runs, 2): as :func:`interval` makes them."""
    summary = summarise(earned, possible)
    quantile = stdtrit(summary.df, 0.975)
    low, high = (theta(side * quantile, summary.share, summary.effective_n) for side in (-1, 1))
    return np.stack([low, high], axis=1)


def ends(found: dict[str, float | None]) -> Ends:
    """Both ends as numbers."""
    return float(found["low"] or 0.0), float(found["high"] or 0.0)


# ---------------------------------------------------------------- the cells


def single_rates(quick: bool) -> Iterator[Cell]:
    """One rate: shares .01 to .99, n problems, S samples (of R judgments each: also observations), clustering."""
    shares = (0.01, 0.1, 0.4, 0.98) if quick else (0.01, 0.02, 0.05, 0.1, 0.4, 0.7, 0.9, 0.98, 0.99)
    for p in shares:
        for n in (20, 245) if quick else (20, 45, 245, 888):
            for samples in (1, 4) if quick else (1, 4, 16):
                for repeats in (1,) if quick else (1, 8):
                    for icc in (0.0, 0.6) if quick else (0.0, 0.3, 0.6):
                        if samples * repeats == 1 and icc:
                            continue  # one observation a problem has no clusters

                        def draw(rng: Generator, p=p, n=n, k=samples * repeats, icc=icc) -> Ends:  # type: ignore[no-untyped-def]
                            return ends(interval(summarise(counts(rng, n, k, p, icc), np.full(n, float(k)))))

                        def many(rng: Generator, runs: int, p=p, n=n, k=samples * repeats, icc=icc) -> Floats:  # type: ignore[no-untyped-def]
                            return of_columns(counts(rng, (n, runs), k, p, icc), np.full((n, runs), float(k)))

                        name = f"p {p}, n {n}, S {samples}, R {repeats}, ICC {icc}"
                        yield Cell("single rate", name, p, draw, n * min(p, 1 - p), many)


def same_problems(quick: bool) -> Iterator[Cell]:
    """The same problems asked again: the truth is the mean of these problems' chances."""
    for p in (0.1, 0.4) if quick else (0.02, 0.1, 0.4, 0.7, 0.95):
        for n in (45,) if quick else (20, 45, 245):
            for samples in (2,) if quick else (2, 4, 16):

                def draw(rng: Generator, p=p, n=n, s=samples) -> Ends:  # type: ignore[no-untyped-def]
                    ease = rng.beta(p, 1 - p, n)
                    low, high = ends(interval(again(rng.random((n, s)) < ease[:, None])))
                    return low - float(ease.mean()), high - float(ease.mean())

                yield Cell("same problems again", f"p {p}, n {n}, S {samples}", 0.0, draw, n * min(p, 1 - p))


def composites(quick: bool) -> Iterator[Cell]:
    """bal_f1: class balance and rates, one to three proofs a problem, R 2."""
    grid = [(0.75, 0.6, 20, 0.5), (0.95, 0.98, 45, 0.5)] if quick else [
        (tpr, tnr, n, balance)
        for tpr, tnr in ((0.75, 0.6), (0.95, 0.98), (0.99, 0.5))
        for n in (20, 45, 245)
        for balance in (0.5, 0.1)
    ]  # fmt: skip
    for tpr, tnr, n, balance in grid:

        def draw(rng: Generator, tpr=tpr, tnr=tnr, n=n, balance=balance) -> Ends | None:  # type: ignore[no-untyped-def]
            proofs = rng.integers(1, 4, n)
            right = rng.binomial(proofs, balance)
            wrong = proofs - right
            if not right.any() or not wrong.any():
                return None
            easy = rng.beta(6 * tpr, 6 * (1 - tpr), n), rng.beta(6 * tnr, 6 * (1 - tnr), n)
            earned = np.stack([rng.binomial(2 * right, easy[0]), rng.binomial(2 * wrong, easy[1])], axis=1)
            return ends(interval(summarise(earned, np.stack([2 * right, 2 * wrong], axis=1)), harmonic_mean))

        rare = n * min(balance * min(tpr, 1 - tpr), (1 - balance) * min(tnr, 1 - tnr))
        name = f"tpr {tpr}, tnr {tnr}, n {n}, {balance:.0%} correct"
        yield Cell("bal_f1", name, harmonic_mean(tpr, tnr), draw, rare)


def paired(rng: Generator, p: float, q: float, n: int, samples: int) -> Summary:
    """Two policies on the same problems: what is easy for one is easy for the other."""
    ease = rng.beta(1.5 * p, 1.5 * (1 - p), n)
    other = ease * q / p
    d = np.full(n, float(samples))
    return join(summarise(rng.binomial(samples, ease), d), summarise(rng.binomial(samples, other), d))


def minus(a: float, b: float) -> float:
    """G of a difference."""
    return a - b


def differences(quick: bool) -> Iterator[Cell]:
    """The difference of two runs on the same problems."""
    grid = [(0.4, 0.3, 45, 4)] if quick else [
        (p, q, n, samples) for p, q in ((0.02, 0.01), (0.1, 0.1), (0.4, 0.3), (0.9, 0.85)) for n in (45, 245)
        for samples in (1, 4, 16)
    ]  # fmt: skip
    for p, q, n, samples in grid:

        def draw(rng: Generator, p=p, q=q, n=n, samples=samples) -> Ends:  # type: ignore[no-untyped-def]
            return ends(interval(paired(rng, p, q, n, samples), minus))

        name = f"{p} v {q}, n {n}, S {samples}"
        yield Cell("difference", name, p - q, draw, n * min(p, 1 - p, q, 1 - q))


def corrections(quick: bool) -> Iterator[Cell]:
    """Rogan-Gladen, few incorrect proofs included; 245 problems of one proof unless said."""
    grid = [(0.4, 0.9, 0.97, 23, 22)] if quick else [
        (0.4, 0.9, 0.97, 23, 22), (0.3, 0.9, 0.98, 90, 10), (0.4, 0.9, 0.95, 54, 6), (0.4, 0.9, 0.9, 100, 100),
        (0.1, 0.8, 0.9, 50, 50), (0.8, 0.95, 0.7, 100, 40), (0.05, 0.9, 0.99, 60, 60),
    ]  # fmt: skip
    for share, sens, spec, correct, incorrect in grid:

        def draw(rng: Generator, given=(share, sens, spec, correct, incorrect)) -> Ends | None:  # type: ignore[no-untyped-def]
            share, sens, spec, correct, incorrect = given
            ours, _ = run(rng, 245, 1, share, sens, spec)
            try:
                return ends(correct_by_calibration(ours, calibration(rng, correct, incorrect, sens, spec))["interval"])
            except UncorrectableError:
                return None

        name = f"share {share}, sens {sens}, spec {spec}, {correct} correct and {incorrect} incorrect proofs"
        rare = min(correct * min(sens, 1 - sens), incorrect * min(spec, 1 - spec))
        yield Cell("Rogan-Gladen", name, share, draw, rare)


def shared(quick: bool) -> Iterator[Cell]:
    """The difference of two corrected scores that share a calibration."""
    for n_cal in (60,) if quick else (60, 200):

        def draw(rng: Generator, n_cal=n_cal) -> Ends:  # type: ignore[no-untyped-def]
            sens, spec, n = 0.9, 0.85, 245
            right = counts(rng, n_cal, 1, 0.5, 0)
            accept = np.where(right > 0, rng.random(n_cal) < sens, rng.random(n_cal) < spec)
            rule = np.stack([accept * right, accept * (1 - right)], axis=1)
            cal = summarise(rule, np.stack([right, 1 - right], axis=1), problems=[f"c{i}" for i in range(n_cal)])
            ease = rng.beta(1, 1.2, n)
            names = [f"p{i}" for i in range(n)]
            blocks = []
            for chance in (ease, 0.8 * ease):
                truth = rng.random((n, 4)) < chance[:, None]
                seen = np.where(truth, rng.random((n, 4)) < sens, rng.random((n, 4)) >= spec).sum(axis=1)
                four = np.full(n, 4.0)
                blocks.append(summarise(np.stack([seen, four], axis=1), np.stack([four, four], axis=1), problems=names))
            return ends(
                interval(
                    join(*blocks, cal),
                    lambda a, g, b, h, se, sp: rogan_gladen(a, g, se, sp) - rogan_gladen(b, h, se, sp),
                )
            )

        yield Cell("corrected difference", f"245 x 4, {n_cal} calibration proofs", 0.2 / 2.2, draw, n_cal * 0.05)


def labels(quick: bool) -> Iterator[Cell]:
    """Labels of some proofs of 245 problems, a simple draw or the stratified one of the sheet."""
    grid = [(0.4, 0.9, 40, False), (0.1, 0.95, 40, True)] if quick else [
        (p, skill, count, stratified)
        for p in (0.02, 0.1, 0.4) for skill in (0.8, 0.95) for count in (40, 100) for stratified in (False, True)
    ]  # fmt: skip
    for p, skill, count, stratified in grid:

        def draw(rng: Generator, p=p, skill=skill, count=count, stratified=stratified) -> Ends:  # type: ignore[no-untyped-def]
            ours, correct = run(rng, 245, 1, p, skill, skill)
            stratum = strata_of(ours.accepts, ours.repeats)
            sizes = [int((stratum == s).sum()) for s in range(3)]
            chance: dict[str, float] = {}
            if stratified:
                chosen: list[int] = []
                for s, few in enumerate(allocate(sizes, count)):
                    drawn = rng.permutation(np.flatnonzero(stratum == s))[:few].tolist()
                    chosen += drawn
                    chance |= {ours.keys[i]: few / sizes[s] for i in drawn}
            else:
                chosen = rng.permutation(len(correct))[:count].tolist()
            given = Labelled({ours.keys[i]: bool(correct[i]) for i in chosen}, chance)
            return ends(correct_by_labels(ours, given)["interval"])

        how = "stratified" if stratified else "simple"
        rare = count * min(p, 1 - p)
        yield Cell("by labels", f"share {p}, judge {skill}/{skill}, {count} labels, {how}", p, draw, rare)


def agreements(quick: bool) -> Iterator[Cell]:
    """Cohen's kappa and Gwet's AC1 of a judge with people."""
    for p, skill in ((0.5, 0.9),) if quick else ((0.5, 0.9), (0.5, 0.99), (0.95, 0.9), (0.7, 0.8)):
        for n in (45,) if quick else (45, 245):
            accept = p * skill + (1 - p) * (1 - skill)
            disagree = 1 - skill
            pi = (p + accept) / 2
            truths = {
                "cohen_kappa": 1 - disagree / (p * (1 - accept) + accept * (1 - p)),
                "gwet_ac1": 1 - disagree / (1 - 2 * pi * (1 - pi)),
            }
            for measure, truth in truths.items():

                def draw(rng: Generator, p=p, skill=skill, n=n, measure=measure) -> Ends | None:  # type: ignore[no-untyped-def]
                    right = rng.random(n) < p
                    verdict = judged(rng, right, skill, skill)
                    split = arrays(verdict, np.arange(n), label=np.where(right, -1, 0), task="verifier")
                    rows = human_agreement(split, views=("accept",))
                    (row,) = [row for row in rows if row["measure"] == measure and row["on"] == "accept"]
                    return None if row["interval"] is None else ends(row["interval"])

                name = f"{p:.0%} correct, judge {skill}/{skill}, n {n}"
                yield Cell(measure, name, truth, draw, n * min(1 - p, 1 - skill))


GRID: dict[str, tuple[Callable[[bool], Iterator[Cell]], int]] = {
    "single rate": (single_rates, 1000),
    "same problems again": (same_problems, 300),
    "bal_f1": (composites, 200),
    "difference": (differences, 200),
    "Rogan-Gladen": (corrections, 200),
    "corrected difference": (shared, 200),
    "by labels": (labels, 200),
    "agreement": (agreements, 200),
}
"""Families of cells, and how many runs are made up of each cell."""
QUICK = 100
"""How many with --quick."""


# ---------------------------------------------------------------- running and judging it


def simulate(cell: Cell, runs: int) -> Result:
    """Coverage and width of one cell; its draws depend on its name alone."""
    rng = np.random.default_rng([SEED, zlib.crc32(f"{cell.estimate} {cell.name}".encode())])
    if cell.many is not None:
        table = cell.many(rng, runs)
    else:
        table = np.array([pair for pair in (cell.draw(rng) for _ in range(runs)) if pair is not None]).reshape(-1, 2)
    found = len(table)
    held = (table[:, 0] <= cell.truth + 1e-12) & (cell.truth - 1e-12 <= table[:, 1])
    width = table[:, 1] - table[:, 0]
    return Result(
        cell=cell,
        runs=found,
        refused=1 - found / runs,
        cover=float(held.mean()) if found else float("nan"),
        width=float(width.mean()) if found else float("nan"),
        zero=float((width <= 0).mean()) if found else 0.0,
    )


def faults(results: list[Result]) -> list[str]:
    """What lies outside the bounds, allowing for three standard errors of the simulation."""
    low = [result for result in results if result.runs and result.cover + 3 * result.error < LEAST]
    singles = sum(result.cell.estimate == "single rate" for result in results)
    few = [result for result in low if result.cell.estimate == "single rate"]
    low = [*few[singles // 100 :], *(result for result in low if result.cell.estimate != "single rate")]
    found = [f"{result.name}: covers {result.cover:.1%}, less than {LEAST:.0%}" for result in low]
    return found + [f"{result.name}: {result.zero:.1%} have no width" for result in results if result.zero]


def family(results: list[Result]) -> str:
    """One line of the table of docs/coverage.md."""
    cover = np.array([result.cover for result in results if result.runs])
    refused = max(result.refused for result in results)
    name = results[0].cell.estimate
    return (
        f"| {name} | {len(results)} | {cover.min():.1%} | {np.mean(cover):.1%} | {cover.max():.1%} | "
        f"{np.mean(cover < LEAST):.1%} | {np.mean(cover > MOST):.0%} | {refused:.0%} |"
    )


HEAD = (
    "| estimate | cells | lowest | mean | highest | cells below 93 % | cells above 98 % | refused, at most |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def grid(quick: bool, progress: Callable[[str], object] = lambda _: None) -> list[Result]:
    """Every cell."""
    results = []
    for name, (cells, runs) in GRID.items():
        progress(name)
        results += [simulate(cell, QUICK if quick else runs) for cell in cells(quick)]
    return results


def report(results: list[Result]) -> str:
    """The tables of docs/coverage.md."""
    families = list(dict.fromkeys(result.cell.estimate for result in results))
    lines = [HEAD]
    lines += [family([result for result in results if result.cell.estimate == name]) for name in families]
    lines += [
        "",
        "| estimate | cell | truth | covers | mean width | refused |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for result in results:
        if result.cell.estimate in ("single rate", "same problems again"):
            continue
        refused = f"{result.refused:.0%}" if result.refused else ""
        lines.append(
            f"| {result.cell.estimate} | {result.cell.name} | {result.cell.truth:.3f} | {result.cover:.1%} | "
            f"{result.width:.3f} | {refused} |"
        )
    return "\n".join(lines)


def type_one(p: float, n: int, samples: int, runs: int) -> tuple[float, float]:
    """How often a difference that is not there is called one at 5 % and at 1 %."""
    rng = np.random.default_rng([SEED, n, samples, int(1000 * p)])
    ps = np.array([p_value(paired(rng, p, p, n, samples), minus) for _ in range(runs)])
    return float((ps < 0.05).mean()), float((ps < 0.01).mean())


def main(quick: bool) -> None:
    """Print the grid; exit 1 where it lies outside its bounds."""
    results = grid(quick, lambda name: sys.stderr.write(f"{name}\n"))
    sys.stdout.write(report(results) + "\n")
    wrong = faults(results)
    sys.stdout.write("".join(f"OUTSIDE: {fault}\n" for fault in wrong))
    if wrong:
        raise SystemExit(1)
