"""`proverbench plan`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from proverbench.benchmark import benchmark_of
from proverbench.cli.common import EXIT_COMPLETE, HandlesErrors
from proverbench.cli.streams import echo_json

if TYPE_CHECKING:
    from proverbench.metrics.planning import Components, Design, Prices
    from proverbench.metrics.summaries import Floats

SHARE = click.FloatRange(0, 1)


class _Basis(NamedTuple):
    """What a plan is made from."""

    said: str
    score: "Components"
    difference: "Components | None"
    """None with neither two pilots nor a correlation."""
    values: "Floats | None"
    """The first pilot's proofs, shape (C, S)."""
    prices: "Prices"
    unit: str | None
    """What prices are in; None where none are known, and designs cost as many judgments and proofs."""


@click.command(cls=HandlesErrors, name="plan", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("pilots", nargs=-1, type=click.Path(path_type=Path), metavar="[PILOT [PILOT]]")
@click.option("--share", type=SHARE, help="Without a pilot: the score to expect, 0 to 1.")
@click.option("--icc", type=SHARE, default=0.5, show_default=True, help="Without a pilot: how alike proofs are.")
@click.option("--correlation", type=click.FloatRange(-1, 1), help="Of two runs' problems, where there is one pilot.")
@click.option(
    "--problems", "most", type=click.IntRange(min=2), default=245, show_default=True, help="There are so many."
)
@click.option("--repeats", type=click.IntRange(min=1), help="R. [default: the pilot's, else 8]")
@click.option("--precision", type=click.FloatRange(0.01, 50), metavar="POINTS", help="Cheapest way to it.")
@click.option("--difference", type=click.FloatRange(0.01, 100), metavar="POINTS", help="Cheapest way to show this.")
@click.option("--power", "wanted", type=click.FloatRange(0.05, 0.999), default=0.8, show_default=True, help="With it.")
@click.option("--budget", type=click.FloatRange(min=0), metavar="COST", help="The most precise way to spend so much.")
@click.option("--proof-cost", type=click.FloatRange(min=0), help="Of writing a proof, in US dollars.")
@click.option("--judgment-cost", type=click.FloatRange(min=0), help="Of a judgment, in US dollars.")
@click.option("--problem-cost", type=click.FloatRange(min=0), default=0.0, help="Of a new problem. [default: none]")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    pilots: tuple[Path, ...],
    share: float | None,
    icc: float,
    correlation: float | None,
    most: int,
    repeats: int | None,
    precision: float | None,
    difference: float | None,
    wanted: float,
    budget: float | None,
    proof_cost: float | None,
    judgment_cost: float | None,
    problem_cost: float,
    as_json: bool,
) -> int:
    """What problems, samples and money buy in ProverBench, before they are bought; calls nothing.

    From one PILOT run with at least two samples of each problem, or two of the same problems (for differences), or from
    --share and --icc. R is part of what the score is, so no plan trades it. The formulas are in docs/metrics.md,
    "Planning".

    \b
    The cheapest way to ±2 points:        proverbench plan runs/PILOT --precision 2
    To show a difference of 3 with 80 %:  proverbench plan runs/ONE runs/OTHER --difference 3
    What do 200 dollars buy:              proverbench plan runs/PILOT --budget 200
    No pilot yet:                         proverbench plan --share 0.4 --icc 0.5
    """
    from proverbench.errors import UserInputError

    if len(pilots) > 2:
        raise UserInputError("plan takes one pilot, or two for their difference")
    if not pilots and share is None:
        raise UserInputError("give a pilot run, or --share (and --icc) to assume: proverbench plan --share 0.4")
    costs = (problem_cost, proof_cost, judgment_cost)
    basis = _from_pilots(pilots, correlation, repeats, costs) if pilots else _from_assumptions(
        share or 0.0, icc, correlation, repeats or 8, costs
    )  # fmt: skip
    if difference is not None and basis.difference is None:
        raise UserInputError("--difference needs two pilots, or --correlation of the two runs' problems (0.8, say)")
    found = {
        "basis": basis.said,
        "repeats": basis.prices.repeats,
        "unit": basis.unit,
        "components": {"share": basis.score.share, "between": basis.score.between, "within": basis.score.within},
        "designs": _designs(basis, most),
        "answers": _answers(basis, most, precision=precision, difference=difference, wanted=wanted, budget=budget),
    }
    if as_json:
        echo_json(found)
    else:
        _show(found)
    return EXIT_COMPLETE


