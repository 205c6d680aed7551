"""`--executor ray` on a real Ray cluster of this machine, its workers killed, stopped and cut off."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from proverbench.ask.executors.joining import greeted
from proverbench.rehearse import GeneratedReplies, Latency, Profile, RehearseServer
from tests.studies import asked, assert_each_asked_once, derived, on_disk, study_file
from tests.support import (
    HUNG_S,
    Gate,
    is_gone,
    problem_rows,
    proof_rows,
    wait_for,
    wait_for_words,
    write_config,
    write_rows,
)

if os.environ.get("CI") != "true":
    pytest.importorskip("ray", reason="Ray is not installed")

PROVER = ("run", "--data", "problems.jsonl", "--config", "config.toml", "--samples", "2", "--verifier-repeats", "1")
ON_RAY = ("--executor", "ray")
KEY = "sk-rehearsal-4711-of-nobody"
STORE = "--object-store-memory=80000000"


class RayCluster:
    """Ray in processes of its own, one for each machine that is played."""

    def __init__(self, folder: Path, *, guarded: bool = True) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.folder = folder
        self.environ = {
            "RAY_ADDRESS": self.address,
            "RAY_AUTH_MODE": "disabled",
            "RAY_USAGE_STATS_ENABLED": "0",
            # It listens on the loopback address alone.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }
        if guarded:  # nobody but this test may give this cluster orders
            self.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, cpus: Sequence[int]) -> None:
        """Start a machine for each number, with so many CPUs."""
        host, port = self.address.split(":")
        head = ("--head", f"--node-ip-address={host}", f"--port={port}", f"--temp-dir={self.folder}")
        self._start(*head, "--include-dashboard=false", f"--num-cpus={cpus[0]}")
        for more in cpus[1:]:
            self._start(f"--address={self.address}", f"--num-cpus={more}")

    def _start(self, *arguments: str) -> None:
        log = self.folder / f"start-{len(self.processes)}.log"
        with log.open("wb") as file:
            command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", STORE, *arguments]
            environ = {**os.environ, **self.environ}
            del environ["RAY_ADDRESS"]
            environ.pop("RAY_TEST_KEY", None)
            self.processes.append(subprocess.Popen(command, env=environ, stdout=file, stderr=subprocess.STDOUT))
        wait_for(
            lambda: b"block forever" in log.read_bytes(), self.processes[-1], timeout_s=120, why=lambda: log.read_text()
        )

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(HUNG_S)


@contextmanager
def ray_cluster(*cpus: int, guarded: bool = True) -> Iterator[RayCluster]:
    # Not in pytest's folders: paths of Unix sockets are short.
    folder = Path(tempfile.mkdtemp(prefix="pb-ray-", dir="/tmp"))
    running = RayCluster(folder, guarded=guarded)
    try:
        running.start(cpus)
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """One machine with two CPUs, so two workers."""
    with ray_cluster(2) as running:
        yield running


@pytest.fixture
def inputs(tmp_path, server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_TEST_KEY", KEY)  # where the command runs in this process
    write_rows(tmp_path / "problems.jsonl", problem_rows(12))
    write_rows(tmp_path / "proofs.jsonl", proof_rows(12))
    write_config(tmp_path / "config.toml", server.base_url, concurrency=6, more='api_key_env = "RAY_TEST_KEY"\n')
    return tmp_path


@pytest.fixture
def server() -> Iterator[RehearseServer]:
    replies = GeneratedReplies(vary="seed", invalid_rate=0.1)
    with RehearseServer.in_thread(profile=Profile(latency=Latency("fixed", 0.3)), replies=replies) as running:
        yield running


def start(cluster: RayCluster | None, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a terminal gives it; the key is set for the driver alone."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return subprocess.Popen(
        [sys.executable, "-m", "proverbench", *arguments],
        env={**outside, **(cluster.environ if cluster else {}), "RAY_TEST_KEY": KEY, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str], timeout_s: float = HUNG_S) -> tuple[int, str]:
    try:
        _, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(process.communicate()) from None
    return process.returncode, err


def six_in_flight(server: RehearseServer, process: subprocess.Popen[str]) -> None:
    """Wait until fourteen calls are answered and saved, and the six after them are held by two workers."""

    def reached() -> bool:
        return server.stats()["requests"] == 20 and len(owners()) == 2 and len(saved()) == 14

    wait_for(reached, process, timeout_s=300, why=lambda: f"{server.stats()}, {len(saved())} saved")


def saved() -> set[tuple]:
    """Calls whose answers are on the disk, in the run or in a shard of it."""
    found = set()
    for path in Path("r").glob("**/calls.jsonl"):
        with suppress(FileNotFoundError):  # the run has just taken this shard back
            found |= set(calls_of(path.read_bytes().rpartition(b"\n")[0]))
    return found


def calls_of(journal: bytes) -> list[tuple]:
    lines = map(json.loads, journal.splitlines())
    return [(line["role"], line["id"], line["sample"], line["repeat"]) for line in lines if line["type"] == "call"]


def owners(of: str = "r") -> set[int]:
    """Processes that write shards of a run, or of a study's runs, at the moment."""
    found = set()
    for lock in Path(of).rglob("shards/*/.lock"):
        try:
            found.add(json.loads(lock.read_bytes())["pid"])
        except (ValueError, FileNotFoundError):
            continue
    return found


