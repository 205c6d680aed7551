import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proverbench.endpoints.access import Access
from proverbench.errors import FatalEndpointError
from proverbench.retrieval.embedders.openai import OpenAIEmbedder
from proverbench.retrieval.settings import EmbedderSettings, Settings
from proverbench.retrieval.systems.build import SystemBuilder
from proverbench.retrieval.systems.dense import DenseSystem
from proverbench.spending.prices import Prices
from tests.retrieval.support import Answer, Seen, lists_of, make_context, make_query, serve


def embedding(text: str) -> list[float]:
    return [float(len(text)), float(text.count("a")), 1.0]


def well(seen: Seen) -> Answer:
    texts = seen.body["input"]
    data = [{"object": "embedding", "index": i, "embedding": embedding(t)} for i, t in enumerate(texts)]
    # Some servers answer in an order of their own.
    return 200, {"object": "list", "data": data[::-1], "model": "m", "usage": {"prompt_tokens": 3, "total_tokens": 3}}


def settings(url: str, **more: Any) -> EmbedderSettings:
    return EmbedderSettings.model_validate({"name": "mine", "model": "m", "base_url": url, "max_retries": 2, **more})


async def test_the_request_as_the_server_receives_it() -> None:
    with serve(well) as server:
        wanted = settings(
            server.url + "/v1/",
            style="instruct",
            instruction="Find it",
            parameters={"dimensions": 3},
            query_parameters={"input_type": "query"},
        )
        embedder = OpenAIEmbedder(wanted, Access(key="k"))
        queries = await embedder.embed(["abc", "aa"], is_query=True)
        await embedder.embed(["abc"], is_query=False)
        await embedder.aclose()
    first, second = server.seen
    assert (first.method, first.path, first.headers["Authorization"]) == ("POST", "/v1/embeddings", "Bearer k")
    assert first.body == {
        "model": "m",
        "input": ["Instruct: Find it\nQuery: abc", "Instruct: Find it\nQuery: aa"],
        "encoding_format": "base64",
        "dimensions": 3,
        "input_type": "query",
    }
    assert second.body["input"] == ["abc"], "nothing stands on a document"
    assert "input_type" not in second.body
    assert queries.tolist() == [embedding(text) for text in first.body["input"]], "in the order asked, by index"


async def test_vectors_in_base64_are_the_same_numbers() -> None:
    def packed(seen: Seen) -> Answer:
        data = [
            {"embedding": base64.b64encode(np.array(embedding(t), dtype="<f4").tobytes()).decode()}
            for t in seen.body["input"]
        ]
        return 200, {"data": data}

    with serve(packed) as server:
        embedder = OpenAIEmbedder(settings(server.url), Access())
        vectors = await embedder.embed(["a", "bab"], is_query=False)
        await embedder.aclose()
    assert vectors.tolist() == [embedding("a"), embedding("bab")]


@pytest.mark.parametrize("bad", ["NaN", "null", "1e999"])
async def test_a_number_that_cannot_be_used_spoils_its_own_vector_only(bad: str) -> None:
    body = f'{{"data": [{{"embedding": [1.0, 2.0]}}, {{"embedding": [{bad}, 2.0]}}, {{"embedding": [3.0]}}]}}'
    with serve(lambda seen: (200, body)) as server:
        embedder = OpenAIEmbedder(settings(server.url, encoding="float"), Access())
        vectors = await embedder.embed(["a", "b", "c"], is_query=False)
        await embedder.aclose()
    assert server.seen[0].body["encoding_format"] == "float"
    assert np.isfinite(vectors).all(axis=1).tolist() == [True, False, False], "the third is of another length"


async def test_tokens_and_cost_are_told() -> None:
    with serve(well) as server:
        embedder = OpenAIEmbedder(settings(server.url, prices=Prices(input=20000.0)), Access())
        await embedder.embed(["a"], is_query=False)
        await embedder.embed(["b"], is_query=False)
        await embedder.aclose()
    assert embedder.notes() == ["6 tokens embedded, $0.1200"]


def failing_once(failure: Answer) -> Callable[[Seen], Answer]:
    left = [failure]
    return lambda seen: left.pop() if left else well(seen)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param((429, {"error": {"message": "slow down"}}, {"Retry-After": "0"}), id="429"),
        pytest.param((503, "<html>", {"Retry-After": "0"}), id="503"),
    ],
)
async def test_transient_failures_are_retried(failure: Answer) -> None:
    with serve(failing_once(failure)) as server:
        embedder = OpenAIEmbedder(settings(server.url), Access())
        assert (await embedder.embed(["a"], is_query=True)).shape == (1, 3)
        await embedder.aclose()
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param({"data": []}, "without embeddings", id="empty"),
        pytest.param({"data": [{"embedding": [1.0], "index": 7}]}, "indices are not", id="wrong index"),
        pytest.param("<html>hello", "not a list of embeddings", id="html"),
        pytest.param({"data": [{"embedding": "%%%"}]}, "not base64 of float32", id="no base64"),
        pytest.param({"error": {"code": 401, "message": "bad key"}}, "bad key", id="error inside a 200"),
    ],
)
async def test_a_200_that_is_no_answer_never_becomes_a_vector(body: Any, message: str) -> None:
    with serve(lambda seen: (200, body)) as server:
        embedder = OpenAIEmbedder(settings(server.url, max_retries=0), Access())
        with pytest.raises(FatalEndpointError, match=message):
            await embedder.embed(["a"], is_query=True)
        await embedder.aclose()


async def test_a_wrong_key_stops_at_once_and_is_never_shown() -> None:
    with serve(lambda seen: (401, {"error": {"message": "no such key sk-secret-key-12345"}})) as server:
        embedder = OpenAIEmbedder(settings(server.url), Access(key="sk-secret-key-12345"))
        with pytest.raises(FatalEndpointError, match="401") as caught:
            await embedder.embed(["a"], is_query=True)
        await embedder.aclose()
    assert len(server.seen) == 1
    assert "sk-secret" not in str(caught.value)


async def test_a_dense_system_from_a_config(tmp_path: Path) -> None:
    with serve(well) as server:
        path = tmp_path / "c.toml"
        path.write_text(
            f'[embedder.mine]\nmodel = "m"\nbase_url = "{server.url}"\nstyle = "prefix"\nlicence = "CC-BY-NC"\n'
        )
        builder = SystemBuilder(make_context(tmp_path / "cache", "aaaa", "b"), Settings.load(path))
        system = builder.build("dense:mine")
        found = await lists_of(system, [make_query("q", "aaaaaaaaa")])
        await builder.aclose()
    assert found["q"] == ["d0", "d1"]
    assert system.licence == "CC-BY-NC"
    assert {text for seen in server.seen for text in seen.body["input"]} == {
        "passage: d0\naaaa",
        "passage: d1\nb",
        "query: aaaaaaaaa",
    }


async def test_a_forecast_of_what_the_cache_lacks(tmp_path: Path) -> None:
    with serve(well) as server:
        limits = {"requests_per_minute": 1, "batch_size": 2, "prices": Prices(input=1_000_000.0)}
        embedder = OpenAIEmbedder(settings(server.url, **limits), Access())
        context = make_context(tmp_path, "a" * 39, "b" * 39, "b" * 39)
        system = DenseSystem("dense:mine", embedder, context)
        queries = [make_query("q", "c" * 16)]
        (before,) = system.forecast(queries)
        assert not (tmp_path / "vectors").exists()
        assert before == (
            "dense:mine: 4 texts to embed, about 35 tokens (4 characters each), about $35.00, "
            "at least 0.0 h at its limits"
        )
        await embedder.aclose()
