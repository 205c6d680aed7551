"""Importing other people's labelled proofs: what each format becomes, and what is refused or left out."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import ConfigError, DataError
from proverbench.inputs.data import load_problems, load_proofs
from proverbench.inputs.formats import FORMATS, find_format
from proverbench.inputs.imported import FIRST_ERROR_IS_FATAL, UNLOCATED, Imported, write_rows
from proverbench.inputs.importers import (
    import_arxivmath,
    import_hard2verify,
    import_opc,
    import_prm800k,
    import_processbench,
)
from proverbench.records import HumanGrade, Proof
from tests.support import SHARED


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


def proofs(imported: Imported, tmp_path: Path) -> list[Proof]:
    """The rows after they were written and read again by the rules of data files."""
    out = tmp_path / "out.jsonl"
    out.unlink(missing_ok=True)
    write_rows(imported, out)
    return load_proofs(out).rows


def processbench(**changes: Any) -> dict[str, Any]:
    row = {"id": "gsm8k-0", "generator": "Qwen", "problem": "p", "steps": ["a", "b"], "final_answer_correct": True}
    return row | {"label": 1} | changes


def test_processbench(tmp_path: Path) -> None:
    path = json_list(tmp_path / "gsm8k.json", processbench(), processbench(id="gsm8k-1", label=-1, steps=["c"]))
    imported = import_processbench(path)
    first, second = proofs(imported, tmp_path)
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
    assert [row.proof_id for row in proofs(import_processbench(folder), tmp_path)] == ["gsm8k-0", "math-0"]


def test_an_empty_step_is_left_out_rather_than_dropped(tmp_path: Path) -> None:
    path = json_list(tmp_path / "x.json", processbench(steps=["a", " ", "b"], label=2), processbench(id="gsm8k-1"))
    imported = import_processbench(path)
    assert [row.proof_id for row in proofs(imported, tmp_path)] == ["gsm8k-1"]
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
    first, second = proofs(import_hard2verify(path), tmp_path)
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
        ["g3", "p1", "Prove\u2028it.", "ref", "rules", "shorter", "1", "Partial", "IMO 1"],
        ["g4", "p1", "Prove\u2028it.", "ref", "rules", " ", "0", "Incorrect", "IMO 1"],
    )
    imported = find_format("gradingbench").load(path)
    right, almost, partial = proofs(imported, tmp_path)
    assert right.steps == ["line", 'line, "quoted"']
    assert [(row.grade, row.max_grade, row.is_correct) for row in (right, almost, partial)] == [
        (7, 7, True),
        (6, 7, True),
        (1, 7, False),
    ]
    assert (almost.annotation.remark, almost.rubric, almost.reference_solution) == ("Almost", "rules", "ref")
    assert almost.source_id == "gradingbench:IMO 1"
    assert partial.first_error_step is None
    assert imported.left_out == {"have no proof": 1}
    assert UNLOCATED in imported.notes
    assert "The source has 4 rows; as released it has 1,000." in imported.notes
    strict = load_proofs(tmp_path / "out.jsonl", correct_from=7).rows
    assert [row.is_correct for row in strict] == [True, False, False]


def test_gradingbench_without_its_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 1: field .*: found no '.*'; there is 'a', 'b'"):
        find_format("gradingbench").load(table(tmp_path / "g.csv", ["a", "b"], ["1", "2"]))


def test_proofbench(tmp_path: Path) -> None:
    row = {
        "problem_id": "USAMO-2025-1",
        "problem": "P",
        "generator": "m",
        "model_solution": "One.\n\nTwo.",
        "reference_solution": "ref",
        "expert_rating": 3,
        "marking_scheme": "7 points: all.",
        "metadata": {"contest": "USAMO", "contest_year": 2025},
        "response_number": None,
    }
    path = json_lines(tmp_path / "train.jsonl", row, row | {"generator": "n", "model_solution": "x", "metadata": None})
    first, second = proofs(find_format("proofbench").load(path), tmp_path)
    assert (first.steps, first.grade, first.rubric, first.policy) == (["One.", "Two."], 3, "7 points: all.", "m")
    assert (first.subject, second.subject, first.problem_id) == ("USAMO", "", second.problem_id)


def test_proofbench_as_the_hub_has_it(tmp_path: Path) -> None:
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "hub/data").mkdir(parents=True)
    (tmp_path / "hub/README.md").write_text("card")
    row = {"problem_id": "p", "problem": "P", "generator": "m", "model_solution": "One.", "expert_rating": 3.0}
    row |= {"metadata": {"contest": "C"}, "reference_solution": None, "marking_scheme": None}
    parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / "hub/data/train-00000-of-00001.parquet")
    (proof,) = proofs(find_format("proofbench").load(tmp_path / "hub"), tmp_path)
    assert (proof.grade, proof.subject, proof.reference_solution) == (3, "C", "")


def test_matharena_keeps_both_judges(tmp_path: Path) -> None:
    details = [{"title": "a", "grading_scheme_desc": "3 points: lemma", "desc": "good", "points": 3, "max_points": 3}]
    row = {"problem_idx": "1", "problem": "P", "model_name": "m", "answer": "One.\n\nTwo."}
    row |= {"points_judge_1": 3.0, "max_points_judge_1": 7.0, "grading_details_judge_1": details}
    both = row | {"points_judge_2": 6, "max_points_judge_2": 7, "grading_details_judge_2": None}
    imported = find_format("matharena").load(json_lines(tmp_path / "m.jsonl", row, both | {"answer": "Three."}))
    alone, two = proofs(imported, tmp_path)
    assert alone.grades == [HumanGrade("judge_1", 3, "good")]
    assert two.grades == [HumanGrade("judge_1", 3, "good"), HumanGrade("judge_2", 6)]
    assert (alone.grade, two.grade, two.max_grade, two.rubric) == (3, 4.5, 7, "3 points: lemma")
    imported.keep_agreed()
    assert (len(imported.rows), imported.left_out) == (1, {"have graders who differ": 1})


def test_deepseek(tmp_path: Path) -> None:
    row = {"problem": "P", "proof": "One.\n\nTwo.", "human_rating": 6, "average_automatic_rating": 0.96875}
    (proof,) = proofs(find_format("deepseek").load(json_lines(tmp_path / "d.jsonl", row)), tmp_path)
    assert (proof.grade, proof.is_correct, len(proof.steps)) == (6, True, 2)
    assert proof.annotation.remark == "average_automatic_rating 0.96875"


IMO = ["Problem ID", "Problem", "Solution", "Grading guidelines", "Category", "Level", "Short Answer", "Source"]


def test_imo_proofbench_is_problems_with_rubrics(tmp_path: Path) -> None:
    path = table(
        tmp_path / "i.csv", IMO, ["PB-Advanced-001", "P", "ref", "(Partial)\n 1. x", "Algebra", "IMO-hard", "2", "IMO"]
    )
    imported = find_format("imo-proofbench").load(path)
    write_rows(imported, tmp_path / "out.jsonl")
    (row,) = load_problems(tmp_path / "out.jsonl").rows
    assert (row.problem_id, row.domain, row.subject, row.rubric) == (
        "PB-Advanced-001",
        "imo-advanced",
        "Algebra",
        "(Partial)\n 1. x",
    )
    assert any("is not the released one" in note for note in imported.notes)


@pytest.mark.shared
def test_imo_proofbench_as_released(tmp_path: Path) -> None:
    imported = find_format("imo-proofbench").load(SHARED / "data/graded/imo_proofbench_v2.csv")
    write_rows(imported, tmp_path / "out.jsonl")
    rows = load_problems(tmp_path / "out.jsonl").rows
    assert [sum(row.domain == domain for row in rows) for domain in ("imo-basic", "imo-advanced")] == [30, 30]
    assert all(isinstance(row.rubric, str) and row.reference_solution for row in rows)
    assert next(note for note in imported.notes if "byte for byte" in note).startswith("The file is the released one")
    assert not any("as released it has" in note for note in imported.notes)


def opc(**changes: Any) -> dict[str, Any]:
    row = {"problem_id": 7, "competition": "IMO", "problem": "p", "ground_truth_solution": "ref", "model_id": "o3"}
    return row | {"solution": "s", "score": [1], "uncertain": [False], "feedback": ["fine"]} | changes


def test_open_proof_corpus(tmp_path: Path) -> None:
    path = json_lines(
        tmp_path / "opc.jsonl",
        opc(solution="s\n\nt"),
        opc(solution="t", score=[0, 0], feedback=["wrong", "really"]),
        opc(solution="u", score=[0, 1]),
        opc(solution="v", uncertain=[True]),
        opc(solution="w", problem_issue="misprint"),
        opc(solution="x", score=[None]),
        opc(solution="s\n\nt"),
    )
    imported = import_opc(path)
    right, wrong, divided = proofs(imported, tmp_path)
    assert (right.problem_id, right.policy, right.subject, right.reference_solution) == ("7", "o3", "IMO", "ref")
    assert (right.is_correct, wrong.is_correct, wrong.first_error_step) == (True, False, None)
    assert right.steps == ["s", "t"]
    assert wrong.annotation.reviewer_comment == "wrong\n\nreally"
    assert wrong.grades == [HumanGrade("judge 1", 0, "wrong"), HumanGrade("judge 2", 0, "really")]
    assert (divided.grade, divided.max_grade, divided.is_correct) == (0.5, 1, False)
    assert load_proofs(tmp_path / "out.jsonl", correct_from=0.5).rows[2].is_correct
    assert sorted(imported.left_out.values()) == [1, 1, 1, 1]
    imported.keep_agreed()
    assert imported.left_out["have graders who differ"] == 1


def test_faulty_open_proof_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: field score: found \[0.5\]; wanted a list of 0 or 1"):
        import_opc(json_lines(tmp_path / "opc.jsonl", opc(score=[0.5])))


def step(*completions: tuple[str, int | None], chosen: int | None = 0, human: str | None = None) -> dict[str, Any]:
    return {
        "completions": [{"text": text, "rating": rating, "flagged": None} for text, rating in completions],
        "chosen_completion": chosen,
        "human_completion": None if human is None else {"text": human},
    }


def prm(*steps: dict[str, Any], finish: str = "solution") -> dict[str, Any]:
    question = {"problem": "P", "ground_truth_answer": "2", "ground_truth_solution": "ref"}
    return {"question": question, "label": {"steps": list(steps), "finish_reason": finish}}


def test_prm800k(tmp_path: Path) -> None:
    path = json_lines(
        tmp_path / "phase2.jsonl",
        prm(step(("a", 1)), step(("b", 0)), step(("c", 1))),
        prm(step(("a", 1)), step(("b", -1), ("b2", 1), chosen=0), step(("c", 1)), finish="found_error"),
        prm(step(("a", 1)), step(("bad", -1), chosen=None), finish="found_error"),
        prm(step(("a", 1), ("a2", 1), chosen=1), step(("x", -1), chosen=None, human="h"), step(("c", 1))),
        prm(step(("a", 1)), finish="give_up"),
        prm(step(("a", 1)), finish="bad_problem"),
        prm(step(("a", None))),
        prm(step(("a", 1), ("b", 0), chosen=None)),
        prm(step(("z", 1)), finish="found_error"),
    )
    imported = import_prm800k(path)
    found = [(row.steps, row.first_error_step) for row in proofs(imported, tmp_path)]
    assert found == [(["a", "b", "c"], -1), (["a", "b"], 1), (["a", "bad"], 1), (["a2", "h", "c"], -1)]
    assert sorted(imported.left_out.values()) == [1, 1, 1, 1, 1]


def test_faulty_prm800k(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "p.jsonl", prm(step(("a", 2))), {"question": {}}, prm(step(("a", 1), chosen=3)))
    with pytest.raises(DataError) as caught:
        import_prm800k(path)
    assert [line.split(": ")[1] for line in str(caught.value).split("\n")] == ["line 1", "line 2", "line 3"]


ARXIV = ["arxiv_id", "version", "Location of Error", "Liscence"]


def test_arxivmath_is_a_table_beside_texts(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    table(folder / "papers.csv", ARXIV, ["2401.00001", "v2", "Theorem 19", "CC BY 4.0"])
    with pytest.raises(DataError, match=r"found no text of 2401\.00001"):
        import_arxivmath(folder)
    (folder / "2401.00001v2.tex").write_text("\\begin{document}One.\n\nTwo.\\end{document}")
    (paper,) = proofs(import_arxivmath(folder), tmp_path)
    assert (paper.steps, paper.annotation.remark, paper.is_correct) == (["One.", "Two."], "Theorem 19", False)
    assert (paper.first_error_step, paper.source_id) == (None, "arxiv:2401.00001v2")


def test_every_format_says_what_it_is_and_an_unknown_one_is_named() -> None:
    assert len({known.name for known in FORMATS}) == len(FORMATS)
    assert all(known.what for known in FORMATS)
    with pytest.raises(ConfigError, match="did you mean 'proofbench'"):
        find_format("prooofbench")


def test_a_namesake_is_named(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "v.jsonl", {"question": "q", "gold_answer": "A", "llm_response": "The answer is A"})
    for known in FORMATS:
        with pytest.raises(
            DataError, match="OpenCompass's VerifierBench" if known.name != "arxivmath" else "no folder"
        ):
            known.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "row 1: found int"),
        ("[{]", ":1:3: not JSON"),
        ("{}\n{", ":2: not JSON"),
        ("7", "the whole file: found int"),
    ],
)
def test_unreadable_json(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text if text.startswith("[") else text.replace("{}", json.dumps(processbench())))
    with pytest.raises(DataError, match=message):
        import_processbench(path)


def test_missing_sources(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        import_processbench(tmp_path / "no.json")
    with pytest.raises(DataError, match=r"holds no \.csv"):
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
