"""LeanDojo's protocol: what a theorem can reach, what its tactics ask for, and the figures of the worked case."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proverbench.errors import DataError
from proverbench.retrieval.corpus import load_corpus
from proverbench.retrieval.derive import scores_of
from proverbench.retrieval.gold import find_positions
from proverbench.retrieval.prepare import DataOptions, Prepared, prepare
from proverbench.retrieval.records import Place
from proverbench.retrieval.settings import RunFileSettings
from proverbench.retrieval.systems.base import Context
from proverbench.retrieval.systems.bm25 import Bm25System
from proverbench.retrieval.systems.dense import DenseSystem
from proverbench.retrieval.systems.runfile import RunFileSystem
from tests.retrieval.support import HashEmbedder, lists_of
from tests.support import SHARED, every


def premise(name: str, line: int) -> dict[str, Any]:
    return {"full_name": name, "code": f"theorem {name}", "start": [line, 1], "end": [line + 1, 20], "kind": "theorem"}


LIBRARY = [
    {"path": "A.lean", "imports": [], "premises": [premise("A.foo", 3), premise("A.bar", 6)]},
    {"path": "B.lean", "imports": ["A.lean"], "premises": [premise("B.mid", 2)]},
    {"path": "Z.lean", "imports": [], "premises": [premise("Z.late", 1)]},
    {
        "path": "Main.lean",
        "imports": ["B.lean"],
        "premises": [premise("Main.one", 5), premise("Main.two", 10), premise("Main.three", 20)],
    },
]


def a_theorem(**more: Any) -> dict[str, Any]:
    named = [
        {"full_name": "A.foo", "def_path": "A.lean", "def_pos": [3, 9]},
        {"full_name": "Main.one", "def_path": "Main.lean", "def_pos": [5, 9]},
    ]
    return {
        "file_path": "Main.lean",
        "full_name": "Main.two",
        "start": [10, 1],
        "traced_tactics": [
            {"annotated_tactic": ["rw", named], "state_before": "h : p\n⊢ theorem A foo"},
            {"annotated_tactic": ["simp", []], "state_before": "⊢ r"},
        ],
        **more,
    }


def prepared(folder: Path, library: list[Any], theorems: list[Any], **options: Any) -> Prepared:
    corpus, queries = folder / "corpus.jsonl", folder / "test.json"
    corpus.write_text("".join(json.dumps(file) + "\n" for file in library))
    queries.write_text(json.dumps(theorems))
    return prepare(DataOptions(task="leandojo", corpus=corpus, queries=queries, **options))


def context_of(data: Prepared, cache: Path) -> Context:
    return Context(data.corpus, data.texts, cache)


@pytest.mark.shared
async def test_the_worked_case(tmp_path: Path) -> None:
    cases = json.loads((SHARED / "vectors/retrieval_cases.json").read_text(encoding="utf-8"))["cases"]
    given = next(case for case in cases if case["id"] == "R16")["input"]
    order = [f"{path}:{name}" for path, name in given["system_order_over_all_premises"]]
    for pool, expected in (("", "accessible_pool"), ("all", "all_premises_pool")):
        data = prepared(tmp_path, given["corpus"], given["theorems"], pool=pool)
        (query,) = data.queries
        assert [row.split(":", 1) for unit in query.units for row in unit] == given["expected"]["gold"]
        (tmp_path / "run.jsonl").write_text(json.dumps({"query_id": query.id, "doc_ids": order}))
        context = context_of(data, tmp_path)
        allowed = context.allowed(query)
        if pool == "":
            assert allowed is not None
            reached = [data.corpus.documents[row].id.split(":", 1) for row in np.flatnonzero(allowed)]
            assert sorted(reached) == given["expected"]["accessible"]
        system = RunFileSystem("runfile:x", RunFileSettings(path=str(tmp_path / "run.jsonl")), context)
        found = (await lists_of(system, [query], 100))[query.id]
        if pool == "":
            assert [row.split(":", 1) for row in found] == given["expected"]["ranked_after_filter"]
        positions = {query.id: find_positions(query.id, found, query.units, 100)}
        scores = scores_of([query], positions, k_max=100, service_cap=None)
        figures = {"R@1": scores.curves["R"][0, 0], "R@10": scores.curves["R"][0, 9], "RR": scores.scalars["MRR"][0]}
        assert figures == pytest.approx(given["expected"][expected], abs=1e-12)


async def test_systems_search_what_the_theorem_can_use(tmp_path: Path) -> None:
    theorems = [a_theorem(), a_theorem(full_name="Main.three", start=[20, 1])]
    data = prepared(tmp_path, LIBRARY, theorems)
    context = context_of(data, tmp_path / "cache")
    two, three = data.queries
    assert [query.id for query in (two, three)] == ["Main.lean:Main.two:0", "Main.lean:Main.three:0"]
    reach = {"A.lean:A.foo", "A.lean:A.bar", "B.lean:B.mid", "Main.lean:Main.one"}
    for system in (Bm25System(context), DenseSystem("dense:hash", HashEmbedder(), context)):
        found = await lists_of(system, data.queries, 100)
        assert set(found[two.id]) <= reach
        assert set(found[three.id]) <= reach | {"Main.lean:Main.two"}
    assert set(found[two.id]) == reach, "dense search ranks all that is accessible"
    whole = prepared(tmp_path, LIBRARY, theorems, pool="all")
    everything = await lists_of(DenseSystem("d", HashEmbedder(), context), whole.queries, 100)
    for query in every(data.queries):
        allowed = context.allowed(query)
        assert allowed is not None
        kept = [row for row in everything[query.id] if allowed[data.corpus.number_of[row]]]
        assert found[query.id] == kept, "the same order as over all premises"


def test_premises_without_name_or_code_or_of_generated_names_are_left_out(tmp_path: Path) -> None:
    odd = [
        {**premise("A.x", 1), "full_name": None},
        {**premise("A.y", 1), "code": ""},
        premise("user__.n.1", 1),
        premise("[anonymous]", 1),
        premise("A.kept", 4),
    ]
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"path": "A.lean", "imports": [], "premises": odd}))
    assert [document.name for document in load_corpus(path).documents] == ["A.kept"]


def test_copies_of_a_name_in_one_file_go_together(tmp_path: Path) -> None:
    premises = [premise("M.a", 1), premise("M.a", 30), premise("M.b", 40)]
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"path": "M.lean", "imports": [], "premises": premises}))
    assert load_corpus(path).library.accessible(Place("M.lean", 10, 1)).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("library", "theorem", "message"),
    [
        pytest.param([*LIBRARY[1:]], a_theorem(), "lacks the file 'A.lean'", id="a file is missing"),
        pytest.param(LIBRARY, a_theorem(file_path="X.lean"), "lacks the file 'X.lean'", id="unknown theorem"),
        pytest.param(LIBRARY, a_theorem(file_path=""), "--pool all", id="no file"),
        pytest.param(
            LIBRARY,
            a_theorem(traced_tactics=[{"annotated_tactic": ["x", [{"full_name": "A"}]], "state_before": "no goals"}]),
            "has no ⊢",
            id="no goal",
        ),
        pytest.param([{**LIBRARY[0], "imports": "B"}], a_theorem(), "imports must be a list", id="imports"),
        pytest.param(
            [{**LIBRARY[0], "premises": [{**premise("A", 1), "end": 3}]}], a_theorem(), "end must be", id="end"
        ),
        pytest.param([LIBRARY[0], LIBRARY[0]], a_theorem(), "is there twice", id="a file twice"),
    ],
)
def test_what_is_accessible_must_be_known(tmp_path: Path, library: Any, theorem: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        prepared(tmp_path, library, [theorem])


def test_gold_that_the_corpus_lacks_is_left_out(tmp_path: Path) -> None:
    theorem = a_theorem()
    theorem["traced_tactics"][0]["annotated_tactic"][1].append(
        {"full_name": "C.x", "def_path": "C.lean", "def_pos": [1, 1]}
    )
    (query,) = prepared(tmp_path, LIBRARY, [theorem]).queries
    assert (query.units, query.units_left_out) == ([["A.lean:A.foo"], ["Main.lean:Main.one"]], 1)
