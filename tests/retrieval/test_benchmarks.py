import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import DataError
from proverbench.retrieval.benchmarks import TASKS, load_benchmark
from proverbench.retrieval.cli import TASKS as CLI_TASKS
from proverbench.retrieval.gold import resolve_gold
from proverbench.retrieval.subsets import SHARED_171, cut_to_subset, load_subset
from proverbench.shipped import shipped

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "retrieval"
needs_shared = pytest.mark.shared


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def test_the_command_line_knows_every_task() -> None:
    assert tuple(TASKS) == CLI_TASKS


def test_a_released_file_without_its_task_is_one_fault_that_names_the_task(tmp_path: Path) -> None:
    path = write(tmp_path / "MathlibQR.json", [{"id": "O1"}, {"id": "O2"}])
    with pytest.raises(DataError) as refused:
        load_benchmark(path, "jsonl")
    assert str(refused.value).splitlines()[0].endswith("wants --task mathlibqr or mathlibmpr")


@needs_shared
def test_the_mathlibqr_sample_gives_the_known_counts() -> None:
    facts = json.loads((SHARED / "MathlibQR.sample20.facts.json").read_text())
    benchmark = load_benchmark(SHARED / "MathlibQR.sample20.json", "mathlibqr", allow_modified=True)
    assert len(benchmark.queries) == facts["queries"]
    missing = set(facts["missing_in_4280"])
    names = {member for query in benchmark.queries for unit in query.gold for member in unit} - missing
    rows_of = {name: [name] for name in names}
    kept = [query for query in benchmark.queries if not resolve_gold(query, rows_of).dropped]
    assert len(kept) == facts["queries_with_gold"]
    assert benchmark.queries[0].id == "O1_q1a_lean"
    assert benchmark.queries[0].cluster == "O1"
    assert not any(query.id == "O1_q4_special_case" for query in benchmark.queries), "an empty string is no query"


@needs_shared
def test_the_mathlibmpr_sample_gives_its_groups_and_flags_shared_documents() -> None:
    benchmark = load_benchmark(SHARED / "MathlibMPR.sample6.json", "mathlibmpr", allow_modified=True)
    assert [len(query.gold) for query in benchmark.queries] == [2, 7, 3, 5, 1, 8]
    assert benchmark.queries[0].text.startswith("import Mathlib")
    rows_of = {member: [member] for query in benchmark.queries for unit in query.gold for member in unit}
    assert sum(resolve_gold(query, rows_of).overlapping for query in benchmark.queries) == 2


@needs_shared
def test_a_file_that_is_not_the_published_one_is_refused_unless_allowed() -> None:
    with pytest.raises(DataError, match="the published begins 0ce093ebb9da") as caught:
        load_benchmark(SHARED / "MathlibQR.sample20.json", "mathlibqr")
    assert "--allow-modified" in str(caught.value)
    benchmark = load_benchmark(SHARED / "MathlibQR.sample20.json", "mathlibqr", allow_modified=True)
    assert benchmark.published is False
    assert len(benchmark.notes) == 2


def test_a_wanted_hash_is_checked_byte_for_byte(tmp_path: Path) -> None:
    path = shipped("data/retrieval/queries.jsonl")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load_benchmark(path, "jsonl", sha256=digest[:12]).sha256 == digest
    changed = tmp_path / "queries.jsonl"
    changed.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(DataError, match="its SHA-256 is"):
        load_benchmark(changed, "jsonl", sha256=digest[:12])
    with pytest.raises(DataError, match="at least 8 digits"):
        load_benchmark(path, "jsonl", sha256=digest[:7])


def test_own_queries_in_jsonl(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"id": "1", "text": "a", "gold": ["x", ["y", "z"]], "cluster": "c", "split": "dev", '
        '"labels": {"style": "s"}}\n'
        '{"id": "2", "text": "b", "gold": []}\n'
    )
    first, second = load_benchmark(path, "jsonl").queries
    assert (first.gold, first.cluster, first.split, first.labels) == ([["x"], ["y", "z"]], "c", "dev", {"style": "s"})
    assert (second.gold, second.cluster) == ([], "2")


