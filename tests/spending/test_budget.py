"""What a run's journal says was used, line by line, by role; given proofs and closed sessions cost nothing."""

import pytest

from proverbench.errors import JournalError
from proverbench.records import GIVEN, AttemptLine, FinalLine, RoleIdentity, SessionLine
from proverbench.spending.budget import Spent
from tests.run.made_runs import PROOF, call, make_run, problem, verdict

USED = {"prompt_tokens": 1_000_000, "completion_tokens": 200_000}
PRICES = {"input": 1.0, "output": 10.0}


def spent(folder, lines, *, prices=None, roles=None, **limits):
    operation = {"prices": prices or {}, **limits}
    sources = make_run(folder, [problem("a")], lines, operation=operation, roles=roles)
    found = Spent(sources.manifest)
    for line in sources.calls.facts():
        found.add(line)
    return found


def test_calls_are_added_up_by_role_and_priced(tmp_path):
    lines = [
        SessionLine(event="start", at=""),
        call("policy/a/0/0", PROOF, usage=USED),
        call("verifier/a/0/0", verdict(-1), usage=USED),
        FinalLine(at="", keys=[]),
    ]
    found = spent(tmp_path / "r", lines, prices={"policy": PRICES})
    assert found.priced
    assert found.budget.tokens == 2 * 1_200_000
    assert found.budget.roles["policy"].calls == found.budget.roles["verifier"].calls == 1
    # The verifier has no price, so the sum is a least one: 1 x 1 + 0.2 x 10.
    assert str(found.budget.cost) == "at least $3.00"
    assert not spent(tmp_path / "s", lines).priced


def test_given_proofs_cost_nothing(tmp_path):
    lines = [call("policy/a/0/0", PROOF, usage=USED), call("verifier/a/0/0", verdict(-1), usage=USED)]
    roles = {"policy": RoleIdentity(model="given", kind=GIVEN)}
    found = spent(tmp_path / "r", lines, prices={"verifier": PRICES}, roles=roles)
    assert list(found.budget.roles) == ["verifier"]
    assert (found.budget.tokens, str(found.budget.cost)) == (1_200_000, "$3.00")


def test_a_reply_that_was_broken_off_was_paid_for(tmp_path):
    broken = AttemptLine(role="verifier", id="a", attempts=0, text_chars=5, usage=USED)
    unanswered = AttemptLine(role="verifier", id="a", attempts=3, error="timeout")
    assert spent(tmp_path / "b", [broken], prices={"verifier": PRICES}).budget.tokens == 1_200_000
    assert spent(tmp_path / "u", [unanswered], prices={"verifier": PRICES}).budget.tokens == 0


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({}, False),
        ({"max_tokens_total": 1_200_001}, False),
        ({"max_tokens_total": 1_200_000}, True),
        ({"max_cost_usd": 3.01}, False),
        ({"max_cost_usd": 3.0}, True),
    ],
)
def test_limits_are_those_of_the_run(tmp_path, limits, reached):
    lines = [call("verifier/a/0/0", verdict(-1), usage=USED)]
    found = spent(tmp_path / "r", lines, prices={"verifier": PRICES}, **limits)
    assert (found.budget.exceeded() is not None) is reached


def test_words_of_the_progress_line(tmp_path):
    lines = [call("verifier/a/0/0", verdict(-1), usage=USED)]
    assert spent(tmp_path / "n", lines).words({}) == ["1,200,000 tokens"]
    priced = spent(tmp_path / "p", lines, prices={"verifier": PRICES}).words({"policy": 0, "verifier": 4})
    assert priced[0] == "1,200,000 tokens"
    assert priced[1].startswith("$3.00, about $12.00")


def test_prices_that_are_none_are_refused(tmp_path):
    with pytest.raises(JournalError, match=r"manifest\.json: operation\.prices\.verifier"):
        spent(tmp_path / "r", [], prices={"verifier": {"input": "dear"}})
