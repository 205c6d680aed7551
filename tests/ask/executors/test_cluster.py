"""`--executor ray` as its users run it, with Ray's part played in this process (tests/test_ray.py has the real one)."""

import asyncio
import json
import os
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from proverbench.ask.executors import cluster, foreman, joining, spread
from proverbench.ask.executors.worker import ShardWorker
from proverbench.endpoints.caller import EndpointCaller
from proverbench.rehearse import GeneratedReplies, Latency, Profile, Received
from proverbench.rehearse.plays import Play, failure
from proverbench.run.study import cells_of
from tests.studies import asked, assert_each_asked_once, on_disk, study_file
from tests.studies import derived as derived_study
from tests.support import problem_rows, proof_rows, until, write_config, write_rows

PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "3")
SLOW = Profile(latency=Latency("lognormal", 0.05, 0.5))


class StandIn(types.ModuleType):
    """As much of Ray as the driver uses; actors live in this process."""

    class exceptions:  # noqa: N801 - Ray's name
        class RayError(Exception):
            pass

        class RayActorError(RayError):
            pass

        class ActorUnavailableError(RayActorError):
            pass

    def __init__(self, *, cpus: int) -> None:
        super().__init__("ray")
        self.cpus = cpus
        self.actors: list[_Handle] = []
        self.most = 100
        """Actors that there is room for, dead ones counted."""
        self.never: set[int] = set()
        """Numbers of actors that the cluster refuses to make."""
        self.die_after: dict[int, int] = {}
        """Number of an actor → how many messages it lives for."""
        self.die_when: Callable[[ShardWorker], bool] = lambda worker: False
        self.unavailable_at: dict[int, int] = {}
        """Number of an actor → which of its messages finds the network down."""

        self.clusters: dict[str, set[str | None]] = {}
        """Address → tokens that the cluster there takes (None: nobody is asked); one of its own is always there."""
        self.host = "127.0.0.1"
        """Of the cluster's only machine."""
        self.joined: list[str] = []
        """Addresses, in order."""
        self.left: list[str] = []
        """Likewise."""

    def init(self, *, address, **options):
        assert "runtime_env" not in options
        assert address == "local" or address in self.clusters
        self.joined.append(address)

    def greeted(self, address, environ):
        if address not in self.clusters:
            return "unreachable"
        token = environ.get("RAY_AUTH_TOKEN") if environ["RAY_AUTH_MODE"] == "token" else None
        return "taken" if {None, token} & self.clusters[address] else "refused"

    def get_runtime_context(self):
        return types.SimpleNamespace(gcs_address=self.joined[-1])

    def nodes(self):
        return [{"Alive": True, "NodeManagerAddress": self.host, "Resources": {"CPU": float(self.cpus)}}]

    def remote(self, kind):
        ray = self

        class Kind:
            def options(self, **options):
                return self

            def remote(self):
                ray.actors.append(_Handle(ray, len(ray.actors), kind()))
                return ray.actors[-1]

        return Kind()

    def kill(self, handle):
        handle.die()

    def shutdown(self):
        self.left.append(self.joined[-1])


class _Handle:
    def __init__(self, ray: StandIn, number: int, worker: ShardWorker) -> None:
        self.ray = ray
        self.number = number
        self.worker = worker
        self.alive = True
        self.messages = 0
        self.living = asyncio.get_running_loop().create_task(self.live())

    async def live(self):
        """Until the loop ends; what the system does for a process that ends is done here then."""
        try:
            await asyncio.Event().wait()
        finally:
            for caller in self.worker._callers.values():
                await caller.aclose()

    def __getattr__(self, name):
        return types.SimpleNamespace(remote=lambda *arguments: self.call(name, *arguments))

    async def call(self, name, *arguments):
        await asyncio.sleep(0)
        if self.number in self.ray.never:
            raise self.ray.exceptions.RayError("the actor never ran")
        if self.number >= self.ray.most:
            await asyncio.Event().wait()  # the cluster has no room for it
        if name == "exchange":
            self.messages += 1
            if self.messages == self.ray.die_after.get(self.number) or self.ray.die_when(self.worker):
                self.die()
            if self.messages == self.ray.unavailable_at.get(self.number):
                raise self.ray.exceptions.ActorUnavailableError
        if not self.alive:
            raise self.ray.exceptions.RayActorError("died")
        return await getattr(self.worker, name)(*arguments)

    def die(self):
        self.alive = False
        if self.worker._fence is not None:
            self.worker._fence.cancel()
        for running in self.worker._running.values():
            running.give_up()


