"""How `proverbench plan` shows what it found."""

from collections.abc import Mapping
from typing import Any

from proverbench.cli.tables import console, number, plain, show, table
from proverbench.show.plan.words import samples


def show_plan(found: Mapping[str, Any]) -> None:
    """Print what a plan found."""
    out = console()
    out.print(plain(f"{found['basis']}; R = {found['repeats']}"), style="bold")
    for line in found["says"]:
        out.print(plain(line))
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
            out.print(plain(f"  none: {answer['reason']}"))
            continue
        cost = f"{row['cost']:,.2f}" if found["unit"] == "USD" else f"{row['cost']:,.0f}"
        reach = f"{number(row['low'])} to {number(row['high'])}"
        out.print(f"  {row['problems']} problems × {samples(row['samples'])}: {cost} {unit}")
        out.print(f"  95 % interval of the score: {reach}")
        if "labelled_low" in row:
            out.print(f"    corrected by labels: {number(row['labelled_low'])} to {number(row['labelled_high'])}")
