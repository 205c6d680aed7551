"""What a summary says of replies to one prompt that are the same."""

import json
from pathlib import Path

import pytest

from proverbench.rehearse import ModelReply
from tests.support import problem_rows, write_config, write_rows

PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--output", "r")
STEP = "<step>{}</step>"
VERDICT = "<assessment>{}</assessment><errors></errors><first_error_step>-1</first_error_step>"


@pytest.fixture
def notes(command, server, tmp_path):
    """Runs three problems, S and R given, replies by a function of (role, problem, sample or repeat); the warnings."""
    write_rows(tmp_path / "problems.jsonl", problem_rows(3))
    write_config(tmp_path / "config.toml", server.base_url, concurrency=1)

    def run(samples: int, repeats: int, reply) -> list[str]:
        def answer(ask, before):
            return reply(ask.role, ask.prompt.partition("statement number ")[2][:1], before)

        server.replies = answer
        ended = command(*PROVER, "--samples", str(samples), "--verifier-repeats", str(repeats))
        assert ended.code == 0, ended.err
        warnings = json.loads(Path("r", "summary.json").read_bytes())["warnings"]
        return [warning for warning in warnings if "byte-identical" in warning]

    return run


def policy(texts: dict[str, list[str]]):
    """Samples by problem; every judgment is one of its own."""
    judgments = iter(range(10**6))

    def reply(role, problem, place):
        if role == "policy":
            return ModelReply(content=STEP.format(texts[problem][place]))
        return ModelReply(content=VERDICT.format(f"Judgment {next(judgments)}."))

    return reply


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"0": ["a", "b", "c"], "1": ["d", "e", "f"], "2": ["g", "h", "i"]}, None),
        (
            {"0": ["a", "a", "a"], "1": ["d", "d", "d"], "2": ["g", "g", "g"]},
            "3 of 3 problems {} (9 of 9 samples, 100%)",
        ),
        (
            {"0": ["a", "b", "a"], "1": ["d", "e", "f"], "2": ["g", "g", "g"]},
            "2 of 3 problems {} (5 of 9 samples, 56%)",
        ),
        # The same text for different problems is another matter.
        ({"0": ["a", "b", "c"], "1": ["a", "b", "c"], "2": ["a", "b", "c"]}, None),
    ],
    ids=["all-differ", "all-alike", "some-alike", "alike-across-problems"],
)
def test_samples(notes, texts, told):
    wanted = [] if told is None else [told.format("got byte-identical samples")]
    assert [note.partition(":")[0] for note in notes(3, 1, policy(texts))] == wanted


def test_judgments_one_of_which_differs(notes):
    def reply(role, problem, place):
        if role == "policy":
            return ModelReply(content=STEP.format("a"))
        return ModelReply(content=VERDICT.format("Fine." if place < 3 else "Well done."))

    assert [note.partition(":")[0] for note in notes(1, 4, reply)] == [
        "3 of 3 proofs got byte-identical judgments (9 of 12 judgments, 75%)"
    ]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(lambda role, problem, place: ModelReply(content=""), id="empty"),
        pytest.param(
            lambda role, problem, place: ModelReply(
                content=STEP.format("a") if role == "policy" else VERDICT.format("Fine."), reasoning=f"Thought {place}."
            ),
            id="other-thoughts",
        ),
    ],
)
def test_what_is_no_sign_of_dependence(notes, reply):
    assert notes(3, 1, reply) == []