def answered() -> list[tuple]:
    return calls_of(Path("r/calls.jsonl").read_bytes())


def assert_equals_one_process(server: RehearseServer, command) -> None:
    assert not Path("r/shards").exists()
    assert len(answered()) == len(set(answered()))
    server.profile, server.script = Profile(), None
    whole = command(*PROVER, "--output", "whole")
    assert whole.code == 0, whole.err
    for name in ("records.jsonl", "summary.json"):
        assert Path("r", name).read_bytes() == Path("whole", name).read_bytes()


def assert_key_is_nowhere(cluster: RayCluster) -> None:
    for folder in (Path("r"), cluster.folder):
        for path in folder.rglob("*"):
            if path.is_file():
                assert KEY.encode() not in path.read_bytes(), path


def test_a_killed_workers_shards_are_resumed_by_others_and_nothing_is_paid_twice(cluster, inputs, server, command):
    server.script = gate = Gate(after=14, n=6)
    process = start(cluster, *PROVER, *ON_RAY, "--output", "r")
    six_in_flight(server, process)
    killed = min(owners())
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: is_gone(killed) and server.stats()["abandoned"], process)
    gate.open()  # so what is answered now is answered to the other
    code, err = end(process)
    assert code == 0, err
    assert "is lost" in err
    stats = server.stats()
    assert stats["asks_answered_more_than_once"] == 0
    assert stats["max_in_flight"]["all"] == 6
    assert 1 <= stats["abandoned"] <= 5
    assert_key_is_nowhere(cluster)
    assert_equals_one_process(server, command)


@pytest.mark.parametrize("killed", ["worker", "driver"])
def test_a_study_whose_worker_or_driver_is_killed_asks_nothing_twice(cluster, inputs, server, command, killed):
    server.profile = Profile(latency=Latency("lognormal", 0.05, 0.5))
    file = study_file(server.base_url, policies=("alpha", "beta"), rows=8)
    study = Path("studies/study")
    process = start(cluster, "study", str(file), *ON_RAY)
    wait_for(lambda: len(server.log) >= 60, process, timeout_s=300)
    if killed == "worker":
        os.kill(min(owners("studies")), signal.SIGKILL)
        code, err = end(process)
        assert code == 0, err
        assert "is lost; its" in err
    else:
        process.kill()
        end(process)
        code, err = end(start(cluster, "study", str(file), *ON_RAY), timeout_s=240)
        assert code == 0, err
    assert_each_asked_once(study)
    assert set(asked(server)) == on_disk(study)
    assert server.stats()["asks_answered_more_than_once"] <= 5, "what was in flight at the kill"
    assert not [*study.rglob("shards")]
    server.profile = Profile()
    assert command("study", file, "--output", "whole").code == 0
    assert derived(study) == derived(Path("whole"))


