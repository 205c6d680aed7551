"""Rerankers that score each document, against servers that speak like vLLM, TEI, SGLang and chat completions."""

import hashlib
import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from proverbench.endpoints.access import Access
from proverbench.errors import ConfigError, FatalEndpointError
from proverbench.retrieval.records import GoldQuery, Ranking, Unanswered
from proverbench.retrieval.settings import RerankerSettings
from proverbench.retrieval.strings import NO_STRINGS, Strings, load_strings
from proverbench.retrieval.systems.base import Context
from proverbench.retrieval.systems.pointwise import PROBE, PointwiseSystem, frame_of
from tests.retrieval.support import Answer, Seen, make_corpus, make_query, serve
from tests.support import SHARED

RELEASED = SHARED / "data/retrieval/released-shapes"
FRAME = Strings("s", {"reranker_prefix": "<|im_start|>system\nJUDGE<|im_end|>\nU\n", "reranker_suffix": "END"})
SCORES = {"d0": 0.91, "d1": 0.08, "d2": 0.55, PROBE[1]: 0.9, PROBE[2]: 0.1}
CHAT = {
    "d0": {"yes": -0.105, "no": -2.405},
    "d1": {"yes": -3.0, "no": -0.05},
    "d2": {"yes": -0.7, "no": -0.9},
    PROBE[1]: {"yes": -0.1, "no": -3.0},
    PROBE[2]: {"yes": -3.0, "no": -0.1},
}


THREE = '{"data": [{"index": 0, "score": ?}, {"index": 1, "score": 1}, {"index": 2, "score": 1}]}'


class Base:
    """A system that returns d0, d1, d2 and one more."""

    spec = "base"
    external = False
    own_corpus = ""
    own_missing: frozenset[str] | None = None
    licence = ""

    def identity(self) -> dict[str, Any]:
        return {"kind": "base"}

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Ranking | Unanswered, None]:
        for query in queries:
            yield Ranking(query.id, ["d0", "d1", "d2", "d3"])

    def notes(self) -> list[str]:
        return []

    async def aclose(self) -> None:
        pass


def a_system(url: str, cache: Path, *, strings: Strings = FRAME, **more: Any) -> PointwiseSystem:
    plain = {"name": "m", "model": "m", "base_url": url, "style": "pointwise", "depth": 3, "max_retries": 1}
    settings = RerankerSettings.model_validate({**plain, **more})
    texts = ["d0", "d1", "d2", "d3"]
    context = Context(make_corpus(*texts), texts, cache, strings=strings)
    return PointwiseSystem("rerank:m:base", settings, Access(), Base(), context)


async def outcome_of(system: PointwiseSystem, text: str = "q") -> Ranking | Unanswered:
    try:
        (outcome,) = [outcome async for outcome in system.search([make_query("q", text)], 200)]
    finally:
        await system.aclose()
    return outcome


async def test_a_forecast_of_what_is_read_and_what_that_costs(tmp_path: Path) -> None:
    more = {"batch_size": 2, "prices": {"input": 1_000_000.0}}
    system = a_system("http://127.0.0.1:9", tmp_path, **more)
    (said,) = system.forecast([make_query("q", "c" * 10), make_query("r", "c" * 10)])
    assert said == (
        "rerank:m:base: up to 6 documents go to m, about 18 tokens (4 characters each), about $18.00, 4 requests"
    )
    await system.aclose()


def document(text: str) -> str:
    return text.removeprefix("<Document>: ").removesuffix("END")


def scoring(name: str, scores: dict[str, float] = SCORES) -> Any:
    """A server of one way of scoring."""

    def answer(seen: Seen) -> Answer:
        if name == "chat":
            text = seen.body["messages"][1]["content"].partition("<Document>: ")[2]
            top = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in CHAT[text].items()]
            chosen = {"token": "yes", "logprob": -0.1, "top_logprobs": [*top, {"token": "Yes", "logprob": -6.0}]}
            return 200, {"choices": [{"index": 0, "message": {}, "logprobs": {"content": [chosen]}}]}
        field = {"score": "text_2", "tei": "texts"}.get(name, "documents")
        known = [scores[document(text)] for text in seen.body[field]]
        ordered = sorted(range(len(known)), key=lambda at: -known[at])
        if name == "score":
            return 200, {"data": [{"index": at, "object": "score", "score": one} for at, one in enumerate(known)]}
        if name == "rerank":
            return 200, {"results": [{"index": at, "relevance_score": known[at]} for at in ordered]}
        return 200, [{"index": at, "score": known[at], "document": "x"} for at in ordered]

    return answer