@pytest.fixture
def ray(monkeypatch):
    monkeypatch.setattr(foreman, "TICK_S", 0.02)
    stand_in = StandIn(cpus=2)
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    monkeypatch.setattr(joining, "greeted", stand_in.greeted)
    for name in ("RAY_ADDRESS", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    return stand_in


@pytest.fixture
def inputs(tmp_path, server):
    write_rows(tmp_path / "problems.jsonl", problem_rows(12))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(12))
    write_config(tmp_path / "config.toml", server.base_url, concurrency=8)
    server.profile = SLOW
    return tmp_path


def derived(folder: str) -> tuple[bytes, bytes]:
    return Path(folder, "records.jsonl").read_bytes(), Path(folder, "summary.json").read_bytes()


def answered(folder: str) -> list[tuple]:
    lines = map(json.loads, Path(folder, "calls.jsonl").read_bytes().splitlines())
    return [(line["role"], line["id"], line["sample"], line["repeat"]) for line in lines if line["type"] == "call"]


def worker_holds_the_last_call(worker: ShardWorker, server) -> bool:
    in_flight = [caller.state.in_flight for caller in worker._callers.values()]
    return server.stats()["requests"] > 60 and server.stats()["in_flight"].get("all") == 1 and in_flight == [1]


def assert_equals_one_process(command, server, folder: str, *arguments: str) -> None:
    assert not Path(folder, "shards").exists()
    server.profile = Profile()
    assert command(*arguments, "--output", "whole").code == 0
    assert derived(folder) == derived("whole")