def _from_assumptions(
    share: float, icc: float, correlation: float | None, repeats: int, costs: tuple[float, float | None, float | None]
) -> _Basis:
    from proverbench.metrics.planning import Prices, assumed, correlated

    score = assumed(share, icc)
    problem, proof, judgment = costs
    known = proof is not None or judgment is not None
    prices = Prices(problem, proof or 0.0, judgment or 0.0, repeats) if known else Prices(problem, 1.0, 1.0, repeats)
    return _Basis(
        f"assumed: score {share:g}, intraclass correlation {icc:g}",
        score,
        None if correlation is None else correlated(score, correlation),
        None,
        prices,
        "USD" if known else None,
    )


def _from_pilots(
    pilots: Sequence[Path],
    correlation: float | None,
    repeats: int | None,
    costs: tuple[float, float | None, float | None],
) -> _Basis:
    from proverbench.errors import RunMismatchError
    from proverbench.metrics.comparison import align
    from proverbench.metrics.planning import Prices, components, correlated, difference_of
    from proverbench.metrics.rates import sample_values
    from proverbench.metrics.registry import metrics_of
    from proverbench.run.saved import call_cost, open_runs

    opened = open_runs(pilots)
    if any(benchmark_of(run.task).labelled for run in opened):
        raise RunMismatchError("a pilot is a ProverBench run; this one is VerifierBench")
    r = opened[0].arrays.repeats if repeats is None else repeats
    short = [run for run in opened if run.arrays.repeats < r]
    if short:
        raise RunMismatchError(f"{short[0].path}: the pilot has {short[0].arrays.repeats} repeats, fewer than {r}")
    arrays = {run.name: run.arrays if run.arrays.repeats == r else run.arrays.at_repeats(r) for run in opened}
    try:
        arrays = align(arrays)[0]
        metric = metrics_of("prover")["pessimistic"]
        values = [found for found in (sample_values(part, metric) for part in arrays.values()) if found is not None]
        score = components(values[0])
        difference = difference_of(*values) if len(values) == 2 else None
    except ValueError as exc:
        raise RunMismatchError(f"cannot be planned from: {exc}") from exc
    if difference is None and correlation is not None:
        difference = correlated(score, correlation)
    problem, proof, judgment = costs
    cost = call_cost(opened[0].folder)
    unit = "USD" if proof is not None or judgment is not None else None if cost is None else cost.unit
    told = (1.0, 1.0) if cost is None or unit is None else (cost.per_proof, cost.per_judgment)
    prices = Prices(problem, told[0] if proof is None else proof, told[1] if judgment is None else judgment, r)
    count, samples = values[0].shape
    said = f"pilot {' and '.join(arrays)}: {count} problems, {samples} samples, score {score.share:.3f}"
    return _Basis(said, score, difference, values[0], prices, unit)


def _designs(basis: _Basis, most: int) -> list[dict[str, Any]]:
    """What some designs give: a fifth, half and all of the problems, one to sixteen samples."""
    from proverbench.metrics.planning import Design

    counts = dict.fromkeys(max(2, round(most * part)) for part in (0.2, 0.5, 1))
    return [_row(basis, Design(problems, samples)) for problems in counts for samples in (1, 2, 4, 8, 16)]


