"""Proofs whose label names no step: they count for right and wrong, never for localisation, wherever they are shown."""

import json
from pathlib import Path

import pytest

from proverbench import load, score_verifier
from proverbench.errors import DataError
from proverbench.inputs.data import load_proofs
from proverbench.people.labels import read_labels
from proverbench.protocols.prompts import NOT_LOCATED, Template, render_meta
from proverbench.records import Annotation, Judgment, ProofRecord, Verdict
from tests.support import every, proof_rows, write_config, write_rows


def whole(row: dict, verdict: str) -> dict:
    """The row, judged as a whole."""
    annotation = row["annotation"] | {"first_fatal_error_step": None, "verdict": verdict}
    del annotation["recoverable_error_steps"]
    return {name: value for name, value in row.items() if name not in ("is_correct", "first_error_step")} | {
        "annotation": annotation
    }


def rows(n: int, located: int = 0) -> list[dict]:
    made = proof_rows(n)
    return [row if i < located else whole(row, ("correct", "incorrect")[i % 2]) for i, row in enumerate(made)]


class TestData:
    def test_what_is_derived(self, tmp_path):
        right, wrong = load_proofs(write_rows(tmp_path / "d.jsonl", rows(2))).rows
        assert (right.is_correct, right.first_error_step) == (True, -1)
        assert (wrong.is_correct, wrong.first_error_step) == (False, None)
        assert wrong.annotation.first_fatal_error_step is None
        assert wrong.annotation.verdict == "incorrect"

    @pytest.mark.parametrize(
        ("changes", "derived", "told"),
        [
            ({"verdict": "wrong"}, {}, "annotation.verdict: found \"wrong\"; wanted 'correct' or 'incorrect'"),
            ({"recoverable_error_steps": [0]}, {}, "annotation.recoverable_error_steps: found a list"),
            ({"recoverable_error_steps": []}, {}, "annotation.recoverable_error_steps: found a list"),
            ({}, {"is_correct": True}, "is_correct: found true; wanted false"),
            ({}, {"first_error_step": 0}, "first_error_step: found 0; wanted null"),
            ({}, {"first_error_step": -1}, "first_error_step: found -1; wanted null"),
            ({"verdict": "correct"}, {"first_error_step": None}, "first_error_step: found null; wanted an integer"),
            ({"verdict": None}, {}, "annotation.first_fatal_error_step: found null; wanted an integer"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, tmp_path, changes, derived, told):
        row = rows(2)[1] | derived
        row["annotation"] |= changes
        with pytest.raises(DataError) as refused:
            load_proofs(write_rows(tmp_path / "d.jsonl", [row]))
        told = told.replace("a list", json.dumps(changes.get("recoverable_error_steps")))
        assert f"d.jsonl:1: field {told}" in str(refused.value)

    @pytest.mark.parametrize("changes", [{"recoverable_error_steps": None}, {"recoverable_error_steps": [-1]}])
    def test_what_fits(self, tmp_path, changes):
        row = rows(2)[1] | {"is_correct": False, "first_error_step": None}
        row["annotation"] |= changes
        (proof,) = load_proofs(write_rows(tmp_path / "d.jsonl", [row])).rows
        assert proof.annotation.recoverable_error_steps == [-1]

    def test_a_verdict_of_something_else_beside_a_place_is_passed_over(self, tmp_path):
        row = proof_rows(2)[1]
        row["annotation"]["verdict"] = "minor flaw"
        (proof,) = load_proofs(write_rows(tmp_path / "d.jsonl", [row])).rows
        assert proof.first_error_step is not None

    def test_a_sheet_may_be_filled_so(self, tmp_path):
        made = rows(2)
        made[0]["annotation"] |= {"verdict": None}
        read = read_labels(write_rows(tmp_path / "s.jsonl", made))
        assert list(read.correct().values()) == [False]


VECTOR = next(
    case
    for case in json.loads((Path(__file__).parents[1] / "data/vectors/protocols.json").read_text("utf-8"))["metrics"]
    if case["name"] == "process_unlocated"
)


def test_the_vector():
    records = [
        ProofRecord(
            problem_id=row["proof_id"],
            proof_id=row["proof_id"],
            is_correct=row["is_correct"],
            first_error_step=row["first_error_step"],
            judgments=[Judgment(**judgment) for judgment in row["judgments"]],
        )
        for row in VECTOR["records"]
    ]
    found = score_verifier(records, repeats=VECTOR["repeats"])
    assert found == pytest.approx({name: VECTOR["expected"][name] for name in found}, abs=1e-12)
    assert found["unlocated_proofs"] == 2


@pytest.fixture
def run(command, tmp_path, server):
    """Makes a run over rows of which the first few have a place."""
    write_config(tmp_path / "config.toml", server.base_url)

    def make(name: str, n: int, located: int, *more: str) -> Path:
        write_rows(tmp_path / f"{name}.jsonl", rows(n, located))
        judged = ("--data", f"{name}.jsonl", "--verifier-repeats", "2")
        assert command("verify", *judged, "--config", "config.toml", "--output", name, *more).code == 0
        return Path(name)

    return make


WHY = "no label names a step: these proofs were judged as a whole"
LOCALISING = ("first_error_step_accuracy", "first_error_step_accuracy_incorrect")


def test_without_any_place_localisation_is_undefined_and_says_why(command, run):
    folder = run("r", 6, 0)
    split = json.loads((folder / "summary.json").read_bytes())["splits"]["all"]
    assert split["metrics"]["unlocated_proofs"] == 6
    for metric in LOCALISING:
        assert split["metrics"][metric] is None
        assert split["undefined"][metric] == WHY
        assert metric not in split["intervals"]
        assert metric not in split["bounds"]
    assert split["metrics"]["rough_tpr"] is not None
    loaded = load(folder)
    assert loaded.judgments["step_right"].isna().all()
    shown = command("inspect", folder, "1").out
    assert "incorrect; the step is not known" in shown
    assert WHY in " ".join(command("score", folder).out.split())


def test_with_some_places_localisation_is_of_those(run):
    folder = run("r", 8, 4)
    metrics = json.loads((folder / "summary.json").read_bytes())["splits"]["all"]["metrics"]
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    located = records[:4]
    right = [j["valid"] and j["first_error_step"] == r["first_error_step"] for r in located for j in r["judgments"]]
    assert metrics["first_error_step_accuracy"] == sum(right) / len(right)
    agreeing = [
        j["valid"] and (j["first_error_step"] == -1) == r["is_correct"] for r in records for j in r["judgments"]
    ]
    assert metrics["rough_accuracy"] == sum(agreeing) / len(agreeing)
    assert metrics["unlocated_proofs"] == 4


def test_everything_that_looks_into_such_a_run_works(command, run):
    run("r", 12, 3, "--meta")
    commands = """analyse r/report r/report r --format md/export r --to csv/export r --to latex/data show r.jsonl
        /data show r.jsonl 5/data validate r.jsonl/inspect r/inspect r 5"""
    for words in every(line.split() for line in commands.split("/")):
        ended = command(*words)
        assert (ended.code, "Traceback" in ended.err) == (0, False), (words, ended.err)


def test_the_meta_verifier_is_told_that_no_place_is_known(tmp_path):
    right, wrong = load_proofs(write_rows(tmp_path / "d.jsonl", rows(2))).rows
    template = Template("meta", "{solution}{solution_verification}{human_ground_truth}", "here", False)
    for row, shown in ((right, "-1"), (wrong, NOT_LOCATED)):
        text = render_meta(template, row, row.steps, Verdict(-1, "a", ""), use_reference=False, neutralise=False).text
        assert f"<first_fatal_error_step>\n\n{shown}\n\n</first_fatal_error_step>" in text
        assert "None" not in text


def test_a_located_annotation_is_stored_as_ever():
    import msgspec

    assert "verdict" not in msgspec.to_builtins(Annotation(2, [-1]))
