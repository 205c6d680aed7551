"""Who may stand beside whom, and what every view must say."""

import itertools
import json
from typing import Any

import msgspec
import pytest

from proverbench.retrieval.boards import boards_of, pairs_of
from proverbench.retrieval.leaderboard import build_page
from proverbench.retrieval.methodology import FORMULAS
from proverbench.retrieval.metrics import CURVES, ROUTED, SCALARS
from proverbench.retrieval.notices import EXPECTED_DROPPED
from proverbench.retrieval.published import PublishedRow, load_published
from proverbench.retrieval.records import GoldQuery
from proverbench.retrieval.render import renderer_of
from proverbench.retrieval.rundata import RunData
from tests.retrieval.support import make_query
from tests.retrieval.test_leaderboard import SINGLE, a_run
from tests.support import SHARED

RANKS = [1, 2, 3, 4, 5, 6, 7, 8]
HALF = [query for query in SINGLE if query.id in ("q0", "q2", "q4", "q6")]

DIFFERENT: dict[str, dict[str, Any]] = {
    "as it is": {},
    "another renderer": {"renderer": "lsv2-compat", "renderer_sha256": "9" * 64},
    "another renderer of that name": {"renderer": "lsv2-compat", "renderer_sha256": "8" * 64},
    "another depth": {"k_max": 10},
    "another corpus": {"corpus": {"key": "other"}},
    "another task": {"task": "dependencies"},
    "another file": {"benchmark": {"sha256": "7" * 64}},
    "another statement": {"benchmark": {"query_text": "natural"}},
    "missing gold counts": {"benchmark": {"missing_gold": "zero"}},
    "another pool": {"pool": "accessible"},
    "other queries": {"queries_sha256": "6" * 64},
    "a sample of the corpus": {"corpus": {"key": "s", "sampled_from": 500}},
    "a slice of the corpus": {"corpus": {"key": "t", "whole_documents": 310_579}},
    "an engine": {"own_corpus": "its own", "external": True},
    "an engine of another depth": {"own_corpus": "its own", "external": True, "k_max": 10},
}
WANTED = {
    *("2605.13137", "2403.13310", "2506.11085", "2510.15940", "2306.15626"),
    *("2506.07477", "2501.13959", "2510.23637", "2303.04488", "2505.20613"),
}
"""What the prior work is, by arXiv number."""
MAY_SHARE = {"as it is", "another corpus", "other queries", "an engine"}
"""Corpora and queries may differ, on shared queries; everything else may not."""


def test_no_two_runs_that_differ_stand_on_one_board() -> None:
    for first, second in itertools.combinations(DIFFERENT, 2):
        runs = [a_run(name, RANKS, **{"k_max": 20, **DIFFERENT[name]}) for name in (first, second)]
        boards = boards_of(runs)
        together = [board for board in boards if len(board["rows"]) > 1]
        assert all(board["shared"] for board in together), (first, second)
        allowed = {first, second} <= MAY_SHARE or {first, second} == {"another depth", "an engine of another depth"}
        texts = {"another renderer", "another renderer of that name"}
        if "an engine" in (first, second):  # whose text is its own, whatever that of the others
            allowed = allowed or bool({first, second} & texts)
        if not allowed:
            assert not together, (first, second)
        for board in boards:
            for row in board["rows"]:
                held = runs[row["run"]].held_constant(shared=board["shared"])
                own = row["kind"] == "own"
                assert set(board["held"]) == set(held) or not own, "what is said of a board is true of each row"
        assert pairs_of(boards) == ({frozenset((first, second))} if together else set())


@pytest.mark.parametrize("other", ["another renderer", "another depth"])
def test_boards_of_one_benchmark_and_corpus_say_in_their_titles_how_they_differ(other: str) -> None:
    runs = [a_run(name, RANKS, **{"k_max": 20, **DIFFERENT[name]}) for name in ("as it is", other)]
    titles = [board["title"] for board in boards_of(runs)]
    assert len(titles) == len(set(titles)) == 2
    assert all(
        runs[at].held_constant(shared=False)[2 if other == "another depth" else -1] in titles[at] for at in (0, 1)
    )


