"""``--batch`` end to end, against a server that speaks both batch protocols: every fault of a batch, every crash."""

import asyncio
import errno
import json
import os
import re
import signal
import socket
import string
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proverbench.ask import batching
from proverbench.ask.batching import custom_id
from proverbench.ask.reserve import Reserve
from proverbench.endpoints.batch import Limits
from proverbench.endpoints.batch_anthropic import AnthropicBatches
from proverbench.endpoints.batch_openai import OpenAIBatches
from proverbench.records import AttemptLine, BatchLine, CallLine
from proverbench.rehearse import BatchProfile, GeneratedReplies, ModelReply, Play, Profile, Received, RehearseServer
from proverbench.rehearse.plays import failure
from proverbench.run import journal
from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS
from proverbench.run.study import cells_of
from proverbench.spending.prices import Prices
from tests.studies import assert_each_asked_once, study_file
from tests.studies import derived as derived_study
from tests.support import HUNG_S, problem_rows, proof_rows, wait_for, write_config, write_rows

PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "3")
VERIFIER = ("verify", "--data", "proofs.jsonl", "--config", "config.toml", "--verifier-repeats", "2", "--meta")
N_CALLS = 12 + 36
KINDS = ("openai", "responses", "anthropic")
BATCH_PATHS = ("/v1/batches", "/v1/messages/batches")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Looks follow each other quickly."""
    monkeypatch.setattr(batching, "FIRST_LOOK_S", 0.02)
    monkeypatch.setattr(batching, "SETTLE_S", 0.02)
    monkeypatch.setattr("proverbench.endpoints.retry.BASE_WAIT_S", 0.02)


def configure(kind: str, server: RehearseServer | SimpleNamespace, *, more: str = "") -> None:
    if kind == "anthropic":
        roles = "".join(
            f'[{role}]\nendpoint = "here"\nmodel = "m-{role}"\ngeneration = {{ max_tokens = 500 }}\n'
            for role in ("policy", "verifier", "meta")
        )
        Path("config.toml").write_text(
            f'[endpoint.here]\nkind = "anthropic"\nbase_url = "{server.origin}"\n{more}\n{roles}'
        )
    else:
        api = 'api = "responses"\n' if kind == "responses" else ""
        write_config(Path("config.toml"), server.base_url, more=f"{api}{more}")


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return str(request.param)


@pytest.fixture
def inputs(tmp_path, server, kind, monkeypatch):
    """Data files and a config of one of the kinds, in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "problems.jsonl", problem_rows(6))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(6))
    configure(kind, server)
    return tmp_path


@pytest.fixture
def server():
    replies = GeneratedReplies(vary="seed", invalid_rate=0.2)
    with RehearseServer.in_thread(replies=replies) as running:
        yield running


only = pytest.mark.parametrize
"""For tests of one kind: ``@only("kind", ["openai"])``."""


def lines(folder: str = "r") -> list:
    with CallsReader(Path(folder, CALLS)) as reader:
        return [line for _, line in reader.lines()]


def events(folder: str = "r") -> list[str]:
    return [line.event for line in lines(folder) if isinstance(line, BatchLine)]


def calls(folder: str = "r") -> list[CallLine]:
    return [line for line in lines(folder) if isinstance(line, CallLine)]


def derived(folder: str = "r") -> tuple[bytes, bytes]:
    return Path(folder, "records.jsonl").read_bytes(), Path(folder, "summary.json").read_bytes()


def direct_asks(server: RehearseServer) -> list:
    return [received for received in server.log if received.ask is not None]


def check_journal(server: RehearseServer, folder: str = "r") -> None:
    """Each batch is submitted once and its intent comes first; each call is answered once."""
    stages: dict[str, list[str]] = {}
    remotes = []
    for line in lines(folder):
        if isinstance(line, BatchLine):
            stages.setdefault(line.batch, []).append(line.event)
            if line.event == "intent":
                assert line.keys
                assert line.remote is None
            if line.event == "submitted":
                remotes.append(line.remote)
        elif isinstance(line, CallLine) and line.batch is not None:
            assert stages[line.batch] == ["intent", "submitted"]
    for told in stages.values():
        assert told[0] == "intent"
        assert len(told) == len(set(told)) <= 3
    assert len(remotes) == len(set(remotes)) == server.batches.submitted
    keys = [call.key for call in calls(folder)]
    assert len(keys) == len(set(keys))


def finish_and_compare(command, server, task=PROVER, *, resume: tuple[str, ...] = ()) -> None:
    """Resume to the end; the run equals a direct one."""
    ended = command(task[0], "--resume", "r", *resume)
    assert ended.code == 0, ended.err
    compare(command, server, task)


def compare(command, server, task=PROVER) -> None:
    check_journal(server)
    assert command(*task, "--output", "direct").code == 0
    assert derived("r") == derived("direct")


