import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proverbench.errors import FatalEndpointError, JournalError, RunMismatchError
from proverbench.retrieval.derive import QueryTable
from proverbench.retrieval.folder import POSITIONS, RANKED, RetrievalRun, create_run, run_id_of
from proverbench.retrieval.metrics import score_queries
from proverbench.retrieval.records import (
    BenchmarkIdentity,
    CorpusIdentity,
    GoldQuery,
    Ranking,
    RunManifest,
    Unanswered,
)
from proverbench.retrieval.run import run_system
from tests.retrieval.support import make_query

QUERIES = [
    make_query("q0", "t", ["a"], cluster="c"),
    make_query("q1", "t", ["b"], ["c"], cluster="c"),
    GoldQuery(id="q2", text="t", cluster="e", units=[], units_left_out=1, overlapping=False),
    make_query("q3", "t", ["a", "b"], cluster="f"),
]
LISTS = {"q0": ["x", "a"], "q1": ["c", "x", "b"], "q3": ["x"]}


class Scripted:
    """A system that answers from a table; ``failing`` queries stay unanswered, ``fatal`` stops everything."""

    spec = "scripted"
    external = False
    own_corpus = ""
    own_missing: frozenset[str] | None = None
    licence = ""

    def __init__(self, *, failing: Sequence[str] = (), fatal: str = "", stop_at: str = "") -> None:
        self.failing, self.fatal, self.stop_at = failing, fatal, stop_at
        self.asked: list[str] = []

    def identity(self) -> dict[str, Any]:
        return {"kind": "scripted"}

    async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Ranking | Unanswered, None]:
        for query in queries:
            self.asked.append(query.id)
            if query.id == self.fatal:
                raise FatalEndpointError("wrong key", kind="http_401")
            if query.id == self.stop_at:
                raise KeyboardInterrupt
            if query.id in self.failing:
                yield Unanswered(query.id, "timeout", "no answer")
            else:
                yield Ranking(query.id, LISTS[query.id])

    def notes(self) -> list[str]:
        return []

    async def aclose(self) -> None:
        pass


def make_run(path: Path, *, external: bool = False) -> Path:
    manifest = RunManifest(
        task="jsonl",
        system="scripted",
        system_identity={"kind": "scripted"},
        external=external,
        benchmark=BenchmarkIdentity(file="q.jsonl", sha256="0" * 64, published=None),
        corpus=CorpusIdentity(name="c", revision="", sha256="1" * 64, documents=4, key="1" * 64),
        renderer_sha256="2" * 64,
        queries_sha256="3" * 64,
    )
    manifest = msgspec.structs.replace(manifest, run_id=run_id_of(manifest))
    return create_run(path, manifest, QUERIES).path


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


