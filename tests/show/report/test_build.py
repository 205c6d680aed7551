import json
import re
import shutil
from pathlib import Path

import pytest

from proverbench.errors import RunMismatchError
from proverbench.metrics.shown import shown_interval
from proverbench.records import CallKey
from proverbench.run.folder import RunFolder
from proverbench.show.report.build import open_runs
from proverbench.show.report.index import ACCEPTS, INVALID_FROM, MISSING
from proverbench.show.report.several import published_table
from tests.show.report.conftest import DATA
from tests.support import SHARED, change_manifest, write_calls


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """The ProverBench run as it was after a third of its calls."""
    run = tmp_path / "unfinished"
    shutil.copytree(DATA / "prover", run)
    lines = (run / "calls.jsonl").read_bytes().splitlines(keepends=True)
    write_calls(run, lines[: len(lines) // 3])
    with (run / "calls.jsonl").open("ab") as calls:
        calls.write(b'{"type":"call","role":"veri')
    for derived in ("records.jsonl", "summary.json", "timing.json"):
        (run / derived).unlink()
    return run


def everything(report):
    """The index's proofs beside their texts."""
    chunks = [*report.chunks()]
    columns = report.head["index"]["columns"]
    for row in report.head["index"]["proofs"]:
        item = dict(zip(columns, row, strict=True))
        yield item, chunks[item["chunk"]]["proofs"][item["place"]], chunks[item["chunk"]]


def test_the_index_and_the_texts_agree_with_the_records():
    with open_runs([DATA / "judge"]) as report:
        reasons = report.head["index"]["reasons"]
        seen = {item["key"]: (item, proof) for item, proof, _ in everything(report)}
        folder = RunFolder(DATA / "judge")
        records = list(folder.records())
        assert len(seen) == len(records)
        for record in records:
            item, proof = seen[record.key]
            assert proof["steps"] == record.steps
            assert proof["annotation"]["first"] == record.first_error_step == item["label"]
            [[number, why, marks]] = item["runs"]
            assert (number, why) == (0, None)
            for judgment, mark, shown in zip(record.judgments, marks, proof["runs"][0]["judgments"], strict=True):
                if judgment.valid:
                    assert mark == judgment.first_error_step == shown["step"]
                else:
                    assert reasons[INVALID_FROM - mark] == judgment.reason == shown["reason"]
                key = CallKey("verifier", record.proof_id, 0, judgment.repeat)
                assert shown["reply"] == folder.call(key).text
                assert proof["runs"][0]["prompt"] == folder.prompt(key)
                assert shown["meta"]["level"] == judgment.meta.level
        folder.close()


def test_the_head_is_the_summary_and_recomputes_nothing():
    with open_runs([DATA / "prover"]) as report:
        run = report.head["runs"][0]
    summary = json.loads((DATA / "prover" / "summary.json").read_bytes())
    for name, split in summary["splits"].items():
        assert run["splits"][name]["metrics"] == split["metrics"]
        for metric, interval in split["intervals"].items():
            shown = run["splits"][name]["intervals"][metric]
            assert (shown["low"], shown["high"]) == shown_interval(interval)
    assert run["invalid"] == summary["invalid"]
    assert run["missing"] == {}
    curve = [row for row in run["splits"]["all"]["plots"]["voting"] if "pessimistic" in row["rules"]]
    assert curve[-1]["value"] == pytest.approx(summary["splits"]["all"]["metrics"]["pessimistic"])
    assert run["splits"]["all"]["plots"]["cost_unit"] == "USD"


def test_the_head_is_json_without_nan_secrets_or_paths():
    with open_runs([DATA / "prover", DATA / "judge"], published="advancedmathbench") as report:
        text = json.dumps(report.head, allow_nan=False) + "".join(
            json.dumps(c, allow_nan=False) for c in report.chunks()
        )
    assert not re.search(r"/tmp|/home|127\.0\.0\.1|api_key", text)


def test_an_unfinished_run_says_what_is_missing(unfinished):
    with open_runs([unfinished]) as report:
        run = report.head["runs"][0]
        assert not run["complete"]
        assert run["splits"]["all"]["metrics"] is None
        assert "plots" not in run["splits"]["all"]
        marks = [mark for item, *_ in everything(report) for mark in item["runs"][0][2]]
        waiting = [item for item, *_ in everything(report) if item["runs"][0][1] == "pending"]
        assert MISSING in marks
        assert ACCEPTS in marks
        folder = RunFolder(unfinished)
        answered = [line.role for line in folder.calls()]
        folder.close()
        assert run["missing"]["policy"] == len(waiting) == 26 - answered.count("policy")
        invalid = sum(1 for item, *_ in everything(report) if item["runs"][0][1] not in (None, "pending"))
        assert run["missing"]["verifier"] == (26 - invalid) * 8 - answered.count("verifier")


def test_a_run_closed_with_final_tells_how_many_calls_count_as_nothing(unfinished, command):
    ended = command("run", "--resume", unfinished, "--final")
    assert ended.code == 0, ended.err
    with open_runs([unfinished]) as report:
        run = report.head["runs"][0]
        assert run["complete"]
        assert run["closed_unanswered"] > 0
        assert "unanswered" in report.head["index"]["reasons"]
        assert {"plots"} <= set(run["splits"]["all"])


def test_runs_that_judged_the_same_proof_share_it(tmp_path):
    shutil.copytree(DATA / "judge", tmp_path / "judge")
    with open_runs([DATA / "judge", tmp_path / "judge", DATA / "prover"]) as report:
        names = [run["name"] for run in report.head["runs"]]
        assert names[0] != names[1]
        by_task = {}
        for item, proof, _ in everything(report):
            by_task.setdefault(item["task"], []).append([run for run, *_ in item["runs"]])
            assert [run["run"] for run in proof["runs"]] == by_task[item["task"]][-1]
        assert by_task["verifier"] == [[0, 1]] * 28
        assert by_task["prover"] == [[2]] * 26
        comparison = report.head["comparisons"][0]
        assert comparison["reason"] is None
        assert {row["verdict"] for row in comparison["pairs"]} == {"no difference shown"}
        assert {(row["best"], row["worst"]) for row in comparison["ranks"]} == {(1, 2)}


def test_runs_that_cannot_be_compared_say_why(tmp_path):
    shutil.copytree(DATA / "prover", tmp_path / "fewer")
    change_manifest(tmp_path / "fewer", lambda manifest: manifest["extent"].update(verifier_repeats=4))
    with open_runs([DATA / "prover", tmp_path / "fewer"]) as report:
        [comparison] = report.head["comparisons"]
    assert comparison["reason"].startswith("repeats (")
    assert comparison["runs"] == ["prover", "fewer"]


def test_a_run_without_its_prompts_is_shown_without_them(tmp_path):
    run = tmp_path / "imported"
    shutil.copytree(DATA / "prover", run)
    shutil.rmtree(run / "prompts")
    with open_runs([run]) as report:
        _, proof, _ = next(entry for entry in everything(report) if entry[1]["runs"][0]["judgments"])
        assert proof["runs"][0]["prompt"] is None
        assert proof["runs"][0]["policy"]["reply"]


def test_published_table():
    rows = published_table()
    assert len(rows) == 11
    assert rows[0]["model"] == "GPT-5.5-xhigh"
    assert rows[0]["prover_ug"] == 0.645


@pytest.mark.shared
def test_published_table_is_the_shared_one():
    shared = SHARED / "data" / "published_table1.csv"
    ours = Path(published_table.__code__.co_filename).parent / "published" / "table1.csv"
    assert ours.read_bytes() == shared.read_bytes()


def test_published_results_name_what_differs():
    with open_runs([DATA / "prover", DATA / "judge"], published="advancedmathbench") as report:
        differs = report.head["published"]["differences"]
    assert differs["prover"] == ["proverbench's own prompts (policy, verifier)", "13 rows, published 245"]
    assert "4 judgments a proof, published 1" in differs["judge"]


def test_a_folder_that_is_no_run_and_a_run_given_twice_are_refused(tmp_path):
    with pytest.raises(RunMismatchError, match="no saved run"), open_runs([tmp_path]):
        pass
    with pytest.raises(RunMismatchError, match="given twice"), open_runs([DATA / "judge", DATA / "judge"]):
        pass