class TestEqualToADirectRun:
    @pytest.mark.parametrize("task", [PROVER, VERIFIER], ids=["prover", "verifier"])
    def test_all_roles(self, command, inputs, server, task):
        ended = command(*task, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert direct_asks(server) == []
        assert server.batches.submitted == 2
        assert events() == ["intent", "submitted", "collected"] * 2
        assert all(call.batch for call in calls())
        assert sum(server.ledger.answers.values()) == len(calls())
        compare(command, server, task)

    @only("kind", ["openai"])
    def test_some_roles(self, command, inputs, server):
        assert command(*PROVER, "--output", "r", "--batch", "verifier").code == 0
        assert {received.ask.role for received in direct_asks(server)} == {"policy"}
        assert {call.role for call in calls() if call.batch} == {"verifier"}
        compare(command, server)

    @only("kind", ["openai"])
    def test_batches_within_the_limits(self, command, inputs, server, monkeypatch):
        monkeypatch.setattr(OpenAIBatches, "limits", Limits(10, 4_500))
        assert command(*PROVER, "--output", "r", "--batch").code == 0
        sizes = [len(line.keys) for line in lines() if isinstance(line, BatchLine) and line.event == "intent"]
        files = [content for name, content in server.batches._files.values() if name.startswith("pb-")]
        assert len(files) == len(sizes) > 6
        assert max(sizes) <= 10
        assert all(len(content) <= 4_500 or content.count(b"\n") == 1 for content in files)
        assert any(len(content) + 2_000 > 4_500 for content in files)
        compare(command, server)

    @only("kind", ["openai"])
    def test_everything_that_tells_money_tells_the_batch_price(self, command, inputs, server):
        configure("openai", server, more="prices = { input = 1.0, output = 10.0, batch = 0.5 }")
        assert command(*PROVER, "--output", "direct").code == 0
        assert command(*PROVER, "--output", "r", "--batch").code == 0
        told = {}
        for run in ("direct", "r"):
            found = json.loads(command("analyse", run, "--json").out)["runs"][run]
            assert found["cost_unit"] == "USD"
            told[run] = found["voting"][-1]["cost"]
            roles = json.loads(Path(run, "timing.json").read_bytes())["roles"]
            assert told[run] == pytest.approx(sum(role["cost_usd"] for role in roles.values()), rel=1e-6)
        assert told["r"] == pytest.approx(told["direct"] / 2)


@only("kind", ["openai"])
class TestStudies:
    """Judges in batches; the policies directly, for each proof is written once."""

    @pytest.fixture
    def study(self, inputs, server):
        server.replies = GeneratedReplies(vary="seed", invalid_rate=0.2)
        return study_file(server.base_url, policies=("alpha", "beta"), rows=4)

    def test_judges_in_batches_equal_judges_asked_directly(self, command, study, server):
        ended = command("study", study, "--batch")
        assert ended.code == 0, ended.err
        assert {received.json["model"] for received in direct_asks(server)} == {"policy-alpha", "policy-beta"}
        assert_each_asked_once(Path("studies/study"))
        for cell in cells_of(Path("studies/study")):
            batched = {call.role for call in calls(str(cell.path)) if call.batch is not None}
            assert batched == {"verifier"}
        assert command("study", study, "--output", "direct").code == 0
        assert derived_study(Path("studies/study")) == derived_study(Path("direct"))

    def test_batches_that_are_left_are_collected_by_the_same_command(self, command, study, server, stopped_clock):
        server.profile = Profile(batch=BatchProfile(duration_s=10.0))
        process = subprocess.Popen(
            [sys.executable, "-m", "proverbench", "study", str(study), "--batch", "verifier"],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: server.batches.submitted == 6, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HUNG_S)
        assert process.returncode == 130, err
        assert "verifier calls are in batches, which go on at the provider" in err
        stopped_clock[0] += 100
        ended = command("study", study)
        assert ended.code == 0, ended.err
        assert server.batches.submitted == 6
        assert not [received for received in direct_asks(server) if received.json["model"].startswith("judge")]

    def test_policies_in_batches_are_refused_with_what_to_do(self, command, study, server):
        ended = command("study", study, "--batch", "policy,verifier")
        assert ended.code == 2
        assert "proverbench run --batch policy" in ended.err
        assert command("study", study, "--batch", "--executor", "ray").code == 2
        assert not server.log


class TestCap:
    """What batches on their way may cost is set aside, so that a cap is not overstepped by them."""

    PRICED = "prices = { input = 1.0, output = 1000.0, batch = 0.5 }"

    @staticmethod
    def spent(folder: str = "r") -> float:
        roles = json.loads(Path(folder, "timing.json").read_bytes())["roles"]
        return float(sum(role["cost_usd"] for role in roles.values()))

    def test_a_batch_is_no_larger_than_the_cap_allows(self, command, inputs, server, kind):
        configure(kind, server, more=self.PRICED)
        whole = ("--samples", "2", "--verifier-repeats", "8", "--batch")
        assert command(*PROVER, *whole, "--output", "whole").code == 0
        cap = round(self.spent("whole") / 2, 4)
        ended = command(*PROVER, *whole, "--output", "r", "--max-cost", str(cap))
        assert ended.code == 1
        assert "--max-cost" in ended.err.splitlines()[-1]
        assert "calls wait until it is known what the batches before them cost" in ended.err
        assert 0.6 * cap < self.spent() <= cap
        submitted = server.batches.submitted
        assert command("run", "--resume", "r").code == 1
        assert server.batches.submitted == submitted
        assert command("run", "--resume", "r", "--max-cost", "1000").code == 0
        assert len({(call.role, call.id, call.sample, call.repeat) for call in calls()}) == len(calls())

    def test_batches_of_an_earlier_session_count(self):
        reserve = Reserve(1.0, spent_usd=lambda: 0.0, full=lambda needed: None)
        reserve.join("verifier", Prices(output=1000.0, batch=0.5), 1000)
        assert reserve.take("verifier", 0, batch=True, always=True) == 0.5
        assert reserve.take("verifier", 0, batch=True, always=True) == 0.5
        assert reserve.take("verifier", 0, batch=True) is None
        reserve.settle(0.5)
        assert reserve.take("verifier", 0, batch=True) == 0.5


def test_the_largest_batches_are_those_that_the_page_says():
    page = " ".join(Path(__file__).parents[2].joinpath("docs/batch.md").read_text().split())
    sizes = OpenAIBatches.limits, AnthropicBatches.limits
    assert sizes == (Limits(50_000, 199_000_000), Limits(100_000, 64_000_000))
    said = [f"{limits.requests:,} calls and {limits.bytes // 1_000_000} MB" for limits in sizes]
    assert f"{said[0]} (OpenAI), or {said[1]} (Anthropic" in page


class TestFaults:
    """Row 44."""

    def test_shuffled_missing_errored_twice(self, command, inputs, server):
        server.profile = Profile(batch=BatchProfile(missing=0.2, errored=0.2, duplicate=0.2))
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert "batch_missing" in ended.err
        assert "http_500" in ended.err
        assert server.batches.submitted > 2
        assert Counter(call.attempts for call in calls()).keys() >= {1, 2}
        server.profile = Profile()
        compare(command, server)

    def test_expires_at_60_percent(self, command, inputs, server):
        server.profile = Profile(batch=BatchProfile(expire_at=0.6, expire_times=2))
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert events().count("expired") == 2
        assert server.batches.submitted == 4
        compare(command, server)

    def test_given_up_after_the_retries_and_asked_by_a_resume(self, command, inputs, server, kind):
        configure(kind, server, more="max_retries = 0\n")
        server.profile = Profile(batch=BatchProfile(errored=0.25))
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        lost = [line for line in lines() if isinstance(line, AttemptLine)]
        assert lost
        assert {line.error for line in lost} == {"http_500"}
        assert json.loads(Path("r/summary.json").read_bytes())["splits"]["all"]["metrics"] is None
        server.profile = Profile()
        finish_and_compare(command, server)

    @only("kind", ["openai", "anthropic"])
    def test_what_was_submitted_is_on_the_disk_itself_before_it_leaves(self, command, inputs, server, monkeypatch):
        """A power cut would take what is not synced: only syncs that are waited for count here."""
        monkeypatch.setattr(journal, "SYNC_INTERVAL_S", 3600.0)
        synced = submitted = 0
        faults: list[str] = []
        sync, calls_file = os.fsync, Path("r", CALLS).absolute()

        def fsync(fd: int) -> None:
            nonlocal synced
            size = os.fstat(fd).st_size
            sync(fd)
            if calls_file.exists() and os.path.samestat(os.fstat(fd), calls_file.stat()):
                synced = max(synced, size)

        def look(received: Received) -> None:
            nonlocal submitted
            safe = calls_file.read_bytes()[:synced]
            if received.method == "POST" and received.path in BATCH_PATHS:
                submitted += 1
                if safe.count(b'"event":"intent"') < submitted:
                    faults.append(f"batch {submitted} left before its intent was on the disk")
            elif received.method == "GET" and received.path.startswith(BATCH_PATHS):
                looked_at.add(received.path.removesuffix("/results"))
                if safe.count(b'"event":"submitted"') < len(looked_at):
                    faults.append(f"{received.path} was looked at before its number was on the disk")

        looked_at: set[str] = set()
        monkeypatch.setattr(os, "fsync", fsync)
        server.profile = Profile(batch=BatchProfile(duration_s=0.1))
        server.script = look
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert faults == []
        assert submitted >= 2
        assert looked_at

    def test_the_news_of_a_submission_is_lost(self, command, inputs, server):
        lost = []

        def play(received):
            if received.method == "POST" and received.path in BATCH_PATHS and len(lost) < 2:
                lost.append(received)
                return Play(ending="reset")
            return None

        server.script = play
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert len(lost) == 2
        assert server.batches.submitted == 2
        compare(command, server)

    @pytest.mark.parametrize(
        "late",
        [{"unknown_looks": 3}, {"late_results": 3}, {"short_results": 3}, {"late_results": 2, "short_results": 2}],
        ids=["not-known-yet", "no-results-yet", "results-end-early", "both"],
    )
    def test_what_comes_late_is_looked_for_and_not_paid_again(self, command, inputs, server, late):
        server.profile = Profile(batch=BatchProfile(**late))
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert server.batches.submitted == 2
        assert server.stats()["answered"] == len(calls())
        assert {call.attempts for call in calls()} == {1}
        compare(command, server)

    def test_a_list_that_lags_behind_a_lost_submission_is_searched_for_longer(self, command, inputs, server):
        server.profile = Profile(batch=BatchProfile(unlisted=5))
        lost = []

        def play(received):
            if received.method == "POST" and received.path in BATCH_PATHS and not lost:
                lost.append(received)
                return Play(ending="reset")
            return None

        server.script = play
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert "whether a batch has arrived is not certain; looking for it" in ended.err
        assert server.batches.submitted == 2
        assert server.stats()["answered"] == len(calls())
        compare(command, server)

    @only("kind", ["openai", "responses"])
    @pytest.mark.parametrize("fault", [failure(500), Play(ending="reset"), Play(body="<html>Bad gateway</html>")])
    def test_after_a_failed_upload_no_batch_is_searched_for(self, command, inputs, server, fault):
        met = []

        def play(received):
            if received.path == "/v1/files" and len(met) < 2:
                met.append(received)
                return fault
            return None

        server.script = play
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert len(met) == 2
        assert not [received for received in server.log if (received.method, received.path) == ("GET", "/v1/batches")]
        compare(command, server)

    def test_errors_while_submitting_looking_and_collecting(self, command, inputs, server):
        met: Counter[str] = Counter()
        server.profile = Profile(batch=BatchProfile(duration_s=0.1))

        def play(received):
            what = f"{received.method} {re.sub('(batch|file)[-_][^/]*', 'ID', received.path)}"
            met[what] += 1
            if received.ask is not None or met[what] > 3:
                return None
            return [failure(500), Play(status=429, body={}), Play(body="<html>Bad gateway</html>")][met[what] - 1]

        server.script = play
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert len(met) >= 4
        server.script = None
        compare(command, server)

    def test_results_cut_in_the_middle(self, command, inputs, server):
        cut = []

        def play(received):
            if received.path.endswith(("/content", "/results")) and len(cut) < 2:
                cut.append(received.path)
                return Play(ending="cut")
            return None

        server.script = play
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert len(cut) == 2
        compare(command, server)

    @only("kind", ["openai"])
    @pytest.mark.parametrize("when", ["it is made", "it is written"])
    def test_no_room_for_what_is_to_be_sent(self, command, inputs, server, monkeypatch, when):
        room, scratch = [True], tempfile.TemporaryFile

        def until_full(**options: object) -> object:
            if room:
                room.pop()
                return scratch(**options)
            if when == "it is written":
                return open("/dev/full", "w+b")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(batching.tempfile, "TemporaryFile", until_full)
            ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        assert "r: No space left on device" in ended.err
        assert "--resume r" in ended.err
        assert lines()[-1].event == "stop"
        assert json.loads(Path("r", "summary.json").read_bytes())["complete"] is False
        finish_and_compare(command, server)

    @only("kind", ["openai"])
    def test_a_lone_surrogate_in_a_result(self, command, inputs, server):
        server.replies = lambda ask, before: ModelReply(content="<step>\ud800 \u2028 x</step>")
        command(*PROVER, "--output", "r", "--batch", "policy")
        policy = [call for call in calls() if call.role == "policy"]
        assert len(policy) == 12
        assert {call.text for call in policy} == {"<step>\ufffd \u2028 x</step>"}
        assert all(call.text_b64 for call in policy)

    def test_nothing_answers_at_the_address(self, command, inputs, server, kind):
        """As without --batch, this ends at once; nothing is said to go on at a provider that was never reached."""
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            origin = f"http://127.0.0.1:{unused.getsockname()[1]}"
            configure(kind, SimpleNamespace(origin=origin, base_url=f"{origin}/v1"))
            ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        assert "no connection to http://127.0.0.1" in ended.err
        assert "check base_url" in ended.err
        assert "at the provider" not in ended.err
        assert events() == ["intent", "failed"]
        configure(kind, server)
        finish_and_compare(command, server, resume=("--config", "config.toml"))


class TestCrashes:
    """Killed with -9 at any moment: the same batch is picked up again, none is submitted twice."""

    AT: ClassVar = {
        "intent-not-sent": ("_send", "before", 1),
        "sent-not-journaled": ("_send", "after", 1),
        "submitted": ("_submitted", "after", 1),
        "while-saving": ("_is_answered", "before", 20),
        "saved-not-collected": ("_settle", "before", 1),
    }

    def run_and_die(self, where: str, *arguments: str) -> None:
        name, when, count = self.AT[where]
        code = f"""
import inspect, os, sys
from proverbench.ask import batching
batching.FIRST_LOOK_S = 0.02
count = 0
inner = batching.Batches.{name}
def die():
    global count
    count += 1
    if count == {count}:
        os.kill(os.getpid(), 9)
def plain(*arguments, **options):
    die()
    return inner(*arguments, **options)
async def slow(*arguments, **options):
    if {when == "before"}:
        die()
    result = await inner(*arguments, **options)
    if {when == "after"}:
        die()
    return result
batching.Batches.{name} = slow if inspect.iscoroutinefunction(inner) else plain
from proverbench.cli import main
main(sys.argv[1:], prog_name="proverbench")
"""
        command = [sys.executable, "-c", code, *arguments]
        died = subprocess.run(command, capture_output=True, timeout=HUNG_S, check=False)
        assert died.returncode == -signal.SIGKILL, died.stderr

    @pytest.mark.parametrize(
        ("kind", "where"),
        [
            *(("openai", where) for where in AT),
            ("anthropic", "sent-not-journaled"),
            *(
                pytest.param("anthropic", where, marks=pytest.mark.torture)  # the SDK takes seconds to load
                for where in AT
                if where != "sent-not-journaled"
            ),
        ],
    )
    def test_resumed(self, command, inputs, server, where):
        server.profile = Profile(batch=BatchProfile(duration_s=0.2))
        self.run_and_die(where, *PROVER, "--output", "r", "--batch")
        before = server.batches.submitted
        assert before == (0 if where == "intent-not-sent" else 1)
        finish_and_compare(command, server)
        assert server.batches.submitted == 2

    @only("kind", ["openai"])
    def test_resumed_directly(self, command, inputs, server):
        """What is in a batch is not asked in another way."""
        server.profile = Profile(batch=BatchProfile(duration_s=0.2))
        self.run_and_die("sent-not-journaled", *PROVER, "--output", "r", "--batch")
        ended = command("run", "--resume", "r", "--batch", "none")
        assert ended.code == 0, ended.err
        assert {received.ask.role for received in direct_asks(server)} == {"verifier"}
        assert server.batches.submitted == 1
        server.profile = Profile()
        compare(command, server)

    @only("kind", ["anthropic"])
    def test_another_runs_batch_is_not_taken_for_ours(self, command, inputs, server, stopped_clock):
        """As many requests, in the same account, at the same time: only their names tell them apart."""
        self.run_and_die("intent-not-sent", *PROVER, "--output", "r", "--batch")
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "<level>"}]}
        requests = [{"custom_id": f"policy-{i}", "params": body} for i in range(12)]
        other = server.batches.create_anthropic({"requests": requests}, BatchProfile(duration_s=100))
        lists = []

        def play(received):
            if received.method == "GET" and received.path == BATCH_PATHS[1]:
                lists.append(received)
                stopped_clock[0] = 200.0 if len(lists) == 4 else 0.0

        server.script = play
        ended = command("run", "--resume", "r")
        assert ended.code == 0, ended.err
        assert f"a submission was interrupted; whether it arrived will be known when {other['id']}" in ended.err
        assert len(lists) >= 4
        assert server.batches.submitted == 3
        assert other["id"] not in {line.remote for line in lines() if isinstance(line, BatchLine)}
        assert len(calls()) == len({call.key for call in calls()})


