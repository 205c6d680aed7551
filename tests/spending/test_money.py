import pytest

from proverbench.spending.money import Budget, Cost, Spending, assumptions, cache_saving_usd, cost, estimate, used
from proverbench.spending.prices import Prices
from proverbench.spending.usage import Usage

FULL = Prices(input=2.0, cached_input=0.5, cache_write=2.5, output=10.0)
MILLION = Usage(input=1_000_000, cached_input=400_000, cache_write=100_000, output=200_000)


@pytest.mark.parametrize(
    ("usage", "prices", "expected"),
    [
        # 0.5M x 2 + 0.4M x 0.5 + 0.1M x 2.5 + 0.2M x 10 = 1 + 0.2 + 0.25 + 2
        pytest.param(MILLION, FULL, Cost(3.45), id="all-priced"),
        # cached and written as input: 1M x 2 + 2
        pytest.param(MILLION, Prices(input=2.0, output=10.0), Cost(4.0), id="cache-as-input"),
        pytest.param(MILLION, Prices(input=2.0), Cost(2.0, at_least=True), id="output-unpriced"),
        pytest.param(Usage(1_000_000, 0, 0, 0), Prices(input=2.0), Cost(2.0), id="unpriced-but-unused"),
        pytest.param(MILLION, None, Cost(0.0, at_least=True), id="no-prices"),
        pytest.param(None, FULL, Cost(0.0, at_least=True), id="no-usage"),
        pytest.param(MILLION, Prices(input=0.0, output=0.0), Cost(0.0), id="free"),
    ],
)
def test_cost(usage, prices, expected):
    found = cost(usage, prices)
    assert (found.usd, found.at_least) == (pytest.approx(expected.usd), expected.at_least)


@pytest.mark.parametrize(
    ("given", "text"),
    [(Cost(12.345), "$12.35"), (Cost(0.01234), "$0.0123"), (Cost(2.0, at_least=True), "at least $2.00")],
)
def test_words(given, text):
    assert str(given) == text


def test_what_the_cache_saved():
    # 0.4M x (2 - 0.5) saved, 0.1M x (2.5 - 2) more
    assert cache_saving_usd(MILLION, FULL) == pytest.approx(0.55)
    assert cache_saving_usd(MILLION, Prices(output=1.0)) is None


def test_unknown_usage_makes_it_at_least():
    spending = Spending(FULL)
    assert spending.cost == Cost(0.0)
    spending.add(MILLION)
    assert not spending.cost.at_least
    spending.add(None)
    assert spending.cost.at_least
    assert spending.calls == 2


def test_abandoned_attempts_make_it_at_least():
    spending = Spending(FULL)
    spending.add(MILLION, abandoned=1)
    assert spending.cost.at_least
    lost = Spending(FULL)
    lost.lost(2)
    assert lost.cost == Cost(0.0, at_least=True)


def test_forecast_is_the_mean_times_the_calls():
    spending = Spending(FULL)
    assert spending.forecast(10) is None
    spending.add(MILLION)
    spending.add(MILLION)
    assert spending.forecast(10).usd == pytest.approx(34.5)
    spending.add(None)
    assert spending.forecast(10).usd == pytest.approx(34.5)


def test_attempts_that_were_given_up_do_not_change_the_mean():
    spending = Spending(FULL)
    for _ in range(4):
        spending.add(MILLION, abandoned=2)
    spending.lost(3)
    assert spending.forecast(10) == Cost(pytest.approx(34.5), at_least=True)


def test_sums_of_spending():
    whole, first, second = (Spending(FULL) for _ in range(3))
    for part, batch in ((first, False), (second, True)):
        for spending in (whole, part):
            spending.add(MILLION, abandoned=1, batch=batch)
            spending.add(None)
            spending.lost(2)
    assert first + second == whole


def test_budget():
    budget = Budget(max_cost_usd=7.0, roles={"policy": Spending(FULL), "verifier": Spending(FULL)})
    budget.roles["policy"].add(MILLION)
    assert budget.exceeded() is None
    budget.roles["verifier"].add(MILLION)
    assert budget.exceeded() is None
    budget.roles["verifier"].add(MILLION)
    assert budget.exceeded().words == "--max-cost 7 reached: $10.35 spent"
    tokens = Budget(max_tokens_total=1_200_000, roles={"policy": Spending()})
    tokens.roles["policy"].add(MILLION)
    assert tokens.exceeded().words == "--max-tokens-total 1200000 reached: 1200000 tokens used"


def test_estimate():
    found = estimate([3500, 7000], prices=Prices(input=1.0, output=2.0), output_limit=1000)
    # 10,500 / 3.5 = 3,000 in, 2 x 1,000 out
    assert found.usage == Usage(3000, 0, 0, 2000)
    assert found.cost.usd == pytest.approx(0.007)
    assert estimate([], prices=None, output_limit=None).cost == Cost(0.0)
    assert estimate([1], prices=None, output_limit=None).usage.output == 4000
    unlimited = estimate([1], prices=None, output_limit=None)
    assert "as the limits allow (verifier 1000)" in assumptions({"verifier": found, "policy": unlimited})
    assert "no limit, answers of so many (policy 4000)" in assumptions({"verifier": found, "policy": unlimited})
    assert "limits allow" not in assumptions({"policy": unlimited})


@pytest.mark.parametrize(
    ("input_tokens", "unknown", "policy", "verifier", "expected"),
    [
        pytest.param(None, 0, None, None, "", id="nothing is known"),
        pytest.param(1_000, 0, None, None, "1,500 tokens", id="no prices"),
        pytest.param(1_000, 2, None, None, "at least 1,500 tokens", id="some calls' usage is unknown"),
        pytest.param(
            1_000,
            0,
            (1.5, False),
            (0.25, True),
            "1,500 tokens, at least $1.75 (policy $1.50, verifier at least $0.2500)",
        ),
        pytest.param(1_000, 0, (1.5, False), None, "1,500 tokens, at least $1.50", id="one role has no price"),
    ],
)
def test_what_a_run_used(input_tokens, unknown, policy, verifier, expected):
    usage = {"policy": {"input": input_tokens, "output": input_tokens and 500, "calls_of_unknown_usage": unknown}}
    roles = {
        role: {} if cost is None else {"cost_usd": cost[0], "cost_is_at_least": cost[1]}
        for role, cost in (("policy", policy), ("verifier", verifier))
    }
    assert used(usage, roles) == expected
