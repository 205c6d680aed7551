"""A run that was grown after it was complete says so, and its verdicts carry it."""

import csv
import json

import pytest

from proverbench.metrics.comparison import compare_runs
from proverbench.run.looks import looks_of
from proverbench.run.session import Session
from proverbench.run.sources import Sources
from proverbench.show.report.build import open_runs
from tests.support import every, problem_rows, write_calls, write_config, write_rows


@pytest.fixture
def grown(command, server, tmp_path):
    """Runs of 6 problems: ``once``; ``twice``, grown from one sample to two; ``planned``, likewise, with --looks 3."""
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    write_config(tmp_path / "c.toml", server.base_url)
    more = ("--data", "problems.jsonl", "--config", "c.toml", "--verifier-repeats", "2")
    assert command("run", *more, "--samples", "2", "--output", "once").code == 0
    for name, options in (("twice", ()), ("planned", ("--looks", "3"))):
        assert command("run", *more, "--samples", "1", "--output", name, *options).code == 0
        assert command("run", "--resume", name, "--samples", "2").code == 0
    return tmp_path


def starts(run) -> list[dict]:
    lines = (json.loads(line) for line in (run / "calls.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["type"] == "session" and line["event"] == "start"]


def test_the_growing_session_records_the_old_extent(grown):
    first, second = starts(grown / "twice")
    assert "grown_from" not in first
    assert (second["grown_from"]["rows"], second["grown_from"]["samples"]) == (6, 1)
    (only,) = starts(grown / "once")
    assert "grown_from" not in only


def test_going_on_with_what_was_never_complete_is_no_second_look(command, grown):
    lines = (grown / "once/calls.jsonl").read_text(encoding="utf-8").splitlines()
    judged = [line for line in map(json.loads, lines) if line.get("role") == "verifier"]
    write_calls(grown / "once", [json.loads(line) for line in lines if json.loads(line) != judged[-1]])
    assert command("run", "--resume", "once", "--samples", "3").code == 0
    assert all("grown_from" not in line for line in every(starts(grown / "once")))


@pytest.mark.parametrize(
    ("other", "look", "alpha"), [("twice", "look 2", 0.05 / 6), ("planned", "look 2 of 3", 0.05 / 3)]
)
def test_verdicts_carry_it(command, grown, other, look, alpha):
    ended = command("compare", "once", other)
    assert ended.code == 0
    assert f"{other} is at {look}: growing a complete run is a further look" in " ".join(ended.out.split())
    answer = json.loads(command("compare", "once", other, "--json").out)
    assert answer["alpha"] == pytest.approx(alpha)
    shown = " ".join(ended.out.split())
    for row in answer["pairs"]:
        assert row["step_interval"]["level"] == pytest.approx(1 - alpha)
        assert row["interval"]["level"] == 0.95
        for interval in (row["step_interval"], row["interval"]):
            assert f"[{interval['low']:.3f}, {interval['high']:.3f}]" in shown


def test_looks_never_change_a_summary(command, grown):
    before = (grown / "twice/summary.json").read_bytes()
    assert b"look" not in before
    assert command("score", "twice").code == 0
    assert (grown / "twice/summary.json").read_bytes() == before


def test_a_score_says_at_which_look_it_is(command, grown):
    says = "look 2: grown after it was complete; its 95 % intervals are those of a single look"
    for asked in (("score",), ("inspect",), ("report", "--format", "md")):
        for name in ("twice", "once"):
            said = " ".join(command(asked[0], name, *asked[1:]).out.split())
            assert (says in said) == (name == "twice"), asked
    assert command("export", "twice", "--to", "csv", "-o", "tables").code == 0
    with (grown / "tables/scores.csv").open(encoding="utf-8") as file:
        assert {row["look"] for row in csv.DictReader(file)} == {"2"}


def test_the_pages_verdicts_carry_it(grown):
    with open_runs([grown / "once", grown / "twice"]) as report:
        (comparison, *_) = report.head["comparisons"]
        assert "twice is at look 2" in comparison["warnings"][0]
        plain = compare_runs({run.name: run.arrays.split("all") for run in report.runs}, metrics=["pessimistic"])
        (pair,) = (row for row in comparison["pairs"] if row["metric"] == "pessimistic")
        assert pair["interval"]["low"] < plain["pairs"][0]["interval"]["low"]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("grows", [True, False], ids=["after-the-manifest", "before-the-manifest"])
def test_a_run_that_is_killed_before_its_first_call_was_looked_at(command, grown, monkeypatch, grows):
    """Once, however often growing is tried; and not before it is really larger."""
    grow = Session.grow

    def die(*_: object) -> None:
        raise Killed

    def grow_and_die(session, draft):
        grow(session, draft)
        raise Killed

    with monkeypatch.context() as patch:
        if grows:
            patch.setattr(Session, "grow", grow_and_die)
        else:
            patch.setattr("proverbench.run.session.write_whole", die)
        with pytest.raises(Killed):
            command("run", "--resume", "once", "--samples", "3")
    sources = Sources(grown / "once")
    assert looks_of(sources).number == (2 if grows else 1)
    sources.close()
    assert command("run", "--resume", "once", "--samples", "3").code == 0
    sources = Sources(grown / "once")
    assert looks_of(sources).number == 2
    sources.close()