@pytest.mark.parametrize(
    ("way", "path"),
    [
        ("score", "/v1/score"),
        ("rerank", "/v1/rerank"),
        ("tei", "/v1/rerank"),
        ("sglang", "/v1/rerank"),
        ("chat", "/v1/chat/completions"),
    ],
)
async def test_five_ways_give_one_order_and_are_asked_once(tmp_path: Path, way: str, path: str) -> None:
    with serve(scoring(way)) as server:
        first = await outcome_of(a_system(server.url + "/v1", tmp_path, scoring=way))
        asked = len(server.seen)
        again = await outcome_of(a_system(server.url + "/v1", tmp_path, scoring=way))
    assert first == again == Ranking("q", ["d0", "d2", "d1", "d3"]), "what is beyond the depth keeps its place"
    assert len(server.seen) == asked == (5 if way == "chat" else 3), "a pair to check the server, then the documents"
    assert {seen.path for seen in server.seen} == {path}


async def test_requests_as_the_servers_receive_them(tmp_path: Path) -> None:
    bodies = {}
    for way in ("score", "rerank", "tei", "sglang", "chat"):
        with serve(scoring(way)) as server:
            await outcome_of(a_system(server.url, tmp_path, scoring=way, instruction="I", concurrency=1))
            bodies[way] = server.seen[2].body
    pair = "<Instruct>: I\n<Query>: q\n"
    prefix = FRAME.texts["reranker_prefix"]
    framed = [f"<Document>: {text}END" for text in ("d0", "d1", "d2")]
    cut = {"truncate_prompt_tokens": 8192}
    assert bodies["score"] == {"model": "m", "text_1": prefix + pair, "text_2": framed, **cut}
    assert bodies["rerank"] == {"model": "m", "query": prefix + pair, "documents": framed, "top_n": 0, **cut}
    texts = ["d0", "d1", "d2"]
    switches = {"raw_scores": False, "return_text": False, "truncate": True}
    assert bodies["tei"] == {"query": "q", "texts": texts, **switches}
    assert bodies["sglang"] == {"query": "q", "documents": texts, "instruct": "I"}
    assert bodies["chat"]["messages"] == [
        {"role": "system", "content": "JUDGE"},
        {"role": "user", "content": pair + "<Document>: d0"},
    ]
    asked = {name: bodies["chat"][name] for name in ("max_tokens", "temperature", "logprobs", "top_logprobs")}
    assert asked == {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}


