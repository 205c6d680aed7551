"""Real runs, disturbed the hard way. After each: resume, and the run equals an undisturbed one; no answered call is
asked again."""

import io
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import jsonlines
import pandas as pd
import pytest

from proverbench.cli import main
from proverbench.endpoints.seeds import call_seed
from proverbench.records import CallKey, CallLine
from proverbench.rehearse import GeneratedReplies, Latency, ModelReply, Play, Profile, RehearseServer
from proverbench.run.calls import CallsReader
from proverbench.run.disk import CALLS, LOCK
from proverbench.run.reading import open_calls
from proverbench.run.session import Session
from proverbench.run.sources import Sources
from proverbench.run.texts import exact_text
from tests.support import (
    HUNG_S,
    Ended,
    Gate,
    problem_rows,
    proof_rows,
    wait_for,
    wait_for_words,
    write_calls,
    write_config,
    write_rows,
)

PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "3")
RUN = (*PROVER, "--output", "r")
BASE_SEED = 7  # of tests.support.write_config
SLOW = Profile(latency=Latency("lognormal", 0.02, 0.5))


@pytest.fixture
def server() -> Iterator[RehearseServer]:
    """Repeats differ, some replies are invalid, and every reply takes a while."""
    with RehearseServer.in_thread(profile=SLOW, replies=GeneratedReplies(vary="seed", invalid_rate=0.1)) as running:
        yield running


@pytest.fixture
def inputs(tmp_path, server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "problems.jsonl", problem_rows(8))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(8))
    write_config(tmp_path / "config.toml", server.base_url, concurrency=6)
    return tmp_path


def start(*arguments: str, limit_bytes: int | None = None) -> subprocess.Popen:
    """The installed command in a process of its own; ``limit_bytes`` is the most that any of its files may hold."""
    code = "from proverbench.__main__ import proverbench; proverbench()"
    if limit_bytes is not None:
        code = (
            "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes})); {code}"
        )
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process: subprocess.Popen, timeout_s: float = HUNG_S) -> Ended:
    out, err = process.communicate(timeout=timeout_s)
    return Ended(process.returncode, out, err)


