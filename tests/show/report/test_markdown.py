import re
import shutil

import pytest

from proverbench.metrics.registry import every_metric
from proverbench.run.folder import write_derived
from proverbench.show.report.build import open_runs
from proverbench.show.report.markdown import escape, render_markdown, score
from tests.run.made_runs import PROOF, call, make_run, problem, verdict
from tests.show.report.conftest import DATA
from tests.support import write_calls


def markdown(*runs, **options):
    with open_runs(runs, **options) as report:
        return render_markdown(report.head)


def test_summary_of_a_run():
    text = markdown(DATA / "prover")
    assert text.startswith("### ProverBench: prover\n")
    assert "policy-prover writes, verifier-prover judges; 13 problems × 2 proofs × 8 judgments." in text
    assert re.search(r"\| `pessimistic` \| \d+\.\d \[\d+\.\d, \d+\.\d\]", text)
    assert re.search(r"- invalid, verifier: \d+ of \d+ \(\d\.\d %\): `", text)
    assert "not comparable with published tables" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in tables}) == 1


def test_refusals_are_named_by_their_reason(tmp_path):
    lines = [
        call("policy/a/0/0", "", refused="content_policy"),
        call("policy/b/0/0", PROOF),
        call("verifier/b/0/0", "", refused="context_length"),
        call("policy/c/0/0", PROOF),
        call("verifier/c/0/0", verdict("none")),
        call("policy/d/0/0", PROOF),
        call("verifier/d/0/0", verdict("none")),
    ]
    sources = make_run(tmp_path / "run", [problem(name) for name in "abcd"], lines)
    write_derived(sources)
    sources.close()
    text = markdown(tmp_path / "run")
    assert "- invalid, policy: 1 of 4 (25.0 %): `refused:content_policy` 1" in text
    (line,) = [line for line in text.splitlines() if line.startswith("- invalid, verifier: ")]
    before, _, reasons = line.partition("): ")
    assert before == "- invalid, verifier: 3 of 3 (100.0 %"
    assert sorted(reasons.split(", ")) == ["`bad_index` 2", "`refused:context_length` 1"]


def test_several_runs_and_the_published_table(tmp_path):
    shutil.copytree(DATA / "judge", tmp_path / "other")
    text = markdown(DATA / "judge", tmp_path / "other", published="advancedmathbench")
    assert "#### VerifierBench, all: paired differences" in text
    assert "| no difference shown |" in text
    assert "Not comparable with the runs above" in text
    assert "| GPT-5.5-xhigh | 64.5 | 48.9 |" in text


def test_an_unfinished_run_is_marked(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(DATA / "prover", run)
    lines = (run / "calls.jsonl").read_bytes().splitlines(keepends=True)
    write_calls(run, lines[:20])
    text = markdown(run)
    assert "### ProverBench: run (UNFINISHED)" in text
    assert "- unanswered, verifier: " in text


@pytest.mark.parametrize(
    ("metrics", "interval", "expected"),
    [
        pytest.param(None, None, "–", id="incomplete"),
        pytest.param({"rough_tpr": None}, None, "–", id="undefined"),
        pytest.param({"rough_tpr": 0.541}, None, "54.1", id="no interval"),
        pytest.param({"rough_tpr": 0.5}, {"low": 0.4, "high": 0.61}, "50.0 [40.0, 61.0]", id="interval"),
        pytest.param({"mae_points": 3.333}, {"low": 2.5, "high": 4}, "3.33 [2.50, 4.00]", id="points"),
        pytest.param({"pearson": -0.028}, {"low": -0.3, "high": 0.25}, "-0.028 [-0.300, 0.250]", id="number"),
    ],
)
def test_scores(metrics, interval, expected):
    name = next(iter(metrics or {"rough_tpr": None}))
    assert score({"metrics": metrics, "intervals": {name: interval}}, every_metric("verifier")[name]) == expected


def test_names_stay_text():
    assert escape("a|b\n<b> *x* [y](z)") == "a\\|b \\<b\\> \\*x\\* \\[y\\](z)"
