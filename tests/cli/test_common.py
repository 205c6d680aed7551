"""What every command shares: streams that break, text that comes from anywhere, signals, faults of the system."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from proverbench.ask.progress import StageCount
from proverbench.cli.common import HandlesErrors
from proverbench.cli.progress import Display, TimeLeft
from proverbench.cli.tables import PlainConsole, show, table
from proverbench.endpoints.base import EndpointState
from proverbench.errors import ConfigError
from proverbench.records import Extent, Identity, Manifest
from proverbench.rehearse import GeneratedReplies, ModelReply, Profile
from proverbench.spending.budget import Spent
from tests.support import HUNG_S, ROOT, Gate, is_gone, problem_rows, run_process, wait_for, write_config, write_rows

HOSTILE = "m[/red]x [bold]y[/bold] :smile: \x1b[31mz\x07\r"
SHOWN = r"m[/red]x [bold]y[/bold] :smile: \u001b[31mz\u0007\u000d"


@pytest.fixture
def inputs(tmp_path, server) -> Path:
    write_rows(tmp_path / "problems.jsonl", problem_rows(4))
    write_config(tmp_path / "config.toml", server.base_url)
    return tmp_path


RUN = "run --data problems.jsonl --config config.toml --verifier-repeats 2 --output r"


def shell(line: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which ``$P`` is the command; ends as its first command ends."""
    env = {**os.environ, "P": f"{sys.executable} -m proverbench", "PYTHONPATH": str(ROOT), **more}
    line = f"{line}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(["bash", "-c", line], cwd=cwd, env=env, capture_output=True, text=True, timeout=HUNG_S)


def complete(folder: Path) -> bool:
    return json.loads((folder / "summary.json").read_bytes())["complete"]


class TestRunWithBrokenStreams:
    @pytest.mark.parametrize(
        "streams",
        [
            pytest.param("| true", id="nobody-reads-stdout"),
            pytest.param("2>&1 >/dev/null | true", id="nobody-reads-stderr"),
            pytest.param("2>&1 | head -1", id="the-reader-leaves"),
            pytest.param(">&-", id="no-stdout"),
            pytest.param("2>&-", id="no-stderr"),
            pytest.param("<&- >&- 2>&-", id="no-stream"),
            pytest.param("2>/dev/full", id="stderr-full"),
        ],
    )
    def test_the_exit_code_is_that_of_the_work(self, inputs, server, streams):
        ended = shell(f"$P {RUN} {streams}", inputs)
        assert ended.returncode == 0, ended
        assert "Traceback" not in ended.stderr + ended.stdout
        assert complete(inputs / "r")
        assert server.stats()["requests"] == 12

    def test_also_where_every_call_fails(self, inputs, server):
        server.profile = Profile(faults={"400": 1.0})
        ended = shell(f"$P {RUN} | true", inputs)
        assert ended.returncode == 1
        assert "incomplete; go on with" in ended.stderr
        assert server.stats()["requests"] == 4

    def test_nothing_but_the_journal_is_in_the_journal(self, inputs, server):
        assert shell(f"$P {RUN} <&- >&- 2>&-", inputs).returncode == 0
        for file in ("calls.jsonl", "inputs.jsonl", "records.jsonl"):
            assert [json.loads(line) for line in (inputs / "r" / file).read_text().splitlines()]

    def test_a_full_disk_behind_stdout_is_said_and_loses_nothing(self, inputs, server):
        ended = shell(f"$P {RUN} >/dev/full", inputs)
        assert ended.returncode == 1
        assert "error: cannot print the scores: No space left on device; they are saved in r\n" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert complete(inputs / "r")

    def test_paths_and_progress_go_to_stderr(self, inputs, server):
        ended = run_process(*RUN.split(), cwd=inputs)
        assert "run folder: r\n" in ended.err
        assert "run folder" not in ended.out


class TestPrintingWithBrokenStreams:
    """Of commands that only print."""

    COMMANDS = (
        "inspect p1",
        "inspect p1 --json",
        "score p1",
        "score p1 --json",
        "analyse p1",
        "compare p1 p2",
        "data show problems.jsonl",
    )

    @pytest.mark.parametrize("arguments", COMMANDS)
    def test_a_reader_who_left_is_no_fault(self, saved, arguments):
        ended = shell(f"$P {arguments} | true", saved)
        assert (ended.returncode, ended.stderr) == (0, "")

    @pytest.mark.parametrize("arguments", COMMANDS)
    def test_a_full_disk_is(self, saved, arguments):
        ended = shell(f"$P {arguments} >/dev/full", saved)
        assert ended.returncode == 1
        assert ended.stderr.startswith("error: cannot ")
        assert "No space left on device" in ended.stderr
        assert ended.stderr.count("\n") == 1

    def test_an_incomplete_run_is_incomplete_whoever_reads(self, saved):
        assert shell("$P score open | true", saved).returncode == 1