def run(*arguments: str) -> Ended:
    """The command in this process, which is quicker; for what is not disturbed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments), prog_name="proverbench")
    return Ended(int(ended.value.code or 0), out.getvalue(), err.getvalue())


_undisturbed: dict[tuple[object, ...], tuple[bytes, bytes, set[CallKey]]] = {}


def undisturbed(server: RehearseServer, command: tuple[str, ...]) -> tuple[bytes, bytes, set[CallKey]]:
    """Records, summary and answered calls of a run of the same replies that nothing happened to."""
    case = (command, server.replies)
    if case not in _undisturbed:
        quiet, server.profile = server.profile, Profile()
        assert run(*command, "--output", "undisturbed").code == 0
        server.profile = quiet
        _undisturbed[case] = (*derived("undisturbed"), {call.key for call in saved("undisturbed")})
    return _undisturbed[case]


def saved(folder: str | Path = "r") -> list[CallLine]:
    with CallsReader(Path(folder, CALLS)) as reader:
        return [line for _, line in reader.lines() if isinstance(line, CallLine)]


def seeds(calls: list[CallLine]) -> set[int]:
    return {call_seed(BASE_SEED, call.key.text) for call in calls}


def asked(server: RehearseServer) -> list[int]:
    return [received.json["seed"] for received in server.log if received.ask is not None]


def derived(folder: str = "r") -> tuple[bytes, bytes]:
    return Path(folder, "records.jsonl").read_bytes(), Path(folder, "summary.json").read_bytes()


def says_complete(folder: str = "r") -> bool:
    try:
        return bool(json.loads(Path(folder, "summary.json").read_bytes())["complete"])
    except FileNotFoundError:
        return False


@contextmanager
def nothing_asked_again(server: RehearseServer) -> Iterator[None]:
    """Within the block, nothing is asked whose answer is on disk before it."""
    before = seeds(saved()) if Path("r", CALLS).exists() else set()
    server.reset()
    yield
    assert before & set(asked(server)) == set()


def finish_and_compare(server: RehearseServer, command: tuple[str, ...] = PROVER) -> None:
    """Resume to the end; the run equals an undisturbed one."""
    server.profile, server.script = Profile(), None
    with nothing_asked_again(server):
        ended = run(command[0], "--resume", "r")
    assert ended.code == 0, ended.err
    keys = [call.key for call in saved()]
    assert len(keys) == len(set(keys))
    assert (*derived("r"), set(keys)) == undisturbed(server, command)


def kill_at_random_moments(server: RehearseServer, rng: random.Random, kills: int) -> None:
    """Start or resume, and kill: sometimes while it starts, mostly between two answers."""
    for _ in range(kills):
        begun = Path("r", "manifest.json").exists()
        with nothing_asked_again(server):
            process = start("run", "--resume", "r") if begun else start(*RUN)
            if rng.random() < 0.25:
                time.sleep(rng.uniform(0.3, 1.0))
            else:
                n = rng.randrange(1, 12)
                wait_for(lambda process=process, n=n: len(server.log) >= n or process.poll() is not None)
                time.sleep(rng.uniform(0, 0.03))
            process.kill()
            end(process)
        assert not (says_complete() and len(saved()) < 16)
    if not Path("r", "manifest.json").exists():
        run(*RUN)


class TestKilled:
    """Rows 22 and 24."""

    def test_a_few_times(self, inputs, server):
        kill_at_random_moments(server, random.Random(1), kills=4)
        finish_and_compare(server)

    @pytest.mark.torture
    @pytest.mark.parametrize("seed", range(10))
    def test_a_hundred_times(self, inputs, server, seed):
        kill_at_random_moments(server, random.Random(f"torture {seed}"), kills=12)
        finish_and_compare(server)

    def test_resume_kill_resume_after_a_torn_line(self, inputs, server):
        assert run(*RUN).code == 0
        write_calls(Path("r"), Path("r", CALLS).read_bytes().splitlines())
        whole = Path("r", CALLS).read_bytes()
        calls = [i for i, line in enumerate(whole.split(b"\n")) if b'"type":"call"' in line]
        ends = [i for i in range(len(whole)) if whole[i : i + 1] == b"\n"]
        cut = (ends[calls[20] - 1] + 1 + ends[calls[20]]) // 2
        write_calls(Path("r"), whole[: ends[calls[20] - 1]].splitlines())
        with Path("r", CALLS).open("ab") as file:
            file.write(whole[ends[calls[20] - 1] + 1 : cut])
        kept = whole[: ends[calls[20] - 1] + 1]
        with nothing_asked_again(server):
            server.script = Gate(after=7)
            process = start("run", "--resume", "r")
            wait_for(lambda: len(server.log) >= 8, process)
            process.kill()
            end(process)
        assert Path("r", CALLS).read_bytes().startswith(kept)
        finish_and_compare(server)

    def test_a_finished_run_is_left_as_it_is(self, inputs, server):
        """Row 23."""
        assert run(*RUN).code == 0
        before = {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()}
        server.reset()
        assert run("run", "--resume", "r").code == 0
        assert asked(server) == []
        assert {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()} == before

    def test_killed_after_the_last_answer(self, inputs, server):
        """All is answered, but what is derived tells of a moment before: nothing is asked, and all is told."""
        assert run(*RUN).code == 0
        names = ("records.jsonl", "summary.json", "timing.json")
        lost = [subset for n in (1, 2, 3) for subset in itertools.combinations(names, n)]
        for subset, gone in itertools.product(lost, (True, False)):
            for name in subset:
                Path("r", name).unlink() if gone else Path("r", name).write_bytes(b"{}\n")
            with nothing_asked_again(server):
                assert run("run", "--resume", "r").code == 0
            assert derived("r") == undisturbed(server, PROVER)[:2]
            assert json.loads(Path("r", "timing.json").read_bytes())["roles"]["policy"]["calls"] == 16

    def test_killed_once_unanswered_calls_are_closed(self, inputs, server):
        assert run(*RUN, "--max-tokens-total", "8000").code == 1
        sources = Sources(Path("r"))
        lacking = list(open_calls(sources))
        sources.close()
        session = Session(Path("r"))
        session.close_unanswered(lacking)
        session.release()
        ended = run("run", "--resume", "r", "--final")
        assert ended.code == 0
        summary = json.loads(Path("r", "summary.json").read_bytes())
        assert (summary["complete"], summary["closed_unanswered"]) == (True, len(lacking))


class TestShards:
    """A run by hand on two machines, both killed now and then, and so is the merge."""

    def test_killed_and_merged(self, inputs, server):
        rng = random.Random(5)
        for number, folder in ((1, "part1"), (2, "part2")):
            command = (*PROVER, "--shard", f"{number}/2", "--output", folder)
            for _ in range(2):
                begun = Path(folder, "manifest.json").exists()
                before = seeds(saved(folder)) if begun else set()
                server.reset()
                process = start("run", "--resume", folder) if begun else start(*command)
                n = rng.randrange(2, 8)
                wait_for(lambda process=process, n=n: len(server.log) >= n or process.poll() is not None)
                process.kill()
                end(process)
                assert before & set(asked(server)) == set()
        server.profile = Profile()
        for folder in ("part1", "part2"):
            assert run("run", "--resume", folder).code == 0
        merge = ("merge", "part1", "part2", "--output", "r")
        for pause_s in (0.2, 0.4, 0.8):
            process = start(*merge)
            time.sleep(pause_s)
            process.kill()
            end(process)
            if Path("r").exists():
                break
        else:
            assert run(*merge).code == 0
        finish_and_compare(server)


class TestStopped:
    """Row 27: among 100 calls."""

    @pytest.fixture
    def hold(self, server) -> Gate:
        """From the thirteenth request on no reply comes until this is opened; six are in flight then."""
        server.script = gate = Gate(after=12)
        return gate

    def busy(self, server: RehearseServer) -> subprocess.Popen:
        process = start(*RUN)
        # Twelve were answered; the six that came after them are all that is in flight.
        wait_for(lambda: server.ledger.in_flight["all"] == 6 and len(server.log) >= 18, process)
        return process

    def test_ctrl_c_once_saves_what_is_in_flight(self, inputs, server, hold):
        process = self.busy(server)
        process.send_signal(signal.SIGINT)
        wait_for_words(process, "6 calls in flight are saved as they come")
        hold.open()
        ended = end(process)
        assert ended.code == 130
        assert ended.err.rstrip().endswith("proverbench run --resume r")
        assert not says_complete()
        assert seeds(saved()) == set(asked(server))
        stop = json.loads(Path("r", CALLS).read_bytes().splitlines()[-1])
        assert (stop["event"], stop["reason"]) == ("stop", "interrupted")
        finish_and_compare(server)

    def test_ctrl_c_again_and_again_stops_at_once(self, inputs, server, hold):
        process = self.busy(server)
        process.send_signal(signal.SIGINT)
        wait_for_words(process, "Ctrl-C again stops at once")
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        ended = end(process)
        assert not hold.is_open
        assert ended.code == 130
        assert "Traceback" not in ended.err
        assert not says_complete()
        lost = [line for line in Path("r", CALLS).read_text().splitlines() if '"cancelled"' in line]
        assert len(lost) == 6
        assert "cancelled: the run was stopped before its answer; the provider may bill it" in ended.err
        hold.open()
        finish_and_compare(server)

    def test_sigterm_stops_at_once(self, inputs, server, hold):
        process = self.busy(server)
        process.send_signal(signal.SIGTERM)
        ended = end(process)
        assert not hold.is_open
        assert ended.code == 143
        assert ended.err.rstrip().endswith("proverbench run --resume r")
        assert not says_complete()
        assert len(asked(server)) - len(saved()) == 6
        hold.open()
        finish_and_compare(server)


class TestTwoProcesses:
    """Row 28."""

    def test_one_wins_the_other_exits_clearly(self, inputs, server):
        server.script = gate = Gate()
        first = start(*RUN)
        wait_for(lambda: len(server.log) > 4, first)
        second = run("run", "--resume", "r")
        assert second.code == 1
        assert f"process {first.pid} on " in second.err
        assert "Traceback" not in second.err
        scored = run("score", "r")
        assert scored.code == 1
        assert str(first.pid) in scored.err
        gate.open()
        assert end(first).code == 0
        assert len(saved()) == len(set(asked(server)))
        finish_and_compare(server)

    def test_two_begin_in_one_folder(self, inputs, server):
        both = [start(*RUN), start(*RUN)]
        codes = sorted(end(process).code for process in both)
        assert codes[0] == 0
        assert codes[1] in (1, 2)
        finish_and_compare(server)

    def test_a_dead_owner(self, inputs, server):
        server.script = Gate(after=4)
        process = start(*RUN)
        wait_for(lambda: len(server.log) > 4, process)
        process.kill()
        end(process)
        assert Path("r", LOCK).exists()
        finish_and_compare(server)
        assert not Path("r", LOCK).exists()


class TestDisk:
    """Row 26."""

    def test_full(self, inputs, server):
        process = start(*RUN, limit_bytes=20_000)
        ended = end(process)
        assert ended.code == 1
        assert str(Path("r", CALLS)) in ended.err
        assert "File too large" in ended.err
        assert ended.err.rstrip().endswith("proverbench run --resume r")
        assert "Traceback" not in ended.err
        assert not says_complete()
        assert len(asked(server)) - len(saved()) <= 7  # what was in flight, and the answer that did not fit
        finish_and_compare(server)

    def test_full_again_while_the_results_are_written(self, inputs, server):
        assert run(*RUN).code == 0
        size = Path("r", CALLS).stat().st_size
        for name in ("records.jsonl", "summary.json", "timing.json"):
            Path("r", name).unlink()
        ended = end(start("score", "r", limit_bytes=size // 8))
        assert ended.code == 1
        assert "records.jsonl" in ended.err
        assert not list(Path("r").glob("*.tmp"))
        assert run("score", "r").code == 0
        finish_and_compare(server)

    @pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can mount a small disk")
    def test_full_small_disk(self, inputs, server):
        Path("disk").mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "disk"], check=False).returncode:
            pytest.skip("cannot mount here")
        try:
            ended = run(*PROVER, "--output", "disk/r")
            assert ended.code == 1
            assert "No space left" in ended.err
            assert "disk/r/calls.jsonl" in ended.err
            shutil.copytree("disk/r", "r")
        finally:
            subprocess.run(["umount", "disk"], check=True)
        assert not says_complete()
        finish_and_compare(server)

    @pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can remount a disk")
    def test_turned_read_only(self, inputs, server):
        Path("disk").mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", "disk"], check=False).returncode:
            pytest.skip("cannot mount here")
        try:
            server.script = Gate(after=20)
            process = start(*PROVER, "--output", "disk/r")
            wait_for(lambda: len(server.log) > 20, process)
            process.send_signal(signal.SIGKILL)
            end(process)
            subprocess.run(["mount", "-o", "remount,ro", "disk"], check=True)
            server.reset()
            for command in (("run", "--resume", "disk/r"), ("score", "disk/r")):
                ended = run(*command)
                assert ended.code == 1
                assert "disk/r" in ended.err
                assert "Read-only" in ended.err
                assert "Traceback" not in ended.err
            assert asked(server) == []
            looked = run("inspect", "disk/r")  # looking is always possible
            assert looked.code == 0, looked.err
            subprocess.run(["mount", "-o", "remount,rw", "disk"], check=True)
            shutil.copytree("disk/r", "r")
        finally:
            subprocess.run(["umount", "disk"], check=True)
        finish_and_compare(server)

    def test_folder_without_permission(self, inputs, server):
        """What is open stays open, so answers are still saved; only the results cannot be replaced."""
        server.script = gate = Gate(after=12)
        process = start(*RUN)
        wait_for(lambda: len(server.log) > 12, process)
        Path("r").chmod(0o555)
        gate.open()
        ended = end(process)
        Path("r").chmod(0o755)
        if os.getuid() == 0:
            assert ended.code == 0  # nothing is forbidden to root
        else:
            assert ended.code == 1
            assert "r/records.jsonl" in ended.err
            assert not says_complete()
        finish_and_compare(server)


class TestFailingCalls:
    """Row 29."""

    def test_a_third_fails_then_the_server_heals(self, inputs, server):
        write_config(inputs / "config.toml", server.base_url, concurrency=6, more="max_retries = 0\n")
        server.profile = Profile(faults={"500": 0.15, "reset": 0.15})
        ended = run(*RUN)
        assert ended.code == 1
        found = json.loads(Path("r", "summary.json").read_bytes())
        assert found["complete"] is False
        assert found["splits"]["all"]["metrics"] is None
        calls = saved()
        assert calls
        assert any(b'"attempt"' in line for line in Path("r", CALLS).read_bytes().splitlines())
        finish_and_compare(server)
        after = {call.key: call for call in saved()}
        assert all(after[call.key] == call for call in calls)


HOSTILE = "<step>lone \ud800, NUL \x00, \ufffe, \u2028 and \x85.</step>"


class TestHostileText:
    """Rows 25 and 30, end to end."""

    @pytest.fixture
    def run_folder(self, inputs, server) -> Path:
        replies = GeneratedReplies(vary="seed")

        def play(received):
            role = received.json["model"].removeprefix("m-")
            if role == "policy":
                return Play(reply=ModelReply(content=HOSTILE, reasoning="\udfff", fingerprint="\ud800"))
            if role == "verifier":
                text = (
                    "<assessment>ERROR: timeout \ud800 \x00</assessment><errors>\ufffe</errors>"
                    "<first_error_step>-1</first_error_step>"
                )
                usage = {"prompt_tokens": 10**40, "completion_tokens": 3, "\ud800": {"\udfff": "\ud800"}}
                return Play(reply=ModelReply(content=text, usage=usage))
            return None

        server.replies = replies
        server.script = play
        ended = run(*RUN)
        assert ended.code == 0, ended.err
        return inputs / "r"

    def test_the_run_goes_on_and_is_scored(self, run_folder):
        assert json.loads((run_folder / "summary.json").read_bytes())["splits"]["all"]["metrics"]["pessimistic"] == 1.0

    def test_nothing_is_lost(self, run_folder):
        assert {exact_text(call) for call in saved() if call.role == "policy"} == {HOSTILE}

    def test_every_file_is_read_by_pandas_and_jsonlines(self, run_folder):
        for name in ("inputs.jsonl", "calls.jsonl", "records.jsonl"):
            frame = pd.read_json(run_folder / name, lines=True, dtype=False)
            with jsonlines.open(run_folder / name) as lines:
                rows = list(lines)
            assert len(frame) == len(rows) > 0
        for name in ("manifest.json", "summary.json", "timing.json"):
            json.loads((run_folder / name).read_bytes())
            assert len(pd.read_json(run_folder / name, typ="series")) > 0

    def test_what_the_judge_was_sent(self, run_folder, server):
        prompts = [r.json["messages"][0]["content"] for r in server.log if r.json["model"] == "m-verifier"]
        assert all("lone \ufffd, NUL \x00, \ufffe, \u2028 and \x85." in prompt for prompt in prompts)

    def test_resumed_and_scored_again(self, run_folder, server):
        before = derived()
        server.reset()
        assert run("run", "--resume", "r").code == 0
        assert run("score", "r").code == 0
        assert asked(server) == []
        assert derived() == before


class TestGrown:
    """Issue 4: a finished run grows by paying only for what is new."""

    def test_samples_and_repeats_under_kills(self, inputs, server):
        first = ("run", "--data", "problems.jsonl", "--config", "config.toml")
        assert run(*first, "--samples", "1", "--verifier-repeats", "2", "--output", "r").code == 0
        paid = len(saved())
        with nothing_asked_again(server):
            server.script = Gate(after=10)
            process = start("run", "--resume", "r", "--samples", "2", "--verifier-repeats", "3")
            wait_for(lambda: len(server.log) > 10, process)
            process.kill()
            end(process)
        finish_and_compare(server)
        assert len(saved()) > paid

    def test_what_is_asked_when_a_run_grows_is_what_is_new(self, inputs, server):
        server.profile, server.replies = Profile(), GeneratedReplies(vary="seed")
        first = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "1")
        assert run(*first, "--verifier-repeats", "4", "--output", "r").code == 0
        server.reset()
        assert run("run", "--resume", "r", "--samples", "2", "--verifier-repeats", "8").code == 0
        assert len(asked(server)) == 8 + 8 * 4 + 8 * 8  # new proofs; old proofs' new judgments; new proofs' judgments
        keys = {call.key for call in saved()}
        assert CallKey("verifier", "p0", 1, 7) in keys