@pytest.mark.shared
def test_the_prompt_has_the_released_bytes() -> None:
    cases = json.loads((SHARED / "vectors/retrieval_cases.json").read_text(encoding="utf-8"))["cases"]
    given = next(case for case in cases if case["id"] == "R17")
    settings = RerankerSettings.model_validate({"name": "m", "model": "m", "style": "pointwise"})
    frame = frame_of(settings, load_strings(RELEASED / "strings.json"))

    def sha256(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    first = frame.query(given["input"]["query"])
    seconds = [frame.document(text) for text in given["input"]["documents"]]
    wanted = given["expected"]
    assert sha256(first) == wanted["/score text_1 sha256"]
    assert [sha256(text) for text in seconds] == wanted["/score text_2 sha256"]
    assert [sha256(first + text) for text in seconds] == wanted["full prompts sha256 (prefix + pair + suffix)"]
    pairs = [(first + text).removeprefix(frame.prefix).removesuffix(frame.suffix) for text in seconds]
    assert [sha256(text) for text in pairs] == wanted["pair texts sha256"]


async def test_probabilities_of_yes(tmp_path: Path) -> None:
    with serve(scoring("chat")) as server:
        system = a_system(server.url, tmp_path, scoring="chat")
        scores = [(await system._ask("q", "q", [text])) for text in ("d0", "d1", "d2")]
        await system.aclose()
    assert [one[0][0] for one in scores if not isinstance(one, Unanswered)] == pytest.approx(
        [0.9088770389851439, 0.04973651155855673, 0.549833997312478], abs=1e-12
    )


@pytest.mark.parametrize(
    ("top", "score"),
    [
        # no is absent: at most as likely as the least that is listed, here e^-4
        ([("yes", -0.1), ("Yes", -3.0), ("YES", -4.0)], 1 / (1 + 2.718281828459045**-3.9)),
        ([("No", -0.1), ("no", -1.0), ("x", -5.0)], 1 / (1 + 2.718281828459045**4.0)),
        ([("Yes", -0.1), ("No", -1.0)], None),
        ([], None),
    ],
)
async def test_a_word_that_is_not_listed(tmp_path: Path, top: list[tuple[str, float]], score: float | None) -> None:
    listed = [{"token": token, "logprob": logprob} for token, logprob in top]
    with serve(lambda seen: (200, {"choices": [{"logprobs": {"content": [{"top_logprobs": listed}]}}]})) as server:
        system = a_system(server.url, tmp_path, scoring="chat", max_retries=0)
        found = await system._ask("q", "q", ["d0"])
        await system.aclose()
    if score is None:
        assert isinstance(found, Unanswered)
    else:
        assert not isinstance(found, Unanswered)
        ((probability, bounded),) = found
        assert probability == pytest.approx(score, abs=1e-12)
        assert bounded


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([{"index": 0, "score": 0.5}, {"index": 1, "score": 0.5}], id="one missing"),
        pytest.param([{"index": i, "score": 0.5} for i in (0, 1, 1)], id="an index twice"),
        pytest.param([{"index": i, "score": 0.5} for i in (0, 1, 3)], id="out of range"),
        pytest.param([{"index": i, "score": 0.5} for i in range(4)], id="one too many"),
        pytest.param(
            '{"data": [{"index": 0, "score": NaN}, {"index": 1, "score": 1}, {"index": 2, "score": 1}]}', id="NaN"
        ),
        pytest.param(THREE.replace("?", "null"), id="null"),
        pytest.param(
            '{"data": [{"index": 0, "score": 1e999}, {"index": 1, "score": 1}, {"index": 2, "score": 1}]}',
            id="infinite",
        ),
        pytest.param("<html>", id="no json"),
    ],
)
async def test_a_reply_without_a_score_each_is_never_the_old_order(tmp_path: Path, bad: Any) -> None:
    good = scoring("score")

    def answer(seen: Seen) -> Answer:
        if len(seen.body["text_2"]) == 1:
            return good(seen)  # type: ignore[no-any-return]
        return 200, bad if isinstance(bad, str) else {"data": bad}, {"Retry-After": "0"}

    with serve(answer) as server:
        outcome = await outcome_of(a_system(server.url, tmp_path))
    assert isinstance(outcome, Unanswered)
    assert len(server.seen) == 4, "the pair, and the documents twice: it is asked again"


async def test_equal_scores_keep_the_old_order(tmp_path: Path) -> None:
    with serve(scoring("rerank", {**SCORES, "d0": 0.5, "d1": 0.5, "d2": 0.5})) as server:
        outcome = await outcome_of(a_system(server.url, tmp_path, scoring="rerank"))
    assert outcome == Ranking("q", ["d0", "d1", "d2", "d3"])


async def test_a_server_that_scores_the_other_way_is_refused(tmp_path: Path) -> None:
    with (
        serve(scoring("score", {**SCORES, PROBE[1]: 0.2, PROBE[2]: 0.7})) as server,
        pytest.raises(FatalEndpointError, match="lacks the model's template"),
    ):
        await outcome_of(a_system(server.url, tmp_path))
    assert len(server.seen) == 2, "nothing is paid for after that"


def test_the_frame_is_the_users() -> None:
    settings = RerankerSettings.model_validate({"name": "m", "model": "m", "style": "pointwise"})
    with pytest.raises(ConfigError, match=r"reranker_prefix, reranker_suffix.*give --strings"):
        frame_of(settings, NO_STRINGS)
    assert frame_of(settings.model_copy(update={"frame": "none"}), NO_STRINGS).document("d") == "d"
    assert settings.seen == 200
