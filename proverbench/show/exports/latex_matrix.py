"""A study's matrix in LaTeX: policies by judges, as judged and corrected. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.show.exports.latex_table import latex_text


def latex_matrix(found: Mapping[str, Any]) -> str:
    """A booktabs table of a study's scores in percent, with 95 % intervals.

    Args:
        found: As of :func:`proverbench.show.study.study_tables`.
    """
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    rows = {(row["policy"], row["judge"]): row for row in found["runs"]}
    policies, judges = sorted({policy for policy, _ in rows}), sorted({judge for _, judge in rows})
    metrics = sorted({row["metric"] for row in found["runs"]})
    sizes = sorted({f"{row['rows']} problems, S = {row['samples']}, R = {row['repeats']}" for row in found["runs"]})
    yield f"% study {found['study']}, split {found['split']}; needs \\usepackage{{booktabs}}".replace("\n", " ")
    for (policy, judge), row in rows.items():
        yield f"% {policy}--{judge}: value {row['value']}, complete {row['complete']}"
    yield r"\begin{table}"
    yield r"\centering"
    yield r"\begin{tabular}{l" + "r" * len(judges) + "}"
    yield r"\toprule"
    yield "Policy & " + " & ".join(map(latex_text, judges)) + r" \\"
    yield r"\midrule"
    for policy in policies:
        yield " & ".join([latex_text(policy), *(_cell(rows.get((policy, judge))) for judge in judges)]) + r" \\"
    if any(row["corrected"] is not None and "value" in row["corrected"] for row in rows.values()):
        yield r"\midrule"
        yield rf"\multicolumn{{{len(judges) + 1}}}{{l}}{{corrected by each judge's calibration}} \\"
        for policy in policies:
            cells = [_cell((rows.get((policy, judge)) or {}).get("corrected")) for judge in judges]
            yield " & ".join([latex_text(policy), *cells]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    what = latex_text(f"{', '.join(metrics)} in percent, 95 % intervals, by judge; {' or '.join(sizes)}.")
    yield rf"\caption{{{what}}}"
    yield r"\end{table}"


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or row.get("value") is None:
        return "--"
    interval = row.get("interval") or {}
    ends = "" if interval.get("low") is None else f" [{100 * interval['low']:.1f}, {100 * interval['high']:.1f}]"
    return f"{100 * row['value']:.1f}{ends}"