@pytest.fixture
def stopped_clock(server):
    """The batch stage's clock stands still until a test moves it."""
    time = [0.0]
    server.batches._clock = lambda: time[0]
    return time


def interrupt_at_look(server: RehearseServer, number: int) -> None:
    """Ctrl-C at the ``number``-th look at a batch."""
    looks = []

    def play(received):
        if received.method == "GET" and "batch_" in received.path:
            looks.append(received)
            if len(looks) == number:
                os.kill(os.getpid(), signal.SIGINT)

    server.script = play


class TestStopped:
    @pytest.fixture
    def left_open(self, command, inputs, server, stopped_clock):
        """A run whose policy batch goes on at the provider."""
        server.profile = Profile(batch=BatchProfile(duration_s=100))
        interrupt_at_look(server, 2)
        ended = command(*PROVER, "--output", "r", "--batch")
        server.script = None
        assert ended.code == 130
        assert "go on at the provider" in ended.err
        assert "proverbench run --resume r --cancel-batches" in ended.err
        assert ended.err.rstrip().endswith("proverbench run --resume r")
        assert events() == ["intent", "submitted"]
        return stopped_clock

    def test_ctrl_c_leaves_the_batch_and_a_resume_collects_it(self, command, server, left_open):
        left_open[0] = 100
        server.profile = Profile()
        finish_and_compare(command, server)
        assert server.batches.submitted == 2

    def test_cancelled_what_was_done_is_kept(self, command, server, left_open):
        left_open[0] = 50
        ended = command("run", "--resume", "r", "--cancel-batches")
        assert ended.code == 1
        assert len(calls()) == 6
        assert [line.error for line in lines() if isinstance(line, AttemptLine)] == ["batch_cancelled"] * 6
        assert events() == ["intent", "submitted", "cancelled"]
        assert server.batches.submitted == 1
        again = command("run", "--resume", "r", "--cancel-batches")
        assert again.code == 1
        assert "no batch of this run is open" in again.err
        server.profile = Profile()
        finish_and_compare(command, server, resume=("--batch", "none"))
        assert server.batches.submitted == 1

    def test_all_are_cancelled_at_once(self, command, inputs, server, stopped_clock, monkeypatch):
        """Each works on, and costs, until it is told."""
        monkeypatch.setattr(OpenAIBatches, "limits", Limits(4, 10**6))
        monkeypatch.setattr(AnthropicBatches, "limits", Limits(4, 10**6))
        server.profile = Profile(batch=BatchProfile(duration_s=100))
        interrupt_at_look(server, 4)
        assert command(*PROVER, "--output", "r", "--batch").code == 130
        assert events().count("submitted") == 3
        told: set[str] = set()
        waited, all_told = [], asyncio.Event()

        async def play(received):
            if received.path.endswith("/cancel"):
                told.add(received.path)
                if len(told) == 3:
                    all_told.set()
                with suppress(TimeoutError):
                    await asyncio.wait_for(all_told.wait(), 120)
                waited.append(len(told))

        server.script = play
        command("run", "--resume", "r", "--cancel-batches")
        assert waited == [3, 3, 3]
        assert events().count("cancelled") == 3

    def test_cancelled_by_somebody_else(self, command, server, left_open):
        """Before the resume, its calls are asked again; while it is waited for, they are not."""
        remote = next(line.remote for line in lines() if isinstance(line, BatchLine) and line.remote)
        server.batches.cancel(remote)
        looks = []

        def play(received):
            if received.method == "GET" and "batch_" in received.path and remote not in received.path:
                looks.append(received)
                if len(looks) == 1:
                    server.batches.cancel(received.path.rpartition("/")[2])

        server.script = play
        ended = command("run", "--resume", "r")
        assert ended.code == 1
        assert server.batches.submitted == 2
        assert events() == ["intent", "submitted", "cancelled"] * 2
        server.script, server.profile = None, Profile()
        finish_and_compare(command, server)

    @only("kind", ["openai", "anthropic"])
    def test_a_batch_that_the_provider_forgot(self, command, server, left_open):
        """What the tool itself says leads to no second submission: the batch may be another account's, and go on."""
        known = dict(server.batches._batches)
        server.batches._batches.clear()
        ended = command("run", "--resume", "r")
        assert ended.code == 1
        assert "Was it submitted to another server or account?" in ended.err
        assert "--accept-loss" not in ended.err
        assert "Traceback" not in ended.err
        cancelled = command("run", "--resume", "r", "--cancel-batches")
        assert cancelled.code == 1
        assert "Was it submitted to another server or account?" in cancelled.err
        assert command("run", "--resume", "r").code == 1
        assert server.batches.submitted == 1
        assert events() == ["intent", "submitted"]
        server.batches._batches |= known  # with the right key
        server.profile, left_open[0] = Profile(), 100
        finish_and_compare(command, server)
        assert server.batches.submitted == 2

    @only("kind", ["openai", "anthropic"])
    def test_a_batch_that_is_lost_is_given_up_on_demand(self, command, server, left_open):
        server.batches._batches.clear()
        given_up = command("run", "--resume", "r", "--cancel-batches", "--accept-loss")
        assert "given up; its calls may be paid twice" in given_up.err
        server.profile = Profile()
        ended = command("run", "--resume", "r")
        assert ended.code == 0, ended.err
        command(*PROVER, "--output", "direct")
        assert derived() == derived("direct")

    @only("kind", ["openai"])
    def test_final_with_an_open_batch(self, command, server, left_open):
        assert command("run", "--resume", "r", "--final").code == 0
        left_open[0] = 100
        server.profile = Profile()
        finish_and_compare(command, server)
        assert server.batches.submitted == 2

    @only("kind", ["openai"])
    @pytest.mark.parametrize("closed", [(), ("--final",)], ids=["open", "closed-by-final"])
    def test_shards_are_not_merged_while_a_batch_is_open(self, command, inputs, server, stopped_clock, closed):
        """Otherwise shard and whole would both collect it, and both ask again what it lacks."""
        assert command(*PROVER, "--shard", "1/2", "--output", "part1").code == 0
        server.profile = Profile(batch=BatchProfile(duration_s=100))
        interrupt_at_look(server, 2)
        assert command(*PROVER, "--shard", "2/2", "--output", "part2", "--batch").code == 130
        server.script = None
        remote = next(line.remote for line in lines("part2") if isinstance(line, BatchLine) and line.remote)
        if closed:
            assert command("run", "--resume", "part2", *closed).code == 0
        ended = command("merge", "part1", "part2", "--output", "r")
        assert ended.code == 2
        assert not Path("r").exists()
        size = len(next(line.keys for line in lines("part2") if isinstance(line, BatchLine)))
        assert (
            f"part2: policy batch {remote} ({size} calls) is not collected; collect it with: "
            "proverbench run --resume part2, or stop it with --cancel-batches added"
        ) in ended.err
        assert "part1" not in ended.err
        stopped_clock[0] = 50
        assert command("run", "--resume", "part2", "--cancel-batches").code == 1
        assert command("merge", "part1", "part2", "--output", "r").code == 1
        server.profile = Profile()
        assert command("run", "--resume", "r", "--batch", "none").code == 0
        assert command(*PROVER, "--output", "direct").code == 0
        assert derived("r") == derived("direct")

    @only("kind", ["openai"])
    def test_growing_directly_beside_an_open_batch(self, command, server, left_open):
        """New samples are asked at once, what the batch holds is waited for."""
        interrupt_at_look(server, 3)
        grown = command("run", "--resume", "r", "--samples", "3", "--batch", "none")
        assert grown.code == 130
        assert {call.key.sample for call in calls() if call.role == "policy"} == {2}
        left_open[0] = 100
        server.script, server.profile = None, Profile()
        ended = command("run", "--resume", "r")
        assert ended.code == 0, ended.err
        check_journal(server)
        assert server.batches.submitted == 1
        command(*PROVER, "--samples", "3", "--output", "direct")
        assert derived() == derived("direct")

    @only("kind", ["openai"])
    def test_a_budget_waits_for_what_is_paid(self, command, inputs, server):
        ended = command(*PROVER, "--output", "r", "--batch", "--max-tokens-total", "100")
        assert ended.code == 1
        assert len(calls()) == 12
        assert server.batches.submitted == 1
        finish_and_compare(command, server, resume=("--max-tokens-total", "1000000000"))


