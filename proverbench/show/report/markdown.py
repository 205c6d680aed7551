"""A report as Markdown: for pull requests and READMEs."""

from collections.abc import Iterator, Mapping
from typing import Any

from proverbench.benchmark import benchmark_of
from proverbench.metrics.metric import Metric
from proverbench.metrics.registry import every_metric, headlines, headlines_first, unit_note
from proverbench.metrics.shown import split_footnotes
from proverbench.spending.money import used
from proverbench.unseen import visible


def render_markdown(head: Mapping[str, Any]) -> str:
    """Markdown of a report's head (:attr:`proverbench.show.report.build.Report.head`)."""
    return "\n".join(_lines(head)) + "\n"


def _lines(head: Mapping[str, Any]) -> Iterator[str]:
    if len(head["runs"]) > 1:
        yield from _boards(head)
    for number, run in enumerate(head["runs"]):
        if number:
            yield ""
        yield from _run(run)
    for comparison in head["comparisons"]:
        yield ""
        yield from _comparison(comparison)
    if head["published"] is not None:
        yield ""
        yield from _published(head)
    if head["facts"] is not None:
        yield ""
        yield from _facts(head["facts"])
    yield ""
    shown = [name for run in head["runs"] for split in run["splits"].values() for name in split["metrics"] or ()]
    units = f" ({unit_note(shown)})" if unit_note(shown) else ""
    yield f"Scores are in percent{units}, with 95 % intervals over problems; made by {head['made_by']}."


def _boards(head: Mapping[str, Any]) -> Iterator[str]:
    """A table for the runs that may stand in one, and what must be said of them."""
    runs = {run["name"]: run for run in head["runs"]}
    for board in head["boards"]:
        benchmark, columns = benchmark_of(board["task"]), headlines(board["task"])
        known = every_metric(board["task"])
        yield f"### {benchmark.name}: {escape(board['what'])}"
        yield ""
        asked = ["judge", "n", *(["S"] if benchmark.samples else []), "R"]
        rows = []
        for run in (runs[name] for name in board["runs"]):
            models = {role["role"]: role["model"] for role in run["roles"]}
            extent = [run["rows"], *([run["samples"]] if benchmark.samples else []), run["repeats"]]
            figures = [score(run["splits"]["all"], known[metric]) for metric in columns]
            rows.append([escape(run["name"]), escape(models["verifier"]), *map(str, extent), *figures])
        yield from _table(["run", *asked, *(f"`{metric}`" for metric in columns)], rows)
        yield ""
        if board["notes"]:
            yield from (f"- {escape(note)}" for note in board["notes"])
            yield ""
    for sentence in (sentence for sentences in head["apart"].values() for sentence in sentences):
        yield f"- Not to be read beside each other: {escape(sentence)}"
    for common in (common for offers in head["common"].values() for common in offers):
        metric = every_metric("prover")["pessimistic"]
        values = [
            f"{escape(s['run'])} {metric.short(s['value'])}{_within(s['interval'], metric)}" for s in common["scores"]
        ]
        yield (
            f"- At the R = {common['repeats']} that all have, `pessimistic` is: {', '.join(values)} (exact means over "
            f"all subsets of {common['repeats']} judgments)"
        )
    yield ""