def test_a_banner_that_is_true_of_several_boards_stands_once() -> None:
    lacking = dropping(3, 4)
    runs = [a_run(name, [1] * 4, queries=lacking, **DIFFERENT[name]) for name in ("as it is", "another renderer")]
    page = build_page(runs)
    assert (len(page["boards"]), len(page["banners"])) == (2, 1)


def test_the_same_in_everything_shares_a_board() -> None:
    page = build_page([a_run("one", RANKS), a_run("two", RANKS)])
    (board,) = page["boards"]
    assert [row["label"] for row in board["rows"]] == ["one", "two"]
    assert any("own-v1" in line for line in board["held"])


def test_the_hash_of_older_runs_is_that_of_the_renderer() -> None:
    older = "9ad614afddbf10f6a1b1d15ea9b2a15dcc3835c443b661132f5d1bd8d4fcaf39"
    now = renderer_of("own-v1").sha256
    runs = [a_run("older", RANKS, renderer_sha256=older), a_run("newer", RANKS, renderer_sha256=now)]
    assert pairs_of(boards_of(runs)) == {frozenset(("older", "newer"))}


def engine(label: str, queries: list[GoldQuery], **more: Any) -> RunData:
    return a_run(label, RANKS[: len(queries)], queries=queries, external=True, own_corpus=f"{label}'s corpus", **more)


def test_a_sampled_engine_never_takes_queries_from_the_others() -> None:
    sampled = {"sampled_n": 4, "sampled_from": 8, "sample_seed": 1}
    runs = [
        a_run("own", RANKS),
        engine("A", SINGLE),
        engine("B", HALF, benchmark=sampled, queries_sha256="9" * 64),
    ]
    boards = boards_of(runs)
    shared = {frozenset(row["label"] for row in board["rows"]): board for board in boards if board["shared"]}
    assert {labels: board["rows"][0]["n"] for labels, board in shared.items()} == {
        frozenset(("own", "A")): 8,
        frozenset(("own", "A", "B")): 4,
    }
    assert "a sample of 4 of 8" in shared[frozenset(("own", "A", "B"))]["title"]
    (b_row,) = [row for row in shared[frozenset(("own", "A", "B"))]["rows"] if row["label"] == "B"]
    assert "sampled n = 4" in [badge["label"] for badge in b_row["badges"]]


def test_engines_stand_in_compare_with_curves_and_a_coverage_of_their_own() -> None:
    lacking = [msgspec.structs.replace(q, units=[], units_left_out=1) if q.id == "q0" else q for q in SINGLE]
    known = engine("B", lacking, own_missing="1" * 64)
    boards = boards_of([a_run("own", RANKS), engine("A", SINGLE), known])
    (shared,) = [board for board in boards if board["shared"]]
    rows = {row["label"]: row for row in shared["rows"]}
    assert {label: row["kind"] for label, row in rows.items()} == {"own": "own", "A": "engine", "B": "engine"}
    assert {label: row["coverage"] for label, row in rows.items()} == {"own": 1, "A": None, "B": 0.875}
    assert all(len(row["curves"]["R"]) == 200 and len(row["pr11"]) == 11 for row in rows.values())
    assert rows["A"]["corpus"] == "A's corpus"
    assert {row["n"] for row in rows.values()} == {7}


def banners(*runs: RunData) -> str:
    return "\n".join(build_page(list(runs))["banners"])


def test_a_slice_of_a_known_corpus_says_so() -> None:
    sliced = {"name": "mathlib-4280", "revision": "c5f07cc71d42", "documents": 6, "whole_documents": 310_579}
    run = a_run("one", RANKS, corpus=sliced)
    assert "mathlib-4280 at c5f07cc71d42 has 310,579 rows, the searched file 6" in banners(run)
    assert "sliced corpus" in [badge["label"] for badge in build_page([run])["boards"][0]["rows"][0]["badges"]]


def dropping(n: int, of: int) -> list[GoldQuery]:
    queries = [make_query(f"q{i}", "t", ["g"]) for i in range(of)]
    return [msgspec.structs.replace(q, units=[], units_left_out=1) if i < n else q for i, q in enumerate(queries)]