async def test_positions_are_saved_and_everything_is_derived_from_them(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    result = await run_system(path, Scripted())
    assert result.complete
    lines = [json.loads(line) for line in (path / POSITIONS).read_text().splitlines()]
    assert lines == [
        {"query_id": "q0", "positions": [2], "n_retrieved": 2},
        {"query_id": "q1", "positions": [3, 1], "n_retrieved": 3},
        {"query_id": "q3", "positions": [None], "n_retrieved": 1},
    ]
    summary = json.loads((path / "summary.json").read_text())
    assert (summary["n"], summary["dropped"], summary["complete"]) == (3, 1, True)
    # MRR: (1/2 + 1 + 0) / 3. R@1: (0 + 1/2 + 0) / 3. MAP: (1/2 + (1/1 + 2/3)/2 + 0) / 3.
    assert summary["metrics"]["MRR"] == pytest.approx(0.5)
    assert summary["metrics"]["R@1"] == pytest.approx(1 / 6)
    assert summary["metrics"]["MAP"] == pytest.approx((1 / 2 + 5 / 6) / 3)
    interval = summary["intervals"]["MRR"]
    assert (interval["query"]["n"], interval["cluster"]["n"]) == (3, 2)
    assert interval["query"]["low"] <= summary["metrics"]["MRR"] <= interval["query"]["high"]
    curves = json.loads((path / "curves.json").read_text())
    assert len(curves["curves"]["R"]) == len(curves["intervals"]["nDCG"]["cluster"]["low"]) == 200
    assert len(curves["pr11"]) == 11


async def test_the_derived_files_are_rebuilt_byte_for_byte_without_the_lists(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    await run_system(path, Scripted())
    before = contents(path)
    for name in ("curves.json", "summary.json", RANKED):
        (path / name).unlink()
    RetrievalRun(path).rebuild()
    after = contents(path)
    assert {name: after[name] for name in ("curves.json", "summary.json")} == {
        name: before[name] for name in ("curves.json", "summary.json")
    }


async def test_a_finished_run_asks_nothing_and_changes_nothing(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    await run_system(path, Scripted())
    before = contents(path)
    again = Scripted()
    assert (await run_system(path, again)).complete
    assert again.asked == []
    assert contents(path) == before


async def test_an_unanswered_query_leaves_the_run_without_scores_and_is_asked_again(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    result = await run_system(path, Scripted(failing=["q1"]))
    assert not result.complete
    assert [failure.query_id for failure in result.unanswered] == ["q1"]
    summary = json.loads((path / "summary.json").read_text())
    assert (summary["complete"], summary["metrics"], summary["answered"]) == (False, None, 2)
    healed = Scripted()
    assert (await run_system(path, healed)).complete
    assert healed.asked == ["q1"]
    whole = make_run(tmp_path / "whole")
    await run_system(whole, Scripted())
    assert contents(path)["summary.json"] == contents(whole)["summary.json"]


async def test_a_fault_of_the_whole_system_stops_and_keeps_what_came(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    result = await run_system(path, Scripted(fatal="q1"))
    assert (result.complete, result.fatal, result.answered) == (False, "wrong key", 1)


@pytest.mark.parametrize("name", [POSITIONS, RANKED])
async def test_a_torn_tail_costs_one_query(tmp_path: Path, name: str) -> None:
    whole = make_run(tmp_path / "whole")
    await run_system(whole, Scripted())
    data = (whole / name).read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for cut in (last, last + 1, (last + len(data)) // 2, len(data) - 2, len(data) - 1):
        path = make_run(tmp_path / f"run{cut}")
        (path / POSITIONS).write_bytes((whole / POSITIONS).read_bytes())
        (path / RANKED).write_bytes((whole / RANKED).read_bytes())
        (path / name).write_bytes(data[:cut])
        assert (await run_system(path, Scripted())).complete
        run = RetrievalRun(path)
        assert run.positions == RetrievalRun(whole).positions
        if name == POSITIONS:
            assert run.ranked() == LISTS


async def test_two_processes_never_write_one_run(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")

    class Nested(Scripted):
        async def search(self, queries: Sequence[GoldQuery], k: int) -> AsyncGenerator[Ranking | Unanswered, None]:
            with pytest.raises(JournalError, match="is being written by"):
                await run_system(path, Scripted())
            async for outcome in super().search(queries, k):
                yield outcome

    assert (await run_system(path, Nested())).complete


async def test_a_service_that_returns_fewer_has_no_value_above_its_cap(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", external=True)
    await run_system(path, Scripted())
    summary = json.loads((path / "summary.json").read_text())
    assert summary["service_cap"] == 3
    assert summary["metrics"]["R@3"] is not None
    assert summary["metrics"]["R@5"] is None
    assert summary["intervals"]["R@5"]["query"]["low"] is None
    curves = json.loads((path / "curves.json").read_text())
    assert curves["curves"]["nDCG"][2] is not None
    assert set(curves["curves"]["nDCG"][3:]) == {None}
    assert set(curves["intervals"]["R"]["cluster"]["high"][3:]) == {None}


def test_what_is_no_run_or_was_changed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="is not a run of retrievalbench"):
        RetrievalRun(tmp_path)
    path = make_run(tmp_path / "run")
    with pytest.raises(RunMismatchError, match="is not empty"):
        make_run(path)
    (path / POSITIONS).write_text('{"query_id":"q0","positions":[1,2],"n_retrieved":2}\n')
    with pytest.raises(JournalError, match="'q0' does not fit"):
        RetrievalRun(path)
    (path / POSITIONS).write_text("broken\n")
    with pytest.raises(JournalError, match=r"positions.jsonl:1: not a line"):
        RetrievalRun(path)


def test_equal_scores_have_the_interval_of_one_point() -> None:
    queries = [make_query(f"q{i}", "t", ["a"]) for i in range(5)]
    table = QueryTable.of(queries, score_queries([[4]] * 5))
    means = table.means()
    for unit in ("query", "cluster"):
        for name, interval in table.intervals(unit).items():
            assert interval["low"] == interval["high"] == means[name]


def test_declarations_are_resampled_as_wholes() -> None:
    """Two declarations, one always found and one never: with 50 queries each, only the declaration is uncertain."""
    queries = [make_query(f"q{i}", "t", ["a"], cluster=str(i % 2)) for i in range(100)]
    table = QueryTable.of(queries, score_queries([[1] if i % 2 else [None] for i in range(100)]))
    by_query, by_cluster = table.intervals("query")["R@1"], table.intervals("cluster")["R@1"]
    assert (by_cluster["low"], by_cluster["high"]) == (0, 1)
    # A share of one half among 100: 0.5 ± 1.96 * 0.05.
    assert by_query["low"] == pytest.approx(0.4, abs=0.02)
    assert by_query["high"] == pytest.approx(0.6, abs=0.02)
