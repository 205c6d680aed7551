"""Looking metrics up: by benchmark, by what a run has, by rank and by name."""

import math

import pytest

from proverbench.errors import UserInputError
from proverbench.metrics.metric import SPECIAL
from proverbench.metrics.registry import METRICS, headlines, headlines_first, known_metric, metrics_of, unit_note


def test_metrics_of_a_benchmark_in_the_order_of_its_summary() -> None:
    assert list(metrics_of("prover")) == [
        "pessimistic",
        "pass_any_sample",
        "generation_failure_rate",
        "verifier_valid_rate",
    ]
    every, without = list(metrics_of("verifier")), list(metrics_of("verifier", meta=False))
    assert every[: len(without)] == without
    assert every[len(without) :] == ["meta_ver_tpr", "meta_ver_tnr", "meta_ver_bal_f1", "meta_valid_rate"]
    for task in ("prover", "verifier"):
        assert all(name == metric.name and metric.benchmark == task for name, metric in metrics_of(task).items())  # type: ignore[arg-type]


def test_headlines() -> None:
    assert headlines("prover") == ["pessimistic", "pass_any_sample"]
    places = ["rough_bal_f1", "rough_tpr", "rough_tnr", "first_error_step_accuracy"]
    assert headlines("verifier", meta=False) == places
    assert headlines("verifier") == [*places, "meta_ver_bal_f1"]
    assert headlines_first("verifier")[:6] == [*places, "meta_ver_bal_f1", "rough_accuracy"]
    assert sorted(headlines_first("verifier")) == sorted(metrics_of("verifier"))
    assert "meta_ver_bal_f1" not in headlines_first("verifier", meta=False)


def test_no_two_headlines_of_a_benchmark_share_a_place_and_one_is_first() -> None:
    for task in ("prover", "verifier"):
        places = [metric.headline for metric in METRICS if metric.benchmark == task and metric.headline is not None]
        assert sorted(places) == list(range(1, len(places) + 1))


def test_what_is_no_share_is_named() -> None:
    assert unit_note(["proofs", "rough_tpr", "mae"]) == ""
    assert unit_note(iter(["mae_points", "qwk"])) == "mae_points is in points; qwk is a plain number"
    assert unit_note(["qwk", "mae", "pearson", "bias_valid"]) == "qwk, pearson and bias_valid are plain numbers"


def test_names() -> None:
    assert known_metric("rough_tpr") == "rough_tpr"
    with pytest.raises(
        UserInputError, match=r"^--metric rough_tpt: no such metric; did you mean rough_tpr\? there are pess"
    ):
        known_metric("rough_tpt")
    with pytest.raises(UserInputError, match=r"^--metric xyz: no such metric; there are pessimistic, "):
        known_metric("xyz")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.benchmark}-{metric.name}")
def test_every_metric_says_what_people_need(metric) -> None:  # type: ignore[no-untyped-def]
    assert metric.label[0].isupper()
    assert len(metric.heading) <= 24
    assert metric.help.endswith(".")
    spread = {"bias_valid", "pearson", "spearman", "kendall_b", "qwk"}
    plain = metric.name in spread | {"selection_gain"}
    assert metric.unit == ("points" if metric.name == "mae_points" else "number" if plain else "share")
    assert metric.short(0.5) == {"share": "50.0", "points": "0.50", "number": "0.500"}[metric.unit]
    assert (metric.better is None) == (metric.name == "bias_valid")
    low = -1.0 if metric.name in spread else -math.inf if metric.name == "selection_gain" else 0.0
    assert metric.range == (low, 1.0)
    assert metric.needs <= {"labels", "places", "meta"} | SPECIAL
    assert metric.validity == metric.name.endswith(("valid_rate", "failure_rate"))
    smaller = ("failure_rate", "pairwise_ties", "mae", "rmse", "mae_points", "mae_valid", "rmse_valid")
    assert (metric.better == "lower") == metric.name.endswith(smaller)
    assert (metric.statistic is None) == bool(metric.rates)
