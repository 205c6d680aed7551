"""`proverbench correct`."""

from pathlib import Path
from typing import Any

import click

from proverbench.cli.common import HandlesErrors


@click.command(cls=HandlesErrors, name="correct", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="VERIFIERBENCH_RUN",
    help="A VerifierBench run of the same judge, with at least as many repeats.",
)
@click.option(
    "--labels", type=click.Path(path_type=Path), metavar="FILE", help="Human labels of this run's own proofs."
)
@click.option("--split", default="all", show_default=True, help="all, ugd, qe or another domain.")
@click.option(
    "--calibration-split", default="all", show_default=True, help="Of the calibration: proofs like those of the run."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(**given: Any) -> int:
    """Correct a ProverBench RUN's score for its judge's own error; calls nothing.

    With --calibration: by how often the rule "all R judgments accept" is right on annotated proofs (Rogan-Gladen); this
    assumes that the judge errs alike on both. With --labels: by people's labels of some of this run's own proofs,
    post-stratified by the judge's verdicts; this assumes nothing of the judge. With both, a test says whether the judge
    errs here as it does there. Intervals carry the uncertainty of everything that is estimated. The formulas are in
    docs/metrics.md, "Correcting for the judge".

    \b
    Label in the browser:  proverbench label runs/NAME --choose 40
    Or on a sheet:         proverbench export runs/NAME --to verifierbench --choose 40 -o sheet.jsonl
    """
    from proverbench.cli.bodies.correct import correct

    return correct(**given)
