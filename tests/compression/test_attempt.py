"""A language model as the participant, played by a script."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from proverbench.compression.attempt import Attempt, attempt, own_template, read_files, render_attempt
from proverbench.compression.kernel import LeanKernel
from proverbench.compression.tasks import Task, shipped_tasks
from proverbench.endpoints.base import Reply, Request
from proverbench.endpoints.caller import EndpointCaller
from proverbench.errors import CallFailedError, DataError, InvalidReply
from proverbench.rehearse import RehearseServer
from tests.support import HUNG_S, Gate, wait_for, wait_for_words, write_config

EDITABLE = ("A.lean", "Sub/B.lean")


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('<file name="A.lean">\nprelude\n</file>', {"A.lean": b"prelude\n"}),
        ('Sure!\n<file name="A.lean">```lean\nprelude\n```</file> done', {"A.lean": b"prelude\n"}),
        (
            '<think><file name="A.lean">no</file></think>'
            '<file name="Sub/B.lean">x < y</file><file name="A.lean">z</file>',
            {"Sub/B.lean": b"x < y\n", "A.lean": b"z\n"},
        ),
    ],
)
def test_files_are_read_from_a_reply(reply: str, found: dict[str, bytes]) -> None:
    assert read_files(reply, EDITABLE) == found


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no_files"),
        ("<think> on and on", "no_files"),
        ("```lean\nprelude\n```", "no_files"),
        ('<file name="A.lean">prelude', "file_not_closed"),
        ('<file name="C.lean">prelude</file>', "not_editable"),
        ('<file name="../A.lean">prelude</file>', "not_editable"),
        ('<file name="A.lean">a</file><file name="A.lean">b</file>', "duplicate_file"),
    ],
)
def test_unreadable_replies_have_a_reason(reply: str, reason: str) -> None:
    with pytest.raises(InvalidReply, match=reason):
        read_files(reply, EDITABLE)


def test_the_prompt_is_filled_in_one_pass(toy_task: Task) -> None:
    sources = {"Toy.lean": b"prelude\n-- {feedback} {targets}\n"}
    prompt = render_attempt(own_template(), toy_task, sources, 254, "Well {count} done.")
    assert "-- {feedback} {targets}" in prompt
    assert "Well {count} done." in prompt
    assert "(254 nodes)" in prompt
    assert "Targets: zero_add_by_helper" in prompt


class Script:
    """An endpoint that gives prepared replies and keeps what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Reply:
        self.prompts.append(request.prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(text=reply, finish_reason="stop", usage={"completion_tokens": 7})

    async def aclose(self) -> None:
        pass


async def run(task: Task, kernel: LeanKernel, folder: Path, script: Script, rounds: int) -> Attempt:
    caller = EndpointCaller(script, concurrency=1, max_retries=0)
    return await attempt(task, caller, folder, rounds=rounds, make_kernel=lambda: kernel)


async def test_it_proposes_is_told_and_the_best_is_kept(
    toy_task: Task, shorter: dict[str, bytes], kernel: LeanKernel, tmp_path: Path
) -> None:
    def reply(data: bytes) -> str:
        return f'<file name="Toy.lean">\n{data.decode()}</file>'

    broken = toy_task.original["Toy.lean"].replace(b"succ_congr _ k ih", b"nonsense")
    script = Script(
        "I think it is short enough.", reply(broken), reply(shorter["Toy.lean"]), reply(toy_task.original["Toy.lean"])
    )
    result = await run(toy_task, kernel, tmp_path, script, 4)
    assert [(item.outcome, item.count) for item in result.rounds] == [
        ("unreadable:no_files", None),
        ("invalid", None),
        ("shorter", 206),
        ("not shorter", 254),
    ]
    assert "could not be read (no_files)" in script.prompts[1]
    assert "nonsense" in script.prompts[2].split("Your last version was not accepted")[1]
    assert "(206 nodes)" in script.prompts[3]
    assert (result.best_count, result.complete, len(result.usage)) == (206, True, 4)
    kept = (tmp_path / "best" / "Toy.lean").read_bytes()
    assert kept.rstrip() == shorter["Toy.lean"].rstrip()
    # The same again asks nothing: every round has its reply.
    again = await run(toy_task, kernel, tmp_path, Script(), 4)
    assert again == result


async def test_an_unanswered_round_is_asked_again(toy_task: Task, kernel: LeanKernel, tmp_path: Path) -> None:
    script = Script("nothing", CallFailedError("no", kind="http_422", status=422))
    first = await run(toy_task, kernel, tmp_path, script, 2)
    assert [item.outcome for item in first.rounds] == ["unreadable:no_files", "unanswered:http_422"]
    assert not first.complete
    script = Script("nothing")
    second = await run(toy_task, kernel, tmp_path, script, 2)
    assert second.complete
    assert len(script.prompts) == 1


async def test_a_lone_surrogate_is_kept(toy_task: Task, kernel: LeanKernel, tmp_path: Path) -> None:
    await run(toy_task, kernel, tmp_path, Script("a\ud800b"), 1)
    saved = json.loads((tmp_path / "round-001" / "reply.json").read_bytes())
    assert saved["text"] == "a\ud800b"


async def test_a_folder_belongs_to_one_task(
    toy_task: Task, zero_add_task: Task, kernel: LeanKernel, tmp_path: Path
) -> None:
    await run(toy_task, kernel, tmp_path, Script("x"), 1)
    with pytest.raises(DataError, match="is an attempt at another task"):
        await run(zero_add_task, kernel, tmp_path, Script("x"), 1)


@pytest.mark.parametrize(
    ("signals", "code", "answered"),
    [
        pytest.param([signal.SIGINT], 130, True, id="ctrl-c-keeps-the-answer"),
        pytest.param([signal.SIGINT, signal.SIGINT], 130, False, id="ctrl-c-twice"),
        pytest.param([signal.SIGTERM], 143, False, id="sigterm"),
        pytest.param([signal.SIGHUP], 129, False, id="a-closed-terminal"),
    ],
)
def test_a_stopped_attempt(
    tmp_path: Path, kernel: LeanKernel, signals: list[signal.Signals], code: int, answered: bool
) -> None:
    gate = Gate()
    with RehearseServer.in_thread(script=gate) as server:
        config = write_config(tmp_path / "config.toml", server.base_url)
        command = [*(sys.executable, "-c", "from proverbench.__main__ import compressionbench; compressionbench()")]
        command += ["attempt", str(shipped_tasks()["logic"]), "--config", str(config), "--rounds", "2"]
        command += ["--output", str(tmp_path / "out")]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            wait_for(lambda: server.log, process)
            process.send_signal(signals[0])
            if signals[0] == signal.SIGINT:
                wait_for_words(process, "the answer that is awaited is kept")
            for which in signals[1:]:
                process.send_signal(which)
            if answered:
                gate.open()
            _, err = process.communicate(timeout=HUNG_S)
        assert process.returncode == code, err
        assert "Traceback" not in err
        assert (tmp_path / "out/round-001/reply.json").is_file() is answered
        assert ("the same command goes on" in err) is answered
        assert len(server.log) == 1


def test_the_command_on_a_rehearsed_endpoint(tmp_path: Path, kernel: LeanKernel) -> None:
    with RehearseServer.in_thread() as server:
        config = write_config(tmp_path / "config.toml", server.base_url)
        done = subprocess.run(
            [
                *(sys.executable, "-c", "from proverbench.__main__ import compressionbench; compressionbench()"),
                *("attempt", str(shipped_tasks()["logic"]), "--config", str(config)),
                *("--rounds", "2", "--output", str(tmp_path / "out")),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )
    assert done.returncode == 0, done.stderr
    assert "round 2: unreadable:no_files" in done.stderr
    assert "as many nodes as the original" in done.stdout
    assert (tmp_path / "out" / "round-002" / "reply.json").is_file()