class TestGrowth:
    @only("kind", ["openai", "anthropic"])
    def test_a_run_grows_by_batches_of_what_is_new(self, command, inputs, server):
        small = (*PROVER[:-4], "--samples", "1", "--verifier-repeats", "2")
        assert command(*small, "--output", "r", "--batch").code == 0
        asked = {call.key for call in calls()}
        ended = command("run", "--resume", "r", "--samples", "2", "--verifier-repeats", "3")
        assert ended.code == 0, ended.err
        assert direct_asks(server) == []
        new = [key for line in lines()[-200:] if isinstance(line, BatchLine) for key in line.keys]
        assert len(new) == len(set(new)) == len(calls())
        assert asked < {call.key for call in calls()}
        compare(command, server)

    @only("kind", ["openai"])
    def test_a_finished_run_is_left_as_it_is(self, command, inputs, server):
        assert command(*PROVER, "--output", "r", "--batch").code == 0
        before = {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()}
        asked = len(server.log)
        assert command("run", "--resume", "r").code == 0
        assert len(server.log) == asked
        assert {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()} == before


class TestRefused:
    @only("kind", ["openai"])
    @pytest.mark.parametrize(
        ("option", "named"),
        [("policy,judge", "policy, verifier"), ("meta", "policy, verifier"), (",", "name some of them")],
    )
    def test_roles_that_are_none(self, command, inputs, server, option, named):
        ended = command(*PROVER, "--output", "r", "--batch", option)
        assert ended.code == 2
        assert named in ended.err
        assert not Path("r").exists()
        assert server.log == []

    @only("kind", ["openai"])
    @pytest.mark.parametrize("roles", ["all", "verifier"])
    def test_kinds_without_batches(self, command, inputs, server, roles):
        text = Path("config.toml").read_text()
        embedded = '[verifier]\nkind = "embedded"\nmodel = "smollm2-135m-instruct"\ngeneration = { max_tokens = 50 }\n'
        Path("config.toml").write_text(re.sub(r"\[verifier\][^\[]*", embedded, text))
        ended = command(*PROVER, "--output", "r", "--batch", roles)
        assert ended.code == 2
        assert "kind 'embedded' have no batches" in ended.err
        assert not Path("r").exists()

    @only("kind", ["openai"])
    @pytest.mark.parametrize("options", [("--cancel-batches",), ("--resume", "r", "--cancel-batches", "--final")])
    def test_options_that_do_not_go_together(self, command, inputs, options):
        assert command("run", *options).code == 2

    def test_a_server_without_batches(self, command, inputs, server):
        server.script = lambda received: failure(404, "Not Found") if received.ask is None else None
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        assert "--batch none" in ended.err
        assert "Traceback" not in ended.err
        assert events() == ["intent", "failed"]
        finish_and_compare(command, server, resume=("--batch", "none"))

    @only("kind", ["openai", "anthropic"])
    def test_a_batch_that_is_refused(self, command, inputs, server):
        server.profile = Profile(batch=BatchProfile(reject="no such luck"))
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        assert "no such luck" in ended.err
        assert events()[-1] == "failed"
        server.profile = Profile()
        ended = command("run", "--resume", "r")
        assert ended.code == 0, ended.err

    @only("kind", ["openai"])
    def test_a_full_queue_is_waited_for_and_batches_made_smaller(self, command, inputs, server):
        def play(received):
            if received.method == "POST" and received.path == "/v1/batches":
                size = server.batches._files[received.json["input_file_id"]][1].count(b"\n")
                why = "Enqueued token limit reached" if size > 8 else None
                server.profile = Profile(batch=BatchProfile(reject=why))

        server.script = play
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 0, ended.err
        assert "was not taken yet" in ended.err
        sizes = [len(line.keys) for line in lines() if isinstance(line, BatchLine) and line.event == "intent"]
        assert sizes[:3] == [12, 6, 6]
        compare(command, server)

    @only("kind", ["openai", "anthropic"])
    def test_every_item_refused_is_a_fault_of_the_run(self, command, inputs, server, monkeypatch):
        def refuse(ask):
            raise ValueError("Unsupported parameter: 'temperature' is not supported.")

        monkeypatch.setattr(server.batches, "_answer", refuse)
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        assert "does not accept 'temperature'" in ended.err
        assert server.batches.submitted == 1
        assert events() == ["intent", "submitted", "collected"]


