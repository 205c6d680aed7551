import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from proverbench.endpoints.access import Access
from proverbench.errors import FatalEndpointError
from proverbench.retrieval.politeness import PoliteWindow
from proverbench.retrieval.records import Ranking, Unanswered
from proverbench.retrieval.settings import EngineSettings
from proverbench.retrieval.systems.engines import ENGINES, EngineSystem
from tests.retrieval.support import Answer, CountingServer, Seen, lists_of, make_context, make_query, serve


class FakeTime:
    """A clock that moves only when somebody sleeps, and a little with every look."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def clock(self) -> float:
        self.now += 0.001
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def leansearch_answer(seen: Seen) -> Answer:
    assert seen.body["num_results"] == 200
    (text,) = seen.body["query"]
    result = {"name": ["d1"], "module_name": ["M"], "kind": "theorem", "type": "T", "signature": "S", "value": None}
    other = {**result, "name": ["Foreign", text]}
    # The order is the answer; the distance is from before reranking and must not sort.
    return 200, [[{"result": result, "distance": 0.1}, {"result": other, "distance": 0.9}]]


def leanexplore_answer(seen: Seen) -> Answer:
    results = [{"id": 1, "name": "d0", "module": "M", "docstring": None, "source_text": "", "source_link": ""}]
    return 200, {"query": "q", "results": results, "count": 1, "processing_time_ms": None}


def system_of(
    name: str, server: CountingServer, cache: Path, time: FakeTime, *, key: str | None = None, **more: Any
) -> EngineSystem:
    settings = EngineSettings.model_validate({"name": name, "base_url": server.url, **more})
    context = make_context(cache, "one", "two")
    return EngineSystem(ENGINES[name], settings, Access(key=key), context, clock=time.clock, sleep=time.sleep)


def most_in_any_window(times: list[float], seconds: float) -> int:
    return max(sum(0 <= later - at < seconds for later in times) for at in times)


@pytest.mark.parametrize(
    ("name", "answer", "requests", "seconds"),
    [("leansearch", leansearch_answer, 3, 30.0), ("leanexplore", leanexplore_answer, 24, 60.0)],
)
async def test_the_server_never_sees_more_than_it_should(
    tmp_path: Path, name: str, answer: Callable[[Seen], Answer], requests: int, seconds: float
) -> None:
    time = FakeTime()
    with serve(answer, clock=lambda: time.now) as server:
        system = system_of(name, server, tmp_path, time)
        queries = [make_query(f"q{i}", f"text {i}") for i in range(2 * requests + 2)]
        await lists_of(system, queries[: requests + 1])
        await system.aclose()
        # A new process, as after a kill, keeps to the same window.
        again = system_of(name, server, tmp_path, time)
        await lists_of(again, queries)
        await again.aclose()
    assert len(server.seen) == len(queries), "what was answered once is not asked again"
    times = [seen.at for seen in server.seen]
    assert most_in_any_window(times, seconds) == requests


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_leansearch_as_the_server_receives_it(tmp_path: Path) -> None:
    time = FakeTime()
    with serve(leansearch_answer) as server:
        system = system_of("leansearch", server, tmp_path, time)
        found = await lists_of(system, [make_query("q", "a ≤ b")])
        await system.aclose()
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/search", {"query": ["a ≤ b"], "num_results": 200})
    assert "Authorization" not in seen.headers
    assert found["q"] == ["d1", "Foreign.a ≤ b"]
    assert system.external
    assert system.own_corpus


async def test_leanexplore_as_the_server_receives_it(tmp_path: Path) -> None:
    time = FakeTime()
    with serve(leanexplore_answer) as server:
        system = system_of("leanexplore", server, tmp_path, time, key="secret", results=50)
        found = await lists_of(system, [make_query("q", "a ≤ b & c")])
        await system.aclose()
    (seen,) = server.seen
    url = urlsplit(seen.path)
    assert (seen.method, url.path) == ("GET", "/search")
    assert parse_qs(url.query) == {"q": ["a ≤ b & c"], "limit": ["50"], "packages": ["Mathlib"]}
    assert seen.headers["Authorization"] == "Bearer secret"
    assert found["q"] == ["d0"]
    assert b"secret" not in everything_in(tmp_path)


async def test_retries_count_as_requests(tmp_path: Path) -> None:
    time = FakeTime()
    failures: list[Answer] = [(503, "busy"), (429, {"msg": "slow down"}, {"Retry-After": "1"})] * 3

    def answer(seen: Seen) -> Answer:
        return failures.pop() if failures else leansearch_answer(seen)

    with serve(answer, clock=lambda: time.now) as server:
        system = system_of("leansearch", server, tmp_path, time)
        await lists_of(system, [make_query("q", "a"), make_query("r", "b")])
        await system.aclose()
    assert len(server.seen) == 8
    assert most_in_any_window([seen.at for seen in server.seen], 30.0) <= 3


@pytest.mark.parametrize("body", ["<html>maintenance", "{}", [["x"]], [[{"result": {"name": 5}}]]], ids=str)
async def test_a_200_of_another_shape_is_no_answer_and_is_not_kept(tmp_path: Path, body: Any) -> None:
    time = FakeTime()
    bodies: list[Any] = [body]

    def answer(seen: Seen) -> Answer:
        return (200, bodies[0]) if bodies else leansearch_answer(seen)

    with serve(answer) as server:
        system = system_of("leansearch", server, tmp_path, time, max_retries=1)
        (outcome,) = [o async for o in system.search([make_query("q", "a")], 200)]
        assert isinstance(outcome, Unanswered)
        assert outcome.kind == "bad_reply"
        bodies.clear()
        (outcome,) = [o async for o in system.search([make_query("q", "a")], 200)]
        assert isinstance(outcome, Ranking)
        await system.aclose()


async def test_a_wrong_key_stops_the_run(tmp_path: Path) -> None:
    with serve(lambda seen: (401, {"msg": "who are you"})) as server:
        system = system_of("leanexplore", server, tmp_path, FakeTime(), key="k")
        with pytest.raises(FatalEndpointError, match="who are you"):
            await lists_of(system, [make_query("q", "a")])
        await system.aclose()
    assert len(server.seen) == 1


def test_the_public_addresses_and_limits() -> None:
    engines = {name: (engine.base_url, engine.requests, engine.seconds) for name, engine in ENGINES.items()}
    assert engines == {
        "leansearch": ("https://leansearch.net", 3, 30.0),
        "leanexplore": ("https://www.leanexplore.com/api/v2", 24, 60.0),
    }


async def test_a_slow_request_counts_until_after_its_answer(tmp_path: Path) -> None:
    """The server may see a request as late as its answer comes, so the window begins there."""
    time = FakeTime()
    window = PoliteWindow(tmp_path / "w", requests=1, seconds=30, clock=time.clock, sleep=time.sleep)
    async with window.slot():
        time.now += 100
    answered = time.now
    async with window.slot():
        assert time.now - answered >= 30


async def test_two_windows_on_one_file_are_one(tmp_path: Path) -> None:
    time = FakeTime()
    windows = [
        PoliteWindow(tmp_path / "w", requests=2, seconds=30, clock=time.clock, sleep=time.sleep) for _ in range(3)
    ]
    times: list[float] = []

    async def ask(window: PoliteWindow) -> None:
        for _ in range(3):
            async with window.slot():
                times.append(time.now)
                await asyncio.sleep(0)

    await asyncio.gather(*(ask(window) for window in windows))
    assert len(times) == 9
    assert most_in_any_window(times, 30) == 2


async def test_a_clock_that_was_set_back_does_not_stop_everything(tmp_path: Path) -> None:
    time = FakeTime()
    path = tmp_path / "w"
    path.write_text(json.dumps([time.now + 1e9] * 3))
    window = PoliteWindow(path, requests=3, seconds=30, clock=time.clock, sleep=time.sleep)
    before = time.now
    async with window.slot():
        assert 30 <= time.now - before < 31
    path.write_text("torn [")
    async with window.slot():
        pass


async def test_an_engine_that_refuses_so_many_results_is_asked_for_fewer(tmp_path: Path) -> None:
    time = FakeTime()

    def answer(seen: Seen) -> Answer:
        wanted = seen.body["num_results"]
        if wanted > 150:
            detail = {"loc": ["body", "num_results"], "msg": "Input should be less than or equal to 150"}
            return 422, {"detail": [detail]}
        found = [{"result": {"name": ["N", f"x{i}"]}, "distance": 0.5} for i in range(min(wanted, 50))]
        return 200, [found]

    with serve(answer, clock=lambda: time.now) as server:
        system = system_of("leansearch", server, tmp_path, time)
        found = await lists_of(system, [make_query(f"q{i}", f"text {i}") for i in range(4)])
        await system.aclose()
    assert [seen.body["num_results"] for seen in server.seen] == [200, 150, 150, 150, 150]
    assert {len(names) for names in found.values()} == {50}
    assert most_in_any_window([seen.at for seen in server.seen], 30.0) == 3, "the refused one counts too"