class TestRuns:
    def test_equals_one_process_and_holds_the_limit(self, command, inputs, server, ray):
        async def together(received: Received) -> None:
            """The first replies come when there are as many calls in flight as may be."""
            await until(lambda: server.ledger.max_in_flight["all"] >= 8)

        server.script = together
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 0, ended.err
        assert len(ray.actors) == 2
        assert all(handle.messages for handle in ray.actors)
        assert server.stats()["max_in_flight"]["all"] == 8
        assert server.stats()["asks_answered_more_than_once"] == 0
        assert_equals_one_process(command, server, "r", *PROVER)

    def test_verifierbench_with_meta_grows_on_the_cluster(self, command, inputs, server, ray):
        asked = ("verify", "--data", "proofs.jsonl", "--config", "config.toml")
        assert command(*asked, "--verifier-repeats", "2", "--output", "r").code == 0
        ended = command("verify", "--resume", "r", "--verifier-repeats", "3", "--meta", "--executor", "ray")
        assert ended.code == 0, ended.err
        assert server.stats()["answered_by_role"] == {"verifier": 36, "meta": 36}
        assert_equals_one_process(command, server, "r", *asked, "--verifier-repeats", "3", "--meta")

    def test_given_proofs(self, command, inputs, server, ray):
        write_rows(
            inputs / "given.jsonl", [{"problem_id": f"p{i}", "sample": 0, "steps": [f"{i}.", "So."]} for i in range(12)]
        )
        asked = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--proofs", "given.jsonl")
        assert command(*asked, "--executor", "ray", "--output", "r").code == 0
        assert "policy" not in server.stats()["answered_by_role"]
        assert_equals_one_process(command, server, "r", *asked)

    def test_a_finished_run_needs_no_cluster(self, command, inputs, server, ray):
        command(*PROVER, "--output", "r")
        assert command("run", "--resume", "r", "--executor", "ray").code == 0
        assert ray.actors == []

    def test_a_limit_of_one_makes_one_worker(self, command, inputs, server, ray):
        write_config(inputs / "config.toml", server.base_url, concurrency=1)
        server.profile = Profile()
        assert command(*PROVER, "--executor", "ray", "--output", "r").code == 0
        assert server.stats()["max_in_flight"]["all"] == 1

    def test_requests_a_minute_are_of_all_workers_together(self, command, inputs, server, ray, monkeypatch):
        write_config(inputs / "config.toml", server.base_url, concurrency=8, more="requests_per_minute = 300\n")
        server.profile = Profile()
        parts: dict[int, int] = {}
        together: list[int] = []
        resize = EndpointCaller.resize

        def noted(caller: EndpointCaller, slots: int, requests: int | None = None, tokens: int | None = None) -> None:
            if requests is not None or slots == 0:
                parts[id(caller)] = requests or 0  # one without slots asks nothing
                together.append(sum(parts.values()))
            resize(caller, slots, requests, tokens)

        monkeypatch.setattr(EndpointCaller, "resize", noted)
        once = ("--limit", "8", "--samples", "1", "--verifier-repeats", "2")
        assert command(*PROVER, *once, "--executor", "ray", "--output", "r").code == 0
        assert len(server.log) == 24
        assert len(parts) == 2
        assert 0 < max(together) <= 300

    def test_tokens_a_minute_are_of_all_workers_together(self, command, inputs, server, ray, monkeypatch):
        """What the workers are told that they have adds up to the limit and never to more."""
        limit = 5_000_000
        write_config(inputs / "config.toml", server.base_url, concurrency=8, more=f"tokens_per_minute = {limit}\n")
        parts: dict[int, int] = {}
        sums: list[int] = []
        resize = EndpointCaller.resize

        def noted(
            caller: EndpointCaller, concurrency: int, requests: int | None = None, tokens: int | None = None
        ) -> None:
            if caller._tokens is not None:
                parts[id(caller)] = (tokens or 0) if concurrency else 0
                sums.append(sum(parts.values()))
            resize(caller, concurrency, requests, tokens)

        monkeypatch.setattr(EndpointCaller, "resize", noted)
        assert command(*PROVER, "--executor", "ray", "--output", "r").code == 0
        assert len(parts) == 2
        assert 0.9 * limit <= max(sums) <= limit


class TestStudies:
    """Several runs on one cluster: each call of a policy asked once, and everything else as in one process."""

    @pytest.fixture
    def study(self, inputs, server):
        server.replies = GeneratedReplies(vary="seed", invalid_rate=0.1)
        return study_file(server.base_url, rows=8)

    def assert_equals_one_process(self, command, server) -> None:
        assert_each_asked_once(Path("studies/study"))
        server.profile = Profile()
        assert command("study", "study.toml", "--output", "whole").code == 0
        assert derived_study(Path("studies/study")) == derived_study(Path("whole"))
        assert not [*Path("studies").rglob("shards")]

    def test_equals_one_process_and_holds_the_limit(self, command, study, server, ray):
        async def together(received: Received) -> None:
            await until(lambda: server.ledger.max_in_flight["all"] >= 5)

        server.script = together
        ended = command("study", study, "--executor", "ray")
        assert ended.code == 0, ended.err
        assert all(handle.messages for handle in ray.actors)
        assert server.stats()["max_in_flight"]["all"] == 5
        calls = asked(server)
        assert len(calls) == len(set(calls))
        assert set(calls) == on_disk(Path("studies/study"))
        self.assert_equals_one_process(command, server)

    def test_a_lost_worker(self, command, study, server, ray):
        ray.die_after = {0: 12}
        ended = command("study", study, "--executor", "ray")
        assert ended.code == 0, ended.err
        assert "is lost; its" in ended.err
        self.assert_equals_one_process(command, server)

    def test_a_judge_is_added_on_the_cluster(self, command, study, server, ray):
        assert command("study", study_file(server.base_url, rows=8, judges=("strict",))).code == 0
        server.reset()
        ended = command("study", study_file(server.base_url, rows=8), "--executor", "ray")
        assert ended.code == 0, ended.err
        assert {model for model, _, _ in asked(server)} == {"judge-mild"}
        self.assert_equals_one_process(command, server)

    def test_what_fails_does_not_stop_the_others(self, command, study, server, ray):
        good = frozenset({"policy-alpha", "policy-beta", "judge-strict"})
        server.profile = Profile(models=good)
        ended = command("study", study, "--executor", "ray")
        assert ended.code == 1
        assert "error: alpha--mild" in ended.err
        assert "go on with: proverbench study study.toml --executor ray" in ended.err
        complete = {
            cell.name
            for cell in cells_of(Path("studies/study"))
            if json.loads((cell.path / "summary.json").read_bytes())["complete"]
        }
        assert complete == {"alpha--strict", "beta--strict", "calibration/strict"}
        server.profile = Profile()
        before = on_disk(Path("studies/study"))
        server.reset()
        assert command("study", study, "--executor", "ray").code == 0
        assert not set(asked(server)) & before
        self.assert_equals_one_process(command, server)

    def test_one_that_is_complete_needs_no_cluster(self, command, study, server, ray):
        assert command("study", study).code == 0
        assert "nothing is left to ask" in command("study", study, "--executor", "ray").err
        assert ray.actors == []


