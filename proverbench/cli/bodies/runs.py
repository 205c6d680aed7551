"""What ``proverbench runs`` does."""

from pathlib import Path
from typing import Any

from proverbench.cli.common import EXIT_COMPLETE
from proverbench.cli.streams import echo, echo_json
from proverbench.cli.tables import console, number, show, table
from proverbench.errors import UserInputError
from proverbench.show.listing import listing


def runs(folder: Path | None, as_json: bool) -> int:
    """List the saved runs and studies in DIR: what, when, complete, size, score, cost; calls and writes nothing."""
    places = [folder] if folder is not None else [Path("runs"), Path("studies")]
    if folder is not None and not folder.is_dir():
        raise UserInputError(f"{folder} is no folder; give one that holds runs or studies")
    found = [row for place in places if place.is_dir() for row in listing(place)]
    if as_json:
        echo_json(found)
    elif not found:
        echo("no runs here; the first: proverbench run --help")
    else:
        _show(found)
    return EXIT_COMPLETE


def _show(found: list[dict[str, Any]]) -> None:
    out = console()
    made = table("Saved runs", "run", "what", "last used", "complete", "rows", "S", "R", "score", "cost")
    for row in found:
        if row["fault"] is not None:
            made.add_row(row["run"], "damaged", "", "", "", "", "", row["fault"].split("\n")[0], "")
            continue
        cost = "" if row["cost_usd"] is None else f"${row['cost_usd']:.2f}"
        size = [str(row[name]) for name in ("rows", "samples", "repeats")]
        score = "" if row["value"] is None else f"{row['metric']} {number(row['value'])}"
        made.add_row(row["run"], row["what"], row["at"][:16], row["state"], *size, score, cost)
    show(out, made)
