"""Other people's files, by their description."""

import json
from pathlib import Path

import pytest

from proverbench.errors import ConfigError, DataError
from proverbench.inputs.data import load_proofs
from proverbench.inputs.imported import Imported, write_rows
from proverbench.inputs.mapped import apply_mapping
from proverbench.inputs.mapping import load_mapping
from proverbench.inputs.rows import derive_problem_id
from proverbench.inputs.tables import plain_tex

LAYOUTS = Path(__file__).parents[3] / "shared" / "data" / "graded" / "layouts"

TABLE = """
format = "csv"
[fields]
problem_id = "Nr"
policy = "Model"
problem = "Question"
proof = "Answer"
rubric = "Scheme"
[graders]
layout = "long"
name = "Grader"
grade = "Grade"
comment = "Remark"
"""
WIDE = """
format = "csv"
[fields]
problem_id = "problem_id"
policy = "model"
problem = "problem"
proof = "proof"
max_grade = {value = 7}
[graders]
layout = "wide"
columns.r1 = {grade = "grade_r1", comment = "comment_r1"}
columns.r2 = {grade = "grade_r2"}
"""
NESTED = """
format = "jsonl"
rows = "attempts[]"
[fields]
problem_id = "^.task.id"
policy = "model"
problem = "^.task.text"
rubric = "^.task.scheme[].desc"
proof = "proof"
[graders]
layout = "list"
rows = "grades[]"
name = "by"
grade = "score"
comment = "note"
"""
ARRAY = """
format = "json"
rows = "data[]"
decimal = ","
[fields]
problem_id = {from = "id", pattern = "(?P<value>.+)::"}
policy = {from = "id", pattern = "::(?P<value>.+)"}
problem = "statement"
proof = "paragraphs"
grade = "percent"
max_grade = {value = 100}
"""
HUB = """
format = "parquet"
files = "data/train-*"
[fields]
problem_id = "problem_id"
policy = "generator"
problem = "problem"
proof = "model_solution"
rubric = "marking_scheme"
max_grade = {value = 7}
[graders]
layout = "list"
name = "raters"
grade = "ratings"
"""
TEX = """
format = "tex"
files = "*.tex"
[sheet]
file = "grades.csv"
[fields]
problem_id = {from = "name", pattern = "^(?P<value>[^_]+)_"}
policy = {from = "name", pattern = "_(?P<value>.+)$"}
problem = {file = "problems/{problem_id}.tex"}
proof = "text"
max_grade = {value = 7}
[graders]
layout = "long"
name = "grader"
grade = "grade"
"""


def _mapped(tmp_path: Path, description: str, source: Path):
    (tmp_path / "own.toml").write_text(description)
    return apply_mapping(load_mapping(tmp_path / "own.toml"), source)


if LAYOUTS.is_dir():
    EXPECTED = [json.loads(line) for line in (LAYOUTS / "expected.jsonl").read_text("utf-8").splitlines()]

    @pytest.mark.parametrize(
        ("name", "description", "lacks"),
        [
            pytest.param("long_semicolon_bom.csv", TABLE, (), id="long"),
            pytest.param("wide.csv", WIDE, ("rubric",), id="wide"),
            pytest.param("nested.jsonl", NESTED, (), id="nested"),
            pytest.param("array.json", ARRAY, ("rubric", "grades", "grade", "max_grade"), id="array"),
            pytest.param("hub", HUB, ("comment",), id="hub"),
            pytest.param("tex", TEX, ("rubric", "comment"), id="tex"),
        ],
    )
    def test_one_set_in_six_layouts(name: str, description: str, lacks: tuple[str, ...], tmp_path: Path) -> None:
        mapped = _mapped(tmp_path, description, LAYOUTS / name)
        expected = [{key: value for key, value in row.items() if key not in lacks} for row in EXPECTED]
        if "comment" in lacks:
            for row in expected:
                row["grades"] = [{"grader": g["grader"], "grade": g["grade"]} for g in row["grades"]]
        found = [{key: row[key] for key in wanted} for row, wanted in zip(mapped.rows, expected, strict=True)]
        assert found == expected
        assert dict(mapped.left_out) == {"have no grade": 1}

    def test_percent_keeps_its_scale(tmp_path: Path) -> None:
        rows = _mapped(tmp_path, ARRAY, LAYOUTS / "array.json").rows
        assert [(row["grade"], row["max_grade"]) for row in rows] == [(100, 100), (35.7143, 100), (85.7143, 100)]

    def test_graders_who_differ_can_be_left_out(tmp_path: Path) -> None:
        mapped = _mapped(tmp_path, TABLE, LAYOUTS / "long_semicolon_bom.csv")
        mapped.keep_agreed()
        assert [row["policy"] for row in mapped.rows] == ["alpha", "alpha"]
        assert dict(mapped.left_out) == {"have no grade": 1, "have graders who differ": 1}


