"""Importing other people's labelled proofs: what each format becomes, and what is refused or left out."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import DataError
from proverbench.inputs.data import load_problems, load_proofs
from proverbench.inputs.importers import (
    FIRST_ERROR_IS_FATAL,
    WHOLE_PROOFS,
    CsvOptions,
    Imported,
    import_csv,
    import_gradingbench,
    import_hard2verify,
    import_opc,
    import_processbench,
    write_rows,
)
from proverbench.records import Proof


def json_list(path: Path, *rows: Any) -> Path:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return path


def json_lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(path: Path, header: list[str], *rows: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def proofs(imported: Imported) -> list[Proof]:
    assert all(isinstance(row, Proof) for row in imported.rows)
    return [row for row in imported.rows if isinstance(row, Proof)]


def reread(imported: Imported, tmp_path: Path) -> list[Proof]:
    """The rows after they were written and read again by the rules of data files."""
    write_rows(imported, tmp_path / "out.jsonl")
    rows = load_proofs(tmp_path / "out.jsonl").rows
    assert rows == imported.rows
    return rows


def processbench(**changes: Any) -> dict[str, Any]:
    row = {"id": "gsm8k-0", "generator": "Qwen", "problem": "p", "steps": ["a", "b"], "final_answer_correct": True}
    return row | {"label": 1} | changes


def test_processbench(tmp_path: Path) -> None:
    path = json_list(tmp_path / "gsm8k.json", processbench(), processbench(id="gsm8k-1", label=-1, steps=["c"]))
    imported = import_processbench(path)
    first, second = reread(imported, tmp_path)
    assert (first.proof_id, first.policy, first.subject, first.source_id) == (
        "gsm8k-0",
        "Qwen",
        "gsm8k",
        "processbench:gsm8k-0",
    )
    assert (first.annotation.first_fatal_error_step, first.annotation.recoverable_error_steps) == (1, [-1])
    assert (first.is_correct, second.is_correct, first.domain) == (False, True, None)
    assert first.problem_id == second.problem_id
    assert FIRST_ERROR_IS_FATAL in imported.notes


def test_a_folder_is_all_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    json_list(folder / "math.json", processbench(id="math-0"))
    json_lines(folder / "gsm8k.jsonl", processbench())
    (folder / "README.md").write_text("not data")
    assert [row.proof_id for row in proofs(import_processbench(folder))] == ["gsm8k-0", "math-0"]


def test_an_empty_step_is_left_out_rather_than_dropped(tmp_path: Path) -> None:
    path = json_list(tmp_path / "x.json", processbench(steps=["a", " ", "b"], label=2), processbench(id="gsm8k-1"))
    imported = import_processbench(path)
    assert [row.proof_id for row in proofs(imported)] == ["gsm8k-1"]
    assert imported.left_out == {"a step of the proof is empty": 1}


def test_all_faulty_rows_are_told(tmp_path: Path) -> None:
    path = json_list(
        tmp_path / "x.json", processbench(label=2), processbench(label=True), processbench(), processbench(problem="")
    )
    with pytest.raises(DataError) as caught:
        import_processbench(path)
    assert str(caught.value).replace(f"{path}: ", "").split("\n") == [
        "row 1: field label: found 2; wanted an integer from -1 to 1",
        "row 2: field label: found True; wanted an integer from -1 to 1",
        "row 4: field problem: found ''; wanted a non-empty text",
    ]


def test_hard2verify(tmp_path: Path) -> None:
    row = {
        "unique_id": "u1",
        "question": "q",
        "model_response_by_step": ["a", "b", "c"],
        "human_labels": [1, 0, 1],
        "human_labels_first_error_idx": 2,
    }
    path = json_lines(tmp_path / "h.jsonl", row, row | {"unique_id": "u2", "human_labels": [1, 1, 1]})
    first, second = reread(import_hard2verify(path), tmp_path)
    assert (first.first_error_step, second.first_error_step, first.source_id) == (1, -1, "hard2verify:u1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"human_labels": [1]}, r"field human_labels: found \[1\]; wanted a list of 2 integers"),
        ({"human_labels": [True, True]}, "field human_labels"),
        ({"model_response_by_step": "Zm9v"}, "is still encrypted; decrypt the file with the set's own tool"),
    ],
)
def test_faulty_hard2verify(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    row = {"unique_id": "u", "question": "q", "model_response_by_step": ["a", "b"], "human_labels": [1, 1]}
    with pytest.raises(DataError, match=message):
        import_hard2verify(json_lines(tmp_path / "h.jsonl", row | changes))


GRADING = ["Grading ID", "Problem ID", "Problem", "Solution", "Grading guidelines", "Response", "Points", "Reward"]


def test_gradingbench(tmp_path: Path) -> None:
    path = table(
        tmp_path / "g.csv",
        [*GRADING, "Problem Source"],
        ["g1", "p1", "Prove\u2028it.", "ref", "rules", 'line\n\nline, "quoted"', "7", "Correct", "IMO 1"],
        ["g2", "p1", "Prove\u2028it.", "ref", "rules", "short", "6", "Almost", "IMO 1"],
    )
    imported = import_gradingbench(path)
    right, almost = reread(imported, tmp_path)
    assert right.steps == ['line\n\nline, "quoted"']
    assert [(row.is_correct, row.first_error_step) for row in (right, almost)] == [(True, -1), (False, None)]
    assert (right.annotation.verdict, almost.annotation.verdict) == ("correct", "incorrect")
    assert almost.annotation.remark == "points 6 of 7, reward 'Almost'"
    assert right.reference_solution == "ref"
    assert WHOLE_PROOFS in imported.notes
    assert proofs(import_gradingbench(path, correct_from=6))[1].is_correct


def test_gradingbench_without_its_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no column 'Grading ID'; columns are 'a', 'b'(?s:.*)'Points'"):
        import_gradingbench(table(tmp_path / "g.csv", ["a", "b"], ["1", "2"]))


def opc(**changes: Any) -> dict[str, Any]:
    row = {"problem_id": 7, "competition": "IMO", "problem": "p", "ground_truth_solution": "ref", "model_id": "o3"}
    return row | {"solution": "s", "score": [1], "uncertain": [False], "feedback": ["fine"]} | changes


def test_open_proof_corpus(tmp_path: Path) -> None:
    path = json_lines(
        tmp_path / "opc.jsonl",
        opc(),
        opc(solution="t", score=[0, 0], feedback=["wrong", "really"]),
        opc(solution="u", score=[0, 1]),
        opc(solution="v", uncertain=[True]),
        opc(solution="w", problem_issue="misprint"),
        opc(solution="x", score=[None]),
        opc(),
    )
    imported = import_opc(path)
    right, wrong = reread(imported, tmp_path)
    assert (right.problem_id, right.policy, right.subject, right.reference_solution) == ("7", "o3", "IMO", "ref")
    assert (right.is_correct, wrong.is_correct, wrong.first_error_step) == (True, False, None)
    assert wrong.annotation.reviewer_comment == "wrong\n\nreally"
    assert sorted(imported.left_out.values()) == [1, 1, 1, 1, 1]


def test_faulty_open_proof_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: field score: found \[0.5\]; wanted a list of 0 or 1"):
        import_opc(json_lines(tmp_path / "opc.jsonl", opc(score=[0.5])))


@pytest.mark.parametrize(
    ("split", "text", "label", "kind", "steps", "first_error"),
    [
        ("tags", "<step>a</step> <step>b</step>", "1", "first-error", ["a", "b"], 1),
        ("tags", "<step>a</step> <step>b</step>", "1", "first-error-1", ["a", "b"], 0),
        ("tags", "<step>a</step>", "0", "first-error-1", ["a"], -1),
        ("json", '["a", "b"]', "-1", "first-error", ["a", "b"], -1),
        ("paragraphs", "a\nb\r\n \r\n\nc", "1.0", "first-error", ["a\nb", "c"], 1),
        ("lines", "a\n\nb", "0", "first-error", ["a", "b"], 0),
        ("whole", "a\n\nb", "Correct", "verdict", ["a\n\nb"], -1),
        (None, "a\n\nb", "0", "verdict", ["a\n\nb"], None),
        (None, "<step>a", "0", "first-error", ["a"], 0),
    ],
)
def test_csv_splits_and_labels(
    tmp_path: Path, split: Any, text: str, label: str, kind: Any, steps: list[str], first_error: int | None
) -> None:
    path = table(tmp_path / "c.csv", ["problem", "proof", "label"], ["p", text, label])
    imported = import_csv(path, CsvOptions(label=kind, split=split))
    (row,) = reread(imported, tmp_path)
    assert (row.steps, row.first_error_step) == (steps, first_error)
    assert len(imported.notes) == (1 if kind == "verdict" else 2)


def test_csv_columns_are_mapped(tmp_path: Path) -> None:
    header = ["Question", "Answer", "Grade", "Id", "domain", "Why", "other"]
    path = table(
        tmp_path / "c.csv", header, ["q", "a", "no", "x1", "qe", "wrong", "-"], ["q", "b", "yes", "", "", "", ""]
    )
    columns = {"problem": "Question", "proof": "Answer", "label": "Grade", "proof_id": "Id", "comment": "Why"}
    first, second = reread(import_csv(path, CsvOptions(columns, "verdict")), tmp_path)
    assert (first.proof_id, first.domain, first.annotation.reviewer_comment) == ("x1", "qe", "wrong")
    assert second.proof_id.startswith("amb-v-")
    assert second.domain is None


def test_a_csv_without_proofs_holds_problems(tmp_path: Path) -> None:
    path = table(tmp_path / "c.csv", ["Problem ID", "Problem", "Solution"], ["p1", "Prove.", "ref"])
    columns = {"problem": "Problem", "problem_id": "Problem ID", "reference_solution": "Solution"}
    imported = import_csv(path, CsvOptions(columns))
    write_rows(imported, tmp_path / "out.jsonl")
    (row,) = load_problems(tmp_path / "out.jsonl").rows
    assert (row.problem_id, row.problem, row.reference_solution) == ("p1", "Prove.", "ref")


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        (["problem", "proof", "label"], CsvOptions(), "say what the labels are: --label first-error"),
        (["problem", "proof"], CsvOptions(label="verdict"), "has proofs and no column 'label'"),
        (["x", "proof", "label"], CsvOptions(label="verdict"), "has no column 'problem'"),
        (["problem"], CsvOptions({"proof": "P"}), "has no column 'P' .for proof.; columns are 'problem'"),
        (["problem"], CsvOptions({"prof": "problem"}), "'prof' is no field; fields are problem, proof"),
        (["problem", "proof", "label"], CsvOptions(label="verdict", split="lines"), "needs labels that name a step"),
        (["problem", "proof", "label"], CsvOptions(label="first-error", split="whole"), "has no steps for"),
        (["problem", "problem"], CsvOptions(), "names the column 'problem' twice"),
    ],
)
def test_csv_options_that_do_not_fit(tmp_path: Path, header: list[str], options: CsvOptions, message: str) -> None:
    with pytest.raises(DataError, match=message):
        import_csv(table(tmp_path / "c.csv", header, ["x"] * len(header)), options)


@pytest.mark.parametrize(
    ("proof", "label", "kind", "split", "message"),
    [
        ("a", "maybe", "verdict", None, "row 1: field label: found 'maybe'; wanted one of correct"),
        ("a", "1", "first-error", "lines", "wanted an integer from -1 to 0"),
        ("a", "2", "first-error-1", "lines", "wanted an integer from -1 to 1"),
        ("a", "x", "first-error", "lines", "found 'x'"),
        ("a", "0", "first-error", "tags", "field proof: found 'a'; wanted <step>"),
        ("a", "0", "first-error", "json", "field proof: found 'a'; wanted a JSON list"),
        (" ", "0", "first-error", "lines", "field proof: found ' '; wanted a non-empty text"),
    ],
)
def test_faulty_csv_rows(tmp_path: Path, proof: str, label: str, kind: Any, split: Any, message: str) -> None:
    path = table(tmp_path / "c.csv", ["problem", "proof", "label"], ["p", proof, label])
    with pytest.raises(DataError, match=message):
        import_csv(path, CsvOptions(label=kind, split=split))


def test_a_torn_csv(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text('problem\n"open')
    with pytest.raises(DataError, match="not CSV that can be read"):
        import_csv(path)
    path.write_text("problem,subject\na,b,c\n")
    with pytest.raises(DataError, match="row 1: found 3 cells; wanted 2"):
        import_csv(path)
    path.write_text("")
    with pytest.raises(DataError, match="the header line is missing"):
        import_csv(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("[1]", "row 1: found int"), ("[{]", ":1:3: not JSON"), ("{}\n{", ":2: not JSON"), ("7", "line 1: found int")],
)
def test_unreadable_json(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text if text.startswith("[") else text.replace("{}", json.dumps(processbench())))
    with pytest.raises(DataError, match=message):
        import_processbench(path)


def test_missing_sources(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        import_processbench(tmp_path / "no.json")
    with pytest.raises(DataError, match=r"holds no \.json"):
        import_processbench(tmp_path)


def test_nothing_is_left_behind_when_rows_break_a_rule(tmp_path: Path) -> None:
    path = json_list(tmp_path / "x.json", processbench(), processbench())
    output = tmp_path / "sub" / "out.jsonl"
    with pytest.raises(DataError, match=r"would not be valid:\n.*out\.jsonl:2: field proof_id: found .gsm8k-0"):
        write_rows(import_processbench(path), output)
    assert list(output.parent.iterdir()) == []


def test_an_existing_output_is_kept(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        write_rows(import_processbench(json_list(tmp_path / "x.json", processbench())), output)
    assert output.read_text() == "mine"


def test_no_rows_write_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no row could be imported"):
        write_rows(import_opc(json_lines(tmp_path / "o.jsonl", opc(score=[None]))), tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
