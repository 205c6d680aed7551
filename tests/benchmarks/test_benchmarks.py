import asyncio
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from benchmarks import cache_grid, virtual_time
from benchmarks.measure import mock
from benchmarks.mock import Dealer, dealt
from benchmarks.saved import write_run
from benchmarks.schedule import ideal_makespan
from benchmarks.tool import Work
from proverbench.protocols.basic_v1 import parse_steps, parse_verdict
from proverbench.rehearse.profile import Latency
from proverbench.run.folder import RunFolder, write_derived
from proverbench.run.sources import Sources
from tests.support import grows_too_fast, wait_for

ROOT = Path(__file__).parents[2]


class TestIdealMakespan:
    def test_two_stages_one_after_the_other(self):
        assert ideal_makespan(Work(2, 1, 3), lambda role, problem, nth: 1.0, in_flight=100) == 2.0

    def test_one_slot_takes_all_durations(self):
        assert ideal_makespan(Work(3, 2, 4), lambda role, problem, nth: 0.5, in_flight=1) == 30 * 0.5

    def test_judgments_go_before_new_proofs(self):
        # Two slots: proofs a and b take 1 and 5; at 1 the judgment of a starts (1 s) and ends at 2, then c runs 2..3,
        # its judgment 3..4; b ends at 5, its judgment at 6.
        assert (
            ideal_makespan(Work(3, 1, 1), lambda role, n, nth: 5.0 if (role, n) == ("policy", 1) else 1.0, in_flight=2)
            == 6.0
        )

    def test_no_scheduler_beats_the_mean(self):
        work = Work(50, 2, 8)
        latencies = dealt(Latency.parse("lognormal:2,1.2"))
        total = sum(latencies("policy", problem, nth) for problem in range(50) for nth in range(2))
        total += sum(latencies("verifier", problem, nth) for problem in range(50) for nth in range(16))
        assert ideal_makespan(work, latencies, in_flight=16) >= total / 16


class TestCacheGrid:
    """cache_first in virtual time: the goals of the issue, at a size that takes a second."""

    @pytest.mark.parametrize("kind", ["openai", "anthropic"])
    def test_most_of_the_ideal_saving_at_no_price_in_time(self, kind):
        work = {"kind": kind, "repeats": 8, "proofs": 160}
        best = cache_grid.ideal(**work)
        at_once = cache_grid.simulate(**work, in_flight=16, first=False)
        alone = cache_grid.simulate(**work, in_flight=16, first=True)
        assert at_once.cost_usd - alone.cost_usd >= 0.8 * (at_once.cost_usd - best.cost_usd) > 0
        assert alone.seconds <= 1.02 * at_once.seconds

    def test_an_ideal_order_reads_all_but_the_first_of_each_proof(self):
        best = cache_grid.ideal(kind="anthropic", repeats=4, proofs=3)
        assert best.cached_share == 3 / 4

    def test_virtual_time_says_when_nothing_can_happen_any_more(self):
        async def forever():
            await asyncio.get_running_loop().create_future()

        with pytest.raises(RuntimeError, match="nothing is on its way"):
            virtual_time.run(forever())

    def test_virtual_time_takes_none(self):
        async def two_days():
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(2 * 86_400)
            return asyncio.get_running_loop().time() - began

        assert virtual_time.run(two_days()) == pytest.approx(2 * 86_400)


def test_a_call_takes_as_long_in_whatever_order_calls_come():
    latencies = dealt(Latency.parse("lognormal:2,1.2"))
    deal = Dealer(latencies)
    bodies = [f"Let $f_{{{problem}}}$ be".encode() for problem in (7, 3, 7)]
    taken = [deal("policy", body) for body in bodies]
    assert taken == [latencies("policy", 7, 0), latencies("policy", 3, 0), latencies("policy", 7, 1)]
    assert len(set(taken)) == 3


def _post(url, body):
    request = urllib.request.Request(url, msgspec.json.encode(body), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return msgspec.json.decode(response.read())


def test_mock_replies_are_valid_in_both_protocols():
    with mock("--reply-bytes", "2000") as server:
        ask = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Write <step> elements."}]}
        chat = _post(f"{server.origin}/v1/chat/completions", ask)["choices"][0]
        assert chat["finish_reason"] == "stop"
        assert parse_steps(chat["message"]["content"])
        ask["messages"][0]["content"] = "Give <assessment>."
        message = _post(f"{server.origin}/v1/messages", ask)
        assert message["stop_reason"] == "end_turn"
        text = message["content"][0]["text"]
        parse_verdict(text, 2)
        assert 1900 < len(text) < 3000
        assert server.stats()["requests"] == 2


def test_mock_counts_what_is_in_flight():
    body = msgspec.json.encode({"model": "m", "messages": [{"role": "user", "content": "x"}]})
    with mock("--latency", "fixed:300") as server, ExitStack() as connections:
        for _ in range(4):
            asking = connections.enter_context(closing(HTTPConnection(server.origin.removeprefix("http://"))))
            asking.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        wait_for(lambda: server.stats()["max_in_flight"] >= 4)
        assert server.stats()["max_in_flight"] == 4


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("growth")
    return [write_run(folder / str(n), Work(n)) for n in (25, 50)]


class TestGrowth:
    """Offline work grows in line with the journal."""

    def test_deriving_records_and_scores(self, runs):
        def derive(path):
            sources = Sources(path)
            summary = write_derived(sources)
            sources.close()
            assert summary.complete

        small, large = runs
        assert not grows_too_fast(lambda: derive(small), lambda: derive(large))

    def test_opening(self, runs):
        small, large = runs
        assert not grows_too_fast(lambda: RunFolder(small).close(), lambda: RunFolder(large).close())


@pytest.mark.torture
@pytest.mark.parametrize("suite", ["startup", "throughput", "latency", "memory", "lag", "offline", "seal"])
def test_quick_mode_runs(suite):
    command = [sys.executable, "-m", "benchmarks", suite, "--quick", "--in-flight", "64"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"-- {suite} took" in done.stdout
