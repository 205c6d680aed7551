"""A metric, and an export format, that nothing but its own value names: run, scored, shown, compared, exported."""

import csv
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from proverbench.metrics import registry
from proverbench.metrics.metric import Metric, Rate, harmonic_mean
from proverbench.run.disk import write_whole
from proverbench.show.exports import registry as formats
from proverbench.show.exports.export import Export, Request
from proverbench.show.report.build import open_runs
from tests.support import problem_rows, write_config, write_rows

LENIENT = Metric(
    name="lenient",
    benchmark="prover",
    label="Lenient score",
    heading="Len. score",
    help="Harmonic mean of two made-up shares of proofs.",
    rates=(
        Rate("half_accept", lambda a: 2 * a.accepts >= a.repeats, lambda a: a.each),
        Rate("one_accepts", lambda a: a.accepts >= 1, lambda a: a.each),
    ),
    g=harmonic_mean,
    headline=3,
    in_papers=True,
)


def harmonic_by_hand(run: Path) -> float:
    """The made-up metric, a second way: from records.jsonl."""
    records = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    votes = [sum(j["valid"] and j["first_error_step"] == -1 for j in record["judgments"]) for record in records]
    repeats = json.loads((run / "manifest.json").read_text())["extent"]["verifier_repeats"]
    half, one = (sum(holds) / len(votes) for holds in ([2 * v >= repeats for v in votes], [v >= 1 for v in votes]))
    return 2 * half * one / (half + one)


@pytest.fixture
def lenient(monkeypatch):
    monkeypatch.setattr(registry, "METRICS", (*registry.METRICS, LENIENT))


@pytest.mark.usefixtures("lenient")
class TestMetric:
    def test_a_run_scores_it(self, command, server, tmp_path):
        write_rows(tmp_path / "problems.jsonl", problem_rows(6))
        write_config(tmp_path / "c.toml", server.base_url)
        asked = ("--data", "problems.jsonl", "--config", "c.toml", "--samples", "2", "--verifier-repeats", "2")
        ended = command("run", *asked, "--output", "r")
        assert ended.code == 0
        split = json.loads(Path("r/summary.json").read_text())["splits"]["all"]
        assert split["metrics"]["lenient"] == pytest.approx(harmonic_by_hand(Path("r")), abs=1e-15)
        assert split["intervals"]["lenient"]["low"] <= split["metrics"]["lenient"]
        assert split["bounds"]["lenient"]["high"] >= split["metrics"]["lenient"]
        assert re.search(r"^lenient +0\.\d{3}", ended.out, re.MULTILINE)

    def test_score_adds_it_to_a_saved_run_and_inspect_shows_it(self, command, saved, tmp_path):
        shutil.copytree(saved / "p1", tmp_path / "p1")
        assert "lenient" not in json.loads(Path("p1/summary.json").read_text())["splits"]["all"]["metrics"]
        assert command("score", "p1").code == 0
        scored = json.loads(Path("p1/summary.json").read_text())["splits"]["all"]["metrics"]["lenient"]
        assert scored == pytest.approx(harmonic_by_hand(Path("p1")), abs=1e-15)
        assert f"{scored:.3f}" in re.search(r"^lenient .*$", command("inspect", "p1").out, re.MULTILINE)[0]

    def test_compare_takes_it_among_the_headlines(self, command, saved):
        result = json.loads(command("compare", saved / "p1", saved / "p2", "--json").out)
        (row,) = [row for row in result["pairs"] if row["metric"] == "lenient"]
        assert row["first_value"] == pytest.approx(harmonic_by_hand(saved / "p1"), abs=1e-11)
        assert row["second_value"] == pytest.approx(harmonic_by_hand(saved / "p2"), abs=1e-11)
        assert "lenient" in command("compare", saved / "p1", saved / "p2", "--metric", "lenient").out

    def test_the_report_names_it(self, command, saved, tmp_path):
        value = harmonic_by_hand(saved / "p1")
        with open_runs([saved / "p1", saved / "p2"]) as report:
            (said,) = [metric for metric in report.head["metrics"]["prover"] if metric["name"] == "lenient"]
            assert said == {
                "name": "lenient",
                "label": "Lenient score",
                "heading": "Len. score",
                "help": "Harmonic mean of two made-up shares of proofs.",
                "unit": "share",
                "range": [0.0, 1.0],
                "better": "higher",
                "headline": 3,
            }
            assert {row["metric"] for row in report.head["comparisons"][0]["ranks"]} >= {"lenient"}
        page = command("report", saved / "p1", "--format", "md", "-o", "p1.md")
        assert page.code == 0
        assert f"| `lenient` | {100 * value:.1f} [" in Path("p1.md").read_text()

    def test_it_is_exported(self, command, saved):
        value = harmonic_by_hand(saved / "p1")
        assert command("export", saved / "p1", "--to", "csv", "-o", "out").code == 0
        with Path("out/scores.csv").open(newline="") as file:
            (row,) = [r for r in csv.DictReader(file) if (r["split"], r["metric"]) == ("all", "lenient")]
        assert float(row["value"]) == pytest.approx(value, abs=1e-15)
        assert float(row["low"]) <= value <= float(row["high"])
        made = command("export", saved / "p1", "--to", "latex").out
        assert r"& Len.\ score" in made
        assert f"& {100 * value:.1f}" in made

    def test_its_name_is_offered_for_one_that_is_almost_it(self, command, saved):
        ended = command("export", saved / "p1", "--to", "latex", "--metric", "leniant")
        assert ended.code == 2
        assert "--metric leniant: no such metric; did you mean lenient?" in ended.err