class TestForeignText:
    def test_of_a_server_and_a_data_file(self, command, inputs, server):
        rows = problem_rows(4)
        for row in rows:
            row["domain"] = "[/red]\x1b[0m" if row["domain"] == "ugd" else "[bold]"
        write_rows(inputs / "problems.jsonl", rows)
        generated = GeneratedReplies(vary="seed")
        server.replies = lambda ask, before: ModelReply(
            **{**vars(generated(ask, before)), "model": HOSTILE + str(before)}
        )
        output = "o[/b]\x1b[1m"
        ended = command(*RUN.split()[:-1], output)
        assert ended.code == 0, ended.err
        score = command("score", output)
        inspect = command("inspect", output)
        for out in (ended.out, score.out):
            assert SHOWN in " ".join(out.split())
            assert r"[/red]\u001b[0m" in out
            assert "[bold]" in out
            assert r"saved in o[/b]\u001b[1m" in out
        for text in (ended.out, ended.err, score.out, score.err, inspect.out, inspect.err):
            assert "\x1b" not in text

    def test_everything_that_a_table_holds(self):
        out = PlainConsole(file=io.StringIO(), width=200)
        made = table(HOSTILE, "a", HOSTILE)
        made.add_row(HOSTILE, HOSTILE)
        show(out, made)
        out.print(HOSTILE)
        assert out.file.getvalue().count(SHOWN) == 5
        assert "\x1b" not in out.file.getvalue()

    def test_a_note_on_progress(self, capsys):
        Display({}, {}, None, lambda: False).say(HOSTILE)
        assert SHOWN in capsys.readouterr().err

    def test_progress_in_words(self):
        stages = {"policy": StageCount(8, 4), "verifier": StageCount(64, 3)}
        state = EndpointState(awaiting=Counter(policy=1, verifier=2), backing_off=5)
        caller = SimpleNamespace(state=state)
        spent = Spent(Manifest(identity=Identity(task="prover"), extent=Extent(rows=8)))
        stopping = []
        display = Display(stages, {"policy": caller, "verifier": caller}, spent, lambda: bool(stopping))
        assert display.line() == "policy 4/8, verifier 3/64, 3 in flight, 0 tokens, time left unknown"
        state.paused_until = time.monotonic() + 3000
        assert re.search("3 in flight, waiting [0-9]{4} s as the server asks, 0 tokens", display.line())
        stopping.append(True)
        assert display.line().endswith("3 in flight, 0 tokens, asking nothing new")

    def test_time_left_is_said_as_far_as_it_can_be_known(self):
        clock = SimpleNamespace(now=0.0)
        left = TimeLeft(lambda: clock.now)
        assert left.words(0, 100, 10) == "time left unknown"
        clock.now = 20.0
        assert left.words(10, 90, 10) == "about 3 min 00 s left"
        clock.now = 30.0
        assert left.words(10, 90, 10) == "about 2 min 50 s left"
        clock.now = 260.0  # much longer than the pace said
        assert left.words(10, 90, 10) == "no answer for 4 min 00 s, time left unknown"
        clock.now = 300.0
        assert left.words(98, 2, 2) == "waiting for the last 2 answers"
        clock.now = 9000.0
        assert left.words(99, 1, 1) == "waiting for the last answer"

    def test_an_error(self, capsys):
        assert ended_with(ConfigError(HOSTILE), capsys) == (2, f"error: {SHOWN}\n")


def ended_with(fault: BaseException, capsys) -> tuple[int, str]:
    """Exit code and stderr of a command in which this is raised."""

    @click.command(cls=HandlesErrors)
    def command() -> None:
        raise fault

    with pytest.raises(SystemExit) as ended:
        command([])
    return ended.value.code, capsys.readouterr().err


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "told"),
        [
            (OSError(28, "No space left on device"), "No space left on device"),
            (PermissionError(13, "Permission denied", "some/file"), "some/file: Permission denied"),
            (MemoryError(), "not enough memory. What a run has saved is whole; go on with --resume"),
            (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), None),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_of_the_system_are_one_line(self, capsys, fault, told):
        code, err = ended_with(fault, capsys)
        assert (code, err) == (1, f"error: {told or fault}\n")

    def test_of_the_program_show_where_and_what_to_do(self, capsys):
        code, err = ended_with(ZeroDivisionError("here"), capsys)
        assert code == 1
        assert "Traceback" in err
        assert err.splitlines()[-1].startswith("error: this is a fault of the program.")
        assert "--resume" in err.splitlines()[-1]


class TestOutput:
    """Where no folder can be made, nothing is begun."""

    @pytest.mark.parametrize("output", ["x" * 300, "link", "/proc/nope/o", "/dev/null/o", "config.toml"])
    def test_that_cannot_be_a_folder(self, command, inputs, server, output):
        Path("link").symlink_to("nowhere")
        ended = command(*RUN.split()[:-1], output)
        assert ended.code == 2
        assert ended.err.startswith("error: cannot make the run's folder " if output[0] in "x/" else "error: ")
        assert ended.err.count("\n") == 1
        assert "give another --output" in ended.err
        assert "saved" not in ended.err
        assert server.stats()["requests"] == 0


