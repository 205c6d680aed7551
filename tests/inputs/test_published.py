"""Runs of the published evaluator become ours, with the scores that they had."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from proverbench.errors import DataError
from proverbench.inputs.published import is_published, load_published
from proverbench.records import AttemptLine, CallKey, FinalLine
from proverbench.run.folder import RunFolder
from proverbench.run.texts import exact_reasoning
from tests.inputs.published_maker import make_all
from tests.support import SHARED

RUNS = Path()
"""Where the runs are that the test at hand is about: ours, and third parties' where they are at hand."""
COMPLETE = ("prover", "verifier", "verifier-meta")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Runs of our own making."""
    folder = tmp_path_factory.mktemp("published")
    make_all(folder)
    return folder


@pytest.fixture(autouse=True, params=["made", pytest.param("shared", marks=pytest.mark.shared)])
def _runs(request, made, monkeypatch) -> None:
    where = made if request.param == "made" else SHARED / "data" / "published-run"
    monkeypatch.setattr(sys.modules[__name__], "RUNS", where)


def data_of(name: str) -> Path:
    return RUNS / f"{name}.data.jsonl"


def imported(command, name: str, *more: str | Path, source: Path | None = None) -> Path:
    ended = command("data", "import", "--format", "published", source or RUNS / name, *more, "--output", "run")
    assert ended.code == 0, ended.err
    return Path("run")


def published_records(name: str) -> list[dict]:
    return [json.loads(file.read_bytes()) for file in sorted((RUNS / name / "records").glob("*.json"))]


@pytest.mark.parametrize("with_data", [False, True])
@pytest.mark.parametrize("name", COMPLETE)
def test_scores_stay_what_they_were(command, name, with_data):
    folder = imported(command, name, *(("--data", data_of(name)) if with_data else ()))
    theirs = json.loads((RUNS / name / "summary.json").read_bytes())
    ours = json.loads((folder / "summary.json").read_bytes())
    assert ours["complete"] is theirs["complete"] is True
    for split, wanted in theirs["splits"].items():
        found = ours["splits"][split]
        for key in ("selected_rows", "expected_records", "completed_records", "complete"):
            assert found[key] == wanted[key]
        assert found["metrics"] == pytest.approx(wanted["metrics"], abs=1e-12)


def test_an_interrupted_run_stays_interrupted(command):
    folder = imported(command, "prover-interrupted", "--data", data_of("prover-interrupted"))
    theirs = json.loads((RUNS / "prover-interrupted" / "summary.json").read_bytes())["splits"]
    ours = json.loads((folder / "summary.json").read_bytes())["splits"]
    for split, wanted in theirs.items():
        assert ours[split]["completed_records"] == wanted["completed_records"]
        assert ours[split]["complete"] == wanted["complete"]
        assert (ours[split]["metrics"] is None) == (wanted["metrics"] is None)
    assert ours["qe"]["metrics"] == pytest.approx(theirs["qe"]["metrics"], abs=1e-12)


@pytest.mark.parametrize("name", [*COMPLETE, "prover-interrupted"])
def test_every_verdict_is_the_same(command, name):
    run = RunFolder(imported(command, name, "--data", data_of(name)))
    for theirs in published_records(name):
        ours = run.record(theirs.get("proof_id") or theirs["problem_id"], theirs["sample_index"])
        assert ours is not None
        assert ours.steps == theirs["steps"]
        assert (ours.generation_error is None) == (theirs.get("generation_error") is None)
        assert len(ours.judgments) == len(theirs["verifier_trials"])
        for judgment, trial in zip(ours.judgments, theirs["verifier_trials"], strict=True):
            assert judgment.valid == trial["valid"]
            if judgment.valid:
                assert {
                    "assessment": judgment.assessment,
                    "errors": judgment.errors,
                    "first_error_step": judgment.first_error_step,
                } == trial["parsed"]
            if "meta" in trial:
                assert judgment.meta is not None
                assert judgment.meta.valid == trial["meta"]["valid"]
                assert judgment.meta.level == trial["meta"].get("level")
    run.close()


@pytest.mark.parametrize("name", COMPLETE)
def test_prompts_and_replies_are_kept_exactly(command, name):
    run = RunFolder(imported(command, name))
    for theirs in published_records(name):
        item, sample = theirs.get("proof_id") or theirs["problem_id"], theirs["sample_index"]
        if "policy_response" in theirs:
            key = CallKey("policy", item, sample)
            assert run.prompt(key) == theirs["inputs"]["policy_prompt"]
            line = run.call(key)
            assert line is not None
            assert line.text == theirs["policy_response"]["text"]
            assert line.usage == theirs["policy_response"]["usage"]
        for trial in theirs["verifier_trials"]:
            key = CallKey("verifier", item, sample, trial["index"])
            assert run.prompt(key) == theirs["inputs"]["verifier_prompt"]
            if "meta" in trial and trial["meta"]["response"] is not None:
                assert run.prompt(CallKey("meta", item, sample, trial["index"])) == trial["meta"]["prompt"]
    with pytest.raises(KeyError):
        run.prompt(CallKey("verifier", "no such proof"))
    run.close()


def test_its_own_errors_are_unanswered_and_closed(command):
    run = RunFolder(imported(command, "prover-interrupted", "--data", data_of("prover-interrupted")))
    lines = list(run.lines())
    errors = [line for line in lines if isinstance(line, AttemptLine)]
    assert {line.error for line in errors} == {
        "http_401", "http_503", "http_429", "http_400", "network_error", "invalid_chat_response",
    }  # fmt: skip
    assert {line.status for line in errors} == {401, 503, 429, 400, None}
    final = lines[-1]
    assert isinstance(final, FinalLine)
    assert len(final.keys) == len(errors)
    assert run.summary().closed_unanswered == len(errors)
    run.close()


def test_references_and_annotations_come_with_the_data(command):
    without = load_published(RUNS / "verifier")
    with_data = load_published(RUNS / "verifier", data=data_of("verifier"))
    assert [row.steps for row in without.draft.rows] == [row.steps for row in with_data.draft.rows]
    assert [row.first_error_step for row in without.draft.rows] == [
        row.first_error_step for row in with_data.draft.rows
    ]
    assert any(row.reference_solution for row in with_data.draft.rows)
    assert any(row.annotation.reviewer_comment for row in with_data.draft.rows)
    assert any("fatal" in note for note in without.notes)
    assert not any("fatal" in note for note in with_data.notes)


def test_identity_is_what_its_manifest_says(command):
    manifest = json.loads((RUNS / "verifier-meta" / "manifest.json").read_bytes())
    identity = load_published(RUNS / "verifier-meta").draft.identity
    assert list(identity.roles) == ["verifier", "meta"]
    assert identity.roles["verifier"].model == manifest["config"]["verifier"]["model"]
    assert identity.roles["verifier"].generation == manifest["config"]["verifier"]["generation"]
    assert identity.prompt_sha256["meta"] == manifest["prompt_sha256"]["meta"]
    assert identity.data_sha256 == manifest["data_sha256"]
    assert identity.neutralise is False


def test_scored_again_it_is_the_same(command):
    folder = imported(command, "verifier-meta")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert command("score", folder).code == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("more", [(), ("--final",), ("--samples", "9")])
def test_nothing_more_can_be_asked(command, more):
    folder = imported(command, "prover-interrupted", "--data", data_of("prover-interrupted"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    ended = command("run", "--resume", folder, *more)
    assert ended.code == 2
    assert ended.err.startswith("error: run was imported from the published evaluator")
    assert "nothing more can be asked of it, and --final cannot close it" in ended.err
    assert "--config" not in ended.err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_statistics_do_not_send_an_interrupted_import_to_resume(command):
    folder = imported(command, "prover-interrupted", "--data", data_of("prover-interrupted"))
    ended = command("analyse", folder)
    assert ended.code == 2
    assert "finish it with the published evaluator, and import it again" in ended.err
    assert "--resume" not in ended.err


class TestDamaged:
    @pytest.fixture
    def copy(self, tmp_path) -> Path:
        return Path(shutil.copytree(RUNS / "prover", tmp_path / "copy"))

    def refused(self, command, folder: Path, *more: str | Path) -> str:
        ended = command("data", "import", "--format", "published", folder, *more, "--output", "run")
        assert ended.code == 2
        assert not Path("run").exists()
        return ended.err

    def test_another_data_file(self, command, copy):
        assert "is not the file" in self.refused(command, copy, "--data", data_of("prover-interrupted"))

    def test_unknown_rows(self, command, copy):
        shutil.rmtree(copy / "records")
        (copy / "results.jsonl").write_text("")
        assert "6 of 6 rows have no record" in self.refused(command, copy)
        run = load_published(copy, unknown_rows=True)
        assert [row.domain for row in run.draft.rows].count("qe") == 2

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"record_key": "000000_000"}'])
    def test_a_damaged_record(self, command, copy, content):
        (copy / "records" / "000000_000.json").write_text(content)
        assert "000000_000.json" in self.refused(command, copy)

    def test_a_record_of_another_run(self, command, copy):
        shutil.copy(RUNS / "prover-interrupted" / "records" / "000000_000.json", copy / "records")
        assert "belongs to another run" in self.refused(command, copy)

    def test_results_alone(self, command, copy):
        shutil.rmtree(copy / "records")
        folder = imported(command, "prover", source=copy)
        assert json.loads((folder / "summary.json").read_bytes())["complete"] is True

    def test_scores_that_are_not_what_they_were_are_told(self, command, copy):
        summary = json.loads((copy / "summary.json").read_bytes())
        summary["splits"]["all"]["metrics"]["pessimistic"] = 0.5
        (copy / "summary.json").write_text(json.dumps(summary))
        ended = command("data", "import", "--format", "published", copy, "--output", "run")
        assert ended.code == 1
        assert "pessimistic was 0.5" in " ".join(ended.err.split())

    def test_a_byte_order_mark_is_none(self, command, tmp_path):
        copy = changed_copy("prover", lambda content: None)
        for path in [copy / "manifest.json", copy / "summary.json", *(copy / "records").glob("*.json")]:
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert command("data", "import", "--format", "published", copy, "--output", "marked").code == 0

    def test_what_is_none(self, command, tmp_path):
        assert not is_published(tmp_path)
        (tmp_path / "manifest.json").write_text("{}")
        assert not is_published(tmp_path)
        with pytest.raises(DataError, match=r"manifest\.json"):
            load_published(tmp_path)
        assert is_published(RUNS / "prover")


def changed_copy(name: str, change) -> Path:
    """A copy of a published run whose summary.json and records are passed through ``change``."""
    copy = Path("changed")
    shutil.copytree(RUNS / name, copy)
    for path in copy.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for file in (copy / "summary.json", *sorted((copy / "records").glob("*.json"))):
        content = json.loads(file.read_bytes())
        change(content)
        file.write_text(json.dumps(content))
    (copy / "results.jsonl").unlink()
    return copy


def test_an_import_whose_scores_differ_says_so_wherever_it_is_shown(command):
    def change(content):
        if "splits" in content:
            content["splits"]["all"]["metrics"]["rough_tpr"] = 0.123

    source = changed_copy("verifier", change)
    ended = command("data", "import", "--format", "published", source, "--output", "run")
    assert ended.code == 1
    told = "the import did not keep the published evaluator's scores: all: rough_tpr was 0.123"
    for words in (("score", "run"), ("inspect", "run"), ("report", "run", "--format", "md")):
        shown = " ".join(command(*words).out.replace("\\", "").split())
        assert told in shown, words
    assert command("data", "import", "--format", "published", RUNS / "verifier", "--output", "sound").code == 0
    assert "did not keep" not in command("score", "sound").out
    compared = command("compare", "run", "sound")
    assert told.removeprefix("the import ") in compared.out


@pytest.mark.parametrize("sent", [["a", {"b": 1}], {"text": "é"}, 3.5, "", None, "thought"])
def test_reasoning_of_any_kind_is_kept(command, sent):
    def change(content):
        for trial in content.get("verifier_trials", []):
            trial["response"]["reasoning_content"] = sent

    run = RunFolder(imported(command, "verifier", source=changed_copy("verifier", change)))
    kept = {exact_reasoning(line) for line in run.calls()}
    run.close()
    assert len(kept) == 1
    found = kept.pop()
    assert found == (
        (sent or None) if isinstance(sent, str | None) else json.dumps(sent, separators=(",", ":"), ensure_ascii=False)
    )
