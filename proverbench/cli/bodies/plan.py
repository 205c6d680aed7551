"""What `proverbench plan` does."""

from pathlib import Path

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.plan_shown import show_plan
from proverbench.cli.streams import echo_json, say
from proverbench.errors import UserInputError
from proverbench.run.disk import write_whole
from proverbench.show.plan.basis import Basis, Costs, from_assumptions, from_pilots
from proverbench.show.plan.curves import plan_curves
from proverbench.show.plan.tables import Aims, plan_tables
from proverbench.show.report.planning import plan_page


def plan(
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
    labels: int | None,
    label_file: Path | None,
    label_cost: float,
    proof_cost: float | None,
    judgment_cost: float | None,
    problem_cost: float,
    as_json: bool,
    output: Path | None,
) -> int:
    """Work out a plan, print it, and write its page."""
    if len(pilots) > 2:
        raise UserInputError("plan takes one pilot, or two for their difference")
    if not pilots and share is None:
        raise UserInputError("give a pilot run, or --share (and --icc) to assume: proverbench plan --share 0.4")
    if label_file is not None and (not pilots or labels is None):
        lacking = "the PILOT run whose proofs they are of" if not pilots else "--labels L, how many you would give"
        raise UserInputError(f"--labelled {label_file} needs {lacking}")
    costs = Costs(problem_cost, proof_cost, judgment_cost, label_cost)
    count = labels or 0
    if pilots:
        basis = from_pilots(
            pilots, correlation=correlation, repeats=repeats, costs=costs, labels=count, label_file=label_file
        )
    else:
        basis = from_assumptions(share or 0.0, icc, correlation, repeats or 8, costs, count)
    _check(basis, difference, budget)
    aims = Aims(most, labels, precision, difference, wanted, budget)
    found = plan_tables(basis, aims)
    if as_json:
        echo_json(found)
    else:
        show_plan(found)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_whole(output, plan_page(found, plan_curves(basis, aims)).encode())
        say(f"wrote {output}; open it in any browser")
    return EXIT_COMPLETE


def _check(basis: Basis, difference: float | None, budget: float | None) -> None:
    if difference is not None and basis.difference is None:
        raise UserInputError("--difference needs two pilots, or --correlation of the two runs' problems (0.8, say)")
    if budget is not None and basis.unit != "USD":
        raise UserInputError(
            f"--budget {budget:g} is in US dollars, and what a call costs is not known: give --proof-cost and "
            "--judgment-cost, or state prices in the config of a pilot ([policy.prices], [verifier.prices])"
        )