class TestDisplay:
    def test_a_pause_that_a_server_asks_for(self, command, inputs, server, ray, monkeypatch):
        """What a worker reports is what the driver's progress line reads."""
        seen: list[float] = []
        tell = spread.ClusterPipeline._tell

        def look(pipeline: spread.ClusterPipeline) -> None:
            tell(pipeline)
            seen.append(pipeline._foreman.cluster.endpoints["policy"].state.paused_until - time.monotonic())

        monkeypatch.setattr(spread.ClusterPipeline, "_tell", look)
        answered = iter(range(10**6))
        server.script = lambda received: failure(429, retry_after="1.5") if next(answered) < 40 else None
        write_config(inputs / "config.toml", server.base_url, more="max_retries = 20\n")
        assert command(*PROVER, "--executor", "ray", "--output", "r").code == 0
        assert 0.3 < max(seen) <= 1.5


class TestJoining:
    HERE = "10.0.0.1:6379"
    KEY = "sk-rehearsal-4711-of-nobody"

    @pytest.fixture
    def with_key(self, inputs, server, monkeypatch):
        """A key that the driver has and its workers lack."""
        monkeypatch.setenv("LENT_KEY", self.KEY)
        write_config(inputs / "config.toml", server.base_url, more='api_key_env = "LENT_KEY"\n')
        greet = ShardWorker.greet

        async def lacking(worker, names):
            return replace(await greet(worker, names), missing=list(names))

        monkeypatch.setattr(ShardWorker, "greet", lacking)

    def test_without_an_address_none_is_searched_for(self, ray, command, inputs):
        ray.clusters = {"auto": {None}}
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 0, ended.err
        assert ray.joined == ray.left == ["local"]
        assert "a Ray cluster is started on this machine alone" in ended.err

    def test_the_token_of_our_own_cluster_is_this_users_and_ends_with_it(self, ray, command, inputs, monkeypatch):
        seen: list[tuple[Path, int, int, str, str]] = []

        def init(**given: object) -> None:
            ray.joined.append("local")
            token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
            modes = (path.stat().st_mode & 0o777 for path in (token, token.parent))
            seen.append((token, *modes, token.read_text(), os.environ["RAY_AUTH_MODE"]))

        monkeypatch.setattr(ray, "init", init)
        assert command(*PROVER, "--executor", "ray", "--output", "r").code == 0
        [(path, mode, folder_mode, token, auth)] = seen
        assert (mode, folder_mode, auth) == (0o600, 0o700, "token")
        assert len(token) == 64
        assert not path.parent.exists()

    def test_one_that_listens_on_the_network_is_not_used(self, ray, command, inputs):
        ray.host = "192.0.2.7"
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 2
        assert "Ray listens on 192.0.2.7 instead of this machine alone" in ended.err
        assert ray.left == ["local"]

    @pytest.mark.parametrize("by", ["RAY_ADDRESS", "--ray-address"])
    def test_the_one_that_is_named(self, ray, command, inputs, monkeypatch, by):
        ray.clusters = {self.HERE: {None}}
        monkeypatch.setenv("RAY_ADDRESS", self.HERE if by == "RAY_ADDRESS" else "10.0.0.2:6379")
        named = () if by == "RAY_ADDRESS" else (by, self.HERE)
        ended = command(*PROVER, "--executor", "ray", *named, "--output", "r")
        assert ended.code == 0, ended.err
        assert ray.joined == [self.HERE]
        assert f"joined the Ray cluster at {self.HERE}" in ended.err

    @pytest.mark.parametrize("address", ["auto", "ray://10.0.0.1:10001", "10.0.0.1", ":6379", "10.0.0.1:many"])
    def test_what_is_no_address(self, ray, command, inputs, address):
        ended = command(*PROVER, "--executor", "ray", "--ray-address", address, "--output", "r")
        assert ended.code == 2
        assert f"--ray-address {address}: the address of a Ray cluster is wanted, as HOST:PORT" in ended.err
        assert ray.joined == []

    def test_none_is_there(self, ray, command, inputs):
        ended = command(*PROVER, "--executor", "ray", "--ray-address", self.HERE, "--output", "r")
        assert ended.code == 2
        assert f"no Ray cluster answers at --ray-address {self.HERE}" in ended.err
        assert ray.joined == []

    @pytest.mark.parametrize("token", ["another", None])
    def test_one_that_refuses_us(self, ray, command, inputs, monkeypatch, token):
        ray.clusters = {self.HERE: {"theirs"}}
        if token is not None:
            monkeypatch.setenv("RAY_AUTH_TOKEN", token)
        ended = command(*PROVER, "--executor", "ray", "--ray-address", self.HERE, "--output", "r")
        assert ended.code == 2
        assert (
            f"the Ray cluster at --ray-address {self.HERE} refuses this machine's token: set RAY_AUTH_TOKEN"
            in ended.err
        )
        assert ray.joined == []

    def test_a_key_is_handed_to_a_cluster_that_asks_for_a_token(self, ray, command, with_key, server, monkeypatch):
        ray.clusters = {self.HERE: {"ours"}}
        monkeypatch.setenv("RAY_AUTH_TOKEN", "ours")
        ended = command(*PROVER, "--executor", "ray", "--ray-address", self.HERE, "--output", "r")
        assert ended.code == 0, ended.err

    def test_a_key_is_not_handed_to_one_that_asks_nobody(self, ray, command, with_key, server, monkeypatch):
        ray.clusters = {self.HERE: {None}}
        setups = []
        monkeypatch.setattr(ShardWorker, "open", lambda worker, setup: setups.append(setup))
        ended = command(*PROVER, "--executor", "ray", "--ray-address", self.HERE, "--output", "r")
        assert ended.code == 2
        assert "lacks LENT_KEY, and the Ray cluster asks nobody for a token" in ended.err
        assert "RAY_AUTH_MODE=token" in ended.err
        assert setups == []
        assert not Path("r").exists()

    def test_an_address_needs_the_executor(self, command, inputs):
        ended = command(*PROVER, "--ray-address", self.HERE, "--output", "r")
        assert ended.code == 2
        assert "--ray-address names a Ray cluster, so it needs --executor ray" in ended.err


