"""Which interval people see, and what is said beside it."""

import pytest

from proverbench.metrics.shown import Shown, footnotes, named_intervals, shown_interval

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
    assert line == "Rests on few problems with the rarer outcome: b on 1."
    (line,) = footnotes([(name, FEW) for name in "abcde"])
    assert line.endswith("a on 1, b on 1, c on 1 and 2 more.")
    assert len(line) <= 80


def test_intervals_of_a_nested_result_have_names():
    result = {
        "rows": [{"metric": "x", "interval": SOUND}, {"measure": "y", "gain_interval": FEW}],
        "labels_only": {"value": 1.0, "interval": FEW},
        "none": {"interval": None},
    }
    assert list(named_intervals(result)) == [("x", SOUND), ("y", FEW), ("labels_only", FEW)]
