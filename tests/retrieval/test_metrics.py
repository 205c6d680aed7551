import json
import math
from fractions import Fraction
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from proverbench.retrieval.gold import find_positions
from proverbench.retrieval.metrics import PR_LEVELS, macro_mean, score_queries

VECTORS = json.loads((Path(__file__).parents[1] / "data/vectors/retrieval_metrics.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda v: v["name"])
def test_every_vector(vector: dict[str, Any]) -> None:
    found = find_positions("q", vector["ranked"], vector["gold"], vector["k_max"])
    expected = vector["expected"]
    assert found.positions == expected["positions"]
    assert found.n_retrieved == expected["n_retrieved"]
    scores = score_queries([found.positions], k_max=vector["k_max"], service_cap=vector.get("service_cap"))
    for ours, theirs in {"R": "recall", "P": "precision", "nDCG": "ndcg", "Covered": "covered"}.items():
        for k, value in expected[theirs].items():
            got = scores.curves[ours][0, int(k) - 1]
            if value is None:
                assert isnan(got)
            else:
                assert got == pytest.approx(value, abs=1e-9)
    assert scores.scalars["MRR"][0] == pytest.approx(expected["rr"], abs=1e-9)
    assert scores.scalars["MAP"][0] == pytest.approx(expected["ap"], abs=1e-9)
    assert scores.pr11[0].tolist() == pytest.approx(expected["pr11"], abs=1e-9)
    exact = vector["expected_exact"]
    assert scores.pr11[0].tolist() == pytest.approx([float(Fraction(x)) for x in exact["pr11"]], abs=1e-15)


@pytest.mark.parametrize("case", VECTORS["sets"], ids=lambda v: v["name"])
def test_every_set(case: dict[str, Any]) -> None:
    kept = [q for q in case["queries"] if q["gold"]]
    assert len(kept) == case["expected"]["n"]
    assert len(case["queries"]) - len(kept) == case["expected"]["dropped"]
    scores = score_queries([find_positions("q", q["ranked"], q["gold"]).positions for q in kept])
    mean = case["expected"]["mean"]
    for ours, theirs in {"R": "recall", "P": "precision", "nDCG": "ndcg", "Covered": "covered"}.items():
        averages = macro_mean(scores.curves[ours])
        for k, value in mean[theirs].items():
            assert averages[int(k) - 1] == pytest.approx(value, abs=1e-12)
    assert float(macro_mean(scores.scalars["MRR"])) == pytest.approx(mean["rr"], abs=1e-12)
    assert float(macro_mean(scores.scalars["MAP"])) == pytest.approx(mean["ap"], abs=1e-12)


def test_mean_of_nothing_is_nan() -> None:
    assert np.isnan(macro_mean(np.zeros((0, 3)))).all()


Ranks = list[int | None]

ranks_of_units = st.lists(st.one_of(st.none(), st.integers(1, 200)), min_size=1, max_size=12)
"""Positions as they may come, several units at one rank included."""


def slow_scores(ranks: Ranks, k_max: int = 200) -> dict[str, Any]:
    """The definitions of docs/retrieval-metrics.md once more, a rank at a time, in fractions where rational."""
    size = len(ranks)
    found = [sum(rank is not None and rank <= k for rank in ranks) for k in range(1, k_max + 1)]
    precision = [min(Fraction(1), Fraction(h, k)) for k, h in enumerate(found, start=1)]
    recall = [Fraction(h, size) for h in found]
    hits = [rank for rank in ranks if rank is not None]
    dcg = [sum(1 / math.log2(rank + 1) for rank in hits if rank <= k) for k in range(1, k_max + 1)]
    ideal = [sum(1 / math.log2(i + 1) for i in range(1, min(k, size) + 1)) for k in range(1, k_max + 1)]
    average = sum((Fraction(found[rank - 1], rank) for rank in hits), Fraction(0)) / size
    return {
        "R": recall,
        "P": precision,
        "nDCG": [min(1.0, a / b) for a, b in zip(dcg, ideal, strict=True)],
        "Covered": [int(h == size) for h in found],
        "MRR": Fraction(1, min(hits)) if hits else Fraction(0),
        "MAP": min(Fraction(1), average),
        "pr11": [
            max((p for p, r in zip(precision, recall, strict=True) if r >= Fraction(level, 10)), default=Fraction(0))
            for level in range(PR_LEVELS)
        ],
    }


@settings(max_examples=40)
@given(ranks_of_units)
def test_agrees_with_a_slow_second_implementation(ranks: Ranks) -> None:
    scores, slow = score_queries([ranks]), slow_scores(ranks)
    for curve in ("R", "P", "nDCG", "Covered"):
        assert scores.curves[curve][0].tolist() == pytest.approx([float(x) for x in slow[curve]], abs=1e-12)
    for name in ("MRR", "MAP"):
        assert scores.scalars[name][0] == pytest.approx(float(slow[name]), abs=1e-12)
    assert scores.pr11[0].tolist() == pytest.approx([float(x) for x in slow["pr11"]], abs=1e-12)


@given(st.lists(ranks_of_units, min_size=1, max_size=5))
def test_everything_is_a_share_and_recall_never_falls(queries: list[Ranks]) -> None:
    scores = score_queries(queries)
    for values in [*scores.curves.values(), *scores.scalars.values(), scores.pr11]:
        assert ((values >= 0) & (values <= 1)).all()
    for curve in ("R", "Covered"):
        assert (np.diff(scores.curves[curve], axis=1) >= 0).all()
    assert (np.diff(scores.pr11, axis=1) <= 0).all()


@given(st.lists(st.one_of(st.none(), st.integers(1, 200)), min_size=1, max_size=12), st.randoms())
def test_the_order_of_units_does_not_matter(ranks: Ranks, rng: Any) -> None:
    shuffled = list(ranks)
    rng.shuffle(shuffled)
    one, two = score_queries([ranks]), score_queries([shuffled])
    assert all(np.array_equal(one.curves[name], two.curves[name]) for name in one.curves)
    assert all(np.array_equal(one.scalars[name], two.scalars[name]) for name in one.scalars)


@given(st.sets(st.integers(1, 60), min_size=0, max_size=8), st.integers(0, 4), st.integers(0, 60))
def test_trec_eval_agrees_where_conventions_do(places: set[int], missed: int, length: int) -> None:
    """One document a unit, none repeated: there a unit is what trec_eval calls a relevant document."""
    places = {place for place in places if place <= length}
    if not places and not missed:
        return
    ranked = [f"gold{rank}" if rank in places else f"x{rank}" for rank in range(1, length + 1)]
    relevant = {f"gold{rank}" for rank in places} | {f"missed{i}" for i in range(missed)}
    ours = score_queries([find_positions("q", ranked, [[document] for document in relevant]).positions])
    if not ranked:
        return  # trec_eval leaves out a query without results; ours scores it 0
    run = {"q": {document: -float(rank) for rank, document in enumerate(ranked)}}
    measures = {"map", "recip_rank", "recall", "P", "ndcg_cut", "iprec_at_recall"}
    theirs = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, measures).evaluate(run)["q"]
    for k in (5, 10, 100, 200):
        assert ours.curves["R"][0, k - 1] == pytest.approx(theirs[f"recall_{k}"])
        assert ours.curves["P"][0, k - 1] == pytest.approx(theirs[f"P_{k}"])
        assert ours.curves["nDCG"][0, k - 1] == pytest.approx(theirs[f"ndcg_cut_{k}"])
    assert ours.scalars["MAP"][0] == pytest.approx(theirs["map"])
    assert ours.scalars["MRR"][0] == pytest.approx(theirs["recip_rank"])
    for level in range(PR_LEVELS):
        # trec_eval takes int(level * |G| + 0.9), which is the exact tenth only where that is a whole number.
        if level * len(relevant) % 10 == 0:
            assert ours.pr11[0, level] == pytest.approx(theirs[f"iprec_at_recall_{level / 10:.2f}"])


def test_one_document_in_two_units_is_capped_at_one() -> None:
    """Both units at rank 1: P@1 = 2/1, AP = (2/1 + 2/1) / 2, DCG@1 = 2 against an ideal of 1. All are capped."""
    scores = score_queries([[1, 1]])
    assert scores.curves["P"][0, 0] == 1
    assert scores.curves["nDCG"][0, 0] == 1
    assert scores.scalars["MAP"][0] == 1
    # h(2) = 2 of 2 units: from rank 2 on nothing is above 1, and nothing is lowered.
    assert scores.curves["P"][0, 2] == pytest.approx(2 / 3)


def test_levels_are_compared_as_exact_tenths() -> None:
    """3 of 10 units is recall 0.3 exactly; as floats 3 * 0.1 is above 0.3 and the level would be missed."""
    scores = score_queries([[1, 2, 3, *[None] * 7]])
    assert scores.pr11[0].tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_capped_service_has_no_value_above_its_cap() -> None:
    scores = score_queries([[3], [None]], service_cap=50)
    for name in ("R", "P", "nDCG", "Covered"):
        assert not np.isnan(scores.curves[name][:, :50]).any()
        assert np.isnan(scores.curves[name][:, 50:]).all()
    assert scores.scalars["MRR"].tolist() == [1 / 3, 0]


@pytest.mark.parametrize("ranks", [[], [0], [201]], ids=["no units", "rank 0", "beyond k_max"])
def test_impossible_positions_are_refused(ranks: Ranks) -> None:
    with pytest.raises(ValueError, match="query 0"):
        score_queries([ranks])