def test_all_faults_of_a_queries_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"id": "1", "text": "", "gold": []}\n{"id": "1", "text": "a", "gold": "x"}\n'
        '{"text": "a", "gold": [[]]}\n{"id": "4", "text": "a", "gold": [], "labels": {"k": 1}}\n'
    )
    with pytest.raises(DataError) as caught:
        load_benchmark(path, "jsonl")
    for part in (
        ":1: text must not be empty",
        ":2: gold must be a list of units, found 'x'",
        "query id '1' stands there twice",
        ":3: id must be a string, found None",
        ":3: gold: a unit is a name or a non-empty list of names, found []",
        ":4: labels must be an object of strings",
    ):
        assert part in str(caught.value)


def test_statement_to_dependencies(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "t", "statement": "1 + 1 = 2", "dependencies": ["Nat.add", "Nat.succ"]}\n')
    (query,) = load_benchmark(path, "dependencies").queries
    assert (query.text, query.gold) == ("1 + 1 = 2", [["Nat.add"], ["Nat.succ"]])


def test_leandojo_states_ask_for_the_premises_of_the_next_tactic(tmp_path: Path) -> None:
    theorem = {
        "full_name": "Nat.t",
        "file_path": "Mathlib/T.lean",
        "traced_tactics": [
            {"tactic": "intro x", "annotated_tactic": ["intro x", []], "state_before": "⊢ ∀ x", "state_after": "x"},
            {
                "tactic": "rw [a, b, a]",
                "annotated_tactic": ["rw …", [{"full_name": n, "def_path": "p"} for n in ("A", "B", "A")]],
                "state_before": "x ⊢ p",
                "state_after": "no goals",
            },
        ],
    }
    (query,) = load_benchmark(write(tmp_path / "l.json", [theorem]), "leandojo").queries
    assert (query.id, query.cluster) == ("Mathlib/T.lean:Nat.t:1", "Mathlib/T.lean:Nat.t")
    assert (query.text, query.gold) == ("x ⊢ p", [["A"], ["B"]])


@pytest.mark.parametrize(
    ("task", "value", "message"),
    [
        pytest.param("mathlibqr", {"id": "x"}, "must be a list of rows, found dict", id="no list"),
        pytest.param("mathlibqr", [5], "row 0 must be an object, found 5", id="no object"),
        pytest.param("mathlibqr", [{"id": "a", "q1a_lean": "x"}], "full_name must be a string", id="no name"),
        pytest.param(
            "mathlibmpr", [{"id": "a", "formal_statement": "x"}], "premise_group must be a list", id="no group"
        ),
        pytest.param(
            "mathlibmpr",
            [{"id": "a", "formal_statement": "x", "premise_group": [{"docs": []}]}],
            "a unit is a name or a non-empty list",
            id="empty group",
        ),
        pytest.param(
            "leandojo",
            [{"full_name": "t", "traced_tactics": [{"annotated_tactic": ["x"], "state_before": "s"}]}],
            "annotated_tactic 0 must be",
            id="no provenance",
        ),
        pytest.param("leandojo", [], "holds no queries of task leandojo", id="empty"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, task: str, value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_benchmark(write(tmp_path / "f.json", value), task, allow_modified=True)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text("<html>")
    with pytest.raises(DataError, match="is not JSON"):
        load_benchmark(path, "mathlibqr")


def test_a_subset_names_queries_declarations_or_full_names(tmp_path: Path) -> None:
    benchmark = load_benchmark(shipped("data/retrieval/queries.jsonl"), "jsonl")
    path = tmp_path / "mine.txt"
    path.write_text("# my subset\nIsCompact.image\n\nzorn_lemma_nickname\n")
    cut = cut_to_subset(benchmark, load_subset(path), "mine")
    assert [query.id for query in cut.queries] == [
        "zorn_lemma_nickname",
        "IsCompact.image_formal",
        "IsCompact.image_words",
    ]
    assert cut.subset == "mine"
    as_json = write(tmp_path / "mine.json", ["IsCompact.image", "zorn_lemma_nickname"])
    assert cut_to_subset(benchmark, load_subset(as_json), "mine") == cut


def test_a_subset_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    benchmark = load_benchmark(shipped("data/retrieval/queries.jsonl"), "jsonl")
    with pytest.raises(DataError, match="name no query; the first is 'Nope'"):
        cut_to_subset(benchmark, ["IsCompact.image", "Nope"], "mine")
    with pytest.raises(DataError, match="names 1 declarations, it must name 171"):
        cut_to_subset(benchmark, ["IsCompact.image"], SHARED_171)
    with pytest.raises(DataError, match="names no query and no declaration"):
        load_subset(write(tmp_path / "e.json", []))
