"""Fetching pinned files, against a real server that breaks off, refuses and lies."""

import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from proverbench.errors import DataError, EndpointError, TransientError
from proverbench.inputs.fetch import PINNED, REPOSITORY, REVISION, PinnedFile, fetch

BODY = b'{"problem": "Prove it."}\n' * 40_000  # about 1 MB


@dataclass
class Server:
    """Serves BODY under any path; ``plays`` says what the next requests get instead."""

    url: str = ""
    body: bytes = BODY
    plays: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            play = state.plays.pop(0) if state.plays else "serve"
            if play.isdigit():
                self.send_error(int(play))
                return
            start = self._start() if play != "no-range" else 0
            if start > len(state.body) or (start and start == len(state.body)):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(state.body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            rest = state.body[start:]
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest[: len(rest) // 3] if play == "cut" else rest)

        def _start(self) -> int:
            match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            return int(match[1]) if match else 0

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


FILE = PinnedFile("proverbench", "data/proverbench/test.jsonl", hashlib.sha256(BODY).hexdigest())


def get(server: Server, folder: Path, file: PinnedFile = FILE) -> Path:
    path, fetched = fetch(file, folder, source=server.url, wait_s=0.001)
    assert fetched
    return path


def test_a_file_is_fetched_and_checked(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path, fetched = fetch(FILE, tmp_path / "new", source=server.url + "/", progress=lambda *at: seen.append(at))
    assert (path.read_bytes() == BODY, fetched, path.name) == (True, True, "proverbench.jsonl")
    assert [path for path, _ in server.requests] == ["/data/proverbench/test.jsonl"]
    assert seen[-1] == (len(BODY), len(BODY))
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["proverbench.jsonl"]


def test_a_file_that_is_there_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    get(server, tmp_path)
    assert fetch(FILE, tmp_path, source=server.url) == (tmp_path / "proverbench.jsonl", False)
    assert len(server.requests) == 1


def test_broken_connections_are_continued(server: Server, tmp_path: Path) -> None:
    server.plays = ["cut", "503", "cut"]
    assert get(server, tmp_path).read_bytes() == BODY
    third = len(BODY) // 3
    ranges = [headers.get("range") for _, headers in server.requests]
    assert ranges == [None, f"bytes={third}-", f"bytes={third}-", f"bytes={third + (len(BODY) - third) // 3}-"]


def test_what_came_is_kept_for_the_next_command(server: Server, tmp_path: Path) -> None:
    server.plays = ["cut"] * 6
    with pytest.raises(TransientError, match=r"the connection broke after .* what came is kept"):
        get(server, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["proverbench.jsonl.part"]
    server.requests.clear()
    assert get(server, tmp_path).read_bytes() == BODY
    assert server.requests[0][1]["range"].startswith("bytes=")


def test_a_server_without_ranges_starts_anew(server: Server, tmp_path: Path) -> None:
    server.plays = ["cut", "no-range"]
    assert get(server, tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("part", [BODY, BODY + b"more", b"something else"], ids=["whole", "too-long", "other"])
def test_a_part_of_any_kind_ends_in_the_right_file(server: Server, tmp_path: Path, part: bytes) -> None:
    (tmp_path / "proverbench.jsonl.part").write_bytes(part)
    assert get(server, tmp_path).read_bytes() == BODY
    assert [file.name for file in tmp_path.iterdir()] == ["proverbench.jsonl"]


def test_a_wrong_hash_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    server.body = BODY[:-1] + b" "
    with pytest.raises(DataError, match=f"wanted {FILE.sha256}. Nothing was kept"):
        get(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_file_under_the_name_is_not_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "proverbench.jsonl").write_text("mine")
    with pytest.raises(DataError, match="is another file than the pinned one"):
        get(server, tmp_path)
    assert (tmp_path / "proverbench.jsonl").read_text() == "mine"
    assert server.requests == []


@pytest.mark.parametrize("status", ["401", "404"])
def test_a_refusal_is_not_asked_again(server: Server, tmp_path: Path, status: str) -> None:
    server.plays = [status]
    with pytest.raises(EndpointError, match=rf"HTTP {status}.*--from"):
        get(server, tmp_path)
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(TransientError, match="refused"):
        fetch(FILE, tmp_path, source="http://127.0.0.1:9", wait_s=0.001)


@pytest.mark.parametrize("layout", ["data/proverbench/test.jsonl", "proverbench/test.jsonl", "proverbench.jsonl"])
def test_a_local_folder(tmp_path: Path, layout: str) -> None:
    mirror = tmp_path / "mirror" / layout
    mirror.parent.mkdir(parents=True)
    mirror.write_bytes(BODY)
    path, _ = fetch(FILE, tmp_path / "out", source=str(tmp_path / "mirror"))
    assert path.read_bytes() == BODY


def test_a_local_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has none of data/proverbench/test\.jsonl"):
        fetch(FILE, tmp_path / "out", source=str(tmp_path))


def test_a_web_server_gets_no_token(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hunter2")
    fetch(FILE, tmp_path, source=server.url)
    assert "authorization" not in server.requests[0][1]


def test_a_source_with_a_password_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        fetch(FILE, tmp_path, source="http://me:hunter2@host/x")
    assert "hunter2" not in str(caught.value)


def test_the_pinned_files() -> None:
    assert (REPOSITORY, REVISION) == ("debouter/AdvancedMathBench", "80abe34097edf2531e3d5b07337c4cc0710bfb24")
    assert {name: (file.path, file.sha256[:8], len(file.sha256)) for name, file in PINNED.items()} == {
        "proverbench": ("data/proverbench/test.jsonl", "a71e6709", 64),
        "verifierbench": ("data/verifierbench/test.jsonl", "59997ab9", 64),
    }