class TestLosses:
    def test_a_dead_workers_shards_are_resumed(self, command, inputs, server, ray):
        ray.die_after = {0: 15}
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 0, ended.err
        assert "is lost" in ended.err
        assert len(ray.actors) == 3
        assert len(answered("r")) == len(set(answered("r")))
        assert server.stats()["max_in_flight"]["all"] <= 8
        assert_equals_one_process(command, server, "r", *PROVER)

    def test_one_that_was_done_already_resumes_them_when_no_other_can_start(self, command, inputs, server, ray):
        seen = iter(range(1000))
        server.script = lambda received: Play(delay_s=30) if next(seen) == 0 else None
        # Whoever holds that call dies when there is nothing else to do.
        ray.most = 2
        ray.die_when = lambda worker: (
            all(actor.alive for actor in ray.actors) and worker_holds_the_last_call(worker, server)
        )
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 0, ended.err
        assert "is lost" in ended.err
        assert_equals_one_process(command, server, "r", *PROVER)

    def test_a_message_that_is_lost_does_no_harm(self, command, inputs, server, ray):
        ray.unavailable_at = {0: 3, 1: 5}
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 0, ended.err
        assert len(ray.actors) == 2
        assert_equals_one_process(command, server, "r", *PROVER)

    def test_when_every_worker_dies_the_run_ends_and_can_be_resumed_anywhere(self, command, inputs, server, ray):
        ray.die_after = dict.fromkeys(range(100), 4)
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 1
        assert "workers in turn" in ended.err
        assert ended.err.rstrip().endswith("proverbench run --resume r")
        before = set(answered("r"))
        server.reset()
        assert command("run", "--resume", "r").code == 0
        after = answered("r")
        assert len(after) == len(set(after))
        assert server.stats()["requests"] == len(after) - len(before)
        assert_equals_one_process(command, server, "r", *PROVER)

    @pytest.mark.parametrize("last", [6, 7, 12, 20])
    def test_a_cluster_that_is_gone_ends_the_run(self, command, inputs, server, ray, monkeypatch, last):
        """Both workers die; of those in their place one is refused and nothing is heard of the other."""
        monkeypatch.setattr(foreman, "_DESERTED_S", 0.3)
        ray.die_after, ray.never, ray.most = {0: 6, 1: last}, {2}, 3
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 1
        assert "no worker is left on the Ray cluster" in ended.err
        assert ended.err.rstrip().endswith("proverbench run --resume r")
        assert not list(Path("r").glob("shards/*"))
        assert command("run", "--resume", "r").code == 0
        assert_equals_one_process(command, server, "r", *PROVER)