def test_missing_gold_says_so_but_for_what_the_published_corpus_is_known_to_lack() -> None:
    page = build_page([a_run("one", [1] * 4, queries=dropping(3, 4))])
    assert "3 of 4 queries have no gold in this corpus" in page["banners"][0]
    assert (page["boards"][0]["rows"][0]["n"], page["boards"][0]["rows"][0]["dropped"]) == (1, 3)
    assert EXPECTED_DROPPED["mathlibqr", "mathlib-4280"] == (52, 946)
    for n, said in ((52, False), (53, True)):
        found = banners(
            a_run("x", [1] * 946, task="mathlibqr", corpus={"name": "mathlib-4280"}, queries=dropping(n, 946))
        )
        assert ("have no gold" in found) == said


def test_a_development_split_is_a_banner() -> None:
    assert "Development slice: dev" in banners(a_run("one", RANKS, benchmark={"split": "dev"}))
    assert banners(a_run("one", RANKS, benchmark={"split": "test"})) == ""


def test_a_non_commercial_licence_has_a_standing_notice() -> None:
    (notice,) = build_page([a_run("dense:nv", RANKS, licence="CC-BY-NC-4.0"), a_run("b", RANKS, licence="MIT")])[
        "licences"
    ]
    assert "dense:nv: licence CC-BY-NC-4.0. Commercial use is not allowed" in notice


def test_published_rows_are_drawn_only_beside_as_many_queries_of_the_same_corpus() -> None:
    def row(source: Any, n: int, corpus: str) -> PublishedRow:
        metrics = {"R@10": 0.5}
        return PublishedRow(
            system="S", source=source, reference="ref", task="jsonl", corpus=corpus, n=n, metrics=metrics
        )

    rows = [row("leaderboard", 8, "lib"), row("paper", 810, "lib"), row("hosted API", 8, "its own")]
    (board,) = build_page([a_run("one", RANKS)], published=rows)["boards"]
    assert [one["drawn"] for one in board["published"]] == [True, False, False]
    assert board["published"][1]["label"] == "S (paper, n 810, lib)"
    assert board["published"][1]["why"] == "its n is 810, this board's 8"
    assert "its corpus is 'its own'" in board["published"][2]["why"]


@pytest.mark.shared
def test_the_published_figures_load_and_say_which_covered_they_mean() -> None:
    rows = load_published(SHARED / "data/retrieval/released-shapes/published_figures.jsonl")
    assert len(rows) == 30
    assert {row.source for row in rows} == {"paper", "hosted API", "leaderboard"}
    assert {name.partition("@")[0] for row in rows if row.task == "mathlibmpr" for name in row.metrics} >= {
        "CoveredRoute"
    }
    assert not any(name.startswith("Covered@") for row in rows for name in row.metrics)


def test_the_methodology_is_written_from_the_manifests() -> None:
    page = build_page([a_run("one", RANKS), engine("leansearch", SINGLE, system_identity={"engine": "leansearch"})])
    method = page["methodology"]
    text = json.dumps(method, ensure_ascii=False)
    for fact in ("lib", "4280", "1" * 64, "0" * 64, "own-v1", "200", "1,000 resamples", "3 requests in 30 s"):
        assert fact in text
    for number in (work["arxiv"] for work in method["prior_work"]):
        assert number in WANTED
    assert len(method["prior_work"]) == len(WANTED)
    names = {name for name, _ in FORMULAS}
    assert names == {"pos(g)", "h(k)", "pr11", *SCALARS, *(f"{curve}@k" for curve in (*CURVES, *ROUTED))}
    assert [entry["label"] for entry in page["changelog"]] == ["one", "leansearch"]


def test_what_does_not_fit_in_a_run_file_is_a_badge() -> None:
    identity = {"kind": "runfile", "queries_without_list": 3}
    (board,) = build_page([a_run("runfile:x", RANKS, external=True, system_identity=identity)])["boards"]
    assert "3 queries without list" in [badge["label"] for badge in board["rows"][0]["badges"]]
    assert "lists made elsewhere" in board["loose"][0]
