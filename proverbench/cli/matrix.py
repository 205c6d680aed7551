"""A study's matrix as a terminal shows it."""

from pathlib import Path

from proverbench.cli.streams import OutputError, discard_unwritten, say
from proverbench.show.matrix import Matrix, Scored, matrix_of


def print_matrix(study: Path) -> bool:
    """Scores with intervals, ranks by each judge, how far judges agree on the order, and costs; on stdout.

    Returns:
        Whether all could be printed. A reader who left does not count as a fault.
    """
    try:
        _print(matrix_of(study))
    except OutputError as exc:
        discard_unwritten()
        if not exc.reader_left:
            say(f"error: cannot print the matrix: {exc.reason}; all is saved in {study}")
        return exc.reader_left
    return True


def _print(matrix: Matrix) -> None:
    from proverbench.cli.tables import console, plain, show, table
    from proverbench.metrics.shown import footnotes

    out = console()
    every = [*matrix.runs.values(), *matrix.calibrations.values()]
    names = sorted({run.metric for run in matrix.runs.values()})
    out.print(plain(f"Study {matrix.study}: {len(matrix.policies)} policies, {len(matrix.judges)} judges"))
    for run in list(matrix.runs.values())[:1]:
        extent = run.manifest.extent
        out.print(plain(f"{extent.rows} problems, S = {extent.samples}, R = {extent.verifier_repeats}"))
    if matrix.runs:
        made = table(
            f"{', '.join(names)}, with 95 % intervals (rank of the policy under this judge)", "policy", *matrix.judges
        )
        for policy in matrix.policies:
            made.add_row(policy, *(_cell(matrix, policy, judge) for judge in matrix.judges))
        show(out, made)
    if matrix.calibrations:
        made = table("Calibration: how well each judge finds errors", "judge", "metric", "score")
        for judge, run in matrix.calibrations.items():
            made.add_row(judge, run.metric, _value(run))
        show(out, made)
    for first, second, tau, policies in matrix.agreements():
        out.print(plain(f"order of {policies} policies by {first} and by {second}: Kendall's tau-b {tau:.2f}"))
    for footnote in footnotes((run.cell.name, run.interval) for run in every):
        out.print(footnote)
    if any(run.cost_usd is not None for run in every):
        whole = sum(run.cost_usd or 0.0 for run in every)
        out.print(f"cost of all runs: ${whole:.2f}")


def _cell(matrix: Matrix, policy: str, judge: str) -> str:
    run = matrix.runs.get((policy, judge))
    if run is None:
        return "-"
    rank = matrix.ranks(judge).get(policy)
    return f"{_value(run)}{f' ({rank:g})' if rank is not None else ''}"


def _value(run: Scored) -> str:
    from proverbench.cli.tables import with_ends

    if run.value is None:
        done, wanted = run.done
        return f"{done}/{wanted} records"
    return str(with_ends(run.value, run.interval))
