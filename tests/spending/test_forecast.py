import json
import re

import pytest

from proverbench.spending.forecast import cache_saving, half_width, learn, shown
from proverbench.spending.money import Cost, Spending
from proverbench.spending.prices import Prices
from proverbench.spending.usage import Usage
from tests.support import proof_rows, write_config, write_rows

PRICES = Prices(input=1.0, output=10.0)


def test_a_forecast_is_the_mean_of_what_was_observed():
    # 10 calls of 1,000 + 10 * 100 = 2,000 and 10 of 1,000 + 10 * 300 = 4,000 millionths: a mean of $0.003.
    observed = [Usage(1000, 0, 0, 100 if number % 2 else 300) for number in range(20)]
    found = learn(observed, 60, PRICES)
    assert found.usage == Usage(60_000, 0, 0, 12_000)
    assert found.cost == Cost(pytest.approx(0.18))
    # The variance is 20 * 0.001² / 19, so sd = 0.0010260; 1.96 * sd * sqrt(60 + 60² / 20) = 0.03115.
    assert found.half_width_usd == pytest.approx(0.03115, abs=1e-5)
    assert learn(observed[:19], 60, PRICES) is None
    assert learn(observed, 0, PRICES).cost == Cost(0.0)


def test_unknown_prices_make_it_at_least():
    assert learn([Usage(10, 0, 0, 1)] * 20, 5, None).cost.at_least


def test_the_running_spread_is_that_of_the_calls():
    spending = Spending(PRICES)
    for number in range(20):
        spending.add(Usage(1000, 0, 0, 100 if number % 2 else 300))
    assert half_width(spending.sd_usd, 60, 20) == pytest.approx(0.03115, abs=1e-5)
    assert Spending(PRICES).sd_usd == 0.0


def test_what_is_shown():
    # 3 and 4 as errors of independent parts: 5.
    assert shown(Cost(10.0), [3.0, 4.0]) == "$10.00 ($5.00 to $15.00)"
    assert shown(Cost(1.0), [3.0]) == "$1.00 ($0.0000 to $4.00)"


def test_a_dry_run_of_a_folder_learns_from_its_answers(command, tmp_path, server):
    write_rows(tmp_path / "proofs.jsonl", proof_rows(40))
    prices = "prices = { input = 1.0, output = 10.0 }\n"
    write_config(tmp_path / "config.toml", server.base_url, more=prices)
    start = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--output", "r")
    assert command(*start, "--limit", "25").code == 0
    grow = ("verify", "--resume", "r", "--limit", "40", "--data", "proofs.jsonl")
    ended = command(*grow, "--dry-run")
    low, high = map(float, re.search(r"in all: \S+ \(\$([\d.]+) to \$([\d.]+)\)", ended.out).groups())
    assert "learnt from 25 answers" in ended.out
    before = spent(tmp_path)
    assert command(*grow).code == 0
    assert low <= spent(tmp_path) - before <= high


def test_an_estimate_that_was_far_too_high_is_put_right_by_20_answers(command, tmp_path, server):
    # The limit allows ten times what the judge writes, so what is assumed before any answer is far too much.
    write_rows(tmp_path / "proofs.jsonl", proof_rows(60))
    config = write_config(tmp_path / "config.toml", server.base_url, more="prices = { input = 1.0, output = 10.0 }\n")
    config.write_text(config.read_text().replace("max_tokens = 500", "max_tokens = 5000"))
    start = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--output", "r")
    assumed = float(re.search(r"in all: \$([\d.]+)", command(*start, "--dry-run").out)[1])
    assert command(*start, "--limit", "20").code == 0
    grow = ("verify", "--resume", "r", "--limit", "60", "--data", "proofs.jsonl")
    low, high = map(
        float, re.search(r"in all: \S+ \(\$([\d.]+) to \$([\d.]+)\)", command(*grow, "--dry-run").out).groups()
    )
    before = spent(tmp_path)
    assert command(*grow).code == 0
    assert low <= spent(tmp_path) - before <= high < assumed / 3


def test_what_a_prompt_cache_may_save():
    # 8 prompts of 7,000 characters are 2,000 tokens each: 7 are read at $0.9 less, 1 is written at $0.25 more.
    prices = Prices(input=1.0, cached_input=0.1, cache_write=1.25)
    found = cache_saving([7000] * 8, 8, prices)
    assert found.high_usd == pytest.approx(7 * 0.0018 - 0.0005)
    assert found.low_usd == pytest.approx(0.8 * 7 * 0.0018 - 0.0005)
    assert cache_saving([7000] * 8, 8, Prices(input=1.0)) is None
    assert cache_saving([7000], 1, prices) is None


def test_a_dry_run_says_what_the_prompt_cache_may_save(command, tmp_path, server):
    rows = proof_rows(4)
    for row in rows:
        row["steps"] = ["x" * 7000]
        row["annotation"] = {"first_fatal_error_step": -1, "recoverable_error_steps": [-1]}
    write_rows(tmp_path / "proofs.jsonl", rows)
    prices = "prices = { input = 1.0, cached_input = 0.1, output = 10.0 }\n"
    write_config(tmp_path / "config.toml", server.base_url, more=prices)
    start = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--dry-run")
    said = command(*start, "--verifier-repeats", "8").out
    assert re.search(r"a prompt cache may save \$0\.0\d+ to \$0\.0\d+ \(cache_first: the first of 8 judgments", said)
    assert "prompt cache" not in command(*start, "--verifier-repeats", "1").out
    write_config(tmp_path / "config.toml", server.base_url, more=f"{prices}cache_first = false\n")
    assert "prompt cache" not in command(*start, "--verifier-repeats", "8").out


def spent(folder):
    return json.loads((folder / "r/timing.json").read_bytes())["roles"]["verifier"]["cost_usd"]
