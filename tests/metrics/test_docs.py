"""docs/metrics.md says what the code does: the same metrics, the same codes, and examples that run."""

import re
from pathlib import Path

import pytest

from proverbench.benchmark import BENCHMARKS
from proverbench.metrics import uncertainty, voting
from proverbench.metrics.agreement import human_agreement, panel_agreement, repeat_agreement
from proverbench.metrics.breakdown import FACTORS, LENGTHS, SMALLEST
from proverbench.metrics.comparison import ALPHA, compare_runs
from proverbench.metrics.correction import ENOUGH_LABELS, correct_by_calibration
from proverbench.metrics.metric import SPECIAL, Metric
from proverbench.metrics.registry import METRICS, metrics_of
from proverbench.metrics.scores import score_prover, score_verifier
from proverbench.metrics.shown import LITTLE_EVIDENCE
from proverbench.metrics.strata import LEAST, THREE_STRATA_FROM
from proverbench.protocols.basic_v1 import REASONS
from proverbench.records import LEVEL_SCORES, PROTOCOL
from tests.metrics.made_up import prover_arrays, random_prover, random_verifier, verifier_arrays

PAGE = (Path(__file__).parents[2] / "docs/metrics.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}


def listed(section: str) -> set[str]:
    """First column of the section's tables of metrics."""
    tables = re.findall(r"^\| metric \|.*\n\| ---.*\n((?:\|.*\n)+)", SECTIONS[section], flags=re.MULTILINE)
    return {re.match(r"\| `([^`]+)`", line)[1] for table in tables for line in table.splitlines()}  # type: ignore[index]


def test_published_metrics() -> None:
    assert listed("ProverBench") == set(metrics_of("prover"))
    assert listed("VerifierBench") == set(metrics_of("verifier", meta=False))
    assert listed("Meta-verification") == set(metrics_of("verifier")) - set(metrics_of("verifier", meta=False))
    proved, judged = random_prover(1, 3), random_verifier(1, 3, meta=True)
    assert list(score_prover(proved, samples=3, repeats=4)) == [*BENCHMARKS["prover"].counts, *metrics_of("prover")]
    assert list(score_verifier(judged, repeats=4, meta=True)) == [
        *BENCHMARKS["verifier"].counts,
        *metrics_of("verifier"),
    ]
    for section, task in (("ProverBench", "prover"), ("VerifierBench", "verifier")):
        assert all(f"`{name}`" in SECTIONS[section] for name in BENCHMARKS[task].counts)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.benchmark}-{metric.name}")
def test_range_and_direction_of_every_metric(metric: Metric) -> None:
    low, high = metric.range
    row = rf"^\| `{metric.name}` \| .* \| \[{low:g}, {high:g}\], {metric.better or '0 is unbiased'}( \(.*\))? \|"
    assert re.search(row, SECTIONS[_section(metric)], re.MULTILINE)


def _section(metric: Metric) -> str:
    if metric.needs & SPECIAL:
        return "Grades"
    if "meta" in metric.needs:
        return "Meta-verification"
    return "ProverBench" if metric.benchmark == "prover" else "VerifierBench"


def test_metrics_of_grades() -> None:
    assert listed("Grades") == {metric.name for metric in METRICS if metric.needs & SPECIAL}


def test_derived_metrics() -> None:
    curves = voting.voting_curve(prover_arrays(1, 3))
    curves += voting.voting_curve(verifier_arrays(1, 3))
    assert listed("Voting") == {row["metric"] for row in curves} | {"pass@k"}
    rows = compare_runs({"a": prover_arrays(1, 3), "b": prover_arrays(2, 3)})["pairs"]
    assert listed("Comparing runs") <= set(rows[0])
    arrays = verifier_arrays(1, 3)
    panel = panel_agreement({"a": arrays, "b": arrays})
    agreements = [*repeat_agreement(arrays), *human_agreement(arrays)]
    agreements += [*panel["pairs"], *panel["panel"]]
    assert listed("Agreement") == {row["measure"] for row in agreements}
    corrected = correct_by_calibration(prover_arrays(1, 30, repeats=1), verifier_arrays(1, 60, repeats=1))
    assert listed("Correcting for the judge") - {"corrected", "post_stratified"} <= set(corrected)


def test_every_field_of_an_interval_is_explained() -> None:
    fields = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (.*?) \|", SECTIONS["Intervals"], re.MULTILINE))))
    records = random_prover(1, 5)
    arrays, metrics = prover_arrays(1, 5), score_prover(records, samples=3, repeats=4)
    found, _ = uncertainty.split_uncertainty(arrays, meta=False, metrics=metrics)
    assert fields == {field for interval in found.values() for field in interval}


def test_numbers_on_the_page_are_those_in_the_code() -> None:
    assert f"m is below {LITTLE_EVIDENCE}" in SECTIONS["Intervals"]
    assert f"`p_holm` < {ALPHA}" in SECTIONS["Comparing runs"]
    assert f"at least {ENOUGH_LABELS} of the run's" in SECTIONS["Correcting for the judge"]
    assert f"from R = {THREE_STRATA_FROM} on" in SECTIONS["Correcting for the judge"]
    assert f"at least {LEAST} of each" in SECTIONS["Correcting for the judge"]
    assert f"fewer than\n{SMALLEST} problems" in SECTIONS["Breakdown"]
    assert voting.FOLDS == 5
    assert "four of five folds" in SECTIONS["Voting"]
    assert all(f"`{factor}`" in SECTIONS["Breakdown"] for factor in FACTORS)
    lengths = ", ".join(f"{low}-{high}" if high != low else f"{low}" for low, high in LENGTHS if high is not None)
    assert f"steps: {lengths}, {LENGTHS[-1][0]} and more" in SECTIONS["Breakdown"]
    assert f"`{PROTOCOL}`" in SECTIONS["Validity"]
    for level, score in LEVEL_SCORES.items():
        assert f"{level} {score:g}" in SECTIONS["Meta-verification"]


def test_reason_codes() -> None:
    assert re.findall(r"^\| `([^`]+)` \|", SECTIONS["Reason codes"], re.MULTILINE) == list(REASONS)


def test_links_have_targets() -> None:
    anchors = {re.sub(r"[^\w -]", "", name).strip().lower().replace(" ", "-") for name in SECTIONS}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors
    coverage = (Path(__file__).parents[2] / "docs/coverage.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(metrics\.md#([^)]+)\)", coverage)) <= anchors


@pytest.mark.parametrize("section", [name for name, text in SECTIONS.items() if "```python" in text])
def test_examples_run(section: str) -> None:
    # A section may use what "Symbols" imports, and the imports of sections before it.
    names: dict[str, object] = {}
    for name, text in SECTIONS.items():
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            code = block if name in ("Symbols", section) else "\n".join(re.findall(r"^from .* import .*$", block, re.M))
            exec(compile(code, f"docs/metrics.md, {name}", "exec"), names)
        if name == section:
            return