def _row(basis: _Basis, design: "Design") -> dict[str, Any]:
    from proverbench.metrics.inference import six
    from proverbench.metrics.planning import detectable, jackknife_range

    n, s = design.problems, design.samples
    low, high = basis.score.ends(n, s)
    row: dict[str, Any] = {"problems": n, "samples": s, "low": six(low), "high": six(high), "width": six(high - low)}
    if basis.values is not None and len(basis.values) > 2:
        row["width_range"] = [six(end) for end in jackknife_range(basis.values, lambda found: found.width(n, s))]
    if basis.difference is not None:
        row["detectable"] = six(detectable(basis.difference, n, s))
    row["cost"] = six(basis.prices.of(n, s))
    return row


def _answers(
    basis: _Basis,
    most: int,
    *,
    precision: float | None,
    difference: float | None,
    wanted: float,
    budget: float | None,
) -> list[dict[str, Any]]:
    from proverbench.metrics.planning import affordable, cheapest, power

    found: list[dict[str, Any]] = []

    def answer(question: str, design: "Design | None") -> None:
        found.append({"question": question, "design": None if design is None else _row(basis, design)})

    if precision is not None:
        width = 2 * precision / 100
        aim = cheapest(lambda n, s: basis.score.width(n, s) <= width, basis.prices, most)
        answer(f"the cheapest way to ±{precision:g} points", aim)
    if difference is not None and basis.difference is not None:
        gap = basis.difference
        aim = cheapest(lambda n, s: power(gap, difference / 100, n, s) >= wanted, basis.prices, most)
        answer(f"the cheapest way to show {difference:g} points with a power of {wanted:.0%}, for each run", aim)
    if budget is not None:
        designs = affordable(basis.prices, budget, most)
        aim = min(designs, key=lambda d: basis.score.variance(d.problems, d.samples), default=None)
        answer(f"the most precise way to spend {budget:g} {basis.unit or 'calls'}", aim)
    return found


def _show(found: dict[str, Any]) -> None:
    from proverbench.cli.tables import console, number, plain, show, table

    out = console()
    out.print(plain(f"{found['basis']}; R = {found['repeats']}"), style="bold")
    parts = found["components"]
    total = parts["between"] + parts["within"]
    alike = parts["between"] / total if total else 0.0
    out.print(f"Problems make {alike:.0%} of the variance of a proof's score; more samples cannot reduce that part.")
    out.print()
    unit = {"USD": "US dollars", "tokens": "tokens", None: "calls"}[found["unit"]]
    has_range = any("width_range" in row for row in found["designs"])
    has_gap = any("detectable" in row for row in found["designs"])
    columns = ["problems", "samples", "95 % interval", "width", *(["likely width"] if has_range else [])]
    columns += [*(["shown at 80 %"] if has_gap else []), unit]
    shown = table("What to expect", *columns)

    def cells(row: dict[str, Any]) -> list[str]:
        likely = row.get("width_range")
        return [
            str(row["problems"]),
            str(row["samples"]),
            f"{number(row['low'])} to {number(row['high'])}",
            number(row["width"]),
            *([f"{number(likely[0])} to {number(likely[1])}" if likely else ""] if has_range else []),
            *([number(row["detectable"])] if has_gap else []),
            f"{row['cost']:,.2f}" if found["unit"] == "USD" else f"{row['cost']:,.0f}",
        ]

    for row in found["designs"]:
        shown.add_row(*cells(row))
    show(out, shown)
    for answer in found["answers"]:
        row = answer["design"]
        out.print(plain(f"{answer['question'][0].upper()}{answer['question'][1:]}:"))
        if row is None:
            out.print("  none: not even all problems with 64 samples; more problems are needed")
            continue
        cost = f"{row['cost']:,.2f}" if found["unit"] == "USD" else f"{row['cost']:,.0f}"
        reach = f"{number(row['low'])} to {number(row['high'])}"
        out.print(f"  {row['problems']} problems × {row['samples']} samples: {cost} {unit}, 95 % interval {reach}")
