"""A study as a terminal shows it: tables of policies and judges, and what follows from them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console

from proverbench.cli.streams import echo_json
from proverbench.cli.tables import console, plain, show, table, with_ends
from proverbench.metrics.panel import RULES
from proverbench.metrics.shown import footnotes
from proverbench.show.study import study_tables


def show_tables(study: Path, split: str, *, as_json: bool) -> None:
    """All tables of a study; as :func:`proverbench.cli.matrix.show_study`."""
    found = study_tables(study, split=split)
    if as_json:
        echo_json(found)
        return
    out = console()
    rows = found["runs"]
    policies, judges = _names(rows, "policy"), _names([*rows, *found["calibrations"]], "judge")
    out.print(plain(f"Study {study}: {len(policies)} policies, {len(judges)} judges"), style="bold")
    if rows:
        sizes = {f"{row['rows']} problems, S = {row['samples']}, R = {row['repeats']}" for row in rows}
        out.print(plain(f"split {split}: {' or '.join(sorted(sizes))}"))
    for note in found["notes"]:
        out.print(plain(f"note: {note}"), style="yellow")
    out.print()
    _show_scores(out, found, policies, judges)
    _show_corrected(out, found, policies, judges)
    _show_calibrations(out, found)
    _show_panels(out, found)
    _show_crossed(out, found)
    for row in found["orders"]:
        out.print(
            plain(
                f"order of {row['policies']} policies by {row['first']} and by {row['second']}: "
                f"Kendall's tau-b {row['tau_b']:.2f}"
            )
        )
    costs = [row["cost_usd"] for row in [*rows, *found["calibrations"]] if row["cost_usd"] is not None]
    if costs:
        out.print(f"cost of all runs: ${sum(costs):.2f}")
    _show_footnotes(out, found)


def _names(rows: Iterable[dict[str, Any]], key: str) -> list[str]:
    return sorted({row[key] for row in rows})


def _show_scores(out: Console, found: dict[str, Any], policies: list[str], judges: list[str]) -> None:
    if not found["runs"]:
        return
    metrics = ", ".join(_names(found["runs"], "metric"))
    made = table(f"{metrics}, 95 % interval, (rank under this judge)", "policy", *judges)
    cells = {(row["policy"], row["judge"]): _score(row) for row in found["runs"]}
    for policy in policies:
        made.add_row(policy, *(cells.get((policy, judge), "-") for judge in judges))
    show(out, made)


def _score(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return f"{row['done']}/{row['wanted']} records"
    rank = "" if row["rank"] is None else f" ({row['rank']:g})"
    return f"{with_ends(row['value'], row['interval'])}{rank}"


def _show_corrected(out: Console, found: dict[str, Any], policies: list[str], judges: list[str]) -> None:
    cells = {(row["policy"], row["judge"]): row["corrected"] for row in found["runs"] if row["corrected"] is not None}
    if not cells:
        return
    made = table("Corrected by each judge's calibration", "policy", *judges)
    for policy in policies:
        shown = []
        for judge in judges:
            cell = cells.get((policy, judge))
            value = "-" if cell is None else "refused"
            shown.append(with_ends(cell["value"], cell["interval"]) if cell is not None and "value" in cell else value)
        made.add_row(policy, *shown)
    show(out, made)
    for judge in judges:
        reasons = {cell["refused"] for (_, other), cell in cells.items() if other == judge and "refused" in cell}
        for reason in sorted(reasons):
            out.print(plain(f"not corrected, {judge}: {reason}"))
    if any("refused" in cell for cell in cells.values()):
        out.print()


def _show_calibrations(out: Console, found: dict[str, Any]) -> None:
    if not found["calibrations"]:
        return
    made = table("Calibration: each judge on annotated proofs", "judge", "metric", "score")
    for row in found["calibrations"]:
        made.add_row(row["judge"], row["metric"], _score({**row, "rank": None}))
    show(out, made)


def _show_panels(out: Console, found: dict[str, Any]) -> None:
    if not found["panels"]:
        return
    made = table("Panels: the score when so many judges must accept", "policy", "judges", "R", *RULES)
    for policy, panel in found["panels"].items():
        cells = [with_ends(panel["rules"][rule]["value"], panel["rules"][rule]["interval"]) for rule in RULES]
        made.add_row(policy, str(len(panel["judges"])), str(panel["repeats"]), *cells)
    show(out, made)


def _show_crossed(out: Console, found: dict[str, Any]) -> None:
    if not found["crossed"]:
        return
    made = table(
        "Proofs that one judge accepts and another does not", "policy", "accepted by", "not by", "proofs", "of"
    )
    for policy, rows in found["crossed"].items():
        for row in rows:
            made.add_row(policy, row["accepts"], row["rejects"], str(row["proofs"]), str(row["of"]))
    show(out, made)


def _show_footnotes(out: Console, found: dict[str, Any]) -> None:
    named = [(f"{row['policy']}--{row['judge']}", row["interval"]) for row in found["runs"]]
    named += [(f"calibration/{row['judge']}", row["interval"]) for row in found["calibrations"]]
    for footnote in footnotes(named):
        out.print(footnote)
