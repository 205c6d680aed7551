import json
from fractions import Fraction
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proverbench.retrieval.gold import find_positions
from proverbench.retrieval.metrics import macro_mean, score_queries

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
