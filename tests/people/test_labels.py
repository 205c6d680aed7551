"""Labels files read back: whose they are, what was edited, what annotators say."""

import json

import pytest

from proverbench.errors import DataError
from proverbench.inputs.data import load_proofs
from proverbench.people.agreeing import annotator_agreement
from proverbench.people.labels import read_labels
from proverbench.people.sheet import drawn_of, rows
from tests.people.conftest import RUN
from tests.support import run_process, write_rows

RIGHT = {"first_fatal_error_step": -1, "recoverable_error_steps": [-1]}


@pytest.fixture
def sheet(folder):
    return list(rows(folder, drawn_of(folder, choose=8)))


def labelled(row, annotator="", **annotation):
    return {**row, "annotator": annotator, "annotation": {**row["annotation"], **(annotation or RIGHT)}}


def test_a_sheet_filled_by_hand(folder, sheet, tmp_path):
    path = write_rows(tmp_path / "s.jsonl", [labelled(sheet[0]), *sheet[1:]])
    labels = read_labels(path, folder)
    assert labels.correct() == {sheet[0]["proof_id"]: True}
    assert labels.labelled().probability == {sheet[0]["proof_id"]: sheet[0]["probability"]}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"run_id": "f" * 64}, "labels of another run"),
        ({"steps": ["other"]}, "other steps than those of"),
        ({"proof_id": "nobody/0"}, "wanted a judged proof of"),
        ({"probability": 0.999}, "field probability: found 0.999"),
        ({"probability": 0}, "wanted a number above 0 and up to 1"),
        ({"annotator": 7}, "field annotator: found 7; wanted a name"),
        ({"undecided": "no"}, "field undecided: found 'no'; wanted true or false"),
        ({"annotation": {"first_fatal_error_step": 99, "recoverable_error_steps": [-1]}}, "first_fatal_error_step"),
    ],
)
def test_what_was_edited_is_named_with_its_line(folder, sheet, tmp_path, change, fault):
    path = write_rows(tmp_path / "s.jsonl", [*[labelled(row) for row in sheet[:7]], labelled(sheet[7]) | change])
    with pytest.raises(DataError, match=fault) as refused:
        read_labels(path, folder)
    assert f"{path}:8:" in str(refused.value)


def test_every_fault_is_told_at_once(folder, sheet, tmp_path):
    broken = [labelled(row) | {"steps": ["other"]} for row in sheet[:3]]
    with pytest.raises(DataError) as refused:
        read_labels(write_rows(tmp_path / "s.jsonl", broken), folder)
    assert [f"s.jsonl:{line}:" in str(refused.value) for line in (1, 2, 3)] == [True] * 3


def test_a_line_that_was_torn_is_passed_over_and_one_in_the_middle_is_not(folder, sheet, tmp_path):
    path = write_rows(tmp_path / "s.jsonl", [labelled(sheet[0])])
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole + '{"proof_id": "to', encoding="utf-8")
    assert len(read_labels(path, folder).correct()) == 1
    path.write_text('{"proof_id": "to\n' + whole, encoding="utf-8")
    with pytest.raises(DataError, match=r"s\.jsonl:1: not JSON"):
        read_labels(path, folder)


def test_the_majority_counts_and_ties_are_left_out(folder, sheet, tmp_path):
    wrong = {"first_fatal_error_step": 0, "recoverable_error_steps": [-1]}
    path = write_rows(
        tmp_path / "s.jsonl",
        [
            *(labelled(sheet[0], name) for name in ("a", "b")),
            labelled(sheet[0], "c", **wrong),
            labelled(sheet[1], "a"),
            labelled(sheet[1], "b", **wrong),
        ],
    )
    labels = read_labels(path, folder)
    assert labels.correct() == {sheet[0]["proof_id"]: True}
    assert "disagree on 2 proofs" in labels.remarks()[-1]
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])["annotator"] == "a"


@pytest.fixture
def two(sheet, tmp_path):
    """A file of two annotators who agree on seven of eight proofs."""
    wrong = {"first_fatal_error_step": 0, "recoverable_error_steps": [-1]}
    ann = [labelled(row, "ann", **(wrong if at % 2 else RIGHT)) for at, row in enumerate(sheet)]
    bob = [labelled(row, "bob", **(wrong if at % 2 or at == 0 else RIGHT)) for at, row in enumerate(sheet)]
    return write_rows(tmp_path / "two.jsonl", [*ann, *bob])


def test_annotators_agreement(two, folder):
    found = annotator_agreement(read_labels(two, folder))
    assert found["annotators"] == {"ann": 8, "bob": 8}
    rows = {(row["measure"], row["on"]): row for row in found["agreement"]}
    assert rows["raw_agreement", "accept"]["value"] == 7 / 8
    # Fleiss: of 16 opinions 7 right, 9 wrong; chance (7² + 9²)/16² = 130/256.
    assert rows["fleiss_kappa", "accept"]["value"] == pytest.approx((7 / 8 - 130 / 256) / (1 - 130 / 256))
    assert rows["raw_agreement", "accept"]["n"] == 8


def test_one_annotator_agrees_with_nobody(folder, sheet, tmp_path):
    path = write_rows(tmp_path / "one.jsonl", [labelled(row, "ann") for row in sheet])
    assert annotator_agreement(read_labels(path, folder)) == {"annotators": {"ann": 8}, "agreement": []}


def test_the_commands_take_the_file(two, sheet, tmp_path):
    ended = run_process("analyse", RUN, "--labels", two, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "Labels by ann 8, bob 8" in ended.out
    assert "Agreement between annotators" in ended.out
    assert "Annotators disagree on 1 proof" in ended.out
    made = ("--output", tmp_path / "data.jsonl")
    ended = run_process("data", "import", "--format", "labels", two, *made, cwd=tmp_path)
    assert ended.code == 0, ended.err
    proofs = load_proofs(tmp_path / "data.jsonl").rows
    assert [proof.proof_id for proof in proofs] == [row["proof_id"] for row in sheet[1:]]
    ended = run_process("correct", RUN, "--labels", two, cwd=tmp_path)
    assert "annotators disagree on 1 proof" in (ended.out + ended.err).lower()