CELLS = "Nr;Model;Question;Answer;Grade;Grader;Remark;Scheme\n1;a;Why?;Because.;{grade};r;;\n"


@pytest.mark.parametrize(
    ("grade", "expected"),
    [
        pytest.param("7/7", 7, id="slash"),
        pytest.param(" 2 / 7 ", 2, id="free-space"),
        pytest.param("6.5/7", 6.5, id="half"),
        pytest.param("3 out of 7", 3, id="words"),
        pytest.param("8/7", "wanted 0 to 7", id="above"),
        pytest.param("-1/7", "wanted 0 to 7", id="below"),
        pytest.param("2,5/7", "wanted a number, such as 5 or 5/7", id="comma-that-was-not-declared"),
        pytest.param("good", "wanted a number, such as 5 or 5/7", id="word"),
        pytest.param("5", "wanted the most points", id="no-scale"),
        pytest.param("—", "no row can be used; 1 have no grade", id="dash"),
        pytest.param("", "no row can be used; 1 have no grade", id="blank"),
    ],
)
def test_grades(grade: str, expected: float | str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(CELLS.format(grade=grade))
    if isinstance(expected, str):
        with pytest.raises(DataError) as caught:
            _mapped(tmp_path, TABLE, tmp_path / "own.csv")
        assert expected in str(caught.value)
    else:
        assert _mapped(tmp_path, TABLE, tmp_path / "own.csv").rows[0]["grade"] == expected


def test_two_scales_in_one_row_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(CELLS.format(grade="5/10"))
    description = TABLE.replace('rubric = "Scheme"', "max_grade = {value = 7}")
    with pytest.raises(DataError, match="wanted points of 7"):
        _mapped(tmp_path, description, tmp_path / "own.csv")


@pytest.mark.parametrize(
    ("label", "base", "expected"),
    [("0", 0, 0), ("-1", 0, -1), ("2", 1, 1), ("0", 1, -1), ("2", 0, None), ("x", 0, None), ("1.0", 0, 1)],
)
def test_first_errors(label: str, base: int, expected: int | None, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(f"problem,proof,label\nP,<step>a</step><step>b</step>,{label}\n")
    description = f'format = "csv"\nindex_base = {base}\n[fields]\nproblem = "problem"\nproof = "proof"\n'
    description += 'first_error = "label"'
    if expected is None:
        with pytest.raises(DataError, match="row 1: field first_error"):
            _mapped(tmp_path, description, tmp_path / "own.csv")
    else:
        (row,) = _mapped(tmp_path, description, tmp_path / "own.csv").rows
        assert (row["annotation"]["first_fatal_error_step"], row["steps"]) == (expected, ["a", "b"])


@pytest.mark.parametrize(("word", "verdict"), [("Yes", "correct"), ("0", "incorrect"), ("perhaps", None)])
def test_verdicts_have_no_place(word: str, verdict: str | None, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(f"problem\tproof\tok\nP\tone proof\t{word}\n")
    description = 'format = "csv"\n[fields]\nproblem = "problem"\nproof = "proof"\nverdict = "ok"'
    if verdict is None:
        with pytest.raises(DataError, match="field verdict: found 'perhaps'; wanted one of"):
            _mapped(tmp_path, description, tmp_path / "own.csv")
    else:
        (row,) = _mapped(tmp_path, description, tmp_path / "own.csv").rows
        assert row["annotation"]["first_fatal_error_step"] is None
        assert row["annotation"]["verdict"] == verdict


def test_every_faulty_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("problem,proof,ok\nP,proof,maybe\n,proof,yes\nP,,yes\nP,proof,yes\n")
    description = 'format = "csv"\n[fields]\nproblem = "problem"\nproof = "proof"\nverdict = "ok"'
    with pytest.raises(DataError) as caught:
        _mapped(tmp_path, description, tmp_path / "own.csv")
    assert [line.split(": ")[1:3] for line in str(caught.value).split("\n")] == [
        ["row 1", "field verdict"],
        ["row 2", "field problem"],
        ["row 3", "field proof"],
    ]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        pytest.param("x", "is not TOML", id="no-toml"),
        pytest.param('format = "doc"\n[fields]\nproblem = "p"', "format", id="format"),
        pytest.param('format = "csv"\n[fields]\nprobem = "p"', "fields.probem: is not a field", id="unknown"),
        pytest.param('format = "csv"\n[fields]\nproof = "p"', "lacks problem", id="no-problem"),
        pytest.param('format = "csv"\n[fields]\nproblem = "p"\nproof = "q"', "has proofs and no label", id="no-label"),
        pytest.param('format = "csv"\n[fields]\nproblem = {from = "p", value = 1}', "give one of from, file", id="two"),
        pytest.param('format = "csv"\n[fields]\nproblem = {from = "p", pattern = "("}', "no regular", id="pattern"),
        pytest.param('format = "csv"\n[fields]\nproblem = {from = "p", pattern = "a"}', "no group", id="group"),
        pytest.param(WIDE.split("columns")[0], "a wide layout needs columns", id="no-columns"),
        pytest.param(TABLE.replace('name = "Grader"', ""), "a long layout needs name and grade", id="no-name"),
    ],
)
def test_a_faulty_description_is_refused(description: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(description)
    with pytest.raises(ConfigError) as caught:
        load_mapping(tmp_path / "own.toml")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("A % note\n\nB", "A \n\nB", id="comment"),
        pytest.param("A\n% note\nB 5\\% of", "A\nB 5\\% of", id="comment-line"),
        pytest.param("\\documentclass{a}\n\\begin{document}X\\end{document}\nY", "X", id="document"),
        pytest.param("\\begin{proof}[Sketch]\nX\n\\end{proof}", "X", id="environment"),
        pytest.param("\\begin{proof}X\\end{proof} and more", "\\begin{proof}X\\end{proof} and more", id="inside"),
    ],
)
def test_plain_tex(text: str, expected: str) -> None:
    assert plain_tex(text) == expected


