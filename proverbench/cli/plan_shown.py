"""How `proverbench plan` shows what it found."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.cli.tables import console, number, plain, show, table


def show_plan(found: Mapping[str, Any]) -> None:
    """Print what a plan found."""
    out = console()
    out.print(plain(f"{found['basis']}; R = {found['repeats']}"), style="bold")
    for line in _spoken(found):
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
        out.print(f"  {row['problems']} problems × {_samples(row['samples'])}: {cost} {unit}")
        out.print(f"  95 % interval of the score: {reach}")
        if "labelled_low" in row:
            out.print(f"    corrected by labels: {number(row['labelled_low'])} to {number(row['labelled_high'])}")


def _spoken(found: Mapping[str, Any]) -> Iterator[str]:
    """What the components say, a sentence a line."""
    for name, what in (
        ("components", "a proof's score"),
        ("difference_components", "the difference of two runs' proofs"),
    ):
        parts = found[name]
        if parts is None:
            continue
        total = parts["between"] + parts["within"]
        alike = parts["between"] / total if total else 0.0
        yield f"Problems make {alike:.0%} of the variance of {what}; more samples cannot reduce that part."
        if parts["best_samples"] is not None:
            yield f"At these costs {_samples(parts['best_samples'])} of each problem buy most for it."
    if found["components"]["best_samples"] is None:
        yield "New problems cost nothing here: ask all there are once before you ask any twice."
    single = found["judgment_components"]
    total = sum(single[part] for part in ("problem", "sample", "judgment")) if single else 0.0
    if single and total > 0:
        shares = ", ".join(f"{part}s {single[part] / total:.0%}" for part in ("problem", "sample", "judgment"))
        best = f"; S {single['best_samples']}, R {single['best_repeats']} buy most" if "best_samples" in single else ""
        yield f"Variance of a single judgment's acceptance: {shares}{best}."
    if found["score_by_repeats"] and len(found["score_by_repeats"]) > 1:
        scores = ", ".join(f"{row['repeats']}: {row['score']:.3f}" for row in found["score_by_repeats"])
        yield f"Score to expect by R: {scores}."
    if found["labels"] is not None:
        drawn = ", ".join(f"{part['labels']} where {part['stratum']}" for part in found["labels"]["strata"])
        last = found["designs"][-1]
        yield (
            f"{found['labels']['count']} labelled proofs ({drawn} of the judgments accept) and {last['problems']} "
            f"problems × {_samples(last['samples'])} give at the widest {last['labelled_low']:.3f} to "
            f"{last['labelled_high']:.3f}."
        )


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"
