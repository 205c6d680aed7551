"""Which interval people see, and what is said beside it."""

import pytest

from proverbench.metrics.shown import Shown, footnotes, named_intervals, shown_interval, split_footnotes

SOUND = {"low": 0.2, "high": 0.4, "evidence": 12.5}
FEW = {"low": 0.0, "high": 0.4, "evidence": 1.0}


@pytest.mark.parametrize(
    ("interval", "wanted"),
    [(None, None), ({"low": None, "high": None, "evidence": 0.0}, None), (SOUND, Shown(0.2, 0.4))],
)
def test_the_interval_that_is_shown(interval, wanted):
    assert shown_interval(interval) == wanted


def test_one_footnote_names_what_rests_on_few_problems():
    assert list(footnotes([])) == []
    assert list(footnotes([("a", None), ("b", SOUND), ("c", {"low": None, "evidence": 0.0})])) == []
    (line,) = footnotes([("a", SOUND), ("b", FEW), ("b", FEW | {"evidence": 2.0})])
    assert line == "Rests on few problems with the rarer outcome: on 1: b."
    (line,) = footnotes([(name, FEW) for name in "abcde"])
    assert line.endswith("outcome: on 1: a, b, c, d, e.")
    (line,) = footnotes([("a", FEW), ("b", FEW | {"evidence": 2.7})])
    assert line.endswith("outcome: on 1: a; on 3: b.")


def test_a_footnote_about_splits_names_each_with_its_own_number():
    """What rests on much in `all` is not said to rest on little there."""
    assert list(split_footnotes({"all": None, "qe": {"a": SOUND}})) == []
    (line,) = split_footnotes(
        {"all": {"a": SOUND, "b": FEW}, "ugd": {"a": FEW, "b": FEW}, "qe": {"a": FEW | {"evidence": 2.0}, "b": SOUND}}
    )
    assert line == "Rests on few problems with the rarer outcome: on 1: b (all, ugd), a (ugd); on 2: a (qe)."


def test_intervals_of_a_nested_result_have_names():
    result = {
        "rows": [{"metric": "x", "interval": SOUND}, {"measure": "y", "gain_interval": FEW}],
        "labels_only": {"value": 1.0, "interval": FEW},
        "none": {"interval": None},
    }
    assert list(named_intervals(result)) == [("x", SOUND), ("y", FEW), ("labels_only", FEW)]
