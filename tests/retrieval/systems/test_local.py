import json
import shutil
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import ConfigError, DataError
from proverbench.retrieval.records import GoldQuery, Ranking, Unanswered
from proverbench.retrieval.settings import RunFileSettings, Settings
from proverbench.retrieval.systems.base import Remembered
from proverbench.retrieval.systems.bm25 import Bm25System, tokenise
from proverbench.retrieval.systems.build import SystemBuilder
from proverbench.retrieval.systems.dense import DenseSystem
from proverbench.retrieval.systems.fusion import FusionSystem, fuse
from proverbench.retrieval.systems.runfile import RunFileSystem
from tests.retrieval.support import HashEmbedder, lists_of, make_context, make_query


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("Nat.succ_le_iff", ["nat", "succ", "le", "iff"], id="dots and underscores"),
        pytest.param("IsCompact HSMul x2y", ["is", "compact", "hs", "mul", "x", "2", "y"], id="capitals and digits"),
        pytest.param("a ≤ b ⊔ c, ∀ n : ℕ", ["a", "≤", "b", "⊔", "c", "∀", "n", "ℕ"], id="symbols"),
        pytest.param("Étale αβ x₁", ["étale", "αβ", "x₁"], id="other letters stay whole"),
        pytest.param("(){}\\", [], id="ASCII punctuation"),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise(text) == tokens


async def test_bm25_is_cut_at_score_zero_and_ties_go_by_row(tmp_path: Path) -> None:
    context = make_context(tmp_path, "compact set", "prime number", "compact set", "compact space", "a group")
    system = Bm25System(context)
    found = await lists_of(system, [make_query("q", "compact set"), make_query("none", "zebra"), make_query("e", "()")])
    assert found["q"] == ["d0", "d2", "d3"]
    assert found["none"] == found["e"] == []


async def test_dense_search_ranks_by_cosine_with_ties_by_row(tmp_path: Path) -> None:
    texts = ["alpha", "beta", "alpha", "gamma"]
    context = make_context(tmp_path, *texts)
    rendered = context.texts[0]
    found = await lists_of(DenseSystem("dense:hash", HashEmbedder(), context), [make_query("q", rendered)], k=2)
    assert found["q"][0] == "d0", "the same text has cosine 1"
    assert len(found["q"]) == 2


def test_reciprocal_rank_fusion_by_hand() -> None:
    """a: 1/61 + 1/63; b: 1/62 + 1/61 is more; c: 1/63; d: 1/62. A repeat counts at its first place."""
    order = {"a": 0, "b": 1, "c": 2, "d": 3}
    assert fuse([["a", "b", "b", "c"], ["b", "d", "a"]], 10, order) == ["b", "a", "d", "c"]
    assert fuse([["a"], ["b"]], 10, order) == ["a", "b"], "equal scores go by row"
    assert fuse([["x", "a"], ["a", "x"]], 10, order) == ["a", "x"], "what is foreign comes after"
    assert fuse([["a", "b"], ["a", "b"]], 1, order) == ["a"]


class Silent:
    """A system that cannot answer one query."""

    spec = "silent"
    external = True
    own_corpus = ""
    own_missing: frozenset[str] | None = None
    licence = "CC-BY-NC-4.0"

    def identity(self) -> dict[str, Any]:
        return {}

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Ranking | Unanswered, None]:
        for query in queries:
            yield Unanswered(query.id, "timeout", "no answer")

    def notes(self) -> list[str]:
        return []

    async def aclose(self) -> None:
        pass


async def test_a_fusion_cannot_answer_what_a_member_cannot(tmp_path: Path) -> None:
    context = make_context(tmp_path, "one", "two")
    system = FusionSystem("fusion:bm25+silent", [Bm25System(context), Silent()], context.corpus)
    (outcome,) = [outcome async for outcome in system.search([make_query("q", "one")], 10)]
    assert outcome == Unanswered("q", "timeout", "no answer")
    assert system.licence == "CC-BY-NC-4.0"
    assert not system.external, "bm25 reaches as deep as is asked"