def _one(tmp_path: Path, fields: str, text: str = "problem,proof,ok\nP,a proof,good\n"):
    (tmp_path / "own.csv").write_text(text)
    (row,) = _mapped(tmp_path, f"[fields]\nproblem = 'problem'\nproof = 'proof'\n{fields}", tmp_path / "own.csv").rows
    return row


def test_words_of_ones_own(tmp_path: Path) -> None:
    row = _one(tmp_path, "verdict = {from = 'ok', values = {Good = 'correct', bad = 'incorrect'}}")
    assert row["annotation"] == {"first_fatal_error_step": None, "verdict": "correct"}


def test_a_prefix_stands_before_what_is_there(tmp_path: Path) -> None:
    fields = "verdict = {value = 'correct'}\nsource_id = {from = 'ok', prefix = 'mine:'}"
    assert _one(tmp_path, fields)["source_id"] == "mine:good"
    assert "source_id" not in _one(tmp_path, fields, "problem,proof,ok\nP,a proof,\n")


def test_what_is_optional_may_lack(tmp_path: Path) -> None:
    row = _one(
        tmp_path, "verdict = {value = 'correct'}\nsubject = {from = 'area', optional = true, pattern = '(?P<value>x)'}"
    )
    assert "subject" not in row


def test_a_proof_that_is_optional_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("problem,proof\nP,one\nP,\n")
    description = (
        "[fields]\nproblem = 'problem'\nverdict = {value = 'correct'}\nproof = {from = 'proof', optional = true}"
    )
    mapped = _mapped(tmp_path, description, tmp_path / "own.csv")
    assert (len(mapped.rows), dict(mapped.left_out)) == (1, {"have no proof": 1})


def test_a_remark_on_a_graded_proof_is_kept(tmp_path: Path) -> None:
    row = _one(tmp_path, "grade = {value = 6}\nmax_grade = {value = 7}\nremark = 'ok'")
    assert (row["grade"], row["annotation"]) == (6, {"remark": "good"})
    write_rows(Imported([row]), tmp_path / "out.jsonl")
    six, seven = (load_proofs(tmp_path / "out.jsonl", correct_from=n).rows[0] for n in (6, 7))
    assert (six.is_correct, seven.is_correct, six.annotation.remark) == (True, False, "good")


def test_the_ending_says_the_format_and_ids_are_derived(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("problem\nP\n")
    (folder / "b.json").write_text('[{"problem": "Q"}]')
    (folder / "c.jsonl").write_text('{"problem": "R"}\n')
    (folder / "dataset_infos.json").write_text("{}")
    rows = _mapped(tmp_path, "[fields]\nproblem = 'problem'", folder).rows
    assert [row["problem"] for row in rows] == ["P", "Q", "R"]
    assert rows[0]["problem_id"] == derive_problem_id("P")


def test_a_namesake_is_named(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"problem": "P", "gold_answer": "A", "llm_response": "B"}\n')
    with pytest.raises(DataError, match="OpenCompass's VerifierBench"):
        _mapped(tmp_path, "[fields]\nproblem = 'problem'", tmp_path / "own.jsonl")
