"""Data files: what is read, what is refused, and in which words."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.errors import DataError
from proverbench.inputs.data import load_problems, load_proofs
from proverbench.inputs.rows import derive_problem_id, derive_proof_id
from proverbench.records import Annotation
from proverbench.selection import parse_shard, shard_of, splits
from tests.support import every, grows_too_fast

SHARED = Path(__file__).parents[3] / "shared" / "data"


def proof_row(**changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "problem_id": "p1",
        "proof_id": "v1",
        "problem": "Prove it.",
        "domain": "ugd",
        "steps": ["a", "b", "c"],
        "annotation": {"first_fatal_error_step": -1, "recoverable_error_steps": [-1]},
    }
    return {key: value for key, value in (row | changes).items() if value is not ...}


def labels(fatal: Any, recoverable: Any) -> dict[str, Any]:
    return {"first_fatal_error_step": fatal, "recoverable_error_steps": recoverable}


def write(path: Path, *rows: Any) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=True) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def faults(path: Path, load: Any = load_proofs) -> list[str]:
    with pytest.raises(DataError) as caught:
        load(path)
    return [line.replace(f"{path}:", "") for line in str(caught.value).split("\n")]


def test_published_ids_are_derived() -> None:
    problem = "Prove that $1+1=2$ für alle."
    steps = ["Erster Schritt: é.", "b"]
    assert derive_problem_id(problem) == "amb-p-72969531716b4246"
    assert derive_proof_id("amb-p-72969531716b4246", steps) == "amb-v-67ed94df7111c529"
    assert derive_proof_id("x", steps) == "amb-v-870004299be65a0d"


def test_missing_ids_are_derived_from_the_row(tmp_path: Path) -> None:
    row = proof_row(
        problem="Prove that $1+1=2$ für alle.",
        steps=["Erster Schritt: é.", "b"],
        problem_id=...,
        proof_id=...,
    )
    (proof,) = load_proofs(write(tmp_path / "d.jsonl", row)).rows
    assert (proof.problem_id, proof.proof_id) == ("amb-p-72969531716b4246", "amb-v-67ed94df7111c529")


@pytest.mark.parametrize(
    ("fatal", "recoverable", "correct", "first"),
    [
        pytest.param(-1, [-1], True, -1, id="correct"),
        pytest.param(2, [-1], False, 2, id="fatal"),
        pytest.param(-1, [1], False, 1, id="only-recoverable"),
        pytest.param(2, [1, 0], False, 0, id="recoverable-before-fatal"),
        pytest.param(0, [2], False, 0, id="fatal-before-recoverable"),
    ],
)
def test_labels_give_the_derived_fields(
    tmp_path: Path, fatal: int, recoverable: list[int], correct: bool, first: int
) -> None:
    row = proof_row(annotation=labels(fatal, recoverable), is_correct=correct, first_error_step=first)
    (proof,) = load_proofs(write(tmp_path / "d.jsonl", row)).rows
    assert (proof.is_correct, proof.first_error_step) == (correct, first)


def test_legacy_layout(tmp_path: Path) -> None:
    row = proof_row(annotation=..., solution="ref", reviewer_comment="why", **labels(1, [-1]))
    (proof,) = load_proofs(write(tmp_path / "d.jsonl", row)).rows
    assert proof.reference_solution == "ref"
    assert proof.annotation == Annotation(1, [-1], "why")


def test_an_empty_reference_that_is_present_stays_empty(tmp_path: Path) -> None:
    path = write(tmp_path / "d.jsonl", {"problem": "p", "reference_solution": "", "solution": "not this"})
    assert load_problems(path).rows[0].reference_solution == ""


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            proof_row(annotation=labels(True, [-1])),
            "1: field annotation.first_fatal_error_step: found true; wanted an integer from -1 to 2",
            id="boolean-label",
        ),
        pytest.param(
            proof_row(annotation=labels(3, [-1])),
            "1: field annotation.first_fatal_error_step: found 3; wanted an integer from -1 to 2",
            id="out-of-range",
        ),
        pytest.param(
            proof_row(annotation=labels(1.0, [-1])),
            "1: field annotation.first_fatal_error_step: found 1.0; wanted an integer from -1 to 2",
            id="float-label",
        ),
        pytest.param(
            proof_row(annotation=labels(-2, [-1])),
            "1: field annotation.first_fatal_error_step: found -2; wanted an integer from -1 to 2",
            id="below-minus-one",
        ),
        pytest.param(
            proof_row(annotation=labels(-1, [])),
            "1: field annotation.recoverable_error_steps: found []; wanted [-1] for none, or a list of step indices",
            id="empty-recoverable",
        ),
        pytest.param(
            proof_row(annotation=labels(-1, [-1, 1])),
            "1: field annotation.recoverable_error_steps: found [-1, 1]; "
            "wanted [-1] alone, or a list of step indices without -1",
            id="mixture",
        ),
        pytest.param(
            proof_row(annotation=labels(-1, [False])),
            "1: field annotation.recoverable_error_steps[0]: found false; wanted an integer from -1 to 2",
            id="boolean-recoverable",
        ),
        pytest.param(
            proof_row(annotation={"first_fatal_error_step": -1}),
            "1: field annotation.recoverable_error_steps: found nothing; "
            "wanted [-1] for none, or a list of step indices",
            id="recoverable-missing",
        ),
        pytest.param(
            proof_row(annotation=None),
            "1: field annotation: found null; wanted an object, or no such field and its keys in the row itself",
            id="null-annotation",
        ),
        pytest.param(
            proof_row(annotation=labels(-1, [-1]) | {"reviewer_comment": None}),
            "1: field annotation.reviewer_comment: found null; wanted a string",
            id="null-comment",
        ),
        pytest.param(
            proof_row(is_correct=False),
            "1: field is_correct: found false; wanted true, as the labels say",
            id="derived-disagrees",
        ),
        pytest.param(
            proof_row(is_correct=None),
            "1: field is_correct: found null; wanted true, false, or no such field",
            id="null",
        ),
        pytest.param(
            proof_row(is_correct=1), "1: field is_correct: found 1; wanted true, false, or no such field", id="one"
        ),
        pytest.param(
            proof_row(first_error_step=0),
            "1: field first_error_step: found 0; wanted -1, as the labels say",
            id="first-error-disagrees",
        ),
        pytest.param(
            proof_row(first_error_step=True),
            "1: field first_error_step: found true; wanted an integer, or no such field",
            id="first-error-boolean",
        ),
        pytest.param(
            proof_row(steps=[]), "1: field steps: found []; wanted a non-empty list of strings", id="no-steps"
        ),
        pytest.param(
            proof_row(steps=["a", "", "c"]), '1: field steps[1]: found ""; wanted a non-empty string', id="empty-step"
        ),
        pytest.param(
            proof_row(problem="  "), '1: field problem: found "  "; wanted the problem\'s text', id="blank-problem"
        ),
        pytest.param(
            proof_row(problem=...), "1: field problem: found nothing; wanted the problem's text", id="no-problem"
        ),
        pytest.param(
            proof_row(proof_id=None),
            "1: field proof_id: found null; wanted a non-empty string, or no such field",
            id="null-id",
        ),
        pytest.param(
            proof_row(problem_id=7),
            "1: field problem_id: found 7; wanted a non-empty string, or no such field",
            id="number-id",
        ),
        pytest.param(
            proof_row(domain="all"),
            "1: field domain: found \"all\"; wanted a name other than 'all', such as 'ugd' or 'qe', "
            "without white space around it; or no such field",
            id="domain-all",
        ),
        pytest.param(
            proof_row(problem="x\ud800"),
            "1: field problem: found the lone surrogate \\ud800 at character 2; wanted text that UTF-8 can hold",
            id="lone-surrogate",
        ),
        pytest.param("[1, 2]", "1: found a list of 2; wanted one object a line", id="list"),
        pytest.param("null", "1: found null; wanted one object a line", id="null-row"),
        pytest.param(
            '{"a": 1',
            "1: not JSON: Expecting ',' delimiter at character 8; wanted one object a line",
            id="syntax",
        ),
        pytest.param('{"a": NaN}', "1: not JSON that can be read: found NaN, which is no JSON", id="nan"),
        pytest.param(
            '{"problem": "a", "problem": "b"}',
            "1: field problem: found twice in one object; wanted once",
            id="key-twice",
        ),
    ],
)
def test_a_faulty_row_is_refused(tmp_path: Path, row: Any, expected: str) -> None:
    assert faults(write(tmp_path / "d.jsonl", row)) == [expected]


def test_all_faults_of_the_file_are_told_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "d.jsonl",
        proof_row(problem=""),
        "{",
        proof_row(proof_id="v2", problem="Other."),
        proof_row(proof_id="v2", annotation=labels(9, [True])),
    )
    path.write_text("\n" + path.read_text())  # a first line that is not the beginning of one document
    assert [fault.split(";")[0] for fault in faults(path)] == [
        '2: field problem: found ""',
        "3: not JSON: Expecting property name enclosed in double quotes at character 2",
        '4: field problem_id: found "p1", which names another problem text on line 2',
        "5: field annotation.first_fatal_error_step: found 9",
        "5: field annotation.recoverable_error_steps[0]: found true",
        '5: field proof_id: found "v2", as "v2" on line 4',
        '5: field problem_id: found "p1", which names another problem text on line 2',
    ]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        pytest.param("1", "1", '"1", as "1" on line 1', id="same"),
        pytest.param(1, "1", '"1", as 1 on line 1', id="number-then-string"),
        pytest.param("1", 1, '1, as "1" on line 1', id="string-then-number"),
    ],
)
def test_an_id_is_never_said_twice(tmp_path: Path, first: Any, second: Any, found: str) -> None:
    path = write(tmp_path / "d.jsonl", {"problem_id": first, "problem": "a"}, {"problem_id": second, "problem": "b"})
    told = [fault for fault in faults(path, load_problems) if "unique" in fault]
    assert told == [f"2: field problem_id: found {found}; wanted a unique string"]


def test_one_problem_may_have_many_proofs(tmp_path: Path) -> None:
    data = load_proofs(write(tmp_path / "d.jsonl", proof_row(), proof_row(proof_id="v2")))
    assert [row.proof_id for row in data.rows] == ["v1", "v2"]
    assert data.rows[0].problem is data.rows[1].problem


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda raw: b"\xef\xbb\xbf" + raw, id="bom"),
        pytest.param(lambda raw: raw.replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(lambda raw: b"\n \n" + raw.replace(b"\n", b"\n\n"), id="blank-lines"),
        pytest.param(lambda raw: raw.rstrip(b"\n"), id="no-final-newline"),
    ],
)
def test_same_rows_however_the_lines_end(tmp_path: Path, damage: Any) -> None:
    rows = [{"problem_id": str(i), "problem": f"line\u2028sep\u0085 {i}"} for i in range(3)]
    raw = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path = tmp_path / "d.jsonl"
    path.write_bytes(damage(raw))
    data = load_problems(path)
    assert [(row.problem_id, row.problem) for row in data.rows] == [(row["problem_id"], row["problem"]) for row in rows]
    assert data.sha256 == hashlib.sha256(damage(raw)).hexdigest()


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"problem": "ok"}\n{"problem": "\xe9"}\n')
    assert faults(path, load_problems) == ["2: byte 14 is 0xe9, which is not UTF-8"]


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match="holds no rows"):
        load_problems(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jsonl: cannot be read: No such file"):
        load_problems(tmp_path / "nowhere.jsonl")


def test_one_json_document_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps([{"problem": "p"}] * 50, indent=2))
    (told,) = faults(path, load_problems)
    assert "one JSON document" in told
    assert "jq -c" in told


def test_the_other_benchmarks_file_is_recognised(tmp_path: Path) -> None:
    problems = write(tmp_path / "p.jsonl", {"problem": "p"})
    proofs = write(tmp_path / "v.jsonl", proof_row(), proof_row(proof_id="v2"))
    assert "these are problems" in faults(problems, load_proofs)[0]
    assert "these are annotated proofs" in faults(proofs, load_problems)[0]


@pytest.mark.parametrize(
    "text", ["1" * 5000, '{"a": ' * 100_000, '{"problem": ' + "9" * 5000 + "}"], ids=["digits", "deep", "value"]
)
def test_hostile_json_is_a_fault_of_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"problem": "p"}\n' + text)
    assert faults(path, load_problems)[0].startswith("2: ")


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_reading_raises_nothing_but_its_own_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(raw)
    for load in (load_problems, load_proofs):
        with pytest.raises(DataError):
            load(path)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@given(
    st.dictionaries(
        st.sampled_from(["problem_id", "proof_id", "problem", "domain", "steps", "annotation", "is_correct", "policy"]),
        _json,
    )
)
def test_any_row_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "row.jsonl"
    path.write_text(json.dumps(proof_row() | changes))
    for load in (load_problems, load_proofs):
        try:
            outcome = f"{path}:1: read {len(load(path).rows)}"
        except DataError as exc:
            outcome = str(exc)
        assert f"{path}:" in outcome


def problems(*domains: str | None) -> list[dict[str, Any]]:
    return [{"problem_id": f"p{i}", "problem": f"text {i}", "domain": domain} for i, domain in enumerate(domains)]


def test_splits_are_the_published_ones_then_others_as_they_come(tmp_path: Path) -> None:
    data = load_problems(write(tmp_path / "d.jsonl", *problems("olympiad", None, "qe", "putnam", "olympiad")))
    assert splits(data.rows) == ["all", "ugd", "qe", "olympiad", "putnam"]
    assert splits([]) == ["all", "ugd", "qe"]


def test_select_takes_domain_then_limit_then_shard(tmp_path: Path) -> None:
    data = load_problems(write(tmp_path / "d.jsonl", *problems(*["qe", "ugd"] * 20)))
    chosen = data.select(domain="ugd", limit=10)
    assert [row.problem_id for row in chosen] == [f"p{i}" for i in range(1, 20, 2)]
    parts = [data.select(domain="ugd", limit=10, shard=f"{i}/3") for i in (1, 2, 3)]
    assert sorted(row.problem_id for part in parts for row in part) == sorted(row.problem_id for row in chosen)
    assert len(data.select(domain="all")) == len(data.select()) == 40


def test_a_shard_is_the_problems_own(tmp_path: Path) -> None:
    rows = [proof_row(proof_id=f"v{i}", problem_id=f"p{i % 5}", problem=f"t{i % 5}") for i in range(30)]
    data = load_proofs(write(tmp_path / "d.jsonl", *rows))
    for part in every(data.select(shard=f"{i}/4") for i in (1, 2, 3, 4)):
        ids = {row.problem_id for row in part}
        assert len(part) == 6 * len(ids)
    assert shard_of("p1", 4) == int.from_bytes(hashlib.sha256(b"p1").digest()[:8], "big") % 4 + 1


def test_an_unknown_domain_names_those_there(tmp_path: Path) -> None:
    data = load_problems(write(tmp_path / "d.jsonl", *problems("ugd", "qe")))
    with pytest.raises(DataError, match="no row has the domain 'eq'; domains there: qe, ugd"):
        data.select(domain="eq")


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", ""])
def test_a_shard_is_i_of_n(text: str) -> None:
    with pytest.raises(DataError, match="wanted i/n"):
        parse_shard(text)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("real/proverbench.jsonl", 135),
        ("real/verifierbench_steps.jsonl", 221),
        ("real/verifierbench_opc.jsonl", 27),
        ("real/verifierbench_opc_whole.jsonl", 80),
        ("published-run/prover.data.jsonl", 6),
        ("published-run/prover-interrupted.data.jsonl", 6),
        ("published-run/verifier.data.jsonl", 6),
        ("published-run/verifier-meta.data.jsonl", 6),
    ],
)
def test_real_files_are_read(file: str, rows: int) -> None:
    load = load_proofs if "verifier" in file else load_problems
    assert len(load(SHARED / file).rows) == rows


def test_memory_stays_near_the_files_size(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with path.open("w") as file:
        for i in range(4000):
            file.write(json.dumps(proof_row(proof_id=f"v{i}", steps=[f"{j} " + "x" * 200 for j in range(10)])) + "\n")
    tracemalloc.start()
    data = load_proofs(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(data.rows) == 4000
    assert peak < 3 * path.stat().st_size


def test_keys_said_twice_take_linear_time(tmp_path: Path) -> None:
    def loading(size: int) -> Callable[[], None]:
        path = tmp_path / f"{size}.jsonl"
        path.write_text("{" + ",".join(f'"k{n}":1,"k{n}":2' for n in range(size)) + "}")

        def load() -> None:
            with pytest.raises(DataError) as caught:
                load_problems(path)
            assert str(caught.value).count("found twice in one object") == size

        return load

    assert not grows_too_fast(loading(5_000), loading(10_000))
