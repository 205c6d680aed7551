import json
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import DataError
from proverbench.retrieval.corpus import load_corpus
from proverbench.shipped import shipped


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_shipped_corpus_loads_with_one_declaration_twice() -> None:
    corpus = load_corpus(shipped("data/retrieval/corpus.jsonl"))
    assert len(corpus.documents) == 112
    assert corpus.rows_of["Group.mul_left_cancel"] == ["Mul.cancel_left", "Mul.cancel_left#copy"]


def test_fields_of_search_services_are_understood(tmp_path: Path) -> None:
    row = {
        "name": ["Nat", "add_comm"],
        "module_name": ["Init", "Nat"],
        "type": "n + m = m + n",
        "informal_description": "Addition commutes.",
        "docstring": None,
    }
    (document,) = load_corpus(write(tmp_path / "c.jsonl", [row])).documents
    assert (document.id, document.name, document.module) == ("Nat.add_comm", "Nat.add_comm", "Init.Nat")
    assert (document.type, document.informal, document.docstring) == ("n + m = m + n", "Addition commutes.", "")


def test_a_leandojo_corpus_is_a_file_a_line(tmp_path: Path) -> None:
    premises = [
        {
            "full_name": "Nat.a",
            "code": "theorem a : 1 = 1",
            "kind": "commanddeclaration",
            "start": [1, 1],
            "end": [2, 1],
        },
        {"full_name": "Nat.a", "code": "theorem a' : 1 = 1", "start": [3, 1], "end": [4, 1]},
    ]
    rows = [
        {"path": "Mathlib/A.lean", "imports": [], "premises": premises},
        {"path": "Mathlib/B.lean", "imports": ["Mathlib/A.lean"], "premises": premises[:1]},
    ]
    corpus = load_corpus(write(tmp_path / "corpus.jsonl", rows))
    assert [document.id for document in corpus.documents] == [
        "Mathlib/A.lean:Nat.a",
        "Mathlib/A.lean:Nat.a#2",
        "Mathlib/B.lean:Nat.a",
    ]
    assert len(corpus.rows_of["Nat.a"]) == 3


def test_bom_crlf_and_blank_lines_are_accepted_and_u2028_does_not_split(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a", "text": "x\xe2\x80\xa8y"}\r\n\r\n{"id": "b"}')
    assert [document.id for document in load_corpus(path).documents] == ["a", "b"]


def test_all_faults_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(
        b'{"id": "a"}\n{"id": "a"}\nnot json\n[]\n{"kind": "theorem"}\n{"id": "b", "text": 5}\n'
        b'{"id": "c", "text": "\\ud800"}\n{"id": "d", "name": "a"}\n\xff\n'
    )
    with pytest.raises(DataError) as caught:
        load_corpus(path)
    message = str(caught.value)
    for part in (
        ":2: id 'a' is on line 1 too",
        ":3: is not JSON",
        ":4: a row must be an object, found list",
        ":5: needs an id, a full_name or a name",
        ":6: text must be a string, found 5",
        ":7: text holds a lone surrogate",
        ":8: name 'a' is the id of line",
        ":9: is not UTF-8",
    ):
        assert part in message


def test_an_empty_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no documents"):
        load_corpus(write(tmp_path / "c.jsonl", []))
    with pytest.raises(DataError, match="cannot be read"):
        load_corpus(tmp_path / "missing.jsonl")


def test_a_sample_keeps_gold_is_seeded_and_has_a_key_of_its_own(tmp_path: Path) -> None:
    corpus = load_corpus(write(tmp_path / "c.jsonl", [{"id": f"d{i}"} for i in range(50)]))
    one = corpus.sampled(10, keep=["d3", "d47"], seed=1)
    assert len(one.documents) == 10
    assert {"d3", "d47"} <= {document.id for document in one.documents}
    assert one == corpus.sampled(10, keep=["d3", "d47"], seed=1)
    assert one.documents != corpus.sampled(10, keep=["d3", "d47"], seed=2).documents
    assert len({corpus.key, one.key, corpus.sampled(10, keep=[], seed=2).key}) == 3
    assert corpus.sampled(50, keep=[], seed=1) is corpus
    with pytest.raises(DataError, match="cannot hold the 2 gold rows"):
        corpus.sampled(1, keep=["d3", "d47"], seed=1)