class TestTrust:
    """Nothing is trusted because it is there."""

    def test_a_cluster_of_our_own_is_this_runs_alone(self, cluster, inputs, server, command):
        """Another cluster runs on this machine and a decoy pretends to; neither is joined, and nobody joins ours."""
        with decoy() as foreign:
            server.script = gate = Gate(after=0, n=6)
            process = start(None, *PROVER, *ON_RAY, "--output", "r")
            wait_for(lambda: server.stats()["requests"] == 6, process, timeout_s=300)
            ports = listening(process.pid)
            assert ports, "Ray listens for its own processes"
            outside = own_address()
            assert reached("127.0.0.1", ports) == ports
            assert reached(outside, ports) == []
            heads = [p for p in psutil.Process(process.pid).children() if "gcs_server" in p.name()]
            address = f"127.0.0.1:{next(iter(ports_of(heads[0])))}"
            for mode in ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "ab" * 32}):
                assert greeted(address, {**os.environ, **mode}) == "refused"
            gate.open()
            code, err = end(process)
            assert code == 0, err
            assert "a Ray cluster is started on this machine alone" in err
            with pytest.raises(BlockingIOError):
                foreign.accept()
        assert_key_is_nowhere(cluster)
        assert_equals_one_process(server, command)

    def test_a_cluster_without_authentication_gets_no_key(self, inputs, server):
        with ray_cluster(1, guarded=False) as foreign:
            process = start(foreign, *PROVER, *ON_RAY, "--output", "r")
            code, err = end(process)
            assert code == 2, err
            assert "lacks RAY_TEST_KEY, and the Ray cluster asks nobody for a token" in err
            assert server.stats()["requests"] == 0
            assert_key_is_nowhere(foreign)

    def test_a_cluster_with_another_token_says_so(self, cluster, inputs, server):
        process = start(cluster, *PROVER, *ON_RAY, "--output", "r", RAY_AUTH_TOKEN="ab" * 32)
        code, err = end(process)
        assert code == 2
        assert f"the Ray cluster at RAY_ADDRESS {cluster.address} refuses this machine's token" in err


@contextmanager
def decoy() -> Iterator[socket.socket]:
    """A process that calls itself raylet, as Ray looks for them; yields what it would have us connect to."""
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        foreign.setblocking(False)
        address = f"127.0.0.1:{foreign.getsockname()[1]}"
        arguments = ["raylet", "-c", "import time; time.sleep(600)", f"--gcs-address={address}"]
        pretends = subprocess.Popen(arguments, executable=sys.executable)
        try:
            found = "from ray._private.services import find_gcs_addresses; print(find_gcs_addresses())"
            assert address in subprocess.run([sys.executable, "-c", found], capture_output=True, text=True).stdout
            yield foreign
        finally:
            pretends.kill()
            pretends.wait()


def listening(pid: int) -> list[int]:
    """Ports on which a process and its children listen."""
    driver = psutil.Process(pid)
    return sorted(set[int]().union(*map(ports_of, (driver, *driver.children(recursive=True)))))


def ports_of(process: psutil.Process) -> set[int]:
    with suppress(psutil.Error):
        return {c.laddr.port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN}
    return set()


def own_address() -> str:
    """This machine's own address on a network."""
    found = [a.address for addresses in psutil.net_if_addrs().values() for a in addresses if a.family == socket.AF_INET]
    outside = [address for address in found if not address.startswith("127.")]
    if not outside:
        pytest.skip("this machine has the loopback address alone")
    return outside[0]


def reached(host: str, ports: Sequence[int]) -> list[int]:
    """Those of the ports that answer."""
    found = []
    for port in ports:
        with suppress(OSError):
            socket.create_connection((host, port), timeout=5).close()
            found.append(port)
    return found


