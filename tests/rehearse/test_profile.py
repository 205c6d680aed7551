import random
import statistics
from collections import Counter

import pytest

from proverbench.errors import ConfigError
from proverbench.rehearse import Latency, Profile
from proverbench.rehearse.profile import parse_faults
from proverbench.rehearse.wire import read_ask


def _ask(i=0, **more):
    return read_ask("chat", {"model": "m", "messages": [{"role": "user", "content": f"prompt {i}"}], **more})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fixed:0.5", Latency("fixed", 0.5)),
        ("lognormal:2,0.6", Latency("lognormal", 2, 0.6)),
        ("lognormal:0,1", Latency("lognormal", 0, 1)),
    ],
)
def test_latency_is_read(text, wanted):
    assert Latency.parse(text) == wanted


@pytest.mark.parametrize("text", ["", "2", "fixed:", "fixed:-1", "fixed:nan", "fixed:1,2", "lognormal:2", "normal:1,2"])
def test_latency_that_is_none(text):
    with pytest.raises(ConfigError, match="give fixed:SECONDS or lognormal:MEDIAN,SIGMA"):
        Latency.parse(text)


def test_lognormal_has_its_median_and_sigma():
    rng = random.Random(1)
    draws = sorted(Latency("lognormal", 2.0, 0.6).draw(rng) for _ in range(20_000))
    assert statistics.median(draws) == pytest.approx(2, rel=0.03)
    assert draws[int(0.8413 * 20_000)] == pytest.approx(2 * 2.718281828**0.6, rel=0.05)


def test_faults_are_read():
    assert parse_faults("429=0.05, reset=0.01") == {"429": 0.05, "reset": 0.01}
    assert parse_faults("") == {}


def test_all_wrong_faults_at_once():
    with pytest.raises(ConfigError) as caught:
        parse_faults("399=0.1,rest=0.1,500=x,502=2")
    assert len(str(caught.value).splitlines()) == 4
    with pytest.raises(ConfigError, match=r"add up to 1\.2"):
        parse_faults("500=0.6,502=0.6")


def test_faults_come_at_their_rates_and_alike_in_every_order():
    profile = Profile(faults={"429": 0.05, "500": 0.02, "reset": 0.01, "hang": 0.01})
    kinds = Counter()
    for i in range(10_000):
        play = profile.play(_ask(i), 0)
        kinds[play.ending if play.ending != "complete" else str(play.status)] += 1
    assert kinds["429"] == pytest.approx(500, rel=0.2)
    assert kinds["500"] == pytest.approx(200, rel=0.3)
    assert kinds["reset"] == pytest.approx(100, rel=0.4)
    assert kinds["hang"] == pytest.approx(100, rel=0.4)
    assert [profile.play(_ask(i), 1) for i in range(50)] == [profile.play(_ask(i), 1) for i in range(50)]


@pytest.mark.parametrize("name", ["reset", "cut", "hang", "stall", "html", "empty", "error200", "429", "503"])
def test_every_fault_leaves_the_call_unanswered(name):
    assert not Profile(faults={name: 1.0}).play(_ask(), 0).answers


def test_stream_spreads_its_latency():
    play = Profile(latency=Latency("fixed", 4)).play(_ask(stream=True), 0)
    assert (play.delay_s, play.body_s) == (1, 3)