def _run(run: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {benchmark_of(run['task']).name}: {escape(run['name'])}" + ("" if run["complete"] else " (UNFINISHED)")
    yield ""
    models = {role["role"]: escape(role["model"]) for role in run["roles"]}
    who = f"{models['verifier']} judges" + (f", {models['meta']} grades the explanations" if run["meta"] else "")
    if benchmark_of(run["task"]).samples:
        extent = f"{run['rows']} problems × {run['samples']} proofs × {run['repeats']} judgments"
        yield f"{models['policy']} writes, {who}; {extent}."
    else:
        yield f"{who}; {run['rows']} proofs × {run['repeats']} judgments."
    yield ""
    splits = {name: split for name, split in run["splits"].items() if split["selected_rows"] or name == "all"}
    rows = [["records", *(f"{s['completed_records']}/{s['expected_records']}" for s in splits.values())]]
    known = every_metric(run["task"])
    rows += [
        [f"`{metric}`", *(_with_fraction(split, known[metric]) for split in splits.values())]
        for metric in dict.fromkeys([*headlines_first(run["task"]), *known])
        if any(metric in (split["metrics"] or ()) for split in splits.values())
    ]
    yield from _table(["", *map(escape, splits)], rows)
    yield ""
    yield from _footnotes(run)


def _footnotes(run: Mapping[str, Any]) -> Iterator[str]:
    for role, reasons in run["invalid"].items():
        total, asked = sum(reasons.values()), run["answered"].get(role, 0)
        if not total:
            continue
        listed = ", ".join(f"`{reason}` {count}" for reason, count in sorted(reasons.items(), key=lambda r: -r[1]))
        share = f" ({100 * total / asked:.1f} %)" if asked else ""
        yield f"- invalid, {role}: {total} of {asked}{share}: {listed}"
    for role, count in run["missing"].items():
        yield f"- unanswered, {role}: {count}"
    if run["closed_unanswered"]:
        yield f"- {run['closed_unanswered']} unanswered calls were closed as zero credit (`--final`)"
    rates = {
        escape(name): {f"`{metric}`": part for metric, part in split["intervals"].items()}
        for name, split in run["splits"].items()
    }
    yield from (f"- {text}" for text in split_footnotes(rates))
    yield from (f"- {escape(warning)}" for warning in run["warnings"])
    yield from (f"- accepted as lost: {escape(loss)}" for loss in run["losses"])
    if spent := used(run["usage"], run["calls"]):
        yield f"- used {escape(spent)}"
    own = ", ".join(role["role"] for role in run["roles"] if role["own_prompt"])
    yield (
        f"- {f'prompts of proverbench: {own}' if own else 'prompts of the user'}; "
        f"reference solution {'shown' if run['use_reference_solution'] else 'not shown'}; "
        f"neutralising {'on' if run['neutralise'] else 'off'}"
    )
    yield f"- run `{run['run_id'][:16]}`, data SHA-256 `{run['data_sha256'][:16]}`"
    yield f"- to quote, and to check with `proverbench verify-run`: `{run['quote']}`"


def _comparison(comparison: Mapping[str, Any]) -> Iterator[str]:
    yield f"#### {benchmark_of(comparison['task']).name}, {escape(comparison['split'])}: paired differences"
    yield ""
    if comparison["reason"]:
        yield f"Not compared: {escape(comparison['reason'])}"
        return
    known = every_metric(comparison["task"])
    yield from _table(
        ["metric", "first", "second", "difference", "interval", "p (Holm)", ""],
        [
            [
                f"`{row['metric']}`",
                escape(row["first"]),
                escape(row["second"]),
                ("+" if row["difference"] >= 0 else "") + known[row["metric"]].short(row["difference"]),
                "–" if row["interval"] is None else " to ".join(_ends(row["interval"], known[row["metric"]])),
                "< 0.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}",
                escape(row["verdict"]),
            ]
            for row in comparison["pairs"]
        ],
    )
    if comparison["warnings"]:
        yield ""
        yield from (f"- {escape(warning)}" for warning in comparison["warnings"])


def _facts(facts: Mapping[str, Any]) -> Iterator[str]:
    """Another benchmark's published figures."""
    yield f"#### Published figures: {facts['title']} ({facts['source']})"
    yield ""
    yield f"{facts['what']}. Facts beside the runs above, not comparable with them: other problems, judges and prompts."
    yield ""
    yield from _table(
        ["who", "figure", "value"], [[fact["who"], fact["what"], fact["value"]] for fact in facts["figures"]]
    )


def _published(head: Mapping[str, Any]) -> Iterator[str]:
    published = head["published"]
    yield f"#### Published results ({published['source']})"
    yield ""
    yield "Not comparable with the runs above unless prompts, judge, repeats and problems are the published ones."
    for name, why in published["differences"].items():
        if why:
            yield f"- {escape(name)}: {'; '.join(why)}"
    yield ""
    columns = [name for name in published["rows"][0] if name not in ("model", "group")]
    yield from _table(
        ["model", *columns],
        [[escape(row["model"]), *(f"{100 * row[name]:.1f}" for name in columns)] for row in published["rows"]],
    )


def _with_fraction(split: Mapping[str, Any], metric: Metric) -> str:
    """The score, and the exact fraction that it is."""
    fraction = split["fractions"].get(metric.name, "")
    simple = fraction if "(" not in fraction and (split["metrics"] or {}).get(metric.name) is not None else ""
    return f"{score(split, metric)} {simple}".rstrip()


def score(split: Mapping[str, Any], metric: Metric) -> str:
    """``54.1 [45.9, 63.0]`` in the metric's short form; a dash where there is none."""
    value = (split["metrics"] or {}).get(metric.name)
    if value is None:
        return "–"
    return metric.short(value) + _within(split["intervals"].get(metric.name), metric)


def _within(interval: Mapping[str, Any] | None, metric: Metric) -> str:
    return "" if interval is None else f" [{', '.join(_ends(interval, metric))}]"


def _ends(interval: Mapping[str, Any], metric: Metric) -> list[str]:
    return [metric.short(interval["low"]), metric.short(interval["high"])]


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---'] + ['---:'] * (len(head) - 1))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def escape(text: str) -> str:
    """Text that Markdown shows as it is: names of runs and models may hold anything."""
    flat = visible(" ".join(str(text).split()))
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#~$!" else c for c in flat).replace("&", "&amp;")
