import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from proverbench.show.report.serve import Followed, make_server
from tests.browser import PATIENCE_S
from tests.show.report.conftest import DATA
from tests.support import run_process, write_calls


@contextmanager
def serving(*runs) -> Iterator[str]:
    followed = Followed(runs)
    server = make_server(followed, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        followed.close()


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as reply:
        return reply.read().decode()


def test_it_answers_localhost_only_and_only_what_there_is():
    with serving(DATA / "prover") as origin:
        assert "<title>proverbench · prover</title>" in get(origin)
        version = get(f"{origin}/version")
        port = origin.rpartition(":")[2]
        assert get(f"{origin}/version", Host=f"LOCALHOST:{port}") == version
        head = json.loads(get(f"{origin}/model.json"))
        assert head["version"] == version
        assert head["live"]
        assert json.loads(get(f"{origin}/chunk/0.json?v={version}"))["proofs"]
        for path, headers, status in (
            ("/", {"Host": "evil.example:80"}, 403),
            ("/version", {"Host": "localhost"}, 403),
            ("/version", {"Host": f"127.0.0.1:{int(port) % 65535 + 1}"}, 403),
            ("/version", {"Host": f"evil.example:{port}"}, 403),
            ("/version", {"Host": f"127.0.0.1.evil.example:{port}"}, 403),
            ("/version", {"Host": ""}, 403),
            ("/chunk/99.json?v=" + version, {}, 410),
            ("/chunk/0.json?v=old", {}, 410),
            ("/../manifest.json", {}, 404),
            ("/calls.jsonl", {}, 404),
        ):
            with pytest.raises(urllib.error.HTTPError) as refused:
                get(origin + path, **headers)
            assert refused.value.code == status
            refused.value.close()


def test_it_listens_on_this_machine_alone_and_nobody_else_may_use_its_answers():
    followed = Followed([DATA / "prover"])
    server = make_server(followed, 0)
    assert server.server_address[0] == "127.0.0.1"
    server.server_close()
    followed.close()
    with serving(DATA / "prover") as origin:
        version = get(f"{origin}/version")
        for path in ("/", "/version", "/model.json", f"/chunk/0.json?v={version}", "/nothing"):
            try:
                reply = urllib.request.urlopen(origin + path)
            except urllib.error.HTTPError as refused:
                reply = refused
            with reply:
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
                assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
                assert reply.headers["Cache-Control"] == "no-store"


def test_the_page_follows_a_run_that_is_still_going(opened, tmp_path):
    run = tmp_path / "going"
    shutil.copytree(DATA / "prover", run)
    lines = (DATA / "prover" / "calls.jsonl").read_bytes().splitlines(keepends=True)
    write_calls(run, lines[:60])
    with serving(run) as origin:
        page = opened(f"{origin}/", "#/")
        assert page.text(".chip.bad") == "UNFINISHED"
        assert "follows the run" in page.text(".callout.bad")
        write_calls(run, lines)
        expect(page.page.locator(".chip.good")).to_have_count(1)
        page.page.get_by_role("link", name="Proofs", exact=True).click()
        expect(page.page.locator(".judgments")).to_be_visible()
        page.leave()
    # A look at the run while it was being written over finds it broken, once; the page tries again.
    page.faults[:] = [fault for fault in page.faults if "503" not in fault]


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_run_that_is_damaged_or_gone_is_told_until_it_is_whole_again(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(DATA / "prover", run)
    whole = (run / "calls.jsonl").read_bytes()
    with serving(run) as origin:
        version = get(f"{origin}/version")
        before = descriptors()

        def answer() -> tuple[int, str]:
            try:
                return 200, get(f"{origin}/version")
            except urllib.error.HTTPError as refused:
                with refused as reply:
                    return reply.code, reply.read().decode()

        def wait_for(code: int, words: str = "") -> str:
            """It looks at a run again only once a while has passed."""
            deadline = time.monotonic() + PATIENCE_S
            while (found := answer())[0] != code or words not in found[1]:
                assert time.monotonic() < deadline, found
            return found[1]

        (run / "calls.jsonl").write_bytes(whole + b"nonsense\n")
        wait_for(503, "is not a line of a run's calls")
        assert {answer()[0] for _ in range(20)} == {503}
        run.rename(tmp_path / "elsewhere")
        wait_for(503, "does not exist")
        assert {answer()[0] for _ in range(20)} == {503}
        assert descriptors() < before + 20, "forty polls that leak two each would hold eighty"
        (tmp_path / "elsewhere").rename(run)
        (run / "calls.jsonl").write_bytes(whole)
        assert wait_for(200) != version
        prompt = run / "prompts" / "verifier.txt"
        original = prompt.read_bytes()
        for edited, wanted in ((original + b"!", "is not the prompt"), (b"\xff", "is not UTF-8")):
            prompt.write_bytes(edited)
            (run / "calls.jsonl").write_bytes(whole)
            wait_for(503, wanted)
            prompt.write_bytes(original)
            wait_for(200)


def test_a_port_that_is_taken_is_told(command):
    with serving(DATA / "judge") as origin:
        ended = command("view", DATA / "judge", "--port", origin.rsplit(":", 1)[1])
    assert ended.code == 2
    assert "--port" in ended.err


def test_ctrl_c_ends_it_in_peace():
    arguments = [sys.executable, "-m", "proverbench", "view", str(DATA / "judge"), "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize("name", ["calls.jsonl", "inputs.jsonl", "manifest.json", "summary.json"])
def test_a_pipe_in_place_of_a_runs_file_is_named_at_once(tmp_path, name):
    shutil.copytree(DATA / "judge", tmp_path / "run")
    (tmp_path / "run" / name).unlink()
    os.mkfifo(tmp_path / "run" / name)
    ended = run_process("report", tmp_path / "run", cwd=tmp_path)
    assert ended.code == 1
    assert f"{name} is a pipe or a device, not a file" in ended.err


def test_a_folder_whose_name_is_no_utf_8_is_reported_and_exported(tmp_path):
    run = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xffun"))
    shutil.copytree(DATA / "judge", run)
    for arguments in (("report", run, "-o", "page.html"), ("export", run, "--to", "csv", "-o", "tables")):
        ended = run_process(*arguments, cwd=tmp_path)
        assert ended.code == 0, ended.err
    assert "r⟨U+DCFF⟩un" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "r⟨U+DCFF⟩un" in (tmp_path / "tables/scores.csv").read_text(encoding="utf-8")