class TestSignals:
    @pytest.mark.parametrize(("which", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
    def test_another_signal_while_modules_load(self, which, code):
        """Sent by the first import of the commands itself, in the midst of it."""
        script = """
import os, signal, sys
import proverbench.__main__ as m
class Sends:
    def find_spec(self, *_):
        sys.meta_path.remove(self)
        os.kill(os.getpid(), signal.{which})
sys.meta_path.insert(0, Sends())
m.proverbench()
""".replace("{which}", which)
        ended = subprocess.run(
            [sys.executable, "-c", script, "--help"], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True
        )
        assert (ended.returncode, ended.stdout) == (code, b"")
        assert ended.stderr == b"stopped by %s\n" % (b"Ctrl-C" if which == "SIGINT" else which.encode())

    def test_ctrl_c_while_modules_load(self, inputs):
        """At any moment from where our own code begins; before it, Python itself is starting."""
        script = """
import proverbench.__main__ as m
begin = m._end_at_signals
m._end_at_signals = lambda: (begin(), m.os.write(1, b"."), m.os.read(0, 1))[0]
m.proverbench()
"""
        codes = []
        for delay in (None, 0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3):
            process = subprocess.Popen(
                [sys.executable, "-c", script, *RUN.split(), "--dry-run"],
                cwd=inputs,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            assert process.stdout.read(1) == b"."
            if delay is not None:  # else it waits where our own code begins
                os.write(process.stdin.fileno(), b".")
                time.sleep(delay)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=HUNG_S)
            _, err = process.communicate()
            codes.append(process.returncode)
            assert err.strip() in (b"stopped by Ctrl-C", b"")
        assert set(codes) <= {130, 0}
        assert codes[0] == 130

    @pytest.mark.parametrize(
        ("line", "which", "code"),
        [
            ("", signal.SIGTERM, 143),
            ("", signal.SIGHUP, 129),
            ("trap '' HUP; ", signal.SIGHUP, 0),
            ("trap '' HUP; ", signal.SIGTERM, 143),
        ],
    )
    def test_ending_tidily(self, tmp_path, line, which, code):
        """Temporary folders go and child processes end with the command."""
        program = """
import subprocess, sys, tempfile
from proverbench.cli.signals import ending_tidily
with ending_tidily(), tempfile.TemporaryDirectory(dir="."):
    subprocess.run(["bash", "-c", "echo $$ > pid; exec cat"])
"""
        with subprocess.Popen(
            ["bash", "-c", f"{line}exec {sys.executable} -c '{program}'"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            pid = tmp_path / "pid"
            wait_for(lambda: pid.is_file() and pid.read_text().endswith("\n"), process)
            process.send_signal(which)
            if code == 0:
                process.stdin.close()  # what the child waits for
            assert process.wait(timeout=HUNG_S) == code
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid.read_text()), 0)
            assert process.stderr.read().decode() == (f"stopped by {which.name}\n" if code else "")
        assert [path.name for path in tmp_path.iterdir()] == ["pid"]

    @pytest.mark.parametrize(("which", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
    def test_ending_tidily_before_anybody_waits(self, tmp_path, which, code):
        """A signal may come when a child is there already, and its parent does not know it yet."""
        program = f"""
import os, subprocess
from proverbench.cli.signals import ending_tidily
with ending_tidily():
    subprocess.Popen(["bash", "-c", "sleep 300 & echo $! > pid; wait"])
    while not os.path.exists("pid") or not os.path.getsize("pid"):
        pass
    os.kill(os.getpid(), {int(which)})
"""
        ended = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=HUNG_S,
            check=False,
        )
        assert ended.returncode == code
        child = int((tmp_path / "pid").read_text())
        wait_for(lambda: is_gone(child))

    def test_ending_tidily_in_a_finaliser(self, tmp_path):
        """Python drops what is raised there; the command ends all the same, and says so once."""
        program = """
import os, signal, time, weakref
from proverbench.cli.signals import ending_tidily
class Thing: pass
with ending_tidily():
    thing = Thing()
    watch = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    del thing
    time.sleep(300)
"""
        ended = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=HUNG_S,
        )
        assert (ended.returncode, ended.stderr) == (143, "stopped by SIGTERM\n")

    @pytest.mark.parametrize(
        ("line", "code"),
        [pytest.param("", 129, id="a-closed-terminal"), pytest.param("trap '' HUP; ", 0, id="nohup")],
    )
    def test_sighup(self, inputs, server, line, code):
        server.script = gate = Gate()
        process = subprocess.Popen(
            ["bash", "-c", f"{line}exec {sys.executable} -m proverbench {RUN}"],
            cwd=inputs,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for(lambda: server.log, process)
        process.send_signal(signal.SIGHUP)
        if code == 0:
            gate.open()
        _, err = process.communicate(timeout=HUNG_S)
        assert process.returncode == code
        assert (b"go on with: proverbench run --resume r" in err) is (code == 129)
        assert complete(inputs / "r") is (code == 0)
