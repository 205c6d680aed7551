"""Released files: from the hub's own library against a local hub, from a mirror, from a folder; and their hashes."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from proverbench.errors import DataError, EndpointError
from proverbench.inputs.fetch import PinnedFile
from proverbench.retrieval import fetch as fetching
from proverbench.retrieval.cli import FETCHED
from proverbench.retrieval.fetch import BENCHMARKS, CORPUS_REPOSITORY, CORPUS_REVISION, fetch

CONTENT = b'{"name": ["A", "b"]}\n'


@contextmanager
def a_hub(files: dict[str, bytes]) -> Iterator[tuple[str, list[Any]]]:
    """A server that speaks as much of the hub as its library asks for."""
    seen: list[Any] = []
    resolve = f"/datasets/{CORPUS_REPOSITORY}/resolve/{CORPUS_REVISION}/"
    tree = f"/api/datasets/{CORPUS_REPOSITORY}/tree/{CORPUS_REVISION}"

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            path = self.path.partition("?")[0]
            seen.append((self.command, path, self.headers.get("Authorization")))
            name = path.removeprefix(resolve)
            if path == tree:
                listed = [{"type": "file", "path": n, "size": len(b), "oid": "0" * 40} for n, b in files.items()]
                self._send(200, json.dumps(listed).encode(), {"Content-Type": "application/json"})
            elif path.startswith(resolve) and name in files:
                etag = hashlib.sha256(files[name]).hexdigest()
                self._send(200, files[name], {"X-Repo-Commit": "c" * 40, "ETag": f'"{etag}"'})
            elif path.removeprefix("/") in files:
                self._send(200, files[path.removeprefix("/")], {})
            else:
                self._send(404, b"no", {})

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_corpus_comes_from_the_hub_and_its_hash_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with a_hub({"README.md": b"x", "data/mathlib.jsonl": CONTENT}) as (url, seen):
        first = fetch("corpus", tmp_path, source=url)
        again = fetch("corpus", tmp_path, source=url)
    assert first.path.read_bytes() == CONTENT
    assert (first.new, first.first, again.new, again.first) == (True, True, False, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fetched.json", "mathlib-4280.jsonl"]
    record = json.loads((tmp_path / "fetched.json").read_text())["mathlib-4280.jsonl"]
    assert (record["sha256"], record["revision"]) == (hashlib.sha256(CONTENT).hexdigest(), CORPUS_REVISION)
    assert {authorisation for _, _, authorisation in seen} == {None}, "no mirror sees the token"


def test_a_corpus_that_has_changed_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source.jsonl"
    source.write_bytes(CONTENT)
    place = tmp_path / "place"
    path = fetch("corpus", place, source=str(source)).path
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(DataError, match="was fetched first"):
        fetch("corpus", place)
    path.unlink()
    source.write_bytes(b"{}\n")
    with pytest.raises(DataError, match="The source has changed"):
        fetch("corpus", place, source=str(source))
    assert not path.exists(), "what is not the recorded file does not stand under its name"


def test_a_hub_without_the_corpus_says_so(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    with a_hub({"a.jsonl": b"", "b.jsonl": b""}) as (url, _), pytest.raises(DataError, match="holds 2"):
        fetch("corpus", tmp_path, source=url)
    with a_hub({}) as (url, _), pytest.raises(EndpointError, match=r"404.*what came is kept"):
        fetch("corpus", tmp_path, source=f"{url}/nowhere")


def test_benchmark_files_must_have_the_published_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_hub({"benchmark/MathlibQR.json": b"[]"}) as (url, _), pytest.raises(DataError, match="wanted 0ce093ebb9da"):
        fetch("mathlibqr", tmp_path, source=url)
    assert not (tmp_path / "MathlibQR.json").exists()
    pinned = PinnedFile("MathlibQR", "benchmark/MathlibQR.json", hashlib.sha256(b"[]").hexdigest(), suffix=".json")
    monkeypatch.setitem(fetching.BENCHMARKS, "mathlibqr", pinned)
    (tmp_path / "MathlibQR.json.source").mkdir()
    (tmp_path / "MathlibQR.json.source/MathlibQR.json").write_bytes(b"[]")
    found = fetch("mathlibqr", tmp_path, source=str(tmp_path / "MathlibQR.json.source"))
    assert (found.path.name, found.new, found.first) == ("MathlibQR.json", True, False)


def test_the_command_line_knows_every_file() -> None:
    assert ("all", "corpus", *BENCHMARKS) == FETCHED