class TestSecrets:
    @only("kind", ["openai", "anthropic"])
    def test_a_wrong_key_ends_the_run_and_is_not_shown(self, command, inputs, server, kind, monkeypatch):
        configure(kind, server, more='api_key_env = "MY_KEY"\n')
        monkeypatch.setenv("MY_KEY", "sk-abcdefghijklmnop")
        server.revoke()
        ended = command(*PROVER, "--output", "r", "--batch")
        assert ended.code == 1
        assert "MY_KEY" in ended.err or "api_key_env" in ended.err
        for text in (ended.err, ended.out, *(path.read_text() for path in Path("r").rglob("*.json*"))):
            assert "abcdefgh" not in text

    @only("kind", ["openai", "anthropic"])
    def test_a_batch_goes_to_the_account_that_the_config_names(self, command, inputs, server, kind, monkeypatch):
        more = 'api_key_env = "MY_KEY"\nextra_headers_env = { X-Team = "MY_TEAM" }\n'
        configure(kind, server, more=more)
        for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "of-the-environment")
        monkeypatch.setenv("MY_KEY", "of-the-config")
        monkeypatch.setenv("MY_TEAM", "us")
        assert command(*PROVER, "--output", "r", "--batch").code == 0
        assert server.log
        for received in server.log:
            assert received.key == "of-the-config"
            assert received.headers["X-Team"] == "us"
            assert "of-the-environment" not in received.headers.values()


@given(st.text(alphabet=st.characters(codec=None), max_size=300), st.integers(0, 99), st.integers(0, 99))
def test_custom_ids_are_what_both_providers_take(name, sample, repeat):
    key = f"verifier/{name}/{sample}/{repeat}"
    found = custom_id("pb-1", key)
    assert 1 <= len(found) <= 64
    assert set(found) <= set(string.ascii_letters + string.digits + "_-")
    assert found == custom_id("pb-1", key)
    assert found != custom_id("pb-2", key)
    assert found != custom_id("pb-1", f"{key}0")
