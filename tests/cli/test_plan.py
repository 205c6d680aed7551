"""`proverbench plan`: from pilots, from assumptions, and when it refuses."""

import json

import pytest

from proverbench.cli import pages


def found(command, *arguments) -> dict:
    ended = command("plan", *arguments, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_from_assumptions(command):
    answer = found(command, "--share", "0.4", "--icc", "0.5")
    whole = {row["samples"]: row["width"] for row in answer["designs"] if row["problems"] == 245}
    assert [whole[s] for s in (1, 4, 16)] == pytest.approx([0.122, 0.097, 0.090], abs=1e-3)
    assert answer["unit"] is None


def test_from_a_pilot(command, saved):
    answer = found(command, saved / "p1", "--precision", "8", "--budget", "1000000")
    assert answer["repeats"] == 2
    assert answer["unit"] == "tokens"
    assert all(row["width_range"][0] <= row["width"] <= row["width_range"][1] for row in answer["designs"])
    precise, spent = (answer["design"] for answer in answer["answers"])
    assert precise["width"] <= 0.16
    assert spent["cost"] <= 1_000_000


def test_differences(command, saved):
    answer = found(command, saved / "p1", saved / "p2", "--difference", "20")
    assert all("detectable" in row for row in answer["designs"])
    assert answer["answers"][0]["design"]["detectable"] <= 0.2 + 1e-9
    one = found(command, saved / "p1", "--correlation", "0.8", "--difference", "20")
    assert one["answers"][0]["design"] is not None


def test_the_screen(command, saved, monkeypatch):
    monkeypatch.setattr(pages, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    ended = command("plan", saved / "p1", "--correlation", "0.8", "--difference", "10", "--precision", "0.1")
    assert ended.code == 0
    assert "more samples cannot reduce that part" in " ".join(ended.out.split())
    assert "none: not even all problems with 64 samples" in ended.out
    assert "The cheapest way to show 10 points with a power of 80%" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a pilot run, or --share"),
        (("v1",), "a pilot is a ProverBench run"),
        (("p1", "--difference", "3"), "--difference needs two pilots, or --correlation"),
        (("p1", "--repeats", "8"), "the pilot has 2 repeats, fewer than 8"),
        (("open",), "47 of 48 records"),
    ],
)
def test_refusals(command, saved, arguments, said):
    ended = command("plan", *[saved / a if (saved / a).is_dir() else a for a in arguments])
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