@pytest.mark.torture
def test_a_fault_of_the_endpoint_stops_all_workers_within_seconds(cluster, inputs, server, command):
    process = start(cluster, *PROVER, *ON_RAY, "--output", "r")
    wait_for(lambda: server.stats()["answered"] >= 14 and len(owners()) == 2, why=lambda: str(server.stats()))
    server.revoke()
    revoked = time.monotonic()
    code, err = end(process)
    assert code == 1
    assert "endpoint 'here'" in err
    assert KEY not in err
    assert time.monotonic() - revoked < 20
    before = len(answered())
    server.restore()
    server.reset()
    resumed = command("run", "--resume", "r")
    assert resumed.code == 0, resumed.err
    assert server.stats()["requests"] == len(answered()) - before
    assert_equals_one_process(server, command)


@pytest.mark.torture
class TestStops:
    """Ctrl-C once and twice, the driver killed, a machine killed; resumed on the cluster and without it."""

    def test_ctrl_c_once_saves_what_is_in_flight(self, cluster, inputs, server, command):
        server.script = gate = Gate(after=14, n=6)
        process = start(cluster, *PROVER, *ON_RAY, "--output", "r")
        six_in_flight(server, process)
        time.sleep(1)  # workers report a few times a second
        os.killpg(process.pid, signal.SIGINT)
        wait_for_words(process, "6 calls in flight are saved as they come")
        gate.open()
        code, err = end(process)
        assert code == 130
        assert len(answered()) == 20
        code, err = end(start(cluster, "run", "--resume", "r", *ON_RAY))
        assert code == 0, err
        assert server.stats()["asks_answered_more_than_once"] == 0
        assert_equals_one_process(server, command)

    def test_ctrl_c_twice_stops_at_once(self, cluster, inputs, server, command):
        server.script = gate = Gate(after=14, n=6)
        process = start(cluster, *PROVER, *ON_RAY, "--output", "r")
        six_in_flight(server, process)
        os.killpg(process.pid, signal.SIGINT)
        wait_for_words(process, "Ctrl-C again stops at once")
        os.killpg(process.pid, signal.SIGINT)
        assert end(process)[0] == 130
        gate.open()
        assert len(answered()) == 14
        resumed = command("run", "--resume", "r")
        assert resumed.code == 0, resumed.err
        assert server.stats()["asks_answered_more_than_once"] == 0
        assert_equals_one_process(server, command)

    @pytest.mark.parametrize("again", [(), ON_RAY], ids=["in-one-process", "on-ray"])
    def test_the_driver_is_killed(self, cluster, inputs, server, command, again):
        server.script = gate = Gate(after=14, n=6)
        process = start(cluster, *PROVER, *ON_RAY, "--output", "r")
        six_in_flight(server, process)
        process.kill()
        end(process)
        gate.open()
        code, err = end(start(cluster, "run", "--resume", "r", *again))
        assert code == 0, err
        assert server.stats()["asks_answered_more_than_once"] == 0
        assert_equals_one_process(server, command)

    def test_a_machine_is_lost(self, inputs, server, command):
        with ray_cluster(1, 1) as machines:
            server.script = gate = Gate(after=14, n=6)
            process = start(machines, *PROVER, *ON_RAY, "--output", "r")
            six_in_flight(server, process)
            machines.processes[1].kill()
            wait_for(lambda: server.stats()["abandoned"], process)
            gate.open()
            code, err = end(process, 300)
            assert code == 0, err
            assert server.stats()["asks_answered_more_than_once"] == 0
            assert_equals_one_process(server, command)

    def test_the_driver_is_silent_for_longer_than_workers_wait(self, cluster, inputs, server, command):
        """As under SIGSTOP: its workers end themselves, and when it is back others take their shards."""
        process = start(cluster, *PROVER, *ON_RAY, "--output", "r")
        wait_for(lambda: len(owners()) == 2 and server.stats()["answered"] >= 6, process, timeout_s=300)
        workers = owners()
        os.kill(process.pid, signal.SIGSTOP)
        wait_for(lambda: all(map(is_gone, workers)), timeout_s=300)
        os.kill(process.pid, signal.SIGCONT)
        code, err = end(process, 300)
        assert code == 0, err
        assert "is lost" in err
        stats = server.stats()
        assert stats["asks_answered_more_than_once"] == 0
        assert stats["max_in_flight"]["all"] <= 6
        assert_equals_one_process(server, command)