class TestStops:
    def test_a_fatal_fault_in_one_worker_stops_all(self, command, inputs, server, ray):
        answered = iter(range(1000))
        server.script = lambda received: failure(401) if next(answered) >= 30 else None
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 1
        assert "endpoint 'here'" in ended.err
        assert server.stats()["requests"] <= 30 + 2 * 8
        server.script = None
        assert command("run", "--resume", "r", "--executor", "ray").code == 0
        assert_equals_one_process(command, server, "r", *PROVER)

    def test_the_budget_is_of_all_workers_together(self, command, inputs, server, ray):
        prices = "prices = { input = 1000.0, output = 1000.0 }\n"
        write_config(inputs / "config.toml", server.base_url, concurrency=4, more=prices)
        ended = command(*PROVER, "--executor", "ray", "--output", "r", "--max-cost", "5")
        assert ended.code == 1
        assert "--max-cost 5 reached" in ended.err
        asked = server.stats()["requests"]
        assert asked < 96
        timing = json.loads(Path("r/timing.json").read_bytes())
        spent = sum(role["cost_usd"] for role in timing["roles"].values())
        assert spent >= 5
        again = command("run", "--resume", "r", "--executor", "ray")  # what was spent counts
        assert again.code == 1
        assert server.stats()["requests"] - asked <= 12


class TestBadInput:
    def test_without_ray_one_line_says_how_to_install_it(self, command, inputs, server, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 2
        assert ended.err.count("\n") == 1
        assert "pip install 'proverbench[ray]'" in ended.err
        assert not Path("r").exists()

    def test_a_key_that_is_set_nowhere(self, command, inputs, server, ray):
        write_config(inputs / "config.toml", server.base_url, more='api_key_env = "NO_SUCH_KEY_SET"\n')
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 2
        assert "NO_SUCH_KEY_SET" in ended.err
        assert not Path("r").exists()

    def test_another_version_on_the_workers(self, command, inputs, server, ray, monkeypatch):
        monkeypatch.setattr(cluster, "__version__", "0.0.1")
        ended = command(*PROVER, "--executor", "ray", "--output", "r")
        assert ended.code == 2
        assert "install the same everywhere" in ended.err

    def test_batches_need_no_cluster(self, command, inputs, server, ray):
        ended = command(*PROVER, "--executor", "ray", "--batch", "policy", "--output", "r")
        assert ended.code == 2
        assert "--batch" in ended.err
