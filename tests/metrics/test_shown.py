"""Which interval people see, and what its mark says."""

import pytest

from proverbench.metrics.shown import FOOTNOTES, NARROW, WILSON, Shown, footnotes, shown_interval

SOUND = {"low": 0.2, "high": 0.4}
UNRELIABLE = SOUND | {"unreliable": "fewer than 30 problems"}


@pytest.mark.parametrize(
    ("interval", "wanted"),
    [
        (None, None),
        ({"low": None, "high": None}, None),
        (SOUND, Shown(0.2, 0.4, "")),
        (SOUND | {"wilson": {"low": 0.1, "high": 0.5}}, Shown(0.2, 0.4, "")),
        (UNRELIABLE, Shown(0.2, 0.4, NARROW)),
        (UNRELIABLE | {"wilson": {"low": None, "high": None}}, Shown(0.2, 0.4, NARROW)),
        (UNRELIABLE | {"wilson": {"low": 0.1, "high": 0.5}}, Shown(0.1, 0.5, WILSON)),
        (UNRELIABLE | {"low": None, "high": None, "wilson": {"low": 0.1, "high": 0.5}}, Shown(0.1, 0.5, WILSON)),
    ],
)
def test_the_interval_that_is_shown(interval, wanted):
    assert shown_interval(interval) == wanted


def test_only_marks_that_are_shown_are_explained():
    assert list(footnotes([])) == []
    assert list(footnotes([None, SOUND])) == []
    assert list(footnotes([UNRELIABLE, SOUND, UNRELIABLE])) == [FOOTNOTES[NARROW]]
    wilson = UNRELIABLE | {"wilson": {"low": 0.1, "high": 0.5}}
    assert list(footnotes([UNRELIABLE, wilson])) == [FOOTNOTES[WILSON], FOOTNOTES[NARROW]]
    assert all(len(text) <= 80 for text in FOOTNOTES.values())