def write_names(request: Request):
    """The made-up format: a line for each proof and its score."""
    request.claim(request.output)
    lines = [
        f"{name} {row.key} {row.score}\n" for name, run in request.loaded.items() for row in run.proofs.itertuples()
    ]
    write_whole(request.output, "".join(lines[: request.choose]).encode())
    yield f"{request.output}: {len(lines[: request.choose])} lines"


NAMES = Export(
    name="names",
    extension="txt",
    help="made up for a test",
    place=Path("names.txt"),
    write=write_names,
    options=frozenset({"choose"}),
)


class TestExport:
    @pytest.fixture(autouse=True)
    def known(self, monkeypatch):
        monkeypatch.setattr(formats, "EXPORTS", (*formats.EXPORTS, NAMES))
        monkeypatch.delitem(sys.modules, "proverbench.cli.export", raising=False)  # its options are made when it loads

    def test_it_is_written(self, command, saved):
        ended = command("export", saved / "p1", saved / "p2", "--to", "names")
        assert (ended.code, ended.out) == (0, "names.txt: 96 lines\n")
        assert Path("names.txt").read_text().startswith("p1 p0/0 ")
        assert command("export", saved / "p1", "--to", "names").code == 2  # it is there already
        assert command("export", saved / "p1", "--to", "names", "--force", "--choose", "3").code == 0
        assert len(Path("names.txt").read_text().splitlines()) == 3

    def test_options_that_mean_nothing_to_it_are_refused(self, command, saved):
        ended = command("export", saved / "p1", "--to", "names", "--split", "qe")
        assert ended.code == 2
        assert "--split does nothing with --to names" in ended.err

    def test_what_it_needs_is_named(self, command, saved, monkeypatch):
        needy = Export(
            name="needy", extension="x", help="", place=Path("x"), write=write_names, needs="no_such_package"
        )
        monkeypatch.setattr(formats, "EXPORTS", (*formats.EXPORTS, needy))
        monkeypatch.delitem(sys.modules, "proverbench.cli.export", raising=False)
        ended = command("export", saved / "p1", "--to", "needy")
        assert ended.code == 2
        assert "--to needy needs no_such_package: pip install 'proverbench[export]'" in ended.err

    def test_help_and_refusals_list_it(self, command):
        said = " ".join(command("export", "--help").out.split())
        assert "names: made up for a test" in said
        assert "verifierbench, names: N proofs drawn" in said
        assert "'names'" in command("export", "x", "--to", "nams").err