async def test_what_is_remembered_is_not_searched_again(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    remembered = Remembered(DenseSystem("dense:hash", embedder, make_context(tmp_path, "one", "two")))
    remembered.users = 2
    queries = [make_query("q", "one"), make_query("r", "two")]
    first = await lists_of(remembered, queries)
    shutil.rmtree(tmp_path)
    assert await lists_of(remembered, queries) == first
    assert len(embedder.asked) == 4


async def test_a_trec_run_file(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text(
        "q Q0 d1 1 0.5 tag\nq Q0 d0 2 0.9 tag\nq Q0 foreign 3 0.5 tag\n\nr Q0 d1 2 1 tag\nr Q0 d0 1 1 tag\n",
    )
    system = RunFileSystem("runfile:x", RunFileSettings(path=str(path)), make_context(tmp_path, "one", "two"))
    found = await lists_of(system, [make_query(name, "t") for name in "qrs"])
    assert found["q"] == ["d0", "d1", "foreign"], "by score; a foreign document keeps its rank"
    assert found["r"] == ["d0", "d1"], "equal scores go by the written rank"
    assert found["s"] == [], "a query that the file lacks got nothing"


async def test_a_jsonl_run_file_is_what_a_run_writes(tmp_path: Path) -> None:
    path = tmp_path / "ranked.jsonl"
    path.write_text('{"query_id":"q","doc_ids":["d1","d0"]}\n')
    system = RunFileSystem("runfile:x", RunFileSettings(path=str(path)), make_context(tmp_path, "one", "two"))
    assert await lists_of(system, [make_query("q", "t")]) == {"q": ["d1", "d0"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("q Q0 d1 1 0.5\n", ":1: a TREC line has 6 fields", id="five fields"),
        pytest.param("q Q0 d1 one 0.5 t\n", ":1: rank and score must be numbers", id="no number"),
        pytest.param("q Q0 d1 1 nan t\n", ":1: rank and score must be finite", id="nan"),
        pytest.param('{"query_id": 5, "doc_ids": []}\n', "query_id must be a string", id="id"),
        pytest.param('{"query_id": "q", "doc_ids": "d"}\n', "doc_ids must be a list", id="list"),
        pytest.param('{"query_id":"q","doc_ids":[]}\n{"query_id":"q","doc_ids":[]}\n', ":2: query_id 'q'", id="twice"),
    ],
)
def test_bad_run_files_are_refused_with_the_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "run"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        RunFileSystem("runfile:x", RunFileSettings(path=str(path)), make_context(tmp_path, "one"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("bm26", "is unknown; known forms are bm25", id="unknown"),
        pytest.param("bm25:x", "nothing follows", id="too much"),
        pytest.param("fusion:bm25", "two systems or more", id="a fusion of one"),
        pytest.param("fusion:bm25+bm25", "two systems or more", id="a fusion with itself"),
        pytest.param("dense:mine", r"needs the table \[embedder.mine\]", id="no table"),
        pytest.param("rerank:mine", "say what is reranked", id="no base"),
        pytest.param("rerank:mine:bm25", r"needs the table \[reranker.mine\]", id="no reranker"),
    ],
)
def test_specs_that_cannot_be_built(tmp_path: Path, spec: str, message: str) -> None:
    builder = SystemBuilder(make_context(tmp_path, "one"), Settings.load(None))
    with pytest.raises(ConfigError, match=message):
        builder.build(spec)


def test_config_faults_are_told_at_once_without_values(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        '[embedder.a]\nmodel = "m"\nbase_url = "http://u:hunter2@127.0.0.1"\nbatchsize = 3\n'
        'parameters = { api_key = "hunter2" }\n[reranker.b]\ndepth = 1\nmodel = "m"\nbase_url = "http://127.0.0.1/v1"\n[index.c]\n'
    )
    with pytest.raises(ConfigError) as caught:
        Settings.load(path)
    message = str(caught.value)
    for part in (
        "embedder.a.base_url: holds a user or password",
        "embedder.a.parameters.api_key: may hold a secret",
        "embedder.a.batchsize: unknown key, did you mean 'batch_size'?",
        "reranker.b.depth",
        "[index] is unknown",
    ):
        assert part in message
    assert "hunter2" not in message


def test_identities_are_json(tmp_path: Path) -> None:
    builder = SystemBuilder(make_context(tmp_path, "one"), Settings.load(None))
    assert json.loads(json.dumps(builder.build("bm25").identity()))["method"] == "lucene"
