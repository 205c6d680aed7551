"""What labels buy."""

import pytest

from proverbench.metrics.correction import correct_by_labels
from proverbench.metrics.strata import Labelled
from proverbench.people.draw import draw
from proverbench.people.gain import completed, gain_of
from proverbench.run.saved import open_runs
from tests.people.conftest import RUN


@pytest.fixture(scope="module")
def run():
    """The run's judgments, and its draw of 20: the chance of each proof."""
    (opened,) = open_runs([RUN], split="all")
    drawn = draw(opened.folder.records(), opened.arrays.repeats, 20)
    return opened.arrays, {proof.key: proof.probability for proof in drawn}


def test_the_width_is_that_of_the_correction(run):
    arrays, probability = run
    labels = {key: at % 3 > 0 for at, key in enumerate(list(probability)[:8])}
    chances = {key: probability[key] for key in labels}
    found = correct_by_labels(arrays, Labelled(labels, chances))["interval"]
    assert gain_of(arrays, labels, probability).width == found["high"] - found["low"]


def test_with_every_label_what_was_expected_is_what_is_known(run):
    arrays, probability = run
    labels = {key: at % 3 > 0 for at, key in enumerate(probability)}
    gain = gain_of(arrays, labels, probability)
    assert gain.width == gain.expected


def test_without_labels_there_is_no_width_but_an_expected_one(run):
    arrays, probability = run
    gain = gain_of(arrays, {}, probability)
    assert gain.width is None
    assert 0 < gain.expected < 1


def test_labels_to_come_are_as_those_so_far(run):
    arrays, probability = run
    keys = list(probability)
    every = completed(arrays, dict.fromkeys(keys[:10], True), probability)
    none = completed(arrays, dict.fromkeys(keys[:10], False), probability)
    assert set(every) == set(none) == set(keys)
    assert sum(every.values()) > 15
    assert sum(none.values()) < 5
    unknown = completed(arrays, {}, probability)
    assert abs(sum(unknown.values()) - 10) <= 2  # half of each stratum


def test_agreeing_labels_make_it_narrower(run):
    arrays, probability = run
    accepted = dict(zip(arrays.keys, arrays.accepted.tolist(), strict=True))
    few = {key: accepted[key] for key in list(probability)[:8]}
    every = {key: accepted[key] for key in probability}
    assert gain_of(arrays, every, probability).width < gain_of(arrays, few, probability).width
